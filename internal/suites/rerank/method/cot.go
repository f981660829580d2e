package method

import "context"

// CoT asks once: think condition by condition, then rank (Wei et al., NeurIPS
// 2022).
func CoT() Method {
	return Method{
		Name: "cot",
		Asks: true,
		Rank: ranks(func(ctx context.Context, s *session) ([]int, error) {
			p := Prompt{System: rankSystem, Messages: ask1(s.request(), s.candidates(), cotTask, s.finalLine())}
			a, err := s.query(ctx, "answer", s.rankingRight(p, s.everyone(), s.K, false))
			if err != nil {
				return nil, err
			}
			return readRanking(a, len(s.Candidates), false)
		}),
	}
}

const cotTask = `Work step by step. First list the separate conditions of the request and how they combine: which must all hold, and where one of several is enough. Then go through the candidates, and for each condition name what in its attributes, hours or reviews shows that it holds, fails, or stays open. Last compare the candidates: the one for which everything holds comes first, one with an open condition before one that fails.`

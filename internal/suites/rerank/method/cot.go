package method

import "context"

// CoT has one prompt: think condition by condition, then rank (Wei et al., NeurIPS
// 2022).
func CoT() Method {
	return Method{
		Name: "cot",
		Asks: true,
		Rank: ranks(func(ctx context.Context, s *session) ([]int, error) {
			return s.rank(ctx, "answer", s.everyone(), s.K, false, cotTask)
		}),
	}
}

const cotTask = `Work step by step. First list the separate conditions of the request and how they combine: which must all hold, and where one of several is enough. Then go through the candidates. For each condition, name the attribute, hours or review that shows that it holds or fails, or say that it is unknown. Finally, compare the candidates: the one that satisfies every condition comes first; one with an unknown condition comes before one that fails a condition.`

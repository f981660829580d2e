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

var cotTask = wording("cot")

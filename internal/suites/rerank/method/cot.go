package method

import "context"

// cot has one prompt: think condition by condition, then rank (Wei et al., NeurIPS
// 2022).
func cot(ctx context.Context, s *session) ([]int, error) {
	return s.rank(ctx, "answer", s.everyone(), s.K, false, wording("cot"))
}

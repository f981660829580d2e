package method

import (
	"cmp"
	"context"
	"strings"

	"github.com/scruple-eval/scruple/internal/stable"
)

// random orders the candidates at random: the lower bound, 1/N in Hits@1.
func random(_ context.Context, s *session) ([]int, error) { return s.sorted(s.chance("random")), nil }

// chance orders candidates by a hash of the run's seed, the request and the
// item. The order is reproducible and independent of their positions.
func (s *session) chance(purpose string) func(a, b int) int {
	prefix := stable.Seed(s.Seed, purpose, s.Text)
	return func(a, b int) int {
		x, y := s.Candidates[a-1].Item.ID, s.Candidates[b-1].Item.ID
		return cmp.Or(cmp.Compare(stable.Seed(prefix, x), stable.Seed(prefix, y)), strings.Compare(x, y))
	}
}

package method

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/rerank/stable"
)

// Random orders the candidates by a hash of the run's seed, the request and
// the item: the lower bound, 1/N in Hits@1.
func Random() Method {
	return Method{
		Name: "random", Title: "Random order",
		Doc:    "Orders the candidates by chance; what any method must beat.",
		Source: "definition",
		Rank: ranks(func(_ context.Context, s *session) ([]int, error) {
			prefix := stable.Seed(s.Seed, "random", s.ID)
			// The item and not its place is hashed, so that chance knows
			// nothing of the order of the candidates either.
			return s.sorted(func(a, b int) int {
				x, y := s.Candidates[a-1].Item.ID, s.Candidates[b-1].Item.ID
				return cmp.Or(cmp.Compare(stable.Seed(prefix, x), stable.Seed(prefix, y)), strings.Compare(x, y))
			}), nil
		}),
	}
}

// sorted gives the indices of all candidates in an order; those that are equal
// stay as they are shown.
func (s *session) sorted(compare func(a, b int) int) []int {
	order := make([]int, len(s.Candidates))
	for i := range order {
		order[i] = i + 1
	}
	slices.SortStableFunc(order, compare)
	return order
}

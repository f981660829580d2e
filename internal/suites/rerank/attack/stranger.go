package attack

import (
	"cmp"
	"slices"

	"github.com/scruple-eval/scruple/internal/stable"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// stranger returns a new review without text: user, date and fields are those of a review of
// another candidate, drawn by the smallest hash, whose writer did not review this item; without
// one it has none. It has stars if that one has.
func (w *work) stranger(stars float64) catalog.Review {
	seed := w.draws.Uint64()
	wrote := map[string]bool{}
	for _, r := range slices.Concat(w.reviews, w.item.Reviews) {
		wrote[r.UserID] = true
	}
	rivals := slices.DeleteFunc(w.others(), func(r catalog.Review) bool { return r.UserID != "" && wrote[r.UserID] })
	if len(rivals) == 0 {
		return catalog.Review{ItemID: w.item.ID, Stars: stars}
	}
	hash := func(r catalog.Review) uint64 { return stable.Seed(seed, r.ItemID, r.ID, r.UserID, r.Date) }
	r := slices.MinFunc(rivals, func(a, b catalog.Review) int { return cmp.Compare(hash(a), hash(b)) })
	r.ID, r.ItemID = "", w.item.ID
	if r.Stars > 0 {
		r.Stars = stars
	}
	return r
}

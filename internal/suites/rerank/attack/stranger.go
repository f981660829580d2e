package attack

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/stable"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// stranger returns a new review without text. It copies user id, fields and date
// from a review of another candidate whose writer did not review this item, so
// that added reviews look like the data's own. If there is none, it copies one
// of the item's own reviews and generates ids from the characters that real ids
// have at each position.
func (w *work) stranger(stars float64) catalog.Review {
	seed := w.draws.Uint64()
	others := w.others()
	known := slices.Concat(w.reviews, w.item.Reviews, others)
	r := catalog.Review{ItemID: w.item.ID, Stars: nearest(stars, known)}
	lender, ok := w.lender(seed, others)
	if ok {
		r.UserID = lender.UserID
	} else {
		if len(w.reviews) > 0 {
			lender = w.reviews[w.draws.IntN(len(w.reviews))]
		}
		r.UserID = w.newID(known, func(r *catalog.Review) string { return r.UserID })
	}
	r.User, r.Date, r.Fields = lender.User, lender.Date, lender.Fields
	r.ID = w.newID(known, func(r *catalog.Review) string { return r.ID })
	return r
}

// lender draws a review of another item by a person who did not review this
// one, preferably with a date that no review of this item has: the one with the
// smallest hash.
func (w *work) lender(seed uint64, others []catalog.Review) (lender catalog.Review, ok bool) {
	wrote, dated := map[string]bool{}, map[string]bool{}
	for _, r := range slices.Concat(w.reviews, w.item.Reviews) {
		wrote[r.UserID], dated[r.Date] = true, true
	}
	least, leastDated := uint64(0), false
	for _, r := range others {
		if wrote[r.UserID] {
			continue
		}
		h := stable.Seed(seed, r.ItemID, r.ID, r.UserID, r.Date)
		if !ok || leastDated && !dated[r.Date] || leastDated == dated[r.Date] && h < least {
			lender, least, leastDated, ok = r, h, dated[r.Date], true
		}
	}
	return lender, ok
}

// nearest returns the known number of stars nearest to stars, or 0 if the known
// reviews have none.
func nearest(stars float64, known []catalog.Review) float64 {
	var given []float64
	for _, r := range known {
		if r.Stars > 0 {
			given = append(given, r.Stars)
		}
	}
	if len(given) == 0 {
		if len(known) > 0 {
			return 0
		}
		return stars
	}
	return slices.MinFunc(given, func(a, b float64) int {
		return cmp.Or(cmp.Compare(math.Abs(a-stars), math.Abs(b-stars)), cmp.Compare(a, b))
	})
}

// newID generates an unused id with the length of an existing one; each
// character occurs at its position in an existing id of that length.
func (w *work) newID(known []catalog.Review, of func(*catalog.Review) string) string {
	var ids []string
	for i := range known {
		if id := of(&known[i]); id != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) == 0 {
		if len(known) > 0 {
			return "" // these data have no such ids
		}
		ids = []string{"0123456789abcdef", "123456789abcdef0", "fedcba9876543210"}
	}
	length := len([]rune(ids[w.draws.IntN(len(ids))]))
	var like [][]rune
	for _, id := range ids {
		if letters := []rune(id); len(letters) == length {
			like = append(like, letters)
		}
	}
	letters := make([]rune, length)
	for range 100 {
		for i := range letters {
			letters[i] = like[w.draws.IntN(len(like))][i]
		}
		if _, taken := slices.BinarySearch(ids, string(letters)); !taken {
			return string(letters)
		}
	}
	for n := 0; ; n++ { // fall back to counting in the last digits
		if id := string(letters[:max(0, length-1)]) + strings.Repeat("0", n/10) + string(rune('0'+n%10)); !slices.Contains(ids, id) {
			return id
		}
	}
}

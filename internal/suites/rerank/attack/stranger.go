package attack

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/stable"
)

// stranger is a review to be added, without its text. Somebody who wrote of another candidate
// lends id, fields and date, so that an added review has what the data's own
// have, in their form, and a person writes of an item once. Where no such
// person is left, one of the item's own reviews lends all but the ids, which
// are made of the characters that ids have at each place.
func (w *work) stranger(stars float64) catalog.Review {
	seed := w.draws.Uint64()
	known := slices.Concat(w.reviews, w.item.Reviews, w.others)
	r := catalog.Review{ItemID: w.item.ID, Stars: nearest(stars, known)}
	lender, ok := w.lender(seed)
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

// lender draws a review of another item by somebody who did not write of this
// one, if possible of a day that none of its reviews has: the one with the
// smallest hash, whatever their order.
func (w *work) lender(seed uint64) (lender catalog.Review, ok bool) {
	wrote, dated := map[string]bool{}, map[string]bool{}
	for _, r := range slices.Concat(w.reviews, w.item.Reviews) {
		wrote[r.UserID], dated[r.Date] = true, true
	}
	least, leastDated := uint64(0), false
	for _, r := range w.others {
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

// nearest is the number of stars that somebody gave and that is nearest; none
// where nobody gave any.
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

// newID makes an id that nobody has, of the length of one that is there, each
// character one that ids of that length have at its place.
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
	for n := 0; ; n++ { // ids leave no other: count up in the last digits
		if id := string(letters[:max(0, length-1)]) + strings.Repeat("0", n/10) + string(rune('0'+n%10)); !slices.Contains(ids, id) {
			return id
		}
	}
}

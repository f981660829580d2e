package candidates

import (
	"slices"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// A Budget limits the reviews of an item that a method is shown. It is the same
// at every N: a budget that shrank with N would also show less of gold, and the
// scaling curve would measure that.
type Budget struct {
	Reviews int `json:"reviews,omitempty" jsonschema:"minimum=0,description=Reviews per item (default all)"`
	Chars   int `json:"chars,omitempty" jsonschema:"minimum=0,description=Characters of reviews per item (default all)"`
}

// Coverage counts the reviews before and after a budget.
type Coverage struct {
	Reviews   int `json:"reviews"`    // in the data
	Kept      int `json:"kept"`       // shown
	Chars     int `json:"chars"`      // characters in the data
	KeptChars int `json:"kept_chars"` // characters shown
}

// Lost returns the number of reviews not shown.
func (c Coverage) Lost() int { return c.Reviews - c.Kept }

// Add sums the coverage of several items.
func (c Coverage) Add(o Coverage) Coverage {
	return Coverage{c.Reviews + o.Reviews, c.Kept + o.Kept, c.Chars + o.Chars, c.KeptChars + o.KeptChars}
}

// Apply keeps reviews in the order of the data, up to the first that would
// exceed a limit. Reviews are not truncated: half a sentence can state the
// opposite of the whole.
func (b Budget) Apply(reviews []catalog.Review) ([]catalog.Review, Coverage) {
	var c Coverage
	full := false
	for i := range reviews {
		n := utf8.RuneCountInString(reviews[i].Text)
		c.Reviews++
		c.Chars += n
		full = full || (b.Reviews > 0 && c.Kept == b.Reviews) || (b.Chars > 0 && c.KeptChars+n > b.Chars)
		if !full {
			c.Kept++
			c.KeptChars += n
		}
	}
	return reviews[:c.Kept:c.Kept], c
}

// Fit removes reviews until an item's reviews under an attack fit the budget,
// and reports whether what is left differs from its own, and by how much less of its own
// is kept: a Coverage to add, of numbers below 0. From has, for each review, its index in
// own, or -1. It removes first reviews that the attack did not change, then those it
// changed, then those it added; the last of each first.
func (b Budget) Fit(reviews, own []catalog.Review, from []int) (kept []catalog.Review, less Coverage, changed bool) {
	kept, from = slices.Clone(reviews), slices.Clone(from)
	class := func(i int) int {
		switch {
		case from[i] < 0:
			return 2
		case kept[i].Text != own[from[i]].Text:
			return 1
		}
		return 0
	}
	for _, c := b.Apply(kept); c.Lost() > 0; _, c = b.Apply(kept) {
		last := len(kept) - 1
		for i := last; i >= 0; i-- {
			if class(i) < class(last) {
				last = i
			}
		}
		if at := from[last]; at >= 0 {
			less.Kept--
			less.KeptChars -= utf8.RuneCountInString(own[at].Text)
		}
		kept, from = slices.Delete(kept, last, last+1), slices.Delete(from, last, last+1)
	}
	for i := range kept {
		changed = changed || class(i) > 0
	}
	return kept, less, changed
}

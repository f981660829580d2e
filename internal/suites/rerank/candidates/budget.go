package candidates

import (
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// A Budget is how much of an item's reviews a method is shown. It is fixed
// before a sweep and the same at every N: an allowance that shrank as N grows
// would show less of gold too, and the scaling curve would measure that.
type Budget struct {
	Reviews int // per item; 0 is no limit
	Chars   int // of review text per item, in characters; 0 is no limit
}

// Coverage says how much of the reviews a budget let through.
type Coverage struct {
	Reviews   int `json:"reviews"`    // that there are
	Kept      int `json:"kept"`       // that are shown
	Chars     int `json:"chars"`      // of text that there are
	KeptChars int `json:"kept_chars"` // that are shown
}

// Lost is how many reviews are not shown.
func (c Coverage) Lost() int { return c.Reviews - c.Kept }

// Add sums the coverage of several items.
func (c Coverage) Add(o Coverage) Coverage {
	return Coverage{c.Reviews + o.Reviews, c.Kept + o.Kept, c.Chars + o.Chars, c.KeptChars + o.KeptChars}
}

// Apply keeps reviews in the order of the data, up to the first that would
// pass a limit. A review is shown whole or not at all: half a sentence can say
// the opposite of the whole.
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

package candidates

import (
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// A Budget limits the reviews of an item that a method is shown. It is the same
// at every N: a budget that shrank with N would also show less of gold, and the
// scaling curve would measure that.
type Budget struct {
	Reviews int // per item; 0 for no limit
	Chars   int // of review text per item, in characters; 0 for no limit
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

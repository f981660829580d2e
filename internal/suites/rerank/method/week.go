package method

import (
	"iter"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// hoursOn writes the opening hours of a day, if they are known.
func hoursOn(item *catalog.Item, day int) (string, bool) {
	v := item.Hours.On(day)
	return v.String(), !v.IsZero()
}

// hoursOf gives the days of which the hours are known.
func hoursOf(item *catalog.Item) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for day := range catalog.Weekdays {
			if text, ok := hoursOn(item, day); ok && !yield(day, text) {
				return
			}
		}
	}
}

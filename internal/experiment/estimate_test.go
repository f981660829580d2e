package experiment

import (
	"slices"
	"testing"
)

// The cost that the store saves is never more than its calls or their cost show, and less where only
// some trials were looked up.
func TestSavedIsALowerBound(t *testing.T) {
	of := func(trials int, each ...storeAsker) (l lookups) {
		l.trials = trials
		for i := range each {
			l.add(&each[i])
		}
		return l
	}
	all, none := storeAsker{known: 2, all: 2, saved: 3, cost: 3}, storeAsker{all: 2, cost: 3}
	cheap, dear := storeAsker{known: 1, all: 2, saved: 1, cost: 3}, storeAsker{known: 1, all: 2, saved: 2, cost: 3}
	for name, c := range map[string]struct {
		lookups
		known, least, most float64
	}{
		"nothing is asked":         {of(1, storeAsker{}), 0, 0, 0},
		"all":                      {of(2, all, all), 1, 1, 1},
		"half":                     {of(2, all, none), 0.5, 0.5, 0.5},
		"the cheap model is known": {of(2, cheap, cheap), 0.5, 1.0 / 3, 1.0 / 3},
		"the dear model is known":  {of(2, dear, dear), 0.5, 0.5, 0.5},
		"free":                     {of(1, storeAsker{known: 1, all: 4}), 0.25, 0.25, 0.25},
		"all of a sample":          {of(100, slices.Repeat([]storeAsker{all}, 40)...), 1, 0.9, 0.99},
		"one trial of many":        {of(100, all), 1, 0, 0},
		"half of a sample":         {of(100, slices.Repeat([]storeAsker{all, none}, 20)...), 0.5, 0.3, 0.45},
	} {
		if known, saved := c.shares(); known != c.known || saved < c.least || saved > c.most {
			t.Errorf("%s: %v known, %v saved, want %v and %v to %v", name, known, saved, c.known, c.least, c.most)
		}
	}
}

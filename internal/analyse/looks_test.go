package analyse_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
)

// TestLooks: what looks cost if none was planned (Armitage, McPherson & Rowe 1969: five looks
// at 5 % are 14.2 % on two sides), and the level of a planned one (ldbounds 2.0.2).
func TestLooks(t *testing.T) {
	for name, test := range map[string]struct {
		answers            []int
		all, runs, planned int
		chance, level      float64
		said               string
	}{
		"the first":             {[]int{100}, 100, 0, 0, math.NaN(), 0.05, ""},
		"five":                  {[]int{20, 40, 60, 80, 100}, 100, 0, 0, 0.071, 0.05, "looked at 5 times while answers were added: the chance of a false pass is about 7.1 %, not 2.5 %"},
		"as many answers":       {[]int{100, 100}, 100, 0, 0, math.NaN(), 0.05, ""},
		"the 25th run":          {[]int{100}, 100, 24, 0, 0.469, 0.05, "results of 24 other runs of the study had been shown before: the chance of a false pass is about 47 %, not 2.5 %"},
		"planned, the second":   {[]int{20, 40}, 100, 0, 5, 0.025, 2 * 0.000393, "look 2 of 5 planned, at 40 % of the data: intervals are wider and p-values in rules larger, so that all looks together keep a level of 0.05"},
		"planned, the last":     {[]int{20, 40, 60, 80, 100}, 100, 0, 5, 0.025, 2 * 0.021126, "look 5 of 5 planned, at 100 % of the data: intervals are wider and p-values in rules larger, so that all looks together keep a level of 0.05"},
		"a plan that grew":      {[]int{100, 200}, 100, 0, 2, 0.025, 1e-9, "look 2: an earlier one, at all that was planned then, left nothing of a level of 0.05, so intervals and p-values have one of 1e-09 and decide almost nothing, also of arms that were added: `scruple run --new` begins a run with a level of its own"},
		"planned, but all done": {[]int{100}, 100, 0, 5, 0.025, 0.05, "look 1 of 5 planned, at 100 % of the data: intervals are wider and p-values in rules larger, so that all looks together keep a level of 0.05"},
	} {
		l, level, err := analyse.LooksAt(test.answers, test.all, test.runs, test.planned, 0.05)
		if err != nil || !(math.Abs(level-test.level) <= 0.01*test.level) || l.String() != test.said {
			t.Errorf("%s: level %v, %q, %v", name, level, l, err)
		}
		if l != nil && !(math.Abs(float64(l.Chance)-test.chance) <= 0.001) {
			t.Errorf("%s: chance %v, want %v", name, l.Chance, test.chance)
		}
	}
}

// TestPickedItems: a planned look is at the first items of the plan's order, and at each of them with
// all of its trials.
func TestPickedItems(t *testing.T) {
	for name, c := range map[string]struct {
		items  []int // of the trials that are done, in the order of the plan
		at     bool
		picked bool
	}{
		"the first": {[]int{0, 0, 1, 1}, true, false}, "others": {[]int{0, 0, 2, 2}, false, true}, "half an item": {[]int{0, 0, 1}, false, false},
	} {
		var items []eval.Item
		for i := range 4 {
			items = append(items, eval.Item{ID: fmt.Sprint(i)})
		}
		collector := analyse.NewCollector(&kinds, items, []eval.Arm{{ID: "a"}, {ID: "b"}}, asListed(items))
		for n, i := range c.items {
			collector.Add(eval.Scored{Case: eval.CaseOf(eval.Trial{Item: items[i].ID, Arm: []string{"a", "b"}[n%2], Replicate: 1}, eval.Outcome{Kind: eval.OK}, nil), Scores: []eval.Score{entry("correct", 1, 1)}})
		}
		q := question()
		q.Run.Items, q.Run.Planned, q.Calibration, q.Samples, q.Primary, q.Secondary = 4, 8, nil, 0, []string{"correct"}, nil
		q.Run.Replicates, q.Run.Looks, q.Comparisons = 1, &analyse.Looks{Seen: 1, Planned: 3, Alpha: 0.05}, nil
		a, err := collector.Analyse(q, analyse.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		if a.Run.AtLook != c.at || a.Run.Picked != c.picked {
			t.Errorf("%s: at a look %v, picked %v", name, a.Run.AtLook, a.Run.Picked)
		}
	}
}

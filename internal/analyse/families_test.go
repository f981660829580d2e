package analyse_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
)

// TestNamedFamilies: primary comparisons are corrected for the number of those in their family,
// p-values and intervals alike.
func TestNamedFamilies(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var items []eval.Item
	for i := range 30 {
		items = append(items, eval.Item{ID: fmt.Sprintf("i%02d", i)})
	}
	arms := []eval.Arm{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}}
	c := analyse.NewCollector(&suite, items, arms, asListed(items))
	for _, it := range items {
		for k, arm := range arms {
			c.Add(scored(it.ID, arm.ID, eval.OK, score("f", "value", min(1, r.Float64()*(0.7+0.1*float64(k))), 1)))
		}
	}
	q := question()
	q.Run.Items, q.Run.Planned, q.Calibration, q.Study.Correction = 30, 120, nil, "bonferroni"
	q.Comparisons = []analyse.Pair{{A: "a", B: "b", Primary: true, Family: "one"}, {A: "a", B: "c", Primary: true, Family: "two"}, {A: "a", B: "d", Primary: true, Family: "two"}}
	a, err := c.Analyse(q, analyse.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	for arm, n := range map[string]float64{"b": 1, "c": 2, "d": 2} {
		c, _ := a.Comparison("a", arm, "value")
		near(t, "adjusted p of "+arm, c.PAdjusted, min(1, n*float64(c.P)))
		near(t, "level of "+arm, c.Level, 1-0.05/n)
	}
}

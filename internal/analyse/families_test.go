package analyse_test

import (
	"fmt"
	"math"
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
	if a.Study.Family.Tests != 2 {
		t.Errorf("the largest family has %d tests, want 2", a.Study.Family.Tests)
	}
	q.Family = [][3]string{{"c", "a", "value"}} // of rules: another comparison is not corrected, though primary
	if a, err = c.Analyse(q, analyse.Sources{}); err != nil {
		t.Fatal(err)
	}
	for arm, corrected := range map[string]bool{"b": false, "c": true, "d": false} {
		if c, _ := a.Comparison("a", arm, "value"); !c.P.Defined() || c.PAdjusted.Defined() != corrected {
			t.Errorf("a − %s: p %v, adjusted %v, want an adjusted one: %v", arm, c.P, c.PAdjusted, corrected)
		}
	}
}

// family compares arms by one metric, with a correction over the comparisons.
func family(t *testing.T, correction string, n int, names []string, score func(arm string, i int) eval.Score, pairs ...analyse.Pair) *analyse.Analysis {
	t.Helper()
	return familyWith(t, nil, correction, n, names, score, pairs...)
}

// familyWith has limits of rules.
func familyWith(t *testing.T, limits map[[3]string][]float64, correction string, n int, names []string, score func(arm string, i int) eval.Score, pairs ...analyse.Pair) *analyse.Analysis {
	t.Helper()
	var items []eval.Item
	for i := range n {
		items = append(items, eval.Item{ID: fmt.Sprintf("i%03d", i)})
	}
	var arms []eval.Arm
	for _, name := range names {
		arms = append(arms, eval.Arm{ID: name})
	}
	c := analyse.NewCollector(&kinds, items, arms, asListed(items))
	for i, it := range items {
		for _, arm := range names {
			c.Add(eval.Scored{Case: eval.CaseOf(eval.Trial{Item: it.ID, Arm: arm, Replicate: 1}, eval.Outcome{Kind: eval.OK}, nil), Scores: []eval.Score{score(arm, i)}})
		}
	}
	q := question()
	q.Run.Items, q.Run.Planned, q.Calibration, q.Samples, q.Study.Correction, q.Primary, q.Secondary = n, n*len(names), nil, 0, correction, []string{"correct"}, nil
	q.Comparisons = pairs
	q.Limits = limits
	a, err := c.Analyse(q, analyse.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestIntervalsAgreeWithAdjusted: whatever rules ask, an interval excludes 0 where the adjusted p is
// below alpha, by each correction.
func TestIntervalsAgreeWithAdjusted(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for n := range 60 {
		var up, down [2]int
		for k := range up {
			up[k], down[k] = r.IntN(30), r.IntN(15)
		}
		limits := map[[3]string][]float64{{"a", "old", "correct"}: {r.Float64() * 0.2}}
		for _, correction := range []string{"bonferroni", "holm", "hochberg", "bh", "by"} {
			a := familyWith(t, limits, correction, 200, []string{"a", "b", "old"}, func(arm string, i int) eval.Score {
				k := map[string]int{"a": 0, "b": 1}[arm]
				return entry("correct", map[bool]float64{true: 1}[arm == "old" && i < 100 || arm != "old" && i >= down[k] && i < 100+up[k]], 1)
			}, analyse.Pair{A: "a", B: "old", Primary: true}, analyse.Pair{A: "b", B: "old", Primary: true})
			for _, arm := range []string{"a", "b"} {
				c, _ := a.Comparison(arm, "old", "correct")
				if excludes := c.Low > 0 || c.High < 0; excludes != (c.PAdjusted < 0.05) {
					t.Errorf("%d, %s, %s: adjusted p %v, %v to %v at %v", n, correction, arm, c.PAdjusted, c.Low, c.High, c.Level)
				}
			}
		}
	}
}

// TestFamilyWithLimits: a comparison spares the others only if it excludes what rules ask of it
// too, whatever its missing scores are.
func TestFamilyWithLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limit         float64
		missing       int
		first, second float64 // levels
	}{
		"none":                            {0, 0, 0.975, 0.95},
		"excluded":                        {0.1, 0, 0.975, 0.95},
		"not excluded":                    {0.2, 0, 0.975, 0.975},
		"not with the missing scores":     {0.1, 8, 0.975, 0.975},
		"not known":                       {math.NaN(), 0, 0.975, 0.975},
		"on the other side of difference": {0.5, 0, 0.975, 0.95},
	} {
		limits := map[[3]string][]float64{{"a", "old", "correct"}: {c.limit}}
		if c.limit == 0 {
			limits = nil
		}
		wins := map[string]int{"a": 40, "b": 14}
		a := familyWith(t, limits, "holm", 200, []string{"a", "b", "old"}, func(arm string, i int) eval.Score {
			if arm == "a" && i >= 50 && i < 50+c.missing {
				return without("correct", 1)
			}
			return entry("correct", map[bool]float64{true: 1}[i >= 5 && i < 100+wins[arm] || arm == "old" && i < 100], 1)
		}, analyse.Pair{A: "a", B: "old", Primary: true}, analyse.Pair{A: "b", B: "old", Primary: true})
		first, _ := a.Comparison("a", "old", "correct")
		second, _ := a.Comparison("b", "old", "correct")
		near(t, name+": the level of a", first.Level, c.first)
		near(t, name+": the adjusted p of a", first.PAdjusted, min(1, 0.05/(1-c.first)*float64(first.P)))
		near(t, name+": the level of b", second.Level, c.second)
	}
}

// TestFamilyWithMissingScores: a step-wise correction spares a comparison the number of
// those that are significant whatever their missing scores are.
func TestFamilyWithMissingScores(t *testing.T) {
	for _, missing := range []int{0, 8} {
		wins := map[string]int{"a": 22, "b": 14}
		a := family(t, "holm", 200, []string{"a", "b", "old"}, func(arm string, i int) eval.Score {
			if arm == "a" && i >= 50 && i < 50+missing {
				return without("correct", 1)
			}
			return entry("correct", map[bool]float64{true: 1}[i >= 5 && i < 100+wins[arm] || arm == "old" && i < 100], 1)
		}, analyse.Pair{A: "a", B: "old", Primary: true}, analyse.Pair{A: "b", B: "old", Primary: true})
		first, _ := a.Comparison("a", "old", "correct")
		second, _ := a.Comparison("b", "old", "correct")
		if !(first.P < 0.025 && second.P > 0.025 && second.P < 0.05) || missing > 0 && !(first.Least.P > 0.05) {
			t.Fatalf("the case is another: %+v %+v", first, second)
		}
		near(t, "the level of a", first.Level, 0.975)
		near(t, "the level of b", second.Level, map[int]float64{0: 0.95, 8: 0.975}[missing])
		near(t, "the adjusted p of b", second.PAdjusted, map[int]float64{0: 1, 8: 2}[missing]*float64(second.P))
	}
}

// TestOtherDirection: a comparison that shows its first arm to be worse spares no comparison that shows
// it to be better, so a fault of the arm makes no test easier.
func TestOtherDirection(t *testing.T) {
	for _, correction := range []string{"holm", "hochberg", "bh"} {
		for n := range 4 {
			wrong, last := n%2, analyse.Pair{A: "new", B: "third", Primary: true}
			if n >= 2 {
				last.A, last.B = last.B, last.A
			}
			right := map[string]func(i int) bool{
				"new":   func(i int) bool { return i >= wrong && i < 20 },
				"old":   func(i int) bool { return i >= 5 && i < 20 },
				"third": func(i int) bool { return i < 25 },
			}
			a := family(t, correction, 40, []string{"new", "old", "third"}, func(arm string, i int) eval.Score {
				return entry("correct", map[bool]float64{true: 1}[right[arm](i)], 1)
			}, analyse.Pair{A: "new", B: "old", Primary: true}, last)
			old, _ := a.Comparison("new", "old", "correct")
			near(t, correction+": the level of new − old", old.Level, 0.975)
			near(t, correction+": the adjusted p of new − old", old.PAdjusted, min(1, 2*float64(old.P)))
		}
	}
}

// TestTieGoesNoWay: the interval of a difference of 0 is the mirror image when its arms are written
// the other way round, whatever others show.
func TestTieGoesNoWay(t *testing.T) {
	right := map[string]func(i int) bool{
		"a": func(i int) bool { return i < 40 },
		"b": func(i int) bool { return i < 20 },
		"c": func(i int) bool { return i < 30 && i != 1 },
		"d": func(i int) bool { return i < 30 && i != 2 },
	}
	for _, correction := range []string{"holm", "hochberg", "bh"} {
		for _, pairs := range [][2]analyse.Pair{
			{{A: "a", B: "b", Primary: true}, {A: "c", B: "d", Primary: true}},
			{{A: "b", B: "a", Primary: true}, {A: "d", B: "c", Primary: true}},
		} {
			a := family(t, correction, 60, []string{"a", "b", "c", "d"}, func(arm string, i int) eval.Score {
				return entry("correct", map[bool]float64{true: 1}[right[arm](i)], 1)
			}, pairs[0], pairs[1])
			tie, _ := a.Comparison(pairs[1].A, pairs[1].B, "correct")
			near(t, correction+": the difference", tie.Diff, 0)
			near(t, correction+": the level of "+tie.A+" - "+tie.B, tie.Level, 0.975)
		}
	}
}

package analyse_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/study"
)

// The kinds of metric: 0/1 scores of items, numbers of items, pooled outcomes, pooled
// numbers without an upper bound, and an estimator.
var kinds = eval.Suite{Name: "kinds", Metrics: []eval.Metric{
	{Name: "correct", Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems, Binary: true},
	{Name: "share", Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems},
	{Name: "errors", Max: 1, Kind: eval.Scoring, Pooling: eval.RatioOfSums, Binary: true},
	{Name: "wrong", Max: 1, Kind: eval.Scoring, Pooling: eval.RatioOfSums, Binary: true, Emits: true},
	{Name: "count", Max: math.Inf(1), Kind: eval.Scoring, Pooling: eval.RatioOfSums},
	{Name: "estimated", Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.ByEstimator, Estimate: func(rows []eval.Counted) float64 {
		var right, all float64
		for _, r := range rows {
			right, all = right+r.N*r.Row[0], all+r.N*r.Row[1]
		}
		return right / all
	}},
}}

// entry is a score of a kind on an item: one of n opportunities has the value.
func entry(metric string, value float64, n int) eval.Score {
	s := eval.Score{Replicate: 1, Metric: metric, Num: value * float64(n), Den: float64(n)}
	if metric == "estimated" {
		s = eval.Score{Replicate: 1, Metric: metric, Row: eval.Row{value * float64(n), float64(n)}}
	}
	return s
}

// without is the same entry without a score.
func without(metric string, n int) eval.Score {
	s := eval.Score{Replicate: 1, Metric: metric, Den: float64(n), Unscored: "no verdict"}
	if metric == "estimated" {
		s.Den, s.Least, s.Most = 1, eval.Row{0, float64(n)}, eval.Row{float64(n), float64(n)}
	}
	return s
}

// analysed analyses two arms, new and old, whose answers have the given scores; nil stands
// for a failed trial.
func analysed(t interface{ Fatal(...any) }, n int, scores func(arm string, item int) []eval.Score) *analyse.Analysis {
	return analysedOf(t, n, 0, scores)
}

// analysedOf has so many items of DEV.
func analysedOf(t interface{ Fatal(...any) }, n, dev int, scores func(arm string, item int) []eval.Score) *analyse.Analysis {
	var items []eval.Item
	for i := range n {
		items = append(items, eval.Item{ID: fmt.Sprintf("i%04d", i)})
	}
	return analysedItems(t, items, dev, scores)
}

func analysedItems(t interface{ Fatal(...any) }, items []eval.Item, dev int, scores func(arm string, item int) []eval.Score) *analyse.Analysis {
	return analysedBy(t, "auto", items, dev, scores)
}

func analysedBy(t interface{ Fatal(...any) }, method string, items []eval.Item, dev int, scores func(arm string, item int) []eval.Score) *analyse.Analysis {
	n := len(items)
	arms := []eval.Arm{{ID: "new"}, {ID: "old"}}
	c := analyse.NewCollector(&kinds, items, arms, asListed(items))
	var metrics []string
	for _, m := range kinds.Metrics {
		metrics = append(metrics, m.Name)
	}
	for i, it := range items {
		for _, arm := range arms {
			kind, list := eval.OK, scores(arm.ID, i)
			if list == nil {
				kind = eval.Failed
			}
			c.Add(eval.Scored{Case: eval.CaseOf(eval.Trial{Item: it.ID, Arm: arm.ID, Replicate: 1}, eval.Outcome{Kind: kind}, nil), Scores: list})
		}
	}
	a, err := c.Analyse(analyse.Question{Study: analyse.Study{Alpha: 0.05, Correction: "none", Method: method, Resamples: 1000, MaxUnscored: 0.05},
		Run:         analyse.Run{Items: n, Dev: dev, Replicates: 1, Planned: 2 * n, Done: 2 * n, MaxFailed: 0.05},
		Comparisons: []analyse.Pair{{A: "new", B: "old", Primary: true, Metrics: metrics}}}, analyse.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A mixed model weights clusters in another way than the methods that bounds are of, so that it has
// none of clusters with missing scores.
func TestNoBoundsOfAMixedModelOfClusters(t *testing.T) {
	for _, clustered := range []bool{false, true} {
		var items []eval.Item
		for i := range 30 {
			it := eval.Item{ID: fmt.Sprintf("i%04d", i)}
			if clustered {
				it.Cluster = fmt.Sprint("c", i*i%7)
			}
			items = append(items, it)
		}
		for _, missing := range []bool{false, true} {
			a := analysedBy(t, "mixed_effects", items, 0, func(arm string, item int) []eval.Score {
				if missing && arm == "new" && item == 3 {
					return []eval.Score{without("share", 1)}
				}
				return []eval.Score{entry("share", float64(item*len(arm)*7%11)/11+float64(len(arm)*item%3)/30, 1)}
			})
			c, _ := a.Comparison("new", "old", "share")
			if has := c.Least != nil; has != (missing && !clustered) || len(a.Models) == 0 {
				t.Errorf("clusters %v, missing scores %v: bounds %v, models %v", clustered, missing, has, a.Models)
			}
		}
	}
}

// TestFailedWithoutOpportunity: a failed trial lacks the scores only that answers to its item have,
// but where the answer decides how many there are.
func TestFailedWithoutOpportunity(t *testing.T) {
	a := analysed(t, 10, func(arm string, item int) []eval.Score {
		switch {
		case arm == "new" && item < 3:
			return nil
		case item < 5:
			return []eval.Score{entry("correct", 1, 1)}
		}
		return []eval.Score{entry("correct", 1, 1), entry("errors", 0, 1), entry("wrong", 0, 4)}
	})
	for metric, want := range map[string]int{"correct": 3, "errors": 0, "wrong": 3} {
		if e, _ := a.Estimate("new", metric); e.Unscored != want {
			t.Errorf("%s: %d scores are missing, want %d", metric, e.Unscored, want)
		}
	}
	if e, _ := a.Estimate("new", "wrong"); e.Least == nil || e.Least.Value != 0 || e.Most.Value != 6./26 {
		t.Errorf("wrong is %v to %v, want 0 to 6/26", e.Least, e.Most)
	}
}

// TestBoundsHoldTheTruth: whatever the missing scores are, the figures with them are
// between the least and the most. So a rule that holds at both ends holds.
func TestBoundsHoldTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "items")
		type answer struct {
			value   float64
			n       int
			missing bool
		}
		truth := map[string]answer{}
		for _, m := range kinds.Metrics {
			opportunities := rapid.IntRange(1, 4).Draw(t, "opportunities")
			if m.Pooling == eval.MeanOfItems {
				opportunities = 1
			}
			for i := range n {
				for _, arm := range []string{"new", "old"} {
					truth[fmt.Sprint(arm, i, m.Name)] = answer{float64(rapid.IntRange(0, 1).Draw(t, "value")), opportunities, i > 0 && rapid.IntRange(0, 3).Draw(t, "missing") == 0}
				}
			}
		}
		scores := func(known bool) *analyse.Analysis {
			return analysed(t, n, func(arm string, i int) (list []eval.Score) {
				for _, m := range kinds.Metrics {
					x := truth[fmt.Sprint(arm, i, m.Name)]
					if m.Name == "count" && i == 0 { // the range of a metric without bounds is that of the data
						x.value = map[string]float64{"new": 0, "old": 1}[arm]
					}
					if x.missing && !known {
						list = append(list, without(m.Name, x.n))
					} else {
						list = append(list, entry(m.Name, x.value, x.n))
					}
				}
				return list
			})
		}
		all, some := scores(true), scores(false)
		for i, e := range some.Estimates {
			if e.Unscored == 0 {
				if e.Least != nil || e.UnscoredShare != 0 {
					t.Fatalf("nothing is missing of %+v", e)
				}
				continue
			}
			if is := all.Estimates[i].Value; e.Least == nil || is < e.Least.Value-1e-9 || is > e.Most.Value+1e-9 || !(e.UnscoredShare > 0) {
				t.Errorf("%s of %s is %v, not between %+v and %+v", e.Metric, e.Arm, is, e.Least, e.Most)
			}
		}
		for i, c := range some.Comparisons {
			if c.Least == nil {
				continue
			}
			if is := all.Comparisons[i].Diff; is < c.Least.Diff-1e-9 || is > c.Most.Diff+1e-9 {
				t.Errorf("the difference by %s is %v, not between %v and %v", c.Metric, is, c.Least.Diff, c.Most.Diff)
			}
			turned, _ := some.Comparison("old", "new", c.Metric)
			if turned.Least.Diff != -c.Most.Diff || turned.Most.Diff != -c.Least.Diff {
				t.Errorf("turned round: %v to %v, then %v to %v", c.Least.Diff, c.Most.Diff, turned.Least.Diff, turned.Most.Diff)
			}
		}
	})
}

// TestMissingScoresReverseNothing has the reproductions of false verdicts by scores that
// were missing: each was a pass.
func TestMissingScoresReverseNothing(t *testing.T) {
	right := func(metric string, is bool) []eval.Score {
		if is {
			return []eval.Score{entry(metric, 1, 1)}
		}
		return []eval.Score{entry(metric, 0, 1)}
	}
	r := rand.New(rand.NewPCG(1, 2))
	solved := map[string]bool{} // by arm and item; both arms are equally good
	for i := range 300 {
		for _, arm := range []string{"new", "old"} {
			solved[fmt.Sprint(arm, i)] = r.Float64() < 0.56
		}
	}
	for name, test := range map[string]struct {
		rule   string
		limit  float64
		want   gate.State
		reason string
		n      int
		scores func(arm string, i int) []eval.Score
	}{
		"a judge without a verdict on half of one arm's wrong answers": {"diff_low('new','old','correct') > 0", 0.05, gate.Undecided, "has no score (76 entries: no verdict)", 300, func(arm string, i int) []eval.Score {
			if !solved[fmt.Sprint(arm, i)] && arm == "new" && i%2 == 0 {
				return []eval.Score{without("correct", 1)}
			}
			return right("correct", solved[fmt.Sprint(arm, i)])
		}},
		"the same without a limit": {"diff('new','old','correct') > 0.05", 1, gate.Undecided, "answers without a score could reverse this", 300, func(arm string, i int) []eval.Score {
			if !solved[fmt.Sprint(arm, i)] && arm == "new" && i%2 == 0 {
				return []eval.Score{without("correct", 1)}
			}
			return right("correct", solved[fmt.Sprint(arm, i)])
		}},
		"timeouts where the other arm is right": {"diff_low('new','old','correct') > -0.05", 0.05, gate.Undecided, "14 answers without a score could reverse this: 14 of correct of new (the trial failed)", 300, func(arm string, i int) []eval.Score {
			if arm == "new" && i < 14 {
				return nil
			}
			return right("correct", i < 14 || solved[fmt.Sprint("old", i)])
		}},
		"no verdict at all": {"value('new','estimated') >= 0.9", 0.05, gate.Undecided, "estimated", 24, func(arm string, i int) []eval.Score { return []eval.Score{without("estimated", 1)} }},
		"one arm excluded by its format": {"value('new','errors') < 0.1", 0.05, gate.Undecided, "has no score (20 entries: no verdict)", 80, func(arm string, i int) []eval.Score {
			if arm == "new" && i%4 == 0 {
				return []eval.Score{without("errors", 3)}
			}
			return []eval.Score{entry("errors", 0, 3)}
		}},
		"a failed trial and an estimator": {"value('new','estimated') >= 0.5", 0.05, gate.Undecided, "no lowest and highest one to try", 40, func(arm string, i int) []eval.Score {
			if arm == "new" && i == 0 {
				return nil
			}
			return []eval.Score{entry("estimated", 1, 1)}
		}},
		"behind results of which none is missing": {"registered() < 1 and diff('new','old','correct') > 0.05", 1, gate.Undecided, "answers without a score could reverse this", 300, func(arm string, i int) []eval.Score {
			if !solved[fmt.Sprint(arm, i)] && arm == "new" && i%2 == 0 {
				return []eval.Score{without("correct", 1)}
			}
			return right("correct", solved[fmt.Sprint(arm, i)])
		}},
		"few enough": {"diff_low('new','old','correct') > 0", 0.05, gate.Pass, "", 300, func(arm string, i int) []eval.Score {
			if arm == "new" && i < 5 {
				return []eval.Score{without("correct", 1)}
			}
			return right("correct", arm == "new" || i%3 > 0)
		}},
		"few enough of another arm and metric": {"value('old','errors') < 0.1", 0.05, gate.Pass, "", 300, func(arm string, i int) []eval.Score {
			if arm == "new" {
				return []eval.Score{without("errors", 1), without("correct", 1)}
			}
			return []eval.Score{entry("errors", 0, 1), without("correct", 1)}
		}},
	} {
		a := analysed(t, test.n, test.scores)
		a.Study.MaxUnscored = test.limit
		if c := decided(t, a, test.rule); c.State != test.want || !strings.Contains(c.Reason, test.reason) {
			t.Errorf("%s: %s (%s), want %s (%s)", name, c.State, c.Reason, test.want, test.reason)
		}
	}
}

func decided(t *testing.T, a *analyse.Analysis, rule string) gate.Condition {
	t.Helper()
	rules, problems := gate.Compile(study.Decide{Require: []study.Condition{{Name: "r", That: rule}}},
		gate.Names{Arms: []string{"new", "old"}, Metrics: kinds.Metrics, Factors: []string{"first"}, Compared: func(a, b, metric string) bool { return true }})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return rules.Decide(a).Conditions[0]
}

// TestMissingScoresOfItemsOfDev: a run that decides by values has bounds of them, and these
// have no test either.
func TestMissingScoresOfItemsOfDev(t *testing.T) {
	a := analysedOf(t, 100, 10, func(arm string, i int) []eval.Score {
		if arm == "new" && i < 4 {
			return nil
		}
		return []eval.Score{entry("correct", map[bool]float64{true: 1}[i >= 20 || arm == "new" && i >= 17 || arm == "old" && i < 4], 1)}
	})
	k, _ := a.Comparison("new", "old", "correct")
	if k.Least == nil || k.Least.P.Defined() || k.Most.EquivLow.Defined() || k.Most.Level.Defined() || k.Least.Method != analyse.Descriptive {
		t.Errorf("%+v, at the least %+v", k, k.Least)
	}
	if c := decided(t, a, "diff('new','old','correct') > 0.02"); c.State != gate.Undecided || !strings.Contains(c.Reason, "4 answers without a score could reverse this") {
		t.Errorf("%s (%s)", c.State, c.Reason)
	}
}

// TestStratumWithoutScores: a stratum that lacks all scores of an arm is still one of the strata.
func TestStratumWithoutScores(t *testing.T) {
	var items []eval.Item
	for i := range 40 {
		items = append(items, eval.Item{ID: fmt.Sprintf("i%04d", i), Strata: []eval.Level{{Name: "first", Value: fmt.Sprint(i < 2)}}})
	}
	a := analysedItems(t, items, 0, func(arm string, i int) []eval.Score {
		if i < 2 && arm == "new" {
			return nil
		}
		return []eval.Score{entry("correct", map[bool]float64{true: 1}[i < 2 || i >= 7 || arm == "new"], 1)}
	})
	for _, rule := range []string{"diff_min('new','old','correct','first') > -0.1", "p_min('new','old','correct','first') < 0.05"} {
		if c := decided(t, a, rule); c.State != gate.Undecided {
			t.Errorf("%s: %s (%s)", rule, c.State, c.Reason)
		}
	}
}

// TestPairsKeepItemsWithoutOpportunity: an arm that adds false spans to texts without any
// is not better by the texts that both score.
func TestPairsKeepItemsWithoutOpportunity(t *testing.T) {
	// new finds all of 120 spans and adds two to each of 80 texts without one; old misses 6.
	a := analysed(t, 140, func(arm string, i int) []eval.Score {
		switch {
		case arm == "new" && i < 60:
			return []eval.Score{{Replicate: 1, Metric: "count", Num: 4, Den: 4}}
		case arm == "new":
			return []eval.Score{{Replicate: 1, Metric: "count", Num: 0, Den: 2}}
		case i < 6:
			return []eval.Score{{Replicate: 1, Metric: "count", Num: 2, Den: 3}}
		case i < 60:
			return []eval.Score{{Replicate: 1, Metric: "count", Num: 4, Den: 4}}
		}
		return []eval.Score{} // answered, with nothing to count
	})
	c, _ := a.Comparison("new", "old", "count")
	near(t, "the difference", c.Diff, 240.0/400-228.0/234)
	if c.Pairs != 140 || c.Unpaired != 0 || c.Clusters != 140 || c.Least != nil || !(c.High < 0) {
		t.Errorf("%+v", c)
	}
}

// TestNoScoresLeaveTheBoundsOfAnEffect: d and its interval depend on the spread of the differences, so
// they can be least or most where some of the missing scores are high and others low.
func TestNoScoresLeaveTheBoundsOfAnEffect(t *testing.T) {
	decided := 0
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(8, 40).Draw(rt, "items")
		per := rapid.IntRange(1, 4).Draw(rt, "items a cluster")
		metric := rapid.SampledFrom([]string{"correct", "share"}).Draw(rt, "metric")
		missing := map[string]int{"new": rapid.IntRange(0, 3).Draw(rt, "new without"), "old": rapid.IntRange(0, 3).Draw(rt, "old without")}
		better := rapid.Float64Range(0, 0.6).Draw(rt, "better")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		var items []eval.Item
		values := map[string][]float64{}
		for i := range n {
			it := eval.Item{ID: fmt.Sprintf("i%04d", i)}
			if per > 1 {
				it.Cluster = fmt.Sprint("c", i%((n+per-1)/per))
			}
			items = append(items, it)
			for _, arm := range []string{"new", "old"} {
				v := 0.8 * r.Float64()
				if arm == "new" {
					v = min(1, v+better)
				}
				if metric == "correct" {
					v = math.Round(v)
				}
				values[arm] = append(values[arm], v)
			}
		}
		with := func(fill func() float64) analyse.Comparison {
			a := analysedItems(rt, items, 0, func(arm string, item int) []eval.Score {
				switch {
				case item >= missing[arm]:
					return []eval.Score{entry(metric, values[arm][item], 1)}
				case fill == nil:
					return []eval.Score{without(metric, 1)}
				}
				return []eval.Score{entry(metric, fill(), 1)}
			})
			c, _ := a.Comparison("new", "old", metric)
			return c
		}
		unknown := with(nil)
		if unknown.Least == nil {
			return
		}
		least, most := unknown.Least, unknown.Most
		if least.DLow > 0.1 {
			decided++
		}
		for range 4 {
			ends := r.IntN(3)
			c := with(func() float64 {
				if ends == 0 && metric == "share" {
					return r.Float64()
				}
				return float64(r.IntN(2))
			})
			in := func(what string, x, least, most analyse.Number) {
				if x < least-1e-6 || x > most+1e-6 || !x.Defined() && least.Defined() && most.Defined() {
					rt.Fatalf("%s is %v with all scores; its bounds were %v to %v", what, x, least, most)
				}
			}
			in("d", c.D, least.D, most.D)
			in("its lower end", c.DLow, least.DLow, most.DLow)
			in("its upper end", c.DHigh, least.DHigh, most.DHigh)
		}
	})
	if decided == 0 {
		t.Error("no effect is shown whatever is missing")
	}
}

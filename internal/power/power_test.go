package power_test

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/power"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/stats"
)

var suite = eval.Suite{Name: "toy", Metrics: []eval.Metric{
	{Name: "passed", Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems, Binary: true},
	{Name: "score", Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems},
	{Name: "rate", Max: 1, Kind: eval.Scoring, Pooling: eval.RatioOfSums, Binary: true},
	{Name: "words", Max: math.Inf(1), HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems},
	{Name: "total", Min: 5, Max: 25, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems},
	{Name: "kappa", Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.ByEstimator, Estimate: func([]eval.Counted) float64 { return 0 }},
	{Name: "calls", Max: math.Inf(1), Kind: eval.Scoring, Pooling: eval.MeanOfItems},
}}

// design is a study of three arms with clusters of a size; 1 is no clusters.
func design(t *testing.T, method string, clusters, size int, rules ...string) power.Design {
	t.Helper()
	d := power.Design{Suite: &suite, Arms: []eval.Arm{{ID: "a"}, {ID: "b", Levels: []eval.Level{{Name: "prompt", Value: "old"}}}, {ID: "c"}},
		Question: analyse.Question{Study: analyse.Study{Alpha: 0.05, Method: method, Correction: "none", Resamples: 2000}, Run: analyse.Run{Seed: 42},
			Primary: []string{"passed"}, Secondary: []string{"score", "rate", "words", "kappa"}, Comparisons: []analyse.Pair{{A: "a", B: "b", Primary: true}, {A: "a", B: "c"}}}}
	for i := range clusters * size {
		it := eval.Item{ID: fmt.Sprint("i", i)}
		if size > 1 {
			it.Cluster = fmt.Sprint("c", i/size)
		}
		d.Items = append(d.Items, it)
	}
	var decide study.Decide
	for i, that := range rules {
		decide.Require = append(decide.Require, study.Condition{Name: fmt.Sprint("rule ", i), That: that})
	}
	var problems []*study.Error
	d.Rules, problems = gate.Compile(decide, gate.Names{Arms: []string{"a", "b", "c"}, Metrics: suite.Metrics, Strata: []string{"kind=x"}, Compared: func(a, b, _ string) bool { return a != b }})
	for _, p := range problems {
		t.Fatal(p)
	}
	return d
}

// TestNeeds: the number of items at which a rule holds if nothing goes wrong.
func TestNeeds(t *testing.T) {
	for _, c := range []struct {
		size    int
		rule    string
		perfect int
		alone   bool
		why     string
	}{
		{1, "high('a','rate') < 0.02", 189, false, "Wilson: z²/(n + z²) < 0.02"},
		{1, "low('a','passed') > 0.9", 35, true, "n/(n + z²) > 0.9"},
		{1, "within('a','b','passed', 0.01)", 268, false, "Tango: z²/(n + z²) < 0.01 at 90 %"},
		{1, "diff_low('a','b','passed') > -0.01", 381, false, "Tango at 95 %"},
		{1, "diff_low('a','b','passed') > 0", 0, false, "equal arms do not differ"},
		{1, "diff_low('a','b','passed') > 1.5", 0, false, "no number of items"},
		{1, "value('a','kappa') > 0.5", 0, false, "an estimator is not simulated"},
		{1, "low('a','total') >= 20", 12, true, "25 − 20·z²/(n + z²) ≥ 20"},
		{1, "low('a','words') > 100", 6, true, "equal numbers of words have a limit from 6 on"},
		{1, "low('a','passed') > 0.9999", 0, true, "more than are tried"},
		{1, "value('a','passed') > 1", 0, true, "no scores meet it"},
		{1, "value('a','passed') >= 95", 0, true, "a percentage of a share"},
		{1, "high('a','passed') < -0.5", 0, true, "no scores meet it"},
		{1, "value('a','total') > 16 and value('a','total') < 17", 0, false, "scores between"},
		{1, "high('a','passed') < 0.99", 0, false, "worse scores do"},
		{1, "high('a','passed') < 1", 0, false, "worse scores do, and the interval of the best touches it"},
		{1, "low('a','total') > 6 and high('a','total') < 20", 0, false, "scores between"},
		{1, "low('a','total') > 5 and high('a','total') < 25", 0, false, "scores between, and both ends touch it"},
		{1, "value('a','calls') >= 10", 0, false, "the fewest calls are best"},
		{1, "low('a','calls') > 0", 0, false, "the fewest calls are best"},
		{1, "failed('a') < 0.01 && high('a','rate') < 0.1", 35, false, "trials may all succeed"},
	} {
		needs, err := design(t, "auto", 60, c.size, c.rule).Needs()
		if err != nil {
			t.Fatal(err)
		}
		if n := needs[0]; n.Perfect != c.perfect || n.Alone != c.alone {
			t.Errorf("%s needs %d items (alone %v), want %d: %s", c.rule, n.Perfect, n.Alone, c.perfect, c.why)
		}
		if read := strings.Contains(c.rule, "kappa"); read != slices.Contains(needs[0].Rule.Apart, "kappa") {
			t.Errorf("%s: kappa is read apart: %v, want %v", c.rule, !read, read)
		}
	}
	if needs, err := design(t, "", 5, 1).Needs(); needs != nil || err != nil {
		t.Errorf("no rules: %v, %v", needs, err)
	}
}

func assume(a, b float64, metric string) study.Assumption {
	return study.Assumption{Name: "it", Scores: []study.AssumedScore{{Arm: "a", Metric: metric, Value: a}, {Arm: "old", Metric: metric, Value: b}}}
}

func simulated(t *testing.T, d power.Design, a study.Assumption) power.Power {
	t.Helper()
	p, err := d.Simulate(a)
	if err != nil {
		t.Fatal(err)
	}
	if p[0].Missing != "" {
		t.Fatal(p[0].Missing)
	}
	return p[0]
}

// TestPowerOfJudgedMetrics: a rule that wants its judge checked is simulated by its scores.
func TestPowerOfJudgedMetrics(t *testing.T) {
	judged := suite
	judged.Metrics = slices.Clone(suite.Metrics)
	judged.Metrics[0].Judge = eval.JudgeElse
	d := design(t, "auto", 60, 1)
	d.Suite = &judged
	for i := range d.Arms {
		d.Arms[i].Judges = []string{"j"}
	}
	d.Rules, _ = gate.Compile(study.Decide{RequireMeasured: true, Require: []study.Condition{{Name: "r", That: "low('a','passed') > 0.5"}}},
		gate.Names{Arms: []string{"a", "b", "c"}, Metrics: judged.Metrics})
	if p := simulated(t, d, assume(0.95, 0.95, "passed")); p.CI.Low < 0.9 || d.Arms[0].Judges == nil {
		t.Errorf("power %+v", p)
	}
}

// TestPowerOfPairedT: with scores that are nearly normal the simulation gives the
// power of the non-central t distribution, of items and of clusters.
func TestPowerOfPairedT(t *testing.T) {
	const rule, sd = "diff_low('a','b','words') > 0", 1.0
	independent := 0.0
	for _, c := range []struct {
		clusters, size   int
		icc, correlation float64
		difference       float64
	}{{30, 1, 0, 0.5, 0.5}, {30, 1, 0, 0, 0.5}, {12, 4, 0.3, 0.5, 0.5}, {30, 1, 0, 0.5, 0}} {
		a := assume(10+c.difference, 10, "words")
		a.SD, a.ICC, a.Correlation = sd, c.icc, &c.correlation
		got := simulated(t, design(t, "paired_ttest", c.clusters, c.size, rule), a)
		sdDiff := sd * math.Sqrt(2*(1-c.correlation))
		ofMean := sdDiff * math.Sqrt((1+float64(c.size-1)*c.icc)/float64(c.size))
		_, want, err := stats.PairedPower(float64(c.clusters), c.difference/ofMean, 0.05, stats.TwoSided)
		if err != nil {
			t.Fatal(err)
		}
		if c.difference == 0 {
			want = 0.025
		}
		n := float64(got.Pass + got.Fail + got.Undecided)
		if share := float64(got.Pass) / n; !(math.Abs(share-want) <= 3*math.Sqrt(want*(1-want)/n)+0.005) {
			t.Errorf("%+v: power %.4f, want %.4f", c, share, want)
		}
		if c.correlation == 0 {
			independent = float64(got.Pass) / n
		}
	}
	if independent == 0 {
		t.Error("no power without correlation")
	}
}

// TestSimulatedScores: rules on single arms see the stated means, within
// the standard error of the mean over studies.
func TestSimulatedScores(t *testing.T) {
	for metric, mean := range map[string]float64{"passed": 0.8, "score": 0.9, "rate": 0.05} {
		a := assume(mean, 0.5, metric)
		a.Scores[0].Outcomes, a.ICC = 3, 0.2
		// The estimate is above the mean in about half of the studies, and above by 0.15 in few.
		d := design(t, "paired_ttest", 40, 3, fmt.Sprintf("value('a','%s') > %v", metric, mean))
		if p := simulated(t, d, a); p.Pass < 800 || p.Pass > 1200 {
			t.Errorf("%s is above its mean in %d of 2000 studies", metric, p.Pass)
		}
	}
}

func TestSimulateIsReproducible(t *testing.T) {
	run := func(workers int) []power.Power {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
		p, err := design(t, "permutation", 8, 3, "diff_low('a','b','passed') > 0").Simulate(assume(0.9, 0.6, "passed"))
		if err != nil {
			t.Fatal(err)
		}
		p[0].Rule = gate.Rule{}
		return p
	}
	if a, b := run(1), run(3); !reflect.DeepEqual(a, b) {
		t.Errorf("%+v with one worker, %+v with three", a, b)
	}
}

func TestAssumptionsThatCannotBe(t *testing.T) {
	d := design(t, "paired_ttest", 10, 1, "diff_low('a','b','score') > 0", "value('c','passed') > 0.5", "value('a','kappa') > 0.5")
	p, err := d.Simulate(assume(0.6, 0.5, "score"))
	if err != nil || p[0].Missing != "" || p[1].Missing != "no assumed passed of c" || p[2].Missing != "kappa cannot be simulated" {
		t.Errorf("%+v, %v", p, err)
	}
	// Rules on trials alone read no scores.
	for rule, want := range map[string]string{"failed('a') < 0.05": "failures of trials are not simulated",
		"registered() == 1": "it reads registered, which is not simulated", "diff_in('a','b','score','kind=x') > 0": "it reads diff_in, which is not simulated",
		"replicates('a','b','score', 0.1)": "it reads replicates, which is not simulated", "sd('a','score') < 0.4": ""} {
		d := design(t, "paired_ttest", 10, 1, rule)
		d.Question.Comparisons = nil
		if p, err := d.Simulate(assume(0.6, 0.5, "score")); err != nil || p[0].Missing != want {
			t.Errorf("%s: %+v, %v", rule, p, err)
		}
	}
	// A primary metric without bounds that no rule reads is no obstacle.
	d.Question.Primary = []string{"words", "passed"}
	if _, err := d.Simulate(assume(0.6, 0.5, "score")); err != nil {
		t.Error(err)
	}
	for want, a := range map[string]study.Assumption{
		"outside of 0 to 1":    assume(1.5, 0.5, "score"),
		"it must be below 0.4": {Name: "it", SD: 0.45, Scores: assume(0.8, 0.5, "score").Scores},
	} {
		if _, err := d.Simulate(a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := design(t, "", 10, 1, "value('a','words') > 5").Simulate(assume(6, 5, "words")); err == nil || !strings.Contains(err.Error(), "state sd") {
		t.Errorf("a metric without bounds: %v", err)
	}
}

package analyse_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/effort"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/stats"
)

// hits is a run of one arm with 24 questions, two per document, and the given
// replicates. Every fifth trial is wrong.
func hits(t *testing.T, replicates int, intervals string, score func(hit float64) eval.Score) (*analyse.Analysis, error) {
	t.Helper()
	return documents(t, 12, replicates, intervals, score)
}

// documents is the same with two questions for each of the documents.
func documents(t *testing.T, clusters, replicates int, intervals string, score func(hit float64) eval.Score) (*analyse.Analysis, error) {
	t.Helper()
	toy := eval.Suite{Name: "toy", Metrics: []eval.Metric{
		{Name: "hit", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems, Binary: true},
		{Name: "share", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems},
	}}
	var questions []eval.Item
	for i := range 2 * clusters {
		questions = append(questions, eval.Item{ID: fmt.Sprintf("q%03d", i), Cluster: fmt.Sprint(i / 2)})
	}
	c := analyse.NewCollector(&toy, questions, []eval.Arm{{ID: "x"}}, asListed(questions))
	for i, q := range questions {
		s := eval.Scored{Case: eval.Case{Item: q.ID, Arm: "x"}}
		for k := range replicates {
			hit := 1.0
			if (i*replicates+k)%5 == 0 {
				hit = 0
			}
			s.Trials = append(s.Trials, eval.Judged{Trial: eval.Trial{Item: q.ID, Arm: "x", Replicate: k + 1}, Outcome: eval.Outcome{Kind: eval.OK}})
			s.Scores = append(s.Scores, score(hit), eval.Score{Metric: "share", Num: hit, Den: 1})
		}
		c.Add(s)
	}
	return c.Analyse(analyse.Question{Study: analyse.Study{Alpha: 0.05, Resamples: 2000, Intervals: intervals}, Run: analyse.Run{Items: 2 * clusters, Replicates: replicates, Seed: 7},
		Primary: []string{"hit", "share"}},
		analyse.Sources{})
}

func yes(hit float64) eval.Score { return eval.Score{Metric: "hit", Num: hit, Den: 1} }

// TestIntervalOfProportion: binary metrics have Wilson's interval for the effective
// number of outcomes after clusters and replicates; others have the t interval.
func TestIntervalOfProportion(t *testing.T) {
	for _, replicates := range []int{1, 3} {
		a, err := hits(t, replicates, "", yes)
		if err != nil {
			t.Fatal(err)
		}
		num, den := make([]float64, 12), make([]float64, 12)
		for i := range 24 * replicates {
			if i%5 != 0 {
				num[i/replicates/2] += 1 / float64(replicates)
			}
			den[i/replicates/2] += 1 / float64(replicates)
		}
		want, err := stats.ProportionOfSums(num, den, float64(24*replicates), 0.95)
		if err != nil {
			t.Fatal(err)
		}
		hit, _ := a.Estimate("x", "hit")
		if !(math.Abs(float64(hit.Low)-want.CI.Low) <= 1e-12) || !(math.Abs(float64(hit.High)-want.CI.High) <= 1e-12) || !strings.Contains(hit.Method, "Wilson") {
			t.Errorf("%d replicates: %+v, want %+v", replicates, hit, want)
		}
		share, _ := a.Estimate("x", "share")
		if share.Value != hit.Value || share.Low == hit.Low || share.Method != "cluster-robust t" {
			t.Errorf("%+v", share)
		}
	}
}

// TestBootstrapIntervals: bootstrap intervals are reproducible for every metric,
// and are not used with few clusters.
func TestBootstrapIntervals(t *testing.T) {
	few, errF := hits(t, 1, "bootstrap", yes)
	if e, _ := few.Estimate("x", "hit"); errF != nil || strings.Contains(e.Method, "bootstrap") || !strings.Contains(strings.Join(e.Warnings, " "), "no bootstrap: 12 clusters") {
		t.Errorf("few clusters: %+v, %v", e, errF)
	}
	a, errA := documents(t, 60, 1, "bootstrap", yes)
	b, errB := documents(t, 60, 1, "bootstrap", yes)
	plain, errP := documents(t, 60, 1, "analytic", yes)
	if err := errors.Join(errA, errB, errP); err != nil {
		t.Fatal(err)
	}
	for _, metric := range []string{"hit", "share"} {
		x, _ := a.Estimate("x", metric)
		again, _ := b.Estimate("x", metric)
		formula, _ := plain.Estimate("x", metric)
		if x.Low != again.Low || x.High != again.High || x.Low == formula.Low {
			t.Errorf("%s: %v to %v, then %v to %v; by formula from %v", metric, x.Low, x.High, again.Low, again.High, formula.Low)
		}
		if !strings.Contains(x.Method, "bootstrap") || !(math.Abs(float64(x.Low-formula.Low)) <= 0.1) || x.Low > x.Value || x.High < x.Value {
			t.Errorf("%+v beside %+v", x, formula)
		}
	}
}

// TestBootstrapOfMissingScores: the ends for missing scores are what the bootstrap says of them.
func TestBootstrapOfMissingScores(t *testing.T) {
	with := func(missing eval.Score) analyse.Estimate {
		n := 0
		a, err := documents(t, 60, 1, "bootstrap", func(hit float64) eval.Score {
			if n++; n%9 == 0 {
				return missing
			}
			return yes(hit)
		})
		if err != nil {
			t.Fatal(err)
		}
		e, _ := a.Estimate("x", "hit")
		return e
	}
	e := with(eval.Score{Metric: "hit", Den: 1, Unscored: "no verdict"})
	for _, end := range []struct {
		got   *analyse.Bounds
		score float64
	}{{e.Least, 0}, {e.Most, 1}} {
		if want := with(yes(end.score)); end.got == nil || *end.got != want.Bounds || !strings.Contains(want.Method, "bootstrap") {
			t.Errorf("all missing scores are %v: %+v, want %+v", end.score, end.got, want)
		}
	}
}

// TestBinaryMeansYesOrNo: a binary metric counts outcomes; anything else is an
// error.
func TestBinaryMeansYesOrNo(t *testing.T) {
	for name, s := range map[string]eval.Score{"half": {Metric: "hit", Num: 0.5, Den: 1}, "two of one": {Metric: "hit", Num: 2, Den: 1},
		"of half": {Metric: "hit", Num: 0, Den: 0.5}, "less than none": {Metric: "hit", Num: -1, Den: 2}} {
		if _, err := hits(t, 1, "", func(float64) eval.Score { return s }); err == nil {
			t.Errorf("%s was accepted as binary", name)
		}
	}
}

// TestDifferencesArePossible: the interval of a difference is within the possible range,
// and all of it with fewer items than can show anything.
func TestDifferencesArePossible(t *testing.T) {
	s := simulate(func(_ *rand.Rand, item int, arm string) float64 {
		if arm == "x" && item != 0 {
			return 0.99
		}
		return 0
	})
	s.items, s.x, s.y = s.items[:3], s.x[:3], s.y[:3] // few items, a wide interval
	for i := range s.items {
		s.items[i].Cluster = ""
	}
	c := compared(t, s.analyse(t, "auto", "none"))
	free, err := stats.PairedT(s.x, s.y, 0.95)
	if err != nil || free.Interval(0.95).High <= 1 {
		t.Fatalf("the interval is not wide enough to show anything: %+v, %v", free.Interval(0.95), err)
	}
	near(t, "low", c.Low, -1)
	near(t, "high", c.High, 1)
}

// TestCostWithoutAPoint: with one point in 60 items a third of the resamples have none, so no
// interval bounds what one costs.
func TestCostWithoutAPoint(t *testing.T) {
	primary := eval.Metric{Name: "correct", Max: 1, Binary: true, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems}
	priced := eval.Suite{Name: "priced", Metrics: []eval.Metric{primary}}
	for _, m := range effort.Offered(primary, 1) {
		if m.Name == "cost_per_point" {
			priced.Metrics = append(priced.Metrics, m)
		}
	}
	var items []eval.Item
	for i := range 60 {
		items = append(items, eval.Item{ID: fmt.Sprintf("i%02d", i)})
	}
	c := analyse.NewCollector(&priced, items, []eval.Arm{{ID: "a"}}, asListed(items))
	for i, it := range items {
		point := map[int]float64{0: 1}[i]
		c.Add(eval.Scored{Case: eval.CaseOf(eval.Trial{Item: it.ID, Arm: "a", Replicate: 1}, eval.Outcome{Kind: eval.OK}, nil), Scores: []eval.Score{
			{Replicate: 1, Metric: "correct", Num: point, Den: 1}, {Replicate: 1, Metric: "cost_per_point", Den: 1, Row: eval.Row{0.01, point}}}})
	}
	q := question()
	q.Run.Items, q.Run.Planned, q.Study.Resamples, q.Primary, q.Secondary, q.Comparisons, q.Calibration, q.Samples = 60, 60, 2000, []string{"correct"}, []string{"cost_per_point"}, nil, nil, 0
	a, err := c.Analyse(q, analyse.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	e, _ := a.Estimate("a", "cost_per_point")
	if near(t, "the cost", e.Value, 0.6); e.High.Defined() || !strings.Contains(strings.Join(e.Warnings, "; "), "nothing to divide by") {
		t.Errorf("%+v", e)
	}
}

// TestIntervalsEndAtAnExtreme: only an interval that ends at the lowest or highest score takes for
// granted that there is no outlier beyond.
func TestIntervalsEndAtAnExtreme(t *testing.T) {
	for ends, score := range map[string]func(i int) float64{
		"":        func(i int) float64 { return 0.2 + 0.02*float64(i) },
		"highest": func(i int) float64 { return 0.5 - 0.3*float64(i/29) },
		"lowest":  func(i int) float64 { return 0.5 + 0.3*float64(i/29) },
	} {
		a := analysed(t, 30, func(_ string, item int) []eval.Score { return []eval.Score{entry("share", score(item), 1)} })
		want := ""
		if ends != "" {
			want = "the interval ends at the " + ends + " score of 30 items: it rests on there being no outlier"
		}
		if e, _ := a.Estimate("new", "share"); e.Assumes != want {
			t.Errorf("%v to %v assumes %q, want %q", e.Low, e.High, e.Assumes, want)
		}
	}
}

// TestConstantScores: scores without variation do not show how others would vary, and the
// verdict says so.
func TestConstantScores(t *testing.T) {
	a := analysed(t, 30, func(string, int) []eval.Score { return []eval.Score{entry("share", 0.75, 1)} })
	e, _ := a.Estimate("new", "share")
	const want = "all 30 items score the same, so the interval has no width: it rests on there being no outlier"
	if e.Low != e.High || e.Assumes != want || e.Method != "cluster-robust t" || !slices.Equal(e.Warnings, []string{want}) {
		t.Errorf("%+v", e)
	}
	if c := decided(t, a, "low('new', 'share') > 0.7"); !strings.Contains(strings.Join(c.Warnings, "; "), want) {
		t.Errorf("%+v", c)
	}
}

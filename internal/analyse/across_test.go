package analyse_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/stats"
)

// families are two kernels on three models.
func families() []eval.Arm {
	var arms []eval.Arm
	for _, kernel := range []string{"new", "old"} {
		for _, model := range []string{"m1", "m2", "m3"} {
			arms = append(arms, eval.Arm{ID: kernel + "@" + model, Model: model, Levels: []eval.Level{{Name: "kernel", Value: kernel}, {Name: "model", Value: model}}})
		}
	}
	return arms
}

// acrossRun analyses scores of families on items of two types, in clusters of per items.
func acrossRun(t *testing.T, n, per int, split, method string, value func(item int, arm string) float64) *analyse.Analysis {
	t.Helper()
	var items []eval.Item
	for i := range n {
		items = append(items, eval.Item{ID: fmt.Sprintf("d%03d", i), Cluster: fmt.Sprint(i / per), Strata: []eval.Level{{Name: "type", Value: fmt.Sprint("t", i/per%2)}}})
	}
	arms := families()
	c := analyse.NewCollector(&suite, items, arms, asListed(items))
	for i, it := range items {
		for _, arm := range arms {
			if v := value(i, arm.ID); !math.IsNaN(v) {
				c.Add(scored(it.ID, arm.ID, eval.OK, score("", "value", v, 1)))
			}
		}
	}
	compare := []study.Compare{{A: "new", B: "old", Primary: true, Metrics: []string{"value"}, Across: []string{"model", "type"}}}
	q := question()
	q.Samples, q.Run.Split = 0, split
	q.Study.Alpha, q.Study.Method, q.Study.Correction, q.Study.Resamples = 0.05, method, "none", 2000
	q.Primary = []string{"value"}
	var err error
	if q.Comparisons, err = analyse.Pairs(compare, arms); err != nil {
		t.Fatal(err)
	}
	if q.Across, err = analyse.Interactions(compare, arms, []string{"type"}); err != nil {
		t.Fatal(err)
	}
	a, err := c.Analyse(q, analyse.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func noisy(seed uint64, effect map[string]float64) func(int, string) float64 {
	r := rand.New(rand.NewPCG(seed, 7))
	return func(_ int, arm string) float64 {
		return 0.5 + effect[arm] + 0.1*r.NormFloat64()
	}
}

func same12(t *testing.T, what string, got analyse.Number, want float64) {
	t.Helper()
	if !(math.Abs(float64(got)-want) <= 1e-12) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestAcrossArms: between levels of a factor of arms, the test is the t-test of the
// differences of differences of items.
func TestAcrossArms(t *testing.T) {
	const n = 40
	values := map[string][]float64{}
	draw := noisy(1, map[string]float64{"new@m1": 0.1})
	a := acrossRun(t, n, 1, "test", "auto", func(i int, arm string) float64 {
		v := draw(i, arm)
		values[arm] = append(values[arm], v)
		return v
	})
	r, ok := a.Interaction("new", "old", "value", "model")
	if !ok || len(r.Levels) != 3 || len(r.Pairs) != 3 {
		t.Fatalf("%+v", a.Interactions)
	}
	var ps []float64
	for k, pair := range [][2]string{{"m1", "m2"}, {"m1", "m3"}, {"m2", "m3"}} {
		var x, y []float64
		for i := range n {
			x = append(x, values["new@"+pair[0]][i]-values["old@"+pair[0]][i])
			y = append(y, values["new@"+pair[1]][i]-values["old@"+pair[1]][i])
		}
		ones := slices.Repeat([]float64{1}, n)
		want, err := stats.RatioDifference(x, ones, y, ones, 1-0.05/3)
		if err != nil {
			t.Fatal(err)
		}
		got := r.Pairs[k]
		if got.First != pair[0] || got.Second != pair[1] || got.Items != n {
			t.Errorf("%+v", got)
		}
		same12(t, "difference", got.Diff, want.Diff)
		same12(t, "p", got.P, want.Reading().P)
		same12(t, "lower end", got.Low, want.Reading().Interval(1-0.05/3).Low)
		same12(t, "upper end", got.High, want.Reading().Interval(1-0.05/3).High)
		ps = append(ps, want.Reading().P)
	}
	adjusted, _ := stats.Adjust("holm", ps)
	same12(t, "p of the factor", r.P, min(adjusted[0], adjusted[1], adjusted[2]))
	if r.P > 0.01 || r.Pairs[2].PAdjusted < 0.05 {
		t.Errorf("only m1 has an effect: %+v", r)
	}
	if turned, ok := a.Interaction("old", "new", "value", "model"); !ok || turned.P != r.P {
		t.Error("the order of the arms matters")
	}
}

// TestAcrossStrata: the items of two strata are independent, so variances add up.
func TestAcrossStrata(t *testing.T) {
	const n = 60
	at := map[string][]float64{}
	draw := noisy(2, nil)
	a := acrossRun(t, n, 1, "test", "auto", func(i int, arm string) float64 {
		v := draw(i, arm)
		if strings.HasSuffix(arm, "@m1") {
			at[fmt.Sprint(arm, i%2)] = append(at[fmt.Sprint(arm, i%2)], v)
		}
		return v
	})
	r, ok := a.Interaction("new@m1", "old@m1", "value", "type")
	if !ok || len(r.Pairs) != 1 || r.Pairs[0].Items != n {
		t.Fatalf("%+v", a.Interactions)
	}
	var means [2]float64
	variance := 0.0
	for k := range means {
		x, y := at[fmt.Sprint("new@m1", k)], at[fmt.Sprint("old@m1", k)]
		m := float64(len(x))
		for i := range x {
			means[k] += (x[i] - y[i]) / m
		}
		for i := range x {
			e := (x[i] - y[i] - means[k]) / m
			variance += e * e
		}
	}
	variance *= n / (n - 2.0) // of 30 items in each
	same12(t, "difference", r.Pairs[0].Diff, means[0]-means[1])
	if z := math.Abs(means[0]-means[1]) / math.Sqrt(variance); !(math.Abs(math.Erfc(z/math.Sqrt2)-float64(r.P)) <= 0.02) {
		t.Errorf("p is %v, by the normal distribution %v", r.P, math.Erfc(z/math.Sqrt2))
	}
}

// TestNotTheClassicalError: an effect that is significant at one level and not at another,
// while the effects are alike, is no interaction.
func TestNotTheClassicalError(t *testing.T) {
	wrong, differ := 0, 0
	for seed := range uint64(40) {
		a := acrossRun(t, 40, 1, "test", "auto", noisy(seed, map[string]float64{"new@m1": 0.06, "new@m2": 0.06, "new@m3": 0.06}))
		significant := 0
		for _, c := range a.Comparisons {
			if c.Stratum == nil && c.P < 0.05 {
				significant++
			}
		}
		if significant == 1 || significant == 2 {
			wrong++
		}
		if r, _ := a.Interaction("new", "old", "value", "model"); r.P < 0.05 {
			differ++
		}
	}
	// Of 40 studies the level is exceeded in 2 on average; 7 or more have probability 0.003.
	if wrong < 15 || differ > 6 {
		t.Errorf("%d studies have an effect in some families only, and the test finds a difference in %d", wrong, differ)
	}
}

// TestAcrossClusters: whole clusters are the units.
func TestAcrossClusters(t *testing.T) {
	draw := noisy(3, nil)
	for method, want := range map[string]string{"mixed_effects": "cluster-robust t", "auto": "cluster-robust t"} {
		a := acrossRun(t, 240, 4, "test", method, draw)
		r, _ := a.Interaction("new", "old", "value", "model")
		if len(r.Pairs) != 3 || r.Pairs[0].Clusters != 60 || !strings.Contains(r.Method, want) || !r.Spread().Defined() || !r.P.Defined() {
			t.Errorf("%s: %+v", method, r)
		}
	}
}

// TestAcrossOfEqualDifferences: differences without any variation show no equivalence.
func TestAcrossOfEqualDifferences(t *testing.T) {
	a := acrossRun(t, 6, 1, "test", "auto", func(item int, arm string) float64 { return 0.5 })
	for factor, of := range map[string][2]string{"model": {"new", "old"}, "type": {"new@m1", "old@m1"}} {
		r, ok := a.Interaction(of[0], of[1], "value", factor)
		if !ok || r.Spread().Defined() || r.P.Defined() || !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "all clusters differ by the same amount") }) {
			t.Errorf("%s: spread %v: %+v", factor, r.Spread(), r)
		}
	}
}

// TestAcrossFew: the level with fewer items decides whether there is a test and a warning.
func TestAcrossFew(t *testing.T) {
	for few, want := range map[int]string{
		1: "no test of t0 against t1: fewer than two clusters in one of the two",
		7: "some levels have fewer than 20 items or clusters: only large differences are detectable",
	} {
		draw := noisy(5, nil)
		a := acrossRun(t, 120, 1, "test", "auto", func(item int, arm string) float64 {
			if v := draw(item, arm); item%2 == 1 || item < 2*few {
				return v
			}
			return math.NaN()
		})
		r, ok := a.Interaction("new@m1", "old@m1", "value", "type")
		if !ok || r.P.Defined() != (few > 1) || r.Spread().Defined() != (few > 1) || !slices.Contains(r.Warnings, want) {
			t.Errorf("%d items of a type: %+v", few, r)
		}
	}
}

// TestAcrossStrataOfPasses: wins and losses with the same chance in both strata seldom differ, also
// where the smaller one has none and so no variance.
func TestAcrossStrataOfPasses(t *testing.T) {
	t.Parallel()
	passes := eval.Suite{Name: "toy", Metrics: []eval.Metric{{Name: "pass", Max: 1, HigherIsBetter: true, Binary: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems}}}
	compare := []study.Compare{{A: "new", B: "old", Primary: true, Metrics: []string{"pass"}, Across: []string{"type"}}}
	arms := []eval.Arm{{ID: "new"}, {ID: "old"}}
	for _, c := range []struct {
		small, large, per int
		win, loss         float64
	}{{10, 90, 1, 0.2, 0.02}, {20, 80, 1, 0.12, 0.01}, {30, 170, 1, 0.05, 0.05}, {50, 250, 1, 0.03, 0}, {60, 240, 2, 0.06, 0}} {
		r := rand.New(rand.NewPCG(5, 7))
		found, studies := 0, 100
		for range studies {
			var items []eval.Item
			for i := range c.small + c.large {
				items = append(items, eval.Item{ID: fmt.Sprintf("d%04d", i), Cluster: fmt.Sprint(i / c.per), Strata: []eval.Level{{Name: "type", Value: fmt.Sprint(i < c.small)}}})
			}
			col := analyse.NewCollector(&passes, items, arms, asListed(items))
			for _, it := range items {
				u, x, y := r.Float64(), 1.0, 1.0
				if u < c.win {
					y = 0
				} else if u < c.win+c.loss {
					x = 0
				}
				col.Add(scored(it.ID, "new", eval.OK, score("", "pass", x, 1)))
				col.Add(scored(it.ID, "old", eval.OK, score("", "pass", y, 1)))
			}
			q := question()
			q.Samples, q.Run.Split, q.NoEffect = 0, "test", true
			q.Study.Alpha, q.Study.Method, q.Study.Correction, q.Study.Resamples = 0.05, "auto", "none", 1000
			var err error
			if q.Across, err = analyse.Interactions(compare, arms, []string{"type"}); err != nil {
				t.Fatal(err)
			}
			a, err := col.Analyse(q, analyse.Sources{})
			if err != nil {
				t.Fatal(err)
			}
			x, _ := a.Interaction("new", "old", "pass", "type")
			if x.P < 0.05 {
				found++
			}
			if d := x.Pairs[0]; d.P.Defined() && (d.P < 0.05) != (d.Low > 0 || d.High < 0) {
				t.Fatalf("p is %v, the interval %v to %v", d.P, d.Low, d.High)
			}
		}
		if found > 9 { // 5 % and two standard errors
			t.Errorf("%+v: p_across < 0.05 in %d of %d", c, found, studies)
		}
	}
}

// TestAcrossOnDev: DEV has no p-value.
func TestAcrossOnDev(t *testing.T) {
	a := acrossRun(t, 20, 1, "dev", "auto", noisy(4, nil))
	r, ok := a.Interaction("new", "old", "value", "model")
	if !ok || r.P.Defined() || len(r.Pairs) > 0 || len(r.Levels) != 3 {
		t.Errorf("%+v", r)
	}
}

func TestInteractionsRefuse(t *testing.T) {
	arms := families()
	for _, c := range []struct {
		compare study.Compare
		want    string
	}{
		{study.Compare{A: "new", B: "old", Across: []string{"mdoel"}}, `"mdoel" is neither a stratum of the items (type) nor a factor`},
		{study.Compare{A: "new@m1", B: "old@m1", Across: []string{"model"}}, "two or more levels"},
		{study.Compare{A: "new@m1", B: "old@m2", Across: []string{"model"}}, "two or more levels"},
	} {
		if _, err := analyse.Interactions([]study.Compare{{A: "new", B: "old"}, c.compare}, arms, []string{"type"}); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "comparisons[1].across[0]") {
			t.Errorf("%+v: %v, want %q", c.compare, err, c.want)
		}
	}
}

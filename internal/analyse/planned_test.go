package analyse_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/stats"
)

// A trial run of two arms over thirty items in ten clusters and two types.
type simulatedRun struct {
	items []eval.Item
	x, y  []float64
}

func simulate(value func(r *rand.Rand, item int, arm string) float64) simulatedRun {
	r := rand.New(rand.NewPCG(4, 2))
	var s simulatedRun
	for i := range 30 {
		s.items = append(s.items, eval.Item{ID: fmt.Sprintf("d%02d", i), Cluster: fmt.Sprint(i / 3),
			Strata: []eval.Level{{Name: "type", Value: fmt.Sprint("t", i/3%2)}}})
		s.x, s.y = append(s.x, value(r, i, "x")), append(s.y, value(r, i, "y"))
	}
	return s
}

func (s simulatedRun) analyse(t *testing.T, method, correction string) *analyse.Analysis {
	t.Helper()
	c := analyse.NewCollector(&suite, s.items, arms[1:3], asListed(s.items))
	for i, it := range s.items {
		for arm, v := range map[string]float64{"x": s.x[i], "y": s.y[i]} {
			c.Add(scored(it.ID, arm, eval.OK, score("", "value", v, 1)))
		}
	}
	q := question()
	q.Samples = 0
	q.Study.Alpha, q.Study.Method, q.Study.Correction, q.Study.Resamples = 0.05, method, correction, 2000
	q.Comparisons = []analyse.Pair{{A: "x", B: "y", Primary: true, Metrics: []string{"value"}}}
	q.Primary = []string{"value"}
	a, err := c.Analyse(q, analyse.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func continuous(r *rand.Rand, item int, arm string) float64 {
	v := 0.5 + 0.1*math.Sin(float64(item/3)) + 0.05*r.NormFloat64()
	if arm == "x" {
		v += 0.02 + 0.02*math.Cos(float64(item/3))
	}
	return v
}

func compared(t *testing.T, a *analyse.Analysis) analyse.Comparison {
	t.Helper()
	c, ok := a.Comparison("x", "y", "value")
	if !ok {
		t.Fatal("x was not compared with y")
	}
	return c
}

// TestPlannedTests compares each method's p-value with package stats on the same
// numbers.
func TestPlannedTests(t *testing.T) {
	s := simulate(continuous)
	sums, ones := make([]float64, 10), make([]float64, 10)
	for i := range s.x {
		sums[i/3] += s.x[i] - s.y[i]
		ones[i/3]++
	}
	paired, _ := stats.PairedT(s.x, s.y, 0.95)
	ranks, _ := stats.WilcoxonSignedRank(s.x, s.y, stats.TwoSided, 0.95)
	flips, _ := stats.SignFlipExact(sums)
	robust, _ := stats.RatioOfSums(sums, ones, 0.95)
	for method, want := range map[string]float64{
		"paired_ttest": paired.P,
		"wilcoxon":     ranks.PExact,
		"permutation":  flips.P,
		"clustered":    2 * tail(robust.Value/robust.SE, 9),
	} {
		a := s.analyse(t, method, "none")
		c := compared(t, a)
		near(t, method+": p", c.P, want)
		near(t, method+": difference", c.Diff, paired.MeanDiff)
		if !(c.Low < c.Diff && c.Diff < c.High) || !c.D.Defined() || !(c.DLow < c.D && c.D < c.DHigh) {
			t.Errorf("%s: interval %v to %v, d %v (%v to %v)", method, c.Low, c.High, c.D, c.DLow, c.DHigh)
		}
		if !(c.EquivLow > c.Low-0.01 && c.EquivHigh < c.High+0.01 && c.EquivHigh-c.EquivLow < c.High-c.Low+0.01) {
			t.Errorf("%s: the interval of equivalence is %v to %v, that of the difference %v to %v", method, c.EquivLow, c.EquivHigh, c.Low, c.High)
		}
		// Methods that ignore clusters have a warning with the cluster-robust result.
		knows := method == "permutation" || method == "clustered"
		if warned := strings.Contains(strings.Join(c.Warnings, " "), "10 clusters: the cluster-robust interval"); warned == knows {
			t.Errorf("%s: warnings %q", method, c.Warnings)
		}
	}
}

func tail(t, df float64) float64 {
	p, _ := stats.TOST(t, 1, df, math.Inf(-1), 0, 0.05) // P(T > t)
	return 1 - p.PHigh
}

// TestMixedEffects: the model is that of stats with one row per arm and item, and
// items, clusters and strata as random effects.
func TestMixedEffects(t *testing.T) {
	s := simulate(continuous)
	a := s.analyse(t, "mixed_effects", "none")
	f := stats.NewFrame(60)
	var y []float64
	labels := map[string][]string{}
	for k, arm := range []string{"x", "y"} {
		for i, it := range s.items {
			y = append(y, [][]float64{s.x, s.y}[k][i])
			for name, v := range map[string]string{"arm": arm, "item": it.ID, "cluster": it.Cluster, "type": it.Strata[0].Value} {
				labels[name] = append(labels[name], v)
			}
		}
	}
	if err := f.AddNumbers("score", y); err != nil {
		t.Fatal(err)
	}
	for name, l := range labels {
		if err := f.AddFactor(name, l, nil); err != nil {
			t.Fatal(err)
		}
	}
	formula, _ := stats.ParseFormula("score ~ arm + (1|item) + (1|cluster) + (1|type)")
	m, err := stats.FitMixed(f, formula, stats.MixedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pairs, _ := m.Pairwise("arm", 0.95)
	c := compared(t, a)
	near(t, "p", c.P, pairs[0].P)
	near(t, "difference", c.Diff, pairs[0].Value)
	near(t, "low", c.Low, pairs[0].CI.Low)
	if len(a.Models) != 1 || a.Models[0].Formula != formula.String() || len(a.Models[0].Means) != 2 || len(a.Models[0].Groups) != 3 {
		t.Errorf("models: %+v", a.Models)
	}
	back, _ := a.Comparison("y", "x", "value")
	if back.Diff != -c.Diff || back.EquivLow != -c.EquivHigh || back.DLow != -c.DHigh {
		t.Errorf("inverted: %+v", back)
	}
}

// TestMcNemar: the test needs scores that are 0 or 1, and warns otherwise.
func TestMcNemar(t *testing.T) {
	s := simulate(func(r *rand.Rand, _ int, arm string) float64 {
		if arm == "x" {
			return float64(r.IntN(4) % 2)
		}
		return float64(r.IntN(4) / 3)
	})
	x, y := make([]bool, 30), make([]bool, 30)
	for i := range x {
		x[i], y[i] = s.x[i] == 1, s.y[i] == 1
	}
	want, _ := stats.McNemarOutcomes(x, y, 0.95)
	c := compared(t, s.analyse(t, "mcnemar", "none"))
	near(t, "p", c.P, want.PExact)
	near(t, "difference", c.Diff, want.Diff)
	near(t, "low", c.Low, want.DiffCI.Low)
	c = compared(t, simulate(continuous).analyse(t, "mcnemar", "none"))
	if c.P.Defined() || !c.Diff.Defined() || !strings.Contains(strings.Join(c.Warnings, " "), "scores that are 0 or 1") {
		t.Errorf("McNemar of scores that are not 0 or 1: %+v", c)
	}
}

// TestMixedEffectsThatCannotBeFitted: a failed fit has a reason and no p-value.
func TestMixedEffectsThatCannotBeFitted(t *testing.T) {
	s := simulate(func(*rand.Rand, int, string) float64 { return 0.5 })
	a := s.analyse(t, "mixed_effects", "none")
	c := compared(t, a)
	if c.P.Defined() || !strings.Contains(strings.Join(c.Warnings, " "), "constant") || len(a.Models[0].Warnings) == 0 {
		t.Errorf("p %v, warnings %q, model %+v", c.P, c.Warnings, a.Models)
	}
}

func TestCorrectionsOfOne(t *testing.T) {
	s := simulate(continuous)
	for correction, want := range map[string]float64{"holm": 1, "bh": 1, "by": 1} {
		c := compared(t, s.analyse(t, "paired_ttest", correction))
		near(t, correction, c.PAdjusted, want*float64(c.P)) // a family of one
	}
}

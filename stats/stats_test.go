package stats_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/stats"
)

func TestBadInputIsAnError(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, err := range map[string]error{
		"empty":          second(stats.PairedT(nil, nil, 0.95)),
		"unequal":        second(stats.PairedT([]float64{1}, []float64{1, 2}, 0.95)),
		"NaN":            second(stats.PairedT([]float64{nan, 1}, []float64{1, 2}, 0.95)),
		"infinity":       second(stats.PairedT([]float64{1, 1}, []float64{1, inf}, 0.95)),
		"level":          second(stats.PairedT([]float64{1, 2}, []float64{1, 3}, 95)),
		"negative den":   second(stats.RatioOfSums([]float64{1}, []float64{-1}, 0.95)),
		"NaN den":        second(stats.RatioOfSums([]float64{1}, []float64{nan}, 0.95)),
		"unequal ratio":  second(stats.RatioOfSums([]float64{1}, nil, 0.95)),
		"unequal ratios": second(stats.RatioDifference([]float64{1}, []float64{1}, []float64{1, 2}, []float64{1, 2}, 0.95)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestUndefinedHasAReason: where the estimate or its test is NaN, Undefined says
// why, and nothing is infinite.
func TestUndefinedHasAReason(t *testing.T) {
	huge, ones := []float64{1e308, 1e308, -1e308}, []float64{1, 1, 1}
	ratio, err := stats.RatioOfSums(huge, []float64{1e308, 1e308, 1e308}, 0.95)
	if err != nil || !math.IsNaN(ratio.CI.Low) || ratio.Undefined == "" {
		t.Errorf("a sum that overflows: %+v, %v", ratio, err)
	}
	ratio, err = stats.RatioOfSums([]float64{1e200, -1e200, 3}, ones, 0.95)
	if err != nil || !math.IsNaN(ratio.CI.Low) || !math.IsNaN(ratio.SE) || ratio.Undefined == "" {
		t.Errorf("squares that overflow: %+v, %v", ratio, err)
	}
	diff, err := stats.RatioDifference([]float64{1e200, -1e200, 3}, ones, ones, ones, 0.95)
	if err != nil || !math.IsNaN(diff.P) || !math.IsNaN(diff.SE) || diff.Undefined == "" {
		t.Errorf("squares that overflow: %+v, %v", diff, err)
	}
	diff, err = stats.RatioDifference([]float64{1e308, 1e308, 1e308}, ones, ones, ones, 0.95)
	if err != nil || !math.IsNaN(diff.Diff) || diff.Undefined != "the squares of these numbers overflow float64" {
		t.Errorf("a sum that overflows: %+v, %v", diff, err)
	}
	diff, err = stats.RatioDifference(ones, ones, []float64{0, 0, 0}, []float64{0, 0, 0}, 0.95)
	if err != nil || !math.IsNaN(diff.Diff) || diff.Undefined != "no opportunity in one of the two" {
		t.Errorf("no denominator: %+v, %v", diff, err)
	}
}

// TestRoundingIsNoEvidence: scores that are equal on paper and differ in their last bit
// have no difference, no spread and no p-value.
func TestRoundingIsNoEvidence(t *testing.T) {
	tenth := 0.1
	a, b, ones := slices.Repeat([]float64{tenth + 0.2}, 24), slices.Repeat([]float64{0.3}, 24), slices.Repeat([]float64{1}, 24)
	a[0] = 0.3
	diff, err := stats.RatioDifference(a, ones, b, ones, 0.95)
	if ci := diff.Reading().Interval(0.95); err != nil || diff.Undefined == "" || diff.Diff != 0 || diff.SE != 0 || ci.Low > 0 || diff.Reading().P != 1 {
		t.Errorf("%+v, %v, %v", diff, ci, err)
	}
	p, err := stats.PairedT(a, b, 0.95)
	if err != nil || p.Undefined == "" || !math.IsNaN(p.P) {
		t.Errorf("%+v, %v", p, err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestRatioAtTheBoundary(t *testing.T) {
	none, ones := make([]float64, 40), slices.Repeat([]float64{1}, 40)
	r, err := stats.RatioOfSums(none, ones, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	// 0 of 40: the Wilson interval is [0, z²/(n+z²)] = [0, 3.8415/43.8415].
	if r.Value != 0 || r.CI.Low != 0 || !(math.Abs(r.CI.High-0.0876219) <= 1e-6) || len(r.Warnings) == 0 {
		t.Errorf("0 of 40: %+v", r)
	}
	if r, _ = stats.RatioOfSums(ones, ones, 0.95); r.CI.High != 1 || r.CI.Low > 0.92 || r.CI.Low < 0.90 {
		t.Errorf("40 of 40: %+v", r)
	}
	if r, _ = stats.RatioOfSums(none, none, 0.95); !math.IsNaN(r.Value) || r.Undefined == "" {
		t.Errorf("no opportunity: %+v", r)
	}
	if r, _ = stats.RatioOfSums([]float64{0.5}, []float64{1}, 0.95); r.Value != 0.5 || !math.IsNaN(r.CI.Low) || r.Undefined == "" {
		t.Errorf("one cluster: %+v", r)
	}
	if r, _ = stats.RatioOfSums([]float64{0.15, 0.15, 0.15}, []float64{1, 1, 1}, 0.95); !math.IsNaN(r.CI.Low) || r.Undefined == "" {
		t.Errorf("constant between 0 and 1: %+v", r)
	}
}

// The difference of clusters of which none is in both is Welch's t: SciPy's
// ttest_ind(a, b, equal_var=False). Its degrees of freedom are Welch's where the variances are equal.
func TestRatioDifferenceIsWelchForDisjointClusters(t *testing.T) {
	of := func(a, b []float64) stats.RatioDiff {
		denA, denB := make([]float64, len(a)+len(b)), make([]float64, len(a)+len(b))
		for k := range denA {
			if k < len(a) {
				denA[k] = 1
			} else {
				denB[k] = 1
			}
		}
		d, err := stats.RatioDifference(append(a, make([]float64, len(b))...), denA, append(make([]float64, len(a)), b...), denB, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	alike, other := of([]float64{3, 4, 5}, []float64{0, 0, 0, 1, 2, 2, 2}), of([]float64{1, 4, 10}, []float64{0.5, 1, 1.5, 2.5})
	for name, c := range map[string]struct{ got, want float64 }{
		"t": {alike.T, 4.347413023856832}, "df": {alike.DF, 3.8461538461538463}, "p": {alike.P, 0.013275400463971328},
		"low": {alike.CI.Low, 1.0534648919901153}, "high": {alike.CI.High, 4.9465351080098845},
		"freedom of the limits": {alike.Freedom(), 3.8461538461538463}, "t of other variances": {other.T, 1.3526221412492938},
	} {
		if !(math.Abs(c.got-c.want) <= 1e-10) {
			t.Errorf("%s = %.15g, want %.15g", name, c.got, c.want)
		}
	}
	if d := of([]float64{3}, []float64{0, 1, 2}); !math.IsNaN(d.SE) || d.Undefined != "fewer than two clusters in one of the two" || !math.IsNaN(d.Reading().P) {
		t.Errorf("one cluster against three: %+v", d)
	}
}

// With every denominator 1, the paired difference of ratios is the paired t.
// Of numbers up to 1 a difference or a mean is off by an ulp of 1, ε, on
// either side, and so are the two numbers that t is the quotient of: by ε/SE
// of its size, since the standard error can be smaller than 1 by any factor.
func TestRatioDifferenceIsPairedTForEqualDenominators(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 40).Draw(t, "n")
		draw := rapid.SliceOfN(rapid.Float64Range(0, 1), n, n)
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		ones := slices.Repeat([]float64{1}, n)
		p, err := stats.PairedT(a, b, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		d, err := stats.RatioDifference(a, ones, b, ones, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if p.Undefined != "" || p.SE < 1e-9 {
			return
		}
		const few = 8 * 0x1p-52
		for _, c := range []struct{ got, want, tolerance float64 }{
			{d.Diff, p.MeanDiff, few},
			{d.SE, p.SE, few},
			{d.CI.Low, p.CI.Low, 1e-12 * (1 + math.Abs(p.CI.Low))},
			{d.T, p.T, few / p.SE * (1 + math.Abs(p.T))},
			{d.P, p.P, 1e-12 + few/p.SE},
		} {
			if !(math.Abs(c.got-c.want) <= c.tolerance) {
				t.Fatalf("%v and %v: paired t %+v, ratio %+v", c.got, c.want, p, d)
			}
		}
	})
}

func TestPairedTProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 30).Draw(t, "n")
		draw := rapid.SliceOfN(rapid.Float64Range(-5, 5), n, n)
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		ab, _ := stats.PairedT(a, b, 0.95)
		ba, _ := stats.PairedT(b, a, 0.95)
		if ab.Undefined != "" {
			return
		}
		if ab.MeanDiff != -ba.MeanDiff || ab.P != ba.P || ab.CI.Low != -ba.CI.High {
			t.Fatalf("swapping arms: %+v and %+v", ab, ba)
		}
		if !(ab.P >= 0 && ab.P <= 1) || ab.CI.Low > ab.MeanDiff || ab.CI.High < ab.MeanDiff {
			t.Fatalf("out of range: %+v", ab)
		}
		if spans := ab.CI.Low <= 0 && ab.CI.High >= 0; spans != (ab.P >= 0.05) && !(math.Abs(ab.P-0.05) <= 1e-9) {
			t.Fatalf("the interval and p disagree: %+v", ab)
		}
	})
}

// Coverage of the cluster-robust interval by simulation: 5 binary fields a
// document with a shared document effect, 60 documents.
func TestRatioOfSumsCoverage(t *testing.T) {
	simulation(t)
	const trials, clusters, truth = 2000, 60, 0.5
	covered := 0
	state := uint64(7)
	uniform := func() float64 {
		state += 0x9e3779b97f4a7c15
		x := state
		x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
		x = (x ^ (x >> 27)) * 0x94d049bb133111eb
		return float64((x^(x>>31))>>11) / (1 << 53)
	}
	for range trials {
		num, den := make([]float64, clusters), make([]float64, clusters)
		for c := range clusters {
			p := 0.2 + 0.6*uniform() // mean 0.5
			for range 5 {
				den[c]++
				if uniform() < p {
					num[c]++
				}
			}
		}
		r, err := stats.RatioOfSums(num, den, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if r.CI.Low <= truth && truth <= r.CI.High {
			covered++
		}
	}
	// Nominal 0.95 ± 3.5 standard errors of 2,000 trials.
	if rate := float64(covered) / trials; rate < 0.933 || rate > 0.967 {
		t.Errorf("coverage %.4f, want about 0.95", rate)
	}
}

func TestAdjust(t *testing.T) {
	p := []float64{0.01, 0.04, 0.03, math.NaN()}
	// R: p.adjust(c(.01,.04,.03), "holm") is .03 .06 .06; "bonferroni" .03 .12 .09.
	for name, c := range map[string]struct{ got, want []float64 }{
		"holm":       {stats.Holm(p), []float64{0.03, 0.06, 0.06}},
		"bonferroni": {stats.Bonferroni(p), []float64{0.03, 0.12, 0.09}},
	} {
		for i, want := range c.want {
			if !(math.Abs(c.got[i]-want) <= 1e-15) {
				t.Errorf("%s[%d] = %v, want %v", name, i, c.got[i], want)
			}
		}
		if !math.IsNaN(c.got[3]) {
			t.Errorf("%s of an undefined p is %v", name, c.got[3])
		}
	}
}

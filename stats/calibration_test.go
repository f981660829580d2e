package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/stats"
)

// TestROCAgainstR: twelve cases, DeLong's covariances of placements
// written out in base R 4.2.2 (outer, rowMeans, colMeans, cov).
func TestROCAgainstR(t *testing.T) {
	a := []float64{1.2, 3.4, 2.2, 5.1, 2.2, 4.0, 3.3, 0.5, 2.9, 3.4, 4.4, 1.0}
	b := []float64{2.0, 2.5, 3.1, 4.4, 1.8, 2.5, 4.1, 1.1, 3.0, 2.2, 3.9, 2.4}
	kind := []bool{false, true, false, true, false, true, true, false, true, false, true, false}
	for name, c := range map[string]struct {
		scores   []float64
		area, se float64
	}{"area": {a, 0.930555555555556, 0.0770802051417311}, "other area": {b, 0.916666666666667, 0.0912870929175277}} {
		r, err := stats.ROC(c.scores, kind, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		near(t, name, r.Value, c.area, 1e-14)
		near(t, "SE of "+name, r.SE, c.se, 1e-13)
	}
}

// TestROCSymmetry: scores turned round, or kinds exchanged, give 1 − area; any
// increasing transform gives the same.
func TestROCSymmetry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(4, 30).Draw(t, "cases")
		a, turned, raised := make([]float64, n), make([]float64, n), make([]float64, n)
		kind, exchanged := make([]bool, n), make([]bool, n)
		for i := range n {
			a[i] = float64(rapid.IntRange(0, 9).Draw(t, "a"))
			kind[i] = i < 2 || i >= 4 && rapid.Bool().Draw(t, "kind")
			turned[i], raised[i], exchanged[i] = -a[i], math.Exp(a[i])-5, !kind[i]
		}
		roc, _ := stats.ROC(a, kind, 0.9)
		for _, other := range []stats.AUROC{must(t, turned, kind), must(t, a, exchanged)} {
			if !alike(roc.Value, 1-other.Value) || !alike(roc.SE, other.SE) {
				t.Fatalf("%+v, turned round %+v", roc, other)
			}
		}
		if same := must(t, raised, kind); !alike(roc.Value, same.Value) || !alike(roc.SE, same.SE) {
			t.Fatalf("%+v, transformed %+v", roc, same)
		}
	})
}

func must(t *rapid.T, scores []float64, kind []bool) stats.AUROC {
	r, err := stats.ROC(scores, kind, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestROCCoverage: the interval holds the true area, Φ(1/√2) for normal scores
// a standard deviation apart, about as often as it says.
func TestROCCoverage(t *testing.T) {
	simulation(t)
	r := rand.New(rand.NewPCG(5, 5))
	truth := math.Erfc(-0.5) / 2
	held := 0
	const studies = 2000
	for range studies {
		scores, kind := make([]float64, 120), make([]bool, 120)
		for i := range scores {
			kind[i] = i%2 == 0
			scores[i] = r.NormFloat64()
			if kind[i] {
				scores[i]++
			}
		}
		roc, err := stats.ROC(scores, kind, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		if roc.CI.Low <= truth && truth <= roc.CI.High {
			held++
		}
	}
	// 0.90 ± 4 standard errors of 0.0067.
	if share := float64(held) / studies; !(math.Abs(share-0.90) <= 0.027) {
		t.Errorf("the 90 %% interval held the area in %.1f %%", 100*share)
	}
}

func TestROCAtTheEdge(t *testing.T) {
	kinds := []bool{true, true, false, false}
	for name, c := range map[string]struct {
		scores    []float64
		kind      []bool
		area      float64
		undefined bool
		warning   string
	}{
		"separated":    {[]float64{3, 4, 1, 2}, kinds, 1, false, "perfect separation: no interval"},
		"turned round": {[]float64{1, 2, 3, 4}, kinds, 0, false, "perfect separation: no interval"},
		"all tied":     {[]float64{7, 7, 7, 7}, kinds, 0.5, false, "all scores are the same: no interval"},
		"one positive": {[]float64{2, 1, 3}, []bool{true, false, false}, 0.5, false, "only one case of a class: no interval"},
		"one kind":     {[]float64{1, 2}, []bool{true, true}, math.NaN(), true, ""},
	} {
		r, err := stats.ROC(c.scores, c.kind, 0.95)
		if err != nil || !alike(r.Value, c.area) || (r.Undefined != "") != c.undefined || !math.IsNaN(r.CI.Low) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if c.warning != "" && (len(r.Warnings) != 1 || r.Warnings[0] != c.warning) {
			t.Errorf("%s: warnings %q", name, r.Warnings)
		}
	}
	for name, err := range map[string]error{
		"unequal lengths":    second(stats.ROC([]float64{1}, nil, 0.95)),
		"no cases":           second(stats.ROC(nil, nil, 0.95)),
		"NaN":                second(stats.ROC([]float64{math.NaN(), 1}, []bool{true, false}, 0.95)),
		"a level of 95":      second(stats.ROC([]float64{1, 2}, []bool{true, false}, 95)),
		"no bins":            second(stats.CalibrationCurve([]float64{1}, []bool{true}, stats.CalibrationOptions{Bins: 0, Level: 0.95})),
		"no confidences":     second(stats.CalibrationCurve(nil, nil, stats.CalibrationOptions{Bins: 5, Level: 0.95})),
		"confidence of NaN":  second(stats.CalibrationCurve([]float64{math.NaN()}, []bool{true}, stats.CalibrationOptions{Bins: 5, Level: 0.95})),
		"outcomes too short": second(stats.CalibrationCurve([]float64{0.5}, nil, stats.CalibrationOptions{Bins: 5, Level: 0.95})),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestBinsAreWhereTheySay: every confidence k/bins closes a bin, also where confidence
// times bins is rounded past k, and 0 is in the first.
func TestBinsAreWhereTheySay(t *testing.T) {
	for _, bins := range []int{3, 5, 7, 10, 49, 100, 1000} {
		confidence, outcome := make([]float64, bins+1), make([]bool, bins+1)
		for k := range confidence {
			confidence[k] = float64(k) / float64(bins)
		}
		c, err := stats.CalibrationCurve(confidence, outcome, stats.CalibrationOptions{Bins: bins, Level: 0.95})
		if err != nil || len(c.Bins) != bins {
			t.Fatalf("%d bins: %d, %v", bins, len(c.Bins), err)
		}
		for k, b := range c.Bins {
			if b.N != 1 && k > 0 || b.High != confidence[k+1] {
				t.Fatalf("%d bins: bin %d is %+v", bins, k, b)
			}
		}
	}
}

// TestEqualCountsWithTies: a tie goes past boundaries, and the bins after it
// hold as many as before.
func TestEqualCountsWithTies(t *testing.T) {
	confidence, outcome := make([]float64, 100), make([]bool, 100)
	for i := range confidence {
		confidence[i] = 0.9
		if i >= 50 {
			confidence[i] += float64(i) / 10_000
		}
	}
	c, err := stats.CalibrationCurve(confidence, outcome, stats.CalibrationOptions{Bins: 10, EqualCounts: true, Level: 0.95})
	if err != nil || len(c.Bins) != 6 || c.Bins[0].N != 50 {
		t.Fatalf("%+v, %v", c.Bins, err)
	}
	for _, b := range c.Bins[1:] {
		if b.N != 10 {
			t.Errorf("a bin of %d: %+v", b.N, b)
		}
	}
}

// TestCalibrationProperties: bins hold every case once and in order; the order
// of cases does not matter; errors lie within what they can be.
func TestCalibrationProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "cases")
		bins := rapid.IntRange(1, 12).Draw(t, "bins")
		equalCounts := rapid.Bool().Draw(t, "equal counts")
		confidence, outcome := make([]float64, n), make([]bool, n)
		back, outcomeBack := make([]float64, n), make([]bool, n)
		for i := range n {
			confidence[i], outcome[i] = float64(rapid.IntRange(0, 20).Draw(t, "confidence"))/20, rapid.Bool().Draw(t, "outcome")
			back[n-1-i], outcomeBack[n-1-i] = confidence[i], outcome[i]
		}
		c, err := stats.CalibrationCurve(confidence, outcome, stats.CalibrationOptions{Bins: bins, EqualCounts: equalCounts, Level: 0.95})
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for i, b := range c.Bins {
			total += b.N
			if i > 0 && b.Low <= c.Bins[i-1].High || b.Confidence < b.Low-1e-12 || b.Confidence > b.High+1e-12 {
				t.Fatalf("bins %+v", c.Bins)
			}
		}
		if total != n || len(c.Bins) > bins || c.ECE > c.MCE+1e-12 || c.MCE > 1 || c.Brier < c.ECE*c.ECE-1e-12 || c.Brier > 1 {
			t.Fatalf("%d cases in %d bins: %+v", n, bins, c)
		}
		if d, _ := stats.CalibrationCurve(back, outcomeBack, stats.CalibrationOptions{Bins: bins, EqualCounts: equalCounts, Level: 0.95}); !alike(c.ECE, d.ECE) || !alike(c.MCE, d.MCE) || !alike(c.Brier, d.Brier) {
			t.Fatalf("%+v, in another order %+v", c, d)
		}
	})
}

package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/stats"
)

func bootstrapped(t rapid.TB, num, den []float64, level float64) stats.Bootstrap {
	t.Helper()
	b, err := stats.ClusterBootstrap(num, den, stats.BootstrapOptions{Resamples: 400, Level: level, Seed: 5, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBootstrapByHand: three clusters, four resamples, added up on paper.
func TestBootstrapByHand(t *testing.T) {
	num, den := []float64{1, 4, 4}, []float64{2, 2, 4}
	b, err := stats.ResampleClusters(num, den, [][]int{{0, 0, 0}, {0, 1, 2}, {1, 1, 2}, {2, 2, 2}}, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{0.5, 1.125, 1.5, 1}; !slices.Equal(b.Replicates, want) {
		t.Errorf("replicates %v, want %v", b.Replicates, want)
	}
	// Sorted 0.5, 1, 1.125, 1.5; type 7 takes positions 0.75 and 2.25.
	want := stats.Interval{Low: 0.875, High: 1.21875, Level: 0.5}
	if b.Percentile != want || b.Estimate != 1.125 || b.Basic != (stats.Interval{Low: 2.25 - 1.21875, High: 2.25 - 0.875, Level: 0.5}) {
		t.Errorf("%+v", b)
	}
	// Two of four below, one equal: z0 is Φ⁻¹((2 + 3)/8). Leaving one out gives 8/6, 5/6, 5/4.
	if !(math.Abs(b.Z0-0.31863936396437514) <= 1e-12) {
		t.Errorf("z0 %v", b.Z0)
	}
	jack := []float64{8.0 / 6, 5.0 / 6, 5.0 / 4}
	m := (jack[0] + jack[1] + jack[2]) / 3
	var ss, cubes float64
	for _, x := range jack {
		ss += (m - x) * (m - x)
		cubes += math.Pow(m-x, 3)
	}
	if !alike(b.JackknifeSE, math.Sqrt(2.0/3*ss)) || !alike(b.Acceleration, cubes/(6*math.Pow(ss, 1.5))) {
		t.Errorf("jackknife %v, acceleration %v", b.JackknifeSE, b.Acceleration)
	}
}

// TestBootstrapInvariance: another unit scales everything, an opposite sign
// mirrors it, however small the numbers are; a higher level is wider.
func TestBootstrapInvariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n := rapid.IntRange(3, 40).Draw(t, "clusters")
		unit := rapid.SampledFrom([]float64{math.Ldexp(1, -60), 1, 1024}).Draw(t, "unit") // powers of 2 round nothing
		num, den, scaled, mirrored := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range num {
			den[i] = float64(1 + r.IntN(5))
			num[i] = den[i] * r.ExpFloat64()
			scaled[i], mirrored[i] = unit*num[i], -num[i]
		}
		b, s, m := bootstrapped(t, num, den, 0.9), bootstrapped(t, scaled, den, 0.9), bootstrapped(t, mirrored, den, 0.9)
		if s.Degenerate || s.Percentile.Low != unit*b.Percentile.Low || !alike(s.BCa.High/unit, b.BCa.High) || !alike(s.Z0, b.Z0) {
			t.Fatalf("in units of %v: %+v, before %+v", unit, s.BCa, b.BCa)
		}
		if !alike(m.BCa.Low, -b.BCa.High) || !alike(m.Basic.High, -b.Basic.Low) || !alike(m.Acceleration, -b.Acceleration) {
			t.Fatalf("mirrored %v, before %v", m.BCa, b.BCa)
		}
		wide := bootstrapped(t, num, den, 0.99)
		if wide.Percentile.Low > b.Percentile.Low || wide.BCa.High < b.BCa.High {
			t.Fatalf("99 %%: %v, 90 %%: %v", wide.BCa, b.BCa)
		}
		// boot.ci and type 7 take a quantile between the same two of 400
		// replicates, which lie far apart where few clusters make few values.
		sorted := slices.Sorted(slices.Values(b.Replicates))
		between := func(x float64, k int) bool { return sorted[k-1] <= x && x <= sorted[k] }
		ci := b.BootCI()
		if ci.BCa.Low > ci.BCa.High || !between(ci.Percentile.Low, 20) || !between(b.Percentile.Low, 20) ||
			!between(ci.Percentile.High, 380) || !between(b.Percentile.High, 380) {
			t.Fatalf("boot.ci: %+v, percentile %v", ci, b.Percentile)
		}
	})
}

// TestBootstrapDiff: the difference of two ratios over the same clusters is,
// with equal denominators, the ratio of the differences, draw by draw.
func TestBootstrapDiff(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 8))
	a, b, d, den := make([]float64, 50), make([]float64, 50), make([]float64, 50), make([]float64, 50)
	for i := range a {
		// Quarters are added up without rounding.
		den[i], a[i], b[i] = float64(1+i%4), float64(r.IntN(40))/4, float64(r.IntN(40))/4
		d[i] = a[i] - b[i]
	}
	o := stats.BootstrapOptions{Resamples: 500, Level: 0.95, Seed: 9, Workers: 3}
	paired, err := stats.ClusterBootstrapDiff(a, den, b, den, o)
	if err != nil {
		t.Fatal(err)
	}
	single, err := stats.ClusterBootstrap(d, den, o)
	if err != nil {
		t.Fatal(err)
	}
	for k := range paired.Replicates {
		if !alike(paired.Replicates[k], single.Replicates[k]) {
			t.Fatalf("replicate %d: %v and %v", k, paired.Replicates[k], single.Replicates[k])
		}
	}
	if !alike(paired.BCa.Low, single.BCa.Low) || !alike(paired.Acceleration, single.Acceleration) {
		t.Errorf("%v and %v", paired.BCa, single.BCa)
	}
	// The same in all clusters, but for rounding: 1.1 and 0.7 a row.
	for i := range a {
		a[i], b[i] = 1.1e6*den[i], 0.7e6*den[i]
	}
	constant, err := stats.ClusterBootstrapDiff(a, den, b, den, o)
	if err != nil || !constant.Degenerate || !math.IsNaN(constant.BCa.Low) || !alike(constant.Percentile.Low, 0.4e6) {
		t.Errorf("a constant difference: %+v, %v", constant.BCa, err)
	}
}

// TestBootstrapOneSided: where all replicates lie on one side of the estimate
// there is no z0, and the percentile interval stands in, with a warning.
func TestBootstrapOneSided(t *testing.T) {
	b, err := stats.ResampleClusters([]float64{0, 1, 2}, []float64{1, 1, 1}, [][]int{{2, 2, 1}, {2, 2, 2}, {1, 2, 1}}, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(b.Z0) || b.BCa != b.Percentile || b.Undefined != "" || len(b.Warnings) == 0 {
		t.Errorf("%+v", b)
	}
	if ci := b.BootCI(); !math.IsNaN(ci.BCa.Low) {
		t.Errorf("boot.ci: %+v", ci)
	}
}

// TestOneResample: one replicate has no standard deviation.
func TestOneResample(t *testing.T) {
	b, err := stats.ResampleClusters([]float64{0, 1, 2}, []float64{1, 1, 1}, [][]int{{2, 2, 1}}, 0.9)
	if err != nil || !math.IsNaN(b.SD) || !b.Degenerate {
		t.Errorf("%+v, %v", b, err)
	}
}

// TestBootstrapOverflow: numbers whose squares overflow have no interval, and
// none of infinity.
func TestBootstrapOverflow(t *testing.T) {
	for _, huge := range []float64{1e160, 1e308} {
		b := bootstrapped(t, []float64{huge, 2, -huge, huge}, []float64{1, 1, 1, 1}, 0.9)
		if b.Undefined == "" || !math.IsNaN(b.Percentile.Low) || math.IsInf(b.SD, 0) || math.IsInf(b.JackknifeSE, 0) {
			t.Errorf("%v: %+v", huge, b)
		}
	}
}

func TestBootstrapRefuses(t *testing.T) {
	one := []float64{1, 2}
	o := stats.BootstrapOptions{Resamples: 10, Level: 0.9}
	for name, run := range map[string]func() error{
		"nothing":              func() error { _, err := stats.ClusterBootstrap(nil, nil, o); return err },
		"unequal lengths":      func() error { _, err := stats.ClusterBootstrap(one, one[:1], o); return err },
		"NaN":                  func() error { _, err := stats.ClusterBootstrap([]float64{math.NaN(), 1}, one, o); return err },
		"infinity":             func() error { _, err := stats.ClusterBootstrap(one, []float64{math.Inf(1), 1}, o); return err },
		"negative denominator": func() error { _, err := stats.ClusterBootstrap(one, []float64{-1, 1}, o); return err },
		"no resamples": func() error {
			_, err := stats.ClusterBootstrap(one, one, stats.BootstrapOptions{Level: 0.9})
			return err
		},
		"level 95": func() error {
			_, err := stats.ClusterBootstrap(one, one, stats.BootstrapOptions{Resamples: 9, Level: 95})
			return err
		},
		"other clusters":     func() error { _, err := stats.ClusterBootstrapDiff(one, one, one[:1], one[:1], o); return err },
		"an unknown cluster": func() error { _, err := stats.ResampleClusters(one, one, [][]int{{0, 2}}, 0.9); return err },
		"a negative cluster": func() error { _, err := stats.ResampleClusters(one, one, [][]int{{0, -1}}, 0.9); return err },
		"too few clusters":   func() error { _, err := stats.ResampleClusters(one, one, [][]int{{0, 1}, {0}}, 0.9); return err },
		"none given":         func() error { _, err := stats.ResampleClusters(one, one, nil, 0.9); return err },
	} {
		if run() == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// TestBootstrapCoverage: with skewed data in clusters of unequal size BCa holds
// the truth about as often as it says; taking rows for independent does not.
func TestBootstrapCoverage(t *testing.T) {
	simulation(t)
	const runs, clusters, truth = 1500, 40, 1.0
	r := rand.New(rand.NewPCG(21, 4))
	covered, naive := 0, 0
	for range runs {
		num, den := make([]float64, clusters), make([]float64, clusters)
		var rows, ones []float64
		for g := range num {
			level := r.ExpFloat64() // mean 1, the same for a cluster's rows
			den[g] = float64(2 + r.IntN(6))
			for range int(den[g]) {
				rows, ones = append(rows, level+0.3*r.NormFloat64()), append(ones, 1)
				num[g] += rows[len(rows)-1]
			}
		}
		if b := bootstrapped(t, num, den, 0.9); b.BCa.Low <= truth && truth <= b.BCa.High {
			covered++
		}
		if n, err := stats.RatioOfSums(rows, ones, 0.9); err != nil {
			t.Fatal(err)
		} else if n.CI.Low <= truth && truth <= n.CI.High {
			naive++
		}
	}
	// BCa is second-order right: 40 skewed clusters cost it two points; 3 Monte
	// Carlo standard errors are 0.023.
	if rate := float64(covered) / runs; rate < 0.9-0.02-0.023 {
		t.Errorf("coverage %.3f, stated 0.90", rate)
	}
	if rate := float64(naive) / runs; rate > 0.75 {
		t.Errorf("rows taken for independent cover %.3f: the simulation shows nothing", rate)
	}
}

// The interval at another level is that of a bootstrap drawn for it.
func TestBCaAt(t *testing.T) {
	num, den := []float64{3, 1, 0, 2, 3, 3, 2, 0, 1, 3}, []float64{3, 3, 2, 3, 3, 4, 3, 1, 3, 3}
	at := func(level float64) stats.Bootstrap {
		b, err := stats.ClusterBootstrap(num, den, stats.BootstrapOptions{Resamples: 500, Level: level, Seed: 9})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := at(0.95)
	if got, want := b.BCaAt(0.9), at(0.9).BCa; got != want || b.BCaAt(0.95) != b.BCa {
		t.Errorf("%v, want %v", got, want)
	}
	// One cluster that dominates has a large acceleration: the intervals are nested all the same.
	for _, sign := range []float64{1, -1} {
		num, den := normals(60, 4), slices.Repeat([]float64{1}, 60)
		num[7] = 200 * sign
		heavy, err := stats.ClusterBootstrap(num, den, stats.BootstrapOptions{Resamples: 2000, Level: 0.95, Seed: 1, Workers: 2})
		if err != nil || math.Abs(heavy.Acceleration) < 0.15 {
			t.Fatalf("%v, acceleration %v", err, heavy.Acceleration)
		}
		inner := heavy.BCaAt(0.5)
		for _, level := range []float64{0.9, 0.999, 1 - 1e-8, 1 - 1e-12} {
			outer := heavy.BCaAt(level)
			if !(outer.Low <= inner.Low && inner.High <= outer.High) {
				t.Errorf("%v is not within %v", inner, outer)
			}
			inner = outer
		}
	}
	if iv := b.BCaAt(1); !math.IsNaN(iv.Low) {
		t.Errorf("level 1: %v", iv)
	}
}

// TestInfiniteRatios: a ratio of something to nothing is infinite, as other statistics without a point
// are; only nothing to nothing is none. Two of 30 clusters have the denominators, 0.126 of the resamples none.
func TestInfiniteRatios(t *testing.T) {
	num, den := make([]float64, 30), make([]float64, 30)
	for i := range num {
		num[i] = 1
	}
	den[0], den[1] = 1, 1
	o := stats.BootstrapOptions{Resamples: 4000, Level: 0.95, Seed: 1}
	b, err := stats.ClusterBootstrap(num, den, o)
	if err != nil || b.Estimate != 15 || !strings.Contains(b.Undefined, "of 4000 resamples have nothing to divide by") || !math.IsNaN(b.Percentile.High) {
		t.Errorf("%v, %q, %v, %v", b.Estimate, b.Undefined, b.Percentile, err)
	}
	clear(num[2:]) // clusters without a denominator have nothing
	if b, err = stats.ClusterBootstrap(num, den, o); err != nil || b.Estimate != 1 || b.Undefined != "" || len(b.Warnings) == 0 || !strings.Contains(b.Warnings[0], "resamples had no denominator and are excluded") {
		t.Errorf("%v, %q, %v, %v", b.Estimate, b.Undefined, b.Warnings, err)
	}
}

// TestInfiniteResamples: a resample without a point has an infinite cost per point, which lies
// at the upper end. With one point in 60 clusters, 0.365 of the resamples have none.
func TestInfiniteResamples(t *testing.T) {
	perPoint := func(points int) stats.Bootstrap {
		t.Helper()
		b, err := stats.BootstrapClusters(60, func(drawn []int) float64 {
			n := 0
			for _, i := range drawn {
				if i < points {
					n++
				}
			}
			return float64(len(drawn)) / float64(n)
		}, stats.BootstrapOptions{Resamples: 4000, Level: 0.95, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, points := range []int{1, 3} { // 0.046 of the resamples have none of three
		if b := perPoint(points); b.Estimate != 60/float64(points) || !strings.Contains(b.Undefined, "of 4000 resamples have nothing to divide by") || !math.IsNaN(b.BCaAt(0.95).High) || !math.IsNaN(b.StudentT(0.95).Low) {
			t.Errorf("%d points: %+v", points, b.Undefined)
		}
	}
	if b := perPoint(0); b.Undefined != "the estimate has no value" || !math.IsNaN(b.Estimate) {
		t.Errorf("no points: %v, %q", b.Estimate, b.Undefined)
	}
	b := perPoint(4) // 0.016 have none of four
	if b.Undefined != "" || !(b.Percentile.High > 15) || math.IsInf(b.Percentile.High, 0) || !math.IsInf(b.BCaAt(0.99999).High, 1) || math.IsNaN(b.SD) || math.IsInf(b.SD, 0) {
		t.Errorf("4 points: %q, %v, %v at 99.999 %%, sd %v", b.Undefined, b.Percentile, b.BCaAt(0.99999), b.SD)
	}
}

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

var draws = stats.BootstrapOptions{Resamples: 50, Level: 0.9, Seed: 3, Workers: 2}

// TestMeasureBootstrapsAreGeneral: resampling sums gives the same, to rounding, as
// computing each measure anew on the units drawn.
func TestMeasureBootstrapsAreGeneral(t *testing.T) {
	agree := func(t *rapid.T, what string, got, want stats.Bootstrap) {
		for name, pair := range map[string][2]float64{
			"estimate": {got.Estimate, want.Estimate}, "sd": {got.SD, want.SD}, "jackknife": {got.JackknifeSE, want.JackknifeSE},
			"low": {got.Percentile.Low, want.Percentile.Low}, "high": {got.Percentile.High, want.Percentile.High},
		} {
			if d := math.Abs(pair[0] - pair[1]); !(d < 1e-7) && !(math.IsNaN(pair[0]) && math.IsNaN(pair[1])) {
				t.Fatalf("%s: %s is %v, of units %v", what, name, pair[0], pair[1])
			}
		}
		for i := range got.Replicates {
			if d := math.Abs(got.Replicates[i] - want.Replicates[i]); !(d < 1e-9) && !(math.IsNaN(got.Replicates[i]) && math.IsNaN(want.Replicates[i])) {
				t.Fatalf("%s: replicate %d is %v, of units %v", what, i, got.Replicates[i], want.Replicates[i])
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		const raters = 3
		units := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 4), raters, raters), 4, 15).Draw(t, "units")
		counts := make([][]int, len(units))
		ratings := make([][]float64, raters)
		for u, row := range units {
			counts[u] = make([]int, 5)
			for r, x := range row {
				counts[u][x]++
				ratings[r] = append(ratings[r], float64(x))
				if x == 4 && u > 1 {
					ratings[r][u] = math.NaN() // missing
				}
			}
		}
		got, err := stats.FleissBootstrap(counts, draws)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := stats.BootstrapClusters(len(counts), func(drawn []int) float64 {
			f, _ := stats.FleissKappa(pick(counts, drawn))
			return f.Kappa
		}, draws)
		agree(t, "Fleiss' kappa", got, want)

		// Only units with two ratings are drawn, or clusters of them.
		var pairable []int
		cluster, clusters := make([]int, len(units)), map[int][]int{}
		for u := range units {
			n := 0
			for r := range ratings {
				if !math.IsNaN(ratings[r][u]) {
					n++
				}
			}
			if n > 1 {
				pairable = append(pairable, u)
				cluster[u] = u % 3
				clusters[u%3] = append(clusters[u%3], u)
			}
		}
		for scale := stats.Nominal; scale <= stats.RatioScale; scale++ {
			got, err := stats.KrippendorffBootstrap(ratings, scale, draws)
			if err != nil {
				continue // all ratings are the same
			}
			want, _ := stats.BootstrapClusters(len(pairable), func(drawn []int) float64 {
				of := make([][]float64, raters)
				for r := range of {
					of[r] = pick(ratings[r], pick(pairable, drawn))
				}
				k, _ := stats.KrippendorffAlpha(of, scale)
				return k.Alpha
			}, draws)
			agree(t, "alpha", got, want)
			got, err = stats.KrippendorffClusterBootstrap(ratings, cluster, scale, draws)
			if err != nil {
				t.Fatal(err)
			}
			var order []int // of their first units
			for _, u := range pairable {
				if !slices.Contains(order, u%3) {
					order = append(order, u%3)
				}
			}
			want, _ = stats.BootstrapClusters(len(order), func(drawn []int) float64 {
				of := make([][]float64, raters)
				for _, i := range drawn {
					for r := range of {
						of[r] = append(of[r], pick(ratings[r], clusters[order[i]])...)
					}
				}
				k, _ := stats.KrippendorffAlpha(of, scale)
				return k.Alpha
			}, draws)
			agree(t, "alpha of clusters", got, want)
		}

		confidence, outcome := make([]float64, len(units)), make([]bool, len(units))
		for i, row := range units {
			confidence[i], outcome[i] = float64(row[0]*5+row[1])/25, row[2] > 1
		}
		got, err = stats.CalibrationBootstrap(confidence, outcome, stats.CalibrationOptions{Bins: 5}, draws)
		if err != nil {
			t.Fatal(err)
		}
		want, _ = stats.BootstrapClusters(len(units), func(drawn []int) float64 {
			c, err := stats.CalibrationCurve(pick(confidence, drawn), pick(outcome, drawn), stats.CalibrationOptions{Bins: 5, Level: 0.9})
			if err != nil {
				return math.NaN()
			}
			return c.ECE
		}, draws)
		agree(t, "calibration error", got, want)
		equal, err := stats.CalibrationBootstrap(confidence, outcome, stats.CalibrationOptions{Bins: 3, EqualCounts: true}, draws)
		c, _ := stats.CalibrationCurve(confidence, outcome, stats.CalibrationOptions{Bins: 3, EqualCounts: true, Level: 0.9})
		if err != nil || !(math.Abs(equal.Estimate-c.ECE) <= 1e-12) {
			t.Fatalf("bins of equal size: %v, the curve has %v, %v", equal.Estimate, c.ECE, err)
		}
	})
}

func pick[T any](xs []T, at []int) []T {
	out := make([]T, len(at))
	for i, k := range at {
		out[i] = xs[k]
	}
	return out
}

func TestMeasureBootstrapRefusals(t *testing.T) {
	var many []float64
	for i := range 300 {
		many = append(many, float64(i/2))
	}
	for _, c := range []struct {
		run    func() error
		reason string
	}{
		{func() error {
			_, err := stats.KrippendorffBootstrap([][]float64{{1, 1}, {1, 1}}, stats.Nominal, draws)
			return err
		}, "all ratings are the same"},
		{func() error {
			_, err := stats.KrippendorffBootstrap([][]float64{many, slices.Concat(many[7:], many[:7])}, stats.Ordinal, draws)
			return err
		}, "150 different ordinal ratings"},
		{func() error {
			_, err := stats.FleissBootstrap([][]int{{2, 0}, {0, 2}}, stats.BootstrapOptions{Resamples: 2_000_000_000, Level: 0.9})
			return err
		}, "take too long: draw at most"},
		{func() error { _, err := stats.FleissBootstrap([][]int{{2, 0}, {0, 3}}, draws); return err }, "the same number for each"},
		{func() error {
			_, err := stats.CalibrationBootstrap([]float64{2}, []bool{true}, stats.CalibrationOptions{Bins: 5}, draws)
			return err
		}, "expected 0 to 1"},
	} {
		if err := c.run(); err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("got %v, want %q", err, c.reason)
		}
	}
}

// TestMeasureCoverage: the intervals hold the population's value about as often
// as they say. Its value is that of a very large sample.
func TestMeasureCoverage(t *testing.T) {
	simulation(t)
	r := rand.New(rand.NewPCG(8, 1))
	// A subject has a category; a rater gives it with probability 0.8, else any.
	rate := func(n int) (counts [][]int, ratings [][]float64) {
		counts, ratings = make([][]int, n), make([][]float64, 4)
		for i := range counts {
			counts[i] = make([]int, 3)
			truth := min(2, r.IntN(5))
			for j := range ratings {
				c := truth
				if r.Float64() > 0.8 {
					c = r.IntN(3)
				}
				counts[i][c]++
				ratings[j] = append(ratings[j], float64(c))
			}
		}
		return counts, ratings
	}
	// Confidences overstate by 0.15.
	state := func(n int) (confidence []float64, outcome []bool) {
		for range n {
			c := 0.3 + 0.7*r.Float64()
			confidence, outcome = append(confidence, c), append(outcome, r.Float64() < c-0.15)
		}
		return confidence, outcome
	}
	counts, ratings := rate(400_000)
	kappa, _ := stats.FleissKappa(counts)
	ac1, _ := stats.GwetAC1(counts, 0.9)
	nominal, _ := stats.KrippendorffAlpha(ratings, stats.Nominal)
	ordinal, _ := stats.KrippendorffAlpha(ratings, stats.Ordinal)
	const runs = 1000
	held := map[string]int{}
	note := func(what string, ci stats.Interval, truth float64) {
		if ci.Low <= truth && truth <= ci.High {
			held[what]++
		}
	}
	o := stats.BootstrapOptions{Resamples: 1000, Level: 0.9, Workers: 2}
	for k := range runs {
		o.Seed = uint64(k)
		counts, ratings := rate(50)
		f, _ := stats.FleissKappa(counts)
		note("Fleiss' kappa, analytic", f.Interval(0.9), kappa.Kappa)
		g, _ := stats.GwetAC1(counts, 0.9)
		note("AC1, analytic", g.CI, ac1.AC1)
		b, _ := stats.FleissBootstrap(counts, o)
		note("Fleiss' kappa", b.BCa, kappa.Kappa)
		b, _ = stats.KrippendorffBootstrap(ratings, stats.Nominal, o)
		note("alpha, nominal", b.BCa, nominal.Alpha)
		b, _ = stats.KrippendorffBootstrap(ratings, stats.Ordinal, o)
		note("alpha, ordinal", b.BCa, ordinal.Alpha)
		confidence, outcome := state(300)
		b, _ = stats.CalibrationBootstrap(confidence, outcome, stats.CalibrationOptions{Bins: 10}, o)
		note("calibration error", b.Percentile, 0.15)
	}
	// 3 Monte Carlo standard errors are 0.028.
	for what, n := range held {
		if share := float64(n) / runs; share < 0.9-0.02-0.028 {
			t.Errorf("%s covers %.3f, stated 0.90", what, share)
		}
	}
}

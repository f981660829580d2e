package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/scruple-eval/scruple/stats"
)

// TestBootstrapClusters: of a ratio it is the bootstrap of ratios, draw by draw.
func TestBootstrapClusters(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	num, den := make([]float64, 40), make([]float64, 40)
	for i := range num {
		num[i], den[i] = float64(rng.IntN(5)), float64(5+rng.IntN(4))
	}
	o := stats.BootstrapOptions{Resamples: 500, Level: 0.95, Seed: 7, Workers: 3}
	want, err := stats.ClusterBootstrap(num, den, o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := stats.BootstrapClusters(len(num), func(drawn []int) float64 {
		var n, d float64
		for _, i := range drawn {
			n, d = n+num[i], d+den[i]
		}
		return n / d
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	for k := range want.Replicates {
		if got.Replicates[k] != want.Replicates[k] {
			t.Fatalf("replicate %d is %v, the ratio's is %v", k, got.Replicates[k], want.Replicates[k])
		}
	}
	if !(math.Abs(got.BCa.Low-want.BCa.Low) <= 1e-12) || !(math.Abs(got.BCa.High-want.BCa.High) <= 1e-12) {
		t.Errorf("BCa is %v, the ratio's is %v", got.BCa, want.BCa)
	}
	undefined, err := stats.BootstrapClusters(3, func([]int) float64 { return math.NaN() }, o)
	if err != nil || undefined.Undefined == "" {
		t.Errorf("%+v, %v", undefined, err)
	}
	if _, err := stats.BootstrapClusters(0, func([]int) float64 { return 1 }, o); err == nil {
		t.Error("no error without clusters")
	}
}

// TestExchangeTest: of a sum of differences it is the sign-flip test.
func TestExchangeTest(t *testing.T) {
	a := []float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}
	b := []float64{2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4, 5}
	diff := make([]float64, len(a))
	for i := range a {
		diff[i] = a[i] - b[i]
	}
	want, err := stats.SignFlipRandom(diff, 2000, 11, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{1, 4} {
		got := stats.ExchangeTest(len(a), func(exchanged []bool) float64 {
			var d float64
			for i, swap := range exchanged {
				if swap {
					d += b[i] - a[i]
				} else {
					d += a[i] - b[i]
				}
			}
			return d
		}, 2000, 11, workers)
		if got != want.P {
			t.Errorf("%d workers: p = %v, the sign-flip test has %v", workers, got, want.P)
		}
	}
	if p := stats.ExchangeTest(3, func([]bool) float64 { return math.NaN() }, 100, 1, 1); !math.IsNaN(p) {
		t.Errorf("p of an undefined difference is %v", p)
	}
}

package stats_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/scruple-eval/scruple/stats"
)

// tables are clusters of counts of four kinds, and their kappa.
func tables(n int) ([][]stats.Count, func([]float64) float64) {
	r := rand.New(rand.NewPCG(3, 4))
	clusters := make([][]stats.Count, n)
	for i := range clusters {
		for range 1 + r.IntN(3) {
			clusters[i] = append(clusters[i], stats.Count{Kind: int32(min(3, r.IntN(6))), N: int32(1 + r.IntN(2))})
		}
	}
	return clusters, func(c []float64) float64 {
		n := c[0] + c[1] + c[2] + c[3]
		chance := ((c[0]+c[1])*(c[0]+c[2]) + (c[1]+c[3])*(c[2]+c[3])) / n / n
		return ((c[0]+c[3])/n - chance) / (1 - chance)
	}
}

// TestBootstrapCounts: to the bit what the bootstrap of the clusters themselves gives.
func TestBootstrapCounts(t *testing.T) {
	for _, n := range []int{1, 2, 40} {
		clusters, kappa := tables(n)
		o := stats.BootstrapOptions{Resamples: 500, Level: 0.95, Seed: 9, Workers: 3}
		got, err := stats.BootstrapCounts(clusters, 4, kappa, o)
		if err != nil {
			t.Fatal(err)
		}
		want, err := stats.BootstrapClusters(n, func(drawn []int) float64 {
			sums := make([]float64, 4)
			for _, i := range drawn {
				for _, k := range clusters[i] {
					sums[k.Kind] += float64(k.N)
				}
			}
			return kappa(sums)
		}, o)
		if err != nil {
			t.Fatal(err)
		}
		if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w && !reflect.DeepEqual(got, want) {
			t.Errorf("%d clusters:\n%s\n%s", n, g, w)
		}
	}
	if _, err := stats.BootstrapCounts(nil, 4, nil, stats.BootstrapOptions{Resamples: 1, Level: 0.95}); err == nil {
		t.Error("no cluster is no error")
	}
}

// BenchmarkBootstrapCounts: the time for a cluster is the same however many there are.
func BenchmarkBootstrapCounts(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			clusters, kappa := tables(n)
			for b.Loop() {
				if _, err := stats.BootstrapCounts(clusters, 4, kappa, stats.BootstrapOptions{Resamples: 200, Level: 0.95, Seed: 1, Workers: 1}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/cluster")
		})
	}
}

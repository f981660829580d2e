package stats_test

import (
	"math/rand/v2"
	"testing"

	"github.com/scruple-eval/scruple/stats"
)

func BenchmarkEffectInterval(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	xs, ys := make([]float64, 60), make([]float64, 60)
	for i := range xs {
		xs[i], ys[i] = r.NormFloat64(), r.NormFloat64()-0.4
	}
	p, err := stats.PairedT(xs, ys, 0.95)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		p.EffectInterval(0.95)
	}
}

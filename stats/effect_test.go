package stats_test

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/stats"
)

// TestRangeOfEffect: whatever the differences are, d and its interval are in their range; where all
// are known, they are its ends.
func TestRangeOfEffect(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(3, 30).Draw(rt, "pairs")
		clusters := rapid.IntRange(2, n).Draw(rt, "clusters")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		few := rapid.Bool().Draw(rt, "few values")
		better, unknown := r.Float64()-0.5, rapid.IntRange(0, 4).Draw(rt, "unknown")
		none, low, high, cluster := make([]float64, n), make([]float64, n), make([]float64, n), make([]int32, n)
		for i := range n {
			x := max(-1, min(1, better+r.NormFloat64()))
			if few {
				x = float64(r.IntN(2))
			}
			low[i], high[i], cluster[i] = x, x, int32(r.IntN(clusters))
			if i < unknown {
				low[i], high[i] = x-r.Float64(), x+r.Float64()
				if few {
					low[i], high[i] = 0, 1
				}
			}
		}
		bounds, err := stats.RangeOfEffect(low, high, cluster)
		if err != nil {
			rt.Fatal(err)
		}
		leastD, mostD := bounds.D()
		least, most := bounds.Interval(0.95)
		for range 5 {
			x, sums, sizes := make([]float64, n), make([]float64, clusters), make([]float64, clusters)
			mixed := r.IntN(3)
			for i := range x {
				f := r.Float64()
				if mixed > 0 {
					f = float64(r.IntN(2))
				}
				x[i] = low[i] + f*(high[i]-low[i])
				sums[cluster[i]] += x[i]
				sizes[cluster[i]]++
			}
			paired, errP := stats.PairedT(x, none, 0.95)
			robust, errR := stats.RatioDifference(sums, sizes, make([]float64, clusters), sizes, 0.95)
			if errP != nil || errR != nil {
				rt.Fatal(errP, errR)
			}
			ci := robust.EffectInterval(paired.SDDiff, 0.95)
			in := func(what string, x, least, most float64) {
				const rounding = 1e-6
				if x < least-rounding || x > most+rounding || unknown == 0 && !(x > most-rounding && x < least+rounding) && x == x || x != x && least == least && most == most {
					rt.Fatalf("%s is %v, its range is %v to %v", what, x, least, most)
				}
			}
			in("d", paired.DZ, leastD, mostD)
			in("its lower end", ci.Low, least.Low, most.Low)
			in("its upper end", ci.High, least.High, most.High)
		}
	})
}

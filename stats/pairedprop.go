package stats

import (
	"fmt"
	"math"

	"github.com/scruple-eval/scruple/stats/dist"
	"github.com/scruple-eval/scruple/stats/internal/root"
)

// Tango is the score interval of the difference of two proportions on the same
// items, where only the first passes b items and only the second c of n. It has a
// width without discordant items, z²/(n + z²) to either side, and keeps its
// coverage where the Wald interval is far too short. It is undefined for n = 0.
//
// Source: Tango (1998), Statistics in Medicine 17, 891–908.
func Tango(b, c, n int, level float64) Interval {
	if n <= 0 || b < 0 || c < 0 || b+c > n || checkLevel(level) != nil {
		return undefinedInterval(level)
	}
	return tango(float64(b), float64(c), float64(n), level)
}

// tango is the score interval of counts that need not be whole numbers: the
// differences δ for which |T(δ)| ≤ z, T being the score statistic at the
// restricted maximum likelihood estimate.
func tango(b, c, n, level float64) Interval {
	z := zQuantile((1 - level) / 2)
	score := func(delta float64) float64 {
		linear := (2*n-b+c)*delta - b - c
		q := (math.Sqrt(linear*linear+8*n*c*delta*(1-delta)) - linear) / (4 * n) // P(only the second passes)
		variance := n * (2*q + delta*(1-delta))
		diff := b - c - n*delta
		switch {
		case math.Abs(diff) < 1e-12*n:
			return 0 // at the estimate the variance may be 0
		case !(variance > 0):
			return math.Copysign(math.Inf(1), diff)
		}
		return diff / math.Sqrt(variance)
	}
	iv := Interval{-1, 1, level}
	estimate := (b - c) / n
	switch {
	case b == n: // T = √n·√((1 − δ)/(1 + δ))
		iv.Low = (n - z*z) / (n + z*z)
		return iv
	case c == n:
		iv.High = (z*z - n) / (n + z*z)
		return iv
	}
	if x, ok := root.Find(func(d float64) float64 { return math.Min(score(d), 1e9) - z }, -1, estimate); ok {
		iv.Low = x
	}
	if x, ok := root.Find(func(d float64) float64 { return math.Max(score(d), -1e9) + z }, estimate, 1); ok {
		iv.High = x
	}
	return iv
}

// NewcombePaired is the hybrid score interval of the same difference: Wilson's
// intervals of both proportions, combined by squares with the correlation of the
// outcomes. Table[i][j] counts items as in [McNemarTable].
//
// Source: Newcombe (1998), Statistics in Medicine 17, 2635–2650, method 10.
func NewcombePaired(table [2][2]int, level float64) Interval {
	a, b, c, d := float64(table[0][0]), float64(table[0][1]), float64(table[1][0]), float64(table[1][1])
	n := a + b + c + d
	if n == 0 || min(a, b, c, d) < 0 || checkLevel(level) != nil {
		return undefinedInterval(level)
	}
	p1, p2 := (a+b)/n, (a+c)/n
	phi := 0.0
	if margins := (a + b) * (c + d) * (a + c) * (b + d); margins > 0 {
		excess := a*d - b*c
		if excess > 0 {
			excess = math.Max(0, excess-n/2)
		}
		phi = excess / math.Sqrt(margins)
	}
	return SquareAndAdd(p1, p2, wilson(p1, n, level), wilson(p2, n, level), phi)
}

// SquareAndAdd combines the intervals of two estimates into one of their difference
// a − b: the distances from estimate to limit take the place of standard errors,
// so an interval that is not symmetric stays so. Intervals of rates have a width at
// 0 and 1, and so has that of their difference.
//
// Source: Newcombe (1998), Statistics in Medicine 17, 873–890; Zou & Donner (2008),
// Statistics in Medicine 27, 1693–1702 (MOVER), for correlated estimates.
func SquareAndAdd(a, b float64, ofA, ofB Interval, correlation float64) Interval {
	side := func(x, y float64) float64 { return math.Sqrt(math.Max(0, x*x+y*y-2*correlation*x*y)) }
	return Interval{a - b - side(a-ofA.Low, ofB.High-b), a - b + side(ofA.High-a, b-ofB.Low), ofA.Level}
}

// PairedProportions compares two arms that pass or fail the same items, which
// come in clusters.
type PairedProportions struct {
	N, Clusters int
	B, C        int // items that only the first, only the second passes
	Diff        float64
	Effective   float64 // number of independent items that give as precise a difference
	Undefined   string  // why the interval is undefined

	diff []int // by cluster
}

// ComparePairedProportions compares two arms on the same items, of which only the
// first passes b[k] and only the second c[k] of the n[k] items of cluster k. The
// interval is [Tango]'s at the effective number of items: the variance that
// independent items would have over that between clusters, times the number of
// items, at most that number, and reduced for the degrees of freedom as in
// [ProportionOfSums]. If clusters do not vary, each counts as one item. The
// p-value is that of [SignFlipExact] with the differences of clusters, counted
// exactly for any number of them; with one item a cluster it is that of McNemar's
// exact test.
func ComparePairedProportions(b, c, n []int, level float64) (PairedProportions, error) {
	if err := checkLevel(level); err != nil {
		return PairedProportions{}, err
	}
	if len(b) != len(n) || len(c) != len(n) {
		return PairedProportions{}, fmt.Errorf("stats: every cluster needs its counts, got %d, %d and %d", len(b), len(c), len(n))
	}
	var r PairedProportions
	diff, size := make([]float64, 0, len(n)), make([]float64, 0, len(n))
	for k := range n {
		if b[k] < 0 || c[k] < 0 || b[k]+c[k] > n[k] {
			return PairedProportions{}, fmt.Errorf("stats: cluster %d has %d and %d discordant of %d items", k, b[k], c[k], n[k])
		}
		if n[k] == 0 {
			continue
		}
		r.N, r.B, r.C = r.N+n[k], r.B+b[k], r.C+c[k]
		diff, size, r.diff = append(diff, float64(b[k]-c[k])), append(size, float64(n[k])), append(r.diff, b[k]-c[k])
	}
	if r.N == 0 {
		return PairedProportions{}, errEmpty
	}
	r.Clusters = len(size)
	r.Diff = float64(r.B-r.C) / float64(r.N)
	switch {
	case r.Clusters == r.N:
		r.Effective = float64(r.N)
	case r.Clusters < 2:
		r.Effective = math.NaN()
		r.Undefined = "fewer than two clusters"
	default:
		r.Effective = r.effective(diff, size, level)
	}
	return r, nil
}

// P is the two-sided p-value of flipping the signs of the clusters' differences, that
// of [SignFlipExact] for any number of them. With one item a cluster it is that of
// McNemar's exact test. With thousands of clusters of several items it is the normal
// approximation.
func (r PairedProportions) P() float64 { return flipWhole(r.diff) }

func (r PairedProportions) effective(diff, size []float64, level float64) float64 {
	n, k := float64(r.N), float64(r.Clusters)
	m := robustMean(diff, size)
	discordant, net := float64(r.B+r.C), float64(r.B-r.C)
	independent := (discordant - net*net/n) / (n * (n - 1))
	if !(m.SE > 0) || !(independent > 0) || negligible(m.SE, m.Value) {
		return k
	}
	df := math.Min(m.DF, varianceDF(diff, size, m.Value, k))
	t := tQuantile((1-level)/2, n-1) / tQuantile((1-level)/2, df)
	return math.Min(n, n*independent/(m.SE*m.SE)) * t * t
}

// Interval is the interval of the difference at another level.
func (r PairedProportions) Interval(level float64) Interval {
	if r.Undefined != "" || checkLevel(level) != nil {
		return undefinedInterval(level)
	}
	f := r.Effective / float64(r.N)
	return tango(f*float64(r.B), f*float64(r.C), r.Effective, level)
}

// flipWhole is the two-sided p of flipping the signs of whole numbers, by the
// distribution of their sum.
func flipWhole(diff []int) float64 {
	total, reach, largest, squares := 0, 0, 0, 0.0
	for _, d := range diff {
		total += d
		reach += abs(d)
		largest = max(largest, abs(d))
		squares += float64(d) * float64(d)
	}
	switch {
	case total == 0:
		return 1
	case largest == 1:
		b := dist.Binomial{N: reach, P: 0.5}
		return math.Min(1, 2*b.CDF(float64((reach-abs(total))/2)))
	case float64(reach)*float64(len(diff)) > 5e7:
		return 2 * dist.Normal{Mean: 0, SD: 1}.Survival(math.Abs(float64(total))/math.Sqrt(squares))
	}
	// chance[i] is the probability of the sum i − reach.
	chance, next := make([]float64, 2*reach+1), make([]float64, 2*reach+1)
	chance[reach] = 1
	span := 0
	for _, d := range diff {
		d = abs(d)
		if d == 0 {
			continue
		}
		clear(next[reach-span-d : reach+span+d+1])
		for s := -span; s <= span; s++ {
			half := chance[reach+s] / 2
			next[reach+s-d] += half
			next[reach+s+d] += half
		}
		span += d
		chance, next = next, chance
	}
	p := 0.0
	for s := abs(total); s <= reach; s++ {
		p += chance[reach+s]
	}
	return math.Min(1, 2*p)
}

func abs(x int) int {
	if x < 0 {
		return -x
	}
	return x
}

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
	B, C        float64 // items that only the first, only the second passes
	Diff        float64
	Undefined   string // why the interval is undefined
	// Parts is the number of equal parts of which counts are whole multiples, where items were
	// asked repeatedly: 2 for two replicates. Of 0 it is that of these counts, and may be another
	// after one loss more.
	Parts int

	size, wins, losses []float64 // by cluster
}

// ComparePairedProportions compares two arms on the same items, of which only the
// first passes b[k] and only the second c[k] of the n[k] items of cluster k.
//
// Without clusters of several items the interval is [Tango]'s, and the p-value that of
// its score test. With clusters the lower limit is the lesser of two: that of the
// cluster-robust t of [RatioDifference], and the share of wins minus the upper limit of
// the share of losses by [ProportionOfSums], which knows that losses too few to vary may
// still come. The upper limit is its mirror image. More wins or fewer losses never lower
// a limit.
//
// Counts may be parts of items: where items are asked repeatedly, what the mean of one arm
// has more than that of the other. The results with fewer are then those with fewer of the
// largest parts that divide all counts, or of as many as Parts says.
func ComparePairedProportions[T int | float64](b, c []T, n []int, level float64) (PairedProportions, error) {
	if err := checkLevel(level); err != nil {
		return PairedProportions{}, err
	}
	if len(b) != len(n) || len(c) != len(n) {
		return PairedProportions{}, fmt.Errorf("stats: every cluster needs its counts, got %d, %d and %d", len(b), len(c), len(n))
	}
	var r PairedProportions
	for k := range n {
		wins, losses := float64(b[k]), float64(c[k])
		if !(wins >= 0 && losses >= 0 && wins+losses <= float64(n[k])+1e-9) {
			return PairedProportions{}, fmt.Errorf("stats: cluster %d has %v and %v discordant of %d items", k, b[k], c[k], n[k])
		}
		if n[k] == 0 {
			continue
		}
		r.N, r.B, r.C = r.N+n[k], r.B+wins, r.C+losses
		r.size, r.wins, r.losses = append(r.size, float64(n[k])), append(r.wins, wins), append(r.losses, losses)
	}
	if r.N == 0 {
		return PairedProportions{}, errEmpty
	}
	r.Clusters = len(r.size)
	r.Diff = (r.B - r.C) / float64(r.N)
	if r.Clusters < 2 && r.N > 1 {
		r.Undefined = "fewer than two clusters"
	}
	return r, nil
}

// FlipsP is the two-sided p-value of flipping the signs of the clusters' differences, that
// of [SignFlipExact] for any number of them. With one item a cluster it is that of
// McNemar's exact test. With thousands of clusters of several items it is the normal
// approximation. It is undefined for parts of items.
func (r PairedProportions) FlipsP() float64 {
	diff := make([]int, len(r.size))
	for k, net := range r.net() {
		if diff[k] = int(net); float64(diff[k]) != net {
			return math.NaN()
		}
	}
	return flipWhole(diff)
}

// P is the two-sided p-value of the interval: 1 minus the highest level at which it
// excludes 0.
func (r PairedProportions) P() float64 { return r.Reading().P }

// Interval is the interval of the difference at another level.
func (r PairedProportions) Interval(level float64) Interval {
	if checkLevel(level) != nil {
		return undefinedInterval(level)
	}
	return r.Reading().Interval(level)
}

// Reading is the interval of the difference with its p-value.
func (r PairedProportions) Reading() Reading {
	if r.Undefined != "" {
		return Reading{math.NaN(), undefinedInterval}
	}
	if r.Clusters == r.N {
		return r.score()
	}
	none := make([]float64, len(r.size))
	d := newDifference(r.net(), r.size, none, r.size).reading()
	return Reading{d.P, func(level float64) Interval { return d.Interval(level).Clamp(-1, 1) }}.within(r.rare)
}

// score is Tango's interval. With fewer items than can show anything it includes 0.
func (r PairedProportions) score() Reading {
	p := 1.0
	if d := r.B + r.C; d > 0 {
		p = 2 * (dist.Normal{Mean: 0, SD: 1}).CDF(-math.Abs(r.B-r.C)/math.Sqrt(d))
	}
	least := math.Min(1, chance(float64(r.N)))
	return Reading{math.Max(p, least), func(level float64) Interval {
		ci := tango(r.B, r.C, float64(r.N), level)
		if 1-level < least-1e-12 {
			ci.Low, ci.High = math.Min(ci.Low, 0), math.Max(ci.High, 0)
		}
		return ci
	}}
}

func (r PairedProportions) net() []float64 {
	net := make([]float64, len(r.size))
	for k := range net {
		net[k] = r.wins[k] - r.losses[k]
	}
	return net
}

// Rare is what few wins and losses leave open, with or without clusters, whatever the
// method is that the differences are compared by: a reading that claims no more than it
// and another do.
func (r PairedProportions) Rare(other Reading) Reading { return other.within(r.rare) }

// Apart is a reading of the difference of two such differences, which claims no more than the
// interval of each leaves open.
func (r Reading) Apart(a, b PairedProportions) Reading {
	ofA, ofB := a.Reading(), b.Reading()
	return r.within(apart(a.Diff, b.Diff, func(level float64) (Interval, Interval) { return ofA.Interval(level), ofB.Interval(level) }))
}

func (r PairedProportions) rare(level float64) Interval {
	n := float64(r.N)
	d := newOutcomes(r.size, n, level)
	d.parts = r.Parts
	return Interval{r.B/n - d.most(r.losses), d.most(r.wins) - r.C/n, level}
}

// A Reading is the interval of a difference at any level with its p-value: the interval
// excludes 0 where p is below 1 minus the level.
type Reading struct {
	P        float64
	Interval func(level float64) Interval
}

// Wider claims only what both readings do.
func (r Reading) Wider(other Reading) Reading {
	return Reading{math.Max(r.P, other.P), func(level float64) Interval {
		a, b := r.Interval(level), other.Interval(level)
		return Interval{math.Min(a.Low, b.Low), math.Max(a.High, b.High), level}
	}}
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

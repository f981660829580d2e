package stats

import (
	"math"
	"slices"
)

// EffectRange is what Cohen's d for pairs can be if each difference is only known to lie between two
// values. It contains every d of such differences, and is wider where those of the largest mean
// cannot have the smallest standard deviation.
type EffectRange struct {
	diff, sd [2]float64
	se       [2]float64 // in standard deviations
	df       float64
}

// RangeOfEffect takes the ends of the differences of pairs, of which those with the same number are
// a cluster.
func RangeOfEffect(low, high []float64, cluster []int32) (EffectRange, error) {
	n := float64(len(low))
	codes, clusters := numbered(cluster, len(low))
	lows, sizes := sumByCode(low, nil, codes, clusters)
	highs, _ := sumByCode(high, nil, codes, clusters)
	each, weights := slices.Repeat([]float64{1}, len(low)), make([]float64, clusters)
	robust, err := RatioDifference(lows, sizes, make([]float64, len(sizes)), sizes, 0.95) // no interval is kept
	if err != nil {
		return EffectRange{}, err
	}
	for k, size := range sizes {
		weights[k] = 1 / (n * (n - size))
	}
	r := EffectRange{diff: [2]float64{sum(low) / n, sum(high) / n}, df: robust.DF}
	squares, varies := squaresBetween(low, high, each, each), squaresBetween(lows, highs, sizes, weights)
	for k := range r.sd {
		r.sd[k] = math.Sqrt(squares[k] / (n - 1))
		r.se[k] = 1 / math.Sqrt(n)
	}
	if len(sizes) < len(low) {
		r.se = [2]float64{math.Sqrt(varies[0]) / r.sd[1], math.Sqrt(varies[1]) / r.sd[0]}
	}
	return r, nil
}

// squaresBetween bounds the sum of weight·(x − size·m)², m being Σx/Σsize, over all x between low
// and high.
func squaresBetween(low, high, size, weight []float64) [2]float64 {
	at := func(m float64) (least, most, slope float64) {
		for k, w := range weight {
			a, b := low[k]-size[k]*m, high[k]-size[k]*m
			nearest := math.Max(a, math.Min(b, 0))
			least, most, slope = least+w*nearest*nearest, most+w*math.Max(a*a, b*b), slope-w*size[k]*nearest
		}
		return least, most, slope
	}
	from, to := sum(low)/sum(size), sum(high)/sum(size)
	// Both are convex in m: the most is at an end.
	_, most, _ := at(from)
	_, other, _ := at(to)
	for range 60 {
		m := (from + to) / 2
		if _, _, slope := at(m); slope < 0 {
			from = m
		} else {
			to = m
		}
	}
	least, _, _ := at(from)
	_, whole, _ := at(0)
	const rounding = 1e-24 // of squares: one of 0 is 0
	return [2]float64{math.Max(0, least-rounding*whole), math.Max(most, other)}
}

// Over is a difference in standard deviations: the least and the most.
func (r EffectRange) Over(diff float64) (least, most float64) {
	switch {
	case !(r.sd[0] > 0):
		return math.NaN(), math.NaN()
	case diff < 0:
		return diff / r.sd[0], diff / r.sd[1]
	}
	return diff / r.sd[1], diff / r.sd[0]
}

// D is the least and the most that d can be.
func (r EffectRange) D() (least, most float64) {
	least, _ = r.Over(r.diff[0])
	_, most = r.Over(r.diff[1])
	return least, most
}

// Interval is the interval of d with the least ends and that with the most, those of
// [RatioDiff.EffectInterval]. A larger standard error moves them apart.
func (r EffectRange) Interval(level float64) (least, most Interval) {
	if checkLevel(level) != nil {
		return undefinedInterval(level), undefinedInterval(level)
	}
	at := func(d, se float64) Interval { return effectInterval(d/se, r.df, 1/se, level) }
	low, high := r.D()
	least = Interval{at(low, r.se[1]).Low, at(low, r.se[0]).High, level}
	most = Interval{at(high, r.se[0]).Low, at(high, r.se[1]).High, level}
	return least, most
}

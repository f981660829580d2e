package stats

import (
	"fmt"
	"math"
	"slices"
)

// FlipInterval is the confidence interval of a mean difference by inversion of the
// sign-flip test: the differences δ that the test of sum − δ·size does not reject.
type FlipInterval struct {
	Estimate float64
	Exact    bool // all patterns of signs were counted

	low, high []float64 // the values of δ between which each pattern is as extreme as the data
}

// mostEnumerated is the number of clusters up to which all patterns of signs are
// listed for an interval.
const mostEnumerated = 16

// SignFlipInterval prepares the interval of the mean difference of clusters with
// these sums and sizes; sizes of 1 are differences without clusters. Up to 16
// clusters all patterns count, otherwise the patterns that [SignFlipRandom] draws
// with the same seed. Intervals of several levels cost little.
//
// Under a pattern with signs s the statistic is |Σs·sum − δ·Σs·size|, which
// reaches the observed |Σsum − δ·Σsize| between (Σsum − Σs·sum)/(Σsize − Σs·size)
// and (Σsum + Σs·sum)/(Σsize + Σs·size). The limits of the interval are therefore
// order statistics of those values.
//
// Source: Tukey & McLaughlin (1963), Sankhyā A 25; Ernst (2004), Statistical
// Science 19, for inversion of permutation tests.
func SignFlipInterval(sums, sizes []float64, resamples int, seed uint64) (*FlipInterval, error) {
	if len(sums) != len(sizes) {
		return nil, fmt.Errorf("stats: every cluster needs a sum and a size, got %d and %d", len(sums), len(sizes))
	}
	if len(sums) == 0 {
		return nil, errEmpty
	}
	if err := checkFinite("sums", sums); err != nil {
		return nil, err
	}
	if err := checkFinite("sizes", sizes); err != nil {
		return nil, err
	}
	for k, size := range sizes {
		if size <= 0 {
			return nil, fmt.Errorf("stats: the size of cluster %d is %v", k, size)
		}
	}
	if resamples < 1 {
		return nil, fmt.Errorf("stats: a permutation test needs at least one resample")
	}
	total, n := sum(sums), sum(sizes)
	f := &FlipInterval{Estimate: total / n, Exact: len(sums) <= mostEnumerated}
	add := func(flippedSum, flippedSize float64) {
		x, y := math.Inf(-1), math.Inf(1) // the data themselves, or all signs reversed
		if n-math.Abs(flippedSize) > 1e-9*n {
			x, y = (total-flippedSum)/(n-flippedSize), (total+flippedSum)/(n+flippedSize)
		}
		f.low, f.high = append(f.low, math.Min(x, y)), append(f.high, math.Max(x, y))
	}
	if f.Exact {
		// A pattern and its reverse give the same values: the first sign is fixed.
		for pattern := range 1 << (len(sums) - 1) {
			a, b := sums[0], sizes[0]
			for k := 1; k < len(sums); k++ {
				if pattern>>(k-1)&1 == 0 {
					a, b = a+sums[k], b+sizes[k]
				} else {
					a, b = a-sums[k], b-sizes[k]
				}
			}
			add(a, b)
		}
	} else {
		add(total, n)
		for k := range resamples {
			g := stream(seed, uint64(k))
			add(flipped(sums, g), flipped(sizes, g))
		}
	}
	return f, nil
}

// Interval is the interval at a level. Its ends are infinite if even the most
// extreme pattern of signs is not significant, which happens with few clusters.
func (f *FlipInterval) Interval(level float64) Interval {
	if checkLevel(level) != nil {
		return undefinedInterval(level)
	}
	// More than a share 1 − level of the patterns is as extreme within the limits.
	k := int(math.Floor((1-level)*float64(len(f.low)) + 1e-9))
	return Interval{smallest(f.low, k), -smallest(negated(f.high), k), level}
}

func negated(xs []float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = -x
	}
	return out
}

// smallest returns the k-th smallest value, from 0, by Hoare's selection.
func smallest(xs []float64, k int) float64 {
	xs = slices.Clone(xs)
	for low, high := 0, len(xs)-1; low < high; {
		pivot := xs[low+(high-low)/2]
		i, j := low, high
		for i <= j {
			for xs[i] < pivot {
				i++
			}
			for xs[j] > pivot {
				j--
			}
			if i <= j {
				xs[i], xs[j] = xs[j], xs[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return xs[k]
		}
	}
	return xs[k]
}

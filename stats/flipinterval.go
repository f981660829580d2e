package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// FlipInterval is the confidence interval of a mean difference by inversion of the
// sign-flip test: the differences δ that the test of sum − δ·size does not reject.
type FlipInterval struct {
	Estimate float64
	Exact    bool // all patterns of signs were counted

	tie       float64   // the tolerance on the difference
	low, high []float64 // the values of δ between which each pattern is as extreme as the data, sorted
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
func SignFlipInterval(sums, sizes []float64, resamples int, seed uint64, workers int) (*FlipInterval, error) {
	if len(sums) != len(sizes) {
		return nil, fmt.Errorf("stats: every cluster needs a sum and a size, got %d and %d", len(sums), len(sizes))
	}
	if len(sums) == 0 {
		return nil, errEmpty
	}
	if err := cmp.Or(checkFinite("sums", sums), checkFinite("sizes", sizes)); err != nil {
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
	if err := checkFinite("totals", []float64{total, n}); err != nil {
		return nil, err
	}
	f := &FlipInterval{Estimate: total / n, Exact: len(sums) <= mostEnumerated, tie: flipTolerance(sums) / n}
	patterns := resamples + 1
	if f.Exact {
		// A pattern and its reverse give the same values: the first sign is fixed.
		patterns = 1 << (len(sums) - 1)
	}
	f.low, f.high = make([]float64, patterns), make([]float64, patterns)
	inParallel(patterns, workers, func(_, k int) {
		a, b := total, n // the data themselves
		switch {
		case f.Exact:
			a, b = pattern(sums, k), pattern(sizes, k)
		case k > 0:
			g := stream(seed, uint64(k-1))
			a, b = flipped(sums, g), flipped(sizes, g)
		}
		x, y := math.Inf(-1), math.Inf(1) // all signs the same
		if n-math.Abs(b) > 1e-9*n {
			x, y = (total-a)/(n-b), (total+a)/(n+b)
		}
		f.low[k], f.high[k] = math.Min(x, y), math.Max(x, y)
	})
	slices.Sort(f.low)
	slices.Sort(f.high)
	return f, nil
}

// pattern sums numbers under the signs of the bits of a pattern, the first positive.
func pattern(xs []float64, bits int) float64 {
	s := xs[0]
	for k := 1; k < len(xs); k++ {
		if bits>>(k-1)&1 == 0 {
			s += xs[k]
		} else {
			s -= xs[k]
		}
	}
	return s
}

// P is the two-sided p-value of the test of a difference: the share of patterns that
// are as extreme. Of 0 it is that of [SignFlipRandom] with the same draws.
func (f *FlipInterval) P(difference float64) float64 {
	tie := f.tie + flipTie*math.Abs(difference)
	count := 0 // of patterns that begin at or below it, without those that end below it
	for k := range f.low {
		if f.low[k]-tie <= difference {
			count++
		}
		if f.high[k]+tie < difference {
			count--
		}
	}
	return float64(count) / float64(len(f.low))
}

// Interval is the interval at a level: the differences whose p-value is not below 1 − level.
// Its ends are infinite if even the most extreme pattern of signs is not significant, which
// happens with few clusters.
func (f *FlipInterval) Interval(level float64) Interval {
	if checkLevel(level) != nil {
		return undefinedInterval(level)
	}
	// At least a share 1 − level of the patterns is as extreme within the limits.
	k := max(0, int(math.Ceil((1-level)*float64(len(f.low))-1e-9))-1)
	return Interval{f.onPaper(f.low[k]), f.onPaper(f.high[len(f.high)-1-k]), level}
}

// onPaper is the decimal number of which binary sums come within the tolerance.
func (f *FlipInterval) onPaper(x float64) float64 {
	if math.Abs(x) <= f.tie {
		return 0
	}
	places := math.Pow(10, math.Min(300, math.Ceil(-math.Log10(f.tie))))
	return math.Round(x*places) / places
}

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

	tie         float64   // the tolerance on the difference
	sums, sizes []float64 // whose patterns are counted anew for each difference
	low, high   []float64 // or the values of δ between which each pattern is as extreme as the data, sorted
}

// All patterns of signs are listed up to mostEnumerated clusters, and counted by halves up to
// mostCounted: a limit takes some 60 counts, each of 2ⁿᐟ² sums.
const (
	mostEnumerated = 16
	mostCounted    = 24
)

// SignFlipInterval prepares the interval of the mean difference of clusters with
// these sums and sizes; sizes of 1 are differences without clusters. Up to 24
// clusters all patterns count, otherwise the patterns that [SignFlipRandom] draws
// with the same seed. Intervals of several levels cost little.
//
// Under a pattern with signs s the statistic is |Σs·sum − δ·Σs·size|, which
// reaches the observed |Σsum − δ·Σsize| between (Σsum − Σs·sum)/(Σsize − Σs·size)
// and (Σsum + Σs·sum)/(Σsize + Σs·size). The limits of the interval are therefore
// order statistics of those values. The estimate is between the two, so that the p-value of δ
// falls on either side of it.
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
	f := &FlipInterval{Estimate: total / n, Exact: len(sums) <= mostCounted, tie: flipTolerance(sums) / n}
	if f.Exact && len(sums) > mostEnumerated {
		f.sums, f.sizes = slices.Clone(sums), slices.Clone(sizes)
		return f, nil
	}
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
	if f.sums != nil {
		return f.share(difference, f.tie*sum(f.sizes))
	}
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
	if f.sums != nil {
		return Interval{f.limit(1-level, -1), f.limit(1-level, 1), level}
	}
	// At least a share 1 − level of the patterns is as extreme within the limits.
	k := max(0, int(math.Ceil((1-level)*float64(len(f.low))-1e-9))-1)
	return Interval{f.onPaper(f.low[k]), f.onPaper(f.high[len(f.high)-1-k]), level}
}

// share is the share of patterns that are as extreme as the data under a difference.
func (f *FlipInterval) share(difference, tie float64) float64 {
	shifted := make([]float64, len(f.sums))
	for k, s := range f.sums {
		shifted[k] = s - difference*f.sizes[k]
	}
	a, b := flips(shifted[:len(shifted)/2]), flips(shifted[len(shifted)/2:])
	// The sums lie symmetrically about 0.
	return math.Min(1, 2*atLeast(a, b, math.Abs(sum(shifted))-tie)/math.Ldexp(1, len(shifted)))
}

// limit is the difference farthest on a side whose p-value is not below alpha.
func (f *FlipInterval) limit(alpha float64, side float64) float64 {
	far := f.Estimate
	for k, s := range f.sums {
		far = side * math.Max(side*far, side*s/f.sizes[k])
	}
	in, rounding := f.Estimate, 1e-4*f.tie*sum(f.sizes)
	out := far + side*math.Max(1, math.Abs(far)) // all have one sign: only their own pattern and its reverse are as extreme
	if f.share(out, rounding) >= alpha-1e-12 {
		return math.Inf(int(side))
	}
	for range 100 {
		between := in + (out-in)/2
		if between == in || between == out {
			break
		}
		if f.share(between, rounding) >= alpha-1e-12 {
			in = between
		} else {
			out = between
		}
	}
	return f.onPaper(in)
}

// onPaper is the decimal number of which binary sums come within the tolerance.
func (f *FlipInterval) onPaper(x float64) float64 {
	if math.Abs(x) <= f.tie {
		return 0
	}
	places := math.Pow(10, math.Min(300, math.Ceil(-math.Log10(f.tie))))
	return math.Round(x*places) / places
}

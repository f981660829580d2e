package stats

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
)

// SignFlip is a sign-flip permutation test of a mean difference of 0.
type SignFlip struct {
	N         int     `json:"n"`                   // differences, or clusters of them
	Statistic float64 `json:"statistic"`           // their mean
	Exact     bool    `json:"-"`                   // all 2ᴺ patterns were counted
	Patterns  float64 `json:"n_patterns,omitzero"` // 2ᴺ where exact
	Resamples int     `json:"resamples,omitzero"`  // drawn where not
	P         float64 `json:"p_two_sided"`
	PGreater  float64 `json:"p_greater"` // H1: mean > 0
	PLess     float64 `json:"p_less"`
}

// MaxExactFlips is the number of differences up to which all patterns of signs
// are counted.
const MaxExactFlips = 40

// flipTie is how near to the observed mean, relative to the mean absolute
// difference, another one counts as equal: sums of decimal numbers that are
// equal on paper are not in binary, and less so differences of large ones.
const flipTie = 1e-10

// SignFlipExact counts, over all 2ⁿ patterns of signs, how many means are at
// least as extreme as the observed one, itself included (Fisher 1935). Under
// the null each difference is as likely as its negative. Where differences
// come in clusters, give it one sum a cluster: a cluster's sign flips as a
// whole.
//
// The patterns of either half of the differences are sorted and counted
// against each other, so 40 differences take 2²⁰ sums and not 2⁴⁰.
func SignFlipExact(diff []float64) (SignFlip, error) {
	r, err := newSignFlip(diff)
	if err != nil {
		return r, err
	}
	if r.N > MaxExactFlips {
		return r, fmt.Errorf("stats: %d differences have 2^%d patterns of signs, more than can be enumerated (2^%d): sample them", r.N, r.N, MaxExactFlips)
	}
	total, tie := sum(diff), flipTolerance(diff)
	a, b := flips(diff[:r.N/2]), flips(diff[r.N/2:])
	r.Exact, r.Patterns = true, math.Ldexp(1, r.N)
	up := atLeast(a, b, total-tie) / r.Patterns
	down := atLeast(a, b, -total-tie) / r.Patterns // symmetric: sums ≤ s are as many as sums ≥ −s
	r.PGreater, r.PLess = up, down
	switch {
	case math.Abs(total) <= tie:
		r.P = 1
	default:
		r.P = math.Min(1, 2*math.Min(up, down))
	}
	return r, nil
}

func newSignFlip(diff []float64) (SignFlip, error) {
	if len(diff) == 0 {
		return SignFlip{}, errEmpty
	}
	if err := checkFinite("diff", diff); err != nil {
		return SignFlip{}, err
	}
	return SignFlip{N: len(diff), Statistic: mean(diff)}, checkFinite("mean", []float64{mean(diff)})
}

// flipTolerance is the tolerance on sums. It is never below what rounding leaves of scores about 1
// that are equal on paper.
func flipTolerance(diff []float64) (tie float64) {
	for _, d := range diff {
		tie += max(flipTie*math.Abs(d), 1e-15)
	}
	return tie
}

// flips lists the sums of all patterns of signs, sorted: each difference, added and
// subtracted, makes two sorted lists of one.
func flips(diff []float64) []float64 {
	sums := []float64{0}
	for _, d := range diff {
		d = math.Abs(d)
		next := make([]float64, 0, 2*len(sums))
		i := 0
		for _, s := range sums {
			for i < len(sums) && sums[i]-d <= s+d {
				next = append(next, sums[i]-d)
				i++
			}
			next = append(next, s+d)
		}
		sums = next
	}
	return sums
}

// atLeast counts the pairs whose sum reaches a bound.
func atLeast(a, b []float64, bound float64) float64 {
	var count float64 // below 2⁵³: exact
	j := len(b)
	for _, x := range a {
		for j > 0 && x+b[j-1] >= bound {
			j--
		}
		count += float64(len(b) - j)
	}
	return count
}

// SignFlipRandom draws patterns of signs. The observed one counts once:
// p = (count + 1)/(resamples + 1) (Phipson & Smyth 2010). Pattern k depends on
// the seed and k only, so the result is the same to the bit for any number of
// workers.
func SignFlipRandom(diff []float64, resamples int, seed uint64, workers int) (SignFlip, error) {
	r, err := newSignFlip(diff)
	if err != nil {
		return r, err
	}
	if resamples < 1 {
		return r, errors.New("stats: a permutation test needs at least one resample")
	}
	r.Resamples = resamples
	total, tie := sum(diff), flipTolerance(diff)
	counts := make([][3]int, max(1, workers))
	inParallel(resamples, workers, func(w, k int) {
		s := flipped(diff, stream(seed, uint64(k)))
		if math.Abs(s) >= math.Abs(total)-tie {
			counts[w][0]++
		}
		if s >= total-tie {
			counts[w][1]++
		}
		if s <= total+tie {
			counts[w][2]++
		}
	})
	var count [3]int
	for _, c := range counts {
		for i := range count {
			count[i] += c[i]
		}
	}
	p := func(n int) float64 { return float64(n+1) / float64(resamples+1) }
	r.P, r.PGreater, r.PLess = p(count[0]), p(count[1]), p(count[2])
	return r, nil
}

// ExchangeTest is the permutation test of a difference between two arms that
// clusters have in common, for any statistic: under the null hypothesis the arms
// of a cluster can be exchanged. The difference is given which clusters are
// exchanged and must be safe for concurrent use. It gives the two-sided
// p = (count + 1)/(resamples + 1) (Phipson & Smyth 2010), NaN where the observed
// difference is; patterns without a difference count as extreme. Of a mean
// difference it is [SignFlipRandom] with the same draws.
func ExchangeTest(clusters int, difference func(exchanged []bool) float64, resamples int, seed uint64, workers int) float64 {
	observed := math.Abs(difference(make([]bool, clusters)))
	if math.IsNaN(observed) || resamples < 1 {
		return math.NaN()
	}
	tie := 1e-12 * max(1, observed) // the same rows in another order
	var count atomic.Int64
	inParallel(resamples, workers, func(_, k int) {
		exchanged := make([]bool, clusters)
		g := stream(seed, uint64(k))
		var word uint64
		for i := range exchanged {
			if i%64 == 0 {
				word = g.next()
			}
			exchanged[i] = word&1 == 1
			word >>= 1
		}
		if d := math.Abs(difference(exchanged)); !(d < observed-tie) {
			count.Add(1)
		}
	})
	return float64(count.Load()+1) / float64(resamples+1)
}

// inParallel calls do for every k below n, on a number of workers; w is which.
func inParallel(n, workers int, do func(w, k int)) {
	workers = max(1, workers)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for k := w; k < n; k += workers {
				do(w, k)
			}
		})
	}
	wait.Wait()
}

// flipped sums the differences under a random pattern of signs.
func flipped(diff []float64, g counter) float64 {
	var s float64
	var word uint64
	for i, d := range diff {
		if i%64 == 0 {
			word = g.next()
		}
		s += math.Float64frombits(math.Float64bits(d) ^ word<<63)
		word >>= 1
	}
	return s
}

// A counter is a stream of random words that depends on its start alone:
// SplitMix64 (Steele, Lea & Flood 2014).
type counter uint64

// stream gives the stream of a resample.
func stream(seed, k uint64) counter {
	return counter(mix(seed) ^ mix(k+0x632be59bd9b4e019))
}

func (c *counter) next() uint64 {
	*c += 0x9e3779b97f4a7c15
	return mix(uint64(*c))
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

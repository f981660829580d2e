package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/scruple-eval/scruple/stats/dist"
)

// Alternative is the alternative hypothesis of a test.
type Alternative int

// The alternatives, of a against b.
const (
	TwoSided Alternative = iota
	Greater              // a > b
	Less                 // a < b
)

// SignedRank is a Wilcoxon signed-rank test of a against b.
type SignedRank struct {
	N             int      `json:"n"`
	Zeros         int      `json:"n_zero"` // differences of 0
	Used          int      `json:"n_used"` // the rest
	WPlus         float64  `json:"w_plus"` // rank sum of positive differences
	WMinus        float64  `json:"w_minus"`
	Ties          bool     `json:"has_ties"`
	PExact        float64  `json:"p_exact"`             // on average ranks, zeros dropped; NaN with many pairs
	PContinuity   float64  `json:"p_normal_continuity"` // normal with continuity correction
	PNormal       float64  `json:"p_normal"`
	Z             float64  `json:"z"`             // without continuity correction
	RankBiserial  float64  `json:"rank_biserial"` // (W+ − W−)/(W+ + W−)
	PrattZ        float64  `json:"pratt_z"`       // zeros ranked, then dropped
	PrattP        float64  `json:"pratt_p_normal"`
	HodgesLehmann float64  `json:"hodges_lehmann"`             // median of the averages of two differences, those of 0 left out
	HLCI          Interval `json:"hodges_lehmann_ci95_exact"`  // undefined with ties, zeros or many pairs
	HLNormal      Interval `json:"hodges_lehmann_ci95_normal"` // the shifts that PContinuity (two-sided) does not reject; undefined with too few pairs
	Undefined     string   `json:"undefined_reason,omitzero"`
	Warnings      []string `json:"warnings,omitempty"`
}

// maxExactRanks is the number of differences up to which the distribution of
// rank sums is counted, which takes their cube.
const maxExactRanks = 2000

// WilcoxonSignedRank compares paired observations by the ranks of their
// differences. It assumes that pairs are independent and differences symmetric
// about their median. Differences are rounded to 10 decimals before ranking,
// or more where all scores are below 0.1 and fewer where one is above 10,000, so that 0.3 − 0.1
// and 0.4 − 0.2 are ties; zeros are dropped.
//
// The exact distribution is counted on average ranks by the shift algorithm
// (Streitberg & Röhmel 1986) and holds with ties. References: R wilcox.test
// (4.2: zeros are dropped for the interval, too, so that it agrees with the
// p-value), exactRankTests::wilcox.exact, coin::wilcoxsign_test (Pratt).
func WilcoxonSignedRank(a, b []float64, alternative Alternative, level float64) (SignedRank, error) {
	if err := checkLevel(level); err != nil {
		return SignedRank{}, err
	}
	diff, err := Differences(a, b)
	if err != nil {
		return SignedRank{}, err
	}
	most := 0.0
	for i := range a {
		most = math.Max(most, math.Max(math.Abs(a[i]), math.Abs(b[i])))
	}
	places := 10
	switch digits := int(math.Ceil(math.Log10(most))); {
	case most > 0 && most < 0.1:
		places = min(308, 10-digits)
	case most > 1e4:
		places = max(0, 14-digits)
	}
	for i, d := range diff {
		diff[i] = math.Round(d*math.Pow10(places)) / math.Pow10(places)
	}
	nan := math.NaN()
	r := SignedRank{N: len(diff), PExact: nan, PNormal: nan, PContinuity: nan, Z: nan, PrattZ: nan, PrattP: nan,
		RankBiserial: nan, HodgesLehmann: nan, HLCI: undefinedInterval(level), HLNormal: undefinedInterval(level)}
	kept := slices.DeleteFunc(slices.Clone(diff), func(d float64) bool { return d == 0 })
	r.Used, r.Zeros = len(kept), len(diff)-len(kept)
	if r.Used == 0 {
		r.Undefined = "all differences are 0"
		return r, nil
	}
	ranks, ties := absoluteRanks(kept)
	r.Ties = ties > 0
	for i, d := range kept {
		if d > 0 {
			r.WPlus += ranks[i]
		} else {
			r.WMinus += ranks[i]
		}
	}
	r.RankBiserial = (r.WPlus - r.WMinus) / (r.WPlus + r.WMinus)
	r.normal(ties, alternative)
	r.pratt(diff, alternative)
	slices.Sort(kept)
	n := len(kept)
	middle := n * (n + 1) / 2
	r.HodgesLehmann = walsh(kept, (middle+1)/2)/2 + walsh(kept, middle/2+1)/2
	r.normalInterval(kept, level)
	if r.Used > maxExactRanks {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d differences: above %d, only the normal approximation is used", r.Used, maxExactRanks))
		return r, nil
	}
	sums := newRankSums(ranks)
	r.PExact = sums.p(r.WPlus, alternative)
	if !r.Ties && r.Zeros == 0 {
		r.shiftInterval(kept, sums, level)
	}
	return r, nil
}

// Differences gives a − b of paired observations.
func Differences(a, b []float64) ([]float64, error) {
	if len(a) != len(b) {
		return nil, fmt.Errorf("stats: pairs need equal lengths, got %d and %d", len(a), len(b))
	}
	if len(a) == 0 {
		return nil, errEmpty
	}
	if err := cmp.Or(checkFinite("a", a), checkFinite("b", b)); err != nil {
		return nil, err
	}
	diff := make([]float64, len(a))
	for i := range a {
		diff[i] = a[i] - b[i]
	}
	return diff, checkFinite("a − b", diff)
}

// absoluteRanks ranks by absolute value, equal ones by the average of their
// ranks; ties is Σ(t³ − t) over groups of t.
func absoluteRanks(xs []float64) (ranks []float64, ties float64) {
	abs := make([]float64, len(xs))
	for i, x := range xs {
		abs[i] = math.Abs(x)
	}
	return averageRanks(abs)
}

// ascending lists the indices of values, the smallest first, and equal ones in their order.
func ascending[T cmp.Ordered](xs []T) []int {
	order := make([]int, len(xs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(xs[i], xs[j]) })
	return order
}

// averageRanks ranks from 1, equal values by the average of their ranks.
func averageRanks(xs []float64) (ranks []float64, ties float64) {
	order := ascending(xs)
	ranks = make([]float64, len(xs))
	for lo := 0; lo < len(order); {
		hi := lo
		for hi < len(order) && xs[order[hi]] == xs[order[lo]] {
			hi++
		}
		t := float64(hi - lo)
		ties += t*t*t - t
		for _, i := range order[lo:hi] {
			ranks[i] = float64(lo+hi+1) / 2
		}
		lo = hi
	}
	return ranks, ties
}

func (r *SignedRank) normal(ties float64, alternative Alternative) {
	n := float64(r.Used)
	deviation := r.WPlus - n*(n+1)/4
	sd := math.Sqrt(n*(n+1)*(2*n+1)/24 - ties/48)
	r.Z = deviation / sd
	r.PNormal = normalP(r.Z, alternative)
	correction := 0.5
	switch {
	case alternative == Less, alternative == TwoSided && deviation < 0:
		correction = -0.5
	case alternative == TwoSided && deviation == 0:
		correction = 0
	}
	r.PContinuity = normalP((deviation-correction)/sd, alternative)
}

func normalP(z float64, alternative Alternative) float64 {
	d := dist.Normal{Mean: 0, SD: 1}
	switch alternative {
	case Greater:
		return d.Survival(z)
	case Less:
		return d.CDF(z)
	}
	return math.Min(1, 2*d.Survival(math.Abs(z)))
}

// pratt ranks zeros too and drops them then (Pratt 1959).
func (r *SignedRank) pratt(diff []float64, alternative Alternative) {
	ranks, _ := absoluteRanks(diff)
	var w, all, squares float64
	for i, d := range diff {
		if d == 0 {
			continue
		}
		all += ranks[i]
		squares += ranks[i] * ranks[i]
		if d > 0 {
			w += ranks[i]
		}
	}
	r.PrattZ = (w - all/2) / math.Sqrt(squares/4)
	r.PrattP = normalP(r.PrattZ, alternative)
}

// shiftInterval cuts the Walsh averages at a quantile of W.
func (r *SignedRank) shiftInterval(sorted []float64, sums rankSums, level float64) {
	n := len(sorted)
	cut := sums.quantile((1 - level) / 2)
	switch {
	case cut == 0 && n == 1:
		return // an interval without width covers nothing
	case cut == 0:
		cut = 1
		r.Warnings = append(r.Warnings, fmt.Sprintf("the exact interval of %d differences has a coverage of at most %.4g", n, 1-math.Ldexp(2, -n)))
	}
	r.HLCI = Interval{walsh(sorted, cut), walsh(sorted, n*(n+1)/2+1-cut), level}
}

// normalInterval inverts the normal approximation with continuity correction.
// Shifted by d, the rank sum of the positive differences is the number of Walsh
// averages above d, and only equal differences stay tied: the limits are Walsh
// averages, which R's root search comes near.
func (r *SignedRank) normalInterval(sorted []float64, level float64) {
	n := float64(len(sorted))
	_, ties := averageRanks(sorted)
	sd := math.Sqrt(n*(n+1)*(2*n+1)/24 - ties/48)
	if sd == 0 {
		return
	}
	all := len(sorted) * (len(sorted) + 1) / 2
	cut := int(math.Ceil(n*(n+1)/4 - 0.5 - zQuantile((1-level)/2)*sd))
	if cut < 1 {
		return // too few differences: the test rejects no shift at this level
	}
	r.HLNormal = Interval{walsh(sorted, cut), walsh(sorted, all+1-cut), level}
}

// rankSums is the distribution of the sum of the ranks whose sign is positive
// when all 2ⁿ assignments of signs are as likely. It is symmetric: only its
// lower half is kept.
type rankSums struct {
	unit  float64   // what the sums are multiples of: 1, or ½ with odd ties
	total int       // of all ranks, in units
	prob  []float64 // of each sum up to half of the total
}

// newRankSums adds rank after rank: a sum is reached without it, or with it
// from as much less.
func newRankSums(ranks []float64) rankSums {
	d := rankSums{unit: 1}
	if slices.ContainsFunc(ranks, func(r float64) bool { return r != math.Trunc(r) }) {
		d.unit = 0.5
	}
	steps := make([]int, len(ranks))
	for i, r := range ranks {
		steps[i] = int(r / d.unit)
		d.total += steps[i]
	}
	slices.Sort(steps) // small ones first: fewer sums are reached on the way
	d.prob = make([]float64, d.total/2+1)
	d.prob[0] = 1
	reached := 0
	for _, step := range steps {
		reached = min(reached+step, len(d.prob)-1)
		for s := reached; s >= step; s-- {
			d.prob[s] = (d.prob[s] + d.prob[s-step]) / 2
		}
		for s := range min(step, len(d.prob)) {
			d.prob[s] /= 2
		}
	}
	return d
}

// p is the p-value of a sum.
func (d rankSums) p(w float64, alternative Alternative) float64 {
	switch alternative {
	case Greater:
		return d.atLeast(w)
	case Less:
		return d.atMost(w)
	}
	return math.Min(1, 2*math.Min(d.atMost(w), d.atLeast(w)))
}

// atMost is P(W ≤ w).
func (d rankSums) atMost(w float64) float64 {
	at := int(w / d.unit)
	if at < len(d.prob) {
		return math.Min(1, sum(d.prob[:at+1]))
	}
	return 1 - sum(d.prob[:d.total-at])
}

// atLeast is P(W ≥ w), by symmetry.
func (d rankSums) atLeast(w float64) float64 { return d.atMost(float64(d.total)*d.unit - w) }

// quantile is the smallest sum, in units, whose P(W ≤ w) reaches p ≤ ½.
func (d rankSums) quantile(p float64) int {
	var cumulative float64
	for w, x := range d.prob {
		if cumulative += x; cumulative >= p*(1-1e-14) {
			return w
		}
	}
	return len(d.prob) - 1
}

// walsh is the k-th smallest Walsh average (xᵢ + xⱼ)/2, i ≤ j, of sorted
// numbers. It is searched among the floats, of which there are 2⁶⁴: in 64
// counts, each linear, and without a list of all averages.
func walsh(sorted []float64, k int) float64 {
	lo, hi := place(sorted[0]), place(sorted[len(sorted)-1])
	for lo < hi {
		mid := lo + (hi-lo)/2
		if walshCount(sorted, float(mid)) >= k {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return float(lo) + 0 // −0 is 0
}

// walshCount counts the averages up to a bound.
func walshCount(sorted []float64, bound float64) int {
	count, j := 0, len(sorted)-1
	for i, x := range sorted {
		for j >= i && x/2+sorted[j]/2 > bound {
			j--
		}
		if j < i {
			break
		}
		count += j - i + 1
	}
	return count
}

// place numbers the floats in order; float is its inverse.
func place(x float64) uint64 {
	b := math.Float64bits(x)
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

func float(place uint64) float64 {
	if place>>63 == 1 {
		return math.Float64frombits(place &^ (1 << 63))
	}
	return math.Float64frombits(^place)
}

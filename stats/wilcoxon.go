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
	N, Zeros, Used int     // pairs, differences of 0, the rest
	WPlus, WMinus  float64 // rank sums of positive and negative differences
	Ties           bool
	PExact         float64 // on average ranks, zeros dropped
	PNormal        float64
	PContinuity    float64 // normal with continuity correction
	Z              float64 // without it
	PrattZ         float64 // zeros ranked, then dropped
	PrattP         float64
	RankBiserial   float64  // (W+ − W−)/(W+ + W−)
	HodgesLehmann  float64  // median of Walsh averages of the differences that are not 0
	HLCI           Interval // exact; undefined with ties, zeros or many pairs
	Undefined      string
	Warnings       []string
}

// Above these numbers of differences what takes squares or cubes of them is
// left out, with a warning.
const (
	maxExactRanks = 2000
	maxWalsh      = 5000
)

// WilcoxonSignedRank compares paired observations by the ranks of their
// differences. It assumes that pairs are independent and differences symmetric
// about their median. Differences are rounded to 10 decimals before ranking,
// so that 0.3 − 0.1 and 0.4 − 0.2 are ties; zeros are dropped.
//
// The exact distribution is counted on average ranks by the shift algorithm
// (Streitberg & Röhmel 1986) and holds with ties. References: R wilcox.test,
// exactRankTests::wilcox.exact, coin::wilcoxsign_test (Pratt).
func WilcoxonSignedRank(a, b []float64, alternative Alternative, level float64) (SignedRank, error) {
	if err := checkLevel(level); err != nil {
		return SignedRank{}, err
	}
	diff, err := Differences(a, b)
	if err != nil {
		return SignedRank{}, err
	}
	for i, d := range diff {
		if math.Abs(d) < 1e5 {
			diff[i] = math.Round(d*1e10) / 1e10
		}
	}
	nan := math.NaN()
	r := SignedRank{N: len(diff), PExact: nan, PNormal: nan, PContinuity: nan, Z: nan, PrattZ: nan, PrattP: nan,
		RankBiserial: nan, HodgesLehmann: nan, HLCI: undefinedInterval(level)}
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
	if r.Used <= maxExactRanks {
		r.PExact = exactSignedRank(ranks, r.WPlus, alternative)
	} else {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d differences: more than %d are tested by the normal approximation alone", r.Used, maxExactRanks))
	}
	if r.Used <= maxWalsh {
		r.hodgesLehmann(kept, level)
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
	if err := checkFinite("a", a); err != nil {
		return nil, err
	}
	if err := checkFinite("b", b); err != nil {
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

// averageRanks ranks from 1, equal values by the average of their ranks.
func averageRanks(xs []float64) (ranks []float64, ties float64) {
	order := make([]int, len(xs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(xs[i], xs[j]) })
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

// exactSignedRank counts, rank by rank, in how many of the 2ⁿ assignments of
// signs the positive ranks reach each sum. Ranks are doubled, which makes
// averages whole; counts are kept as probabilities.
func exactSignedRank(ranks []float64, w float64, alternative Alternative) float64 {
	total := 0
	for _, x := range ranks {
		total += int(2 * x)
	}
	p := make([]float64, total+1)
	p[0] = 1
	reached := 0
	for _, x := range ranks {
		shift := int(2 * x)
		for s := reached; s >= 0; s-- {
			half := p[s] / 2
			p[s] = half
			p[s+shift] += half
		}
		reached += shift
	}
	at := int(2 * w)
	lower, upper := sum(p[:at+1]), sum(p[at:])
	switch alternative {
	case Greater:
		return math.Min(1, upper)
	case Less:
		return math.Min(1, lower)
	}
	return math.Min(1, 2*math.Min(lower, upper))
}

// hodgesLehmann is the median of all averages of two differences; its exact
// interval cuts the sorted averages at a quantile of W.
func (r *SignedRank) hodgesLehmann(diff []float64, level float64) {
	n := len(diff)
	walsh := make([]float64, 0, n*(n+1)/2)
	for i, x := range diff {
		for _, y := range diff[i:] {
			walsh = append(walsh, (x+y)/2)
		}
	}
	slices.Sort(walsh)
	m := len(walsh)
	r.HodgesLehmann = (walsh[(m-1)/2] + walsh[m/2]) / 2
	if r.Ties || r.Zeros > 0 || n > maxExactRanks {
		return
	}
	cut := signedRankQuantile(n, (1-level)/2)
	cut = max(cut, 1)
	r.HLCI = Interval{walsh[cut-1], walsh[m-cut], level}
}

// signedRankQuantile is the smallest w with P(W ≤ w) ≥ p, W on ranks 1…n.
func signedRankQuantile(n int, p float64) int {
	prob := make([]float64, n*(n+1)/2+1)
	prob[0] = 1
	reached := 0
	for k := 1; k <= n; k++ {
		for s := reached; s >= 0; s-- {
			half := prob[s] / 2
			prob[s] = half
			prob[s+k] += half
		}
		reached += k
	}
	var cumulative float64
	for w, x := range prob {
		if cumulative += x; cumulative >= p*(1-1e-14) {
			return w
		}
	}
	return len(prob) - 1
}

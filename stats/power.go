package stats

import (
	"fmt"
	"math"
	"sort"

	"github.com/scruple-eval/scruple/stats/dist"
	"github.com/scruple-eval/scruple/stats/internal/root"
)

// PairedPower is the power of a paired t-test of n pairs at a true d_z, from
// the non-central t distribution. n need not be whole. Two-sided power counts
// both tails; oneTail is the power in the direction of the effect alone.
//
// Reference: R pwr::pwr.t.test, power.t.test(strict = TRUE).
func PairedPower(n, dz, alpha float64, alternative Alternative) (power, oneTail float64, err error) {
	if err := checkAlpha(alpha); err != nil {
		return 0, 0, err
	}
	if !(n >= minPairs) || math.IsInf(n, 0) {
		return 0, 0, fmt.Errorf("stats: power needs at least 2 pairs, got %v", n)
	}
	if math.IsNaN(dz) || math.IsInf(dz, 0) {
		return 0, 0, fmt.Errorf("stats: the effect size is %v", dz)
	}
	power, oneTail = pairedPower(n, dz, alpha, alternative)
	return power, oneTail, nil
}

// minPairs is as few pairs as have a spread; solvers come close to it.
const minPairs = 1 + 1e-9

func pairedPower(n, dz, alpha float64, alternative Alternative) (power, oneTail float64) {
	df := n - 1
	d := dist.NoncentralT{DF: df, NCP: dz * math.Sqrt(n)}
	switch alternative {
	case Greater:
		power = d.Survival(tQuantile(alpha, df))
		return power, power
	case Less:
		power = d.CDF(-tQuantile(alpha, df))
		return power, power
	}
	cut := tQuantile(alpha/2, df)
	up, down := d.Survival(cut), d.CDF(-cut)
	return up + down, math.Max(up, down)
}

// PairedSize is the number of pairs, not rounded, at which a paired t-test has
// a power at a true d_z.
func PairedSize(dz, power, alpha float64, alternative Alternative) (float64, error) {
	if err := checkPower(power, alpha); err != nil {
		return 0, err
	}
	if dz == 0 || math.IsNaN(dz) || math.IsInf(dz, 0) || (alternative == Greater && dz < 0) || (alternative == Less && dz > 0) {
		return 0, fmt.Errorf("stats: no number of pairs can detect an effect of %v", dz)
	}
	excess := func(n float64) float64 {
		p, _ := pairedPower(n, dz, alpha, alternative)
		return p - power
	}
	low, high := 2.0, 4.0
	if excess(low) >= 0 {
		return low, nil
	}
	for excess(high) < 0 {
		if high *= 4; high > 1e12 {
			return 0, fmt.Errorf("stats: an effect of %v needs more than 10¹² pairs", dz)
		}
	}
	n, ok := root.Find(excess, math.Max(low, high/4), high)
	if !ok {
		return 0, fmt.Errorf("stats: no number of pairs was found for an effect of %v", dz)
	}
	return n, nil
}

// PairedEffect is the smallest d_z that a paired t-test of n pairs shows with
// a power: the smallest detectable effect, in standard deviations of the
// differences.
func PairedEffect(n, power, alpha float64, alternative Alternative) (float64, error) {
	if err := checkPower(power, alpha); err != nil {
		return 0, err
	}
	if !(n >= minPairs) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("stats: want at least 2 pairs, got %v", n)
	}
	sign := 1.0
	if alternative == Less {
		sign = -1
	}
	excess := func(dz float64) float64 {
		p, _ := pairedPower(n, sign*dz, alpha, alternative)
		return p - power
	}
	high := 10 / math.Sqrt(n)
	for excess(high) < 0 {
		if high *= 4; high > 1e9 {
			return 0, fmt.Errorf("stats: %v pairs cannot detect any effect with a power of %v", n, power)
		}
	}
	dz, ok := root.Find(excess, 0, high)
	if !ok {
		return 0, fmt.Errorf("stats: power %v is not above alpha %v", power, alpha)
	}
	return sign * dz, nil
}

func checkAlpha(alpha float64) error {
	if !(alpha > 0 && alpha < 1) {
		return fmt.Errorf("stats: alpha must lie between 0 and 1, got %v", alpha)
	}
	return nil
}

func checkPower(power, alpha float64) error {
	if err := checkAlpha(alpha); err != nil {
		return err
	}
	if !(power > alpha && power < 1) {
		return fmt.Errorf("stats: power must lie between alpha (%v) and 1, got %v", alpha, power)
	}
	return nil
}

// McNemarDesign is a planned McNemar test: the probabilities that an item
// passes with the first arm alone and with the second alone.
type McNemarDesign struct {
	P10, P01 float64
	Alpha    float64
}

func (d McNemarDesign) check() error {
	if !(d.P10 >= 0 && d.P01 >= 0 && d.P10+d.P01 <= 1 && d.P10+d.P01 > 0) {
		return fmt.Errorf("stats: discordant probabilities must not be negative and add up to more than 0 and at most 1, got %v and %v", d.P10, d.P01)
	}
	return checkAlpha(d.Alpha)
}

// Size is the number of items, not rounded, after Connor (1987): the normal
// approximation on unconditional proportions.
func (d McNemarDesign) Size(power float64) (float64, error) {
	if err := d.check(); err != nil {
		return 0, err
	}
	if err := checkPower(power, d.Alpha); err != nil {
		return 0, err
	}
	sum, diff := d.P10+d.P01, d.P10-d.P01
	if diff == 0 {
		return 0, fmt.Errorf("stats: no number of items can detect a difference of 0")
	}
	root := zQuantile(d.Alpha/2)*math.Sqrt(sum) + zQuantile(1-power)*math.Sqrt(sum-diff*diff)
	return root * root / (diff * diff), nil
}

// Power is the power with n items by the same approximation.
func (d McNemarDesign) Power(n float64) (float64, error) {
	if err := d.check(); err != nil {
		return 0, err
	}
	if !(n > 0) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("stats: the number of items must be above 0, got %v", n)
	}
	sum, diff := d.P10+d.P01, math.Abs(d.P10-d.P01)
	z := (diff*math.Sqrt(n) - zQuantile(d.Alpha/2)*math.Sqrt(sum)) / math.Sqrt(sum-diff*diff)
	return dist.Normal{Mean: 0, SD: 1}.CDF(z), nil
}

// Detectable is the smallest |P10 − P01| that n items show with a power, by the same
// approximation, while P10 + P01 stays as it is.
func (d McNemarDesign) Detectable(n, power float64) (float64, error) {
	if err := d.check(); err != nil {
		return 0, err
	}
	if err := checkPower(power, d.Alpha); err != nil {
		return 0, err
	}
	if !(n > 0) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("stats: the number of items must be above 0, got %v", n)
	}
	sum, za, zb := d.P10+d.P01, zQuantile(d.Alpha/2), zQuantile(1-power)
	// Connor's equation for the size, solved for the difference.
	diff := math.Sqrt(sum) * (za*math.Sqrt(n) + zb*math.Sqrt(n+zb*zb-za*za)) / (n + zb*zb)
	if !(diff <= sum*(1+1e-12)) {
		return 0, fmt.Errorf("stats: %v items cannot detect any difference with a power of %v while %v of them are discordant", n, power, sum)
	}
	return math.Min(diff, sum), nil
}

// maxEnumerated bounds the items of an enumeration, which takes their square.
const maxEnumerated = 20000

// ExactPower is the power of the exact two-sided test, by enumeration of how
// many items are discordant and how they fall.
func (d McNemarDesign) ExactPower(n int) (float64, error) {
	if err := d.check(); err != nil {
		return 0, err
	}
	if n < 1 || n > maxEnumerated {
		return 0, fmt.Errorf("stats: exact power is enumerated for 1 to %d items, got %d", maxEnumerated, n)
	}
	discordant := dist.Binomial{N: n, P: d.P10 + d.P01}
	share := d.P10 / (d.P10 + d.P01)
	var power float64
	for m := range n + 1 {
		w := discordant.Prob(m)
		if w == 0 {
			continue
		}
		c := exactCritical(m, d.Alpha)
		if c < 0 {
			continue
		}
		b := dist.Binomial{N: m, P: share}
		power += w * (b.CDF(float64(c)) + b.Survival(float64(m-c-1)))
	}
	return math.Min(1, power), nil
}

// exactCritical is the largest count c of m for which 2·P(X ≤ c) ≤ α, X
// binomial with 1/2; −1 if none.
func exactCritical(m int, alpha float64) int {
	b := dist.Binomial{N: m, P: 0.5}
	return sort.Search((m+1)/2, func(c int) bool { return 2*b.CDF(float64(c)) > alpha*(1+1e-12) }) - 1
}

// ClusteredDesign is a planned paired comparison whose differences come in
// clusters: Clusters of Size each, SD of a difference, and the share ICC of
// its variance that lies between clusters.
type ClusteredDesign struct {
	Clusters, Size float64
	SD, ICC        float64
	Alpha          float64
}

func (d ClusteredDesign) check() error {
	if !(d.Clusters >= 2) || !(d.Size >= 1) || !(d.SD > 0) || !(d.ICC >= 0 && d.ICC <= 1) || math.IsInf(d.Clusters*d.Size*d.SD, 0) {
		return fmt.Errorf("stats: a clustered design needs 2 clusters or more, of 1 or more, a positive sd and an ICC between 0 and 1, got %v × %v, sd %v, ICC %v",
			d.Clusters, d.Size, d.SD, d.ICC)
	}
	return checkAlpha(d.Alpha)
}

// DesignEffect is by how much clustering multiplies the variance of the mean:
// 1 + (Size − 1)·ICC (Kish 1965).
func (d ClusteredDesign) DesignEffect() float64 { return 1 + (d.Size-1)*d.ICC }

// spread is the standard deviation of a cluster's mean.
func (d ClusteredDesign) spread() float64 { return d.SD * math.Sqrt(d.DesignEffect()/d.Size) }

// Power is the power of the t-test of cluster means at a true difference.
func (d ClusteredDesign) Power(difference float64) (float64, error) {
	if err := d.check(); err != nil {
		return 0, err
	}
	p, _, err := PairedPower(d.Clusters, difference/d.spread(), d.Alpha, TwoSided)
	return p, err
}

// Detectable is the smallest true difference that shows with a power.
func (d ClusteredDesign) Detectable(power float64) (float64, error) {
	if err := d.check(); err != nil {
		return 0, err
	}
	dz, err := PairedEffect(d.Clusters, power, d.Alpha, TwoSided)
	return dz * d.spread(), err
}

// ClustersFor is the number of clusters, not rounded, that shows a true
// difference with a power.
func (d ClusteredDesign) ClustersFor(difference, power float64) (float64, error) {
	if err := d.check(); err != nil {
		return 0, err
	}
	return PairedSize(difference/d.spread(), power, d.Alpha, TwoSided)
}

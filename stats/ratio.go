package stats

import (
	"fmt"
	"math"
	"slices"
)

// Ratio is an estimate of a ratio of sums over clusters, such as a rate with
// several opportunities a document.
type Ratio struct {
	Value     float64
	Num, Den  float64
	Clusters  int // with a denominator above 0
	SE        float64
	DF        float64
	CI        Interval
	Method    string
	Undefined string // why Value or CI is NaN
	Warnings  []string
}

// FewClusters is the number of clusters below which a cluster-robust interval
// is warned about.
const FewClusters = 20

// RatioOfSums estimates Σnum/Σden with an interval that accounts for correlation
// within clusters: the cluster-robust linearisation (Taylor series) with a t
// quantile on clusters − 1 degrees of freedom. With equal denominators it is the t
// interval of the cluster means. Clusters with denominator 0 are ignored.
//
// If every cluster has the same ratio, the linearised variance is 0 and not
// informative. For a proportion of 0 or 1 the interval is then Wilson's with the
// clusters as observations, which is conservative; otherwise it is undefined.
//
// Source: Cochran, Sampling Techniques (1977), §9; Miller, Adding Error Bars
// to Evals (2024), §2.2.
func RatioOfSums(num, den []float64, level float64) (Ratio, error) {
	if err := checkLevel(level); err != nil {
		return Ratio{}, err
	}
	if len(num) != len(den) {
		return Ratio{}, fmt.Errorf("stats: numerators and denominators need equal lengths, got %d and %d", len(num), len(den))
	}
	if err := checkFinite("num", num); err != nil {
		return Ratio{}, err
	}
	if err := checkFinite("den", den); err != nil {
		return Ratio{}, err
	}
	r := Ratio{Value: math.NaN(), SE: math.NaN(), DF: math.NaN(), CI: undefinedInterval(level)}
	for i, d := range den {
		if d < 0 {
			return Ratio{}, fmt.Errorf("stats: den[%d] is %v, a denominator cannot be negative", i, d)
		}
		if d > 0 {
			r.Clusters++
		}
	}
	if r.Clusters == 0 {
		r.Undefined = "no opportunity: the denominator is 0"
		return r, nil
	}
	r.Num, r.Den = sum(num), sum(den)
	if math.IsInf(r.Num, 0) || math.IsNaN(r.Num) || math.IsInf(r.Den, 0) {
		r.Undefined = tooLarge
		return r, nil
	}
	r.Value = r.Num / r.Den
	if r.Clusters == 1 {
		r.Undefined = "fewer than two clusters"
		return r, nil
	}
	k := float64(r.Clusters)
	r.DF = k - 1
	r.SE = math.Sqrt(k / (k - 1) * residualSquares(num, den, r.Value))
	if math.IsNaN(r.SE) || math.IsInf(r.SE, 0) {
		r.SE = math.NaN()
		r.Undefined = tooLarge
		return r, nil
	}
	if negligible(r.SE, r.Value) {
		return boundary(r, level), nil
	}
	half := tQuantile((1-level)/2, r.DF) * r.SE
	r.CI = Interval{r.Value - half, r.Value + half, level}
	r.Method = "cluster-robust t"
	if r.Clusters < FewClusters {
		r.Warnings = append(r.Warnings, fewClusters(r.Clusters))
	}
	return r, nil
}

// residualSquares is Σ((num − R·den)/Σden)².
func residualSquares(num, den []float64, ratio float64) float64 {
	total := sum(den)
	var s float64
	for i := range num {
		e := (num[i] - ratio*den[i]) / total
		s += e * e
	}
	return s
}

func boundary(r Ratio, level float64) Ratio {
	r.SE = 0
	switch r.Value {
	case 0:
		r.CI = Wilson(0, r.Clusters, level)
	case 1:
		r.CI = Wilson(r.Clusters, r.Clusters, level)
	default:
		r.Undefined = "every cluster has the same ratio"
		return r
	}
	r.Method = "Wilson over clusters"
	r.Warnings = append(r.Warnings, "no variation between clusters: interval from the number of clusters alone")
	return r
}

// ProportionOfSums is [RatioOfSums] for binary outcomes, with Wilson's interval,
// which stays within 0 and 1 and has better coverage than the t interval near 0 and
// 1 and for few outcomes. With one outcome per cluster it is [Wilson]. Otherwise it
// is Wilson's at the effective number of outcomes, p(1 − p)/SE² times k/(k − 1) of
// k clusters, at most the actual number, reduced by the square of the ratio of t
// quantiles on outcomes − 1 and k − 1 degrees of freedom. If all clusters have the
// same proportion, each counts as one outcome.
//
// The k − 1 degrees of freedom are fewer if the residuals of a few clusters make up
// the variance: 2/CV² of the variance, by their kurtosis. Otherwise the upper limit
// of a rare rate in large clusters is too low in 5 % of cases, not 2.5 %.
//
// The effective number is at least that of outcomes which are equal within each
// cluster, Kish's (Σm)²/Σm² of clusters of m: asking more often adds no uncertainty.
//
// Source: Korn & Graubard (1998), Survey Methodology 24, for the effective
// number; Dean & Pagano (2015), Journal of Survey Statistics and Methodology 3,
// for Wilson's interval at it; Kish (1965), Survey Sampling, for the design effect
// of unequal weights.
func ProportionOfSums(num, den []float64, outcomes, level float64) (Ratio, error) {
	r, err := RatioOfSums(num, den, level)
	if err != nil || r.Clusters < 2 {
		return r, err
	}
	k := float64(r.Clusters)
	if !(r.Value >= 0 && r.Value <= 1) || !(outcomes >= k) || math.IsInf(outcomes, 0) {
		return Ratio{}, fmt.Errorf("stats: a proportion of %v in %v outcomes of %v clusters: want a proportion from 0 to 1 and at least one outcome per cluster", r.Value, outcomes, k)
	}
	r.Undefined, r.Warnings = "", nil
	if outcomes == k {
		r.CI, r.Method = wilson(r.Value, k, level), "Wilson"
		return r, nil
	}
	n := k
	if r.SE > 0 {
		n = min(outcomes, r.Value*(1-r.Value)/(r.SE*r.SE)*k/(k-1))
		t := tQuantile((1-level)/2, outcomes-1) / tQuantile((1-level)/2, varianceDF(num, den, r.Value, k))
		n = max(n*t*t, effectiveClusters(den))
	} else {
		r.Warnings = append(r.Warnings, "no variation between clusters: interval from the number of clusters alone")
	}
	r.CI, r.Method = wilson(r.Value, n, level), "Wilson at the effective number of outcomes"
	if r.Clusters < FewClusters {
		r.Warnings = append(r.Warnings, fewClusters(r.Clusters))
	}
	return r, nil
}

// effectiveClusters is the number of clusters of equal size with the variance of these,
// if the outcomes of each are equal.
func effectiveClusters(den []float64) float64 {
	var sum, squares float64
	for _, m := range den {
		sum += m
		squares += m * m
	}
	return sum * sum / squares
}

// varianceDF is the degrees of freedom of the linearised variance of k clusters:
// 2/CV² of the variance, by the kurtosis of the clusters' residuals, at most k − 1
// and at least 1. With events in few clusters it is about twice their number.
func varianceDF(num, den []float64, ratio, k float64) float64 {
	var squares, fourths float64
	for i := range num {
		e := num[i] - ratio*den[i]
		squares += e * e
		fourths += e * e * e * e
	}
	excess := fourths - squares*squares/k
	if !(excess > 1e-12*fourths) {
		return k - 1 // residuals of one size, but for rounding
	}
	return math.Max(1, math.Min(k-1, 2*squares*squares/excess))
}

func fewClusters(n int) string {
	return fmt.Sprintf("only %d clusters: below %d, intervals are rough", n, FewClusters)
}

// RatioDiff is the difference of two ratios of sums over the same clusters.
type RatioDiff struct {
	A, B     float64
	Diff     float64 // A − B
	Clusters int
	SE       float64
	T, DF, P float64
	CI       Interval
	// Correlation of the clusters' contributions to A and to B, 0 where one of
	// them does not vary; see [SquareAndAdd].
	Correlation float64
	Undefined   string
}

// RatioDifference compares two ratios of sums cluster by cluster, by the same
// linearisation as [RatioOfSums]: num and den of a and b at index i belong to
// the same cluster. Clusters that have a denominator in neither do not count.
//
// If both have the same denominators, as two means over the same items, the
// difference is a mean of clustered differences. Its standard error is then CR2
// and its degrees of freedom are Satterthwaite's (Bell & McCaffrey 2002), which
// hold with few clusters of unequal sizes; with equal sizes it is the t-test of
// cluster means. Reference: R clubSandwich.
func RatioDifference(numA, denA, numB, denB []float64, level float64) (RatioDiff, error) {
	a, err := RatioOfSums(numA, denA, level)
	if err != nil {
		return RatioDiff{}, err
	}
	b, err := RatioOfSums(numB, denB, level)
	if err != nil {
		return RatioDiff{}, err
	}
	if len(numA) != len(numB) {
		return RatioDiff{}, fmt.Errorf("stats: pairs need equal lengths, got %d and %d", len(numA), len(numB))
	}
	nan := math.NaN()
	d := RatioDiff{A: a.Value, B: b.Value, Diff: a.Value - b.Value, SE: nan, T: nan, DF: nan, P: nan, CI: undefinedInterval(level)}
	switch {
	case a.Clusters == 0 || b.Clusters == 0:
		d.Undefined = "no opportunity in one of the two"
		return d, nil
	case math.IsNaN(d.Diff) || math.IsInf(d.Diff, 0):
		d.Diff = nan
		d.Undefined = tooLarge
		return d, nil
	}
	var s, ofA, ofB, both float64
	for i := range numA {
		if denA[i] == 0 && denB[i] == 0 {
			continue
		}
		d.Clusters++
		x, y := (numA[i]-a.Value*denA[i])/a.Den, (numB[i]-b.Value*denB[i])/b.Den
		s += (x - y) * (x - y)
		ofA, ofB, both = ofA+x*x, ofB+y*y, both+x*y
	}
	if ofA*ofB > 0 {
		d.Correlation = math.Max(-1, math.Min(1, both/math.Sqrt(ofA*ofB)))
	}
	if d.Clusters < 2 {
		d.Undefined = "fewer than two clusters"
		return d, nil
	}
	k := float64(d.Clusters)
	d.DF = k - 1
	d.SE = math.Sqrt(k / (k - 1) * s)
	if slices.Equal(denA, denB) {
		diff := make([]float64, len(numA))
		for i := range diff {
			diff[i] = numA[i] - numB[i]
		}
		m := robustMean(diff, denA)
		d.SE, d.DF = m.SE, m.DF
	}
	if math.IsNaN(d.SE) || math.IsInf(d.SE, 0) {
		d.SE = nan
		d.Undefined = tooLarge
		return d, nil
	}
	if negligible(d.SE, d.Diff) {
		d.SE = 0
		d.Undefined = "all clusters differ by the same amount"
		return d, nil
	}
	d.T = d.Diff / d.SE
	d.P = 2 * tCDF(-math.Abs(d.T), d.DF)
	d.CI = d.Interval(level)
	return d, nil
}

// A clusteredMean is a mean of clustered values.
type clusteredMean struct{ Value, SE, DF float64 }

// robustMean is the mean of values whose clusters have these sums and sizes, with
// the standard error CR2 and Satterthwaite's degrees of freedom: those of
// [FitRobust] for an intercept alone, where hₖ = size/Σsize is a cluster's leverage.
func robustMean(sums, sizes []float64) clusteredMean {
	n := sum(sizes)
	m := clusteredMean{Value: sum(sums) / n}
	var v, hh, w, ww float64
	for k, size := range sizes {
		if size == 0 {
			continue
		}
		h, e := size/n, (sums[k]-m.Value*size)/n
		v += e * e / (1 - h)
		u := h * h / (1 - h)
		hh, w, ww = hh+h*h, w+u, ww+u*u
	}
	m.SE, m.DF = math.Sqrt(v), 1/(hh+w*w-ww)
	if whole := math.Round(m.DF); math.Abs(m.DF-whole) < 1e-9*whole {
		m.DF = whole // clusters − 1 if their sizes are equal
	}
	return m
}

// Interval is the confidence interval of the difference at another level.
func (d RatioDiff) Interval(level float64) Interval {
	if d.Undefined != "" || checkLevel(level) != nil {
		return undefinedInterval(level)
	}
	half := tQuantile((1-level)/2, d.DF) * d.SE
	return Interval{d.Diff - half, d.Diff + half, level}
}

// EffectInterval is the confidence interval of the difference in standard
// deviations, such as those of the items' differences: Cohen's d for pairs where
// items are clustered. It inverts the non-central t distribution of T, as
// [Paired.EffectInterval] does, to which it is equal without clusters.
func (d RatioDiff) EffectInterval(sd, level float64) Interval {
	if d.Undefined != "" || !(sd > 0) || checkLevel(level) != nil {
		return undefinedInterval(level)
	}
	return effectInterval(d.T, d.DF, sd/d.SE, level)
}

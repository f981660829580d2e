package stats

import (
	"cmp"
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
	Effective float64 // number of outcomes of a proportion, for their clusters
	Method    string
	Undefined string // why Value or CI is NaN
	Assumes   string // what the interval takes for granted, where the data do not show it
	Warnings  []string

	data *difference
}

// Monotone is the ratio with the interval of a mean of scores from least to most, which may be
// infinite: more in any cluster lowers neither limit. It is that of t but for outliers, as
// in [RatioDiff.Reading]. The best scores still leave open what [ProportionOfSums] leaves
// open where all outcomes are events: no limit is nearer to the bounds. These are as many as
// the scores are worth, so that one more that is worth nothing moves no limit nearer.
func (r Ratio) Monotone(level, least, most float64) Ratio {
	r.CI = undefinedInterval(level)
	if r.data == nil || math.IsNaN(r.SE) || checkLevel(level) != nil {
		return r
	}
	ci := r.data.interval(level)
	if !math.IsInf(most-least, 0) {
		open := func(bound float64) float64 {
			worth := make([]float64, len(r.data.a))
			for k, share := range r.data.shareA {
				worth[k] = math.Abs(r.data.a[k]-bound*share) * r.Den / (most - least)
			}
			if n := sum(worth); n > 0 {
				return (most - least) * newOutcomes(worth, n, level).upper(0, 0)
			}
			return most - least
		}
		ci.Low, ci.High = math.Max(least, math.Min(ci.Low, most-open(least))), math.Min(most, math.Max(ci.High, least+open(most)))
	}
	r.CI = ci
	if r.SE == 0 { // what RatioOfSums says is of a proportion
		r.Method, r.Undefined, r.Warnings = robustMethod, "", fewClusters(r.Clusters)
		if ci.Low < ci.High && !math.IsInf(most-least, 0) {
			r.Method = "Wilson over the range of the metric"
			r.Warnings = append(r.Warnings, "no variation between clusters: interval from the number of clusters and the range of the metric")
		}
	}
	return r
}

// Extremes are the ratios of the lowest and the highest cluster, as of [RatioDiff.Extremes].
func (r Ratio) Extremes() (low, high float64) { return r.data.extremes() }

const robustMethod = "cluster-robust t"

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
	if err := checkFractions(num, den); err != nil {
		return Ratio{}, err
	}
	r := Ratio{Value: math.NaN(), SE: math.NaN(), DF: math.NaN(), CI: undefinedInterval(level)}
	for _, d := range den {
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
	r.data = newDifference(num, den, make([]float64, len(num)), den)
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
	r.CI = tInterval(r.Value, r.SE, r.DF, level)
	r.Method = robustMethod
	r.Warnings = append(r.Warnings, fewClusters(r.Clusters)...)
	return r, nil
}

// checkFractions refuses fractions of which some are none.
func checkFractions(num, den []float64) error {
	if len(num) != len(den) {
		return fmt.Errorf("stats: numerators and denominators need equal lengths, got %d and %d", len(num), len(den))
	}
	if err := cmp.Or(checkFinite("num", num), checkFinite("den", den)); err != nil {
		return err
	}
	for i, d := range den {
		if d < 0 {
			return fmt.Errorf("stats: den[%d] is %v, a denominator cannot be negative", i, d)
		}
	}
	return nil
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

// ProportionOfSums is [RatioOfSums] for binary outcomes, with Wilson's interval at the
// effective number of outcomes: it stays within 0 and 1 and has better coverage than
// the t interval near 0 and 1. With one outcome per cluster it is [Wilson].
//
// The effective number is the number of outcomes over a design effect: the variance CR2
// between clusters over p(1 − p), times the square of the ratio of the quantiles of t,
// on Satterthwaite's degrees of freedom, and z; at least 1 and at most that of outcomes
// which are equal within each cluster, Kish's Σm²/Σm of clusters of m. Few events say
// little about it, and none says nothing. So it is at least a mean of itself, weighted by
// the number t of events, and of a prior d, weighted by 4d. With ρ = [PriorICC], clusters
// without an event say as much as Σ m/(1 + (m − 1)ρ) outcomes: the prior of no events, d₀, is
// Σm over it. That of many is 1 + (Σm²/Σm − 1)ρ, and of t events a mean of both, weighted by
// 4d₀ and t. With clusters of equal sizes they are the same.
//
// The interval is monotone: one more event in any cluster lowers neither limit. The
// upper limit is the largest of those of all results with fewer events in some clusters
// and more in none. The lower one is 1 minus the upper one of the complement.
//
// Outcomes may be more than the sum of den, as with replicates of items whose mean
// counts: the prior takes replicates to be equal.
//
// Source: Korn & Graubard (1998), Survey Methodology 24, for the effective number;
// Dean & Pagano (2015), Journal of Survey Statistics and Methodology 3, for Wilson's
// interval at it; Kish (1965), Survey Sampling, for the design effect; Bell & McCaffrey
// (2002), Survey Methodology 28, for the variance and its degrees of freedom. The prior
// was chosen by simulation: false passes at a limit stay below 4 % of 2.5 for
// correlations up to [PriorICC] (docs/statistics.md), and below 5 % where a few large clusters
// stand among a hundred of one outcome.
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
		r.CI, r.Effective, r.Method = wilson(r.Value, k, level), k, "Wilson"
		return r, nil
	}
	d := newOutcomes(den, outcomes, level)
	rest := make([]float64, 0, r.Clusters)
	events := make([]float64, 0, r.Clusters)
	for i, m := range den {
		if m > 0 {
			events, rest = append(events, num[i]), append(rest, m-num[i])
		}
	}
	r.CI = Interval{math.Max(0, 1-d.most(rest)), d.most(events), level}
	r.Effective, r.Method = d.effective(events), "Wilson at the effective number of outcomes"
	if r.Value == 0 || r.Value == 1 {
		r.Assumes = fmt.Sprintf("no variation between clusters: the interval assumes an intraclass correlation of %v at most", PriorICC)
		r.Warnings = append(r.Warnings, r.Assumes)
	}
	r.Warnings = append(r.Warnings, fewClusters(r.Clusters)...)
	return r, nil
}

// PriorICC is the intraclass correlation that intervals of events in clusters assume
// where the data have too few events to estimate it.
const PriorICC = 0.3

// PriorBurst is the number of events of a case that upper limits of counts allow for where
// the data have too few events to show it.
const PriorBurst = 5

// CountsOfSums is [RatioOfSums] for counts without a bound, such as the errors of a
// document: a case may have several, and those that matter may not have come yet. The
// upper limit is the larger of two: that of t, by [Ratio.Monotone], and the score limit of
// a Poisson mean at the effective number of cases, which is their number over the
// variance of the counts of clusters over their mean. Few events say little about that, so
// it is at least a mean of itself, weighted by the number t of events, and of [PriorBurst]
// times the prior d of [ProportionOfSums], weighted by four times that.
//
// Without an event the limit is z²·[PriorBurst]/n. It then holds for cases of up to
// PriorBurst events; no method can hold for more without being told how many there can be.
// The interval is monotone as that of [ProportionOfSums] is.
//
// Source: Korn & Graubard (1998) for the effective number, as [ProportionOfSums];
// Brown, Cai & DasGupta (2003), Statistica Sinica 13, 19–49, for the score interval of a
// Poisson mean; McCullagh & Nelder (1989), Generalized Linear Models, §6.2, for a variance
// in proportion to the mean. The prior was chosen by simulation (docs/statistics.md).
func CountsOfSums(num, den []float64, level float64) (Ratio, error) {
	r, err := RatioOfSums(num, den, level)
	if err != nil || r.data == nil || math.IsNaN(r.SE) {
		return r, err
	}
	r.Undefined, r.Warnings, r.Method = "", nil, robustMethod+", no lower than few events allow"
	d := newCounts(den, level)
	var events []float64
	for k, m := range den {
		if m > 0 {
			events = append(events, num[k])
		}
	}
	r.CI = r.data.interval(level)
	r.CI.Low, r.CI.High = math.Max(0, r.CI.Low), math.Max(r.CI.High, d.most(events))
	if r.Num < 4*d.none {
		events := "no events"
		if r.Num > 0 {
			events = fmt.Sprintf("only %v events", r.Num)
		}
		r.Assumes = fmt.Sprintf("%s: the upper limit assumes that no case has more than about %d", events, PriorBurst)
		r.Warnings = append(r.Warnings, r.Assumes)
	}
	r.Warnings = append(r.Warnings, fewClusters(r.Clusters)...)
	return r, nil
}

// CompareCounts compares counts of events of the same cases. The lower limit is the lesser
// of that of [RatioDiff.Reading] and of what few events leave open: what A has more of,
// minus the upper limit by [CountsOfSums] of what B has more of. The upper limit is its
// mirror image.
func CompareCounts(numA, numB, den []float64, level float64) (RatioDiff, Reading, error) {
	d, err := RatioDifference(numA, den, numB, den, level)
	if err != nil || math.IsNaN(d.Diff) || d.Clusters < 2 {
		return d, Reading{math.NaN(), undefinedInterval}, err
	}
	return d, RareCounts(d.Reading(), numA, numB, den), nil
}

// RareCounts is what few events leave open of a difference of counts of the same cases, whatever the
// method is that the reading is by: one that claims no more than it and another do.
func RareCounts(other Reading, numA, numB, den []float64) Reading {
	var more, less []float64
	for k, m := range den {
		if m > 0 {
			more, less = append(more, math.Max(0, numA[k]-numB[k])), append(less, math.Max(0, numB[k]-numA[k]))
		}
	}
	n := sum(den)
	return other.within(func(level float64) Interval {
		of := newCounts(den, level)
		return Interval{sum(more)/n - of.most(less), of.most(more) - sum(less)/n, level}
	})
}

// outcomeClusters are clusters of outcomes, of which some are events; or of cases, with
// counts of events that have no bound.
type outcomeClusters struct {
	counts    bool
	sizes     []float64
	n         float64 // sum of the sizes
	each      float64 // outcomes in a unit of the sizes
	parts     int     // into which replicates divide an outcome; 0 if they are not known
	kish      float64 // Σm²/Σm
	none      float64 // design effect of no events
	prior     float64 // design effect of many, by the prior
	inflation float64 // (t/z)²
	level, z  float64
}

func newOutcomes(den []float64, outcomes, level float64) outcomeClusters {
	d := outcomeClusters{n: sum(den), level: level, z: zQuantile((1 - level) / 2)}
	for _, m := range den {
		if m > 0 {
			d.sizes = append(d.sizes, m)
			d.kish += m * m / d.n
		}
	}
	d.each = outcomes / d.n
	d.prior = math.Max(1, 1+(d.kish-1)*PriorICC) * d.each
	alone := 0.0
	for _, m := range d.sizes {
		alone += m / (1 + math.Max(0, m-1)*PriorICC)
	}
	d.none = math.Max(1, d.n/alone) * d.each
	tail := (1 - level) / 2
	t := tQuantile(tail, robustDF(d.sizes, d.sizes, 1)) / d.z
	d.inflation = t * t
	return d
}

// newCounts are clusters of cases with counts of events.
func newCounts(den []float64, level float64) outcomeClusters {
	d := newOutcomes(den, sum(den), level)
	d.counts, d.none, d.prior = true, d.none*PriorBurst, d.prior*PriorBurst
	return d
}

// upper is the score limit of a number of events whose clusters' residuals have a sum of
// squares, those of cluster k over 1 − mₖ/n.
func (d outcomeClusters) upper(events, squares float64) float64 {
	if d.counts {
		n, z := d.n/d.effect(events, squares), d.z
		return events/d.n + z*z/(2*n) + z*math.Sqrt(events/d.n/n+z*z/(4*n*n))
	}
	return wilsonAt(math.Min(events/d.n, 1), d.n*d.each/d.effect(events, squares), d.level, d.z).High
}

// effect is the design effect.
func (d outcomeClusters) effect(events, squares float64) float64 {
	p := events / d.n
	if !(p > 0 && (p < 1 || d.counts)) {
		return d.none
	}
	own := math.Max(1, squares/events*d.inflation)
	if !d.counts {
		own = math.Max(1, math.Min(squares/(d.n*p*(1-p))*d.inflation, d.kish)*d.each)
	}
	t := events * d.each
	prior := (4*d.none*d.none + t*d.prior) / (4*d.none + t)
	return math.Max(own, (4*prior*prior+t*own)/(4*prior+t))
}

// effective is the effective number of outcomes.
func (d outcomeClusters) effective(events []float64) float64 {
	total, squares := sum(events), 0.0
	for k, m := range d.sizes {
		e := events[k] - total/d.n*m
		squares += e * e / (1 - m/d.n)
	}
	return d.n * d.each / d.effect(total, squares)
}

// most is the largest upper limit of the results with no more events in any cluster. For
// each number of events it takes the most concentrated ones: their squares are those of
// the clusters with most events, and their products with the sizes those of the smallest
// clusters, which is a bound, and exact for the events themselves.
func (d outcomeClusters) most(events []float64) float64 {
	total := sum(events)
	var squares, sizes, largest float64 // Σ m²/(1 − m/n), and the largest 1/(1 − m/n)
	weight := make([]float64, len(events))
	for k, m := range d.sizes {
		weight[k] = 1 / (1 - m/d.n)
		e := events[k] - total/d.n*m
		squares, sizes, largest = squares+weight[k]*e*e, sizes+weight[k]*m*m, math.Max(largest, weight[k])
	}
	high := math.Max(d.upper(0, 0), d.upper(total, squares))
	byEvents, bySize := make([]int, len(events)), make([]int, len(events))
	for k := range events {
		byEvents[k], bySize[k] = k, k
	}
	slices.SortFunc(byEvents, func(a, b int) int { return cmp.Compare(events[b], events[a]) })
	slices.SortFunc(bySize, func(a, b int) int { return cmp.Compare(d.sizes[a]*weight[a], d.sizes[b]*weight[b]) })
	ofSquares := filling{order: byEvents, room: events, worth: func(_ int, from, to float64) float64 { return to*to - from*from }}
	ofProducts := filling{order: bySize, room: events, worth: func(k int, from, to float64) float64 { return weight[k] * d.sizes[k] * (to - from) }}
	step := 1 / d.each
	if d.each == 1 {
		step = 1 / parts(events, d.parts)
	}
	const mostSteps = 100_000
	step *= math.Max(1, math.Ceil(total/step/mostSteps)) // of so many events, single ones do not show
	for s := step; s < total-1e-9; s += step {
		p := s / d.n
		high = math.Max(high, d.upper(s, largest*ofSquares.add(step)-2*p*ofProducts.add(step)+p*p*sizes))
	}
	return high
}

// parts is the number of equal parts, least or more and up to 60, of which all numbers are whole
// multiples: as the mean of replicates divides items.
func parts(xs []float64, least int) float64 {
	n := math.Max(1, float64(least))
	for n < 60 && slices.ContainsFunc(xs, func(x float64) bool { return math.Abs(x*n-math.Round(x*n)) > 1e-9*math.Max(1, x*n) }) {
		n++
	}
	return n
}

// A filling puts events into clusters in an order, each up to its room.
type filling struct {
	order     []int
	room      []float64
	worth     func(cluster int, from, to float64) float64
	used, sum float64 // of the first cluster of the order; of what all are worth
}

func (f *filling) add(events float64) float64 {
	for events > 1e-12 && len(f.order) > 0 {
		k := f.order[0]
		take := math.Min(events, f.room[k]-f.used)
		f.sum += f.worth(k, f.used, f.used+take)
		f.used, events = f.used+take, events-take
		if f.used >= f.room[k]-1e-12 {
			f.order, f.used = f.order[1:], 0
		}
	}
	return f.sum
}

// fewClusters is a warning of an interval of few clusters, nil of more.
func fewClusters(n int) []string {
	if n >= FewClusters {
		return nil
	}
	return []string{fmt.Sprintf("only %d clusters: below %d, intervals are rough", n, FewClusters)}
}

// RatioDiff is the difference of two ratios of sums over the same clusters.
type RatioDiff struct {
	A, B      float64
	Diff      float64 // A − B
	Clusters  int     // of either
	Fewest    int     // of the one that has fewer
	SE        float64
	T, DF, P  float64
	CI        Interval
	Undefined string

	data *difference
	even *difference // of the same denominators; nil where data has them
}

// Reading is the monotone interval of the difference with its p-value: that of t, but
// the scores of a cluster that are better than most do not make a limit worse. Its p-value
// includes the chance that all of few clusters lie on one side, 1 in 128 of eight, so it has no ends
// with fewer clusters than can show anything, six at level 0.95. With many clusters and
// without outliers it is the interval of t. It claims no more than with even denominators,
// where clusters that tie are ties.
func (d RatioDiff) Reading() Reading {
	switch {
	case d.data == nil || math.IsNaN(d.SE):
		return Reading{math.NaN(), undefinedInterval}
	case d.even != nil:
		return d.data.reading().Wider(d.even.reading())
	}
	return d.data.reading()
}

// Extremes are the differences of the lowest and the highest cluster, which are the limits of
// [RatioDiff.Reading] where few clusters differ from those: no data say what lies beyond.
func (d RatioDiff) Extremes() (low, high float64) { return d.data.extremes() }

// Freedom is the degrees of freedom of the interval of [RatioDiff.Reading]: DF, and less
// where clusters are of unequal sizes.
func (d RatioDiff) Freedom() float64 {
	if d.data == nil {
		return math.NaN()
	}
	return d.data.freedom
}

// CompareRates compares two rates, each of outcomes that are events or not, over the same
// clusters. The lower limit is the lesser of that of [RatioDiff.Reading] and of those
// that few events leave open: the lower one of A by [ProportionOfSums] minus B, and A minus
// the upper one of B. The upper limit is its mirror image.
func CompareRates(numA, denA, numB, denB []float64, level float64) (RatioDiff, Reading, error) {
	d, err := RatioDifference(numA, denA, numB, denB, level)
	if err != nil || math.IsNaN(d.Diff) || d.Fewest < 2 {
		return d, Reading{math.NaN(), undefinedInterval}, err
	}
	var problem error
	of := func(num, den []float64, level float64) Interval {
		r, err := ProportionOfSums(num, den, sum(den), level)
		if err != nil {
			problem = err
		}
		return r.CI
	}
	rare := apart(d.A, d.B, func(level float64) (Interval, Interval) {
		return of(numA, denA, level), of(numB, denB, level)
	})
	return d, d.Reading().within(rare), problem
}

// apart is what the intervals of two estimates leave open of their difference a − b.
func apart(a, b float64, of func(level float64) (a, b Interval)) func(level float64) Interval {
	return func(level float64) Interval {
		ofA, ofB := of(level)
		return Interval{math.Min(ofA.Low-b, a-ofB.High), math.Max(ofA.High-b, a-ofB.Low), level}
	}
}

// RatioDifference compares two ratios of sums cluster by cluster, by the same
// linearisation as [RatioOfSums]: num and den of a and b at index i belong to
// the same cluster. Clusters that have a denominator in neither do not count.
//
// If both have the same denominators, as two means over the same items, the
// difference is a mean of clustered differences. Its standard error is then CR2
// and its degrees of freedom are Satterthwaite's (Bell & McCaffrey 2002), which
// hold with few clusters of unequal sizes; with equal sizes it is the t-test of
// cluster means. Reference: R clubSandwich. If they have no cluster in common, it is Welch's
// t, but with degrees of freedom for equal variances. Between the two the leverage of a
// cluster is the larger of its shares.
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
	d.data = newDifference(numA, denA, numB, denB)
	if !slices.Equal(denA, denB) {
		d.even = evenDifference(numA, denA, numB, denB)
	}
	d.Clusters, d.Fewest, d.SE, d.DF = len(d.data.a), d.data.fewest, d.data.se, d.data.df
	if d.Fewest < 2 {
		d.SE, d.DF = nan, nan
		d.Undefined = "fewer than two clusters in one of the two"
		return d, nil
	}
	if math.IsNaN(d.SE) || math.IsInf(d.SE, 0) {
		d.SE = nan
		d.Undefined = tooLarge
		return d, nil
	}
	if d.SE == 0 {
		d.Diff = d.data.diff
		d.Undefined = "all clusters differ by the same amount"
		return d, nil
	}
	d.T = d.Diff / d.SE
	d.P = 2 * tCDF(-math.Abs(d.T), d.DF)
	d.CI = d.Interval(level)
	return d, nil
}

// robustDF is Satterthwaite's degrees of freedom of a difference of two means of independent
// values in clusters of these sizes, with the standard error CR2 and this share of the
// variance from A: those of [FitRobust] for an intercept alone if both have the same sizes.
func robustDF(sizesA, sizesB []float64, ofA float64) float64 {
	nA, nB := sum(sizesA), sum(sizesB)
	var mean, squares, a, aa, b, bb, c, cc float64
	for k := range sizesA {
		x, y := sizesA[k]/nA, sizesB[k]/nB
		w := 1 / (1 - math.Max(x, y))
		v := w * (ofA*x*(1-x) + (1-ofA)*y*(1-y)) // of the cluster's term of the variance
		mean, squares = mean+v, squares+v*v
		a, aa = a+w*x*x, aa+w*w*x*x*x*x
		b, bb = b+w*y*y, bb+w*w*y*y*y*y
		c, cc = c+w*x*y, cc+w*w*x*x*y*y
	}
	df := mean * mean / (squares + ofA*ofA*(a*a-aa) + (1-ofA)*(1-ofA)*(b*b-bb) + 2*ofA*(1-ofA)*(c*c-cc))
	if whole := math.Round(df); math.Abs(df-whole) < 1e-9*whole {
		return whole // clusters − 1 if their sizes are equal
	}
	return df
}

// Interval is the confidence interval of the difference at another level.
func (d RatioDiff) Interval(level float64) Interval {
	if d.Undefined != "" || checkLevel(level) != nil {
		return undefinedInterval(level)
	}
	return tInterval(d.Diff, d.SE, d.DF, level)
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

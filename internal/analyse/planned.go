package analyse

import (
	"fmt"
	"hash/fnv"
	"math"
	"runtime"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
	"github.com/scruple-eval/scruple/stats"
)

// fewForBootstrap is the number of clusters below which a BCa interval covers less
// than it says (0.93 of 0.95 with 30 clusters) and the t interval replaces it.
const fewForBootstrap = 50

// A tester performs the planned test of a study.
type tester struct {
	q     Question
	level float64      // of the interval of the difference
	fits  map[int]*fit // mixed models by metric
	// family is the number of comparisons that are corrected together, 1 outside of
	// it. A draft computes only p-values.
	family int
	draft  bool
}

// alpha is the level of significance that belongs to the interval.
func (t tester) alpha() float64 { return 1 - t.level }

// equivalence is the level of the interval for two one-sided tests at alpha.
func (t tester) equivalence() float64 { return 1 - 2*t.alpha() }

// A reading is what one method says about a difference.
type reading struct {
	method         string
	diff, t, df, p Number
	interval       func(level float64) stats.Interval
	warnings       []string
	untested       bool // the planned test cannot be made
}

// byT is the reading of a t-test.
func byT(method string, d stats.RatioDiff) reading {
	return reading{method: method, diff: Number(d.Diff), t: Number(d.T), df: Number(d.DF), p: Number(d.P), interval: d.Interval}
}

// noMoreThan claims only what both readings do. A mixed model of several arms has one
// residual variance: an arm of constant scores makes it too small for two others.
func (f reading) noMoreThan(other reading) reading {
	if !other.p.Defined() {
		return f
	}
	own := f.interval
	if other.p > f.p {
		f.t, f.df, f.p = other.t, other.df, other.p
	}
	f.interval = func(level float64) stats.Interval {
		ci, wide := own(level), other.interval(level)
		return stats.Interval{Low: min(ci.Low, wide.Low), High: max(ci.High, wide.High), Level: level}
	}
	return f
}

// test compares two arms by the planned method. Its reading decides if it respects
// the data: whole clusters where items are clustered, and a score interval where
// all scores are 0 or 1, since a t interval of few discordant items is too short.
// If the planned method by itself ignores one of them, that is the Planned reading.
func (t tester) test(r *Comparison, m matched, k contest, metric *eval.Metric) error {
	robust, err := stats.RatioDifference(m.numA, m.denA, m.numB, m.denB, t.level)
	if err != nil {
		return err
	}
	r.MeanA, r.MeanB, r.Diff, r.Clusters, r.Level = Number(robust.A), Number(robust.B), Number(robust.Diff), robust.Clusters, Number(t.level)
	if metric.Pooling == eval.RatioOfSums {
		deciding, err := t.rate(r, m, robust, metric.Binary)
		if err != nil {
			return err
		}
		t.read(r, deciding)
		r.note(robust.Undefined, robust.Clusters, m.units(robust.Clusters))
		return t.reach(r, m, metric)
	}
	if err := t.effect(r, m, robust); err != nil {
		return err
	}
	deciding, failed, err := t.deciding(r, m, robust, k)
	if err != nil {
		return err
	}
	planned, alone := deciding, false
	if m.clustered() && t.q.Study.IgnoresClusters() && r.Stratum == nil {
		alone = true
		items := m.unclustered()
		byItem, err := stats.RatioDifference(items.numA, items.denA, items.numB, items.denB, t.level)
		if err != nil {
			return err
		}
		if planned, err = t.method(r, items, byItem); err != nil {
			return err
		}
	}
	if model := t.fits[k.metric]; model != nil && len(model.pairs) > 1 && r.Stratum == nil && !failed && !m.binary() {
		alone = true
		deciding = deciding.noMoreThan(byT("", robust))
		deciding.method += ", no narrower than the t of the two arms"
	}
	if m.binary() && t.q.Study.Method != "mcnemar" && !failed {
		alone = true
		if deciding, err = t.scored(deciding, m); err != nil {
			return err
		}
	}
	t.read(r, deciding)
	if t.q.Study.Beside != "" && r.Stratum == nil && !t.draft {
		second, err := t.bootstrap(r, m, robust)
		if err != nil {
			return err
		}
		p := t.reading(second)
		r.Beside = &p
	}
	if alone && r.Stratum == nil {
		p := t.reading(planned)
		r.Planned = &p
	}
	undefined := ""
	if !r.P.Defined() {
		undefined = robust.Undefined
	}
	r.note(undefined, robust.Clusters, m.units(robust.Clusters))
	return t.reach(r, m, metric)
}

// IgnoresClusters reports whether the planned method by itself has items as units.
func (s Study) IgnoresClusters() bool {
	switch s.Method {
	case "permutation", "clustered", "mixed_effects":
		return false
	}
	return true
}

// deciding is the planned method, from the mixed model if it is that of all items.
// A model that cannot be fitted has failed: nothing else decides in its place.
func (t tester) deciding(r *Comparison, m matched, robust stats.RatioDiff, k contest) (f reading, failed bool, err error) {
	if model := t.fits[k.metric]; model != nil && r.Stratum == nil {
		f, ok := model.read(r.A, r.B)
		if !ok {
			f.diff = r.Diff
		}
		return f, !ok, nil
	}
	f, err = t.method(r, m, robust)
	return f, false, err
}

// scored replaces the interval by that of paired proportions. Without a p-value, as of
// a t-test of equal differences, it is that of exact sign flips: a score interval of
// very few items can exclude 0 where no test does.
func (t tester) scored(f reading, m matched) (reading, error) {
	pairs, err := m.proportions(t.level)
	if err != nil {
		return f, err
	}
	f.diff, f.interval = Number(pairs.Diff), pairs.Interval
	f.method += "; score interval of paired proportions (Tango)"
	if !f.p.Defined() {
		f.p = Number(pairs.P())
		f.method += ", p of exact sign flips"
	}
	if pairs.Undefined != "" {
		f.warnings = append(slices.Clip(f.warnings), "no interval: "+pairs.Undefined)
	}
	return f, nil
}

// Above mostReach items the reach of a comparison limits no rule of interest; above
// fewPatterns clusters the number of ranks or signs does not.
const (
	mostReach   = 5000
	fewPatterns = 20
)

// reach computes the most that the items of a comparison can show. A t interval has
// no limit: it is as short as the scores are alike.
func (t tester) reach(r *Comparison, m matched, metric *eval.Metric) error {
	pooled := metric.Pooling == eval.RatioOfSums
	if t.draft || t.q.NoReach || r.Stratum != nil || len(m.xs) > mostReach ||
		math.IsInf(metric.Min, 0) || math.IsInf(metric.Max, 0) ||
		!(pooled && metric.Binary || !pooled && (m.binary() || t.discrete() && r.Clusters <= fewPatterns)) {
		return nil
	}
	best, worst := metric.Max, metric.Min
	if !metric.HigherIsBetter {
		best, worst = worst, best
	}
	back := m.reversed()
	var out Reach
	for _, c := range []struct {
		into *Reading
		data matched
	}{{&out.BestA, m.constantA(best)}, {&out.WorstA, m.constantA(worst)}, {&out.BestB, back.constantA(best).reversed()},
		{&out.WorstB, back.constantA(worst).reversed()}, {&out.Same, back.constantA(best).reversed().constantA(best)}} {
		f, err := t.extreme(r, c.data, m.binary(), pooled)
		if err != nil {
			return err
		}
		*c.into = t.reading(f)
		c.into.Method = ""
		// No comparison of a family can have a smaller p-value at these items.
		adjusted, err := stats.Adjust(t.q.Study.Correction, slices.Repeat([]float64{float64(f.p)}, max(1, t.family)))
		if err != nil {
			return err
		}
		c.into.PAdjusted = Number(adjusted[0])
	}
	r.Reach = &out
	return nil
}

// discrete reports whether the p-value of the planned method has a smallest value.
func (t tester) discrete() bool {
	switch t.q.Study.Method {
	case "permutation", "wilcoxon", "mcnemar":
		return true
	}
	return false
}

// extreme reads data in which an arm has only one score. What has no limit is NaN.
func (t tester) extreme(r *Comparison, m matched, binary, pooled bool) (reading, error) {
	robust, err := stats.RatioDifference(m.numA, m.denA, m.numB, m.denB, t.level)
	if err != nil {
		return reading{}, err
	}
	if pooled {
		return t.rate(r, m, robust, true)
	}
	u := Undefined()
	f := reading{diff: Number(robust.Diff), t: u, df: u, p: u}
	if binary {
		f, err = t.scored(f, m)
		if !t.discrete() {
			f.p = u
		}
		return f, err
	}
	if f, err = t.method(r, m, robust); err != nil {
		return f, err
	}
	if !f.p.Defined() {
		f.p = 1 // ranks of no difference
	}
	p, own := float64(f.p), f.interval
	f.interval = func(level float64) stats.Interval {
		ci := stats.Interval{Low: math.NaN(), High: math.NaN(), Level: level}
		switch {
		case p >= 1-level:
			ci.Low, ci.High = 0, 0 // it includes 0, at best at an end
		case t.q.Study.Method == "permutation":
			if w := own(level); math.IsInf(w.Low, 0) {
				return w
			}
		}
		return ci
	}
	return f, nil
}

// method performs the planned method with clusters as units; robust is their
// cluster-robust difference.
func (t tester) method(r *Comparison, m matched, robust stats.RatioDiff) (reading, error) {
	ttest := byT("paired t-test over items", robust)
	if m.clustered() {
		ttest.method = "paired t-test, cluster-robust over " + text.Plural(robust.Clusters, "cluster", "clusters")
	}
	switch t.q.Study.Method {
	case "wilcoxon":
		return t.wilcoxon(m, robust)
	case "permutation":
		return t.signFlip(r, m, robust)
	case "clustered":
		return t.bootstrap(r, m, robust)
	case "mcnemar":
		return t.mcnemar(r, m, ttest)
	}
	return ttest, nil
}

// effect is Cohen's d for pairs. McNemar's test has none.
func (t tester) effect(r *Comparison, m matched, robust stats.RatioDiff) error {
	items, err := stats.PairedT(m.xs, m.ys, t.level)
	if err != nil || t.q.Study.Method == "mcnemar" {
		return err
	}
	r.D = Number(items.DZ)
	if !t.q.NoEffect && !t.draft {
		ci := robust.EffectInterval(items.SDDiff, t.level)
		r.DLow, r.DHigh = Number(ci.Low), Number(ci.High)
	}
	return nil
}

// read fills in the results of the reading that decides.
func (t tester) read(r *Comparison, f reading) {
	*r = r.By(t.reading(f))
	r.T, r.DF, r.Untested = f.t, f.df, f.untested
	r.warn(f.warnings...)
}

// reading returns the results of a reading.
func (t tester) reading(f reading) Reading {
	out := Reading{Diff: f.diff, P: f.p, PAdjusted: Undefined(), Method: f.method}
	out.Low, out.High, out.EquivLow, out.EquivHigh = t.limits(f)
	return out
}

// limits returns the ends of the interval and of that for equivalence. The former
// includes 0 unless the test rejects 0. An interval for equivalence needs an alpha
// below one half.
func (t tester) limits(f reading) (low, high, equivLow, equivHigh Number) {
	u := Undefined()
	if t.draft {
		return u, u, u, u
	}
	ci := f.interval(t.level)
	if float64(f.p) >= t.alpha() {
		ci.Low, ci.High = min(ci.Low, 0), max(ci.High, 0)
	}
	if t.equivalence() <= 0 {
		return Number(ci.Low), Number(ci.High), u, u
	}
	wide := f.interval(t.equivalence())
	return Number(ci.Low), Number(ci.High), Number(wide.Low), Number(wide.High)
}

// rate compares a metric that pools opportunities.
func (t tester) rate(r *Comparison, m matched, robust stats.RatioDiff, binary bool) (reading, error) {
	f := byT("difference of ratios, cluster-robust t", robust)
	if !binary {
		if t.q.Study.Method == "clustered" {
			return t.bootstrap(r, m, robust)
		}
		return f, nil
	}
	if slices.Equal(m.denA, m.denB) {
		return t.sameOpportunities(f, m)
	}
	nA, nB := total(m.denA), total(m.denB)
	of := func(level float64) (a, b stats.Ratio, err error) {
		if a, err = stats.ProportionOfSums(m.numA, m.denA, nA, level); err == nil {
			b, err = stats.ProportionOfSums(m.numB, m.denB, nB, level)
		}
		return a, b, err
	}
	a, b, err := of(t.level)
	if err != nil || a.Clusters < 2 || b.Clusters < 2 {
		return f, err
	}
	f.method = "difference of rates: cluster-robust t; interval of Wilson's for both (Newcombe)"
	f.interval = func(level float64) stats.Interval {
		a, b, err := of(level)
		if err != nil {
			return robust.Interval(level)
		}
		ci := stats.SquareAndAdd(a.Value, b.Value, a.CI, b.CI, shrunk(a, b, robust.Correlation))
		// The correlation is that of the data: where it is nearly 1, t may be wider.
		if byT := robust.Interval(level); byT.Low < byT.High {
			ci.Low, ci.High = min(ci.Low, byT.Low), max(ci.High, byT.High)
		}
		return ci
	}
	return f, nil
}

// shrunk is Newcombe's correction of the correlation of two proportions on as many
// items as there are clusters: that of identical outcomes is not 1.
func shrunk(a, b stats.Ratio, correlation float64) float64 {
	spread := math.Sqrt(a.Value * (1 - a.Value) * b.Value * (1 - b.Value))
	if correlation <= 0 || spread == 0 {
		return min(correlation, 0)
	}
	return max(0, correlation-1/(2*float64(min(a.Clusters, b.Clusters))*spread))
}

// sameOpportunities compares rates of the same opportunities as paired proportions,
// of which the net differences of clusters are known.
func (t tester) sameOpportunities(f reading, m matched) (reading, error) {
	only, other, n := make([]int, len(m.numA)), make([]int, len(m.numA)), make([]int, len(m.numA))
	for k := range n {
		n[k] = int(m.denA[k])
		only[k], other[k] = int(max(0, m.numA[k]-m.numB[k])), int(max(0, m.numB[k]-m.numA[k]))
	}
	pairs, err := stats.ComparePairedProportions(only, other, n, t.level)
	f.method = "difference of rates: cluster-robust t; score interval of paired proportions (Tango)"
	f.interval = pairs.Interval
	return f, err
}

// note warns of a missing test, and of few units: clusters or items.
func (r *Comparison) note(undefined string, n int, units string) {
	if undefined != "" {
		r.warn("no test: " + undefined)
	}
	if n < stats.FewClusters {
		r.warn(fmt.Sprintf("only %s: below %d, only large differences are detectable", units, stats.FewClusters))
	}
}

// warn adds warnings without duplicates.
func (r *Comparison) warn(texts ...string) {
	for _, t := range texts {
		if !slices.Contains(r.Warnings, t) {
			r.Warnings = append(r.Warnings, t)
		}
	}
}

// wilcoxon ranks the differences of clusters, and takes the exact p-value if
// available. The interval is that of the mean difference, by t: ranks have one of
// the median only.
func (t tester) wilcoxon(m matched, robust stats.RatioDiff) (reading, error) {
	f := reading{diff: Number(robust.Diff), t: Undefined(), df: Undefined(), p: Undefined(), interval: robust.Interval}
	diff := m.differences()
	w, err := stats.WilcoxonSignedRank(diff, make([]float64, len(diff)), stats.TwoSided, t.level)
	if err != nil {
		return f, err
	}
	f.method = "Wilcoxon signed-rank test over " + m.units(len(diff))
	if w.Undefined != "" {
		f.warnings = []string{"no test: " + w.Undefined}
		return f, nil
	}
	f.p = Number(w.PExact)
	kind := "exact"
	if !f.p.Defined() {
		f.p, kind = Number(w.PContinuity), "normal approximation"
	}
	f.method += fmt.Sprintf(" (%s, %d differences of 0 dropped); t interval of the mean", kind, w.Zeros)
	f.warnings = w.Warnings
	return f, nil
}

// signFlip flips the signs of whole clusters; the interval is its inversion.
func (t tester) signFlip(r *Comparison, m matched, robust stats.RatioDiff) (reading, error) {
	diff := m.differences()
	f := reading{diff: Number(robust.Diff), t: Undefined(), df: Undefined()}
	_, sizes := occupied(m.numA, m.denA)
	inverted, err := stats.SignFlipInterval(diff, sizes, t.q.Study.Resamples, t.seed(r), runtime.GOMAXPROCS(0))
	if err != nil {
		return f, err
	}
	f.interval, f.p = inverted.Interval, Number(inverted.P(0))
	how := "exact"
	if len(diff) > stats.MaxExactFlips {
		how = fmt.Sprintf("%d drawn", t.q.Study.Resamples)
	} else if !inverted.Exact {
		flips, err := stats.SignFlipExact(diff)
		if err != nil {
			return f, err
		}
		f.p = Number(flips.P)
	}
	if ci := inverted.Interval(t.level); math.IsInf(ci.Low, 0) {
		f.warnings = []string{fmt.Sprintf("no interval: no pattern of the signs of %s is significant", m.units(len(diff)))}
	}
	f.method = fmt.Sprintf("sign-flip permutation test over %s, %s; interval by inversion", m.units(len(diff)), how)
	return f, nil
}

// bootstrap computes the interval by resampling clusters; the p-value is the
// cluster-robust one, and so is the interval of few clusters.
func (t tester) bootstrap(r *Comparison, m matched, d stats.RatioDiff) (reading, error) {
	f := byT("cluster-robust t over "+text.Plural(d.Clusters, "cluster", "clusters"), d)
	if d.Clusters < fewForBootstrap {
		f.method += fmt.Sprintf(", too few for a bootstrap (%d)", fewForBootstrap)
		return f, nil
	}
	if t.draft {
		return f, nil
	}
	numA, denA := occupied(m.numA, m.denA)
	numB, denB := occupied(m.numB, m.denB)
	b, err := stats.ClusterBootstrapDiff(numA, denA, numB, denB,
		stats.BootstrapOptions{Resamples: t.q.Study.Resamples, Level: t.level, Seed: t.seed(r), Workers: runtime.GOMAXPROCS(0)})
	switch {
	case err != nil:
		return f, err
	case b.Undefined != "":
		f.warnings = []string{"no bootstrap: " + b.Undefined}
	case b.Degenerate:
		f.warnings = b.Warnings
	default:
		f.method = fmt.Sprintf("cluster bootstrap, BCa of %d resamples; p by cluster-robust t", t.q.Study.Resamples)
		f.warnings = b.Warnings
		f.interval = b.BCaAt
	}
	return f, nil
}

// mcnemar compares scores that are 0 or 1: the exact test, which flips the signs of
// items, with clusters that of whole clusters.
func (t tester) mcnemar(r *Comparison, m matched, ttest reading) (reading, error) {
	f := reading{method: "McNemar's test", diff: ttest.diff, t: Undefined(), df: Undefined(), p: Undefined(), interval: ttest.interval}
	if !m.binary() {
		f.untested = true
		f.warnings = []string{fmt.Sprintf("no test: McNemar's test needs scores that are 0 or 1, and %s has others: set another statistics.method", r.Metric)}
		return f, nil
	}
	x, err := m.proportions(t.level)
	if err != nil {
		return f, err
	}
	f.p, f.interval = Number(x.P()), x.Interval
	if x.Undefined != "" {
		f.warnings = []string{"no interval: " + x.Undefined}
	}
	f.method = fmt.Sprintf("McNemar's test, exact (%s passed only by the first arm, %d only by the second)", text.Plural(x.B, "item", "items"), x.C)
	if m.clustered() {
		f.method += fmt.Sprintf(", by flips of %s", m.units(x.Clusters))
	}
	f.method += "; score interval (Tango)"
	return f, nil
}

// seed gives each comparison its own reproducible draws.
func (t tester) seed(r *Comparison) uint64 {
	return seed(t.q.Run.Seed, r.Stratum, r.A, r.B, r.Metric)
}

// seed derives the seed for a name from that of the run.
func seed(run int64, stratum *eval.Level, names ...string) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, run)
	for _, n := range names {
		fmt.Fprintf(h, "\x00%s", n)
	}
	h.Write([]byte{0})
	if stratum != nil {
		fmt.Fprintf(h, "%s=%s", stratum.Name, stratum.Value)
	}
	return h.Sum64()
}

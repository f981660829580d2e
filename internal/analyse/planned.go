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

// A tester compares arms by the method of a study.
type tester struct {
	q     Question
	level float64      // of the interval of the difference
	fits  map[int]*fit // mixed models by metric
	draft bool         // computes only p-values
}

// alpha is the level of significance that belongs to the interval.
func (t tester) alpha() float64 { return 1 - t.level }

// equivalence is the level of the interval for two one-sided tests at alpha.
func (t tester) equivalence() float64 { return 1 - 2*t.alpha() }

// A reading is what one method says about a difference. Its p-value is that of its
// interval, which excludes 0 where p is below 1 minus the level.
type reading struct {
	stats.Reading
	method      string
	diff, t, df Number
	warnings    []string
}

// readingOf is a reading of a difference with its t.
func readingOf(method string, d stats.RatioDiff, r stats.Reading) reading {
	return reading{Reading: r, method: method, diff: Number(d.Diff), t: Number(d.T), df: Number(d.DF)}
}

// clusterReading is a reading with the degrees of freedom that clusters leave.
func clusterReading(method string, d stats.RatioDiff, r stats.Reading) reading {
	f := readingOf(method, d, r)
	f.df = Number(d.Freedom())
	return f
}

// untested is a reading without a test.
func untested(method string, diff Number) reading {
	nan := math.NaN()
	return reading{method: method, diff: diff, t: Undefined(), df: Undefined(), Reading: stats.Reading{P: nan,
		Interval: func(level float64) stats.Interval { return stats.Interval{Low: nan, High: nan, Level: level} }}}
}

// test compares two arms. One method gives the difference, its interval and its p-value,
// and it respects the data: whole clusters where items are clustered, and that losses too
// few to vary may still come where scores are 0 or 1. Tests that the study asks for beside
// it decide nothing.
func (t tester) test(r *Comparison, m matched, k contest, metric *eval.Metric) error {
	deciding, robust, err := t.auto(m, metric)
	if err != nil {
		return err
	}
	r.MeanA, r.MeanB, r.Diff, r.Clusters, r.Level = Number(robust.A), Number(robust.B), Number(robust.Diff), robust.Clusters, Number(t.level)
	if metric.Pooling == eval.MeanOfItems {
		switch model := t.fits[k.metric]; {
		case t.q.Study.Method == "permutation":
			flips, err := t.signFlip(r, m, robust)
			if err != nil {
				return err
			}
			if metric.Binary {
				pairs, err := m.proportions(t.level)
				if err != nil {
					return err
				}
				flips.Reading = pairs.Rare(flips.Reading)
			}
			if metric.Counts {
				flips.Reading = stats.RareCounts(flips.Reading, m.numA, m.numB, m.denA)
				flips.method += ", no narrower than few events allow"
			}
			deciding = flips
		case model != nil && r.Stratum == nil:
			// A mixed model of several arms has one residual variance, and with few clusters
			// its degrees of freedom are rough: it claims no more than both do.
			f, ok := model.reading(r.A, r.B)
			if ok {
				f.Reading = f.Wider(deciding.Reading)
				f.method += ", no narrower than the " + deciding.method
			} else if !f.diff.Defined() {
				f.diff = r.Diff
			}
			deciding = f
		}
	}
	t.fill(r, deciding)
	if metric.Pooling == eval.MeanOfItems {
		if err := t.effect(r, m, robust, metric); err != nil {
			return err
		}
	}
	if r.Stratum == nil && !t.draft {
		for _, name := range t.q.Study.Beside {
			f, err := t.beside(name, r, m, robust, metric)
			if err != nil {
				return err
			}
			r.Beside = append(r.Beside, t.result(f))
		}
		if r.Assumes = t.assumption(r, m, robust, deciding, metric); r.Assumes != "" {
			r.warn(r.Assumes)
		}
	}
	undefined := ""
	if math.IsNaN(robust.SE) && !r.P.Defined() {
		undefined = robust.Undefined
	}
	r.note(undefined, robust.Fewest, m.units(robust.Fewest))
	return nil
}

// assumption is what the interval of a comparison takes for granted, "" if nothing.
func (t tester) assumption(r *Comparison, m matched, robust stats.RatioDiff, deciding reading, metric *eval.Metric) string {
	lowest, highest := robust.Extremes()
	ends := endsAt(Bounds{Low: r.Low, High: r.High}, lowest, highest, metric.Min-metric.Max, metric.Max-metric.Min)
	switch {
	case r.Low == r.High:
		return fmt.Sprintf("all %s differ by the same amount, so the interval has no width: it rests on there being no outlier", m.units(robust.Clusters))
	case t.fragile(m, metric, deciding):
		best, worst := r.A, r.B
		if (r.Diff < 0) == metric.HigherIsBetter {
			best, worst = r.B, r.A
		}
		return fmt.Sprintf("rests on there being no outlier: one more item on which %s scores worst and %s best would reverse it", best, worst)
	case ends != "" && !(deciding.P < t.alpha()):
		return fmt.Sprintf("the interval ends at the %s difference of %s: it rests on there being no outlier", ends, m.units(robust.Clusters))
	}
	return ""
}

// auto compares two arms by the method that fits their scores: of single items that pass
// or fail, Tango's score interval; of clusters, the cluster-robust t.
func (t tester) auto(m matched, metric *eval.Metric) (reading, stats.RatioDiff, error) {
	const monotone = "cluster-robust t"
	switch {
	case metric.Binary && (metric.Pooling == eval.MeanOfItems || slices.Equal(m.denA, m.denB)):
		robust, err := stats.RatioDifference(m.numA, m.denA, m.numB, m.denB, t.level)
		if err != nil {
			return reading{}, robust, err
		}
		pairs, err := m.paired(metric.Pooling, t.level)
		if err != nil {
			return reading{}, robust, err
		}
		f := clusterReading("score interval of paired proportions (Tango)", robust, pairs.Reading())
		if pairs.Clusters < pairs.N {
			f.method = monotone + " over " + text.Plural(robust.Clusters, "cluster", "clusters") + ", no narrower than few losses allow"
			f = f.beyond(robust)
		} else {
			f.t, f.df = Undefined(), Undefined()
		}
		return f, robust, nil
	case metric.Binary:
		robust, both, err := stats.CompareRates(m.numA, m.denA, m.numB, m.denB, t.level)
		f := clusterReading("difference of rates: "+monotone+", no narrower than few events allow", robust, both)
		return f.beyond(robust), robust, err
	}
	if metric.Counts && slices.Equal(m.denA, m.denB) {
		robust, both, err := stats.CompareCounts(m.numA, m.numB, m.denA, t.level)
		f := clusterReading("difference of counts: "+monotone+", no narrower than few events allow", robust, both)
		return f.beyond(robust), robust, err
	}
	robust, err := stats.RatioDifference(m.numA, m.denA, m.numB, m.denB, t.level)
	name := "paired t over items"
	switch {
	case metric.Pooling == eval.RatioOfSums:
		name = "difference of ratios: " + monotone
	case m.clustered():
		name = monotone + " over " + text.Plural(robust.Clusters, "cluster", "clusters")
	}
	own := robust.Reading()
	if err == nil && !t.draft && !sameLimits(own.Interval(t.level), robust.CI) {
		name += ", with limits that no further fault raises (Euclidean empirical likelihood)"
	}
	return clusterReading(name, robust, own), robust, err
}

// sameLimits reports whether two intervals are the same but for rounding.
func sameLimits(a, b stats.Interval) bool {
	apart := 1e-9 * (b.High - b.Low)
	return !(math.Abs(a.Low-b.Low) > apart || math.Abs(a.High-b.High) > apart)
}

// beyond leaves out t where the p-value is not that of t.
func (f reading) beyond(robust stats.RatioDiff) reading {
	if byT := robust.Reading().P; !(f.P <= byT*(1+1e-9)) { // the same but for rounding is that of t
		f.t, f.df = Undefined(), Undefined()
	}
	return f
}

// fragile reports whether one more item with the worst difference that the metric allows
// would reverse a difference that the interval shows. Intervals of passes and fails know.
func (t tester) fragile(m matched, metric *eval.Metric, f reading) bool {
	span := metric.Max - metric.Min
	if metric.Binary || metric.Pooling != eval.MeanOfItems || math.IsInf(span, 0) || !(f.P < t.alpha()) {
		return false
	}
	with := matched{numA: append(slices.Clone(m.numA), 0), denA: append(slices.Clone(m.denA), 1), numB: append(slices.Clone(m.numB), 0), denB: append(slices.Clone(m.denB), 1)}
	last := &with.numA[len(m.numA)]
	if f.diff > 0 {
		last = &with.numB[len(m.numB)]
	}
	*last = span
	d, err := stats.RatioDifference(with.numA, with.denA, with.numB, with.denB, t.level)
	return err == nil && !(d.Reading().P < t.alpha() && Number(d.Diff) > 0 == (f.diff > 0))
}

// beside is a test that the study asks to be shown.
func (t tester) beside(name string, r *Comparison, m matched, robust stats.RatioDiff, metric *eval.Metric) (reading, error) {
	own := m
	if name != "bootstrap" && metric.Pooling == eval.MeanOfItems {
		own = m.unclustered()
	}
	byItem, err := stats.RatioDifference(own.numA, own.denA, own.numB, own.denB, t.level)
	if err != nil {
		return reading{}, err
	}
	none := untested("", Number(robust.Diff))
	var f reading
	switch {
	case name == "bootstrap":
		f, err = t.bootstrap(r, m, robust)
	case metric.Pooling == eval.RatioOfSums:
		f = none
		f.method = name + " of a pooled rate cannot be made: it has no score of an item"
	case name == "wilcoxon":
		f, err = t.wilcoxon(own, byItem)
	case name == "mcnemar":
		f, err = t.mcnemar(own, none)
	default:
		f = readingOf("paired t-test over items", byItem, stats.Reading{P: byItem.P, Interval: byItem.Interval})
	}
	if name != "bootstrap" && m.clustered() {
		f.method += fmt.Sprintf("; it ignores that the %s are in %s", text.Plural(len(m.xs), "item", "items"), text.Plural(robust.Clusters, "cluster", "clusters"))
	}
	return f, err
}

// effect is Cohen's d for pairs. Its interval is by t: where what decides about the difference
// reaches further, so does that of d, which excludes 0 only if that of the difference does.
func (t tester) effect(r *Comparison, m matched, robust stats.RatioDiff, metric *eval.Metric) error {
	items, err := stats.PairedT(m.xs, m.ys, t.level)
	if err != nil {
		return err
	}
	r.D = Number(items.DZ)
	if t.q.NoEffect || t.draft {
		return nil
	}
	ci, byT := robust.EffectInterval(items.SDDiff, t.level), robust.Interval(t.level)
	low, high := clipped(r.Low, metric.Max-metric.Min), clipped(r.High, metric.Max-metric.Min)
	rounding := 1e-9 * (byT.High - byT.Low)
	if !(float64(low) >= byT.Low-rounding) {
		ci.Low = min(ci.Low, float64(low)/items.SDDiff)
	}
	if !(float64(high) <= byT.High+rounding) {
		ci.High = max(ci.High, float64(high)/items.SDDiff)
	}
	r.DLow, r.DHigh = Number(ci.Low), Number(ci.High)
	return nil
}

// fill fills in the results of the reading that decides.
func (t tester) fill(r *Comparison, f reading) {
	r.Reading = t.result(f)
	if t.draft {
		r.beyond = t.q.beyond(r.A, r.B, r.Metric, f.Reading)
	}
	r.T, r.DF = f.t, f.df
	r.warn(f.warnings...)
}

// result returns a reading at the levels of the tester.
func (t tester) result(f reading) Reading {
	out := Reading{Diff: f.diff, P: Number(f.P), PAdjusted: Undefined(), Method: f.method}
	out.Low, out.High, out.EquivLow, out.EquivHigh = t.limits(f.Reading)
	return out
}

// limits returns the ends of the interval and of that for equivalence, which needs an
// alpha below one half.
func (t tester) limits(f stats.Reading) (low, high, equivLow, equivHigh Number) {
	u := Undefined()
	if t.draft {
		return u, u, u, u
	}
	ci := f.Interval(t.level)
	if t.equivalence() <= 0 {
		return Number(ci.Low), Number(ci.High), u, u
	}
	wide := f.Interval(t.equivalence())
	return Number(ci.Low), Number(ci.High), Number(wide.Low), Number(wide.High)
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

// wilcoxon ranks the differences, and takes the exact p-value if available. The interval
// is that of the mean difference, by t: ranks have one of the median only.
func (t tester) wilcoxon(m matched, byItem stats.RatioDiff) (reading, error) {
	f := readingOf("Wilcoxon signed-rank test over "+m.units(len(m.xs)), byItem, stats.Reading{P: math.NaN(), Interval: byItem.Interval})
	f.t, f.df = Undefined(), Undefined()
	w, err := stats.WilcoxonSignedRank(m.xs, m.ys, stats.TwoSided, t.level)
	switch {
	case err != nil:
		return f, err
	case w.Undefined != "":
		f.method += ": no test, " + w.Undefined
		return f, nil
	}
	kind := "exact"
	if f.P = w.PExact; math.IsNaN(f.P) {
		f.P, kind = w.PContinuity, "normal approximation"
	}
	f.method += fmt.Sprintf(" (%s, %d differences of 0 dropped); t interval of the mean", kind, w.Zeros)
	return f, nil
}

// signFlip flips the signs of whole clusters; the interval is its inversion.
func (t tester) signFlip(r *Comparison, m matched, robust stats.RatioDiff) (reading, error) {
	diff := m.differences()
	f := reading{diff: Number(robust.Diff), t: Undefined(), df: Undefined()}
	_, sizes := occupied(m.numA, m.denA)
	// Patterns do not depend on the arms: the difference of b and a is that of a and b, mirrored.
	inverted, err := stats.SignFlipInterval(diff, sizes, t.q.Study.Resamples, seed(t.q.Run.Seed, r.Stratum, r.Metric), runtime.GOMAXPROCS(0))
	if err != nil {
		return f, err
	}
	f.Reading = stats.Reading{P: inverted.P(0), Interval: inverted.Interval}
	how, of := "exact", ""
	if !inverted.Exact {
		of = " of those drawn"
	}
	if len(diff) > stats.MaxExactFlips {
		how = fmt.Sprintf("%d drawn", t.q.Study.Resamples)
	} else if !inverted.Exact {
		flips, err := stats.SignFlipExact(diff)
		if err != nil {
			return f, err
		}
		// The interval is of drawn patterns: the larger p decides, and the interval has 0 where it
		// is not significant, so that the two agree.
		p := max(flips.P, f.P)
		how = fmt.Sprintf("the larger p of all signs and of %d drawn", t.q.Study.Resamples)
		f.Reading = stats.Reading{P: p, Interval: func(level float64) stats.Interval {
			ci := inverted.Interval(level)
			if p >= 1-level {
				ci.Low, ci.High = min(ci.Low, 0), max(ci.High, 0)
			}
			return ci
		}}
	}
	if ci := inverted.Interval(t.level); math.IsInf(ci.Low, 0) {
		f.warnings = []string{fmt.Sprintf("no interval: no pattern of the signs of %s is significant", m.units(len(diff)))}
	}
	f.method = fmt.Sprintf("sign-flip permutation test over %s, %s; interval by inversion%s", m.units(len(diff)), how, of)
	return f, nil
}

// bootstrap computes the interval by resampling clusters; the p-value is the
// cluster-robust one, and so is the interval of few clusters.
func (t tester) bootstrap(r *Comparison, m matched, d stats.RatioDiff) (reading, error) {
	f := readingOf("cluster-robust t over "+text.Plural(d.Clusters, "cluster", "clusters"), d, stats.Reading{P: d.P, Interval: d.Interval})
	if d.Clusters < fewForBootstrap {
		f.method += fmt.Sprintf(", too few for a bootstrap (%d)", fewForBootstrap)
		return f, nil
	}
	if t.draft {
		return f, nil
	}
	m = m.occupied()
	b, err := stats.ClusterBootstrapDiff(m.numA, m.denA, m.numB, m.denB, t.draws(r))
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
		f.Interval = b.BCaAt
	}
	return f, nil
}

// mcnemar is the exact test of scores that are 0 or 1.
func (t tester) mcnemar(m matched, f reading) (reading, error) {
	f.method = "McNemar's test"
	if !m.binary() {
		f.method += ": no test, it needs scores that are 0 or 1"
		return f, nil
	}
	x, err := m.proportions(t.level)
	if err != nil {
		return f, err
	}
	f.Reading = stats.Reading{P: x.FlipsP(), Interval: x.Interval}
	f.method += fmt.Sprintf(", exact (%s passed only by the first arm, %d only by the second); score interval (Tango)", text.Plural(int(x.B), "item", "items"), int(x.C))
	return f, nil
}

// draws gives each comparison its own reproducible draws.
func (t tester) draws(r *Comparison) stats.BootstrapOptions {
	return t.q.draws(t.level, r.Stratum, r.A, r.B, r.Metric)
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

// Descriptive is the method of the comparisons of an exploratory run.
const Descriptive = "descriptive: DEV is for exploring, so no test is made"

// describe compares two arms without a test.
func (r *Comparison) describe(m matched, metric *eval.Metric) error {
	const level = 0.95 // no interval is kept
	robust, err := stats.RatioDifference(m.numA, m.denA, m.numB, m.denB, level)
	if err != nil {
		return err
	}
	r.MeanA, r.MeanB, r.Diff, r.Clusters = Number(robust.A), Number(robust.B), Number(robust.Diff), robust.Clusters
	if metric.Pooling == eval.RatioOfSums {
		return nil
	}
	items, err := stats.PairedT(m.xs, m.ys, level)
	r.D = Number(items.DZ)
	return err
}

// untest leaves out of a comparison, and of its bounds, whatever could be read as a test.
func (r *Comparison) untest() {
	u := Undefined()
	r.Reading = Untested(r.Diff, Descriptive)
	r.Level, r.T, r.DF, r.DLow, r.DHigh, r.Beside = u, u, u, u, u, nil
	for _, bound := range []*Comparison{r.Least, r.Most} {
		if bound != nil {
			bound.untest()
		}
	}
}

// describing are the results of an exploratory run for a suite: they have no tests, and are no
// [eval.Panel] or [eval.Associator].
type describing struct{ eval.Results }

func (d describing) SameRate(arms, _ []string) []float64 {
	return slices.Repeat([]float64{math.NaN()}, len(arms))
}

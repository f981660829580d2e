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
}

// byT is the reading of a t-test.
func byT(method string, d stats.RatioDiff) reading {
	return reading{method, Number(d.Diff), Number(d.T), Number(d.DF), Number(d.P), d.Interval, nil}
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
		r.note(robust.Undefined, robust.Clusters)
		return t.reach(r, m, metric)
	}
	if err := t.effect(r, m, robust); err != nil {
		return err
	}
	deciding, err := t.deciding(r, m, k)
	if err != nil {
		return err
	}
	planned, alone := deciding, false
	if m.clustered() && t.ignoresClusters() && r.Stratum == nil {
		alone = true
		if planned, err = t.method(r, m.unclustered()); err != nil {
			return err
		}
	}
	if m.binary() && t.q.Study.Method != "mcnemar" {
		alone = true
		if deciding, err = t.scored(deciding, m); err != nil {
			return err
		}
	}
	t.read(r, deciding)
	if alone && r.Stratum == nil {
		p := t.reading(planned)
		r.Planned = &p
	}
	undefined := ""
	if !r.P.Defined() {
		undefined = robust.Undefined
	}
	r.note(undefined, r.Pairs)
	return t.reach(r, m, metric)
}

// ignoresClusters reports whether the planned method by itself has items as units.
func (t tester) ignoresClusters() bool {
	switch t.q.Study.Method {
	case "permutation", "clustered", "mixed_effects":
		return false
	}
	return true
}

// deciding is the planned method, from the mixed model if it is that of all items.
func (t tester) deciding(r *Comparison, m matched, k contest) (reading, error) {
	if f := t.fits[k.metric]; f != nil && r.Stratum == nil {
		out := f.read(r.A, r.B)
		if !out.diff.Defined() {
			out.diff = r.Diff
		}
		return out, nil
	}
	return t.method(r, m)
}

// scored replaces the interval by that of paired proportions.
func (t tester) scored(f reading, m matched) (reading, error) {
	pairs, err := m.proportions(t.level)
	f.diff, f.interval = Number(pairs.Diff), pairs.Interval
	f.method += "; score interval of paired proportions (Tango)"
	return f, err
}

// reach computes the most that the items of a comparison can show. A t interval
// has no limit: it is as short as the scores are alike.
func (t tester) reach(r *Comparison, m matched, metric *eval.Metric) error {
	discrete := slices.Contains([]string{"permutation", "wilcoxon", "mcnemar"}, t.q.Study.Method)
	pooled := metric.Pooling == eval.RatioOfSums
	if t.q.NoReach || r.Stratum != nil || math.IsInf(metric.Min, 0) || math.IsInf(metric.Max, 0) ||
		!(pooled && metric.Binary || !pooled && (discrete || m.binary())) {
		return nil
	}
	best, worst := metric.Max, metric.Min
	if !metric.HigherIsBetter {
		best, worst = worst, best
	}
	var out Reach
	for _, c := range []struct {
		into *Reading
		data matched
	}{{&out.BestA, m.constantA(best)}, {&out.WorstA, m.constantA(worst)}, {&out.BestB, m.reversed().constantA(best).reversed()},
		{&out.WorstB, m.reversed().constantA(worst).reversed()}, {&out.Same, m.constantA(best).reversed().constantA(best)}} {
		var f reading
		robust, err := stats.RatioDifference(c.data.numA, c.data.denA, c.data.numB, c.data.denB, t.level)
		if err != nil {
			return err
		}
		if pooled {
			f, err = t.rate(r, c.data, robust, metric.Binary)
		} else if f, err = t.method(r, c.data); err == nil && c.data.binary() {
			f, err = t.scored(f, c.data)
		}
		if err != nil {
			return err
		}
		if robust.Diff == 0 && discrete && !f.p.Defined() {
			f.p = 1 // ranks of no difference
		}
		*c.into = t.reading(f)
		c.into.PAdjusted, c.into.Method = c.into.P, "" // the largest of a family is not corrected by Holm
	}
	r.Reach = &out
	return nil
}

// method performs the planned method with clusters as units.
func (t tester) method(r *Comparison, m matched) (reading, error) {
	robust, err := stats.RatioDifference(m.numA, m.denA, m.numB, m.denB, t.level)
	if err != nil {
		return reading{}, err
	}
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
	if !t.q.NoEffect {
		ci := robust.EffectInterval(items.SDDiff, t.level)
		r.DLow, r.DHigh = Number(ci.Low), Number(ci.High)
	}
	return nil
}

// read fills in the results of the reading that decides.
func (t tester) read(r *Comparison, f reading) {
	*r = r.By(t.reading(f))
	r.T, r.DF = f.t, f.df
	r.warn(f.warnings...)
}

// reading returns the results of a reading.
func (t tester) reading(f reading) Reading {
	out := Reading{Diff: f.diff, P: f.p, PAdjusted: Undefined(), Method: f.method}
	out.Low, out.High, out.EquivLow, out.EquivHigh = t.limits(f)
	return out
}

// limits returns the ends of the interval and of that for equivalence. The former
// includes 0 unless the test rejects 0: the two must not contradict each other.
func (t tester) limits(f reading) (low, high, equivLow, equivHigh Number) {
	ci, wide := f.interval(t.level), f.interval(t.equivalence())
	if float64(f.p) >= t.alpha() {
		ci.Low, ci.High = min(ci.Low, 0), max(ci.High, 0)
	}
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
	nA, nB := total(m.denA), total(m.denB)
	a, err := stats.ProportionOfSums(m.numA, m.denA, nA, t.level)
	if err != nil {
		return f, err
	}
	b, err := stats.ProportionOfSums(m.numB, m.denB, nB, t.level)
	if err != nil {
		return f, err
	}
	f.method = "difference of rates: cluster-robust t; interval of Wilson's for both (Newcombe)"
	f.interval = func(level float64) stats.Interval {
		a, _ := stats.ProportionOfSums(m.numA, m.denA, nA, level) // another level cannot fail
		b, _ := stats.ProportionOfSums(m.numB, m.denB, nB, level)
		return stats.SquareAndAdd(a.Value, b.Value, a.CI, b.CI, robust.Correlation)
	}
	if a.Clusters < 2 || b.Clusters < 2 {
		f.interval = robust.Interval
	}
	return f, nil
}

func (r *Comparison) note(undefined string, n int) {
	if undefined != "" {
		r.warn("no test: " + undefined)
	}
	if n < stats.FewClusters {
		r.warn(fmt.Sprintf("only %s: below %d, only large differences are detectable", text.Plural(n, "pair", "pairs"), stats.FewClusters))
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
	inverted, err := stats.SignFlipInterval(diff, sizes, t.q.Study.Resamples, t.seed(r), 2)
	if err != nil {
		return f, err
	}
	f.interval = inverted.Interval
	var flips stats.SignFlip
	how := "exact"
	if len(diff) <= stats.MaxExactFlips {
		flips, err = stats.SignFlipExact(diff)
	} else {
		how = fmt.Sprintf("%d drawn", t.q.Study.Resamples)
		flips, err = stats.SignFlipRandom(diff, t.q.Study.Resamples, t.seed(r), runtime.GOMAXPROCS(0))
	}
	f.method = fmt.Sprintf("sign-flip permutation test over %s, %s; interval by inversion", m.units(len(diff)), how)
	f.p = Number(flips.P)
	return f, err
}

// bootstrap computes the interval by resampling clusters; the p-value is the
// cluster-robust one, and so is the interval of few clusters.
func (t tester) bootstrap(r *Comparison, m matched, d stats.RatioDiff) (reading, error) {
	f := byT("cluster-robust t over "+text.Plural(d.Clusters, "cluster", "clusters"), d)
	if d.Clusters < fewForBootstrap {
		f.method += fmt.Sprintf(", too few for a bootstrap (%d)", fewForBootstrap)
		return f, nil
	}
	numA, denA := occupied(m.numA, m.denA)
	numB, denB := occupied(m.numB, m.denB)
	draw := func(level float64) (stats.Bootstrap, error) {
		return stats.ClusterBootstrapDiff(numA, denA, numB, denB,
			stats.BootstrapOptions{Resamples: t.q.Study.Resamples, Level: level, Seed: t.seed(r), Workers: runtime.GOMAXPROCS(0)})
	}
	b, err := draw(t.level)
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
		f.interval = func(level float64) stats.Interval {
			b, _ := draw(level) // another level cannot fail
			return b.BCa
		}
	}
	return f, nil
}

// mcnemar compares scores that are 0 or 1: the exact test, which flips the signs of
// items, with clusters that of whole clusters.
func (t tester) mcnemar(r *Comparison, m matched, ttest reading) (reading, error) {
	f := reading{method: "McNemar's test", diff: ttest.diff, t: Undefined(), df: Undefined(), p: Undefined(), interval: ttest.interval}
	if !m.binary() {
		f.warnings = []string{fmt.Sprintf("no test: McNemar's test needs scores that are 0 or 1, and %s has others", r.Metric)}
		return f, nil
	}
	x, err := m.proportions(t.level)
	if err != nil {
		return f, err
	}
	f.p, f.interval = Number(x.P), x.Interval
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

package analyse

import (
	"fmt"
	"hash/fnv"
	"runtime"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
	"github.com/scruple-eval/scruple/stats"
)

// A tester performs the planned test of a study.
type tester struct {
	q     Question
	level float64
	fits  map[int]*fit // mixed models by metric
}

// matched is the data of one comparison: the items that both arms have, and
// their sums of fractions by cluster.
type matched struct {
	xs, ys                 []float64
	numA, denA, numB, denB []float64 // a cluster has both or neither
}

// equivalence is the level of the interval for two one-sided tests at α.
func (t tester) equivalence() float64 { return 1 - 2*t.q.Study.Alpha }

func (t tester) test(r *Comparison, m matched, index int, metric eval.Metric, whole bool) error {
	clustered, err := stats.RatioDifference(m.numA, m.denA, m.numB, m.denB, t.level)
	if err != nil {
		return err
	}
	if metric.Pooling == eval.RatioOfSums {
		if t.q.Study.Method == "clustered" {
			return t.bootstrap(r, m, clustered)
		}
		r.ratios(clustered, t.equivalence())
		return nil
	}
	if err := t.paired(r, m); err != nil {
		return err
	}
	knows := false // whether the test accounts for clusters
	switch t.q.Study.Method {
	case "wilcoxon":
		err = t.wilcoxon(r, m)
	case "permutation":
		err = t.signFlip(r, m)
		knows = true
	case "clustered":
		err = t.bootstrap(r, m, clustered)
		knows = true
	case "mcnemar":
		err = t.mcnemar(r, m)
	case "mixed_effects":
		if f := t.fits[index]; f != nil && whole {
			r.mixed(f, t.equivalence())
			knows = true
		}
	}
	if err == nil && !knows && clustered.Clusters < r.Pairs && clustered.Undefined == "" {
		r.warn(t.beside(r, clustered))
	}
	return err
}

// beside formats the cluster-robust result for a comparison whose planned test
// ignores clusters.
func (t tester) beside(r *Comparison, d stats.RatioDiff) string {
	text := fmt.Sprintf("%s in %s: the cluster-robust interval is %.3f to %.3f, p = %.2g",
		text.Plural(r.Pairs, "item", "items"), text.Plural(d.Clusters, "cluster", "clusters"), d.CI.Low, d.CI.High, d.P)
	if alpha := t.q.Study.Alpha; r.P.Defined() && (float64(r.P) < alpha) != (d.P < alpha) {
		text += "; the planned test disagrees"
	}
	return text
}

// paired is the paired t-test over items, the default. Other tests keep its
// results that they lack, such as the intervals of the difference and of d.
func (t tester) paired(r *Comparison, m matched) error {
	p, err := stats.PairedT(m.xs, m.ys, t.level)
	if err != nil {
		return err
	}
	r.Method = "paired t-test over items"
	r.MeanA, r.MeanB, r.Diff = Number(p.MeanA), Number(p.MeanB), Number(p.MeanDiff)
	r.Low, r.High, r.T, r.DF, r.P = Number(p.CI.Low), Number(p.CI.High), Number(p.T), Number(p.DF), Number(p.P)
	effect := p.EffectInterval(t.level)
	r.D, r.DLow, r.DHigh = Number(p.DZ), Number(effect.Low), Number(effect.High)
	wide := p.Interval(t.equivalence())
	r.EquivLow, r.EquivHigh = Number(wide.Low), Number(wide.High)
	r.note(p.Undefined, p.N)
	return nil
}

// ratios is the linearised difference of pooled ratios.
func (r *Comparison) ratios(d stats.RatioDiff, equivalence float64) {
	r.Method = "paired difference of ratios, cluster-robust"
	r.MeanA, r.MeanB, r.Diff = Number(d.A), Number(d.B), Number(d.Diff)
	r.Low, r.High, r.T, r.DF, r.P = Number(d.CI.Low), Number(d.CI.High), Number(d.T), Number(d.DF), Number(d.P)
	wide := d.Interval(equivalence)
	r.EquivLow, r.EquivHigh = Number(wide.Low), Number(wide.High)
	r.note(d.Undefined, d.Clusters)
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

// untested removes the test and adds the reason as a warning.
func (r *Comparison) untested(reason string) {
	u := Undefined()
	r.T, r.DF, r.P = u, u, u
	r.warn("no test: " + reason)
}

// wilcoxon takes the p-value of signed ranks, the exact one if available.
func (t tester) wilcoxon(r *Comparison, m matched) error {
	w, err := stats.WilcoxonSignedRank(m.xs, m.ys, stats.TwoSided, t.level)
	if err != nil {
		return err
	}
	r.T, r.DF = Undefined(), Undefined()
	if w.Undefined != "" {
		r.Method = "Wilcoxon signed-rank test over items"
		r.untested(w.Undefined)
		return nil
	}
	r.P = Number(w.PExact)
	kind := "exact"
	if !r.P.Defined() {
		r.P, kind = Number(w.PContinuity), "normal approximation"
	}
	r.Method = fmt.Sprintf("Wilcoxon signed-rank test over items (%s, %d differences of 0 dropped); interval of the paired t", kind, w.Zeros)
	r.warn(w.Warnings...)
	return nil
}

// signFlip flips the signs of whole clusters, that is of the sum of each
// cluster's differences.
func (t tester) signFlip(r *Comparison, m matched) error {
	diff := m.clusterDifferences()
	r.T, r.DF = Undefined(), Undefined()
	var f stats.SignFlip
	var err error
	if len(diff) <= stats.MaxExactFlips {
		f, err = stats.SignFlipExact(diff)
		r.Method = fmt.Sprintf("sign-flip permutation test over %d clusters, exact; interval of the paired t", len(diff))
	} else {
		f, err = stats.SignFlipRandom(diff, t.q.Study.Resamples, t.seed(r), runtime.GOMAXPROCS(0))
		r.Method = fmt.Sprintf("sign-flip permutation test over %d clusters, %d drawn; interval of the paired t", len(diff), t.q.Study.Resamples)
	}
	if err != nil {
		return err
	}
	r.P = Number(f.P)
	return nil
}

// bootstrap computes the interval by resampling clusters; the p-value is the
// cluster-robust one.
func (t tester) bootstrap(r *Comparison, m matched, d stats.RatioDiff) error {
	r.ratios(d, t.equivalence())
	numA, denA := occupied(m.numA, m.denA)
	numB, denB := occupied(m.numB, m.denB)
	b, err := stats.ClusterBootstrapDiff(numA, denA, numB, denB,
		stats.BootstrapOptions{Resamples: t.q.Study.Resamples, Level: t.level, Seed: t.seed(r), Workers: runtime.GOMAXPROCS(0)})
	if err != nil {
		return err
	}
	r.Method = fmt.Sprintf("cluster bootstrap, BCa of %d resamples; p by cluster-robust t", t.q.Study.Resamples)
	switch {
	case b.Undefined != "":
		r.warn("no bootstrap: " + b.Undefined)
	case b.Degenerate:
		r.warn(b.Warnings...)
	default:
		r.Low, r.High = Number(b.BCa.Low), Number(b.BCa.High)
		r.warn(b.Warnings...)
	}
	return nil
}

// mcnemar compares scores that are 0 or 1.
func (t tester) mcnemar(r *Comparison, m matched) error {
	r.D, r.DLow, r.DHigh = Undefined(), Undefined(), Undefined()
	r.Method = "McNemar's test"
	if !binary(m.xs) || !binary(m.ys) {
		r.untested(fmt.Sprintf("McNemar's test needs scores that are 0 or 1, and %s has others", r.Metric))
		return nil
	}
	a, b := make([]bool, len(m.xs)), make([]bool, len(m.ys))
	for i := range a {
		a[i], b[i] = m.xs[i] == 1, m.ys[i] == 1
	}
	x, err := stats.McNemarOutcomes(a, b, t.level)
	if err != nil {
		return err
	}
	r.T, r.DF, r.P = Undefined(), Undefined(), Number(x.PExact)
	r.Low, r.High = Number(x.DiffCI.Low), Number(x.DiffCI.High)
	r.Method = fmt.Sprintf("McNemar's test, exact (%s passed only by the first arm, %d only by the second)", text.Plural(x.B, "item", "items"), x.C)
	return nil
}

// binary reports whether every value is 0 or 1.
func binary(xs []float64) bool {
	return !slices.ContainsFunc(xs, func(x float64) bool { return x != 0 && x != 1 })
}

// clusterDifferences returns the sum of differences of each cluster.
func (m matched) clusterDifferences() []float64 {
	a, _ := occupied(m.numA, m.denA)
	b, _ := occupied(m.numB, m.denB)
	out := make([]float64, len(a))
	for k := range a {
		out[k] = a[k] - b[k]
	}
	return out
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

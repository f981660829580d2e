package analyse

import (
	"fmt"
	"math"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/stats"
)

// comparisons compares each pair on each of its metrics over all items, and
// the first of them by stratum; then corrects the p-values of the primary
// family.
func (c *Collector) comparisons(a *Analysis, q Question, selections []selection, level float64) error {
	var reported []string
	for _, m := range a.Metrics {
		if m.Rank != "other" && m.Kind == eval.Scoring {
			reported = append(reported, m.Name)
		}
	}
	for _, p := range q.Comparisons {
		metrics := p.Metrics
		if len(metrics) == 0 {
			metrics = reported
		}
		for k, metric := range metrics {
			for _, s := range selections {
				if s.stratum != nil && k > 0 {
					continue
				}
				r, err := c.compare(p, metric, s, level)
				if err != nil {
					return err
				}
				if s.stratum == nil || r.Pairs > 0 {
					a.Comparisons = append(a.Comparisons, r)
				}
			}
		}
	}
	adjust(a, q)
	return nil
}

// compare is one pair on one metric: a paired t-test over items where an item
// counts once, and the linearised difference of ratios where it does not, or
// where items come in clusters.
func (c *Collector) compare(p Pair, metric string, s selection, level float64) (Comparison, error) {
	ia, okA := c.armIdx[p.A]
	ib, okB := c.armIdx[p.B]
	m, okM := c.metric[metric]
	if !okA || !okB || !okM {
		return Comparison{}, fmt.Errorf("analyse: comparing %s with %s by %s: not all of them are in the study", p.A, p.B, metric)
	}
	undefined := Undefined()
	r := Comparison{A: p.A, B: p.B, Metric: metric, Primary: p.Primary, Stratum: s.stratum, MeanA: undefined, MeanB: undefined, Diff: undefined,
		Low: undefined, High: undefined, T: undefined, DF: undefined, P: undefined, PAdjusted: undefined, D: undefined}
	var xs, ys []float64
	sums := newClusters(2)
	for _, i := range s.items {
		x, y := c.fractions(ia, m, i), c.fractions(ib, m, i)
		switch {
		case x.den > 0 && y.den > 0:
			xs, ys = append(xs, x.num/x.den), append(ys, y.num/y.den)
			sums.add(c.items[i].ClusterID(), x, y)
			r.count(x.num/x.den, y.num/y.den, c.suite.Metrics[m].HigherIsBetter)
		case x.den > 0 || y.den > 0:
			r.Unpaired++
		}
	}
	r.Pairs = len(xs)
	if r.Unpaired > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d items have a value for one arm only and are left out", r.Unpaired))
	}
	if r.Pairs == 0 {
		r.Warnings = append(r.Warnings, "no item has a value for both arms")
		return r, nil
	}
	if c.suite.Metrics[m].Pooling == eval.MeanOfItems && len(sums.index) == len(xs) {
		return r, r.pairedT(xs, ys, level)
	}
	return r, r.ratios(sums, level)
}

// count tells which arm did better on an item.
func (r *Comparison) count(x, y float64, higherIsBetter bool) {
	switch {
	case x == y:
		r.Ties++
	case (x > y) == higherIsBetter:
		r.Wins++
	default:
		r.Losses++
	}
}

func (r *Comparison) pairedT(xs, ys []float64, level float64) error {
	t, err := stats.PairedT(xs, ys, level)
	if err != nil {
		return fmt.Errorf("comparing %s with %s by %s: %w", r.A, r.B, r.Metric, err)
	}
	r.Method = "paired t-test over items"
	r.MeanA, r.MeanB, r.Diff = Number(t.MeanA), Number(t.MeanB), Number(t.MeanDiff)
	r.Low, r.High, r.T, r.DF, r.P, r.D = Number(t.CI.Low), Number(t.CI.High), Number(t.T), Number(t.DF), Number(t.P), Number(t.DZ)
	r.note(t.Undefined, t.N)
	return nil
}

func (r *Comparison) ratios(sums *clusters, level float64) error {
	d, err := stats.RatioDifference(sums.num[0], sums.den[0], sums.num[1], sums.den[1], level)
	if err != nil {
		return fmt.Errorf("comparing %s with %s by %s: %w", r.A, r.B, r.Metric, err)
	}
	r.Method = "paired difference of ratios, cluster-robust"
	r.MeanA, r.MeanB, r.Diff = Number(d.A), Number(d.B), Number(d.Diff)
	r.Low, r.High, r.T, r.DF, r.P = Number(d.CI.Low), Number(d.CI.High), Number(d.T), Number(d.DF), Number(d.P)
	r.note(d.Undefined, d.Clusters)
	return nil
}

func (r *Comparison) note(undefined string, n int) {
	if undefined != "" {
		r.Warnings = append(r.Warnings, "no test: "+undefined)
	}
	if n < stats.FewClusters {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d pairs: fewer than %d show only large differences", n, stats.FewClusters))
	}
}

// adjust corrects for the number of questions the study asks: the primary
// comparisons on the primary metrics, over all items.
func adjust(a *Analysis, q Question) {
	var family []int
	var p []float64
	for i, c := range a.Comparisons {
		if c.Primary && c.Stratum == nil && slices.Contains(q.Primary, c.Metric) {
			family = append(family, i)
			p = append(p, float64(c.P))
		}
	}
	switch q.Study.Correction {
	case "bonferroni":
		p = stats.Bonferroni(p)
	case "holm":
		p = stats.Holm(p)
	}
	for k, i := range family {
		if !math.IsNaN(p[k]) {
			a.Comparisons[i].PAdjusted = Number(p[k])
		}
	}
}

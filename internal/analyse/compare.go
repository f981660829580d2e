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
			ia, okA := c.armIdx[p.A]
			ib, okB := c.armIdx[p.B]
			m, okM := c.metric[metric]
			if !okA || !okB || !okM {
				return fmt.Errorf("analyse: comparing %s with %s by %s: not all of them are in the study", p.A, p.B, metric)
			}
			match := contest{metric: m, a: c.values(&c.a, ia, m), b: c.values(&c.b, ib, m)}
			for _, s := range selections {
				if s.stratum != nil && k > 0 {
					continue
				}
				r, err := c.compare(p, match, s, level)
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

// A contest is two arms' values of a metric by item.
type contest struct {
	metric int
	a, b   []cell
}

// compare is one pair on one metric. Where an item counts once it is a paired
// t-test over items, the planned test; where items come in clusters, what the
// clusters make of it stands beside it. Where opportunities are pooled it is
// the linearised difference of ratios.
func (c *Collector) compare(p Pair, k contest, s selection, level float64) (Comparison, error) {
	metric := c.suite.Metrics[k.metric]
	undefined := Undefined()
	r := Comparison{A: p.A, B: p.B, Metric: metric.Name, Primary: p.Primary, Stratum: s.stratum, MeanA: undefined, MeanB: undefined, Diff: undefined,
		Low: undefined, High: undefined, T: undefined, DF: undefined, P: undefined, PAdjusted: undefined, D: undefined}
	var both []int
	var xs, ys []float64
	for _, i := range s.items {
		x, y := k.a[i], k.b[i]
		switch {
		case x.den > 0 && y.den > 0:
			both = append(both, i)
			xs, ys = append(xs, x.num/x.den), append(ys, y.num/y.den)
			r.count(x.num/x.den, y.num/y.den, metric.HigherIsBetter)
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
	numA, denA := c.clusters.sum(&c.sumA, both, func(i int) cell { return c.fraction(k.metric, k.a[i]) })
	numB, denB := c.clusters.sum(&c.sumB, both, func(i int) cell { return c.fraction(k.metric, k.b[i]) })
	clustered, err := stats.RatioDifference(numA, denA, numB, denB, level)
	if err != nil {
		return r, fmt.Errorf("comparing %s with %s by %s: %w", r.A, r.B, r.Metric, err)
	}
	if metric.Pooling == eval.RatioOfSums {
		r.ratios(clustered)
		return r, nil
	}
	if err := r.pairedT(xs, ys, level); err != nil {
		return r, err
	}
	if clustered.Clusters < r.Pairs && clustered.Undefined == "" {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the %d items come in %d clusters; respecting that, the interval is %.3f to %.3f and p = %.2g",
			r.Pairs, clustered.Clusters, clustered.CI.Low, clustered.CI.High, clustered.P))
	}
	return r, nil
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

func (r *Comparison) ratios(d stats.RatioDiff) {
	r.Method = "paired difference of ratios, cluster-robust"
	r.MeanA, r.MeanB, r.Diff = Number(d.A), Number(d.B), Number(d.Diff)
	r.Low, r.High, r.T, r.DF, r.P = Number(d.CI.Low), Number(d.CI.High), Number(d.T), Number(d.DF), Number(d.P)
	r.note(d.Undefined, d.Clusters)
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

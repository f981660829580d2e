package analyse

import (
	"fmt"
	"math"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
	"github.com/scruple-eval/scruple/stats"
)

// comparisons compares each pair on each of its metrics over all items, and on
// the first metric by stratum. Then it corrects the p-values of the primary
// family.
func (c *Collector) comparisons(a *Analysis, q Question, selections []selection, level float64) error {
	contests, err := c.contests(a, q)
	if err != nil {
		return err
	}
	t := tester{q: q, level: level, fits: map[int]*fit{}}
	if q.Study.Method == "mixed_effects" {
		for metric := range c.suite.Metrics {
			if arms := compared(a.Arms, contests, metric); len(arms) > 0 && c.suite.Metrics[metric].Pooling == eval.MeanOfItems {
				f, model := c.fitMixed(q, metric, arms, level)
				t.fits[metric] = f
				a.Models = append(a.Models, model)
			}
		}
	}
	for _, k := range contests {
		k.a, k.b = c.values(&c.a, c.armIdx[k.pair.A], k.metric), c.values(&c.b, c.armIdx[k.pair.B], k.metric)
		for _, s := range selections {
			if s.stratum != nil && (!k.first || k.pair.Contrast) {
				continue
			}
			r, err := c.compare(k, s, t)
			if err != nil {
				return fmt.Errorf("comparing %s with %s by %s: %w", k.pair.A, k.pair.B, c.suite.Metrics[k.metric].Name, err)
			}
			if s.stratum == nil || r.Pairs > 0 {
				a.Comparisons = append(a.Comparisons, r)
			}
		}
	}
	return adjust(a, q)
}

// A contest is a pair on one metric, with both arms' values by item.
type contest struct {
	pair   Pair
	metric int
	first  bool // the pair's first metric, which is also compared by stratum
	a, b   []cell
}

// contests lists the pairs and metrics to compare.
func (c *Collector) contests(a *Analysis, q Question) ([]contest, error) {
	var reported []string
	for _, m := range a.Metrics {
		if m.Rank != "other" && m.Kind == eval.Scoring {
			reported = append(reported, m.Name)
		}
	}
	var list []contest
	for _, p := range q.Comparisons {
		metrics := p.Metrics
		if len(metrics) == 0 {
			metrics = reported
		}
		for k, metric := range metrics {
			_, okA := c.armIdx[p.A]
			_, okB := c.armIdx[p.B]
			m, okM := c.metric[metric]
			if !okA || !okB || !okM {
				return nil, fmt.Errorf("analyse: comparing %s with %s by %s: the study lacks an arm or the metric", p.A, p.B, metric)
			}
			list = append(list, contest{pair: p, metric: m, first: k == 0})
		}
	}
	return list, nil
}

// compared lists the arms compared on a metric, in the study's order.
func compared(arms []Arm, contests []contest, metric int) []string {
	var list []string
	for _, arm := range arms {
		if slices.ContainsFunc(contests, func(k contest) bool {
			return k.metric == metric && (k.pair.A == arm.ID || k.pair.B == arm.ID)
		}) {
			list = append(list, arm.ID)
		}
	}
	return list
}

// compare compares one pair on one metric. For a mean of items it is the planned
// test over items; if that test ignores clusters of items, a warning gives the
// cluster-robust result. For a ratio of sums it is the linearised difference of
// ratios.
func (c *Collector) compare(k contest, s selection, t tester) (Comparison, error) {
	metric := c.suite.Metrics[k.metric]
	r := newComparison(k.pair, metric.Name, s.stratum)
	if metric.Estimate != nil {
		err := c.compareRows(&r, k, s, t)
		return r, err
	}
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
		left := "left out"
		if t.fits[k.metric] != nil && s.stratum == nil {
			left = "counted only in the mixed model"
		}
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s with a value for only one arm %s", text.Plural(r.Unpaired, "item", "items"), left))
	}
	if r.Pairs == 0 {
		r.Warnings = append(r.Warnings, "no item has a value for both arms")
		return r, nil
	}
	m := matched{xs: xs, ys: ys}
	m.numA, m.denA = c.clusters.sum(&c.sumA, both, func(i int) cell { return c.fraction(k.metric, k.a[i]) })
	m.numB, m.denB = c.clusters.sum(&c.sumB, both, func(i int) cell { return c.fraction(k.metric, k.b[i]) })
	if err := t.test(&r, m, k.metric, metric, s.stratum == nil); err != nil {
		return r, err
	}
	r.within(metric.Max - metric.Min)
	return r, nil
}

// within clips the interval to the possible range of a difference, as intervals
// of estimates are clipped to the range of the metric. NaN stays NaN.
func (r *Comparison) within(most float64) {
	if !(most > 0) || math.IsInf(most, 0) {
		return
	}
	for _, end := range []*Number{&r.Low, &r.High} {
		if end.Defined() {
			*end = Number(max(-most, min(most, float64(*end))))
		}
	}
}

func newComparison(p Pair, metric string, stratum *eval.Level) Comparison {
	u := Undefined()
	return Comparison{A: p.A, B: p.B, Metric: metric, Primary: p.Primary, Contrast: p.Contrast, Stratum: stratum, MeanA: u, MeanB: u, Diff: u,
		Low: u, High: u, T: u, DF: u, P: u, PAdjusted: u, D: u, DLow: u, DHigh: u, EquivLow: u, EquivHigh: u}
}

// count adds an item to wins, ties or losses.
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

// adjust corrects the p-values of the primary comparisons on the primary metrics
// over all items for their number.
func adjust(a *Analysis, q Question) error {
	var family []int
	var p []float64
	for i, c := range a.Comparisons {
		if c.Primary && c.Stratum == nil && slices.Contains(q.Primary, c.Metric) {
			family = append(family, i)
			p = append(p, float64(c.P))
		}
	}
	p, err := stats.Adjust(q.Study.Correction, p)
	if err != nil {
		return err
	}
	for k, i := range family {
		if !math.IsNaN(p[k]) {
			a.Comparisons[i].PAdjusted = Number(p[k])
		}
	}
	return nil
}

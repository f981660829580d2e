package analyse

import (
	"fmt"
	"maps"
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
	t := tester{q: q, level: level, fits: map[int]*fit{}, family: 1}
	if q.Study.Method == "mixed_effects" && !q.Run.Exploratory() {
		for metric := range c.suite.Metrics {
			if arms := compared(a.Arms, contests, metric); len(arms) > 0 && c.suite.Metrics[metric].Pooling == eval.MeanOfItems {
				f, model := c.fitMixed(q, metric, arms, level)
				t.fits[metric] = f
				a.Models = append(a.Models, model)
			}
		}
	}
	// The level of the family's intervals depends on its p-values: they come first.
	draft := t
	draft.draft = true
	family := map[int]contest{} // by index of the comparison
	for _, k := range contests {
		k.a, k.b = c.values(&c.a, c.armIdx[k.pair.A], k.metric), c.values(&c.b, c.armIdx[k.pair.B], k.metric)
		for _, s := range selections {
			if s.stratum != nil && (!k.first || k.pair.Contrast) {
				continue
			}
			with := t
			if s.stratum == nil && k.pair.Primary && slices.Contains(q.Primary, c.suite.Metrics[k.metric].Name) {
				family[len(a.Comparisons)] = k
				with = draft
			}
			r, err := c.compare(k, s, with)
			if err != nil {
				return err
			}
			if s.stratum == nil || r.Pairs > 0 {
				a.Comparisons = append(a.Comparisons, r)
			}
		}
	}
	if q.Run.Exploratory() {
		return nil
	}
	return adjust(a, q, slices.Sorted(maps.Keys(family)), func(index int, level float64) (Comparison, error) {
		k := family[index]
		k.a, k.b = c.values(&c.a, c.armIdx[k.pair.A], k.metric), c.values(&c.b, c.armIdx[k.pair.B], k.metric)
		final := t
		final.level, final.family = level, len(family)
		return c.compare(k, selections[0], final)
	})
}

// markLate marks the comparisons with an arm that was not planned before results had
// been shown.
func markLate(comparisons []Comparison, late, rejudged []string) {
	for i := range comparisons {
		r := &comparisons[i]
		mark := func(arms []string, what string) {
			for _, arm := range []string{r.A, r.B} {
				if r.Late == "" && slices.Contains(arms, arm) {
					r.Late = arm
					r.Warnings = append(r.Warnings, fmt.Sprintf(what, arm)+" after results had been shown: the comparison is exploratory, it was not planned")
				}
			}
		}
		mark(late, "%s was added or changed")
		mark(rejudged, "the judge of %s was changed")
	}
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

// noise bounds the rounding error of the score of an item, which sums the scores of its
// units: equal scores that were added up in another order are a tie.
const noise = 1e-12

// compare compares one pair on one metric.
func (c *Collector) compare(k contest, s selection, t tester) (Comparison, error) {
	metric := c.suite.Metrics[k.metric]
	r := newComparison(k.pair, metric.Name, s.stratum)
	if metric.Estimate != nil {
		return r, k.failed(metric, c.compareRows(&r, k, s, t))
	}
	var both []int
	var xs, ys []float64
	var clusters []int32
	for _, i := range s.items {
		x, y := k.a[i], k.b[i]
		switch {
		case x.den > 0 && y.den > 0:
			both = append(both, i)
			a, b := x.num/x.den, y.num/y.den
			if math.Abs(a-b) < noise {
				b = a
			}
			xs, ys, clusters = append(xs, a), append(ys, b), append(clusters, c.clusters.of[i])
			r.count(a, b, metric.HigherIsBetter)
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
	m := matched{xs: xs, ys: ys, cluster: clusters}
	m.numA, m.denA = c.clusters.sum(&c.sumA, both, func(i int) cell { return c.fraction(k.metric, k.a[i]) })
	m.numB, m.denB = c.clusters.sum(&c.sumB, both, func(i int) cell { return c.fraction(k.metric, k.b[i]) })
	if t.q.Run.Exploratory() {
		return r, k.failed(metric, r.describe(m, &metric))
	}
	if err := t.test(&r, m, k, &metric); err != nil {
		return r, k.failed(metric, err)
	}
	r.within(metric.Max - metric.Min)
	return r, nil
}

// failed adds what was compared to an error.
func (k contest) failed(metric eval.Metric, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("comparing %s with %s by %s: %w", k.pair.A, k.pair.B, metric.Name, err)
}

// within clips the intervals to the possible range of a difference, as intervals
// of estimates are clipped to the range of the metric. NaN stays NaN, and so does
// an interval without bounds, which too few clusters have.
func (r *Comparison) within(most float64) {
	if !(most > 0) {
		return
	}
	ends := []*Number{&r.Low, &r.High, &r.EquivLow, &r.EquivHigh}
	var others []*Reading
	if r.Planned != nil {
		others = append(others, r.Planned)
	}
	if r.Reach != nil {
		others = append(others, &r.Reach.BestA, &r.Reach.WorstA, &r.Reach.BestB, &r.Reach.WorstB, &r.Reach.Same)
	}
	for _, p := range others {
		ends = append(ends, &p.Low, &p.High, &p.EquivLow, &p.EquivHigh)
	}
	for _, end := range ends {
		if math.IsNaN(float64(*end)) {
			continue
		}
		if *end = Number(max(-most, min(most, float64(*end)))); math.IsInf(float64(*end), 0) {
			*end = Undefined()
		}
	}
}

func newComparison(p Pair, metric string, stratum *eval.Level) Comparison {
	u := Undefined()
	return Comparison{A: p.A, B: p.B, Metric: metric, Primary: p.Primary, Contrast: p.Contrast, Stratum: stratum, MeanA: u, MeanB: u, Diff: u,
		Low: u, High: u, Level: u, T: u, DF: u, P: u, PAdjusted: u, D: u, DLow: u, DHigh: u, EquivLow: u, EquivHigh: u}
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

// adjust corrects the results of the primary family, the primary comparisons on
// the primary metrics over all items, for their number: p-values, and intervals that
// cover all differences at once, which again computes at their level.
func adjust(a *Analysis, q Question, family []int, again func(index int, level float64) (Comparison, error)) error {
	var p, planned []float64
	for _, i := range family {
		p, planned = append(p, float64(a.Comparisons[i].P)), append(planned, float64(a.Comparisons[i].AsPlanned().P))
	}
	level, err := simultaneous(q.Study.Correction, q.Study.Alpha, p)
	if err != nil {
		return err
	}
	if p, err = corrected(q.Study.Correction, p); err != nil {
		return err
	}
	if planned, err = corrected(q.Study.Correction, planned); err != nil {
		return err
	}
	for k, i := range family {
		c, err := again(i, level)
		if err != nil {
			return err
		}
		c.PAdjusted = Number(p[k])
		if c.Planned != nil {
			c.Planned.PAdjusted = Number(planned[k])
		}
		a.Comparisons[i] = c
	}
	return nil
}

// corrected adjusts p-values. An undefined one stays so, and counts as 1: a family is
// no smaller because a test of it could not be made.
func corrected(correction string, p []float64) ([]float64, error) {
	filled := slices.Clone(p)
	for i, x := range p {
		if math.IsNaN(x) {
			filled[i] = 1
		}
	}
	adjusted, err := stats.Adjust(correction, filled)
	for i, x := range p {
		if err == nil && math.IsNaN(x) {
			adjusted[i] = x
		}
	}
	return adjusted, err
}

// simultaneous returns the level of each interval of a family. For corrections of
// the family-wise error it is Bonferroni's, 1 − α/m: intervals that belong to the
// step-wise tests say no more than that about a rejected difference (Strassburger &
// Bretz 2008). For corrections of the false discovery rate it is that of R selected
// of m, 1 − αR/m (Benjamini & Yekutieli 2005).
func simultaneous(correction string, alpha float64, p []float64) (float64, error) {
	m := len(p)
	share := 1.0
	switch {
	case m < 2 || correction == "" || correction == "none":
	case correction == "bh" || correction == "by":
		adjusted, err := corrected(correction, p)
		if err != nil {
			return 0, err
		}
		selected := 0
		for _, x := range adjusted {
			if x < alpha {
				selected++
			}
		}
		share = float64(max(1, selected)) / float64(m)
		if correction == "by" {
			var harmonic float64
			for i := 1; i <= m; i++ {
				harmonic += 1 / float64(i)
			}
			share /= harmonic
		}
	default:
		share = 1 / float64(m)
	}
	if share == 1 {
		return 1 - alpha, nil
	}
	return 1 - alpha*share, nil
}

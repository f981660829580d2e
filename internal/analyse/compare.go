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
// families.
func (c *Collector) comparisons(a *Analysis, q Question, selections []selection) error {
	contests, err := c.contests(a, q)
	if err != nil {
		return err
	}
	t := tester{q: q, level: q.level(), fits: map[int]*fit{}}
	if q.Study.Method == "mixed_effects" && !q.Run.Exploratory() {
		for metric := range c.suite.Metrics {
			if arms := compared(a.Arms, contests, metric); len(arms) > 0 && c.suite.Metrics[metric].Pooling == eval.MeanOfItems {
				f, model := c.fitMixed(q, metric, arms)
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
		k.a, k.b = c.scoresOf(&c.a, k.pair.A, k.metric), c.scoresOf(&c.b, k.pair.B, k.metric)
		for _, s := range selections {
			if s.stratum != nil && (!k.first || k.pair.Contrast) {
				continue
			}
			with := t
			if s.stratum == nil && !q.Run.Exploratory() && q.Corrected(k.pair, c.suite.Metrics[k.metric].Name) {
				family[len(a.Comparisons)] = k
				with = draft
			}
			r, err := c.compareWithBounds(k, s, with)
			if err != nil {
				return err
			}
			if s.stratum == nil || r.Pairs > 0 || r.Least != nil && r.Least.Pairs > 0 {
				a.Comparisons = append(a.Comparisons, r)
			}
		}
	}
	families := map[string][]int{}
	for _, i := range slices.Sorted(maps.Keys(family)) {
		families[family[i].pair.Family] = append(families[family[i].pair.Family], i)
	}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		a.Study.Family.Tests = max(a.Study.Family.Tests, len(families[name]))
		err := adjust(a, q, families[name], func(index int, level float64) (Comparison, error) {
			k := family[index]
			k.a, k.b = c.scoresOf(&c.a, k.pair.A, k.metric), c.scoresOf(&c.b, k.pair.B, k.metric)
			final := t
			final.level = level
			return c.compareWithBounds(k, selections[0], final)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// NotPlanned is the warning of a comparison that is late, or of a late arm; the history of the run
// names them.
const NotPlanned = "exploratory: it was not planned before results had been shown"

// markLate marks the comparisons that were added after results had been shown, those with an arm
// that was added or changed then, or its judge, and those of items that were grouped otherwise.
func markLate(comparisons []Comparison, q Question) {
	late := slices.Concat(q.Late, q.Rejudged)
	for i := range comparisons {
		r := &comparisons[i]
		for _, arm := range []string{r.A, r.B} {
			if r.Late == "" && slices.Contains(late, arm) {
				r.Late = arm
				r.Warnings = append(r.Warnings, NotPlanned)
			}
		}
		if r.Late == "" && (q.Regrouped || q.Restratified && r.Stratum != nil || slices.Contains(q.Unplanned, [3]string{r.A, r.B, r.Metric})) {
			r.Warnings = append(r.Warnings, NotPlanned)
		}
	}
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
			list = append(list, contest{pair: p, metric: m, first: p.Strata == nil && k == 0 || slices.Contains(p.Strata, metric)})
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

// compare compares one pair on one metric.
func (c *Collector) compare(k contest, s selection, t tester) (Comparison, error) {
	metric := c.suite.Metrics[k.metric]
	p, u := k.pair, Undefined()
	r := Comparison{A: p.A, B: p.B, Metric: metric.Name, Primary: p.Primary, Family: p.Family, Contrast: p.Contrast, Stratum: s.stratum,
		MeanA: u, MeanB: u, Reading: Untested(u, ""), Level: u, T: u, DF: u, Effect: Effect{u, u, u}}
	how := c.compareFractions
	if metric.Estimate != nil {
		how = c.compareRows
	}
	if err := how(&r, k, s, t); err != nil {
		return r, fmt.Errorf("comparing %s with %s by %s: %w", p.A, p.B, metric.Name, err)
	}
	r.clip(metric.Max - metric.Min)
	return r, nil
}

func (c *Collector) compareFractions(r *Comparison, k contest, s selection, t tester) error {
	metric := &c.suite.Metrics[k.metric]
	m, both := c.match(r, k, s)
	r.Pairs = len(m.xs)
	left := "left out"
	if t.fits[k.metric] != nil && s.stratum == nil {
		left = "counted only in the mixed model"
	}
	if !r.paired(left) {
		return nil
	}
	m.parts = partsOf(t.q.Run.Replicates)
	m.numA, m.denA = c.clusters.sum(&c.sumA, both, k.a.fraction)
	m.numB, m.denB = c.clusters.sum(&c.sumB, both, k.b.fraction)
	var err error
	if t.q.Run.Exploratory() {
		err = r.describe(m, metric)
	} else {
		err = t.test(r, m, k, metric)
	}
	if err != nil {
		return err
	}
	return c.differenceByPeople(r, k, selection{s.stratum, both}, t)
}

// match pairs the scores of the items that both arms have, counts wins, losses and items of one arm,
// and returns the items that the difference is over.
func (c *Collector) match(r *Comparison, k contest, s selection) (m matched, both []int) {
	metric := &c.suite.Metrics[k.metric]
	for _, i := range s.items {
		x, y := k.a.values[i], k.b.values[i]
		a, b := x.num/x.den, y.num/y.den
		switch {
		case !(x.den > 0 || y.den > 0):
			continue
		case x.den > 0 && y.den > 0:
			if math.Abs(a-b) < noise {
				b = a
			}
			r.count(a, b, metric.HigherIsBetter)
		case metric.Pooling == eval.RatioOfSums && (x.answered || x.den > 0) && (y.answered || y.den > 0):
			// One has nothing to count, 0/0: in pooled values the other's counts all the same.
		default:
			r.Unpaired++
			continue
		}
		both = append(both, i)
		m.xs, m.ys, m.cluster = append(m.xs, a), append(m.ys, b), append(m.cluster, c.clusters.of[i])
	}
	return m, both
}

// paired reports whether there are pairs, and warns of items that only one arm has.
func (r *Comparison) paired(left string) bool {
	if r.Unpaired > 0 {
		r.warn(fmt.Sprintf("%s with a value for only one arm %s", text.Plural(r.Unpaired, "item", "items"), left))
	}
	if r.Pairs == 0 {
		r.warn("no item has a value for both arms")
	}
	return r.Pairs > 0
}

// clip clips the intervals to the possible range of a difference, as intervals
// of estimates are clipped to the range of the metric.
func (r *Comparison) clip(most float64) {
	readings := []*Reading{&r.Reading}
	for i := range r.Beside {
		readings = append(readings, &r.Beside[i])
	}
	for _, p := range readings {
		for _, end := range []*Number{&p.Low, &p.High, &p.EquivLow, &p.EquivHigh} {
			*end = clipped(*end, most)
		}
	}
}

// clipped is the end of an interval in the possible range of a difference. NaN stays NaN, and so
// does an interval without bounds, which too few clusters have.
func clipped(end Number, most float64) Number {
	if !(most > 0) {
		return end
	}
	if end = max(Number(-most), min(Number(most), end)); math.IsInf(float64(end), 0) {
		return Undefined()
	}
	return end
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

// adjust corrects the results of the family for their number: p-values, and intervals
// that exclude 0 where these are significant, which again computes at their level. A step-wise
// correction spends what a comparison leaves to the others, so the levels follow from what rules
// ask: the p-value of a comparison counts as that of the limit, or of 0, which is the hardest to
// exclude. What is excluded at its level then holds of all of the family together (Holm 1979,
// Scandinavian Journal of Statistics 6). Each is corrected by what is known of the others whatever
// their missing scores are. Those that go the other way count as 1, and so do ties, which go no way: that an arm is worse than a third spares it nothing where it is better, so
// that a worse arm has no easier tests. This claims no more than the correction of all of them.
func adjust(a *Analysis, q Question, family []int, again func(index int, level float64) (Comparison, error)) error {
	var doubts []float64
	for _, i := range family {
		doubts = append(doubts, a.Comparisons[i].doubt())
	}
	better := func(c *Comparison) bool {
		m, _ := a.Metric(c.Metric)
		return (c.Diff > 0) == m.HigherIsBetter
	}
	beside := func(k int, c *Comparison) []float64 {
		p := slices.Clone(doubts)
		for j, i := range family {
			other := &a.Comparisons[i]
			turned := other.A == c.B || other.B == c.A
			if tie := c.Diff == 0 || other.Diff == 0; tie || (better(other) == better(c)) == turned {
				p[j] = 1
			}
		}
		p[k] = float64(c.P)
		return p
	}
	for k, i := range family {
		p := beside(k, &a.Comparisons[i])
		p[k] = max(p[k], a.Comparisons[i].beyond)
		level := correctedLevel(q.Study.Correction, q.Study.Alpha, p, k)
		c, err := again(i, level)
		if err != nil {
			return err
		}
		for _, at := range []*Comparison{&c, c.Least, c.Most} {
			if at == nil {
				continue
			}
			adjusted, err := corrected(q.Study.Correction, beside(k, at))
			if err != nil {
				return err
			}
			at.PAdjusted = Number(adjusted[k])
			if p[k] > float64(a.Comparisons[i].P) { // significant only where the interval excludes 0
				at.PAdjusted = Number(max(adjusted[k], min(1, float64(at.P)*q.Study.Alpha/(1-level))))
			}
		}
		a.Comparisons[i] = c
	}
	return nil
}

// doubt is the p-value of a comparison whatever its missing scores are: 1 if they could turn
// it or it is not known.
func (c *Comparison) doubt() float64 {
	p := max(float64(c.P), c.beyond)
	for _, bound := range []*Comparison{c.Least, c.Most} {
		if bound == nil {
			continue
		}
		if p = max(p, float64(bound.P), bound.beyond); (bound.Diff > 0) != (c.Diff > 0) {
			p = 1
		}
	}
	if math.IsNaN(p) || c.JudgesDiffer != "" || c.PricesDiffer != "" { // there is no verdict on it
		return 1
	}
	return p
}

// corrected adjusts p-values. An undefined one stays so, and counts as 1: a family is
// no smaller because a test of it could not be made.
func corrected(correction string, p []float64) ([]float64, error) {
	adjusted, err := stats.Adjust(correction, undefinedAs1(p))
	for i, x := range p {
		if err == nil && math.IsNaN(x) {
			adjusted[i] = x
		}
	}
	return adjusted, err
}

// undefinedAs1 has 1 for p-values that are undefined.
func undefinedAs1(p []float64) []float64 {
	filled := slices.Clone(p)
	for i, x := range p {
		if math.IsNaN(x) {
			filled[i] = 1
		}
	}
	return filled
}

// correctedLevel returns the level of the interval of one comparison of a family: that at which
// the correction tests it, so interval and corrected p-value agree about 0. Step-wise
// tests are Holm's at α/(m − i + 1) for the i-th smallest of m p-values up to the first
// that is not significant, which sets the level of the rest. Hochberg's are at the level of the
// largest that is significant, and of the next one for the rest. For corrections of the false
// discovery rate it is that of R selected of m, 1 − αR/m (Benjamini & Yekutieli 2005).
func correctedLevel(correction string, alpha float64, p []float64, of int) float64 {
	m, filled := len(p), undefinedAs1(p)
	sorted := slices.Sorted(slices.Values(filled))
	rank := 1 + slices.Index(sorted, filled[of])
	step := func(i int) float64 { return alpha / float64(m-i+1) }
	last := func(share func(i int) float64) (i int) { // of a step-up test, the largest that is significant
		for i = m; i > 0 && !(sorted[i-1] < share(i)); i-- {
		}
		return i
	}
	share := alpha
	switch correction {
	case "", "none":
	case "holm":
		i := 1
		for i < rank && sorted[i-1] < step(i) {
			i++
		}
		share = step(i)
	case "hochberg":
		rejected := last(step)
		if share = step(rejected); rank > rejected {
			share = step(rejected + 1)
		}
	case "bh", "by":
		scale := 1.0
		if correction == "by" {
			scale = 0
			for i := 1; i <= m; i++ {
				scale += 1 / float64(i)
			}
		}
		selected := func(i int) float64 { return alpha * float64(i) / float64(m) / scale }
		share = selected(max(1, last(selected)))
	default:
		share = alpha / float64(m)
	}
	return 1 - share
}

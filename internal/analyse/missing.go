package analyse

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
	"github.com/scruple-eval/scruple/stats"
)

// missing returns how many opportunities of an arm and metric have no score, by index of
// item: those of unscored entries and of failed trials. It is nil if none is missing. What
// is missing has as many opportunities as other answers to the item.
func (c *Collector) missing(arm, metric int) []float64 {
	col := &c.columns[arm][metric]
	if !col.used {
		return nil
	}
	var list, expected []float64
	add := func(item int, lost, answers float64) {
		if lost+answers == 0 {
			return
		}
		if list == nil {
			list, expected = make([]float64, len(c.items)), c.expected(metric)
		}
		list[item] += lost + answers*expected[item]
	}
	c.each(col, func(item int, v cell) { add(item, v.lost, v.vague) })
	c.each(&c.trials[arm], func(item int, trials cell) { add(item, 0, col.failed(trials)) })
	return list
}

// failed counts the scores that an item lacks because its trials failed. A score of the
// case is that of the other replicates, if one has an answer.
func (c *column) failed(trials cell) float64 {
	switch {
	case !c.perCase:
		return trials.num
	case trials.num > 0 && trials.den == 0:
		return 1
	}
	return 0
}

// expected returns the mean number of opportunities of an answer, by index of item: over
// all arms, and over all items where no arm has an answer, or none says anything that counts. It
// is 1 of an estimator.
func (c *Collector) expected(metric int) []float64 {
	sum, answers := make([]float64, len(c.items)), make([]float64, len(c.items))
	for arm := range c.arms {
		col := &c.columns[arm][metric]
		if !col.used {
			continue
		}
		c.each(col, func(item int, v cell) {
			sum[item] += v.den + v.lost
			answers[item] -= v.vague
		})
		c.each(&c.trials[arm], func(item int, trials cell) {
			if col.perCase {
				trials.den = min(trials.den, 1)
			}
			answers[item] += trials.den
		})
	}
	m, mean, n := &c.suite.Metrics[metric], 0.0, 0.0
	for item := range sum {
		if answers[item] > 0 {
			sum[item] /= answers[item]
			mean, n = mean+sum[item], n+1
		}
	}
	if mean /= n; !(mean > 0) || m.Estimate != nil {
		mean = 1
	}
	for item := range sum {
		if !(answers[item] > 0) || m.Emits && sum[item] == 0 || m.Estimate != nil {
			sum[item] = mean
		}
		if m.Binary {
			sum[item] = math.Ceil(sum[item])
		}
	}
	return sum
}

// filled returns the values with one score in place of all that are missing.
func (x armScores) filled(score float64) []cell {
	list := slices.Clone(x.values)
	for i, n := range x.missing {
		list[i] = cell{num: list[i].num + n*score, den: list[i].den + n, answered: list[i].answered || n > 0}
	}
	return list
}

// span returns the lowest and the highest score that an opportunity can have: those of the
// metric, or of any item of the study where the metric has no bound.
func (c *Collector) span(metric int) (low, high float64) {
	m := &c.suite.Metrics[metric]
	low, high = math.Inf(1), math.Inf(-1)
	for arm := range c.arms {
		c.each(&c.columns[arm][metric], func(_ int, v cell) {
			if v.den > 0 {
				low, high = min(low, v.num/v.den), max(high, v.num/v.den)
			}
		})
	}
	if !math.IsInf(m.Min, 0) {
		low = m.Min
	}
	if !math.IsInf(m.Max, 0) {
		high = m.Max
	}
	return low, high
}

// addUnscored adds to an estimate over all items what has no score.
func (c *Collector) addUnscored(e *Estimate, x armScores) {
	if x.missing == nil {
		return
	}
	col, m := &c.columns[x.arm][x.metric], &c.suite.Metrics[x.metric]
	reasons := map[string]int{}
	maps.Copy(reasons, col.unscored)
	c.each(&c.trials[x.arm], func(item int, trials cell) {
		if n := int(col.failed(trials)); n > 0 && x.missing[item] > 0 {
			reasons[ofFailed] += n
		}
	})
	e.Reasons = counts(reasons)
	for _, r := range e.Reasons {
		e.Unscored += r.N
	}
	all := c.values(&c.b, x.arm, x.metric)
	if m.Estimate != nil {
		for _, item := range c.rows[x.arm][x.metric].of {
			all[item].den++
		}
	}
	gone, of := 0.0, 0.0
	for i, n := range x.missing {
		if all[i].den+n == 0 {
			continue
		}
		if m.Pooling == eval.MeanOfItems {
			gone, of = gone+n/(all[i].den+n), of+1
		} else {
			gone, of = gone+n, of+all[i].den+n
		}
	}
	if of > 0 {
		e.UnscoredShare = Number(gone / of)
	}
}

// lacks reports whether one of the items has missing scores.
func (x armScores) lacks(s selection) bool {
	return x.missing != nil && slices.ContainsFunc(s.items, func(i int) bool { return x.missing[i] > 0 })
}

// rowsBounded reports whether items lack rows, all of which have a lowest and a highest form:
// those of failed trials have not.
func (c *Collector) rowsBounded(x armScores, s selection) bool {
	bounded := x.lacks(s) && !c.rows[x.arm][x.metric].unbounded
	c.each(&c.trials[x.arm], func(_ int, trials cell) {
		bounded = bounded && c.columns[x.arm][x.metric].failed(trials) == 0
	})
	return bounded
}

// addBounds adds to an estimate what it would be if every missing score were the lowest, or
// the highest. A metric with an estimator has no such scores.
func (c *Collector) addBounds(e *Estimate, x armScores, s selection, level float64) error {
	if !x.lacks(s) {
		return nil
	}
	low, high := c.span(x.metric)
	if low > high {
		return nil // no score of any arm, of a metric without bounds
	}
	return e.bound(func(at end) (Bounds, error) {
		r, ci, _, err := c.pooled(x.metric, s, x.filled(map[end]float64{least: low, most: high}[at]), level)
		return Bounds{Number(r.Value), Number(ci.Low), Number(ci.High)}, err
	})
}

// bound adds what an estimate would be at either end of the missing scores.
func (e *Estimate) bound(at func(end) (Bounds, error)) error {
	low, err := at(least)
	if err != nil {
		return err
	}
	high, err := at(most)
	e.Least, e.Most = &low, &high
	return err
}

// unscoredWarnings says of the metrics that rules can read what is missing besides failed
// trials, of which the arms have warnings. Metrics of an arm that lack the same are one warning.
func (a *Analysis) unscoredWarnings() (list []string) {
	type lack struct{ arm, why, share string }
	var order []lack
	metrics := map[lack][]string{}
	for _, e := range a.Estimates {
		n, why := e.Unjudged(), ""
		for _, r := range e.Reasons {
			if why == "" && r.Name != ofFailed {
				why = r.Name
			}
		}
		if m, _ := a.Metric(e.Metric); e.Stratum == nil && n > 0 && m.Kind != eval.Analysis {
			of := "" // the share is of all
			if n < e.Unscored {
				of = fmt.Sprintf(", %d of them of failed trials", e.Unscored-n)
			}
			key := lack{e.Arm, why, fmt.Sprintf("%s without a score%s (%.1f %%)", text.Plural(e.Unscored, "entry", "entries"), of, 100*e.UnscoredShare)}
			if metrics[key] == nil {
				order = append(order, key)
			}
			metrics[key] = append(metrics[key], e.Metric)
		}
	}
	for _, k := range order {
		list = append(list, fmt.Sprintf("%s of %s: %s, left out of the estimate%s: %s", strings.Join(metrics[k], ", "), k.arm, k.share, map[bool]string{true: " of each"}[len(metrics[k]) > 1], k.why))
	}
	return list
}

// compareWithBounds compares a pair, and says what it would be if every missing score of the first arm were
// the lowest and those of the other the highest, and the other way round. A mixed model
// is not fitted again: the planned test of the two arms stands for it, but not with clusters, which
// the model weights in another way.
func (c *Collector) compareWithBounds(k contest, s selection, t tester) (r Comparison, err error) {
	if r, err = c.compare(k, s, t); err != nil || t.q.Run.OnDev() {
		return r, err
	}
	a, b := c.scoresOf(k.pair.A, k.metric, k.a), c.scoresOf(k.pair.B, k.metric, k.b)
	if !a.lacks(s) && !b.lacks(s) || t.fits[k.metric] != nil && r.Stratum == nil && r.Clusters < r.Pairs {
		return r, nil
	}
	atLeast, atMost := k, k
	if c.suite.Metrics[k.metric].Estimate == nil {
		low, high := c.span(k.metric)
		if low > high {
			return r, nil
		}
		atLeast.a, atLeast.b = a.filled(low), b.filled(high)
		atMost.a, atMost.b = a.filled(high), b.filled(low)
	} else {
		if a.lacks(s) && !c.rowsBounded(a, s) || b.lacks(s) && !c.rowsBounded(b, s) {
			return r, nil
		}
		atLeast.atA, atLeast.atB, atMost.atA, atMost.atB = least, most, most, least
	}
	ends := t
	ends.fits, ends.q.NoEffect = nil, true
	for _, x := range []struct {
		with contest
		into **Comparison
	}{{atLeast, &r.Least}, {atMost, &r.Most}} {
		bound, err := c.compare(x.with, s, ends)
		if err != nil {
			return r, err
		}
		bound.Warnings, bound.Beside, bound.Least, bound.Most = nil, nil, nil, nil
		*x.into = &bound
	}
	if !r.Least.D.Defined() || !r.Most.D.Defined() {
		return r, nil
	}
	lowest, _ := c.match(&Comparison{}, atLeast, s)
	highest, _ := c.match(&Comparison{}, atMost, s)
	return r, t.boundEffect(&r, lowest, highest)
}

// boundEffect sets d and the ends of its interval to the least and the most that they can be: as they
// depend on the spread of the differences, that may be where missing scores of an arm differ.
func (t tester) boundEffect(r *Comparison, lowest, highest matched) error {
	low, high := slices.Clone(lowest.xs), slices.Clone(highest.xs)
	for i := range low {
		low[i], high[i] = low[i]-lowest.ys[i], high[i]-highest.ys[i]
	}
	bounds, err := stats.RangeOfEffect(low, high, lowest.cluster)
	if err != nil {
		return err
	}
	least, most := bounds.D()
	r.Least.D, r.Most.D = Number(least), Number(most)
	if !r.DLow.Defined() || !r.DHigh.Defined() {
		return nil
	}
	l, m := bounds.Interval(t.level)
	least, _ = bounds.Over(float64(r.Least.Low)) // as [tester.effect] has it
	_, most = bounds.Over(float64(r.Most.High))
	r.Least.DLow, r.Least.DHigh = Number(min(l.Low, least)), Number(l.High)
	r.Most.DLow, r.Most.DHigh = Number(m.Low), Number(max(m.High, most))
	return nil
}

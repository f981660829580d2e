package analyse

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
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
func filled(values []cell, missing []float64, score float64) []cell {
	list := slices.Clone(values)
	for i, n := range missing {
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

// lacking adds to an estimate over all items what has no score.
func (c *Collector) lacking(e *Estimate, arm, metric int, missing []float64) {
	if missing == nil {
		return
	}
	reasons := map[string]int{}
	maps.Copy(reasons, c.columns[arm][metric].unscored)
	c.each(&c.trials[arm], func(item int, trials cell) {
		if n := int(c.columns[arm][metric].failed(trials)); n > 0 && missing[item] > 0 {
			reasons[ofFailed] += n
		}
	})
	e.Reasons = counts(reasons)
	for _, r := range e.Reasons {
		e.Unscored += r.N
	}
	all := c.values(&c.b, arm, metric)
	if c.suite.Metrics[metric].Estimate != nil {
		for _, item := range c.rows[arm][metric].of {
			all[item].den++
		}
	}
	gone, of := 0.0, 0.0
	for i, n := range missing {
		if all[i].den+n == 0 {
			continue
		}
		if c.suite.Metrics[metric].Pooling == eval.MeanOfItems {
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
func lacks(s selection, missing []float64) bool {
	return missing != nil && slices.ContainsFunc(s.items, func(i int) bool { return missing[i] > 0 })
}

// bounding reports whether items lack rows, all of which have a lowest and a highest form:
// those of failed trials have not.
func (c *Collector) bounding(metric int, s selection, missing []float64, arm int) bool {
	bounded := lacks(s, missing) && !c.rows[arm][metric].unbounded
	c.each(&c.trials[arm], func(_ int, trials cell) {
		bounded = bounded && c.columns[arm][metric].failed(trials) == 0
	})
	return bounded
}

// bounds adds to an estimate what it would be if every missing score were the lowest, or
// the highest. A metric with an estimator has no such scores.
func (c *Collector) bounds(e *Estimate, metric int, s selection, values []cell, missing []float64, level float64) error {
	if !lacks(s, missing) {
		return nil
	}
	low, high := c.span(metric)
	if low > high {
		return nil // no score of any arm, of a metric without bounds
	}
	return e.bound(func(at end) (Bounds, error) {
		r, ci, _, err := c.pooled(metric, s, filled(values, missing, map[end]float64{least: low, most: high}[at]), level)
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

// bounded compares a pair, and says what it would be if every missing score of the first arm were
// the lowest and those of the other the highest, and the other way round. A mixed model
// is not fitted again: the planned test of the two arms stands for it.
func (c *Collector) bounded(k contest, s selection, t tester) (r Comparison, err error) {
	if r, err = c.compare(k, s, t); err != nil || t.q.Run.OnDev() {
		return r, err
	}
	armA, armB := c.armIdx[k.pair.A], c.armIdx[k.pair.B]
	ofA, ofB := c.missing(armA, k.metric), c.missing(armB, k.metric)
	if !lacks(s, ofA) && !lacks(s, ofB) {
		return r, nil
	}
	atLeast, atMost := k, k
	if c.suite.Metrics[k.metric].Estimate == nil {
		low, high := c.span(k.metric)
		if low > high {
			return r, nil
		}
		atLeast.a, atLeast.b = filled(k.a, ofA, low), filled(k.b, ofB, high)
		atMost.a, atMost.b = filled(k.a, ofA, high), filled(k.b, ofB, low)
	} else {
		if lacks(s, ofA) && !c.bounding(k.metric, s, ofA, armA) || lacks(s, ofB) && !c.bounding(k.metric, s, ofB, armB) {
			return r, nil
		}
		atLeast.atA, atLeast.atB, atMost.atA, atMost.atB = least, most, most, least
	}
	t.fits = nil
	for _, x := range []struct {
		with contest
		into **Comparison
	}{{atLeast, &r.Least}, {atMost, &r.Most}} {
		bound, err := c.compare(x.with, s, t)
		if err != nil {
			return r, err
		}
		bound.Warnings, bound.Beside, bound.Least, bound.Most = nil, nil, nil, nil
		*x.into = &bound
	}
	return r, nil
}

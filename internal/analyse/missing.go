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
func (c *Collector) missing(arm *record, metric int) []float64 {
	col := &arm.metrics[metric]
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
	c.each(arm.trials(), func(item int, trials cell) { add(item, 0, col.failed(trials)) })
	return list
}

// failed counts the scores that an item lacks because its trials failed. A score of the
// case is that of the other replicates, if one has an answer.
func (c *column) failed(trials cell) float64 {
	switch {
	case !c.perCase:
		return trials.num
	case trials.num > 0 && trials.num == trials.den:
		return 1
	}
	return 0
}

// expected returns the mean number of opportunities of an answer, by index of item: over
// all arms, and over all items where no arm has an answer, or none says anything that counts. It
// is 1 of an estimator.
func (c *Collector) expected(metric int) []float64 {
	sum, answers := make([]float64, len(c.items)), make([]float64, len(c.items))
	for i := range c.arms {
		col := &c.arms[i].metrics[metric]
		if !col.used {
			continue
		}
		c.each(col, func(item int, v cell) {
			sum[item] += v.den + v.lost
			answers[item] -= v.vague
		})
		c.each(c.arms[i].trials(), func(item int, trials cell) {
			answered := trials.den - trials.num
			if col.perCase {
				answered = min(answered, 1)
			}
			answers[item] += answered
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

// filled returns the scores with all that are missing at an end.
func (x armScores) filled(at end) armScores {
	if x.at = at; x.metric.Estimate != nil {
		return x
	}
	score := map[end]float64{least: x.low, most: x.high}[at]
	x.values = slices.Clone(x.values)
	for i, n := range x.missing {
		v := &x.values[i]
		v.num, v.den, v.answered = v.num+n*score, v.den+n, v.answered || n > 0
	}
	return x
}

// span returns the lowest and the highest score that an opportunity can have: those of the
// metric, or of any item of the study where the metric has no bound.
func (c *Collector) span(metric int) (low, high float64) {
	m := &c.suite.Metrics[metric]
	low, high = math.Inf(1), math.Inf(-1)
	for i := range c.arms {
		c.each(&c.arms[i].metrics[metric], func(_ int, v cell) {
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
	reasons := map[string]int{}
	maps.Copy(reasons, x.col.unscored)
	c.each(x.arm.trials(), func(item int, trials cell) {
		if n := int(x.col.failed(trials)); n > 0 && x.missing[item] > 0 {
			reasons[ofFailed] += n
		}
	})
	e.Reasons = counts(reasons)
	for _, r := range e.Reasons {
		e.Unscored += r.N
	}
	all := make([]float64, len(x.values))
	for i, v := range x.values {
		all[i] = v.den
	}
	for _, item := range x.col.of {
		all[item]++
	}
	gone, of := 0.0, 0.0
	for i, n := range x.missing {
		if all[i]+n == 0 {
			continue
		}
		if x.metric.Pooling == eval.MeanOfItems {
			gone, of = gone+n/(all[i]+n), of+1
		} else {
			gone, of = gone+n, of+all[i]+n
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

// addBounds adds to an estimate what it would be if every missing score were the lowest, or
// the highest.
func (e *Estimate) addBounds(x armScores, s selection, of func(armScores) (Bounds, error)) error {
	if !x.lacks(s) || !x.bounded {
		return nil
	}
	low, err := of(x.filled(least))
	if err != nil {
		return err
	}
	high, err := of(x.filled(most))
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
		n, why, reasons := e.Unjudged(), "", []string(nil)
		for _, r := range e.Reasons {
			if r.Name != ofFailed {
				why, reasons = r.Name, append(reasons, fmt.Sprintf("%s (%d)", r.Name, r.N))
			}
		}
		if len(reasons) > 1 {
			why = listed(reasons)
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
	lacksA, lacksB := k.a.lacks(s), k.b.lacks(s)
	if !lacksA && !lacksB || lacksA && !k.a.bounded || lacksB && !k.b.bounded || t.fits[k.metric] != nil && r.Stratum == nil && r.Clusters < r.Pairs {
		return r, nil
	}
	atLeast, atMost := k, k
	atLeast.a, atLeast.b = k.a.filled(least), k.b.filled(most)
	atMost.a, atMost.b = k.a.filled(most), k.b.filled(least)
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

package analyse

import (
	"fmt"
	"math"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
	"github.com/scruple-eval/scruple/stats"
)

// estimates computes one estimate per arm and metric over all items, and by
// stratum for primary and secondary metrics.
func (c *Collector) estimates(a *Analysis, q Question, selections []selection) error {
	for _, arm := range a.Arms {
		for _, m := range a.Metrics {
			metric := c.metric[m.Name]
			x := c.scoresOf(&c.a, arm.ID, metric)
			for _, s := range selections {
				if s.stratum != nil && m.Rank == "other" {
					continue
				}
				e, err := c.estimate(x, s, q)
				if err != nil {
					return err
				}
				if e.Items > 0 || e.Unscored > 0 || s.stratum == nil {
					a.Estimates = append(a.Estimates, e)
				}
			}
		}
	}
	return nil
}

// armScores are the scores of an arm by a metric, by index of item.
type armScores struct {
	arm     *record
	metric  *eval.Metric
	col     *column
	values  []cell
	missing []float64 // opportunities without a score; nil if there are none
	// bounded reports that what is missing has a lowest and a highest form: the scores low and high, or
	// rows, which are taken for what is at.
	bounded   bool
	low, high float64
	at        end
}

func (c *Collector) scoresOf(buffer *[]cell, id string, metric int) armScores {
	i := c.armIdx[id]
	x := armScores{arm: &c.arms[i], metric: &c.suite.Metrics[metric], col: &c.arms[i].metrics[metric], values: c.values(buffer, i, metric)}
	if x.missing = c.missing(x.arm, metric); x.missing == nil {
		return x
	}
	if x.metric.Estimate == nil {
		x.low, x.high = c.span(metric)
		x.bounded = x.low <= x.high // else no arm has a score, and the metric has no bounds
		return x
	}
	x.bounded = !x.col.unbounded
	c.each(x.arm.trials(), func(_ int, trials cell) { x.bounded = x.bounded && x.col.failed(trials) == 0 }) // which have no rows
	return x
}

func (c *Collector) estimate(x armScores, s selection, q Question) (Estimate, error) {
	e := Estimate{Arm: x.arm.ID, Metric: x.metric.Name, Stratum: s.stratum, Bounds: Bounds{Undefined(), Undefined(), Undefined()}}
	if s.stratum == nil {
		c.addUnscored(&e, x)
	}
	e.byJudge(x)
	if x.metric.Estimate != nil {
		err := c.estimateRows(&e, x, s, q)
		if err == nil {
			err = e.addBounds(x, s, func(x armScores) (Bounds, error) {
				var at Estimate
				err := c.estimateRows(&at, x, s, q)
				return at.Bounds, err
			})
		}
		return e, err
	}
	err := c.estimateFractions(&e, x, s, q)
	if err == nil {
		err = e.addBounds(x, s, func(x armScores) (Bounds, error) {
			if e.ByJudge != nil {
				if r, err := stats.CorrectedRate(c.judged(x, s).units, stats.Judged{}, q.level()); err == nil && r.Undefined == "" {
					return boundsOf(r.Value, r.CI), nil
				}
			}
			at := Estimate{Arm: e.Arm, Metric: e.Metric, Stratum: e.Stratum}
			_, err := c.interval(&at, x, s, q)
			return at.Bounds, err
		})
	}
	if err != nil {
		return e, fmt.Errorf("estimating %s of %s: %w", e.Metric, e.Arm, err)
	}
	return e, nil
}

// estimateFractions estimates a metric of fractions.
func (c *Collector) estimateFractions(e *Estimate, x armScores, s selection, q Question) error {
	m := x.metric
	for _, i := range s.items {
		if v := x.values[i]; v.den > 0 {
			e.Items++
			e.Num += Number(v.num)
			e.Den += Number(v.den)
		}
	}
	if s.stratum == nil && m.Pooling == eval.MeanOfItems {
		e.SD = spread(x.values)
	}
	r, err := c.interval(e, x, s, q)
	if err != nil {
		return err
	}
	if err := c.correct(e, x, s, q.level()); err != nil {
		return err
	}
	units := text.Plural(e.Items, "item", "items")
	if e.Clusters < e.Items {
		units = text.Plural(e.Clusters, "cluster", "clusters")
	}
	lowest, highest := r.Extremes()
	switch end := endsAt(e.Bounds, lowest, highest, m.Min, m.Max); {
	case e.Low == e.High:
		e.Assumes = "all " + units + " score the same, so the interval has no width: it rests on there being no outlier"
		e.Warnings = append(e.Warnings, e.Assumes)
	case end != "" && e.Assumes == "":
		e.Assumes = fmt.Sprintf("the interval ends at the %s score of %s: it rests on there being no outlier", end, units)
	}
	return nil
}

// interval sets the value and its interval by the method of the study.
func (c *Collector) interval(e *Estimate, x armScores, s selection, q Question) (stats.Ratio, error) {
	r, ci, of, err := c.pooled(x, s, q.level())
	if err != nil {
		return r, err
	}
	e.Bounds = boundsOf(r.Value, ci)
	e.Clusters, e.Method, e.Assumes, e.Warnings = r.Clusters, r.Method, r.Assumes, r.Warnings
	if r.Undefined != "" {
		e.Warnings = append(e.Warnings, r.Undefined)
	}
	if q.Study.Intervals == "bootstrap" {
		err = e.bootstrap(of, q)
	}
	return r, err
}

// endsAt names the extreme of the clusters at which an interval that could reach beyond ends, ""
// if neither, or if that is an extreme of the metric.
func endsAt(b Bounds, lowest, highest, least, most float64) string {
	near := 1e-9 * (highest - lowest)
	switch {
	case math.Abs(float64(b.Low)-lowest) <= near && lowest > least:
		return "lowest"
	case math.Abs(float64(b.High)-highest) <= near && highest < most:
		return "highest"
	}
	return ""
}

// pooled estimates a metric of fractions, and returns its sums by cluster.
func (c *Collector) pooled(x armScores, s selection, level float64) (r stats.Ratio, ci stats.Interval, of sums, err error) {
	m := x.metric
	of.num, of.den = c.clusters.sum(&c.sumA, s.items, x.fraction)
	switch {
	case m.Binary:
		outcomes := 0.0
		for _, i := range s.items {
			outcomes += x.values[i].den
		}
		r, err = stats.ProportionOfSums(of.num, of.den, outcomes, level)
	case m.Counts:
		r, err = stats.CountsOfSums(of.num, of.den, level)
	default:
		r, err = stats.RatioOfSums(of.num, of.den, level)
		r = r.Monotone(level, m.Min, m.Max)
	}
	return r, r.CI.Clamp(m.Min, m.Max), of, err
}

// intervals are those of the shares of an arm's outcomes.
func (c *Collector) intervals(arm *record, level float64) (map[eval.OutcomeKind][2]Number, error) {
	list := map[eval.OutcomeKind][2]Number{}
	for k, kind := range shares {
		num, den := make([]float64, c.clusters.n), make([]float64, c.clusters.n)
		c.each(&arm.shares[k], func(item int, v cell) {
			g := c.clusters.of[item]
			num[g], den[g] = num[g]+v.num, den[g]+v.den
		})
		r, err := stats.ProportionOfSums(num, den, total(den), level)
		if err != nil {
			return nil, err
		}
		list[kind] = [2]Number{Number(r.CI.Low), Number(r.CI.High)}
	}
	return list, nil
}

// spread is the standard deviation between items, 0 of fewer than two.
func spread(values []cell) Number {
	var scores []float64
	for _, v := range values {
		if v.den > 0 {
			scores = append(scores, v.num/v.den)
		}
	}
	if len(scores) < 2 {
		return 0
	}
	mean, sum := total(scores)/float64(len(scores)), 0.0
	for _, x := range scores {
		sum += (x - mean) * (x - mean)
	}
	return Number(math.Sqrt(sum / float64(len(scores)-1)))
}

// bootstrap computes the interval by resampling clusters. If that fails, it keeps
// the interval and adds a warning.
func (e *Estimate) bootstrap(of sums, q Question) error {
	if e.Clusters < fewForBootstrap {
		e.Warnings = append(e.Warnings, fmt.Sprintf("no bootstrap: %s, and its intervals are too short below %d", text.Plural(e.Clusters, "cluster", "clusters"), fewForBootstrap))
		return nil
	}
	num, den := occupied(of.num, of.den)
	b, err := stats.ClusterBootstrap(num, den, q.draws(q.level(), e.Stratum, e.Arm, e.Metric))
	switch {
	case err != nil:
		return err
	case b.Undefined != "" || b.Degenerate:
		e.Warnings = append(e.Warnings, "no bootstrap: all resamples are identical")
	default:
		e.Low, e.High, e.Assumes, e.Warnings = Number(b.BCa.Low), Number(b.BCa.High), "", b.Warnings
		e.Method = fmt.Sprintf("cluster bootstrap, BCa of %d resamples", q.Study.Resamples)
	}
	return nil
}

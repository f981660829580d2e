package analyse

import (
	"cmp"
	"fmt"
	"math"
	"runtime"

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
			x := c.scoresOf(arm.ID, metric, c.values(&c.a, c.armIdx[arm.ID], metric))
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

// armScores are the scores of an arm on a metric, by index of item.
type armScores struct {
	arm, metric int
	values      []cell
	missing     []float64 // opportunities without a score; nil if there are none
}

func (c *Collector) scoresOf(id string, metric int, values []cell) armScores {
	arm := c.armIdx[id]
	return armScores{arm, metric, values, c.missing(arm, metric)}
}

func (c *Collector) estimate(x armScores, s selection, q Question) (Estimate, error) {
	arm, m, level := c.arms[x.arm].ID, &c.suite.Metrics[x.metric], q.level()
	if m.Estimate != nil {
		e, err := c.estimateRows(x, s, unknown, q)
		c.byJudge(&e, x)
		if err == nil && s.stratum == nil {
			c.addUnscored(&e, x)
		}
		if err != nil || !c.rowsBounded(x, s) {
			return e, err
		}
		err = e.bound(func(at end) (Bounds, error) {
			b, err := c.estimateRows(x, s, at, q)
			return b.Bounds, err
		})
		return e, err
	}
	e := Estimate{Arm: arm, Metric: m.Name, Stratum: s.stratum, Bounds: Bounds{Undefined(), Undefined(), Undefined()}}
	for _, i := range s.items {
		if v := x.values[i]; v.den > 0 {
			e.Items++
			e.Num += Number(v.num)
			e.Den += Number(v.den)
		}
	}
	if s.stratum == nil {
		if m.Pooling == eval.MeanOfItems {
			e.SD = spread(x.values)
		}
		c.addUnscored(&e, x)
	}
	err := c.addBounds(&e, x, s, level)
	if err != nil {
		return e, fmt.Errorf("estimating the bounds of %s of %s: %w", m.Name, arm, err)
	}
	r, ci, of, err := c.pooled(x.metric, s, x.values, level)
	if err != nil {
		return e, fmt.Errorf("estimating %s of %s: %w", m.Name, arm, err)
	}
	e.Bounds = Bounds{Number(r.Value), Number(ci.Low), Number(ci.High)}
	e.Clusters, e.Method, e.Assumes, e.Warnings = r.Clusters, r.Method, r.Assumes, r.Warnings
	if r.Undefined != "" {
		e.Warnings = append(e.Warnings, r.Undefined)
	}
	if q.Study.Intervals == "bootstrap" {
		if err := e.bootstrap(of, q); err != nil {
			return e, fmt.Errorf("bootstrapping %s of %s: %w", m.Name, arm, err)
		}
	}
	if err := c.byPeople(&e, x, s, level); err != nil {
		return e, err
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
	return e, nil
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
func (c *Collector) pooled(metric int, s selection, values []cell, level float64) (r stats.Ratio, ci stats.Interval, of sums, err error) {
	m := &c.suite.Metrics[metric]
	of.num, of.den = c.clusters.sum(&c.sumA, s.items, func(i int) cell { return c.fraction(metric, values[i]) })
	switch {
	case m.Binary:
		outcomes := 0.0
		for _, i := range s.items {
			outcomes += values[i].den
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
func (c *Collector) intervals(arm int, level float64) (map[eval.OutcomeKind][2]Number, error) {
	list := map[eval.OutcomeKind][2]Number{}
	add := func(kind eval.OutcomeKind, col *column, all func(cell) float64) error {
		num, den := make([]float64, c.clusters.n), make([]float64, c.clusters.n)
		c.each(col, func(item int, v cell) {
			g := c.clusters.of[item]
			num[g], den[g] = num[g]+v.num, den[g]+all(v)
		})
		r, err := stats.ProportionOfSums(num, den, total(den), level)
		list[kind] = [2]Number{Number(r.CI.Low), Number(r.CI.High)}
		return err
	}
	err := add(eval.Failed, &c.trials[arm], func(v cell) float64 { return v.num + v.den })
	for k, kind := range badAnswers {
		err = cmp.Or(err, add(kind, &c.bad[arm][k], func(v cell) float64 { return v.den }))
	}
	return list, err
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
	b, err := stats.ClusterBootstrap(num, den, stats.BootstrapOptions{Resamples: q.Study.Resamples, Level: q.level(),
		Seed: seed(q.Run.Seed, e.Stratum, e.Arm, e.Metric), Workers: runtime.GOMAXPROCS(0)})
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

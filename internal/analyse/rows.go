package analyse

import (
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
	"github.com/scruple-eval/scruple/stats"
)

// clustersOfRows lists the rows of an arm and metric by cluster for the selected
// items, with missing ones at an end, and counts the items that have rows.
func (c *Collector) clustersOfRows(arm, metric int, wanted []bool, at end) (byCluster [][]eval.Row, items int) {
	byCluster = make([][]eval.Row, c.clusters.n)
	o := &c.rows[arm][metric]
	last := int32(-1)
	for k, item := range o.of {
		if !wanted[item] {
			continue
		}
		byCluster[c.clusters.of[item]] = append(byCluster[c.clusters.of[item]], o.rows[k])
		if item != last {
			items, last = items+1, item
		}
	}
	of, rows := o.at(at)
	for k, item := range of {
		if wanted[item] {
			byCluster[c.clusters.of[item]] = append(byCluster[c.clusters.of[item]], rows[k])
		}
	}
	return byCluster, items
}

// itemsWithRows marks the selected items for which an arm has rows, or has at an end.
func (c *Collector) itemsWithRows(arm, metric int, s selection, at end) []bool {
	in := make([]bool, len(c.items))
	for _, i := range s.items {
		in[i] = true
	}
	has := make([]bool, len(c.items))
	for _, item := range c.rows[arm][metric].of {
		has[item] = in[item]
	}
	for _, item := range c.rows[arm][metric].ofMissing {
		has[item] = has[item] || at != unknown && in[item]
	}
	return has
}

// An estimator is that of a metric with the memory for the rows of resamples, which
// it does not keep.
type estimator struct {
	of    func([]eval.Row) float64
	lists sync.Pool
}

// over estimates from the rows of clusters, which fill appends to a list.
func (e *estimator) over(fill func([]eval.Row) []eval.Row) float64 {
	list, _ := e.lists.Get().(*[]eval.Row)
	if list == nil {
		list = new([]eval.Row)
	}
	*list = fill((*list)[:0])
	v := e.of(*list)
	e.lists.Put(list)
	return v
}

// drawn estimates from the rows of the drawn clusters.
func (e *estimator) drawn(byCluster [][]eval.Row, drawn []int) float64 {
	return e.over(func(rows []eval.Row) []eval.Row {
		for _, k := range drawn {
			rows = append(rows, byCluster[k]...)
		}
		return rows
	})
}

// exchanged estimates from the rows of one arm, in some clusters from those of the other.
func (e *estimator) exchanged(arm, other [][]eval.Row, exchanged []bool) float64 {
	return e.over(func(rows []eval.Row) []eval.Row {
		for k, swap := range exchanged {
			if swap {
				rows = append(rows, other[k]...)
			} else {
				rows = append(rows, arm[k]...)
			}
		}
		return rows
	})
}

// withRows removes clusters without rows in any of the lists: they must not be
// resampled.
func withRows(lists ...[][]eval.Row) [][][]eval.Row {
	kept := make([][][]eval.Row, len(lists))
	for k := range lists[0] {
		if slices.ContainsFunc(lists, func(list [][]eval.Row) bool { return len(list[k]) > 0 }) {
			for i, list := range lists {
				kept[i] = append(kept[i], list[k])
			}
		}
	}
	return kept
}

// estimateRows estimates a metric with an estimator: its value on all rows and
// the BCa interval of a bootstrap over clusters of items.
func (c *Collector) estimateRows(arm string, metric int, s selection, at end, q Question, level float64) (Estimate, error) {
	m := c.suite.Metrics[metric]
	a := c.armIdx[arm]
	e := Estimate{Arm: arm, Metric: m.Name, Stratum: s.stratum, Bounds: Bounds{Undefined(), Undefined(), Undefined()}, Num: Undefined(), Den: Undefined()}
	all, items := c.clustersOfRows(a, metric, c.itemsWithRows(a, metric, s, at), at)
	clusters := withRows(all)[0]
	e.Items, e.Clusters = items, len(clusters)
	e.Method = fmt.Sprintf("cluster bootstrap, BCa of %d resamples", q.Study.Resamples)
	if items == 0 {
		e.Warnings = append(e.Warnings, "no item has a value")
		return e, nil
	}
	estimate := estimator{of: m.Estimate}
	b, err := stats.BootstrapClusters(len(clusters), func(drawn []int) float64 { return estimate.drawn(clusters, drawn) }, stats.BootstrapOptions{
		Resamples: q.Study.Resamples, Level: level, Seed: seed(q.Run.Seed, s.stratum, arm, m.Name), Workers: runtime.GOMAXPROCS(0)})
	if err != nil {
		return e, fmt.Errorf("bootstrapping %s of %s: %w", m.Name, arm, err)
	}
	e.Value, e.Warnings = Number(b.Estimate), b.Warnings
	switch {
	case b.Undefined != "":
		e.Warnings = append(e.Warnings, b.Undefined)
	case !b.Degenerate:
		ci := resampled(b, level).Clamp(m.Min, m.Max)
		e.Low, e.High = Number(ci.Low), Number(ci.High)
		e.Method = resampling(b)
	}
	return e, nil
}

// resampled is the interval of a bootstrap: BCa, which covers too little with few
// clusters; for those the t interval of the replicates' standard deviation.
func resampled(b stats.Bootstrap, level float64) stats.Interval {
	if b.Clusters < fewForBootstrap {
		return b.StudentT(level)
	}
	return b.BCaAt(level)
}

// resampling names the method of [resampled].
func resampling(b stats.Bootstrap) string {
	if b.Clusters < fewForBootstrap {
		return fmt.Sprintf("cluster bootstrap, t interval of %d resamples", b.Resamples)
	}
	return fmt.Sprintf("cluster bootstrap, BCa of %d resamples", b.Resamples)
}

// compareRows compares two arms by a metric with an estimator, on the items for
// which both have rows. The interval resamples clusters, the same for both arms.
// The p-value is from a permutation test that exchanges the arms within clusters.
func (c *Collector) compareRows(r *Comparison, k contest, s selection, t tester) error {
	m := c.suite.Metrics[k.metric]
	armA, armB := c.armIdx[k.pair.A], c.armIdx[k.pair.B]
	hasA, hasB := c.itemsWithRows(armA, k.metric, s, k.atA), c.itemsWithRows(armB, k.metric, s, k.atB)
	both := make([]bool, len(c.items))
	for i := range both {
		switch {
		case !hasA[i] && !hasB[i]:
		case (hasA[i] || k.a[i].answered) && (hasB[i] || k.b[i].answered): // one may have no row
			both[i] = true
			r.Pairs++
		default:
			r.Unpaired++
		}
	}
	if r.Unpaired > 0 {
		r.warn(fmt.Sprintf("%s with a value for only one arm left out", text.Plural(r.Unpaired, "item", "items")))
	}
	if r.Pairs == 0 {
		r.warn("no item has a value for both arms")
		return nil
	}
	allA, _ := c.clustersOfRows(armA, k.metric, both, k.atA)
	allB, _ := c.clustersOfRows(armB, k.metric, both, k.atB)
	kept := withRows(allA, allB)
	a, b := kept[0], kept[1]
	estimate := estimator{of: m.Estimate}
	difference := func(drawn []int) float64 { return estimate.drawn(a, drawn) - estimate.drawn(b, drawn) }
	every := make([]int, len(a))
	for i := range every {
		every[i] = i
	}
	r.MeanA, r.MeanB, r.Clusters = Number(estimate.drawn(a, every)), Number(estimate.drawn(b, every)), len(a)
	if t.q.Run.Exploratory() {
		r.Diff = Number(difference(every))
		return nil
	}
	o := stats.BootstrapOptions{Resamples: t.q.Study.Resamples, Level: t.level, Seed: t.seed(r), Workers: runtime.GOMAXPROCS(0)}
	boot, err := stats.BootstrapClusters(len(a), difference, o)
	if err != nil {
		return err
	}
	r.Diff, r.Level = Number(boot.Estimate), Number(t.level)
	r.Method = fmt.Sprintf("%s; p by exchanging arms within %s", resampling(boot), text.Plural(len(a), "cluster", "clusters"))
	r.warn(boot.Warnings...)
	if boot.Undefined != "" || boot.Degenerate {
		r.note(boot.Undefined, len(a), text.Plural(len(a), "cluster", "clusters"))
		return nil
	}
	p := stats.ExchangeTest(len(a), func(exchanged []bool) float64 {
		return estimate.exchanged(a, b, exchanged) - estimate.exchanged(b, a, exchanged)
	}, t.q.Study.Resamples, t.seed(r), runtime.GOMAXPROCS(0))
	interval := func(level float64) stats.Interval { return resampled(boot, level) }
	claim := stats.Reading{P: stats.Excluding(interval), Interval: interval}.Wider(stats.Reading{P: p, Interval: func(level float64) stats.Interval {
		if p < 1-level {
			return stats.Interval{Low: boot.Estimate, High: boot.Estimate, Level: level}
		}
		return stats.Interval{Low: min(0, boot.Estimate), High: max(0, boot.Estimate), Level: level}
	}})
	r.P = Number(claim.P)
	r.Low, r.High, r.EquivLow, r.EquivHigh = t.limits(claim)
	r.within(m.Max - m.Min)
	r.note("", len(a), text.Plural(len(a), "cluster", "clusters"))
	return nil
}

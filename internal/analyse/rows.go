package analyse

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
	"github.com/scruple-eval/scruple/stats"
)

// clustersOfRows lists the rows of an arm and metric by cluster for the selected
// items, with missing ones at an end, and counts the items that have rows.
func (c *Collector) clustersOfRows(x armScores, wanted []bool) (byCluster [][]eval.Row, items int) {
	byCluster = make([][]eval.Row, c.clusters.n)
	last := int32(-1)
	for k, item := range x.col.of {
		if !wanted[item] {
			continue
		}
		byCluster[c.clusters.of[item]] = append(byCluster[c.clusters.of[item]], x.col.rows[k])
		if item != last {
			items, last = items+1, item
		}
	}
	of, rows := x.col.at(x.at)
	for k, item := range of {
		if wanted[item] {
			byCluster[c.clusters.of[item]] = append(byCluster[c.clusters.of[item]], rows[k])
		}
	}
	return byCluster, items
}

// itemsWithRows marks the selected items for which an arm has rows, or has at an end.
func (c *Collector) itemsWithRows(x armScores, s selection) []bool {
	in := make([]bool, len(c.items))
	for _, i := range s.items {
		in[i] = true
	}
	has := make([]bool, len(c.items))
	missing, _ := x.col.at(x.at)
	for _, item := range slices.Concat(x.col.of, missing) {
		has[item] = in[item]
	}
	return has
}

// An estimator is that of a metric with the distinct parts of rows, by which it counts them.
type estimator struct {
	eval.Metric
	kinds []eval.Row
	at    map[string]int32
	key   []byte
	lists sync.Pool // of what an estimate is given
}

func newEstimator(m eval.Metric) *estimator { return &estimator{Metric: m, at: map[string]int32{}} }

// counted counts the parts in the rows of each cluster.
func (e *estimator) counted(clusters [][]eval.Row) [][]stats.Count {
	counts := make([][]stats.Count, len(clusters))
	for i, rows := range clusters {
		var list []int32
		for _, part := range eval.Once(rows, e.Parts) {
			list = append(list, e.kind(part.Row))
		}
		slices.Sort(list)
		for _, kind := range list {
			if last := len(counts[i]) - 1; last >= 0 && counts[i][last].Kind == kind {
				counts[i][last].N++
			} else {
				counts[i] = append(counts[i], stats.Count{Kind: kind, N: 1})
			}
		}
	}
	return counts
}

func (e *estimator) kind(part eval.Row) int32 {
	e.key = e.key[:0]
	for _, x := range part {
		e.key = binary.LittleEndian.AppendUint64(e.key, math.Float64bits(x))
	}
	k, ok := e.at[string(e.key)]
	if !ok {
		k = int32(len(e.kinds))
		e.at[string(e.key)], e.kinds = k, append(e.kinds, part)
	}
	return k
}

// ordered numbers the kinds of a metric with parts by their first numbers. An estimate that sorts its
// parts, such as a calibration error, then finds them sorted in each of the resamples, which with
// continuous confidences are of as many kinds as there are spans. It adds up whole numbers or
// sorts; that of whole rows may add up others, in the order in which it has them.
func (e *estimator) ordered(lists ...[][]stats.Count) {
	if e.Parts == 0 {
		return
	}
	order, place := make([]int32, len(e.kinds)), make([]int32, len(e.kinds))
	for k := range order {
		order[k] = int32(k)
	}
	slices.SortFunc(order, func(a, b int32) int { return slices.Compare(e.kinds[a], e.kinds[b]) })
	kinds := make([]eval.Row, len(order))
	for at, k := range order {
		kinds[at], place[k] = e.kinds[k], int32(at)
	}
	e.kinds, e.at = kinds, nil // all are known
	for _, clusters := range lists {
		for _, counts := range clusters {
			for i := range counts {
				counts[i].Kind = place[counts[i].Kind]
			}
			slices.SortFunc(counts, func(a, b stats.Count) int { return cmp.Compare(a.Kind, b.Kind) })
		}
	}
}

// Above so many clusters, so many groups of them are drawn instead: they are as independent, and
// the time does not grow with the number of kinds in each cluster times that of clusters.
const manyClusters, groups = 10_000, 2_000

// grouped adds up many clusters in groups.
func grouped(clusters [][]stats.Count) [][]stats.Count {
	if len(clusters) <= manyClusters {
		return clusters
	}
	sums := make([]map[int32]int32, groups)
	for i, counts := range clusters {
		of := &sums[i%groups]
		if *of == nil {
			*of = map[int32]int32{}
		}
		for _, k := range counts {
			(*of)[k.Kind] += k.N
		}
	}
	list := make([][]stats.Count, groups)
	for g, of := range sums {
		for _, kind := range slices.Sorted(maps.Keys(of)) {
			list[g] = append(list[g], stats.Count{Kind: kind, N: of[kind]})
		}
	}
	return list
}

// of estimates from how often each part occurs, and occurs in all the data.
func (e *estimator) of(counts, all []float64) float64 {
	list, _ := e.lists.Get().(*[]eval.Counted)
	if list == nil {
		list = new([]eval.Counted)
	}
	*list = (*list)[:0]
	for k, n := range counts {
		if n > 0 || e.Whole && all[k] > 0 {
			*list = append(*list, eval.Counted{Row: e.kinds[k], N: n, All: all[k]})
		}
	}
	v := e.Estimate(*list)
	e.lists.Put(list)
	return v
}

// difference estimates from the sums of one arm and of another, which follow them.
func (e *estimator) difference(counts, all []float64) float64 {
	k := len(e.kinds)
	return e.of(counts[:k], all[:k]) - e.of(counts[k:], all[k:])
}

// summed adds up the counts of clusters.
func summed(clusters [][]stats.Count, kinds int) []float64 {
	sums := make([]float64, kinds)
	for _, counts := range clusters {
		for _, k := range counts {
			sums[k.Kind] += float64(k.N)
		}
	}
	return sums
}

// exchanged is the difference of two arms if they are exchanged in some clusters.
func (e *estimator) exchanged(a, b [][]stats.Count, exchanged []bool) float64 {
	sums := make([]float64, 2*len(e.kinds))
	first, second := sums[:len(e.kinds)], sums[len(e.kinds):]
	for i, swap := range exchanged {
		x, y := a[i], b[i]
		if swap {
			x, y = y, x
		}
		for _, k := range x {
			first[k.Kind] += float64(k.N)
		}
		for _, k := range y {
			second[k.Kind] += float64(k.N)
		}
	}
	return e.difference(sums, sums)
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
func (c *Collector) estimateRows(e *Estimate, x armScores, s selection, q Question) error {
	m := x.metric
	e.Bounds, e.Num, e.Den = Bounds{Undefined(), Undefined(), Undefined()}, Undefined(), Undefined()
	all, items := c.clustersOfRows(x, c.itemsWithRows(x, s))
	clusters := withRows(all)[0]
	e.Items, e.Clusters = items, len(clusters)
	e.Method = fmt.Sprintf("cluster bootstrap, BCa of %d resamples", q.Study.Resamples)
	if items == 0 {
		e.Warnings = append(e.Warnings, "no item has a value")
		return nil
	}
	estimate := newEstimator(*m)
	counts := grouped(estimate.counted(clusters))
	estimate.ordered(counts)
	sums := summed(counts, len(estimate.kinds))
	b, err := stats.BootstrapCounts(counts, len(sums), func(drawn []float64) float64 { return estimate.of(drawn, sums) }, q.draws(q.level(), s.stratum, x.arm.ID, m.Name))
	if err != nil {
		return fmt.Errorf("bootstrapping %s of %s: %w", m.Name, x.arm.ID, err)
	}
	e.Value, e.Warnings = Number(b.Estimate), b.Warnings
	switch {
	case b.Undefined != "":
		e.Warnings = append(e.Warnings, b.Undefined)
	case !b.Degenerate:
		ci := resampled(b, q.level()).Clamp(m.Min, m.Max)
		if math.IsInf(ci.High, 1) {
			e.Warnings = append(e.Warnings, "no upper end of the interval: too many resamples have nothing to divide by")
		}
		e.Low, e.High = finite(ci.Low), finite(ci.High)
		e.Method = resampling(b, e.Clusters)
	}
	return nil
}

// finite is a number, undefined if it is infinite.
func finite(x float64) Number {
	if math.IsInf(x, 0) {
		return Undefined()
	}
	return Number(x)
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
func resampling(b stats.Bootstrap, of int) string {
	switch {
	case b.Clusters < fewForBootstrap:
		return fmt.Sprintf("cluster bootstrap, t interval of %d resamples", b.Resamples)
	case b.Clusters == groups && of > groups:
		return fmt.Sprintf("cluster bootstrap, BCa of %d resamples of %d groups of clusters", b.Resamples, groups)
	}
	return fmt.Sprintf("cluster bootstrap, BCa of %d resamples", b.Resamples)
}

// compareRows compares two arms by a metric with an estimator, on the items for
// which both have rows. The interval resamples clusters, the same for both arms.
// The p-value is from a permutation test that exchanges the arms within clusters.
func (c *Collector) compareRows(r *Comparison, k contest, s selection, t tester) error {
	m := c.suite.Metrics[k.metric]
	hasA, hasB := c.itemsWithRows(k.a, s), c.itemsWithRows(k.b, s)
	both := make([]bool, len(c.items))
	for i := range both {
		switch {
		case !hasA[i] && !hasB[i]:
		case (hasA[i] || k.a.values[i].answered) && (hasB[i] || k.b.values[i].answered): // one may have no row
			both[i] = true
			r.Pairs++
		default:
			r.Unpaired++
		}
	}
	if !r.paired("left out") {
		return nil
	}
	allA, _ := c.clustersOfRows(k.a, both)
	allB, _ := c.clustersOfRows(k.b, both)
	kept := withRows(allA, allB)
	a, b := kept[0], kept[1]
	estimate := newEstimator(m)
	countsA, countsB := grouped(estimate.counted(a)), grouped(estimate.counted(b))
	estimate.ordered(countsA, countsB)
	kinds := len(estimate.kinds)
	pairs := make([][]stats.Count, len(countsA))
	for i := range pairs {
		pairs[i] = slices.Clone(countsA[i])
		for _, k := range countsB[i] {
			pairs[i] = append(pairs[i], stats.Count{Kind: int32(kinds) + k.Kind, N: k.N})
		}
	}
	sums := summed(pairs, 2*kinds)
	r.MeanA, r.MeanB, r.Clusters = finite(estimate.of(sums[:kinds], sums[:kinds])), finite(estimate.of(sums[kinds:], sums[kinds:])), len(a)
	if t.q.Run.Exploratory() {
		r.Diff = r.MeanA - r.MeanB
		return nil
	}
	o := t.draws(r)
	boot, err := stats.BootstrapCounts(pairs, len(sums), func(drawn []float64) float64 { return estimate.difference(drawn, sums) }, o)
	if err != nil {
		return err
	}
	r.Diff, r.Level = Number(boot.Estimate), Number(t.level)
	r.Method = fmt.Sprintf("%s; p by exchanging arms within %s", resampling(boot, len(a)), text.Plural(len(a), "cluster", "clusters"))
	r.warn(boot.Warnings...)
	if boot.Undefined != "" || boot.Degenerate {
		r.note(boot.Undefined, len(a), text.Plural(len(a), "cluster", "clusters"))
		return nil
	}
	p := stats.ExchangeTest(len(countsA), func(exchanged []bool) float64 {
		return estimate.exchanged(countsA, countsB, exchanged)
	}, o.Resamples, o.Seed, o.Workers)
	interval := func(level float64) stats.Interval { return resampled(boot, level) }
	claim := stats.Reading{P: stats.Excluding(interval), Interval: interval}.Wider(stats.Reading{P: p, Interval: func(level float64) stats.Interval {
		if p < 1-level {
			return stats.Interval{Low: boot.Estimate, High: boot.Estimate, Level: level}
		}
		return stats.Interval{Low: min(0, boot.Estimate), High: max(0, boot.Estimate), Level: level}
	}})
	r.P = Number(claim.P)
	r.Low, r.High, r.EquivLow, r.EquivHigh = t.limits(claim)
	r.note("", len(a), text.Plural(len(a), "cluster", "clusters"))
	return nil
}

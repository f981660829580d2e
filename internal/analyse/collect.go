package analyse

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A Collector adds up fractions by arm, metric and item as they are scored. Items
// must arrive one after the other in plan order, each with all its trials. Equal
// consecutive items are stored as one value and a count, so memory hardly grows
// with the number of items.
type Collector struct {
	suite    *eval.Suite
	items    []eval.Item
	order    Order
	arms     []record
	armIdx   map[string]int
	metric   map[string]int // by name, in the suite's order
	clusters clustering
	problem  error // the first error

	a, b       []cell // buffers for values
	sumA, sumB sums
}

// An Order is the order in which items arrive: the Position of an id, from 0, and
// the index in the list of items At a position.
type Order interface {
	Position(item string) (int, bool)
	At(position int) int
}

// Listed is the order of a list of items.
func Listed(items []eval.Item) Order {
	l := make(places, len(items))
	for i, it := range items {
		l[it.ID] = i
	}
	return l
}

type places map[string]int

func (l places) Position(item string) (int, bool) { i, ok := l[item]; return i, ok }
func (places) At(position int) int                { return position }

// A record is what is collected of an arm.
type record struct {
	eval.Arm
	position int         // of its current item, −1 before the first
	metrics  []column    // by index of metric
	shares   []column    // by kind of [shares]
	later    map[int]int // the first scored replicate by index of item, if it is not replicate 1
	rated    []Rated     // if people judged units
	// The outcomes of its trials, and the first bad answer of each kind.
	kinds   map[eval.OutcomeKind]int
	reasons map[string]int
	notes   map[string]int
	first   map[string]first
}

// shares are the kinds of outcomes whose shares are counted by item: failed trials in all of them, and
// the others in those that have an answer.
var shares = []eval.OutcomeKind{eval.Failed, eval.Malformed, eval.Refused}

// trials has the failed trials of each item in all of them.
func (r *record) trials() *column { return &r.shares[0] }

// A column holds cells by position, run-length encoded but for that of the current item, and what a
// metric has besides.
type column struct {
	runs     []cells
	current  cell
	unscored map[string]int           // entries by reason
	used     bool                     // the arm has entries of the metric
	perCase  bool                     // a score is that of all replicates of a case
	units    map[string]eval.Fraction // if the metric adds up units
	observations
}

// A cell is what an arm has of a metric on an item. Without a denominator it has nothing
// to count, if it is answered, or no score.
type cell struct {
	num, den float64
	lost     float64 // opportunities of the unscored entries that state them
	vague    float64 // number of unscored entries that do not
	answered bool    // there is an answer, and no entry of it is unscored
}

// count adds an outcome.
func (v *cell) count(event bool) {
	if v.den++; event {
		v.num++
	}
}

// observations are the rows of a metric with an estimator, by index of item, and those of its
// unscored entries, of which some may have none.
type observations struct {
	of          []int32
	rows        []eval.Row
	ofMissing   []int32
	least, most []eval.Row
	unbounded   bool
}

// at returns the rows of the missing scores at an end, by index of item.
func (o *observations) at(e end) (of []int32, rows []eval.Row) {
	switch e {
	case least:
		return o.ofMissing, o.least
	case most:
		return o.ofMissing, o.most
	}
	return nil, nil
}

// An end is what missing scores are taken for.
type end int

const (
	unknown end = iota // left out
	least              // the lowest possible
	most               // the highest
)

type cells struct {
	cell
	n int32
}

func (c *column) push(v cell, n int) {
	if n <= 0 {
		return
	}
	if last := len(c.runs) - 1; last >= 0 && c.runs[last].cell == v {
		c.runs[last].n += int32(n)
		return
	}
	c.runs = append(c.runs, cells{v, int32(n)})
}

// turn closes the cell of the item at a position, −1 for none, and opens that of a later one.
func (c *column) turn(from, to int) {
	if from >= 0 {
		c.push(c.current, 1)
	}
	c.push(cell{}, to-from-1)
	c.current = cell{}
}

// inOrder returns the items in the order of their ids, in which the analysis
// numbers clusters and strata, adds up and draws: the order of a data file has no
// effect.
func inOrder(items []eval.Item, order Order) ([]eval.Item, Order) {
	byID := func(a, b eval.Item) int { return strings.Compare(a.ID, b.ID) }
	if slices.IsSortedFunc(items, byID) {
		return items, order
	}
	sorted, rank := make([]eval.Item, len(items)), make([]int32, len(items))
	for k, i := range eval.IndexItems(items).Sorted() {
		sorted[k], rank[i] = items[i], int32(k)
	}
	return sorted, resorted{order, rank}
}

// resorted is an order of sorted items.
type resorted struct {
	Order
	rank []int32 // by index in the study's list
}

func (r resorted) At(position int) int { return int(r.rank[r.Order.At(position)]) }

// NewCollector makes a collector for the items and arms of a study.
func NewCollector(suite *eval.Suite, items []eval.Item, arms []eval.Arm, order Order) *Collector {
	items, order = inOrder(items, order)
	c := &Collector{suite: suite, items: items, order: order, armIdx: make(map[string]int, len(arms)), metric: make(map[string]int, len(suite.Metrics))}
	c.clusters.of, c.clusters.n = Clusters(items)
	for m, metric := range suite.Metrics {
		c.metric[metric.Name] = m
	}
	for a, arm := range arms {
		c.armIdx[arm.ID], arm.Judges = a, eval.WithoutScorer(arm.Judges)
		c.arms = append(c.arms, record{Arm: arm, position: -1, metrics: make([]column, len(suite.Metrics)), shares: make([]column, len(shares)), later: map[int]int{},
			kinds: map[eval.OutcomeKind]int{}, reasons: map[string]int{}, notes: map[string]int{}, first: map[string]first{}})
	}
	return c
}

// turn closes the current item of an arm and opens the next.
func (c *Collector) turn(arm *record, position int) {
	if position == arm.position {
		return
	}
	if position < arm.position {
		c.complain("items are out of order: position %d of %s after %d", position, arm.ID, arm.position)
		return
	}
	for _, columns := range [][]column{arm.metrics, arm.shares} {
		for k := range columns {
			columns[k].turn(arm.position, position)
		}
	}
	arm.position = position
}

// Add adds one case. Cases must arrive in the same order every time, so that
// floating-point sums are identical.
func (c *Collector) Add(s eval.Scored) {
	a, okArm := c.armIdx[s.Arm]
	position, okItem := c.order.Position(s.Item)
	if !okArm || !okItem {
		c.complain("%s × %s is not in this study", s.Item, s.Arm)
		return
	}
	arm, item := &c.arms[a], c.order.At(position)
	c.turn(arm, position)
	for i := range s.Trials {
		o := &s.Trials[i].Outcome
		arm.kinds[o.Kind]++
		for k, kind := range shares {
			if kind == eval.Failed || o.Kind != eval.Failed {
				arm.shares[k].current.count(o.Kind == kind)
			}
		}
		if o.Kind == eval.Malformed || o.Kind == eval.Refused {
			arm.note(string(o.Kind), item, s.Trials[i].Trial.Replicate)
		}
		if o.Kind != eval.OK {
			arm.reasons[strings.TrimSuffix(string(o.Kind)+": "+o.Reason, ": ")]++
		}
		for _, n := range o.Notes {
			arm.notes[n]++
			if n == eval.NoteTruncated {
				arm.note(n, item, s.Trials[i].Trial.Replicate)
			}
		}
	}
	if len(s.Scores) > 0 && s.Scores[0].Replicate > 1 {
		arm.later[item] = s.Scores[0].Replicate
	}
	for _, score := range s.Scores {
		c.score(arm, int32(item), score)
	}
}

// score adds one score of an item.
func (c *Collector) score(arm *record, item int32, score eval.Score) {
	wrong := func(what string) {
		c.complain("score %s of %s × %s%s", score.Metric, c.items[item].ID, arm.ID, what)
	}
	m, ok := c.metric[score.Metric]
	if !ok {
		wrong(": the suite does not declare this metric")
		return
	}
	metric, col := &c.suite.Metrics[m], &arm.metrics[m]
	sum := &col.current
	col.used, col.perCase = true, score.Replicate == 0
	switch {
	case score.Unscored != "":
		if col.unscored == nil {
			col.unscored = map[string]int{}
		}
		col.unscored[score.Unscored]++
		if sum.lost += score.Den; score.Den == 0 {
			sum.vague++
		}
		if metric.Estimate != nil {
			col.unbounded = col.unbounded || score.Least == nil || score.Most == nil
			col.ofMissing, col.least, col.most = append(col.ofMissing, item), append(col.least, slices.Clone(score.Least)), append(col.most, slices.Clone(score.Most))
		}
	case (metric.Estimate != nil) != (score.Row != nil):
		wrong(": a metric has rows if and only if it has an estimator")
	case score.Row != nil:
		col.of, col.rows = append(col.of, item), append(col.rows, slices.Clone(score.Row))
	case !(score.Den > 0):
		wrong(fmt.Sprintf(": invalid denominator %v", score.Den))
	case metric.Binary && (score.Num < 0 || score.Num > score.Den || score.Num != math.Trunc(score.Num) || score.Den != math.Trunc(score.Den)):
		wrong(fmt.Sprintf(" is %v/%v, but a binary metric must count outcomes: k/n with whole numbers and k ≤ n", score.Num, score.Den))
	default:
		sum.num += score.Num
		sum.den += score.Den
		if metric.Unit != "" {
			if col.units == nil {
				col.units = map[string]eval.Fraction{}
			}
			col.units[score.Unit] = col.units[score.Unit].Plus(score.Num, score.Den)
		}
	}
}

// Scores returns what an arm has of a metric on each item in the order of ids, numerators and
// denominators.
func (c *Collector) Scores(arm, metric string) (num, den []float64) {
	for _, v := range c.values(&c.a, c.armIdx[arm], c.metric[metric]) {
		num, den = append(num, v.num), append(den, v.den)
	}
	return num, den
}

// Err returns the first error of Add.
func (c *Collector) Err() error { return c.problem }

func (c *Collector) complain(format string, args ...any) {
	if c.problem == nil {
		c.problem = fmt.Errorf("analyse: "+format, args...)
	}
}

// counts sorts a map by count, then name.
func counts(m map[string]int) []Count {
	list := make([]Count, 0, len(m))
	for name, n := range m {
		list = append(list, Count{name, n})
	}
	slices.SortFunc(list, func(a, b Count) int { return cmp.Or(b.N-a.N, strings.Compare(a.Name, b.Name)) })
	return list
}

// values returns the cells of an arm and metric by index of item, summed over
// units and replicates. It reuses the buffer, which takes a megabyte for fifty
// thousand items.
func (c *Collector) values(buffer *[]cell, arm, metric int) []cell {
	list := emptied(buffer, len(c.items))
	c.each(&c.arms[arm].metrics[metric], func(item int, v cell) { list[item] = v })
	c.each(c.arms[arm].trials(), func(item int, trials cell) {
		v := &list[item]
		v.answered = trials.den > trials.num && v.lost == 0 && v.vague == 0
	})
	return list
}

// each calls f with the cells of a column.
func (c *Collector) each(col *column, f func(item int, v cell)) {
	position := 0
	for _, r := range col.runs {
		for range r.n {
			f(c.order.At(position), r.cell)
			position++
		}
	}
}

// fraction returns the contribution of an item to a metric under its pooling.
func (x armScores) fraction(item int) cell {
	v := x.values[item]
	if v.den > 0 && x.metric.Pooling == eval.MeanOfItems {
		return cell{num: v.num / v.den, den: 1}
	}
	return v
}

// emptied returns the buffer with n zero elements, growing it if needed.
func emptied[T any](buffer *[]T, n int) []T {
	if cap(*buffer) < n {
		*buffer = make([]T, n)
	}
	*buffer = (*buffer)[:n]
	clear(*buffer)
	return *buffer
}

// A clustering numbers clusters and maps items to them.
type clustering struct {
	of []int32
	n  int
}

// Clusters numbers the clusters of items and returns that of each. An item without one is
// its own.
func Clusters(items []eval.Item) (of []int32, n int) {
	of, index := make([]int32, len(items)), map[string]int32{}
	for i, it := range items {
		k, ok := index[it.Cluster]
		if !ok || it.Cluster == "" {
			k = int32(n)
			index[it.Cluster] = k
			n++
		}
		of[i] = k
	}
	return of, n
}

// sums are numerators and denominators by cluster, in reused buffers.
type sums struct{ num, den []float64 }

// sum adds up fractions by cluster. Clusters without fractions have denominator
// 0 and are ignored.
func (c clustering) sum(into *sums, items []int, of func(item int) cell) (num, den []float64) {
	num, den = emptied(&into.num, c.n), emptied(&into.den, c.n)
	for _, i := range items {
		v := of(i)
		num[c.of[i]] += v.num
		den[c.of[i]] += v.den
	}
	return num, den
}

// A selection is the items of one stratum, or all of them.
type selection struct {
	stratum *eval.Level
	items   []int
}

// selections lists all items first, then each stratum that is a non-empty proper
// subset, by factor in order of appearance and value in order of name.
func (c *Collector) selections() []selection {
	all := make([]int, len(c.items))
	var names []string
	members := map[eval.Level][]int{}
	values := map[string][]string{}
	for i, it := range c.items {
		all[i] = i
		for _, l := range it.Strata {
			if l.Value == "" {
				continue
			}
			if !slices.Contains(names, l.Name) {
				names = append(names, l.Name)
			}
			if members[l] == nil {
				values[l.Name] = append(values[l.Name], l.Value)
			}
			members[l] = append(members[l], i)
		}
	}
	list := []selection{{nil, all}}
	for _, name := range names {
		if len(values[name]) < 2 {
			continue
		}
		slices.Sort(values[name])
		for _, v := range values[name] {
			l := eval.Level{Name: name, Value: v}
			list = append(list, selection{&l, members[l]})
		}
	}
	return list
}

// A first is the number of bad answers of one kind, and the first of them.
type first struct{ n, item, replicate int }

// note counts a bad answer.
func (r *record) note(kind string, item, replicate int) {
	f, ok := r.first[kind]
	if !ok || item < f.item || item == f.item && replicate < f.replicate {
		f.item, f.replicate = item, replicate
	}
	f.n++
	r.first[kind] = f
}

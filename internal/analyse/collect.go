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
	arms     []eval.Arm
	armIdx   map[string]int
	metric   map[string]int // by name, in the suite's order
	columns  [][]column     // by arm and metric
	trials   []column       // by arm: failed trials over answered ones
	bad      [][]column     // by arm and kind of [badAnswers]: those answers over all of them
	rows     [][]observations
	units    []map[string]map[string]eval.Fraction // by arm, metric and unit
	current  []open                                // by arm
	tallies  []tally                               // by arm
	clusters clustering
	problem  error              // the first error
	rated    map[string][]Rated // by arm, if people judged units
	// later is the first scored replicate of an arm and item, by index of item, if
	// it is not replicate 1.
	later map[[2]int]int

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

// A column holds the cells of one arm and metric by position, run-length encoded.
type column struct {
	runs     []cells
	unscored map[string]int // entries by reason
	used     bool           // the arm has entries of the metric
	perCase  bool           // a score is that of all replicates of a case
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

// observations are the rows of one arm and metric, by index of item, and those of its
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

// open is the current item of an arm.
type open struct {
	position int // −1 before the first
	sums     []cell
	trials   cell
	bad      []cell
}

// badAnswers are the kinds of outcomes of which the shares are counted by item, but for failed trials.
var badAnswers = []eval.OutcomeKind{eval.Malformed, eval.Refused}

// A tally counts the outcomes of an arm's trials.
type tally struct {
	kinds   map[eval.OutcomeKind]int
	reasons map[string]int
	notes   map[string]int
	first   map[string]first // by kind of bad answer
}

// inOrder returns the items in the order of their ids, in which the analysis
// numbers clusters and strata, adds up and draws: the order of a data file has no
// effect.
func inOrder(items []eval.Item, order Order) ([]eval.Item, Order) {
	byID := func(a, b eval.Item) int { return strings.Compare(a.ID, b.ID) }
	if slices.IsSortedFunc(items, byID) {
		return items, order
	}
	listed := make([]int, len(items))
	for i := range items {
		listed[i] = i
	}
	slices.SortFunc(listed, func(i, j int) int { return byID(items[i], items[j]) })
	sorted, rank := make([]eval.Item, len(items)), make([]int32, len(items))
	for k, i := range listed {
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
	c := &Collector{suite: suite, items: items, arms: arms, order: order, armIdx: make(map[string]int, len(arms)),
		metric: make(map[string]int, len(suite.Metrics)), columns: make([][]column, len(arms)), trials: make([]column, len(arms)), bad: make([][]column, len(arms)), rows: make([][]observations, len(arms)), current: make([]open, len(arms)),
		later: map[[2]int]int{}, tallies: make([]tally, len(arms)), units: make([]map[string]map[string]eval.Fraction, len(arms))}
	c.clusters.of, c.clusters.n = Clusters(items)
	for m, metric := range suite.Metrics {
		c.metric[metric.Name] = m
	}
	for a, arm := range arms {
		c.armIdx[arm.ID] = a
		c.columns[a] = make([]column, len(suite.Metrics))
		c.rows[a] = make([]observations, len(suite.Metrics))
		c.units[a] = map[string]map[string]eval.Fraction{}
		c.bad[a] = make([]column, len(badAnswers))
		c.current[a] = open{position: -1, sums: make([]cell, len(suite.Metrics)), bad: make([]cell, len(badAnswers))}
		c.tallies[a] = tally{map[eval.OutcomeKind]int{}, map[string]int{}, map[string]int{}, map[string]first{}}
	}
	return c
}

// turn closes the current item of an arm and opens the next.
func (c *Collector) turn(arm, position int) {
	cur := &c.current[arm]
	if position == cur.position {
		return
	}
	if position < cur.position {
		c.complain("items are out of order: position %d of %s after %d", position, c.arms[arm].ID, cur.position)
		return
	}
	close := func(col *column, of *cell) {
		if cur.position >= 0 {
			col.push(*of, 1)
		}
		col.push(cell{}, position-cur.position-1)
		*of = cell{}
	}
	for m := range cur.sums {
		close(&c.columns[arm][m], &cur.sums[m])
	}
	for k := range cur.bad {
		close(&c.bad[arm][k], &cur.bad[k])
	}
	close(&c.trials[arm], &cur.trials)
	cur.position = position
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
	c.turn(a, position)
	t := &c.tallies[a]
	for i := range s.Trials {
		o := &s.Trials[i].Outcome
		t.kinds[o.Kind]++
		if o.Kind == eval.Failed {
			c.current[a].trials.num++
		} else {
			c.current[a].trials.den++
			for k, kind := range badAnswers {
				c.current[a].bad[k].count(o.Kind == kind)
			}
		}
		if o.Kind == eval.Malformed || o.Kind == eval.Refused {
			t.note(string(o.Kind), c.order.At(position), s.Trials[i].Trial.Replicate)
		}
		if o.Kind != eval.OK {
			t.reasons[strings.TrimSuffix(string(o.Kind)+": "+o.Reason, ": ")]++
		}
		for _, n := range o.Notes {
			t.notes[n]++
			if n == eval.NoteTruncated {
				t.note(n, c.order.At(position), s.Trials[i].Trial.Replicate)
			}
		}
	}
	if len(s.Scores) > 0 && s.Scores[0].Replicate > 1 {
		c.later[[2]int{a, c.order.At(position)}] = s.Scores[0].Replicate
	}
	for _, score := range s.Scores {
		c.score(s, score, a, position)
	}
}

// score adds one score of a case.
func (c *Collector) score(s eval.Scored, score eval.Score, arm, position int) {
	m, ok := c.metric[score.Metric]
	if !ok {
		c.complain("score %s of %s × %s: the suite does not declare this metric", score.Metric, s.Item, s.Arm)
		return
	}
	metric, col, sum := &c.suite.Metrics[m], &c.columns[arm][m], &c.current[arm].sums[m]
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
			o, item := &c.rows[arm][m], int32(c.order.At(position))
			o.unbounded = o.unbounded || score.Least == nil || score.Most == nil
			o.ofMissing, o.least, o.most = append(o.ofMissing, item), append(o.least, slices.Clone(score.Least)), append(o.most, slices.Clone(score.Most))
		}
	case (metric.Estimate != nil) != (score.Row != nil):
		c.complain("score %s of %s × %s: a metric has rows if and only if it has an estimator", score.Metric, s.Item, s.Arm)
	case score.Row != nil:
		o := &c.rows[arm][m]
		o.of, o.rows = append(o.of, int32(c.order.At(position))), append(o.rows, slices.Clone(score.Row))
	case !(score.Den > 0):
		c.complain("score %s of %s × %s: invalid denominator %v", score.Metric, s.Item, s.Arm, score.Den)
	case metric.Binary && (score.Num < 0 || score.Num > score.Den || score.Num != math.Trunc(score.Num) || score.Den != math.Trunc(score.Den)):
		c.complain("score %s of %s × %s is %v/%v, but a binary metric must count outcomes: k/n with whole numbers and k ≤ n", score.Metric, s.Item, s.Arm, score.Num, score.Den)
	default:
		sum.num += score.Num
		sum.den += score.Den
		if metric.Unit != "" {
			units := c.units[arm][metric.Name]
			if units == nil {
				units = map[string]eval.Fraction{}
				c.units[arm][metric.Name] = units
			}
			units[score.Unit] = units[score.Unit].Plus(score.Num, score.Den)
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
	c.each(&c.columns[arm][metric], func(item int, v cell) { list[item] = v })
	c.each(&c.trials[arm], func(item int, trials cell) {
		v := &list[item]
		v.answered = trials.den > 0 && v.lost == 0 && v.vague == 0
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
func (c *Collector) fraction(metric int, v cell) cell {
	if v.den > 0 && c.suite.Metrics[metric].Pooling == eval.MeanOfItems {
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
func (t *tally) note(kind string, item, replicate int) {
	f, ok := t.first[kind]
	if !ok || item < f.item || item == f.item && replicate < f.replicate {
		f.item, f.replicate = item, replicate
	}
	f.n++
	t.first[kind] = f
}

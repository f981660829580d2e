package analyse

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A Collector adds up fractions by arm, metric and item as they are scored.
// It keeps one cell per arm, metric and item that has any, whatever the number
// of replicates and units.
type Collector struct {
	suite   *eval.Suite
	items   []eval.Item
	arms    []eval.Arm
	itemIdx map[string]int
	armIdx  map[string]int
	metric  map[string]int // by name, in the suite's order
	columns [][]column     // by arm and metric
	tallies []tally        // by arm
	problem error          // the first score that no metric declares
}

// A column holds the cells of one arm and metric, item by item, in chunks that
// are made when something falls into them: rates have opportunities in few
// items.
type column struct {
	chunks   [][]cell
	unscored map[string]int // by reason
}

const chunk = 256

type cell struct{ num, den float64 }

func (c *column) at(item int) cell {
	if k := item / chunk; k < len(c.chunks) && c.chunks[k] != nil {
		return c.chunks[k][item%chunk]
	}
	return cell{}
}

func (c *column) add(item, items int, num, den float64) {
	if c.chunks == nil {
		c.chunks = make([][]cell, (items+chunk-1)/chunk)
	}
	k := item / chunk
	if c.chunks[k] == nil {
		c.chunks[k] = make([]cell, chunk)
	}
	p := &c.chunks[k][item%chunk]
	p.num += num
	p.den += den
}

// A tally counts what became of an arm's trials.
type tally struct {
	kinds   map[eval.OutcomeKind]int
	reasons map[string]int
	notes   map[string]int
}

// NewCollector makes a collector for the items and arms of a study.
func NewCollector(suite *eval.Suite, items []eval.Item, arms []eval.Arm) *Collector {
	c := &Collector{suite: suite, items: items, arms: arms,
		itemIdx: make(map[string]int, len(items)), armIdx: make(map[string]int, len(arms)),
		metric: make(map[string]int, len(suite.Metrics)), columns: make([][]column, len(arms)), tallies: make([]tally, len(arms))}
	for i, it := range items {
		c.itemIdx[it.ID] = i
	}
	for m, metric := range suite.Metrics {
		c.metric[metric.Name] = m
	}
	for a, arm := range arms {
		c.armIdx[arm.ID] = a
		c.columns[a] = make([]column, len(suite.Metrics))
		c.tallies[a] = tally{map[eval.OutcomeKind]int{}, map[string]int{}, map[string]int{}}
	}
	return c
}

// Add takes in one trial. Trials must come in the same order every time, so
// that sums are the same to the last bit.
func (c *Collector) Add(s eval.Scored) {
	a, okArm := c.armIdx[s.Trial.Arm]
	i, okItem := c.itemIdx[s.Trial.Item]
	if !okArm || !okItem {
		c.complain("trial %v is not of this study", s.Trial)
		return
	}
	t := &c.tallies[a]
	t.kinds[s.Outcome.Kind]++
	if s.Outcome.Kind != eval.OK {
		t.reasons[string(s.Outcome.Kind)+reasonSuffix(s.Outcome.Reason)]++
	}
	for _, n := range s.Outcome.Notes {
		t.notes[n]++
	}
	for _, score := range s.Scores {
		m, ok := c.metric[score.Metric]
		switch col := &c.columns[a][m]; {
		case !ok:
			c.complain("score %s of %v is of no metric the suite declares", score.Metric, s.Trial)
		case score.Unscored != "":
			if col.unscored == nil {
				col.unscored = map[string]int{}
			}
			col.unscored[score.Unscored]++
		case !(score.Den > 0):
			c.complain("score %s of %v has the denominator %v", score.Metric, s.Trial, score.Den)
		default:
			col.add(i, len(c.items), score.Num, score.Den)
		}
	}
}

func reasonSuffix(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func (c *Collector) complain(format string, args ...any) {
	if c.problem == nil {
		c.problem = fmt.Errorf("analyse: "+format, args...)
	}
}

// counts lists a map by count, then name.
func counts(m map[string]int) []Count {
	list := make([]Count, 0, len(m))
	for name, n := range m {
		list = append(list, Count{name, n})
	}
	slices.SortFunc(list, func(a, b Count) int {
		if a.N != b.N {
			return b.N - a.N
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}

// itemValue is the metric of an item for an arm, over units and replicates,
// and whether there is one.
func (c *Collector) itemValue(arm, metric, item int) (float64, bool) {
	v := c.columns[arm][metric].at(item)
	if v.den == 0 {
		return 0, false
	}
	return v.num / v.den, true
}

// fractions gives what an item contributes to a metric under its pooling.
func (c *Collector) fractions(arm, metric, item int) cell {
	v := c.columns[arm][metric].at(item)
	if v.den > 0 && c.suite.Metrics[metric].Pooling == eval.MeanOfItems {
		return cell{v.num / v.den, 1}
	}
	return v
}

// A selection is the items of one stratum, or all of them.
type selection struct {
	stratum *eval.Level
	items   []int
}

// selections lists all items first, then each stratum that is neither empty
// nor everything, by factor in order of appearance and value in order of name.
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

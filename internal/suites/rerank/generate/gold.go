package generate

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/stable"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// golds balances gold: each item is gold equally often within a group and
// overall.
type golds struct {
	order map[string][]int // group → items, shuffled per group
	used  map[string][]int // group → how often each item has been gold
	total []int
}

func (g *generator) golds() *golds {
	d := &golds{order: map[string][]int{}, used: map[string][]int{}, total: make([]int, len(g.list))}
	for _, group := range request.Groups() {
		order := make([]int, len(g.list))
		for i := range order {
			order[i] = i
		}
		stable.Shuffle(g.stream("gold", group.ID), order)
		d.order[group.ID], d.used[group.ID] = order, make([]int, len(g.list))
	}
	return d
}

// turns returns the items in the order in which a request of a group tries them:
// by how often they were gold in the group, then overall.
func (d *golds) turns(group string) []int {
	type often struct{ here, anywhere int }
	levels := map[often][]int{}
	for _, i := range d.order[group] {
		level := often{d.used[group][i], d.total[i]}
		levels[level] = append(levels[level], i)
	}
	turns := make([]int, 0, len(d.total))
	for _, level := range slices.SortedFunc(maps.Keys(levels), func(a, b often) int {
		return cmp.Or(a.here-b.here, a.anywhere-b.anywhere)
	}) {
		turns = append(turns, levels[level]...)
	}
	return turns
}

func (d *golds) took(group string, gold int) {
	d.used[group][gold]++
	d.total[gold]++
}

// asked holds the meanings and texts of earlier requests.
type asked map[string]bool

func (a asked) has(r request.Request) bool { return a[meaning(r.Structure)] || a[r.Text] }

func (a asked) add(r request.Request) { a[meaning(r.Structure)], a[r.Text] = true, true }

// meaning returns the same key for trees that differ only in the order of their
// arguments. It never equals the text of a request.
func meaning(n *request.Node) string {
	if n.Op == "" {
		return n.Evidence.Key()
	}
	var parts []string
	for _, a := range n.Args {
		parts = append(parts, meaning(a))
	}
	slices.Sort(parts)
	return n.Op + "(" + strings.Join(parts, ",") + ")"
}

package generate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/measure"
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
		order := measure.UpTo(len(g.list))
		stable.Shuffle(g.stream("gold", group.ID), order)
		d.order[group.ID], d.used[group.ID] = order, make([]int, len(g.list))
	}
	return d
}

// turns returns the items in the order in which a request of a group tries them:
// by how often they were gold in the group, then overall.
func (d *golds) turns(group string) []int {
	turns, used := slices.Clone(d.order[group]), d.used[group]
	slices.SortStableFunc(turns, func(a, b int) int { return cmp.Or(used[a]-used[b], d.total[a]-d.total[b]) })
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

package evidence

import (
	"fmt"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// An Explanation is the truth of every node of a tree for an item.
type Explanation struct {
	Op     string         `json:"op,omitempty"`     // AND, OR, NOT; "" for a condition
	Aspect string         `json:"aspect,omitempty"` // of a condition
	Kind   string         `json:"kind,omitempty"`   // of a condition's evidence
	Truth  Truth          `json:"truth"`
	Reason string         `json:"reason,omitempty"` // of a condition: the values that decided it
	Args   []*Explanation `json:"args,omitempty"`
}

// Explain evaluates every node of a tree, without short-circuiting.
func (e *Evaluator) Explain(n *request.Node, item *catalog.Item) *Explanation {
	if n.Op == "" {
		x := &Explanation{Aspect: n.Title()}
		if n.Evidence != nil {
			x.Kind = n.Evidence.Kind
		}
		t, why := e.test(n.Evidence)(&subject{Item: item})
		x.Truth, x.Reason = t, why()
		return x
	}
	x := &Explanation{Op: n.Op}
	for _, a := range n.Args {
		x.Args = append(x.Args, e.Explain(a, item))
	}
	x.Truth = e.Evaluate(n, item)
	return x
}

// String formats an explanation as an indented tree, one node per line: + for
// true, - for false, ? for unknown.
func (x *Explanation) String() string {
	var b strings.Builder
	x.write(&b, 0)
	return b.String()
}

func (x *Explanation) write(b *strings.Builder, depth int) {
	indent := strings.Repeat("  ", depth)
	if x.Op == "" {
		fmt.Fprintf(b, "%s%s %s: %s\n", indent, Mark(x.Truth), x.Aspect, x.Reason)
		return
	}
	fmt.Fprintf(b, "%s%s %s\n", indent, Mark(x.Truth), x.Op)
	for _, a := range x.Args {
		a.write(b, depth+1)
	}
}

// Mark returns a truth as one character: +, - or ?.
func Mark(t Truth) string { return t.as("-", "?", "+") }

// A Row is a row of a truth table: an item, the truth of each condition from left
// to right, and the truth of the tree.
type Row struct {
	Item       string  `json:"item"`
	Name       string  `json:"name"`
	Conditions []Truth `json:"conditions"`
	Truth      Truth   `json:"truth"`
}

// Table returns the truth table of a tree over items, in their order. The columns
// are the conditions in the order of [request.Node.Leaves].
func (e *Evaluator) Table(n *request.Node, items []*catalog.Item) []Row {
	rows := make([]Row, len(items))
	for i, item := range items {
		s, truths := &subject{Item: item}, map[*request.Node]Truth{}
		rows[i] = Row{Item: item.ID, Name: item.Name}
		for _, leaf := range n.Leaves() {
			truths[leaf] = e.truth(leaf.Evidence, s)
			rows[i].Conditions = append(rows[i].Conditions, truths[leaf])
		}
		rows[i].Truth = Combine(n, func(leaf *request.Node) Truth { return truths[leaf] })
	}
	return rows
}

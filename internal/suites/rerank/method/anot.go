package method

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// anot works in three phases, a file each: plan (anot_plan.go), expand
// (anot_expand.go) and execute (anot_execute.go).
func anot(ctx context.Context, s *session) ([]int, error) {
	n := &network{session: s}
	for _, phase := range []func(context.Context) error{n.makePlan, n.expand, n.execute} {
		if err := phase(ctx); err != nil {
			return nil, err
		}
	}
	return n.conclude(ctx)
}

// A network is the state that the phases share.
type network struct {
	*session
	conditions []condition
	logic      *request.Node      // over the ids of conditions
	found      [][]evidence.Truth // the truths, by condition and candidate
	steps      []anotStep
}

// all evaluates the whole plan for a candidate.
func (n *network) all(candidate int) evidence.Truth {
	return evidence.Combine(n.logic, func(leaf *request.Node) evidence.Truth {
		return n.found[n.condition(leaf.Aspect)][candidate-1]
	})
}

// condition returns the index of the condition with this id, or -1.
func (n *network) condition(id string) int {
	return slices.IndexFunc(n.conditions, func(c condition) bool { return c.ID == id })
}

// open lists the candidates that are not ruled out. If all are ruled out, the
// plan must be wrong, and open lists all candidates.
func (n *network) open() []int {
	list := slices.DeleteFunc(n.everyone(), func(i int) bool { return n.all(i) == evidence.False })
	if len(list) == 0 {
		return n.everyone()
	}
	return list
}

// balance is the number of conditions that hold minus the number that fail. It
// breaks ties between candidates with the same overall truth.
func (n *network) balance(candidate int) (sum int) {
	for _, truths := range n.found {
		sum += int(truths[candidate-1])
	}
	return sum
}

// anotDecide is the maximum number of candidates in the last prompt.
const anotDecide = 10

// conclude orders the candidates by the truths found and asks the model about
// the candidates tied for first place. If neither answer parses, there is no
// prediction. All other ties are broken at random, independently of the
// order in which the candidates are shown.
func (n *network) conclude(ctx context.Context) ([]int, error) {
	n.record("conclude", "truth", n.table())
	compare := func(a, b int) int {
		return cmp.Or(cmp.Compare(n.all(b), n.all(a)), cmp.Compare(n.balance(b), n.balance(a)))
	}
	chance := n.chance("anot")
	order := n.sorted(func(a, b int) int { return cmp.Or(compare(a, b), chance(a, b)) })
	tied := 1
	for tied < len(order) && compare(order[0], order[tied]) == 0 {
		tied++
	}
	if tied == 1 {
		return order, nil
	}
	shown := slices.Sorted(slices.Values(order[:min(tied, anotDecide)])) // in the order of all prompts
	places, err := n.rank(ctx, "decide", shown, len(shown), false, n.soFar(shown), wording("anot_decide"))
	if err != nil {
		return nil, err
	}
	return first(places, shown, order), nil
}

// table formats the truths, one line per candidate.
func (n *network) table() string {
	var b strings.Builder
	for i := range n.Candidates {
		fmt.Fprintf(&b, "%d: %s; all: %s\n", i+1, n.line(i+1), mark(n.all(i+1)))
	}
	return strings.TrimRight(b.String(), "\n")
}

func (n *network) line(candidate int) string {
	marks := make([]string, len(n.conditions))
	for i, c := range n.conditions {
		marks[i] = c.ID + " " + mark(n.found[i][candidate-1])
	}
	return strings.Join(marks, ", ")
}

// soFar tells the model the truths of the candidates it is shown, numbered by
// their position in shown.
func (n *network) soFar(shown []int) string {
	var b strings.Builder
	b.WriteString("Found so far:\n")
	for _, c := range n.conditions {
		fmt.Fprintf(&b, "- %s: %s\n", c.ID, c.Text)
	}
	for place, i := range shown {
		fmt.Fprintf(&b, "Candidate %d: %s\n", place+1, n.line(i))
	}
	return strings.TrimRight(b.String(), "\n")
}

func mark(t evidence.Truth) string { return [...]string{"no", "unknown", "yes"}[t-evidence.False] }

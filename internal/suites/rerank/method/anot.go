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

// ANoT works in three phases, a file each: plan (anot_plan.go), expand
// (anot_expand.go) and execute (anot_execute.go).
func ANoT() Method {
	return Method{
		Name: "anot",
		Asks: true,
		Rank: ranks(func(ctx context.Context, s *session) ([]int, error) {
			n := &network{session: s}
			for _, phase := range []func(context.Context) error{n.makePlan, n.expand, n.execute} {
				if err := phase(ctx); err != nil {
					return nil, err
				}
			}
			return n.conclude(ctx)
		}),
	}
}

// A network is what the phases hand on to each other.
type network struct {
	*session
	conditions []condition
	logic      *request.Node      // over the ids of conditions
	truths     [][]evidence.Truth // of each condition for each candidate
	steps      []anotStep
}

// all is what the whole plan says of a candidate.
func (n *network) all(candidate int) evidence.Truth {
	return evidence.Combine(n.logic, func(leaf *request.Node) evidence.Truth {
		return n.truths[n.condition(leaf.Aspect)][candidate-1]
	})
}

// condition finds a condition by its id; -1 if there is none.
func (n *network) condition(id string) int {
	return slices.IndexFunc(n.conditions, func(c condition) bool { return c.ID == id })
}

// open lists the candidates that are not ruled out; all of them if every one
// is, since one must be right and then the plan is not.
func (n *network) open() []int {
	list := slices.DeleteFunc(n.everyone(), func(i int) bool { return n.all(i) == evidence.False })
	if len(list) == 0 {
		return n.everyone()
	}
	return list
}

// balance counts conditions that hold less those that fail: what tells
// candidates apart of which the whole is equally true.
func (n *network) balance(candidate int) (sum int) {
	for _, truths := range n.truths {
		sum += int(truths[candidate-1])
	}
	return sum
}

// anotDecide is the most candidates that the last prompt shows.
const anotDecide = 10

// conclude orders the candidates by what was found, and asks about those that
// are equal at the top. An answer to that which cannot be read is no
// prediction: the order in which candidates happen to stand is none. Where
// more are equal than one prompt shows, and among those that the answer leaves
// out or that are equal further down, chance decides, which knows nothing of
// where they stand.
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
	shown := slices.Sorted(slices.Values(order[:min(tied, anotDecide)])) // as all prompts show them
	p := Prompt{System: rankSystem, Messages: ask1(n.request(), n.show(shown), n.found(shown), anotDecideTask, finalLineOf(len(shown), len(shown)))}
	a, err := n.query(ctx, "decide", n.rankingRight(p, shown, len(shown), false))
	if err != nil {
		return nil, err
	}
	places, err := readRanking(a, len(shown), false)
	if err != nil {
		return nil, err
	}
	return first(places, shown, order), nil
}

// table shows the truths, a line a candidate.
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
		marks[i] = c.ID + " " + mark(n.truths[i][candidate-1])
	}
	return strings.Join(marks, ", ")
}

// found tells the model what is known of the candidates it is shown, under
// their places in that list.
func (n *network) found(shown []int) string {
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

func mark(t evidence.Truth) string {
	switch t {
	case evidence.True:
		return "yes"
	case evidence.False:
		return "no"
	}
	return "unknown"
}

const anotDecideTask = `What was found so far does not tell these candidates apart. Decide between them: weigh the conditions that are unknown by all that is shown, and order the candidates.`

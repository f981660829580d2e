package method

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
)

// layers sorts steps topologically: the steps of a layer depend only on earlier
// layers. Left are the steps with a missing or cyclic dependency.
func layers(steps []anotStep) (list [][]anotStep, left []anotStep) {
	done := map[string]bool{}
	for left = steps; len(left) > 0; {
		var next, later []anotStep
		for _, s := range left {
			if slices.ContainsFunc(s.After, func(id string) bool { return !done[id] }) {
				later = append(later, s)
			} else {
				next = append(next, s)
			}
		}
		if len(next) == 0 {
			break
		}
		for _, s := range next {
			done[s.ID] = true
		}
		list, left = append(list, next), later
	}
	return list, left
}

// unready is why a step is in no layer.
func unready(s anotStep, steps []anotStep) string {
	for _, id := range s.After {
		if !slices.ContainsFunc(steps, func(o anotStep) bool { return o.ID == id }) {
			return fmt.Sprintf("it depends on step %s, which does not exist", ellipsis(id, 40))
		}
	}
	return "a dependency is cyclic or missing"
}

// execute runs the steps layer by layer. A step that fails, because its answer
// does not parse or a dependency is invalid, leaves its condition unknown.
func (n *network) execute(ctx context.Context) error {
	list, left := layers(n.steps)
	for _, s := range left {
		n.note("execute", "fault", "step %s skipped: %s", s.ID, unready(s, n.steps))
	}
	for k, layer := range list {
		if err := n.layer(ctx, fmt.Sprintf("execute/L%d", k+1), layer); err != nil {
			return err
		}
	}
	return nil
}

// layer runs steps that do not depend on each other in parallel. All prompts are made
// before the first call: the results of one step must not change the prompt of another.
func (n *network) layer(ctx context.Context, name string, steps []anotStep) error {
	open, leaves := n.open(), n.leaves()
	var list []question
	var conditions []int
	for _, step := range steps {
		name, at := name+"/"+step.ID, n.condition(step.Condition)
		c := &n.conditions[at]
		people := n.authors(c)
		asked := slices.DeleteFunc(slices.Clone(step.Candidates), func(k int) bool {
			return !slices.Contains(open, k) || people != nil && n.unwritten(name, at, k, people)
		})
		if len(asked) == 0 {
			n.note(name, "note", "no candidates left to ask about")
			continue
		}
		text := "Question, for each candidate: " + step.Question
		if step.Question != c.Text {
			text += "\nIt helps to decide this condition: " + c.Text
		}
		conditions = append(conditions, at)
		list = append(list, n.about(name, system("anot"), asked, n.nth(leaves, at), text, n.reviewsBy(asked, people)))
	}
	return n.inParallel(ctx, list, func(q question, truths []evidence.Truth) {
		n.learn(q, conditions[0], truths)
		conditions = conditions[1:]
	})
}

// learn stores the truths that a step found of a condition. An unknown does not overwrite
// the result of an earlier step.
func (n *network) learn(q question, condition int, truths []evidence.Truth) {
	marks := make([]string, len(truths))
	for i, t := range truths {
		if t != evidence.Unknown {
			n.found[condition][q.asked[i]-1] = t
		}
		marks[i] = fmt.Sprintf("%d %s", q.asked[i], mark(t))
	}
	n.note(q.step, "truth", "%s: %s", n.conditions[condition].ID, strings.Join(marks, ", "))
}

// authors returns the people whose reviews a condition is about; nil means
// everybody, also if the plan names only unknown people.
func (n *network) authors(c *condition) map[string]bool {
	if c.Kind != kindSocial {
		return nil
	}
	if people := n.Graph.Meant(c.Names, int(c.Hops)); len(people) > 0 {
		return people
	}
	return nil
}

// unwritten reports whether none of these people wrote a review of a candidate: then the
// condition about them fails without a model, or, if there are no reviews, is unknown.
func (n *network) unwritten(step string, condition, candidate int, people map[string]bool) bool {
	reviews := n.Candidates[candidate-1].Reviews
	if slices.ContainsFunc(reviews, func(r catalog.Review) bool { return people[r.UserID] }) {
		return false
	}
	if len(reviews) > 0 {
		n.found[condition][candidate-1] = evidence.False
		n.note(step, "truth", "%s: %d no, none of them wrote a review", n.conditions[condition].ID, candidate)
	}
	return true
}

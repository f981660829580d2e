package method

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
)

// layers sorts steps topologically: the steps of a layer depend only on earlier
// layers. Left holds the steps with a missing or cyclic dependency, with the
// reason.
func layers(steps []anotStep) (list [][]int, left map[int]string) {
	left = map[int]string{}
	layer := map[string]int{} // of placed steps
	known := func(id string) bool { return slices.ContainsFunc(steps, func(s anotStep) bool { return s.ID == id }) }
	for len(layer) < len(steps) {
		var next []int
		for i, s := range steps {
			if _, placed := layer[s.ID]; !placed && !slices.ContainsFunc(s.After, func(id string) bool { _, ok := layer[id]; return !ok }) {
				next = append(next, i)
			}
		}
		if len(next) == 0 {
			break
		}
		for _, i := range next {
			layer[steps[i].ID] = len(list)
		}
		list = append(list, next)
	}
	for i, s := range steps {
		if _, placed := layer[s.ID]; !placed {
			left[i] = "a dependency is cyclic or missing"
			for _, id := range s.After {
				if !known(id) {
					left[i] = fmt.Sprintf("it depends on step %s, which does not exist", ellipsis(id, 40))
				}
			}
		}
	}
	return list, left
}

// execute runs the steps layer by layer. A step that fails, because its answer
// does not parse or a dependency is invalid, leaves its condition unknown.
func (n *network) execute(ctx context.Context) error {
	list, left := layers(n.steps)
	for i := range n.steps {
		if reason, ok := left[i]; ok {
			n.note("execute", "fault", "step %s skipped: %s", n.steps[i].ID, reason)
		}
	}
	for k, layer := range list {
		if err := n.layer(ctx, fmt.Sprintf("execute/L%d", k+1), layer); err != nil {
			return err
		}
	}
	return nil
}

// A job is a step with the candidates that remain when it runs.
type job struct {
	step   *anotStep
	name   string
	asked  []int // candidates
	answer Answer
}

// layer runs steps that do not depend on each other in parallel.
func (n *network) layer(ctx context.Context, name string, steps []int) error {
	open := n.open()
	var jobs []job
	for _, i := range steps {
		j := job{step: &n.steps[i], name: name + "/" + n.steps[i].ID}
		j.asked = slices.DeleteFunc(slices.Clone(j.step.Candidates), func(c int) bool { return !slices.Contains(open, c) })
		if n.byPeople(&j); len(j.asked) > 0 {
			jobs = append(jobs, j)
		} else {
			n.note(j.name, "note", "no candidates left to ask about")
		}
	}
	// All prompts of a layer are built before the first call: the results of
	// one step must not change the prompt of another.
	prompts, names := make([]Prompt, len(jobs)), make([]string, len(jobs))
	for i := range jobs {
		prompts[i], names[i] = n.stepPrompt(&jobs[i]), jobs[i].name
	}
	err := n.inParallel(names, func(i int) (err error) {
		jobs[i].answer, err = n.put(ctx, jobs[i].name, prompts[i])
		return err
	})
	if err != nil {
		return err
	}
	for i := range jobs {
		j := &jobs[i]
		n.answered(j.name, j.answer)
		n.learn(j, n.readTruths(j.name, j.answer, j.asked))
	}
	return nil
}

// learn stores the truths a step found. An unknown does not overwrite the
// result of an earlier step.
func (n *network) learn(j *job, truths []evidence.Truth) {
	condition := n.truths[n.condition(j.step.Condition)]
	marks := make([]string, len(truths))
	for i, t := range truths {
		if t != evidence.Unknown {
			condition[j.asked[i]-1] = t
		}
		marks[i] = fmt.Sprintf("%d %s", j.asked[i], mark(t))
	}
	n.note(j.name, "truth", "%s: %s", j.step.Condition, strings.Join(marks, ", "))
}

// writers returns the people whose reviews a condition is about; nil means
// everybody, also if the plan names only unknown people.
func (n *network) writers(c *condition) map[string]bool {
	if c.Kind != kindSocial {
		return nil
	}
	people := n.Society.within(c.Names, int(c.Hops))
	if len(people) == 0 {
		return nil
	}
	return people
}

// byPeople decides without a model: a condition about certain people fails if
// none of them wrote a review.
func (n *network) byPeople(j *job) {
	c := &n.conditions[n.condition(j.step.Condition)]
	people := n.writers(c)
	if people == nil {
		return
	}
	j.asked = slices.DeleteFunc(j.asked, func(i int) bool {
		switch {
		case n.cards.hasReviewBy(i, people):
			return false
		case len(n.Candidates[i-1].Reviews) == 0: // unknown
			return true
		}
		n.truths[n.condition(c.ID)][i-1] = evidence.False
		n.note(j.name, "truth", "%s: %d no, none of them wrote a review", c.ID, i)
		return true
	})
}

// stepPrompt asks about one condition.
func (n *network) stepPrompt(j *job) Prompt {
	at := n.condition(j.step.Condition)
	c := &n.conditions[at]
	question := "Question, for each candidate: " + j.step.Question
	if j.step.Question != c.Text {
		question += "\nIt helps to decide this condition: " + c.Text
	}
	p := Prompt{System: anotSystem, Schema: truthsSchema, Optional: true, Messages: askWith(question, n.reviewsBy(j.asked, n.writers(c), ""), truthsTask)}
	return truthsRight(p, n.session, j.asked, func(i int) evidence.Truth {
		if leaves := n.sheet.leaves(); at < len(leaves) {
			return n.sheet.leaf(leaves[at], i)
		}
		return evidence.Unknown
	})
}

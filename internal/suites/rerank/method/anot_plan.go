package method

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

const (
	anotPlans      = 2  // attempts at the plan
	anotConditions = 12 // at most
)

// The kinds of condition.
const (
	kindAttr   = "ATTR"
	kindHours  = "HOURS"
	kindReview = "REVIEW"
	kindSocial = "SOCIAL"
)

// A condition is one requirement of the request. Its kind is the data that
// decides it.
type condition struct {
	ID    string   `json:"id"`
	Kind  string   `json:"kind"`
	Text  string   `json:"text"`
	Path  string   `json:"path"`  // ATTR
	Test  string   `json:"test"`  // ATTR
	Value string   `json:"value"` // ATTR
	Day   string   `json:"day"`   // HOURS
	From  string   `json:"from"`  // HOURS
	To    string   `json:"to"`    // HOURS
	Names []string `json:"names"` // SOCIAL
	Hops  number   `json:"hops"`  // SOCIAL
}

type anotPlan struct {
	Reasoning  string      `json:"reasoning"`
	Conditions []condition `json:"conditions"`
	Logic      string      `json:"logic"`
}

// makePlan asks for conditions and logic, and rules out candidates by
// attributes and hours.
func (n *network) makePlan(ctx context.Context) error {
	p := Prompt{System: system("anot"), Schema: schema("plan", "anot_plan"),
		Messages: ask1(n.request(), n.schemaText(), wording("anot_plan")), Simulated: n.simulatedPlan}
	var wrong error
	err := n.attempts(ctx, "plan", p, anotPlans, func(step string, a Answer, _ bool) (string, string, error) {
		if wrong = n.readPlan(step, a); wrong == nil {
			n.prune(step)
			return "", "", nil
		}
		return wrong.Error(), fmt.Sprintf("That plan cannot be used: %v. Answer again with the whole JSON object.", wrong), nil
	})
	if err == nil && wrong != nil {
		err = fault(InvalidPlan, "%d attempts, the last: %v", anotPlans, wrong)
	}
	return err
}

var idForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,19}$`)

// readPlan parses and validates a plan.
func (n *network) readPlan(step string, a Answer) error {
	var plan anotPlan
	if err := n.decode(step, a, "conditions", &plan); err != nil {
		return err
	}
	if len(plan.Conditions) == 0 || len(plan.Conditions) > anotConditions {
		return fmt.Errorf("the plan has %s, want 1 to %d", count(len(plan.Conditions), "condition"), anotConditions)
	}
	for i := range plan.Conditions {
		c := &plan.Conditions[i]
		if !idForm.MatchString(c.ID) || slices.ContainsFunc(plan.Conditions[:i], func(o condition) bool { return o.ID == c.ID }) {
			return fmt.Errorf("condition id %q is invalid or duplicate", ellipsis(c.ID, 40))
		}
		n.resolve(c)
		if err := c.check(); err != nil {
			return fmt.Errorf("condition %s: %w", c.ID, err)
		}
	}
	logic, err := request.ParseShorthand(plan.Logic)
	if err != nil {
		return fmt.Errorf("parsing the logic: %w", err)
	}
	n.conditions = plan.Conditions
	for _, leaf := range logic.Leaves() {
		if n.condition(leaf.Aspect) < 0 {
			return fmt.Errorf("the logic refers to %q, which is not a condition", ellipsis(leaf.Aspect, 40))
		}
	}
	n.logic = logic
	return nil
}

// resolve adds a missing "attributes." prefix to a path.
func (n *network) resolve(c *condition) {
	known := func(path string) bool {
		return slices.ContainsFunc(n.Candidates, func(k Candidate) bool { return k.Item.At(path) != nil })
	}
	if long := "attributes." + c.Path; c.Kind == kindAttr && !known(c.Path) && known(long) {
		c.Path = long
	}
}

func (c *condition) check() error {
	switch c.Kind {
	case kindAttr, kindHours:
		_, err := c.evidence()
		return err
	case kindReview:
		return nil
	case kindSocial:
		if len(c.Names) == 0 || c.Hops < 0 || c.Hops > 2 {
			return fmt.Errorf("SOCIAL needs names, and hops from 0 to 2")
		}
		return nil
	}
	return fmt.Errorf("unknown kind %q", ellipsis(c.Kind, 40))
}

// prune evaluates the conditions that need no model and records the candidates
// that they rule out.
func (n *network) prune(step string) {
	evaluator := evidence.New(nil)
	n.found = make([][]evidence.Truth, len(n.conditions))
	for i := range n.conditions {
		c := &n.conditions[i]
		n.found[i] = make([]evidence.Truth, len(n.Candidates))
		e, err := c.evidence()
		if err != nil {
			continue // a condition on reviews, checked before
		}
		for k := range n.Candidates {
			n.found[i][k] = evaluator.Leaf(e, n.Candidates[k].Item)
		}
	}
	n.record(step, "plan", n.describe())
	open := n.open()
	out := slices.DeleteFunc(n.everyone(), func(i int) bool { return slices.Contains(open, i) })
	for _, i := range out {
		n.note(step, "prune", "%d ruled out: %s", i, n.line(i))
	}
	if len(out) == 0 {
		n.note(step, "prune", "no candidates ruled out")
	}
}

// describe formats the plan for the trace and the next phase.
func (n *network) describe() string {
	var b strings.Builder
	for i := range n.conditions {
		fmt.Fprintln(&b, n.conditions[i].describe())
	}
	return b.String() + "logic: " + n.logic.Shorthand()
}

func (c *condition) describe() string {
	switch c.Kind {
	case kindAttr:
		return fmt.Sprintf("%s ATTR %s %s %s: %s", c.ID, c.Path, c.Test, c.Value, c.Text)
	case kindHours:
		return fmt.Sprintf("%s HOURS %s %s-%s: %s", c.ID, c.Day, c.From, c.To, c.Text)
	case kindSocial:
		return fmt.Sprintf("%s SOCIAL %s, %d hops: %s", c.ID, strings.Join(c.Names, ", "), c.Hops, c.Text)
	}
	return fmt.Sprintf("%s %s: %s", c.ID, c.Kind, c.Text)
}

// simulatedPlan is the structure itself, or, wrongly, its negation.
func (n *network) simulatedPlan(m Mind) string {
	plan := anotPlan{Reasoning: "The conditions in the order of the request."}
	ids := map[*request.Node]string{}
	for i, leaf := range n.leaves() {
		ids[leaf] = fmt.Sprintf("C%d", i+1)
		plan.Conditions = append(plan.Conditions, conditionOf(ids[leaf], leaf))
	}
	if plan.Logic = n.Structure.Format(func(leaf *request.Node) string { return ids[leaf] }); m == Wrongly {
		plan.Logic = "NOT(" + plan.Logic + ")"
	}
	return jsonText(plan)
}

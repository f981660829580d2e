package method

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

const (
	anotRounds     = 8  // of the loop
	anotUnreadable = 2  // invalid tool calls that end the loop
	anotBatch      = 10 // candidates per step in the first plan
	anotSteps      = 40 // maximum number of steps
)

// A step decides one condition for some candidates.
type anotStep struct {
	ID         string   `json:"id"`
	Condition  string   `json:"condition"`
	Candidates numbers  `json:"candidates"`
	Question   string   `json:"question"`
	After      []string `json:"after"`
}

func (s *anotStep) describe() string {
	after := ""
	if len(s.After) > 0 {
		after = " after " + strings.Join(s.After, ", ")
	}
	return fmt.Sprintf("%s: %s for %s%s: %s", s.ID, s.Condition, Join(s.Candidates), after, s.Question)
}

// firstSteps plans one step per open condition and anotBatch candidates.
func (n *network) firstSteps() {
	for i := range n.conditions {
		c := &n.conditions[i]
		if c.Kind != kindReview && c.Kind != kindSocial {
			continue
		}
		for batch := range slices.Chunk(n.open(), anotBatch) {
			n.steps = append(n.steps, anotStep{ID: fmt.Sprintf("S%d", len(n.steps)+1), Condition: c.ID, Candidates: batch, Question: c.Text})
		}
	}
}

// An anotTool is a tool call on the plan of steps.
type anotTool struct {
	Thought   string   `json:"thought"`
	Tool      string   `json:"tool"`
	Step      anotStep `json:"step"`
	Candidate number   `json:"candidate"`
	Page      number   `json:"page"`
}

// expand lets the model edit the plan of steps. If no condition is open, it
// does nothing. After invalid tool calls or too many rounds the steps stay as
// they are: the plan is executable at any time.
func (n *network) expand(ctx context.Context) error {
	n.firstSteps()
	if len(n.steps) == 0 {
		n.note("expand", "note", "attributes and hours decide everything: no steps")
		return nil
	}
	messages := ask1(n.request(), "Plan:\n"+n.describe(), n.names(), "Candidates not ruled out: "+Join(n.open()), "Steps:\n"+n.listSteps(), fmt.Sprintf(wording("anot_expand"), anotRounds))
	unreadable := 0
	for round := 1; round <= anotRounds; round++ {
		step := fmt.Sprintf("expand/%02d", round)
		a, err := n.query(ctx, step, Prompt{System: system("anot"), Schema: schema("tool", "anot_tool"), Messages: messages, Optional: true, Simulated: n.simulatedTool})
		if err != nil {
			return err
		}
		var tool anotTool
		err = n.decode(step, a, "tool", &tool)
		if a.Failed != "" || err != nil {
			if unreadable++; a.Failed != "" || unreadable == anotUnreadable {
				n.note(step, "fault", "the steps stay as they are: %v", err)
				if a.Failed == "" {
					n.remark(step, NoteUnread)
				}
				return nil
			}
			n.remark(step, NoteAgain)
		}
		var seen string
		switch {
		case err != nil:
			seen = fmt.Sprintf("Invalid tool call (%v). Answer with one JSON object as described.", err)
		case tool.Tool == "done":
			n.note(step, "action", "done")
			return nil
		default:
			seen = n.use(&tool)
		}
		n.record(step, "action", seen)
		messages = turn(messages, a, "Result:\n"+seen)
	}
	n.note("expand", "note", "limit of %d rounds reached: the steps stay as they are", anotRounds)
	return nil
}

// use executes a tool call and returns its result as text.
func (n *network) use(t *anotTool) string {
	at := slices.IndexFunc(n.steps, func(s anotStep) bool { return s.ID == t.Step.ID })
	switch t.Tool {
	case "list":
		return n.listSteps()
	case "read":
		if !n.isCandidate(int(t.Candidate)) {
			return fmt.Sprintf("Candidate %d does not exist.", t.Candidate)
		}
		return n.cardPage(int(t.Candidate), int(t.Page))
	case "insert":
		if at >= 0 {
			return fmt.Sprintf("Step %s already exists: use set.", t.Step.ID)
		}
		if len(n.steps) >= anotSteps {
			return fmt.Sprintf("The plan already has the maximum of %d steps.", len(n.steps))
		}
		if t.Step.Question == "" {
			if c := n.condition(t.Step.Condition); c >= 0 {
				t.Step.Question = n.conditions[c].Text
			}
		}
		if wrong := n.wrong(&t.Step); wrong != "" {
			return wrong
		}
		n.steps = append(n.steps, t.Step)
		return "Inserted " + t.Step.describe()
	case "set":
		if at < 0 {
			return fmt.Sprintf("Step %q does not exist.", ellipsis(t.Step.ID, 40))
		}
		changed := n.steps[at]
		changed.merge(&t.Step)
		if wrong := n.wrong(&changed); wrong != "" {
			return wrong
		}
		n.steps[at] = changed
		return "Set " + changed.describe()
	}
	return fmt.Sprintf("Unknown tool %q.", ellipsis(t.Tool, 40))
}

// merge overwrites the fields that are set in o.
func (s *anotStep) merge(o *anotStep) {
	s.Condition, s.Question = cmp.Or(o.Condition, s.Condition), cmp.Or(o.Question, s.Question)
	if len(o.Candidates) > 0 {
		s.Candidates = o.Candidates
	}
	if len(o.After) > 0 {
		s.After = o.After
	}
}

// wrong returns why a step is invalid, or "". Dependencies are checked when the
// steps are executed.
func (n *network) wrong(s *anotStep) string {
	c := n.condition(s.Condition)
	switch {
	case !idForm.MatchString(s.ID):
		return fmt.Sprintf("%q is not a valid step id.", ellipsis(s.ID, 40))
	case c < 0 || n.conditions[c].Kind == kindAttr || n.conditions[c].Kind == kindHours:
		return fmt.Sprintf("Step %s: %q is not a condition of kind REVIEW or SOCIAL.", s.ID, ellipsis(s.Condition, 40))
	case len(s.Candidates) == 0:
		return fmt.Sprintf("Step %s has no candidates.", s.ID)
	}
	s.Candidates = slices.Compact(slices.Sorted(slices.Values(s.Candidates)))
	for _, i := range s.Candidates {
		if !n.isCandidate(i) {
			return fmt.Sprintf("Step %s: candidate %d does not exist.", s.ID, i)
		}
	}
	return ""
}

func (n *network) listSteps() string {
	lines := make([]string, len(n.steps))
	for i := range n.steps {
		lines[i] = n.steps[i].describe()
	}
	return strings.Join(lines, "\n")
}

// simulatedTool is done; wrongly, it removes the best candidate from a step.
func (n *network) simulatedTool(m Mind) string {
	if m == Rightly {
		return anotToolText(anotTool{Thought: "The steps cover the conditions.", Tool: "done"})
	}
	best := n.order(n.everyone(), Rightly)[0]
	for _, s := range n.steps {
		if rest := slices.DeleteFunc(slices.Clone(s.Candidates), func(k int) bool { return k == best }); len(rest) > 0 && len(rest) < len(s.Candidates) {
			return anotToolText(anotTool{Thought: "That one need not be checked.", Tool: "set", Step: anotStep{ID: s.ID, Candidates: rest}})
		}
	}
	return anotToolText(anotTool{Thought: "I look at the steps.", Tool: "list"})
}

func anotToolText(t anotTool) string {
	if t.Step.Candidates == nil {
		t.Step.Candidates = []int{}
	}
	if t.Step.After == nil {
		t.Step.After = []string{}
	}
	t.Page = max(t.Page, 1)
	return jsonText(t)
}

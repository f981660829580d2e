package method

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// The limits of the loop: actions before it must finish, and invalid actions
// before it fails.
const (
	planActActions    = 12
	planActUnreadable = 3
)

// planAct plans in words and then acts in a loop: the model sees only the
// candidates' names and looks things up until it finishes (Yao et al., ReAct,
// ICLR 2023; Erdogan et al., Plan-and-Act, 2025).
func planAct(ctx context.Context, s *session) ([]int, error) {
	plan, err := s.plan(ctx, system("plan_act"))
	if err != nil {
		return nil, err
	}
	l := &planActLoop{session: s, misled: misled(plan),
		messages: ask1(s.request(), s.schemaText(), s.names(), "Your plan:\n"+plan.Text, fmt.Sprintf(wording("plan_act"), planActActions, len(s.Candidates)))}
	for i := 1; i <= planActActions; i++ {
		ranking, done, err := l.act(ctx, fmt.Sprintf("act/%02d", i), i-1)
		if done || err != nil {
			return ranking, err
		}
	}
	// Some providers reject two user turns in a row.
	l.messages = slices.Clone(l.messages)
	l.messages[len(l.messages)-1].Content += "\n\nNo look-ups are left. Finish now with what you know."
	for _, step := range []string{"finish", "finish/retry1"} {
		ranking, done, err := l.act(ctx, step, planActActions)
		if done || err != nil {
			return ranking, err
		}
	}
	return nil, fault(InvalidUnfinished, "the last action is not finish")
}

type planActLoop struct {
	*session
	messages   []eval.Message
	misled     bool
	unreadable int
	again      bool // a ranking was asked for again
}

// A planActAction is one action of the model.
type planActAction struct {
	Thought   string `json:"thought"`
	Action    string `json:"action"`
	Argument  string `json:"argument"`
	Candidate number `json:"candidate"`
	Page      number `json:"page"`
	Ranking   any    `json:"ranking"`
}

// act asks for one action and executes it.
func (l *planActLoop) act(ctx context.Context, step string, done int) ([]int, bool, error) {
	a, err := l.complete(ctx, step, Prompt{System: system("plan_act"), Messages: l.messages, Schema: schema("action", "plan_act"), Simulated: l.simulated(done)})
	if err != nil {
		return nil, false, err
	}
	var action planActAction
	err = l.decode(step, a, "action", &action)
	if err != nil || action.Action == "" {
		if r, none := ReadRanking(a.Text, len(l.Candidates)); none == nil { // it finishes without the action
			r.note(NoteFormat)
			return l.kept(step, r), true, nil
		}
	}
	if err != nil {
		if l.unreadable++; l.unreadable == planActUnreadable {
			return nil, false, fault(InvalidNoRanking, "%d invalid actions, the last: %v", l.unreadable, err)
		}
		l.reject(step, a, fmt.Sprintf("Invalid action (%v). Answer with one JSON object as described.", err))
		return nil, false, nil
	}
	if action.Action == "finish" {
		var r Ranking
		list, plain, err := readValue(action.Ranking)
		if err == nil {
			r, err = choose(list, len(l.Candidates))
		}
		if f, ok := errors.AsType[*Fault](err); ok && !l.again {
			l.again = true
			l.reject(step, a, fmt.Sprintf("That ranking cannot be used: %s. Finish again.", f.Detail))
			return nil, false, nil
		}
		if err == nil && !plain {
			r.note(NoteFormat)
		}
		return l.kept(step, r), true, err
	}
	if done == planActActions {
		l.reject(step, a, "No look-ups are left: finish.")
		return nil, false, nil
	}
	l.observe(step, a, l.do(action))
	return nil, false, nil
}

// reject tells the model what is wrong with an answer.
func (l *planActLoop) reject(step string, a Answer, text string) {
	l.remark(step, NoteAgain)
	l.observe(step, a, text)
}

func (l *planActLoop) observe(step string, a Answer, text string) {
	l.record(step, "action", text)
	l.messages = turn(l.messages, a, "Observation:\n"+text)
}

// do executes a look-up.
func (l *planActLoop) do(a planActAction) string {
	candidate, at := int(a.Candidate), int(a.Page)
	switch a.Action {
	case "attribute":
		return l.attribute(a.Argument)
	case "hours":
		return l.hours(a.Argument)
	case "search":
		return l.search(a.Argument, at)
	case "reviews":
		if !l.isCandidate(candidate) {
			return fmt.Sprintf("Candidate %d does not exist.", candidate)
		}
		return l.reviewPage(candidate, at)
	case "people":
		people := l.peopleCalled(a.Argument)
		return page(strings.SplitAfter(people, "\n"), at, "line")
	}
	return fmt.Sprintf("Unknown action %q.", a.Action)
}

// simulated looks up one condition after the other, and after as many actions finishes.
func (l *planActLoop) simulated(done int) func(Mind) string {
	return func(m Mind) string {
		if leaves := l.leaves(); m == Rightly && done < min(len(leaves), planActActions) {
			return actionText(lookUp(leaves[done].Evidence))
		}
		return actionText(planActAction{Thought: "I have seen enough.", Action: "finish", Ranking: l.places(l.everyone(), l.K, l.misled, m)})
	}
}

// lookUp returns the action that shows the data of a condition.
func lookUp(e *request.Evidence) planActAction {
	a := planActAction{Thought: "I look up the next condition."}
	switch kind := e.Kind; {
	case kind == request.ItemMetaHours:
		a.Action, a.Argument = "hours", e.Day
	case kind == request.ItemMeta:
		a.Action, a.Argument = "attribute", e.Path
	case kind == request.SocialFilter && len(e.Names) > 0:
		a.Action, a.Argument = "people", e.Names[0]
	default:
		a.Action, a.Argument = "search", e.Pattern
	}
	return a
}

func actionText(a planActAction) string {
	if a.Ranking == nil {
		a.Ranking = []any{}
	}
	a.Page = max(a.Page, 1)
	return jsonText(a)
}

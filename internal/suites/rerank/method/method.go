// Package method implements the methods that rank candidates for a request, one
// file each. A method is a function from a task to a ranking. Adding one touches
// its own file and one line of [All].
//
// # Rules for methods
//
// A method asks models only through the [Asker] it is given. Step names are
// unique in the trial and the same in every run of it: an interrupted trial
// restarts from the beginning and is answered from the journal, so its prompts
// must be identical byte for byte. Methods use no clock, no map iteration order
// and no randomness except the task's seed; the names of parallel steps do not
// depend on which runs first.
//
// Whatever a model writes, the result is a ranking or a [Result] with the reason
// why there is none. Only the asker and the context cause errors.
//
// Methods that ask models never read the task's structure. It exists for the
// oracle and for the simulated provider, which gets its answers from
// [Prompt.Simulated].
//
// The package must not know any provider, store, clock or statistic, nor how a
// trial is scored.
package method

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
	"github.com/scruple-eval/scruple/internal/suites/rerank/sqltable"
)

// A Task is a request with the candidates to rank. Methods do not change it.
type Task struct {
	ID         string // of the request
	Text       string // what is asked for, in words
	Candidates []Candidate
	K          int                 // places to rank; at least 1
	Seed       uint64              // of the run
	Graph      *catalog.Graph      // friendships; may be nil
	Cards      *Cards              // of the study
	Defence    string              // preamble of every system prompt, "" for none
	Structure  *request.Node       // only for the oracle and the simulated provider
	Evaluator  *evidence.Evaluator // of Structure
	Several    bool                // more than one candidate may satisfy a request of the study
}

// A Candidate is an item as shown to the method.
type Candidate struct {
	Item    *catalog.Item
	Reviews []catalog.Review // after budget and attack
	Grade   int              // of relevance; 0 if not right. Only the oracle and simulated answers depend on it
}

// A Prompt is the request of one step to a model.
type Prompt struct {
	System   string
	Messages []eval.Message
	// Schema is the schema of an answer that is one JSON object. The messages
	// say the same in words, for models without schema support.
	Schema *eval.Schema
	// Optional reports that the method continues without this answer. An asker
	// may then turn a permanent failure into an answer with Failed set; it must
	// do the same when the trial is repeated.
	Optional bool
	// Simulated returns the answer of a simulated model to this step. It is slow and is
	// called only for simulated models; it reads nothing that can change later.
	Simulated func(Mind) string
}

// An Answer is a model's answer to a prompt.
type Answer struct {
	Text   string
	Stop   eval.Stop // StopRefused marks a refusal
	Failed string    // why there is no answer, for optional steps
}

// An Asker asks a model in a named step. It must be safe for concurrent use.
type Asker func(ctx context.Context, step string, p Prompt) (Answer, error)

// A Result is the outcome of a method for a task.
type Result struct {
	Ranking []int // from 1, each at most once; best first
	// Invalid is why there is no ranking, from the closed set of reasons, and
	// Detail the same in words.
	Invalid string
	Detail  string
	// Notes say how answers differed from what was asked for, from the closed set of
	// notes, each at most once.
	Notes []string
	Trace []Event
	// Parallel lists the groups of steps that ran in parallel. A step's retries have
	// its name and a suffix after a slash.
	Parallel [][]string
}

// An Event is one entry of the trace. The order is logical, not chronological.
type Event struct {
	Step string `json:"step"`
	Kind string `json:"kind"` // answer, note, plan, prune, action, sql, truth, order, fault
	Text string `json:"text"`
}

// A Method is a way to rank.
type Method struct {
	Name string
	Asks bool // it asks models
	Rank func(ctx context.Context, t Task, ask Asker) (Result, error)
}

// All lists the methods, those without a model first.
func All() []Method {
	return []Method{
		{Name: "random", Rank: ranks(random)},
		{Name: "bm25", Rank: ranks(bm25)},
		{Name: "oracle", Rank: ranks(oracle)},
		{Name: "cot", Asks: true, Rank: ranks(cot)},
		{Name: "ps", Asks: true, Rank: ranks(planAndSolve)},
		{Name: "plan_act", Asks: true, Rank: ranks(planAct)},
		{Name: "listwise", Asks: true, Rank: ranks(listwise(20, 10))},
		{Name: "weaver", Asks: true, Rank: ranks(weaver(sqltable.Limits{Rows: weaverRows, Bytes: weaverBytes}))},
		{Name: "anot", Asks: true, Rank: ranks(anot)},
	}
}

// Find returns the method with this name.
func Find(name string) (Method, error) {
	var names []string
	for _, m := range All() {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Method{}, fmt.Errorf("unknown method %q: want one of %s", name, strings.Join(names, ", "))
}

// A session is one task being ranked.
type session struct {
	Task
	ask    Asker
	truths func() []evidence.Truth
	result Result
}

// A ranker ranks the candidates of a session.
type ranker func(ctx context.Context, s *session) ([]int, error)

// ranks adapts a ranker to [Method.Rank]. Faults become results
// without a ranking; other errors are returned.
func ranks(rank ranker) func(context.Context, Task, Asker) (Result, error) {
	return func(ctx context.Context, t Task, ask Asker) (Result, error) {
		t.K = min(max(t.K, 1), len(t.Candidates))
		s := &session{Task: t, ask: ask}
		s.truths = sync.OnceValue(s.evaluate)
		err := error(fault(InvalidNone, "the task has no candidates"))
		if len(t.Candidates) > 0 {
			s.result.Ranking, err = rank(ctx, s)
		}
		if f, ok := errors.AsType[*Fault](err); ok {
			s.record("", "fault", f.Error())
			s.result.Ranking, s.result.Invalid, s.result.Detail = nil, f.Reason, f.Detail
			err = nil
		}
		if err != nil {
			return Result{Trace: s.result.Trace}, err
		}
		return s.result, nil
	}
}

// put asks without recording the answer, for steps that run in parallel.
func (s *session) put(ctx context.Context, step string, p Prompt) (Answer, error) {
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	if s.Several {
		p.System = strings.Replace(p.System, onlyOne, oneOrMore, 1)
	}
	if s.Defence != "" {
		p.System = s.Defence + "\n\n" + p.System
	}
	return s.ask(ctx, step, p)
}

// query asks and records the answer.
func (s *session) query(ctx context.Context, step string, p Prompt) (Answer, error) {
	a, err := s.put(ctx, step, p)
	if err == nil {
		s.answered(step, a)
	}
	return a, err
}

// complete is query for an answer that must be whole.
func (s *session) complete(ctx context.Context, step string, p Prompt) (Answer, error) {
	a, err := s.query(ctx, step, p)
	if f := FaultOf(a.Stop, a.Text); err == nil && f != nil {
		err = f
	}
	return a, err
}

// attempts asks until an answer can be used, at most n times. Use returns what is wrong with
// an answer, which is recorded, and what the model is told when it is asked again. If nothing
// is wrong, or on an error, attempts returns.
func (s *session) attempts(ctx context.Context, step string, p Prompt, n int, use func(name string, a Answer, last bool) (wrong, again string, err error)) error {
	for attempt := range n {
		name := step
		if attempt > 0 {
			name = fmt.Sprintf("%s/retry%d", step, attempt)
		}
		a, err := s.complete(ctx, name, p)
		if err != nil {
			return err
		}
		wrong, again, err := use(name, a, attempt+1 == n)
		if err != nil || wrong == "" {
			return err
		}
		s.record(name, "fault", wrong)
		if attempt+1 < n {
			s.remark(name, NoteAgain)
		}
		p.Messages = turn(p.Messages, a, again)
	}
	return nil
}

func (s *session) answered(step string, a Answer) {
	switch {
	case a.Failed != "":
		s.record(step, "fault", a.Failed)
	case a.Stop == eval.StopRefused:
		s.record(step, "fault", "refused: "+a.Text)
	default:
		s.record(step, "answer", a.Text)
	}
}

func (s *session) record(step, kind, text string) {
	s.result.Trace = append(s.result.Trace, Event{Step: step, Kind: kind, Text: text})
}

func (s *session) note(step, kind, format string, args ...any) {
	s.record(step, kind, fmt.Sprintf(format, args...))
}

// remark adds a note to the result and to the trace.
func (s *session) remark(step, note string) {
	s.record(step, "note", note)
	if !slices.Contains(s.result.Notes, note) {
		s.result.Notes = append(s.result.Notes, note)
	}
}

// ask1 returns the messages of a one-turn prompt.
func ask1(parts ...string) []eval.Message {
	return []eval.Message{{Role: "user", Content: strings.Join(parts, "\n\n")}}
}

// turn appends an answer and a reply to a conversation. An empty answer becomes
// "…", since providers reject empty turns.
func turn(messages []eval.Message, a Answer, reply string) []eval.Message {
	said := a.Text
	if strings.TrimSpace(said) == "" {
		said = "…"
	}
	return append(slices.Clip(messages), eval.Message{Role: "assistant", Content: said}, eval.Message{Role: "user", Content: reply})
}

// everyone lists all candidates.
func (s *session) everyone() []int { return s.sorted(func(int, int) int { return 0 }) }

// sorted returns the indices of all candidates in order; the sort is stable.
func (s *session) sorted(compare func(a, b int) int) []int {
	order := make([]int, len(s.Candidates))
	for i := range order {
		order[i] = i + 1
	}
	slices.SortStableFunc(order, compare)
	return order
}

func (s *session) isCandidate(i int) bool { return i >= 1 && i <= len(s.Candidates) }

// Join writes numbers as 3, 1, 7.
func Join(list []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ", "), "[]")
}

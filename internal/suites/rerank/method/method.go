// Package method holds the ways to rank candidates for a request, one file
// each. A method is one function: task in, ranking out. Adding one touches its own file and one line of [All].
//
// # What a method must keep
//
// It asks models only through the [Asker] it is given, under step names that
// are unique in the trial and the same when the trial is performed again: a
// trial that died is done from its start and answered from the journal, so
// the prompts must come out byte for byte. No clock, no map's order, no chance
// but the task's seed; steps that run at once have names that do not depend on
// which is first.
//
// Whatever a model writes, a refusal or nonsense included, ends in a ranking
// or in a [Result] that says why there is none. An error is only what the
// asker or the context returned.
//
// Methods that ask models never read the task's structure. It is there for the
// oracle and for the simulated provider, which is told by [Prompt.Right] what
// a step's right answer would be.
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
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// A Task is a request with the candidates to rank. Methods do not change it.
type Task struct {
	ID         string // of the request
	Text       string // what is asked for, in words
	Candidates []Candidate
	K          int            // how many places are asked for; at least 1
	Seed       uint64         // of the run
	Society    *Society       // who knows whom; nil if nobody does
	Defence    string         // preamble of every system prompt, "" for none
	Structure  *request.Node  // for the oracle and the simulated provider only
	Graph      *catalog.Graph // goes with Structure
	Promoted   int            // index of the candidate that injections speak for, 0 for none
}

// A Candidate is an item as the method is shown it.
type Candidate struct {
	Item    *catalog.Item
	Reviews []catalog.Review // after budget and attack
	// Injected says that the reviews hold an injection, so that a simulated
	// model can be lured by it. Methods do not read it otherwise.
	Injected bool
}

// A Prompt is what one step asks.
type Prompt struct {
	System   string
	Messages []eval.Message
	// Schema is the form of the answer where it is one JSON object. The
	// messages say the same in words, for models that take no schema.
	Schema *eval.Schema
	// Optional says that the method goes on without this answer. An asker may
	// then turn a call that failed for good into an answer with Failed set;
	// it must do the same when the trial is performed again.
	Optional bool
	// Right, Wrong and Lured give what a simulated model writes: the right
	// answer of this step, a wrong one, and one that does what an injection in
	// this prompt says (nil if there is none). They cost time and are called
	// for simulated models only; they read nothing that can change afterwards.
	Right, Wrong, Lured func() string
}

// An Answer is what a model gave.
type Answer struct {
	Text   string
	Stop   eval.Stop // StopRefused marks a refusal
	Failed string    // why there is no answer, for optional steps
}

// An Asker asks a model in a named step. It is called from several goroutines.
type Asker func(ctx context.Context, step string, p Prompt) (Answer, error)

// A Result is what a method made of a task.
type Result struct {
	Ranking []int // from 1, each at most once; best first
	// Invalid is why there is no ranking, from the closed set of reasons, and
	// Detail the same in words.
	Invalid string
	Detail  string
	Trace   []Event
}

// An Event is one thing that happened on the way, in the order in which it
// counts and not in which it was done.
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

// All lists the methods, those that ask nobody first.
func All() []Method {
	return []Method{
		Random(),
		BM25(),
		Oracle(),
		CoT(),
		PlanAndSolve(),
		PlanAct(),
		Listwise(20, 10),
		Weaver(),
		ANoT(),
	}
}

// Find gives the method of a name.
func Find(name string) (Method, error) {
	var names []string
	for _, m := range All() {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Method{}, fmt.Errorf("there is no method %q: want one of %s", name, strings.Join(names, ", "))
}

// A session is one task being ranked.
type session struct {
	Task
	ask    Asker
	sheet  *sheet
	cards  *cards
	events []Event
}

// ranks makes the function of a method from one that works in a session.
// Faults become results without a ranking, other errors are passed on.
func ranks(rank func(ctx context.Context, s *session) ([]int, error)) func(context.Context, Task, Asker) (Result, error) {
	return func(ctx context.Context, t Task, ask Asker) (Result, error) {
		t.K = min(max(t.K, 1), len(t.Candidates))
		s := &session{Task: t, ask: ask}
		s.sheet, s.cards = &sheet{task: &s.Task}, &cards{&s.Task}
		var ranking []int
		err := error(fault(InvalidNone, "the task has no candidates"))
		if len(t.Candidates) > 0 {
			ranking, err = rank(ctx, s)
		}
		var f *Fault
		switch {
		case errors.As(err, &f):
			s.record("", "fault", f.Error())
			return Result{Invalid: f.Reason, Detail: f.Detail, Trace: s.events}, nil
		case err != nil:
			return Result{Trace: s.events}, err
		}
		return Result{Ranking: ranking, Trace: s.events}, nil
	}
}

// put asks, with the defence before the system prompt. It may be called from
// several goroutines and records nothing.
func (s *session) put(ctx context.Context, step string, p Prompt) (Answer, error) {
	if err := ctx.Err(); err != nil {
		return Answer{}, err
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
	s.events = append(s.events, Event{Step: step, Kind: kind, Text: text})
}

func (s *session) note(step, kind, format string, args ...any) {
	s.record(step, kind, fmt.Sprintf(format, args...))
}

// ask1 is the messages of a prompt of one turn.
func ask1(parts ...string) []eval.Message {
	return []eval.Message{{Role: "user", Content: strings.Join(parts, "\n\n")}}
}

// turn goes on with a conversation: an answer, and what is said to it. An empty
// answer is a turn that providers refuse.
func turn(messages []eval.Message, a Answer, reply string) []eval.Message {
	said := a.Text
	if strings.TrimSpace(said) == "" {
		said = "…"
	}
	return append(slices.Clip(messages), eval.Message{Role: "assistant", Content: said}, eval.Message{Role: "user", Content: reply})
}

// schema is the form of an answer. The JSON is part of the program.
func schema(name, json string) *eval.Schema {
	return &eval.Schema{Name: name, Strict: true, JSON: []byte(json)}
}

// inParallel does n things at once and returns the first error by number, so
// that the same error comes back whichever was first.
func inParallel(n int, do func(i int) error) error {
	errs := make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { errs[i] = do(i) })
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

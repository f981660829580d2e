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
// oracle and for the simulated provider, which gets the right answer of a step
// from [Prompt.Right].
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
)

// A Task is a request with the candidates to rank. Methods do not change it.
type Task struct {
	ID         string // of the request
	Text       string // what is asked for, in words
	Candidates []Candidate
	K          int                 // places to rank; at least 1
	Seed       uint64              // of the run
	Society    *Society            // friendships; may be nil
	Defence    string              // preamble of every system prompt, "" for none
	Structure  *request.Node       // only for the oracle and the simulated provider
	Graph      *catalog.Graph      // goes with Structure
	Deck       *Deck               // shared by tasks; may be nil
	Evaluator  *evidence.Evaluator // for Graph, shared by tasks; may be nil
	Several    bool                // more than one candidate may satisfy a request of the study
	Promoted   int                 // index of the candidate that injections promote, 0 for none
}

// A Candidate is an item as shown to the method.
type Candidate struct {
	Item    *catalog.Item
	Reviews []catalog.Review // after budget and attack
	// Injected reports that the reviews contain an injection. Only simulated
	// answers depend on it.
	Injected bool
	Grade    int // of relevance; 0 if not right. Only the oracle and simulated answers depend on it
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
	// Right, Wrong and Lured return the answers of a simulated model: the right
	// answer of this step, a wrong one, and one that follows an injection in
	// this prompt (nil if there is none). They are slow and are called only for
	// simulated models; they read nothing that can change later.
	Right, Wrong, Lured func() string
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
	sheet  *sheet
	cards  *cards
	events []Event
	groups [][]string // of parallel steps
	notes  []string
}

// ranks adapts a function on a session to [Method.Rank]. Faults become results
// without a ranking; other errors are returned.
func ranks(rank func(ctx context.Context, s *session) ([]int, error)) func(context.Context, Task, Asker) (Result, error) {
	return func(ctx context.Context, t Task, ask Asker) (Result, error) {
		t.K = min(max(t.K, 1), len(t.Candidates))
		if t.Deck == nil {
			t.Deck = NewDeck()
		}
		s := &session{Task: t, ask: ask}
		s.sheet, s.cards = &sheet{task: &s.Task}, &cards{task: &s.Task}
		var ranking []int
		err := error(fault(InvalidNone, "the task has no candidates"))
		if len(t.Candidates) > 0 {
			ranking, err = rank(ctx, s)
		}
		var f *Fault
		switch {
		case errors.As(err, &f):
			s.record("", "fault", f.Error())
			return Result{Invalid: f.Reason, Detail: f.Detail, Notes: s.notes, Trace: s.events, Parallel: s.groups}, nil
		case err != nil:
			return Result{Trace: s.events}, err
		}
		return Result{Ranking: ranking, Notes: s.notes, Trace: s.events, Parallel: s.groups}, nil
	}
}

// put asks, with the defence before the system prompt. It is safe for concurrent
// use and records nothing.
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

// plan asks for a plan in words.
func (s *session) plan(ctx context.Context, system string) (Answer, error) {
	p := Prompt{System: system, Messages: ask1(s.request(), s.schemaText(), psPlan)}
	return s.complete(ctx, "plan", p.simulated(false, func(m mind) string {
		if m == wrongly {
			return simulatedFault
		}
		return simulatedPlan
	}))
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

// ask1 returns the messages of a one-turn prompt.
func ask1(parts ...string) []eval.Message {
	return []eval.Message{{Role: "user", Content: strings.Join(parts, "\n\n")}}
}

// askWith is ask1 with a long block after the first part: it is written where it
// stays.
func askWith(first string, block block, rest ...string) []eval.Message {
	size := len(first) + block.size
	for _, r := range rest {
		size += 2 + len(r)
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(first)
	b.WriteString("\n\n")
	block.write(&b)
	for _, r := range rest {
		b.WriteString("\n\n")
		b.WriteString(r)
	}
	return []eval.Message{{Role: "user", Content: b.String()}}
}

// A block is a part of a prompt with its approximate size in bytes.
type block struct {
	size  int
	write func(b *strings.Builder)
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

// schema returns a strict schema for an answer.
func schema(name, json string) *eval.Schema {
	return &eval.Schema{Name: name, Strict: true, JSON: []byte(json)}
}

// inParallel calls do for each of the steps in parallel and returns the error of
// the first, so that the result does not depend on timing.
func (s *session) inParallel(steps []string, do func(i int) error) error {
	n := len(steps)
	if n > 1 {
		s.groups = append(s.groups, steps)
	}
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

// Package run executes a plan: it performs and judges trials concurrently, calls
// models within limits and budgets, and writes every answer to the journal before
// it is used.
//
// A trial is ordinary code that asks step by step. When a run is resumed, its
// unfinished trials are performed from their start, and steps in the journal are
// answered from it: no answer is paid for twice. The package knows no suite,
// provider or database, only small interfaces.
//
// # Concurrency
//
// At most Concurrency calls are in flight. A call counts until its answer is on
// disk, so a crash repeats no more calls than that. Trials that wait for a retry
// or a limit hold no place, so a failing provider does not block the others.
//
// # Failures
//
// A call that fails is retried by the schedule of the study, unless no retry helps.
// What then fails is the trial, which is counted, or the run:
//
//   - A wrong key, or an account without credit, ends the run.
//   - A rejected request (HTTP 400, 403, 404, 413, 422 …) is the failure of its trial
//     once a trial of the same arm has succeeded. Until then, rejected trials are
//     held and not recorded. Five items of one arm in a row end the run, and so does
//     an arm whose every trial was rejected.
//   - A provider that cannot be reached (connection refused, unknown host, invalid
//     certificate) ends the run at the third request if it has not answered in this
//     session, else when a call has used its retries and no other was answered
//     meanwhile. So does a pipeline that exits before its first answer.
//   - Ten trials of one arm that fail in a row, begun after its last success, end the
//     run if they are more than the study's share of failed trials.
//
// # Budget
//
// Every request is in the journal with its time. With a budget it is there before it
// is sent, with an estimate of its tokens, so after a crash no request is forgotten. If
// a provider does not count the tokens of an answer, they are estimated.
//
// Begin with [Engine.Perform] and [Engine.Judge] (run.go), then ask.go, the way of one request.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Journal records calls, outcomes and verdicts. It is safe for concurrent use.
type Journal interface {
	// Append returns when the call and its last attempt are durable.
	Append(*eval.Call) error
	// Attempt records the last attempt of a call, before it is sent or after it
	// failed. With wait, it returns when the attempt is durable.
	Attempt(c *eval.Call, wait bool) error
	Lookup(ctx context.Context, t eval.Trial, stage eval.Stage, step string) (eval.Call, bool, error)
	// SetStale says whether the trial of a call still asks it.
	SetStale(c *eval.Call, stale bool) error
	// Take fills in a call with the answer that another call with its key has: with
	// other, of another run or a trial that left the plan; with shared, of a trial of
	// the plan.
	Take(ctx context.Context, c *eval.Call, other, shared bool) (bool, error)
	// Outcome and Judged need not wait for the disk: their records can be
	// recomputed from the calls.
	Outcome(eval.Trial, eval.Outcome) error
	Judged(eval.Trial, []eval.Verdict) error
}

// A Model is the connection to one of the study's models.
type Model struct {
	Client model.Client
	// Group names the rate limit that the model shares: models of one group slow
	// down together. Required.
	Group             string
	Concurrency       int     // ceiling of the group: the lowest of its models; 0 is that of the run
	RequestsPerMinute float64 // 0 means no limit
	TokensPerMinute   float64
	Pace              Pace // instead of these two, of a limit that processes share
	// Cost returns the cost of an answer by its tokens, NaN if the price is unknown. It is nil of
	// a program: its answers say themselves what they took, or it is not known.
	Cost func(eval.Usage) float64
	// Prices are those by which Cost counts, see [eval.Call]; "": unknown.
	Prices string
	// Stored is whether answers are read and not asked for: that costs nothing and sends no request.
	Stored bool
	// Reuse is whether answers of other runs, and of trials that left the plan, to the
	// same request may be taken. It is false if an answer depends on more than the
	// request, such as the content of a file.
	Reuse bool
}

// A connection is a model with what limits its calls.
type connection struct {
	*Model
	*group
	pace Pace
}

// A group is what models that slow down together share.
type group struct {
	gate    *gate
	line    line
	closing Closing
}

// Settings control the execution of a plan.
type Settings struct {
	Concurrency int
	Retries     []time.Duration // wait before each retry
	Timeout     time.Duration   // of one attempt
	Delay       time.Duration   // between replicates of one item and arm
	ItemByItem  bool            // all trials of an item end before the next item begins
	Session     int             // most requests to send, in whole items if they fit; 0 means no limit
	Budget      Budget
	// Draw is asked for more of a budget that processes share, when this one has used what it
	// got: all that it may use from now on, or an error. nil: the budget is its own.
	Draw      func(Spent) (Budget, error)
	MaxFailed float64 // share of the trials of an arm that may fail in a row
	NoReuse   bool    // ask again what other trials have an answer to
	// Recorded is called with each trial whose outcome, or whose verdicts, the journal has queued. It
	// may be nil.
	Recorded func(eval.Trial)
}

// A Task is one trial to do. Called means that the journal may have calls of the
// trial; Outcome is set for judging, and Again are the steps of the judge whose answers in the
// journal could not be read: they are asked again.
type Task struct {
	Trial   eval.Trial
	Called  bool
	Outcome eval.Outcome
	Again   []string
}

// ErrStopped is the error of a stopped run or one with an exhausted budget. Calls
// that were in flight have finished and are recorded.
var ErrStopped = errors.New("stopped")

// ErrSessionEnd is the error of a session that used the requests it may send. It ends
// between items, unless an item needs more requests than those before it: what is left of
// that item is asked in the next session.
var ErrSessionEnd = errors.New("end of the session")

// An Engine executes the tasks of one run.
type Engine struct {
	settings Settings
	journal  Journal
	models   map[string]*connection
	groups   map[string]*group
	calls    *gate         // of all models, whose places calls have until they are durable
	started  chan struct{} // places for trials that are not waiting
	open     *load         // trials begun, waiting ones included
	held     *load         // bytes, by trials begun
	waiting  *load         // calls, for a place at a provider
	budget   *ledger
	watch    *watch

	asking shared

	healthMu sync.Mutex
	health   map[string]*health // by arm, in the current stage

	stopping chan struct{}
	stopOnce sync.Once
	stopWhy  error // set before stopping is closed

	leftMu    sync.Mutex
	left      bool // trials that compute although the context has ended: they are performed again
	recording sync.WaitGroup
}

// New makes an engine. spent is the previous usage of the run.
func New(s Settings, j Journal, models map[string]*Model, spent Spent, o Observer) *Engine {
	s.Concurrency = max(1, s.Concurrency)
	e := &Engine{settings: s, journal: j, models: map[string]*connection{}, groups: map[string]*group{},
		calls:    newGate(s.Concurrency),
		started:  make(chan struct{}, s.Concurrency+8),
		open:     newLoad(8*s.Concurrency + 64),
		held:     newLoad(mostHeld),
		budget:   &ledger{budget: s.Budget, spent: spent, begun: spent.Calls, most: s.Session, draw: s.Draw},
		watch:    &watch{observer: o},
		stopping: make(chan struct{})}
	for id, m := range models {
		g := e.groups[m.Group]
		if g == nil {
			g = &group{gate: newGate(s.Concurrency)}
			e.groups[m.Group] = g
		}
		if m.Concurrency > 0 && m.Concurrency < g.gate.ceiling {
			g.gate = newGate(m.Concurrency)
		}
		c := &connection{m, g, m.Pace}
		if m.Pace == nil {
			c.pace = newPace(&g.closing, m.RequestsPerMinute, m.TokensPerMinute)
		}
		e.models[id] = c
	}
	e.waiting = newLoad(s.Concurrency * max(1, len(e.groups)))
	return e
}

// Stop makes the engine send no new requests and wait for calls in flight. The
// error of the run wraps why. To cancel the calls too, cancel the context.
func (e *Engine) Stop(why error) {
	e.stopOnce.Do(func() {
		e.stopWhy = why
		close(e.stopping)
		if !errors.Is(why, ErrSessionEnd) { // which callers expect, and report
			e.watch.event(Event{Kind: "stopping", Note: why.Error()})
		}
	})
}

// Spent returns what was spent before and by this engine.
func (e *Engine) Spent() Spent { return e.budget.total() }

// Share lets the engine use one of n parts of the calls in flight that its limits allow.
func (e *Engine) Share(n int) {
	e.calls.share(n)
	for _, g := range e.groups {
		g.gate.share(n)
	}
}

func (e *Engine) stopped() bool {
	select {
	case <-e.stopping:
		return true
	default:
		return false
	}
}

// Perform performs trials and records their outcomes.
func (e *Engine) Perform(ctx context.Context, bench eval.Bench, planned []ArmPlan, tasks iter.Seq2[Task, error]) error {
	return e.each(ctx, eval.StageRun, planned, tasks, bench.Capabilities().Weight, func(ctx context.Context, t Task, ask *asker) (result, error) {
		outcome, err := bench.Perform(ctx, t.Trial, ask)
		var call *CallError
		var changed *MismatchError
		switch {
		case errors.As(err, &changed):
			outcome = eval.Outcome{Kind: eval.Failed, Reason: "changed_request", Detail: changed.Error()}
		case errors.As(err, &call) && !call.Fatal():
			outcome = eval.Outcome{Kind: eval.Failed, Reason: string(call.Err.Kind), Detail: call.Error()}
		case err != nil:
			return result{}, err
		}
		failed := outcome.Kind == eval.Failed
		return result{succeeded: !failed, failed: failed, why: call,
			record: func() error { return e.journal.Outcome(t.Trial, outcome) }}, nil
	})
}

// Judge judges the outcomes of trials and records the verdicts. Trials of arms
// without judges are recorded without any.
func (e *Engine) Judge(ctx context.Context, bench eval.Bench, planned []ArmPlan, tasks iter.Seq2[Task, error]) error {
	judged := map[string]bool{}
	for _, arm := range bench.Arms() {
		judged[arm.ID] = len(arm.Judges) > 0
	}
	return e.each(ctx, eval.StageJudge, planned, tasks, nil, func(ctx context.Context, t Task, ask *asker) (result, error) {
		var verdicts []eval.Verdict
		if judged[t.Trial.Arm] {
			var err error
			if verdicts, err = bench.Judge(ctx, t.Trial, t.Outcome, ask); err != nil {
				return result{}, err
			}
		}
		r := result{record: func() error { return e.journal.Judged(t.Trial, verdicts) }}
		for _, v := range verdicts {
			r.failed = r.failed || v.Err != ""
		}
		// A verdict keeps only the text of its error.
		if r.succeeded = ask.answered; !r.succeeded {
			r.why = ask.failure
		}
		return r, nil
	})
}

// Embed asks for the embeddings of texts; do performs a task. An answer is in the
// journal and nowhere else.
func (e *Engine) Embed(ctx context.Context, planned []ArmPlan, tasks iter.Seq2[Task, error], do func(context.Context, Task, eval.Asker) error) error {
	return e.each(ctx, eval.StageEmbed, planned, tasks, nil, func(ctx context.Context, t Task, ask *asker) (result, error) {
		err := do(ctx, t, ask)
		var call *CallError
		if err != nil && (!errors.As(err, &call) || call.Fatal()) {
			return result{}, err
		}
		return result{succeeded: err == nil || ask.answered, failed: err != nil, why: call, record: func() error { return nil }}, nil
	})
}

type doFunc func(context.Context, Task, *asker) (result, error)

// each executes tasks concurrently until all are done, one of them ends the run,
// or the engine is stopped. weight is the bytes that a trial holds; nil is none.
func (e *Engine) each(ctx context.Context, stage eval.Stage, planned []ArmPlan, tasks iter.Seq2[Task, error], weight func(eval.Trial) int, do doFunc) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopWatch := e.watch.begin(stage, planned, e.budget)
	defer stopWatch()
	e.healthMu.Lock()
	e.health = healths(planned)
	e.healthMu.Unlock()
	var mu sync.Mutex
	var first error
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil && !errors.Is(err, ErrStopped) {
			first = err
			e.Stop(errors.New("an error ended the run"))
		}
	}
	workers := newCrew(func(c cell) {
		place := &seat{places: e.started}
		sent := false // a request of the task before
		for _, t := range c.tasks {
			if sent && !place.park(func() bool { return e.sleep(ctx, e.settings.Delay) }) {
				return
			}
			var err error
			if sent, err = e.one(ctx, stage, t, place, do); err != nil {
				fail(err)
				return
			}
		}
	}, func(c cell) { e.end(c.bytes) })
	wait := func() {
		if !workers.wait(ctx) {
			e.leave()
		}
	}
	start := func(group []Task) bool {
		c := cell{tasks: group}
		if weight != nil {
			c.bytes = weight(group[0].Trial)
		}
		if !e.begin(ctx, c.bytes) {
			return false
		}
		workers.begin(c)
		return true
	}
	startAll := inOrder
	if stage != eval.StageEmbed && (e.settings.ItemByItem || e.settings.Session != 0) {
		startAll = e.byItem
	}
	inTurn := e.settings.Delay > 0 && stage == eval.StageRun // a judge reads answers that exist
	ended := startAll(cells(tasks, inTurn), start, wait)
	if ended != nil && !errors.Is(ended, ErrSessionEnd) {
		fail(ended)
		ended = nil
	}
	wait()
	workers.end()
	mu.Lock()
	defer mu.Unlock()
	switch {
	case first != nil:
		return first
	case e.stopped() && errors.Is(e.stopWhy, ErrSessionEnd):
		return e.stopWhy
	case e.stopped():
		return fmt.Errorf("%w: %w", ErrStopped, e.stopWhy)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return cmp.Or(e.unsettled(planned), ended)
}

// inOrder starts one group after another.
func inOrder(groups iter.Seq2[[]Task, error], start func([]Task) bool, _ func()) error {
	for group, err := range groups {
		if err != nil || !start(group) {
			return err
		}
	}
	return nil
}

// byItem starts the groups of one item, and waits for their end before the next item
// begins. Without an answer that was asked for before, an item needs a request for each
// trial; the session ends before an item that it has no requests left for, by the
// requests that a trial took so far.
func (e *Engine) byItem(groups iter.Seq2[[]Task, error], start func([]Task) bool, wait func()) error {
	var item [][]Task
	done, trials := 0, 0 // trials of the items before, and of this one
	before := e.budget.session()
	finish := func() error {
		limit, sent := e.settings.Session, e.budget.session()
		needs := 0.0 // unknown before the first item
		if done > 0 {
			needs = math.Ceil(float64(trials) * float64(sent-before) / float64(done))
		}
		if limit > 0 && (sent >= limit || float64(sent)+needs > float64(limit)) {
			return fmt.Errorf("%w: %s sent, and the next item does not fit into %d", ErrSessionEnd, text.Plural(sent, "request", "requests"), limit)
		}
		for _, group := range item {
			if !start(group) {
				break
			}
		}
		wait()
		done, trials, item = done+trials, 0, nil
		return nil
	}
	for group, err := range groups {
		if err != nil {
			return err
		}
		if len(item) > 0 && item[0][0].Trial.Item != group[0].Trial.Item {
			if err := finish(); err != nil {
				return err
			}
			if e.stopped() {
				return nil
			}
		}
		item = append(item, group)
		trials += len(group)
	}
	if len(item) == 0 {
		return nil
	}
	return finish()
}

// one executes one task and updates the watch. It reports whether a request was sent.
func (e *Engine) one(ctx context.Context, stage eval.Stage, t Task, place *seat, do doFunc) (sent bool, err error) {
	if e.stopped() {
		return false, ErrStopped
	}
	h := e.healthOf(t.Trial.Arm)
	before := h.begin()
	defer h.end()
	ask := &asker{engine: e, seat: place, trial: t.Trial, stage: stage, lookup: t.Called, again: t.Again, health: h}
	r, err := do(ctx, t, ask)
	if !e.record() {
		return ask.sent.Load(), ErrStopped
	}
	defer e.recording.Done()
	if err != nil {
		return ask.sent.Load(), err
	}
	record := r.record
	r.record = func() error {
		err := record()
		if err == nil {
			e.watch.done(t.Trial.Arm, r.failed)
			if e.settings.Recorded != nil {
				e.settings.Recorded(t.Trial)
			}
		}
		return err
	}
	r.before, r.rejectedBefore = before, ask.rejectedBefore
	return ask.sent.Load(), e.settle(h, t.Trial, r)
}

// record begins to record a trial, unless the engine has left it.
func (e *Engine) record() bool {
	e.leftMu.Lock()
	defer e.leftMu.Unlock()
	if !e.left {
		e.recording.Add(1)
	}
	return !e.left
}

// leave leaves the trials that compute still, and waits for what is being recorded: the journal may be
// closed then.
func (e *Engine) leave() {
	e.leftMu.Lock()
	e.left = true
	e.leftMu.Unlock()
	e.recording.Wait()
}

// cells groups tasks that must run in sequence: with a delay between replicates,
// the replicates of one item and arm; otherwise each task is its own group.
func cells(tasks iter.Seq2[Task, error], sequential bool) iter.Seq2[[]Task, error] {
	return func(yield func([]Task, error) bool) {
		var cell []Task
		for t, err := range tasks {
			if err != nil {
				yield(nil, err)
				return
			}
			if !sequential { // at once: the next task may come later
				if !yield([]Task{t}, nil) {
					return
				}
				continue
			}
			if len(cell) > 0 && (cell[0].Trial.Item != t.Trial.Item || cell[0].Trial.Arm != t.Trial.Arm) {
				if !yield(cell, nil) {
					return
				}
				cell = nil
			}
			cell = append(cell, t)
		}
		if len(cell) > 0 {
			yield(cell, nil)
		}
	}
}

// begin acquires what a trial of that size takes, unless the run stops first: then no other trial
// begins.
func (e *Engine) begin(ctx context.Context, bytes int) bool {
	if !e.wait(ctx, e.waiting, 0) || !e.wait(ctx, e.held, bytes) || !e.wait(ctx, e.open, 1) || e.stopped() || ctx.Err() != nil {
		return false
	}
	select {
	case e.started <- struct{}{}:
		return true
	case <-e.stopping:
	case <-ctx.Done():
	}
	return false
}

// end releases what begin acquired.
func (e *Engine) end(bytes int) {
	<-e.started
	e.open.release(1)
	e.held.release(bytes)
}

// A seat is the place of a running trial. While any of its steps waits, another
// trial may use the place.
type seat struct {
	places chan struct{}
	mu     sync.Mutex
	parked int
}

// park frees the seat while wait runs and reports whether wait did.
func (s *seat) park(wait func() bool) bool {
	s.mu.Lock()
	s.parked++
	first := s.parked == 1
	s.mu.Unlock()
	if first {
		<-s.places
	}
	ok := wait()
	s.mu.Lock()
	s.parked--
	last := s.parked == 0
	s.mu.Unlock()
	if last {
		s.places <- struct{}{} // soon free: holders of places do not wait
	}
	return ok
}

func (e *Engine) sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return !e.stopped() && ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-e.stopping:
	case <-ctx.Done():
	}
	return false
}

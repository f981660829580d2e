package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// A CallError is a call that failed after all retries.
type CallError struct {
	Trial eval.Trial
	Step  string
	Model string
	Tries int
	Err   *model.Error

	dead bool // nobody answers at all
}

func (e *CallError) Error() string {
	tries := ""
	if e.Tries > 1 {
		tries = fmt.Sprintf(", %d attempts", e.Tries)
	}
	text := fmt.Sprintf("asking %s about %v, step %s%s: %v", e.Model, e.Trial, e.Step, tries, e.Err)
	if e.Err.Remedy != "" {
		text += ": " + e.Err.Remedy
	}
	return text
}

func (e *CallError) Unwrap() error { return e.Err }

// Fatal reports whether every other call would fail too, so that the run ends: the
// key is wrong, or nobody answers. Whether a rejected request is the fault of its
// item or of the study is decided by the trials of its arm.
func (e *CallError) Fatal() bool {
	return e.dead || e.Err.Kind == eval.ErrAuth && !e.Err.Rejected()
}

// retryable reports whether a retry can succeed. A refused key that has served the arm is tried
// again all the same ([asker.refusedOnce]).
func retryable(kind eval.ErrorKind) bool {
	switch kind {
	case eval.ErrAuth, eval.ErrBadRequest, eval.ErrRefused:
		return false
	}
	return true
}

// An asker sends the requests of one trial in one stage. It implements
// eval.Asker.
type asker struct {
	engine *Engine
	seat   *seat
	trial  eval.Trial
	stage  eval.Stage
	lookup bool        // the journal may hold calls of this trial
	again  []string    // of [Task]
	sent   atomic.Bool // a request of it
	health *health

	mu             sync.Mutex
	steps          map[string]bool
	answered       bool       // a request was answered
	failure        *CallError // of the last request without an answer
	rejectedBefore bool       // a request was rejected in another session
}

func (a *asker) Ask(ctx context.Context, step string, r eval.Request) (eval.Response, error) {
	if err := a.claim(step); err != nil {
		return eval.Response{}, err
	}
	m, ok := a.engine.models[r.Model]
	if !ok {
		return eval.Response{}, fmt.Errorf("run: %v asks model %q, which is not in the study", a.trial, r.Model)
	}
	r, shared := posed(r, a.trial, a.stage)
	r, parts := r.Sealed()
	call := &eval.Call{Trial: a.trial, Stage: a.stage, Step: step, Key: r.Key(), Parts: parts, Provider: r.Provider, Model: r.Name, CostUSD: math.NaN()}
	if a.lookup {
		if answered, err := a.fromJournal(ctx, call, &r, shared); answered || err != nil {
			return call.Response, err
		}
	}
	if shared {
		free := a.engine.asking.begin(a.seat, call.Key)
		defer free()
	}
	if other := m.Reuse && !a.engine.settings.NoReuse; other || shared {
		taken, err := a.take(ctx, call, other, shared)
		if taken || err != nil {
			return call.Response, err
		}
	}
	err := a.send(ctx, m, &r, call)
	failed, ok := err.(*CallError)
	switch {
	case ok && r.Optional && !failed.Fatal() && a.final(call):
		return call.Response, &eval.NoAnswer{Kind: failed.Err.Kind}
	case ok, err == nil:
		a.note(failed)
	}
	return call.Response, err
}

// fromJournal answers a call from the journal, if it has the answer. Else the call gets the step
// under which it is asked, and what it is asked after.
func (a *asker) fromJournal(ctx context.Context, call *eval.Call, r *eval.Request, shared bool) (answered bool, err error) {
	journal, judging := a.engine.journal, a.stage == eval.StageJudge
	again := slices.Contains(a.again, call.Step)
	c, ok, err := journal.Lookup(ctx, a.trial, a.stage, call.Step)
	if err == nil && ok && judging && !sameRequest(&c, call.Key, shared) {
		call.Step = SupersedingStep(call.Step, *r, a.trial)
		c, ok, err = journal.Lookup(ctx, a.trial, a.stage, call.Step)
	}
	for more := ok && judging; err == nil && more; {
		var last eval.Call
		if last, more, err = journal.Lookup(ctx, a.trial, a.stage, RepeatedStep(call.Step)); more {
			c, call.Step, call.After = last, RepeatedStep(call.Step), cmp.Or(c.Source, c.ID)
		}
	}
	switch {
	case err != nil || !ok:
		return false, err
	case again && c.ErrKind == "" && sameRequest(&c, call.Key, shared):
		call.Step, call.After = RepeatedStep(call.Step), cmp.Or(c.Source, c.ID)
		return false, journal.SetStale(&c, true)
	case !sameRequest(&c, call.Key, shared):
		return false, &MismatchError{a.trial, call.Step, eval.DiffParts(c.Parts, call.Parts)}
	case c.Stale:
		if err := journal.SetStale(&c, false); err != nil {
			return false, err
		}
	}
	switch {
	case c.ErrKind == "":
		a.note(nil)
		call.Response = c.Response
		return true, nil
	case r.Optional && a.final(&c):
		return false, &eval.NoAnswer{Kind: c.ErrKind}
	case c.ErrKind == eval.ErrBadRequest || c.ErrKind == eval.ErrAuth:
		a.mu.Lock()
		a.rejectedBefore = true
		a.mu.Unlock()
	}
	return false, nil
}

// note keeps how a request ended: in an answer if failed is nil.
func (a *asker) note(failed *CallError) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if failed == nil {
		a.answered = true
	} else {
		a.failure = failed
	}
}

// final reports whether a failed call used all its retries. A canceled call, one
// that the provider has no room for, and one that may be the study's fault
// are not final: a rejection is while no trial of the arm has succeeded.
func (a *asker) final(c *eval.Call) bool {
	switch c.ErrKind {
	case eval.ErrAuth:
		return false
	case eval.ErrBadRequest:
		return a.health.isProven()
	}
	return !retryable(c.ErrKind) || !tooBusy(c.ErrKind) && c.Attempts > len(a.engine.settings.Retries)
}

func (a *asker) claim(step string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.steps[step] {
		return fmt.Errorf("run: %v has duplicate step %q: step names must be unique within a trial", a.trial, step)
	}
	if a.steps == nil {
		a.steps = map[string]bool{}
	}
	a.steps[step] = true
	return nil
}

// A MismatchError is the error of a step whose request differs from the one that
// the journal has an answer to. It ends its trial: the other trials do not depend
// on it.
type MismatchError struct {
	Trial eval.Trial
	Step  string
	Diff  []string // the parts that differ
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("run: %v, step %s: the journal has an answer to another request (%s): the study or the program changed during the run; "+
		"undo the change, or start another run with `scruple run --new`", e.Trial, e.Step, strings.Join(e.Diff, "; "))
}

// Fatal reports that the run goes on.
func (e *MismatchError) Fatal() bool { return false }

// LongestWait is the longest delay a provider may request. Beyond it the trial
// fails and can be retried later.
const LongestWait = 10 * time.Minute

// soon is the longest delay before a request to a provider that nobody has
// reached yet is repeated.
const soon = time.Second

// send sends the request until it has an answer, no retry is left, or the run
// stops. It records the result before it returns.
func (a *asker) send(ctx context.Context, m *connection, r *eval.Request, call *eval.Call) error {
	e := a.engine
	estimate := estimateOf(r, a.stage)
	begun, answered := m.line.count()
	patience := LongestWait
	for try := 0; ; try++ {
		failure, err := a.attempt(ctx, m, r, call, estimate)
		if failure == nil || err != nil {
			return err
		}
		fresh, dead := a.unheard(m, failure)
		replies, answers := m.line.count()
		if tooBusy(failure.Kind) && !failure.Unanswered && failure.RetryAfter > 0 && answers > answered && patience > 0 && len(e.settings.Retries) > 0 {
			// The provider answers as fast as it likes, one call after the other. A request that it never takes,
			// such as one above its tokens per minute, must not hold up the others.
			try, answered, patience = try-1, answers, patience-max(failure.RetryAfter, LongestWait/20)
		}
		last := try >= len(e.settings.Retries)
		switch {
		case dead, failure.Unreachable && (failure.Final || last && replies == begun):
			final := e.callError(call, r.Model, failure) // not recorded: it is asked when the run is resumed
			final.dead = true
			return final
		case !fresh && (last || failure.Final || !retryable(failure.Kind) && !a.refusedOnce(failure)):
			return e.giveUp(call, r.Model, failure)
		}
		wait := failure.RetryAfter
		if (wait <= 0 || try > 0) && !last {
			wait = max(wait, e.settings.Retries[try])
		}
		if fresh {
			wait = min(wait, soon)
		}
		if wait > LongestWait {
			return e.giveUp(call, r.Model, failure)
		}
		e.watch.event(Event{Kind: "retry", Trial: call.Trial, Step: call.Step, Error: failure.Kind, Note: failure.Error(), Wait: wait})
		if !a.seat.park(func() bool { return e.sleep(ctx, wait) }) {
			return ErrStopped
		}
	}
}

// tooBusy reports whether a provider rejects a request for load.
func tooBusy(kind eval.ErrorKind) bool {
	return kind == eval.ErrRateLimited || kind == eval.ErrOverloaded
}

// refusedOnce reports whether a key was refused that has served the arm: one server of a
// provider may refuse it for a moment.
func (a *asker) refusedOnce(failure *model.Error) bool {
	return failure.Kind == eval.ErrAuth && !failure.Rejected() && a.health.isProven()
}

// unheard reports whether nobody has answered in this session, and whether nobody
// is going to. An item may crash a pipeline, but not one that answered before.
func (a *asker) unheard(m *connection, failure *model.Error) (fresh, dead bool) {
	if failure.Unreachable || failure.Exited && !a.health.isProven() {
		return m.line.miss()
	}
	if !failure.Exited {
		m.line.heard(false)
	}
	return false, false
}

// attempt sends the request once. It returns a failure that may be retried, or a
// final result: a nil error means the answer is on disk.
func (a *asker) attempt(ctx context.Context, m *connection, r *eval.Request, call *eval.Call, estimate eval.Usage) (*model.Error, error) {
	e := a.engine
	generation, ok := a.admit(ctx, m)
	if !ok {
		return nil, ErrStopped
	}
	ended := unsaid
	defer func() { m.gate.leave(generation, ended) }()
	if _, ok := e.calls.enter(ctx, e.stopping); !ok {
		return nil, ErrStopped
	}
	defer e.calls.leave(0, unsaid)
	if e.stopped() {
		return nil, ErrStopped
	}
	begin := func() error {
		if m.Stored { // no request
			return nil
		}
		if err := e.budget.reserve(); err != nil {
			e.Stop(err)
			return ErrStopped
		}
		a.sent.Store(true)
		call.Attempts++
		call.Sent = append(call.Sent, eval.Attempt{At: time.Now().UnixMicro(), Tokens: estimate.TotalInput() + estimate.TotalOutput(), CostUSD: costOf(m, estimate)})
		return e.journal.Attempt(call, e.budget.limited())
	}
	if err := begin(); err != nil {
		return nil, err
	}
	var halt error // why the request is not sent without the parameter that was refused
	response, latency, err := e.complete(model.WithResend(ctx, func() error {
		if halt = e.attemptFailed(call, eval.ErrBadRequest, true); halt == nil {
			halt = begin()
		}
		return halt
	}), m, r)
	if halt != nil {
		return nil, halt
	}
	call.LatencyMS = latency
	if err == nil {
		ended = took
		return nil, e.answer(call, m, response, estimate)
	}
	if ctx.Err() != nil { // canceled by us: not recorded
		return nil, ErrStopped
	}
	failure := model.FromTransport(ctx, err)
	if m.Stored {
		return failure, nil
	}
	if tooBusy(failure.Kind) {
		ended = tooMuch
		if failure.RetryAfter <= LongestWait { // else this call fails, and others may not
			m.pace.Refused(failure.RetryAfter)
		}
	}
	paid := failure.Unanswered
	if stated := credible(response.Usage); stated.TotalInput()+stated.TotalOutput() > 0 || stated.CostUSD != nil {
		paid, estimate = true, stated
		last := &call.Sent[len(call.Sent)-1]
		last.Tokens, last.CostUSD = stated.TotalInput()+stated.TotalOutput(), costOf(m, stated)
	}
	if paid || failure.Kind == eval.ErrTimeout || failure.Kind == eval.ErrMalformed { // it may be paid
		m.pace.Used(estimate)
		e.budget.add(estimate, costOf(m, estimate))
	}
	return failure, e.attemptFailed(call, failure.Kind, !paid)
}

// answer records the answer to a call.
func (e *Engine) answer(call *eval.Call, m *connection, response eval.Response, estimate eval.Usage) error {
	response.Usage = credible(response.Usage)
	if m.Cost != nil {
		countMissing(&response, estimate)
	}
	if !m.Stored {
		call.Sent[len(call.Sent)-1].Ended = true
	}
	call.Response, call.CostUSD = response, costOf(m, response.Usage)
	if response.Usage.CostUSD == nil {
		call.Prices = m.Prices
	}
	m.line.heard(true)
	if t := response.Taken; t != nil { // it was paid in its run
		call.CostUSD, call.Prices, call.LatencyMS, call.Source, call.SourceNumber = t.CostUSD, t.Prices, 1000*t.Seconds, t.Call, t.Run
		call.Model = cmp.Or(t.Model, call.Model)
		if t.Given {
			call.Provider += eval.OfOutputs
		}
		e.watch.reused()
	} else {
		m.pace.Used(response.Usage)
		e.budget.add(response.Usage, call.CostUSD)
		e.watch.answered(call)
	}
	return e.journal.Append(call)
}

// attemptFailed records that the last request of a call failed, and whether that is its whole answer, which
// costs nothing: if not, it counts as estimated, or with the usage that it stated.
func (e *Engine) attemptFailed(call *eval.Call, kind eval.ErrorKind, ended bool) error {
	last := &call.Sent[len(call.Sent)-1]
	last.Ended, last.Err = ended, kind
	return e.journal.Attempt(call, false)
}

// callError is the error of a call without an answer. It reports the failure.
func (e *Engine) callError(call *eval.Call, modelID string, failure *model.Error) *CallError {
	final := &CallError{Trial: call.Trial, Step: call.Step, Model: modelID, Tries: call.Attempts, Err: failure}
	e.watch.event(Event{Kind: "failed", Trial: call.Trial, Step: call.Step, Error: failure.Kind, Note: final.Error()})
	return final
}

// giveUp records a call as finally failed and returns its error.
func (e *Engine) giveUp(call *eval.Call, modelID string, failure *model.Error) error {
	final := e.callError(call, modelID, failure)
	call.ErrKind, call.Err = failure.Kind, failure.Error()
	call.Response.RequestID = failure.RequestID
	if err := e.journal.Append(call); err != nil {
		return errors.Join(final, err)
	}
	return final
}

// admit waits for the model's limits and frees the trial's place meanwhile.
func (a *asker) admit(ctx context.Context, m *connection) (generation int, ok bool) {
	if m.pace.Free() {
		if generation, ok = m.gate.tryEnter(); ok {
			return generation, true
		}
	}
	stopping, waiting := a.engine.stopping, a.engine.waiting
	waiting.add(1)
	defer waiting.release(1)
	a.seat.park(func() bool {
		for m.pace.Wait(ctx, stopping) {
			if generation, ok = m.gate.enter(ctx, stopping); !ok || m.pace.Open() {
				break
			}
			m.gate.leave(generation, unsaid)
			ok = false
		}
		return ok
	})
	return generation, ok
}

func (e *Engine) complete(ctx context.Context, m *connection, r *eval.Request) (eval.Response, float64, error) {
	if timeout := e.settings.Timeout; timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	begun := time.Now()
	response, err := m.Client.Complete(ctx, r)
	return response, float64(time.Since(begun).Microseconds()) / 1000, err
}

// costOf is the cost of an answer, NaN if it is unknown.
func costOf(m *connection, u eval.Usage) float64 {
	switch {
	case m.Stored:
		return 0
	case u.CostUSD != nil:
		return *u.CostUSD
	case m.Cost == nil:
		return math.NaN()
	}
	return m.Cost(u)
}

package run

import (
	"fmt"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
)

const (
	// inARow is the number of items of one arm that a provider may reject in a row.
	// One bad request may be about its item, in any wording; five in a row are about
	// the study or the account.
	inARow = 5
	// leastFailed is the number of trials of one arm that must fail in a row before
	// their share is compared with MaxFailed.
	leastFailed = 10
)

// A health is what the trials of one arm say about the arm in one stage: whether
// a failure concerns its item or every request. Trials that ran at the same time
// end in any order, and rejections come back fastest, so each limit is raised by
// the number of other trials that are open during the series.
type health struct {
	mu       sync.Mutex
	arm      string
	planned  int
	proven   bool // a trial of the arm succeeded, in this session or an earlier one
	open     int  // trials begun and not ended
	good     int  // trials that succeeded in this session
	rejected map[string]bool
	failed   int            // in a row, begun after the last success
	held     []func() error // rejected trials to record once the arm is proven
	first    *CallError     // of the trials held

	mostRejected, mostFailed int // limits of the current series
}

// A result is how a trial ended.
type result struct {
	succeeded bool
	failed    bool
	why       *CallError // of a failure
	record    func() error

	before         int  // trials that had succeeded when it began
	rejectedBefore bool // its request, in another session
}

// healths returns the health of each arm at the start of a stage.
func healths(planned []ArmPlan) map[string]*health {
	all := make(map[string]*health, len(planned))
	for _, p := range planned {
		all[p.Arm] = &health{arm: p.Arm, planned: p.Planned, proven: p.Done > p.Failed}
	}
	return all
}

// healthOf returns the health of an arm.
func (e *Engine) healthOf(arm string) *health {
	e.healthMu.Lock()
	defer e.healthMu.Unlock()
	h := e.health[arm]
	if h == nil {
		h = &health{arm: arm}
		e.health[arm] = h
	}
	return h
}

// begin counts a trial as open and returns how many succeeded before.
func (h *health) begin() (good int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open++
	return h.good
}

func (h *health) end() {
	h.mu.Lock()
	h.open--
	h.mu.Unlock()
}

func (h *health) isProven() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.proven
}

// settle records how a trial ended, and returns an error if the run must end. A
// rejected request is the failure of its trial once the arm is proven; before
// that, it is held.
func (e *Engine) settle(h *health, t eval.Trial, r result) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	others := min(h.open-1, e.settings.Concurrency)
	switch {
	case r.succeeded:
		h.good++
		h.proven, h.rejected, h.failed = true, nil, 0
		held := h.held
		h.held = nil
		for _, record := range held {
			if err := record(); err != nil {
				return err
			}
		}
		return r.record()
	case r.why == nil || !r.why.Err.Rejected():
		// An answer that a file or another run lacks says nothing about a provider.
		if err := r.record(); err != nil || !r.failed || r.why == nil || r.why.Err.Final || r.before < h.good {
			return err
		}
		if h.failed == 0 {
			h.mostFailed = int(e.settings.MaxFailed*float64(h.planned)) + 1
		}
		h.mostFailed = max(h.mostFailed, leastFailed+others)
		if h.failed++; h.failed < h.mostFailed {
			return nil
		}
		return fmt.Errorf("%d trials of arm %s failed in a row, more than execution.max_failed allows: %w; run the same command to resume once the provider answers", h.failed, h.arm, r.why)
	case !h.proven:
		if len(h.held) == 0 {
			h.first = r.why
		}
		h.held = append(h.held, r.record)
	default:
		if err := r.record(); err != nil || r.rejectedBefore {
			return err
		}
	}
	if len(h.rejected) == 0 {
		h.rejected, h.mostRejected = map[string]bool{}, 0
	}
	h.mostRejected = max(h.mostRejected, inARow+others)
	h.rejected[t.Item] = true
	switch {
	case len(h.rejected) < h.mostRejected:
		return nil
	case !h.proven:
		return h.unproven()
	}
	return fmt.Errorf("%d items of arm %s were rejected in a row: %w; correct the cause and run the same command to resume", len(h.rejected), h.arm, r.why)
}

// unproven is the error of an arm of which no trial succeeded.
func (h *health) unproven() error {
	return fmt.Errorf("no request of arm %s was accepted: %w; correct the study or the model's settings and run the same command to resume", h.arm, h.first)
}

// unsettled returns the error of an arm whose trials all ended and of which
// rejected ones are still held.
func (e *Engine) unsettled(planned []ArmPlan) error {
	e.healthMu.Lock()
	defer e.healthMu.Unlock()
	for _, p := range planned { // in the order of the study
		if h := e.health[p.Arm]; h != nil && len(h.held) > 0 {
			return h.unproven()
		}
	}
	for _, h := range e.health {
		if len(h.held) > 0 {
			return h.unproven()
		}
	}
	return nil
}

// A line is the connection to the provider or pipeline of one group of models.
type line struct {
	mu      sync.Mutex
	reached bool // somebody answered in this session
	missed  int  // requests that nobody received, before reached
	replies int  // in this session, also of failures
	answers int
}

// lostAt is the number of requests that nobody receives after which a line that
// was never reached is dead.
const lostAt = 3

// heard notes that somebody received a request, and whether he answered it.
func (l *line) heard(answer bool) {
	l.mu.Lock()
	l.reached = true
	l.replies++
	if answer {
		l.answers++
	}
	l.mu.Unlock()
}

// miss notes a request that nobody received. fresh means that nobody has answered
// in this session, and dead that nobody is going to.
func (l *line) miss() (fresh, dead bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reached {
		return false, false
	}
	l.missed++
	return true, l.missed >= lostAt
}

func (l *line) count() (replies, answers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.replies, l.answers
}

package run

import (
	"sync"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
)

// An Observer receives the progress of a run. Its methods are called one at a
// time.
type Observer interface {
	// Event reports a retry, a failure or a stop.
	Event(Event)
	// Progress is called at most a few times a second, and once when a stage ends.
	Progress(Progress)
}

// An Event is a retry, a failure or a stop.
type Event struct {
	Kind  string // retry | failed | stopping
	Trial eval.Trial
	Step  string
	Error eval.ErrorKind
	Wait  time.Duration // before the retry
	Note  string
}

// Progress is the progress of a stage of a run.
type Progress struct {
	Stage   eval.Stage
	Arms    []ArmPlan
	Spent   Spent
	Reused  int           // answers taken from other calls in this stage
	Elapsed time.Duration // of this session
	Left    time.Duration // estimate; 0 if unknown
	Ended   bool
}

// An ArmPlan counts the trials of one arm.
type ArmPlan struct {
	Arm      string
	Planned  int
	Done     int // failed ones included
	Failed   int
	Cost     float64 // of this session's calls with a known cost
	Unpriced int     // this session's calls of unknown cost
	started  int     // done when the session began
}

type watch struct {
	mu       sync.Mutex
	observer Observer
	progress Progress
	index    map[string]int
	begun    time.Time
	until    time.Time // end of the longest wait for a retry
}

const progressEvery = 200 * time.Millisecond

// begin starts a stage and reports its progress until the returned function is
// called.
func (w *watch) begin(stage eval.Stage, arms []ArmPlan, l *ledger) func() {
	w.mu.Lock()
	w.begun = time.Now()
	w.progress = Progress{Stage: stage, Arms: append([]ArmPlan(nil), arms...)}
	w.index = make(map[string]int, len(arms))
	for i := range w.progress.Arms {
		a := &w.progress.Arms[i]
		a.started = a.Done
		w.index[a.Arm] = i
	}
	w.mu.Unlock()
	if w.observer == nil {
		return func() {}
	}
	quit, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				w.tell(l, false)
			case <-quit:
				w.tell(l, true)
				return
			}
		}
	}()
	return func() { close(quit); <-over }
}

func (w *watch) tell(l *ledger, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.progress
	p.Arms = append([]ArmPlan(nil), w.progress.Arms...)
	p.Spent, p.Elapsed, p.Ended = l.total(), time.Since(w.begun), ended
	var done, left int
	for _, a := range p.Arms {
		done += a.Done - a.started
		left += a.Planned - a.Done
	}
	if done > 0 && !ended {
		p.Left = max(time.Duration(float64(p.Elapsed)/float64(done)*float64(left)), time.Until(w.until))
	}
	w.observer.Progress(p)
}

func (w *watch) done(arm string, failed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i, ok := w.index[arm]; ok {
		a := &w.progress.Arms[i]
		a.Done++
		if failed {
			a.Failed++
		}
	}
}

func (w *watch) answered(c *eval.Call) {
	cost, known := c.KnownCost()
	if known && cost == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if i, ok := w.index[c.Trial.Arm]; ok {
		if known {
			w.progress.Arms[i].Cost += cost
		} else {
			w.progress.Arms[i].Unpriced++
		}
	}
}

func (w *watch) reused() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress.Reused++
}

func (w *watch) event(e Event) {
	if w.observer == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if end := time.Now().Add(e.Wait); end.After(w.until) {
		w.until = end
	}
	w.observer.Event(e)
}

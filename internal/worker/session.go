package worker

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
)

// A session is the part that this process takes in one run. All its shards are asked by one
// engine, so that the calls in flight do not become few at the end of a shard.
type session struct {
	*Loaded
	w      *Worker
	when   string // the run was entrusted
	in     chan *hand
	quit   chan struct{} // closed to leave the run
	over   chan struct{} // closed when nothing is asked any more
	cancel context.CancelFunc

	// Not held while asking is stopped: that tells the observer, which may wait for a part of
	// the budget, which waits for it.
	mu     sync.Mutex
	hands  map[int64]*hand // by job: what the fence checks
	asking *experiment.Session
	purse  *purse // of asking; nil without a budget
	why    error  // set before quit is closed
	parts  int    // of the calls in flight that the study allows
}

// A hand is a shard that this process works on.
type hand struct {
	job             *river.Job[Job]
	tasks           []run.Task
	until           time.Time // the end of its slice
	asking          *experiment.Session
	begun, recorded int  // tasks
	closed          bool // no more tasks begin
	ended           bool
	done            chan error
}

var (
	errLost  = errors.New("a shard was given to another worker: what it had in hand is dropped")
	errSlice = errors.New("the slice of a shard has ended")
	errPart  = errors.New("the shard has more to do")
)

func newSession(w *Worker, loaded *Loaded, when string) *session {
	ctx, cancel := context.WithCancel(context.Background())
	s := &session{Loaded: loaded, w: w, when: when, in: make(chan *hand), quit: make(chan struct{}), over: make(chan struct{}), cancel: cancel, hands: map[int64]*hand{}, parts: 1}
	w.db.Join(s.Record, s.fence)
	go s.loop(ctx)
	return s
}

// stop begins no new call, and has shards given back when those in flight have ended.
func (s *session) stop(why error) {
	s.mu.Lock()
	if s.why != nil {
		s.mu.Unlock()
		return
	}
	s.why = why
	close(s.quit)
	asking := s.asking
	if len(s.hands) == 0 && errors.Is(why, errEnded) {
		asking = nil
	}
	s.mu.Unlock()
	if asking != nil {
		asking.Stop(why)
	}
}

// given returns why the session gave up the run, nil if it did not.
func (s *session) given() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

func (s *session) close() error {
	<-s.over
	s.cancel()
	var err error
	if s.asking != nil {
		err = s.shut(s.asking)
	}
	s.w.db.Join(s.Record, nil)
	return errors.Join(err, s.Close())
}

// fence is the first statement of each transaction that writes the run. The lock keeps the
// shards until it ends. A shard that was dropped meanwhile is done, and nothing of it is written.
func (s *session) fence(ctx context.Context, tx store.Querier) error {
	s.mu.Lock()
	believed := maps.Clone(s.hands)
	s.mu.Unlock()
	if len(believed) == 0 {
		return errLost
	}
	var ids, since []string
	for id, h := range believed {
		ids, since = append(ids, strconv.FormatInt(id, 10)), append(since, h.job.AttemptedAt.Format(time.RFC3339Nano))
	}
	var held string
	array := func(list []string) string { return "{" + strings.Join(list, ",") + "}" }
	if err := tx.QueryRowContext(ctx, `SELECT coalesce(string_agg(CAST(id AS TEXT), ','), '') FROM (SELECT j.id FROM river_job j JOIN unnest(CAST(? AS BIGINT[]), CAST(? AS TIMESTAMPTZ[])) AS m (id, since)
		ON m.id = j.id AND m.since = j.attempted_at WHERE j.state = 'running' FOR SHARE OF j) AS held`, array(ids), array(since)).Scan(&held); err != nil {
		return err
	}
	for _, id := range strings.Split(held, ",") {
		n, _ := strconv.ParseInt(id, 10, 64)
		delete(believed, n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, h := range believed {
		if s.hands[id] == h {
			return errLost
		}
	}
	return nil
}

// hold adds a shard to those in hand, unless the process leaves the run, or has the shard still: it
// lost it, and got it again before it dropped it.
func (s *session) hold(h *hand) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why != nil {
		return s.why
	}
	if s.hands[h.job.ID] != nil {
		return errLost
	}
	s.hands[h.job.ID] = h
	return nil
}

func (s *session) drop(h *hand) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hands[h.job.ID] == h {
		delete(s.hands, h.job.ID)
	}
}

// work works on a shard. It reports whether the shard is done.
func (s *session) work(ctx context.Context, job *river.Job[Job]) (bool, error) {
	h := &hand{job: job, until: time.Now().Add(s.w.Slice), done: make(chan error, 1)}
	if err := s.hold(h); err != nil {
		return false, err
	}
	defer s.drop(h)
	if err := s.w.still(ctx, s.Record, s.when); err != nil {
		return false, err
	}
	if job.Args.Step == experiment.Scoring {
		end := s.w.db.Patient()
		err := s.w.Score(ctx, s.Run)
		end()
		var away *store.Error
		if errors.As(err, &away) && away.Passes {
			return false, err
		}
		if err != nil {
			s.w.Say("%s: scoring: %v; `scruple score %[1]s` does it again", s.Record.ID, err)
		}
	} else if err := s.ask(ctx, h); errors.Is(err, errPart) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	s.drop(h)
	return true, s.w.complete(ctx, s.Record, job.ID, *job.AttemptedAt)
}

// ask has the tasks of a shard asked, and returns when all outcomes are on disk, or with an
// error.
func (s *session) ask(ctx context.Context, h *hand) (err error) {
	if h.tasks, err = s.Tasks(ctx, h.job.Args.Shard, h.job.Args.Part); err != nil || len(h.tasks) == 0 {
		return err
	}
	select {
	case s.in <- h:
	case <-s.quit:
		return s.why
	}
	// A call that is retried for long must not keep the shard from others.
	late := time.AfterFunc(s.w.Slice+h.job.Args.Longest, func() {
		s.mu.Lock()
		asking := h.asking
		if h.ended {
			asking = nil
		}
		s.mu.Unlock()
		if asking != nil {
			asking.Stop(errSlice)
		}
	})
	defer late.Stop()
	part := <-h.done
	if part != nil && part != errPart { // else answers of a part that is given back may be queued
		return part
	}
	if err := errors.Join(h.asking.Flush(), part); err != nil {
		return err
	}
	return s.CheckPrograms(ctx, h.job.Args.Shard)
}

// loop asks what is in the shards, one step of the run after another.
func (s *session) loop(ctx context.Context) {
	defer close(s.over)
	var next *hand
	for {
		if next == nil {
			select {
			case next = <-s.in:
			case <-s.quit:
				return
			}
		}
		first, step := next, next.job.Args.Step
		asking, left, err := s.open(ctx, first)
		var ofStore *store.Error
		var begun []*hand
		if err == nil {
			err = asking.Do(ctx, step, left, s.tasks(step, &next, &begun))
			if err == nil {
				err = asking.Flush()
			}
		}
		if err != nil {
			s.mu.Lock()
			s.asking = nil
			s.mu.Unlock()
			if asking != nil {
				err = errors.Join(err, s.shut(asking))
			}
			if next == first {
				next = nil
			}
			s.end(first, err)
			if errors.Is(err, errLost) || errors.As(err, &ofStore) {
				s.w.Say("%s: %v", s.Record.ID, err)
			}
		}
		for _, h := range begun {
			s.end(h, errors.Join(err, errPart))
		}
		s.judge(ctx, err)
	}
}

// judge leaves the run for an error that trying again does not mend. When the server is away no
// shard is given out; when its disk is full they are, and each try would lose answers.
func (s *session) judge(ctx context.Context, err error) {
	var ofStore *store.Error
	switch {
	case err == nil, errors.Is(err, run.ErrStopped) && !errors.Is(err, run.ErrBudget), errors.Is(err, errLost), errors.Is(err, errEnded):
		return
	case errors.As(err, &ofStore) && ofStore.Passes && !ofStore.Full:
		return
	}
	var again time.Time
	if ofStore != nil && ofStore.Full {
		again = time.Now().Add(whileFull)
	}
	s.w.cannot(ctx, s.Record, s.when, err, again)
	s.stop(err)
}

// whileFull is how long a worker leaves a run alone when the disk of the server is full.
const whileFull = 10 * time.Minute

// open returns what asks, and what is left of the run.
func (s *session) open(ctx context.Context, h *hand) (*experiment.Session, *experiment.Left, error) {
	end := s.w.db.Patient()
	left, err := s.Left(ctx, h.job.Args.Part)
	end()
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	asking := s.asking
	s.mu.Unlock()
	if asking == nil {
		if err := s.share(ctx); err != nil {
			return nil, nil, err
		}
		if s.sharing() > 1 {
			select {
			case <-time.After(beat): // until the others have counted this process, and make room
			case <-s.quit:
			}
		}
		how := experiment.Asking{Models: s.Models, Observer: s.w.Observer, NoReuse: h.job.Args.NoReuse, Concurrency: s.w.Concurrency, Recorded: s.recorded}
		if most := s.Budget(); most != (run.Budget{}) {
			s.purse = &purse{q: s.w.Queue, run: s.Record, when: s.when, most: most, parts: s.sharing, began: time.Now(), base: left.Spent()}
			how.Draw = s.purse.Draw
		}
		if asking, err = s.Session(ctx, left, how); err != nil {
			return nil, nil, err
		}
	}
	s.mu.Lock()
	s.asking = asking
	asking.Share(s.parts)
	why := s.why
	s.mu.Unlock()
	if why != nil {
		asking.Stop(why)
	}
	return asking, left, nil
}

// shut ends what asked, and gives back what it did not spend.
func (s *session) shut(asking *experiment.Session) error {
	err := asking.Close()
	if s.purse != nil {
		s.purse.putBack(asking.Spent())
	}
	return err
}

// sharing returns the number of workers of the run.
func (s *session) sharing() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parts
}

// pause is how long a step waits for another shard before it settles what its trials left
// open.
const pause = 2 * time.Second

// tasks yields the tasks of shards of one step, as they come.
func (s *session) tasks(step experiment.Step, next **hand, begun *[]*hand) iter.Seq2[run.Task, error] {
	wait := pause
	if s.InOrder() { // the engine holds the last task back until it knows the next
		wait = 0
	}
	return func(yield func(run.Task, error) bool) {
		for h := *next; ; h = *next {
			s.mu.Lock()
			*next, *begun = nil, append(slices.DeleteFunc(*begun, func(h *hand) bool { return h.ended }), h)
			h.asking = s.asking
			s.mu.Unlock()
			for _, t := range h.tasks {
				if now := time.Now(); now.After(h.until) || now.Round(0).After(h.until.Round(0)) { // by either clock
					break
				}
				s.mu.Lock()
				h.begun++
				s.mu.Unlock()
				if !yield(t, nil) {
					return
				}
			}
			s.mu.Lock()
			h.closed = true
			s.settle(h)
			s.mu.Unlock()
			select {
			case *next = <-s.in:
			case <-s.quit:
				return
			case <-time.After(wait):
				return
			}
			if (*next).job.Args.Step != step {
				return
			}
		}
	}
}

// recorded counts a trial of a shard whose outcome is queued.
func (s *session) recorded(t eval.Trial) {
	seq, ok := s.Plan.Seq(t)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.hands {
		if at := h.job.Args; h.begun > 0 && at.From <= seq && seq < at.To {
			h.recorded++
			s.settle(h)
		}
	}
}

// settle ends a shard whose tasks are recorded. The lock must be held.
func (s *session) settle(h *hand) {
	if !h.closed || h.ended || h.recorded < h.begun {
		return
	}
	h.ended = true
	if h.begun < len(h.tasks) {
		h.done <- errPart
		return
	}
	h.done <- nil
}

// end ends a shard that is not settled.
func (s *session) end(h *hand, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !h.ended {
		h.ended = true
		h.done <- err
	}
}

// share keeps this process to its part of the calls in flight that the study allows.
func (s *session) share(ctx context.Context) error {
	if s.w.Concurrency > 0 {
		return nil
	}
	parts := 1
	if err := s.w.pool.QueryRow(ctx, `SELECT count(DISTINCT `+holder+`) FROM river_job WHERE queue = $1 AND state = 'running'`, queueOf(s.Record.N)).Scan(&parts); err != nil {
		return s.w.db.Explain(fmt.Errorf("counting the workers of %s: %w", s.Record.ID, err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if parts = max(1, parts); parts != s.parts && s.asking != nil {
		s.asking.Share(parts)
	}
	s.parts = parts
	return nil
}

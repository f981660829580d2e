package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
)

// A Loaded run is bound to its study and to the clients of its models.
type Loaded struct {
	*experiment.Run
	Models map[string]*run.Model
	Close  func() error
}

// Settings of a worker.
type Settings struct {
	// Load loads a run, or says why this process cannot take part in it.
	Load func(context.Context, *store.Run) (*Loaded, error)
	// Only limits the worker to runs whose id matches a pattern of package path; "" does not.
	Only string
	// Run limits it to one run, and ends it with that run.
	Run *store.Run
	// Concurrency is the most calls in flight; 0 means the part of that of the study that the
	// workers of a run have each.
	Concurrency int
	Slice       time.Duration // how long a shard is worked on before others may have it
	Once        bool          // end when no run has work
	Version     string        // of the program
	Observer    run.Observer  // may be nil
	Say         func(format string, args ...any)
	// Score scores a run whose last step it is.
	Score func(context.Context, *experiment.Run) error
}

const (
	beat = time.Second
	// lostAfter is how long a worker may be silent before its shards are given to others.
	lostAfter = 30 * time.Second
	// grace is how long a worker that ends waits for its last shards to be given back.
	grace = 10 * time.Second
)

// A Worker takes part in runs.
type Worker struct {
	Settings
	*Queue
	river *river.Client[pgx.Tx]
	jobs  jobs

	mu       sync.Mutex
	sessions map[int64]*session
	left     map[int64]parted    // runs that it cannot take part in
	idle     map[int64]time.Time // shards that it has by the queue alone, and since when
	all      *everyone           // of the only run
	failed   error               // why it left the only run
}

// A parted run is one that the worker takes no part in.
type parted struct {
	when     string     // it was entrusted
	again    time.Time  // the worker may try; zero is never
	reserved *store.Run // whose budget is not spent, but reserved; else nil
}

// jobs are what River calls.
type jobs struct {
	river.WorkerDefaults[Job]
	w *Worker
}

// Timeout is when the work on a shard is canceled. Scoring takes its time.
func (j jobs) Timeout(of *river.Job[Job]) time.Duration {
	if of.Args.Step == experiment.Scoring {
		return -1
	}
	return j.w.Slice + 3*of.Args.Longest + time.Minute
}

// NextRetry is at once: another worker may do it.
func (jobs) NextRetry(*river.Job[Job]) time.Time { return time.Now().Add(beat) }

func (j jobs) Work(ctx context.Context, job *river.Job[Job]) error { return j.w.work(ctx, job) }

// Take takes part in runs until it is stopped, or with Run or Once until there is no more
// work. An error received from stop is why it ends; its calls in flight then finish.
func (q *Queue) Take(ctx context.Context, s Settings, stop <-chan error) error {
	w := &Worker{Settings: s, Queue: q, sessions: map[int64]*session{}, left: map[int64]parted{}, idle: map[int64]time.Time{}}
	w.jobs.w = w
	defer func() { _ = q.db.Patient() }() // for what comes after it
	if s.Run != nil && s.Observer != nil {
		w.all = &everyone{Observer: s.Observer}
		w.Observer = w.all
	}
	known := river.NewWorkers()
	river.AddWorker(known, w.jobs)
	// River's rescue goes by the clock of one worker, which may be wrong; see rescue and forgotten.
	const never = 365 * 24 * time.Hour
	client, err := river.NewClient(q.driver, &river.Config{ID: q.holder, Logger: silent, Workers: known, PollOnly: true, FetchPollInterval: 200 * time.Millisecond, FetchCooldown: 20 * time.Millisecond,
		Queues:     map[string]river.QueueConfig{"none": {MaxWorkers: 1, FetchPollInterval: time.Hour}}, // it wants one to begin with
		JobTimeout: -1, RescueStuckJobsAfter: never, ErrorHandler: w})
	if err != nil {
		return fmt.Errorf("preparing the worker: %w", err)
	}
	w.river = client
	// What River does for its own ends when the worker does; shards are ended by their session.
	working, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	if err := client.Start(working); err != nil {
		return q.db.Explain(fmt.Errorf("starting the worker: %w", err))
	}
	err = w.follow(ctx, stop)
	w.leaveAll(err)
	ending, cancel := context.WithTimeout(working, grace)
	defer cancel()
	stopped := client.Stop(ending)
	_, _ = q.pool.Exec(ending, `DELETE FROM workers WHERE holder = $1`, q.holder) // else it is lost soon
	return errors.Join(err, stopped)
}

// HandleError and HandlePanic leave errors to the sessions, which say them.
func (*Worker) HandleError(context.Context, *rivertype.JobRow, error) *river.ErrorHandlerResult {
	return nil
}

func (w *Worker) HandlePanic(_ context.Context, _ *rivertype.JobRow, panicked any, trace string) *river.ErrorHandlerResult {
	w.Say("a shard ended by a fault of the program, and is given to another worker: %v\n%s", panicked, trace)
	return nil
}

// follow joins runs that are given to workers, and leaves those that are not any more.
func (w *Worker) follow(ctx context.Context, stop <-chan error) error {
	every := time.NewTicker(beat)
	defer every.Stop()
	for misses := 0; ; {
		idle, err := w.once(ctx)
		w.mu.Lock()
		failed := w.failed
		w.mu.Unlock()
		switch {
		case err != nil:
			// The server may be away for a while: shards in hand are lost after that, no answers.
			if misses++; misses == 1 {
				w.Say("%v; trying again", err)
			}
			if w.Run != nil && misses > int(lostAfter/beat) {
				return err
			}
		case failed != nil:
			return failed
		case idle && (w.Once || w.Run != nil):
			return nil
		default:
			misses = 0
		}
		select {
		case why := <-stop:
			return fmt.Errorf("%w: %w", run.ErrStopped, why)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-every.C:
		}
	}
}

// once looks which runs there are, and says that the worker is there. It reports whether
// there is none to take part in.
func (w *Worker) once(ctx context.Context) (idle bool, err error) {
	if _, err := w.pool.Exec(ctx, `INSERT INTO workers (holder, process, seen, note) VALUES ($1, $2, clock_timestamp(), '')
		ON CONFLICT (holder) DO UPDATE SET seen = clock_timestamp()`, w.holder, store.Process()); err != nil {
		return false, w.db.Explain(err)
	}
	if err := errors.Join(w.rescue(ctx), w.forgotten(ctx), w.hear(ctx)); err != nil {
		return false, err
	}
	runs, err := w.db.OfWorkers(ctx)
	if err != nil {
		return false, err
	}
	idle = true
	for n, when := range runs {
		if w.Run != nil && w.Run.N != n {
			continue
		}
		w.mu.Lock()
		s, out := w.sessions[n], w.left[n]
		w.mu.Unlock()
		if s == nil && out.when == when && out.reserved != nil {
			idle = false
			if err := w.recount(ctx, out.reserved, when); err != nil {
				return false, err
			}
			continue
		}
		if s == nil && (out.when != when || !out.again.IsZero() && time.Now().After(out.again)) {
			if err := w.join(ctx, n, when); err != nil {
				return false, err
			}
			w.mu.Lock()
			s = w.sessions[n]
			w.mu.Unlock()
		}
		if s == nil {
			continue
		}
		why := s.given()
		idle = idle && why != nil && !errors.Is(why, errReserved)
		if why == nil {
			err := s.share(ctx)
			if err == nil && w.all != nil {
				err = w.all.look(ctx, w.db, s.Record)
			}
			if err != nil {
				return false, err
			}
		}
	}
	w.mu.Lock()
	ended := map[*session]error{}
	for n, s := range w.sessions {
		if why := s.given(); why != nil {
			ended[s] = why
		} else if runs[n] != s.when {
			ended[s] = errEnded
		}
	}
	w.mu.Unlock()
	for s, why := range ended {
		w.leave(s, why)
	}
	return idle, nil
}

// forgotten gives back the shards that this worker has by the queue, but does not work on: the
// server was away when they were given back.
func (w *Worker) forgotten(ctx context.Context) error {
	ids, err := collect(ctx, w.Queue, pgx.RowTo[int64], `SELECT id FROM river_job WHERE state = 'running' AND `+holder+` = $1`, w.holder)
	if err != nil {
		return err
	}
	now, since := time.Now(), map[int64]time.Time{}
	var back []int64
	w.mu.Lock()
	for _, id := range ids {
		if w.inHand(id) {
			continue
		}
		since[id] = now
		if first, was := w.idle[id]; was {
			since[id] = first
		}
		if now.Sub(since[id]) > lostAfter { // River tries for some seconds
			back = append(back, id)
		}
	}
	w.idle = since
	w.mu.Unlock()
	if len(back) == 0 {
		return nil
	}
	return w.giveAway(ctx, `id = ANY($1) AND `+holder+` = $2`, back, w.holder)
}

// inHand reports whether the worker works on a shard. The lock must be held.
func (w *Worker) inHand(job int64) bool {
	for _, s := range w.sessions {
		s.mu.Lock()
		_, has := s.hands[job]
		s.mu.Unlock()
		if has {
			return true
		}
	}
	return false
}

var errEnded = errors.New("workers do not have the run any more")

// join begins to take part in a run, if this process can.
func (w *Worker) join(ctx context.Context, n int64, when string) error {
	r, err := w.db.RunNumbered(ctx, n)
	if err != nil {
		return err
	}
	if fits, err := path.Match(w.Only, r.ID); w.Only != "" && (err != nil || !fits) {
		w.mu.Lock()
		w.left[n] = parted{when: when}
		w.mu.Unlock()
		return nil
	}
	if of := when[:strings.LastIndex(when, " ")]; of != w.Version {
		w.cannot(ctx, r, when, fmt.Errorf("it was begun by version %s of scruple, and this is %s: use the same", of, w.Version), time.Time{})
		return nil
	}
	loaded, err := w.Load(ctx, r)
	var away *store.Error
	if errors.As(err, &away) { // the database may be, for a while
		return err
	}
	if err != nil {
		w.cannot(ctx, r, when, err, time.Time{})
		return nil
	}
	for _, m := range loaded.Models {
		if err := w.limit(ctx, m); err != nil {
			return errors.Join(err, loaded.Close())
		}
	}
	s := newSession(w, loaded, when)
	w.mu.Lock()
	w.sessions[n] = s
	w.mu.Unlock()
	// Half of the trials may ask nothing, and a shard that is done takes a while to be replaced.
	hands := 2*max(1, loaded.Study.Execution.Concurrency, w.Concurrency)/experiment.LeastTrials + 4
	if err := w.river.Queues().Add(queueOf(n), river.QueueConfig{MaxWorkers: hands}); err != nil && !errors.As(err, new(*river.QueueAlreadyAddedError)) { // it was slow to leave
		err = fmt.Errorf("joining %s: %w", r.ID, err)
		w.leave(s, err) // it tries again
		return err
	}
	if w.Run == nil {
		w.Say("%s: taking part", r.ID)
	}
	_, err = w.pool.Exec(ctx, `UPDATE workers SET note = '' WHERE holder = $1 AND starts_with(note, $2)`, w.holder, r.ID+": ")
	return w.db.Explain(err)
}

// cannot notes why this process does not take part in a run, and when it may try again.
func (w *Worker) cannot(ctx context.Context, r *store.Run, when string, why error, again time.Time) {
	out := parted{when: when, again: again}
	if errors.Is(why, errReserved) {
		out.reserved = r
	}
	w.mu.Lock()
	w.left[r.N] = out
	if w.Run != nil && out.reserved == nil {
		w.failed = why
	}
	w.mu.Unlock()
	if w.Run != nil {
		return
	}
	w.Say("%s: not taking part: %v", r.ID, why)
	_, _ = w.pool.Exec(ctx, `UPDATE workers SET note = $2 WHERE holder = $1`, w.holder, r.ID+": "+why.Error()) // for status
}

// leave ends that the worker takes part in a run.
func (w *Worker) leave(s *session, why error) {
	s.stop(why)
	ctx, end := context.WithTimeout(context.Background(), grace)
	defer end()
	_ = w.river.Queues().Remove(ctx, queueOf(s.Record.N)) // what still runs gives itself back
	if err := s.close(); err != nil {
		w.Say("%s: %v", s.Record.ID, err)
	}
	w.mu.Lock()
	delete(w.sessions, s.Record.N)
	w.mu.Unlock()
	if w.Run == nil && errors.Is(why, errEnded) {
		w.Say("%s: done or stopped", s.Record.ID)
	}
}

func (w *Worker) leaveAll(why error) {
	w.mu.Lock()
	all := slices.Collect(maps.Values(w.sessions))
	w.mu.Unlock()
	for _, s := range all {
		s.stop(why)
	}
	for _, s := range all {
		w.leave(s, why)
	}
}

// work works on a shard until it is done, its slice has ended, or the worker leaves the run.
func (w *Worker) work(ctx context.Context, job *river.Job[Job]) error {
	w.mu.Lock()
	s := w.sessions[job.Args.Run]
	w.mu.Unlock()
	if s == nil {
		return river.JobSnooze(beat)
	}
	done, err := s.work(ctx, job)
	var broken *store.Error
	switch {
	case err == nil && done:
		return nil
	case errors.As(err, &broken): // the server may be away
		return river.JobSnooze(beat)
	}
	return river.JobSnooze(0) // for the next
}

// Package worker lets many processes take part in the runs of a shared store. What is pending
// of a run is split into shards, whole items with all their arms and replicates; each is a
// job of River, a queue in PostgreSQL, and each run is a queue of its own. The package must
// not know suites, providers or a terminal: it is given runs with their models.
//
// # What River does, and what it does not
//
// River gives a shard to one worker at a time, and to another when the first gives it back or
// is lost. It has no fence: a process that was stopped for long, and wakes, may believe that
// it still has a shard that another works on. So each transaction that writes the run
// first makes sure, in [session.fence], that this process has all the shards it works on; if it
// has lost one it drops what is in hand, and begins no call. What it then gives back is nobody's:
// a shard of a lost worker is given to others as a new job.
//
// # Order
//
// All shards of a run are inserted together. Those of its first step are available, the
// others pending, and the transaction that completes the last shard of a step opens the next.
// After the last one workers no longer have the run. While they have it, its lease keeps
// other processes from writing it; see [store.DB.Entrust].
//
// # Losses
//
// A worker says every few seconds that it is there. The shards of one that did not for
// [lostAfter] are given to others, and those of a process of this machine that has ended, at
// once. Calls that were in flight there are asked again, no others.
//
// # Clocks
//
// Who has a shard, a run, a permit or a part of a budget, and for how long, goes by the clock of
// the server, or by how long this process waited. The time of day of a worker decides nothing.
package worker

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/store"
)

// A Job is a shard of a run.
type Job struct {
	experiment.Shard
	Run     int64           `json:"run"`
	Part    experiment.Part `json:"part"`
	NoReuse bool            `json:"no_reuse,omitempty"`
	Longest time.Duration   `json:"longest"` // that one call may take
}

// Kind is the name that River knows jobs by.
func (Job) Kind() string { return "shard" }

func queueOf(run int64) string { return fmt.Sprintf("run-%d", run) }

// open are the states of jobs that are or will be worked on.
const open = `('available', 'running', 'retryable', 'scheduled')`

// holder is the worker that works on a job, or did last.
const holder = `attempted_by[array_upper(attempted_by, 1)]`

// A Queue is the work of a shared store.
type Queue struct {
	db     *store.DB
	holder string
	pool   *pgxpool.Pool
	driver *riverpgxv5.Driver
	client *river.Client[pgx.Tx] // inserts only
}

// silent is where River would write its log: what matters is in the store.
var silent = slog.New(slog.NewTextHandler(io.Discard, nil))

// Open prepares the queue of a shared store, which is open for writing. Close it first.
func Open(ctx context.Context, db *store.DB) (*Queue, error) {
	config, holder, err := db.Config()
	if err != nil {
		return nil, err
	}
	pooled, err := pgxpool.ParseConfig(config.ConnString())
	if err != nil {
		return nil, fmt.Errorf("store %s: the address cannot be used by workers: it has a setting of its pool", db.Path()) // err may have the password
	}
	pooled.ConnConfig, pooled.MaxConns = config, 4 // by default as many as the machine has cores
	pool, err := pgxpool.NewWithConfig(ctx, pooled)
	if err != nil {
		return nil, db.Explain(err)
	}
	q := &Queue{db: db, holder: holder, pool: pool, driver: riverpgxv5.New(pool)}
	if err := q.migrate(ctx); err != nil {
		pool.Close()
		return nil, db.Explain(fmt.Errorf("preparing the tables of the queue: %w", err))
	}
	q.client, err = river.NewClient(q.driver, &river.Config{Logger: silent})
	return q, err
}

// Store returns the store.
func (q *Queue) Store() *store.DB { return q.db }

// Close closes the connections of the queue.
func (q *Queue) Close() { q.pool.Close() }

// migrate creates the tables of River, or brings them up to date. One process at a time does;
// the others wait for it.
func (q *Queue) migrate(ctx context.Context) error {
	m, err := rivermigrate.New(q.driver, &rivermigrate.Config{Logger: silent})
	if err != nil {
		return err
	}
	if valid, err := m.Validate(ctx, nil); err != nil || valid.OK {
		return err
	}
	return pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `LOCK TABLE workers IN ACCESS EXCLUSIVE MODE`); err != nil {
			return err
		}
		_, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil)
		return err
	})
}

// mostAttempts is the most that River can count: a shard that a worker loses is not given up.
const mostAttempts = 32767

// Entrusting is how a run is given to workers.
type Entrusting struct {
	NoReuse bool
	Score   bool   // the last worker scores the run
	Version string // of the program, which workers must have
}

// Entrust gives what is pending of a run to workers.
func (q *Queue) Entrust(ctx context.Context, r *experiment.Run, left *experiment.Left, how Entrusting) error {
	shards := r.Shards(left)
	if how.Score {
		shards = append(shards, experiment.Shard{Step: experiment.Scoring, To: r.Plan.Len()})
	}
	if len(shards) == 0 {
		return nil
	}
	jobs := make([]Job, len(shards))
	for i, s := range shards {
		jobs[i] = Job{Shard: s, Run: r.Record.N, Part: left.Part(), NoReuse: how.NoReuse, Longest: r.Study.Execution.Timeout.D()}
	}
	return q.insert(ctx, r.Record, jobs, how.Version)
}

// insert gives the run to workers with its jobs, in the order of their steps.
func (q *Queue) insert(ctx context.Context, r *store.Run, jobs []Job, version string) error {
	params := make([]river.InsertManyParams, len(jobs))
	for i, job := range jobs {
		params[i] = river.InsertManyParams{Args: job, InsertOpts: &river.InsertOpts{Queue: queueOf(r.N), MaxAttempts: mostAttempts, Pending: job.Step != jobs[0].Step}}
	}
	return q.db.Entrust(ctx, r, version, func(ctx context.Context, tx store.Tx) error {
		const atOnce = 5000
		for some := range slices.Chunk(params, atOnce) {
			if _, err := q.client.InsertManyTx(ctx, tx, some); err != nil {
				return fmt.Errorf("inserting the jobs of %s: %w", r.ID, err)
			}
		}
		return q.count(ctx, tx, r)
	})
}

// complete completes a shard that this process has had since then, and goes on with the run.
func (q *Queue) complete(ctx context.Context, run *store.Run, job int64, since time.Time) error {
	return q.db.InOne(ctx, func(ctx context.Context, tx store.Tx) error {
		done, err := tx.Exec(ctx, `UPDATE river_job SET state = 'completed', finalized_at = now() WHERE id = $1 AND attempted_at = $2 AND state = 'running'`, job, since)
		if err == nil && done.RowsAffected() == 0 {
			err = errLost
		}
		if err != nil {
			return err
		}
		return goOn(ctx, tx, run)
	})
}

// goOn opens the next step of a run if the one before it has ended, and ends that workers have
// the run after the last step. It belongs to the transaction that completes a shard.
func goOn(ctx context.Context, tx store.Tx, run *store.Run) error {
	if has, err := store.Locked(ctx, tx, run); err != nil || !has {
		return err
	}
	var busy bool
	queue := queueOf(run.N)
	if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM river_job WHERE queue = $1 AND state IN `+open+`)`, queue).Scan(&busy); err != nil || busy {
		return err
	}
	opened, err := tx.Exec(ctx, `UPDATE river_job SET state = 'available', scheduled_at = now() WHERE queue = $1 AND state = 'pending'
		AND (args->>'step')::int = (SELECT min((args->>'step')::int) FROM river_job WHERE queue = $1 AND state = 'pending')`, queue)
	if err != nil || opened.RowsAffected() > 0 {
		return err
	}
	return store.Free(ctx, tx, run)
}

// Stop takes a run from workers: they finish the calls in flight and give its shards back,
// and what is pending is canceled. With now, calls in flight are not waited for, and their
// answers are lost. It waits for at most the given time.
func (q *Queue) Stop(ctx context.Context, run *store.Run, now bool, most time.Duration) error {
	if has, err := q.db.Entrusted(ctx, run); err != nil {
		return err
	} else if !has {
		return fmt.Errorf("stop %s: no worker has this run", run.ID)
	}
	if err := q.db.AskToStop(ctx, run); err != nil {
		return err
	}
	for begun := time.Now(); !now; {
		busy, err := q.inHand(ctx, run)
		if err != nil {
			return err
		}
		if busy == 0 {
			break
		}
		if time.Since(begun) > most {
			return fmt.Errorf("stop %s: %d shards are still worked on after %v; run the same command to wait again, or with --now to lose what is in flight", run.ID, busy, most)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	return q.take(ctx, run)
}

// Back takes a run from workers if none of them works on it, and reports whether it did.
func (q *Queue) Back(ctx context.Context, run *store.Run) (bool, error) {
	if busy, err := q.inHand(ctx, run); err != nil || busy > 0 {
		return false, err
	}
	return true, q.take(ctx, run)
}

// inHand counts the shards of a run that workers work on who are not lost.
func (q *Queue) inHand(ctx context.Context, run *store.Run) (n int, err error) {
	if err := q.rescue(ctx); err != nil {
		return 0, err
	}
	err = q.pool.QueryRow(ctx, `SELECT count(*) FROM river_job WHERE queue = $1 AND state = 'running'`, queueOf(run.N)).Scan(&n)
	return n, q.db.Explain(err)
}

// take ends the work of a run. Answers that a worker has in hand are lost.
func (q *Queue) take(ctx context.Context, run *store.Run) error {
	return q.db.InOne(ctx, func(ctx context.Context, tx store.Tx) error {
		for range 2 { // the second time sees a shard that giveAway put in the place of one meanwhile
			_, err := tx.Exec(ctx, `UPDATE river_job SET state = 'cancelled', finalized_at = now() WHERE queue = $1 AND state NOT IN ('completed', 'cancelled', 'discarded')`, queueOf(run.N))
			if err != nil {
				return err
			}
		}
		return store.Free(ctx, tx, run)
	})
}

// collect collects the rows of a query.
func collect[T any](ctx context.Context, q *Queue, of pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	rows, _ := q.pool.Query(ctx, sql, args...) // the rows have its error
	list, err := pgx.CollectRows(rows, of)
	return list, q.db.Explain(err)
}

// rescue gives the shards of lost workers to others.
func (q *Queue) rescue(ctx context.Context) error {
	ended, err := collect(ctx, q, pgx.RowTo[string], `SELECT DISTINCT `+holder+` FROM river_job WHERE state = 'running'`)
	if err != nil {
		return err
	}
	ended = slices.DeleteFunc(ended, func(h string) bool { return !store.Ended(h) })
	// One that stands still within a transaction keeps its shards until the server ends it.
	if err := q.giveAway(ctx, holder+` = ANY($1) OR NOT EXISTS (SELECT 1 FROM workers w WHERE w.holder = `+holder+` AND w.seen > clock_timestamp() - make_interval(secs => $2))`, ended, lostAfter.Seconds()); err != nil {
		return err
	}
	// River schedules by the clock of the worker that gives a shard back, which may be ahead.
	_, err = q.pool.Exec(ctx, `UPDATE river_job SET state = 'available', scheduled_at = now() WHERE id IN (SELECT id FROM river_job WHERE state IN ('available', 'retryable', 'scheduled')
		AND scheduled_at > clock_timestamp() + make_interval(secs => $1) FOR UPDATE SKIP LOCKED)`, 5*beat.Seconds())
	return q.db.Explain(err)
}

// giveAway gives running shards to others, under new numbers: River gives a shard back by its
// number alone, also for a process that wakes long after it lost it.
func (q *Queue) giveAway(ctx context.Context, which string, args ...any) error {
	_, err := q.pool.Exec(ctx, `WITH lost AS (UPDATE river_job SET state = 'cancelled', finalized_at = now() WHERE id IN (SELECT id FROM river_job WHERE state = 'running' AND (`+which+`) FOR UPDATE SKIP LOCKED)
			RETURNING args, kind, max_attempts, priority, queue)
		INSERT INTO river_job (args, kind, max_attempts, priority, queue, state) SELECT args, kind, max_attempts, priority, queue, 'available' FROM lost`, args...)
	return q.db.Explain(err)
}

// A Status is what workers do.
type Status struct {
	Runs    []State `json:"runs"`
	Workers []Hand  `json:"workers"`
}

// A State is what workers have of a run: the shards of the step that is worked on, and those
// of later steps.
type State struct {
	Run     string `json:"run"`
	Step    string `json:"step"`
	Done    int    `json:"done"`
	InHand  int    `json:"in_hand"`
	Waiting int    `json:"waiting"`
	Later   int    `json:"later"`
	// Exhausted is what was spent of a budget that is used up, where no worker has a shard.
	Exhausted string `json:"budget_exhausted,omitempty"`
}

// A Hand is a worker that is there.
type Hand struct {
	Process string    `json:"process"`
	Seen    time.Time `json:"seen"`
	Shards  int       `json:"shards"` // that it has in hand
	Note    string    `json:"note,omitempty"`
}

// Status returns what workers have of each run, and which workers there are.
func (q *Queue) Status(ctx context.Context) (s Status, err error) {
	s.Runs, err = collect(ctx, q, func(row pgx.CollectableRow) (r State, err error) {
		var step experiment.Step
		err = row.Scan(&r.Run, &step, &r.Done, &r.InHand, &r.Waiting, &r.Later)
		r.Step = step.String()
		return r, err
	}, `WITH of AS (SELECT queue, (args->>'step')::int AS step, state FROM river_job WHERE state <> 'cancelled'),
			now AS (SELECT queue, min(step) AS step FROM of WHERE state IN `+open+` GROUP BY queue)
		SELECT r.id, coalesce(now.step, 0), count(*) FILTER (WHERE of.step = now.step AND state = 'completed'), count(*) FILTER (WHERE state = 'running'),
			count(*) FILTER (WHERE of.step = now.step AND state NOT IN ('completed', 'running')), count(*) FILTER (WHERE of.step > now.step)
		FROM leases l JOIN runs r ON r.n = l.run JOIN of ON of.queue = 'run-' || r.n LEFT JOIN now ON now.queue = of.queue
		WHERE l.holder = $1 GROUP BY r.n, r.id, now.step ORDER BY r.n`, store.Workers)
	if err != nil {
		return s, err
	}
	for i := range s.Runs {
		of := &s.Runs[i]
		if of.InHand > 0 {
			continue
		}
		r, err := q.db.Run(ctx, of.Run)
		if err != nil {
			return s, err
		}
		used, err := q.db.Usage(ctx, r)
		if err != nil {
			return s, err
		}
		of.Exhausted = experiment.Exhausted(r, used.Spent)
	}
	s.Workers, err = collect(ctx, q, pgx.RowToStructByPos[Hand], `SELECT w.process, w.seen, (SELECT count(*) FROM river_job WHERE state = 'running' AND `+holder+` = w.holder), w.note
		FROM workers w WHERE w.seen > clock_timestamp() - make_interval(secs => $1) ORDER BY w.process`, lostAfter.Seconds())
	return s, err
}

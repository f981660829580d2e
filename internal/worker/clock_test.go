package worker

import (
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/postgrestest"
)

// A worker's clock may be an hour off, either way: what it gave back is there for others at
// once, what it works on stays with it, and what River lost of it is given back.
func TestClocksThatAreWrong(t *testing.T) {
	q := opened(t, postgrestest.Address(t))
	r := someRun(t, q)
	if err := q.insert(t.Context(), r, []Job{{Run: r.N}, {Run: r.N}, {Run: r.N}, {Run: r.N}, {Run: r.N}}, "v"); err != nil {
		t.Fatal(err)
	}
	exec := func(text string, args ...any) {
		t.Helper()
		if _, err := q.pool.Exec(t.Context(), text, args...); err != nil {
			t.Fatal(err)
		}
	}
	var first int64
	if err := q.pool.QueryRow(t.Context(), `SELECT min(id) FROM river_job`).Scan(&first); err != nil {
		t.Fatal(err)
	}
	exec(`INSERT INTO workers (holder, process, seen, note) VALUES ($1, 'p', clock_timestamp(), '')`, q.holder)
	exec(`UPDATE river_job SET scheduled_at = now() + interval '1 hour' WHERE id = $1`, first)   // given back by one that is ahead
	exec(`UPDATE river_job SET scheduled_at = now() - interval '1 hour' WHERE id = $1`, first+1) // by one that is behind
	exec(`UPDATE river_job SET state = 'retryable', scheduled_at = now() + interval '1 hour' WHERE id = $1`, first+2)
	exec(`UPDATE river_job SET state = 'running', attempted_at = now(), attempted_by = ARRAY[$2] WHERE id >= $1`, first+3, q.holder)
	w := &Worker{Queue: q, sessions: map[int64]*session{r.N: {hands: map[int64]*hand{first + 3: {}}}}, idle: map[int64]time.Time{}}
	states := func() (due, running int) {
		t.Helper()
		if err := q.pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE state = 'available' AND scheduled_at <= now()), count(*) FILTER (WHERE state = 'running') FROM river_job`).Scan(&due, &running); err != nil {
			t.Fatal(err)
		}
		return due, running
	}
	look := func() {
		t.Helper()
		for range 2 {
			if err := q.rescue(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := w.forgotten(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	look()
	if due, running := states(); due != 3 || running != 2 {
		t.Errorf("%d shards are due and %d in hand, want 3 and 2", due, running)
	}
	w.idle[first+4] = time.Now().Add(-lostAfter - time.Second)
	look()
	if due, running := states(); due != 4 || running != 1 {
		t.Errorf("%d shards are due and %d in hand, want 4, and the one that is worked on", due, running)
	}
	if got := (jobs{w: &Worker{Settings: Settings{Slice: time.Second}}}).Timeout(&river.Job[Job]{Args: Job{Shard: experiment.Shard{Step: experiment.Scoring}}}); got >= 0 {
		t.Errorf("scoring is canceled after %v", got)
	}
}

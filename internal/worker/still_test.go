package worker

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/postgrestest"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
)

// A process that stands still within a transaction holds up nobody who gives shards to others,
// and the server ends its transaction.
func TestStandingStillWithinATransaction(t *testing.T) {
	address := postgrestest.Address(t)
	q, still := opened(t, address), opened(t, address)
	r, err := q.db.CreateRun(t.Context(), store.Run{Study: "s", CreatedAt: time.Now()}, []eval.Item{}, fewTrials(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := q.insert(t.Context(), r, []Job{{Shard: experiment.Shard{}, Run: r.N}}, "v"); err != nil {
		t.Fatal(err)
	}
	tx, err := still.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := q.pool.Exec(t.Context(), `UPDATE river_job SET state = 'running', attempted_by = ARRAY['lost']`); err != nil {
		t.Fatal(err)
	}
	var timeout string
	if err := tx.QueryRow(t.Context(), `SELECT current_setting('idle_in_transaction_session_timeout') FROM river_job FOR SHARE`).Scan(&timeout); err != nil || timeout != "30s" {
		t.Errorf("a transaction may stand still for %s, %v", timeout, err)
	}
	rescued := make(chan error, 1)
	go func() { rescued <- q.rescue(t.Context()) }()
	select {
	case err = <-rescued:
	case <-time.After(10 * time.Second):
		t.Fatal("giving shards to others waits for a process that stands still")
	}
	if n, errCount := q.inHand(t.Context(), r); err != nil || errCount != nil || n != 1 {
		t.Errorf("%d shards in hand, want the locked one: %v, %v", n, err, errCount)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := q.inHand(t.Context(), r); err != nil || n != 0 {
		t.Errorf("%d shards in hand, want none: %v", n, err)
	}
}

// A meanwhile does something between the moment at which a process says which shards it has and the
// server's answer.
type meanwhile struct {
	store.Querier
	do func()
}

func (m meanwhile) QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row {
	m.do()
	return m.Querier.QueryRowContext(ctx, text, args...)
}

// A shard that is completed while a transaction of others begins is not lost; one that is given
// to another process is.
func TestShardsThatEndMeanwhile(t *testing.T) {
	q := opened(t, postgrestest.Address(t))
	r, err := q.db.CreateRun(t.Context(), store.Run{Study: "s", CreatedAt: time.Now()}, nil, fewTrials(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := q.insert(t.Context(), r, make([]Job, 3), "v"); err != nil {
		t.Fatal(err)
	}
	p := &process{&session{Loaded: &Loaded{Run: &experiment.Run{Record: r}}, w: &Worker{Queue: q}, hands: map[int64]*hand{}}, true}
	complete := func(h *hand) func() {
		return func() {
			p.drop(h)
			if err := q.complete(t.Context(), r, h.job.ID, *h.job.AttemptedAt); err != nil {
				t.Error(err)
			}
		}
	}
	lose := func(h *hand) func() {
		return func() {
			if _, err := q.pool.Exec(t.Context(), `UPDATE river_job SET attempted_at = clock_timestamp() WHERE id = $1`, h.job.ID); err != nil {
				t.Error(err)
			}
		}
	}
	first, second := p.take(t, r), p.take(t, r)
	for _, c := range []struct {
		name string
		do   func()
		want error
	}{
		{"completed", complete(first), nil},
		{"given to another process", lose(second), errLost},
	} {
		q.db.Join(r, func(ctx context.Context, tx store.Querier) error { return p.fence(ctx, meanwhile{tx, c.do}) })
		if err := q.db.DropAnalysis(t.Context(), r); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// A shard that the process has still is not held a second time, and stays when another hand of it
// is dropped.
func TestAShardIsHeldOnce(t *testing.T) {
	s := &session{hands: map[int64]*hand{}}
	hold := func() (*hand, error) {
		h := &hand{job: &river.Job[Job]{JobRow: &rivertype.JobRow{ID: 1}}}
		return h, s.hold(h)
	}
	first, err := hold()
	second, errSecond := hold()
	if err != nil || !errors.Is(errSecond, errLost) {
		t.Errorf("holding a shard twice: %v, %v", err, errSecond)
	}
	if s.drop(second); s.hands[1] != first {
		t.Error("the hand that was refused dropped the first")
	}
}

// A worker holds the shards that it works on, not those that it has done: it may do many thousands.
func TestShardsThatAreDoneAreDropped(t *testing.T) {
	s := &session{Loaded: &Loaded{Run: &experiment.Run{Experiment: &experiment.Experiment{Study: &study.Study{}}}}, in: make(chan *hand), quit: make(chan struct{})}
	shard := func() *hand { return &hand{job: &river.Job[Job]{}, done: make(chan error, 1)} }
	next, begun := shard(), []*hand(nil)
	go func() {
		defer close(s.quit)
		for range 100 {
			h := shard()
			s.in <- h
			<-h.done
		}
	}()
	for range s.tasks(experiment.Performing, &next, &begun) {
		t.Error("an empty shard has a task")
	}
	if len(begun) != 1 {
		t.Errorf("%d of 101 shards are held", len(begun))
	}
}

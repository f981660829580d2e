package worker

import (
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/postgrestest"
	"github.com/scruple-eval/scruple/internal/store"
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

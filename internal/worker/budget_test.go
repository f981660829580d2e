package worker

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/postgrestest"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
)

// entrusted gives a run to workers, and returns when.
func entrusted(t testing.TB, q *Queue, r *store.Run) (when string) {
	t.Helper()
	err := q.insert(t.Context(), r, []Job{{Run: r.N}}, "v")
	if err != nil {
		t.Fatal(err)
	}
	runs, err := q.db.OfWorkers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return runs[r.N]
}

func someRun(t testing.TB, q *Queue) *store.Run {
	t.Helper()
	r, err := q.db.CreateRun(t.Context(), store.Run{Study: "s", CreatedAt: time.Now()}, nil, fewTrials(1))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sends is how many requests of a run were sent, and how many of them are on record.
type sends struct{ n, recorded int }

// record records what was sent.
func (s *sends) record(t testing.TB, q *Queue, r *store.Run) {
	t.Helper()
	_, err := q.pool.Exec(t.Context(), `INSERT INTO attempts (trial, session, n, stage, step, sent_at, ended, error_kind, tokens, cost_usd)
		SELECT (SELECT min(id) FROM trials WHERE run = $1), 1, n, '', '', 0, TRUE, '', 0, 0 FROM generate_series($2::int, $3::int) AS n`, r.N, s.recorded+1, s.n)
	if err != nil {
		t.Fatal(err)
	}
	s.recorded = s.n
}

// A spender is a worker that sends requests one by one.
type spender struct {
	*purse
	spent run.Spent
	all   *sends
	none  error // why it sends no more
}

func (s *spender) send(t testing.TB) bool {
	if allowed := s.allowed().Calls; s.spent.Calls >= allowed {
		if s.all != nil {
			s.all.record(t, s.q, s.run)
		}
		_, err := s.Draw(s.spent)
		if errors.Is(err, run.ErrBudget) {
			s.none = err
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s.spent.Calls++
	if s.all != nil {
		s.all.n++
	}
	return true
}

// Of any workers that send, leave and are lost, in any order: together they send no more
// requests than the budget has, and all of them; what lost ones did not spend is counted again
// when the others have nothing left, and who finds nothing says so.
func TestPartsOfABudget(t *testing.T) {
	q := opened(t, postgrestest.Address(t))
	rapid.Check(t, func(rt *rapid.T) {
		r := someRun(t, q)
		when, most, lost := entrusted(t, q, r), rapid.IntRange(1, 200).Draw(rt, "budget"), false
		var there []*spender
		sent := &sends{}
		joins := func(when string, parts func() int) *spender {
			return &spender{purse: &purse{q: q, run: r, when: when, most: run.Budget{Calls: most}, parts: parts, began: time.Now()}, all: sent}
		}
		for range rapid.IntRange(0, 40).Draw(rt, "steps") {
			switch rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0:
				there = append(there, joins(when, func() int { return len(there) }))
			case 1, 2:
				if len(there) > 0 {
					if rapid.Bool().Draw(rt, "killed") {
						lost = true
					} else {
						there[0].putBack(there[0].spent)
					}
					there = there[1:]
				}
			default:
				for range rapid.IntRange(0, 30).Draw(rt, "requests") {
					if len(there) > 0 {
						there[rapid.IntRange(0, len(there)-1).Draw(rt, "of")].send(t)
					}
				}
			}
		}
		for _, s := range there { // what a worker has drawn is with it until it leaves
			for s.send(t) {
			}
			s.putBack(s.spent)
		}
		one := func() int { return 1 }
		last := joins(when, one)
		for last.send(t) {
		}
		if sent.n > most || sent.n < most && !lost || errors.Is(last.none, errReserved) != (sent.n < most) || !strings.Contains(last.none.Error(), fmt.Sprintf("%d of %d call", sent.n, most)) {
			rt.Fatalf("%d requests with a budget of %d, a worker lost: %v: %v", sent.n, most, lost, last.none)
		}
		if sent.n == most {
			return
		}
		if err := q.recount(t.Context(), r, when); err != nil {
			t.Fatal(err)
		}
		runs, err := q.db.OfWorkers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last.putBack(last.spent) // of the session before
		again := joins(runs[r.N], one)
		for again.send(t) {
		}
		if _, err := last.Draw(last.spent); sent.n != most || errors.Is(again.none, errReserved) || !errors.Is(err, errEnded) {
			rt.Fatalf("%d requests with a budget of %d: %v; in the session before: %v", sent.n, most, again.none, err)
		}
	})
}

// A worker that is killed had drawn a few requests, not half of the budget.
func TestFirstPart(t *testing.T) {
	q := opened(t, postgrestest.Address(t))
	r := someRun(t, q)
	s := &spender{purse: &purse{q: q, run: r, when: entrusted(t, q, r), most: run.Budget{Calls: 400}, parts: func() int { return 1 }, began: time.Now()}}
	if s.send(t); s.allowed().Calls > 10 {
		t.Errorf("the first part is of %d calls", s.allowed().Calls)
	}
}

// The budget is not counted again while a worker has a shard.
func TestNoRecountOfShardsInHand(t *testing.T) {
	q := opened(t, postgrestest.Address(t))
	r := someRun(t, q)
	when := entrusted(t, q, r)
	p := &process{&session{w: &Worker{Queue: q}, hands: map[int64]*hand{}}, true}
	h := p.take(t, r)
	same := func() bool {
		runs, err := q.db.OfWorkers(t.Context())
		if err = errors.Join(err, q.recount(t.Context(), r, when)); err != nil {
			t.Fatal(err)
		}
		after, err := q.db.OfWorkers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return runs[r.N] == after[r.N]
	}
	if !same() {
		t.Error("the budget is counted again beside a worker with a shard")
	}
	if err := q.giveAway(t.Context(), `id = $1`, h.job.ID); err != nil {
		t.Fatal(err)
	}
	if same() || !same() {
		t.Error("the budget is not counted again, or twice for one session")
	}
}

// What is spent is counted when a run is given to workers again. One that stood still
// meanwhile gives nothing back of what it had drawn before, and draws nothing.
func TestAPurseOfAnEarlierSession(t *testing.T) {
	q := opened(t, postgrestest.Address(t))
	r := someRun(t, q)
	reserved := func() (n int) {
		if err := q.pool.QueryRow(t.Context(), `SELECT calls FROM budgets WHERE run = $1`, r.N).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	still := &spender{purse: &purse{q: q, run: r, when: entrusted(t, q, r), most: run.Budget{Calls: 1000}, parts: func() int { return 1 }, began: time.Now()}}
	if !still.send(t) || reserved() < 2 {
		t.Fatalf("%d calls drawn, want a part", reserved())
	}
	if err := q.take(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	entrusted(t, q, r)
	still.putBack(still.spent)
	if n := reserved(); n != 0 {
		t.Errorf("%d calls are reserved, want 0: what was drawn in the session before is given back in this one", n)
	}
	if _, err := still.Draw(still.spent); !errors.Is(err, errEnded) || reserved() != 0 {
		t.Errorf("drawing in the session after: %v, %d calls", err, reserved())
	}
}

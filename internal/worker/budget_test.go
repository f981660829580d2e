package worker

import (
	"errors"
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

// A spender is a worker that sends requests one by one.
type spender struct {
	*purse
	spent run.Spent
}

func (s *spender) send(t testing.TB) bool {
	if allowed := s.allowed().Calls; s.spent.Calls >= allowed {
		_, err := s.Draw(s.spent)
		if errors.Is(err, run.ErrBudget) {
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s.spent.Calls++
	return true
}

// Of any workers that send, leave and are lost, in any order: together they send no more
// requests than the budget has, and all of them unless one was lost.
func TestPartsOfABudget(t *testing.T) {
	q := opened(t, postgrestest.Address(t))
	rapid.Check(t, func(rt *rapid.T) {
		r := someRun(t, q)
		when, most, sent, lost := entrusted(t, q, r), rapid.IntRange(1, 200).Draw(rt, "budget"), 0, false
		var there []*spender
		for range rapid.IntRange(0, 40).Draw(rt, "steps") {
			switch rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0:
				there = append(there, &spender{purse: &purse{q: q, run: r, when: when, most: run.Budget{Calls: most}, parts: func() int { return len(there) }, began: time.Now()}})
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
					if len(there) > 0 && there[rapid.IntRange(0, len(there)-1).Draw(rt, "of")].send(t) {
						sent++
					}
				}
			}
		}
		for _, s := range there { // what a worker has drawn is with it until it leaves
			for s.send(t) {
				sent++
			}
			s.putBack(s.spent)
		}
		last := &spender{purse: &purse{q: q, run: r, when: when, most: run.Budget{Calls: most}, parts: func() int { return 1 }, began: time.Now()}}
		for last.send(t) {
			sent++
		}
		if sent > most || sent < most && !lost {
			rt.Fatalf("%d requests with a budget of %d, a worker lost: %v", sent, most, lost)
		}
	})
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
	still := &spender{purse: &purse{q: q, run: r, when: entrusted(t, q, r), most: run.Budget{Calls: 100}, parts: func() int { return 1 }, began: time.Now()}}
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

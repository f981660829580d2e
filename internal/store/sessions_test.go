package store_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/store"
)

// TestSessions: two sessions, the first with a retry and a request whose end is
// unknown, the second with an item of the first and a new one.
func TestSessions(t *testing.T) { onBoth(t, testSessions) }

func testSessions(t *testing.T, place place) {
	db := open(t, place(t))
	r, p := newRun(t, db, 3, 1)
	if list, err := db.Sessions(t.Context(), r); err != nil || len(list) != 0 {
		t.Fatalf("a new run: %v, %v", list, err)
	}
	ask := func(j *store.Journal, seq int, at int64, ended bool, kinds ...eval.ErrorKind) {
		t.Helper()
		c := call(p.Trial(seq), "x")
		c.Sent = nil
		for i, kind := range kinds {
			c.Attempts = i + 1
			c.Sent = append(c.Sent, eval.Attempt{At: at + int64(i), Ended: ended, Err: kind})
			if err := j.Attempt(c, true); err != nil {
				t.Fatal(err)
			}
		}
		if ended {
			if err := j.Append(c); err != nil {
				t.Fatal(err)
			}
		}
	}
	first := journal(t, db, r)
	ask(first, 0, 100, true, eval.ErrTimeout, "")
	ask(first, 1, 200, false, "")
	second := journal(t, db, r)
	ask(second, 1, 300, true, "")
	ask(second, 2, 400, true, "")
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Fatal(err)
	}
	got, err := db.Sessions(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want := []eval.Session{
		{N: 1, First: 100, Last: 200, Requests: 3, Retries: 1, Answers: 1, Items: 1, New: 1, Done: 1,
			Errors: []eval.SessionError{{Kind: "", Requests: 1}, {Kind: eval.ErrTimeout, Requests: 1}}},
		{N: 2, First: 300, Last: 400, Requests: 2, Answers: 2, Items: 2, New: 1, Done: 2},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(eval.Session{}, "Process")); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

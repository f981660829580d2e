package store_test

import (
	"math"
	"testing"

	"github.com/scruple-eval/scruple/internal/store"
)

// What the latest calls say is that of answers, by model, and of those of this store.
func TestRecent(t *testing.T) { onBoth(t, testRecent) }

func testRecent(t *testing.T, place place) {
	db := open(t, place(t))
	if recent, err := db.Recent(t.Context()); err != nil || len(recent) != 0 {
		t.Errorf("an empty store: %v, %v", recent, err)
	}
	if derived, err := db.Derived(t.Context()); err != nil || derived != 0 {
		t.Errorf("an empty store: %v, %v", derived, err)
	}
	r, p := newRun(t, db, 2, 1)
	finish(t, db, r, p)
	recent, err := db.Recent(t.Context())
	if err != nil || len(recent) != 2 {
		t.Fatal(recent, err)
	}
	// "answer \x00\xff doc-001 × a #1", of four trials; failed calls do not count
	if got := recent["gpt"]; got.Calls != 4 || got.LatencyMS != 12.5 || got.Bytes < 20 || got.Bytes > 40 || got.Tokens != 5 {
		t.Errorf("gpt: %+v", got)
	}
	if got := recent["judge"]; got.Calls != 4 || got.Bytes != 3 {
		t.Errorf("judge: %+v", got)
	}
	if derived, err := db.Derived(t.Context()); err != nil || derived < 15 || derived > 60 {
		t.Errorf("outcomes and scores have %v bytes, %v", derived, err)
	}
}

// The size is about what was measured, with what a file and a database have beside the answers.
func TestBytesOf(t *testing.T) {
	for _, c := range []struct {
		path            string
		derived, answer float64
		want            float64
	}{
		{"s.db", 1800, 3540, 94e6}, // 20,000 trials with 10,000 calls
		{"postgres://h/d", 1807, 3540, 88e6},
		{"s.db", 0, 0, 20_000*1550 + 10_000*410},
	} {
		if got := float64(store.BytesOf(c.path, 20_000, 10_000, c.derived, c.answer)); !(math.Abs(got/c.want-1) <= 0.03) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

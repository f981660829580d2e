package store_test

import (
	"maps"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/store"
)

// Runs that have an input of a run are told from others, whatever their items are called, and an
// archived one may have it.
func TestSharing(t *testing.T) { onBoth(t, testSharing) }

func testSharing(t *testing.T, place place) {
	db := open(t, place(t))
	runOf := func(items ...eval.Item) *store.Run {
		p, err := plan.New(items, []eval.Arm{{ID: "a"}}, 1, 42)
		if err != nil {
			t.Fatal(err)
		}
		r, err := db.CreateRun(t.Context(), store.Run{Study: "s", Suite: "s", StudyJSON: []byte(`{}`), Replicates: 1, Version: "test"}, items, p)
		if err != nil {
			t.Fatal(err)
		}
		finish(t, db, r, p)
		return r
	}
	same, renamed := runOf(eval.Item{ID: "x", Input: 1}, eval.Item{ID: "y", Input: 8}), runOf(eval.Item{ID: "z", Input: 2})
	other, archived := runOf(eval.Item{ID: "x", Input: 7}), runOf(eval.Item{ID: "x", Input: 9})
	if err := db.Archive(t.Context(), archived, t.TempDir(), "1"); err != nil {
		t.Fatal(err)
	}
	r := runOf(eval.Item{ID: "x", Input: 1}, eval.Item{ID: "w", Input: 2})
	got, err := db.Sharing(t.Context(), r, []*store.Run{same, renamed, other, archived})
	if want := map[int64]bool{same.N: true, renamed.N: true, archived.N: true}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, want %v: %v", got, want, err)
	}
	if got, err := db.Sharing(t.Context(), r, nil); err != nil || len(got) > 0 {
		t.Errorf("of no runs: %v, %v", got, err)
	}
}

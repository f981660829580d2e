package discipline_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/eval"
)

func registration(study, gold string, inputs ...string) discipline.Registration {
	parts := []eval.Part{{Name: "gold", Value: gold}}
	return discipline.Registration{Study: study, Digest: discipline.DigestOf(parts), Parts: parts, Inputs: inputs, Items: len(inputs)}
}

// What a new TEST run is refused for, as entries are added to the ledger of a study.
func TestStart(t *testing.T) {
	study := filepath.Join(t.TempDir(), "study.yaml")
	clock := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	desk, err := discipline.Open(study, "anna", func() time.Time { clock = clock.Add(time.Hour); return clock })
	if err != nil {
		t.Fatal(err)
	}
	defer desk.Close()
	step := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	refused := func(now discipline.Registration, seen []string, want ...string) {
		t.Helper()
		got := desk.Book.Start(now, seen)
		if len(got) != len(want) {
			t.Fatalf("got the reasons %q, want %d", got, len(want))
		}
		for i := range want {
			if !strings.Contains(got[i], want[i]) {
				t.Errorf("reason %q, want %q", got[i], want[i])
			}
		}
	}
	one, changed, renamed, other := registration("one", "g1", "a", "b"), registration("one", "g2", "a", "b"), registration("two", "g1", "b", "c"), registration("three", "g1", "x")
	began := func(r discipline.Registration, run string) discipline.TestRun {
		return discipline.TestRun{Study: r.Study, Run: run, Created: "2026-11-22T10:00:00Z", Store: "s.db", Digest: r.Digest, Inputs: r.Inputs}
	}

	step(desk.Register(one))
	refused(one, nil)
	refused(changed, nil, "gold: was g1, now g2")
	refused(one, []string{"run one-1 has 2 items of them"}, "run one-1")
	step(desk.Began(began(one, "one-2")))
	refused(one, nil, "one-2 began on 2026-11-22")
	refused(changed, nil, "gold", "one-2")
	refused(renamed, nil, "one-2") // shares an item
	refused(other, nil)
	if e, ok := desk.Book.Test("one-2", "2026-11-22T10:00:00Z"); !ok || e.Data.Digest != one.Digest || e.By != "anna" {
		t.Errorf("the entry of the run is %v", e)
	}
	if _, ok := desk.Book.Test("one-2", "2026-11-23T10:00:00Z"); ok {
		t.Error("a run of another store has the entry")
	}

	// A reason allows one more run, of what it was given for.
	step(desk.Unblind(discipline.Unblinding{Study: "one", Reason: "gold was wrong", Digest: changed.Digest}))
	refused(changed, nil)
	refused(one, nil, "one-2")
	if desk.Book.Accepts(one) || !desk.Book.Accepts(changed) {
		t.Error("an unblinding accepts what it was not given for, or not what it was given for")
	}
	step(desk.Began(began(changed, "one-3")))
	refused(changed, nil, "one-2", "one-3")

	// A new registration does not.
	step(desk.Register(changed))
	refused(changed, nil, "one-2", "one-3")
	if r, n := desk.Book.Registered([]string{"b", "q"}); n != 1 || r.Data.Study != "one" {
		t.Errorf("registered: %d items of %s", n, r.Data.Study)
	}

	// What ran outside of TEST was seen; each item is listed once.
	step(desk.Show(discipline.Seen{Study: "four", Run: "four-1", Created: "2026-11-22T09:00:00Z", Store: "s.db", Inputs: desk.Book.Unseen([]string{"y", "x", "y"})}))
	refused(other, nil, "run four-1 of study four had 1 of the items outside of a TEST run")
	if got := desk.Book.Unseen([]string{"z", "x", "y"}); !slices.Equal(got, []string{"z"}) || !desk.Book.Saw("four-1", "2026-11-22T09:00:00Z") || desk.Book.Saw("four-1", "2026-11-23T09:00:00Z") {
		t.Errorf("unseen: %q", got)
	}
	step(desk.Unblind(discipline.Unblinding{Study: "three", Reason: "seen by mistake", Digest: other.Digest}))
	refused(other, nil)
	step(desk.Revise(discipline.Revision{Study: "one", Hypothesis: "h", Change: "c"}))
	revisions, unblindings := desk.Book.Of("one")
	if len(revisions) != 1 || len(unblindings) != 1 {
		t.Errorf("%d revisions, %d unblindings", len(revisions), len(unblindings))
	}

	// The ledger on disk says the same.
	read, err := discipline.Read(discipline.Path(study))
	step(err)
	if !slices.Equal(read.Start(changed, nil), desk.Book.Start(changed, nil)) || read.Head != desk.Book.Head {
		t.Error("the ledger on disk says something else")
	}
}

// Nobody can start a TEST run while another starts.
func TestOneDesk(t *testing.T) {
	study := filepath.Join(t.TempDir(), "study.yaml")
	desk, err := discipline.Open(study, "anna", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := discipline.Open(study, "ben", time.Now); err == nil {
		second.Close()
		t.Error("two desks are open")
	}
	if err := desk.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestNoLedger(t *testing.T) {
	book, err := discipline.Read(filepath.Join(t.TempDir(), "ledger.jsonl"))
	if err != nil || !book.Empty() || len(book.Start(registration("one", "g"), nil)) != 0 {
		t.Errorf("a study without a ledger: %v, %v", book, err)
	}
}

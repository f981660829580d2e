package discipline_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/study"
)

func registration(study, gold string, inputs ...string) discipline.Registration {
	parts := []eval.Part{{Name: "gold", Value: gold}}
	return discipline.Registration{Owner: discipline.Owner{Study: study}, Digest: discipline.DigestOf(parts), Parts: parts, Hashes: discipline.Hashes{Inputs: inputs}, Items: len(inputs)}
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
		got := desk.Book.Objections(now, seen)
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
		return discipline.TestRun{RunKey: discipline.RunKey{Owner: r.Owner, Run: run, Created: "2026-11-22T10:00:00Z"}, Store: "s.db", Digest: r.Digest, Hashes: r.Hashes}
	}

	step(desk.Add(one))
	refused(one, nil)
	refused(changed, nil, "gold: was g1, now g2")
	refused(one, []string{"run one-1 has 2 items of them"}, "run one-1")
	step(desk.Add(began(one, "one-2")))
	refused(one, nil, "one-2 began on 2026-11-22")
	refused(changed, nil, "gold", "one-2")
	refused(renamed, nil, "one-2") // shares an item
	refused(other, nil)
	if e, ok := desk.Book.Test(discipline.RunKey{Owner: discipline.Owner{Study: "one"}, Run: "one-2", Created: "2026-11-22T10:00:00Z"}); !ok || e.Data.Digest != one.Digest || e.By != "anna" {
		t.Errorf("the entry of the run is %v", e)
	}
	if _, ok := desk.Book.Test(discipline.RunKey{Owner: discipline.Owner{Study: "one"}, Run: "one-2", Created: "2026-11-23T10:00:00Z"}); ok {
		t.Error("a run of another store has the entry")
	}

	// A reason allows one more run, of what it was given for.
	// A command that was killed behind it, and is repeated, does not say it again.
	for range 2 {
		step(desk.Unblind(discipline.Unblinding{Owner: discipline.Owner{Study: "one"}, Reason: "gold was wrong", Digest: changed.Digest, Changes: []string{"gold"}}))
	}
	refused(changed, nil)
	refused(one, nil, "one-2")
	if desk.Book.Accepts(one) || !desk.Book.Accepts(changed) {
		t.Error("an unblinding accepts what it was not given for, or not what it was given for")
	}
	step(desk.Add(began(changed, "one-3")))
	refused(changed, nil, "one-2", "one-3")

	// A new registration does not.
	step(desk.Add(changed))
	refused(changed, nil, "one-2", "one-3")
	if r, n, _ := desk.Book.Registered(discipline.Hashes{Inputs: []string{"b", "q"}}); n != 1 || r.Data.Study != "one" {
		t.Errorf("registered: %d items of %s", n, r.Data.Study)
	}

	// What ran outside of TEST was seen; each item is listed once.
	step(desk.Add(discipline.Seen{Owner: discipline.Owner{Study: "four"}, Run: "four-1", Created: "2026-11-22T09:00:00Z", Store: "s.db", Hashes: discipline.Hashes{Inputs: desk.Book.Unseen([]string{"y", "x", "y"})}}))
	refused(other, nil, "run four-1 of study four had 1 of the items outside of a TEST run")
	if got := desk.Book.Unseen([]string{"z", "x", "y"}); !slices.Equal(got, []string{"z"}) || !desk.Book.Saw(discipline.RunKey{Owner: discipline.Owner{Study: "four"}, Run: "four-1", Created: "2026-11-22T09:00:00Z"}) || desk.Book.Saw(discipline.RunKey{Owner: discipline.Owner{Study: "four"}, Run: "four-1", Created: "2026-11-23T09:00:00Z"}) {
		t.Errorf("unseen: %q", got)
	}
	step(desk.Add(discipline.Unblinding{Owner: discipline.Owner{Study: "three"}, Reason: "seen by mistake", Digest: other.Digest}))
	refused(other, nil)
	// A reason is of what had been seen by then.
	wider := registration("three", "g3", "x", "w")
	step(desk.Add(discipline.Unblinding{Owner: discipline.Owner{Study: "three"}, Reason: "one was seen", Digest: wider.Digest}))
	refused(wider, nil)
	step(desk.Add(discipline.Seen{Owner: discipline.Owner{Study: "four"}, Run: "four-2", Created: "2026-11-22T09:30:00Z", Store: "s.db", Hashes: discipline.Hashes{Inputs: []string{"w"}}}))
	refused(wider, nil, "run four-1 of study four", "run four-2 of study four")
	step(desk.Add(discipline.Revision{Owner: discipline.Owner{Study: "one"}, Hypothesis: "h", Change: "c"}))
	revisions, unblindings := desk.Book.Of(discipline.Owner{Study: "one"})
	if len(revisions) != 1 || len(unblindings) != 1 {
		t.Errorf("%d revisions, %d unblindings", len(revisions), len(unblindings))
	}

	// The ledger on disk says the same.
	read, err := discipline.Read(discipline.Path(study))
	step(err)
	if !slices.Equal(read.Objections(changed, nil), desk.Book.Objections(changed, nil)) || read.Head != desk.Book.Head {
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
	if err != nil || !book.Empty() || len(book.Objections(registration("one", "g"), nil)) != 0 {
		t.Errorf("a study without a ledger: %v, %v", book, err)
	}
}

// Two studies with one name in folders of one repository are two studies, unless they
// share items; entries of before have no folder and are of both.
func TestOwners(t *testing.T) {
	in := func(folder string, r discipline.Registration) discipline.Registration {
		r.Folder = folder
		return r
	}
	began := func(r discipline.Registration, run string, arms ...discipline.Arm) discipline.TestRun {
		return discipline.TestRun{RunKey: discipline.RunKey{Owner: r.Owner, Run: run, Created: "c"}, Digest: r.Digest, Hashes: r.Hashes, Arms: arms}
	}
	a, b, c := in("a", registration("s", "g", "x")), in("b", registration("s", "g", "y")), in("c", registration("s", "g", "x"))
	desk, err := discipline.Open(filepath.Join(t.TempDir(), "study.yaml"), "anna", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer desk.Close()
	for _, err := range []error{
		desk.Add(a),
		desk.Add(began(a, "s-1", discipline.Arm{ID: "ctn", Hash: "1"}, discipline.Arm{ID: "plain", Hash: "2"})),
		desk.Add(began(b, "s-2", discipline.Arm{ID: "ctn", Hash: "9"})),
		desk.Add(began(b, "s-3", discipline.Arm{ID: "renamed", Hash: "2"})),
		desk.Add(began(b, "s-4", discipline.Arm{ID: "else", Hash: "3"})),
		desk.Add(discipline.Revision{Owner: a.Owner, Hypothesis: "h", Change: "c"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := desk.Book.Registration(b.Owner); ok {
		t.Error("a study in another folder has the registration")
	}
	if _, ok := desk.Book.Registration(discipline.Owner{Study: "s"}); !ok {
		t.Error("a study without a known folder does not have the registration")
	}
	if reasons := desk.Book.SeenBefore(in("d", registration("s", "g", "z")), nil); len(reasons) != 0 {
		t.Errorf("items that nobody saw: %q", reasons)
	}
	if reasons := desk.Book.SeenBefore(c, nil); len(reasons) != 1 || !strings.Contains(reasons[0], "s-1") {
		t.Errorf("items that s-1 had: %q", reasons)
	}
	if revisions, _ := desk.Book.Of(b.Owner); len(revisions) != 0 {
		t.Errorf("a study in another folder has the revisions %v", revisions)
	}
	first, _ := desk.Book.Test(discipline.RunKey{Owner: discipline.Owner{Study: "s"}, Run: "s-1", Created: "c"})
	if moved, ok := desk.Book.Test(discipline.RunKey{Owner: discipline.Owner{Study: "s", Folder: "moved"}, Run: "s-1", Created: "c"}); !ok || moved.Seq != first.Seq {
		t.Errorf("the run of a study that was moved: %+v", moved)
	}
	if _, ok := desk.Book.Test(discipline.RunKey{Owner: discipline.Owner{Study: "other"}, Run: "s-1", Created: "c"}); ok {
		t.Error("a run of another study")
	}
	var others []string
	for _, o := range desk.Book.Others(first) {
		others = append(others, o.Data.Run+" "+strings.Join(o.Data.Shared(first.Data), ","))
	}
	if got := strings.Join(others, "; "); got != "s-2 ctn by name alone; s-3 renamed" {
		t.Errorf("other TEST runs with these arms: %s", got)
	}
}

// What a run of very many items saw is known by any of them.
func TestSawAny(t *testing.T) {
	inputs := make([]string, discipline.MostInputs+1)
	for i := range inputs {
		inputs[i] = fmt.Sprint(i)
	}
	if (discipline.Book{}).SawAny(inputs) {
		t.Error("a ledger without entries knows of a run")
	}
	book := discipline.Book{Seen: []discipline.Entry[discipline.Seen]{{Data: discipline.Seen{Hashes: discipline.Hashes{Inputs: inputs[7:8]}}}}}
	if !book.SawAny(inputs) {
		t.Error("a ledger does not know of a part")
	}
}

// A commitment is to a kit of the study, not of another one with the same ledger.
func TestCommitmentNeedsAKitOfTheStudy(t *testing.T) {
	dir, data := t.TempDir(), strings.Repeat("c", 64)
	of := func(name string) *discipline.Subject {
		return &discipline.Subject{Study: &study.Study{Name: name}, File: &study.File{Path: filepath.Join(dir, name+".yaml")}, Now: time.Now}
	}
	if err := of("one").RecordKit(strings.Repeat("d", 64), nil, "anna"); err != nil {
		t.Fatal(err)
	}
	if err := of("two").RecordCommitment(data, "a group", "", "anna"); err == nil || !strings.Contains(err.Error(), "has no kit of this study") {
		t.Errorf("a kit of another study: %v", err)
	}
	if err := of("one").RecordCommitment(data, "a group", "", "anna"); err != nil {
		t.Error(err)
	}
}

// The result of a blind validation that another version recorded says nothing here, and prevents nothing
// but rules on it. Entries on which TEST depends are read whole or not at all.
func TestBlindResultOfAnotherVersion(t *testing.T) {
	dir := t.TempDir()
	file, owner := filepath.Join(dir, "s.yaml"), discipline.Owner{Study: "s"}
	add := func(kind string, data map[string]any) {
		if _, err := ledger.Add(discipline.Path(file), time.Now(), "anna", kind, data); err != nil {
			t.Fatal(err)
		}
	}
	add("blind validation", map[string]any{"study": "s", "result": map[string]any{"by": "a group", "data_sha256": strings.Repeat("c", 64), "documents": 9,
		"comparisons": []map[string]any{{"a": "x", "b": "y", "metric": "m", "diff": 0.5, "scale": "log"}}}})
	book, err := discipline.BookOf(file)
	if err != nil {
		t.Fatal(err)
	}
	list := discipline.BlindResults(book, owner, nil)
	if len(list) != 1 || list[0].Counts() || !strings.Contains(list[0].String(), `by a group, data with SHA-256 cccccccccccc: not read, since another version of Scruple recorded it: entry 1 (blind validation): `) || !strings.Contains(list[0].String(), `"scale"`) {
		t.Errorf("%v", list)
	}
	add("unblinding", map[string]any{"study": "s", "reason": "why", "until": "tomorrow"})
	if _, err := discipline.BookOf(file); err == nil || !strings.Contains(err.Error(), `"until"`) {
		t.Errorf("an unblinding with an unknown key: %v", err)
	}
}

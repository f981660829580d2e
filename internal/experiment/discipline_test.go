package experiment_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// splitSuite is the fixture with every second item in TEST.
func splitSuite() kit.Suite {
	s := fixtureSuite()
	open := s.Open
	s.Open = func(f *study.File, own study.Any) (kit.Bench, error) {
		b, err := open(f, own)
		for i := range b.(*fixture).items {
			it := &b.(*fixture).items[i]
			it.Split, it.Cluster = []string{study.SplitDev, study.SplitTest}[i%2], ""
		}
		return b, err
	}
	return s
}

const splitStudy = "split: dev\n" + fixtureStudy

// A crash between a TEST run and its entry in the ledger leaves a run without calls. The
// next command starts another one, also if the study was changed and registered again
// meanwhile.
func TestCrashBeforeTheLedgerKnowsOfTheRun(t *testing.T) {
	for _, edit := range []string{"", "replicates: 3 → replicates: 2", "resamples: 1000 → resamples: 1001"} {
		t.Run(edit, func(t *testing.T) {
			dir, ctx := t.TempDir(), t.Context()
			env := env()
			env.Suite = func(string) (kit.Suite, error) { return splitSuite(), nil }
			path := filepath.Join(dir, "study.yaml")
			load := func(text string) *experiment.Experiment {
				x, err := experiment.Load(write(t, path, text), []string{"split=test"}, env)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { x.Close() })
				return x
			}
			db := openStore(t, dir)
			x := load(splitStudy)
			if _, err := x.Preregister(ctx, db, "anna", ""); err != nil {
				t.Fatal(err)
			}
			if _, err := x.Start(ctx, db); err != nil { // and the crash
				t.Fatal(err)
			}
			if was, now, ok := strings.Cut(edit, " → "); ok {
				x = load(strings.Replace(splitStudy, was, now, 1))
				if _, err := x.Begin(ctx, db, experiment.Attempt{By: "anna"}); err == nil || !strings.Contains(err.Error(), "undo the change, or give the reason") {
					t.Fatalf("another study than was registered: %v", err)
				}
				if r, err := x.Preregister(ctx, db, "anna", ""); err != nil || r.Known || r.Before == nil || r.Before.Seq != 1 || r.Seq != 2 {
					t.Fatalf("registered again: %+v, %v", r, err)
				}
			}
			r, err := x.Begin(ctx, db, experiment.Attempt{By: "anna"})
			if err != nil {
				t.Fatal(err)
			}
			again, err := x.Begin(ctx, db, experiment.Attempt{By: "anna"})
			if err != nil || again.Record.ID != r.Record.ID {
				t.Errorf("the run is not resumed: %v", err)
			}
			book, err := discipline.Read(discipline.Path(path))
			if err != nil {
				t.Fatal(err)
			}
			if len(book.Tests) != 1 || book.Tests[0].Data.Run != r.Record.ID || len(book.Unblindings) != 0 {
				t.Errorf("the ledger has %+v", book.Tests)
			}
		})
	}
}

// Items that a run outside of TEST asks about are in the ledger before its first call,
// each once: all of a study without a split, those of DEV, and those of a part.
func TestSeenItems(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	env := env()
	env.Suite = func(string) (kit.Suite, error) { return splitSuite(), nil }
	path := filepath.Join(dir, "study.yaml")
	begin := func(text string, part experiment.Part) *experiment.Run {
		t.Helper()
		x, err := experiment.Load(write(t, path, text), nil, env)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.Close() })
		r, err := x.Begin(ctx, openStore(t, t.TempDir()), experiment.Attempt{By: "anna", Part: part})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	plain := strings.TrimPrefix(splitStudy, "split: dev\n")
	var had []int
	for _, step := range []struct {
		text       string
		part       experiment.Part
		seen, test int // new ones
	}{
		{plain, experiment.Part{Items: []string{"t01", "t02", "t03"}}, 3, 2},
		{splitStudy, experiment.Part{}, fixtureItems/2 - 1, 0},
		{splitStudy, experiment.Part{}, 0, 0},
		{plain, experiment.Part{}, fixtureItems/2 - 2, fixtureItems/2 - 2},
	} {
		r := begin(step.text, step.part)
		if r.SeenTest != step.test {
			t.Errorf("%+v: %d items of TEST, want %d", step.part, r.SeenTest, step.test)
		}
		book, err := discipline.Read(discipline.Path(path))
		if err != nil {
			t.Fatal(err)
		}
		if step.seen > 0 {
			had = append(had, step.seen)
		}
		if len(book.Seen) != len(had) || len(book.Seen[len(had)-1].Data.Inputs) != had[len(had)-1] {
			t.Fatalf("%+v: the ledger has %+v, want %v items", step.part, book.Seen, had)
		}
	}
}

// Failed trials of items whose results were shown at a look are asked again for a reason only;
// before a look nobody has seen them.
func TestRetryAfterALook(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	env := env()
	env.Suite = func(string) (kit.Suite, error) { return splitSuite(), nil }
	text := strings.Replace(splitStudy, "statistics: {", "statistics: {looks: 4, ", 1)
	x, err := experiment.Load(write(t, filepath.Join(dir, "study.yaml"), text), []string{"split=test"}, env)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	db := openStore(t, dir)
	if _, err := x.Preregister(ctx, db, "anna", ""); err != nil {
		t.Fatal(err)
	}
	retry, shown := experiment.Part{RetryFailed: true}, 0
	begin := func(why string) *experiment.Run {
		t.Helper()
		r, err := x.Begin(ctx, db, experiment.Attempt{By: "anna", Part: retry, Unblind: why})
		want := ""
		if shown > 0 && why == "" {
			want = "failed trials would be asked again"
		}
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Fatalf("with %d failed trials that were shown: %v, want %q", shown, err, want)
		}
		return r
	}
	for range 4 {
		r, err := x.Begin(ctx, db, experiment.Attempt{By: "anna"})
		if err != nil {
			t.Fatal(err)
		}
		left, err := r.Left(ctx, experiment.Part{})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Ask(ctx, left, experiment.Asking{Models: map[string]*run.Model{}}); err != nil {
			t.Fatal(err)
		}
		begin("")
		if _, err := r.Rescore(ctx, 0); err != nil {
			t.Fatal(err)
		}
		p, err := db.Progress(ctx, r.Record)
		if err != nil {
			t.Fatal(err)
		}
		events, err := db.Events(ctx, r.Record)
		if err != nil {
			t.Fatal(err)
		}
		looks := discipline.LooksOf(events)
		if got, want := looks[len(looks)-1].Items, p.Done.Count()*len(x.Items())/p.Trials; got != want {
			t.Errorf("look %d is recorded as of %d items, want %d", len(looks), got, want)
		}
		shown = p.Failed.Count()
		begin("")
		begin("the server was down")
	}
	if shown != 3 {
		t.Errorf("%d failed trials, want 3", shown)
	}
}

// What a run spent counts in the budget also if the clock was set back since it began.
func TestBudgetAfterTheClockWasSetBack(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	env := env()
	env.Suite = func(string) (kit.Suite, error) { return splitSuite(), nil }
	clock := env.Now()
	env.Now = func() time.Time { return clock }
	x, err := experiment.Load(write(t, filepath.Join(dir, "study.yaml"), splitStudy), nil, env)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	db := openStore(t, dir)
	if _, err := x.Start(ctx, db); err != nil {
		t.Fatal(err)
	}
	clock = clock.Add(-time.Hour)
	r, err := x.Revise(ctx, db, "anna", "why", "what")
	if err != nil {
		t.Fatal(err)
	}
	if days := r.Used[1]; days.Name != "days" || days.Used != 1 {
		t.Errorf("used %+v, want one day", days)
	}
}

// A study can read any number of files: a line of the ledger names so many, and has one hash of
// more.
func TestRegistrationOfManyFiles(t *testing.T) {
	dir := t.TempDir()
	env := env()
	env.Suite = func(string) (kit.Suite, error) { return splitSuite(), nil }
	x, err := experiment.Load(write(t, filepath.Join(dir, "study.yaml"), splitStudy), []string{"split=test"}, env)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for i := range 20_000 {
		x.Files = append(x.Files, study.Sum{Path: fmt.Sprintf("documents/%05d.txt", i), SHA256: strings.Repeat("0", 64)})
	}
	for _, changed := range []bool{false, true} {
		r, err := x.Preregister(t.Context(), nil, "anna", "")
		if err != nil {
			t.Fatal(err)
		}
		if (r.Before != nil) != changed {
			t.Errorf("changed: %v, registered before: %v", changed, r.Before)
		}
		x.Files[7].SHA256 = strings.Repeat("1", 64)
	}
}

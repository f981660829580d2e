package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/postgrestest"
	"github.com/scruple-eval/scruple/internal/store"
)

// finish gives every trial of a run answers, an outcome, verdicts and scores.
func finish(t *testing.T, db *store.DB, r *store.Run, p *plan.Plan) {
	t.Helper()
	j := journal(t, db, r)
	for seq := range p.Len() {
		trial := p.Trial(seq)
		c := call(trial, fmt.Sprintf("answer \x00\xff %v", trial))
		c.Key = fmt.Sprintf("%032x", seq)
		judge := call(trial, "yes")
		judge.Stage, judge.Model, judge.Key = eval.StageJudge, "judge", "j"
		failed := call(trial, "")
		failed.Step, failed.ErrKind, failed.Err = "again", "timeout", "no \xff answer"
		for _, c := range []*eval.Call{c, failed, judge} {
			if err := j.Append(c); err != nil {
				t.Fatal(err)
			}
		}
		err := errors.Join(j.Outcome(trial, eval.Outcome{Kind: eval.OK, Reason: "r\x00", Detail: "\xfe", Notes: []string{"n"}, Data: []byte("{\"x\":\x00}")}),
			j.Judged(trial, []eval.Verdict{{Step: "s", Source: eval.ByModel, By: "judge", Data: []byte("yes\x00")}}),
			j.Examples(trial, eval.StageRun, []store.Example{{Asked: store.Asked{Stage: eval.StageRun, Model: "gpt", Trial: trial}, Steps: 2, Prompts: []store.Prompt{{Step: "ask", Text: "what?"}}}}))
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	person := eval.Verdict{Step: "s", Source: eval.ByHuman, By: "anna", At: "2026-11-21T02:03:04Z", Data: []byte("no")}
	if d, err := db.SetPeople(t.Context(), r, []eval.PersonVerdict{{Trial: eval.Trial{Item: "doc-001"}, Verdict: person}, {Trial: p.Trial(0), Verdict: person}}, nil, nil); d.Len() != 2 || err != nil {
		t.Fatal(d, err)
	}
	rescore(t, db, r, 1)
	if err := errors.Join(db.SaveAnalysis(t.Context(), r, []byte(`{}`), nil, "b"), db.AddEvents(t.Context(), r, store.Event{What: store.EventTag, Note: "last"})); err != nil {
		t.Fatal(err)
	}
}

// rescore replaces the scores of a run.
func rescore(t *testing.T, db *store.DB, r *store.Run, num float64) {
	t.Helper()
	err := db.ReplaceScores(t.Context(), r, func(yield func(eval.Scored, error) bool) {
		for c, err := range db.Cases(t.Context(), r) {
			s := eval.Scored{Case: c}
			for _, o := range c.Trials {
				s.Scores = append(s.Scores, eval.Score{Metric: "m", Replicate: o.Trial.Replicate, Num: num, Den: 3})
			}
			s.Scores = append(s.Scores, eval.Score{Metric: "majority", Num: num, Den: 1})
			if !yield(s, err) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// contents is what can be read of a run.
func contents(t *testing.T, db *store.DB, id string) string {
	t.Helper()
	ctx := t.Context()
	r, err := db.Run(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	say := func(what string, v any, err error) {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		fmt.Fprintf(&b, "%s: %+v\n", what, v)
	}
	for c, err := range db.Calls(ctx, r) {
		say("call", c, err)
	}
	for c, err := range db.CallsIn(ctx, r, 0, 3) {
		say("journalled call", c, err)
	}
	for j, err := range db.Outcomes(ctx, r) {
		say("outcome", j, err)
	}
	for c, err := range db.Cases(ctx, r) {
		say("case", c, err)
	}
	for s, err := range db.ScoresByItem(ctx, r) {
		say("scores", s, err)
	}
	for c, err := range db.Taken(ctx, r) {
		say("taken", c, err)
	}
	for c, err := range db.Rows(ctx, r, 0, 3) {
		say("row", c, err)
		scores, err := db.ScoresOf(ctx, r, c.ID)
		say("its scores", scores, err)
		calls, n, err := db.Transcript(ctx, r, c.ID, 0, 9)
		say("its calls", calls, err)
		say("number", n, nil)
		of, err := db.OutcomeOf(ctx, r, c.ID)
		say("its outcome", of, err)
	}
	items, err := db.PlannedItems(ctx, r)
	say("items", items, err)
	tally, err := db.Tally(ctx, r)
	say("tally", tally, err)
	progress, err := db.Progress(ctx, r)
	say("progress", *progress, err)
	sums, err := db.CallSums(ctx, r)
	say("sums", sums, err)
	sessions, err := db.Sessions(ctx, r)
	say("sessions", sessions, err)
	examples, err := db.Examples(ctx, r)
	say("examples", examples, err)
	wrong, err := db.Errors(ctx, r, 3)
	say("errors", wrong, err)
	reused, err := db.Reused(ctx, r)
	say("reused", reused, err)
	tags, err := db.Tags(ctx, r)
	say("tags", tags, err)
	answers, err := db.Answers(ctx, r, "a")
	say("arm", "a", err)
	o, version, took, err := answers.Get(ctx, "doc-001", 1)
	say("answer", []any{o, version, took}, err)
	return b.String()
}

func isSound(t *testing.T, path string) {
	t.Helper()
	checks, err := store.Examine(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if c.State == store.CheckDamaged {
			t.Errorf("%s: %s", c.Name, c.Note)
		}
	}
}

// What is read of a run is the same before it is archived, while that is interrupted, and
// afterwards, also of runs that took its answers. Scores can still be replaced.
func TestArchive(t *testing.T) { onBoth(t, testArchive) }

func testArchive(t *testing.T, place place) {
	path, dir := place(t), t.TempDir()
	db := open(t, path)
	r, p := newRun(t, db, 3, 2)
	if err := db.Archive(t.Context(), r, dir, "1"); err == nil || !strings.Contains(err.Error(), "0 of 12 trials have an outcome: finish it with `scruple run`") {
		t.Errorf("an unfinished run: %v", err)
	}
	finish(t, db, r, p)
	took, _ := newRun(t, db, 3, 2)
	j := journal(t, db, took)
	take := func(j *store.Journal, seq int, want bool) {
		t.Helper()
		c := call(p.Trial(seq), "")
		c.Key = fmt.Sprintf("%032x", seq)
		c.Response = eval.Response{}
		if ok, err := j.Take(t.Context(), c, true, false); err != nil || ok != want || want && (c.SourceRun != r.ID || !strings.HasPrefix(c.Response.Text, "answer \x00\xff")) {
			t.Fatalf("taking an answer: %v, %v, of %q: %q", ok, err, c.SourceRun, c.Response.Text)
		}
		if err := errors.Join(j.Append(c), j.Outcome(p.Trial(seq), eval.Outcome{Kind: eval.OK})); err != nil {
			t.Fatal(err)
		}
	}
	for seq := range 6 {
		take(j, seq, true)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	before, others := contents(t, db, r.ID), contents(t, db, took.ID)
	own, rows := partitions(t, db)
	for within := time.Duration(0); ; within += within/3 + time.Millisecond {
		ctx, end := context.WithTimeout(t.Context(), within)
		again, err := db.Run(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Archive(ctx, again, dir, "1")
		end()
		if got := contents(t, db, r.ID); got != before {
			t.Fatalf("interrupted after %v (%v): it reads\n%s\nnot\n%s", within, err, got, before)
		}
		if err == nil {
			break
		}
		if within > 10*time.Second {
			t.Fatal(err)
		}
	}
	if got := contents(t, db, took.ID); got != others {
		t.Errorf("the run that took its answers reads\n%s\nnot\n%s", got, others)
	}
	r, err := db.Run(t.Context(), r.ID)
	if err != nil || r.Archive == nil || r.Archive.Trials != 12 || r.Archive.Bytes() == 0 {
		t.Fatal(r.Archive, err)
	}
	if n, left := partitions(t, db); n != own/2 || own > 0 && (n == 0 || left == 0 || left >= rows) {
		t.Errorf("%d partitions with %d rows, %d with %d before", n, left, own, rows)
	}
	if left := store.RowsForTest(t, db, r); left > 3 { // the last numbers
		t.Errorf("%d trials are still in the store", left)
	}
	if _, err := db.Journal(t.Context(), r); err == nil || !strings.Contains(err.Error(), "scruple run --new") {
		t.Errorf("an archived run is written: %v", err)
	}
	if _, err := db.SetPlan(t.Context(), r, p); err != nil {
		t.Error(err)
	}
	rescore(t, db, r, 2)
	after := contents(t, db, r.ID)
	if after == before || after != strings.NewReplacer("Num:1 Den:3", "Num:2 Den:3", "Num:1 Den:1", "Num:2 Den:1").Replace(before) {
		t.Errorf("after scoring again it reads\n%s\nbefore\n%s", after, before)
	}
	// A later run asks again. Numbers are not given again, so that later answers are told from archived ones.
	later, _ := newRun(t, db, 3, 2)
	j = journal(t, db, later)
	take(j, 0, false)
	take(j, 7, false)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	db.Close()
	isSound(t, path)
	read, err := store.OpenRead(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if got := contents(t, read, r.ID); got != after {
		t.Errorf("another process reads\n%s\nnot\n%s", got, after)
	}
	// A copy has the rows, and those of the run whose answers were taken.
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := read.Extract(t.Context(), copied, store.Extraction{Run: took.ID, StudyPath: "s", Process: "p"}); err != nil {
		t.Fatal(err)
	}
	isSound(t, copied)
	of := open(t, copied)
	if same, err := of.Run(t.Context(), r.ID); err != nil || same.Archive != nil {
		t.Fatal(same, err)
	}
	if reused, err := of.Reused(t.Context(), mustRun(t, of, took.ID)); err != nil || len(reused) != 1 || reused[0].Run != r.ID || reused[0].Answers != 6 {
		t.Errorf("of the copy were taken %v, %v", reused, err)
	}
	outcomes := func(db *store.DB) string {
		return fmt.Sprint(all(t, db.Outcomes(t.Context(), mustRun(t, db, r.ID))))
	}
	if got, want := outcomes(of), outcomes(read); got != want {
		t.Errorf("the copy has\n%s\nnot\n%s", got, want)
	}
}

func partitions(t *testing.T, db *store.DB) (n, rows int) {
	if db.Shared() {
		return db.PartitionsForTest(t)
	}
	return 0, 0
}

// A database of the format before partitions reads the same after its migration, and goes on
// with its numbers.
func TestPartitionsAreMigrated(t *testing.T) {
	store.SetManyTrialsForTest(1000)
	defer store.SetManyTrialsForTest(3)
	address := postgrestest.Address(t)
	db := store.OpenOldForTest(t, address, 10)
	r, p := newRun(t, db, 3, 2)
	finish(t, db, r, p)
	before := contents(t, db, r.ID)
	db.CloseOldForTest(t)
	db = open(t, address)
	if got := contents(t, db, r.ID); got != before {
		t.Errorf("after the migration it reads\n%s\nnot\n%s", got, before)
	}
	store.SetManyTrialsForTest(12)
	for range 2 { // one with partitions, and one that finds the tables busy
		later, p := newRun(t, db, 3, 2)
		finish(t, db, later, p)
		if n, rows := db.PartitionsForTest(t); n != 8 || rows == 0 {
			t.Errorf("%d partitions with %d rows", n, rows)
		}
		if got, want := fmt.Sprint(all(t, db.Cases(t.Context(), later))), fmt.Sprint(all(t, db.Cases(t.Context(), r))); got != want {
			t.Errorf("a later run reads\n%s\nnot\n%s", got, want)
		}
		release := db.ReadCallsForTest(t)
		defer release()
	}
}

// A process that read a run before another archived it finds the answers where they are now.
func TestArchivedMeanwhile(t *testing.T) {
	onBoth(t, func(t *testing.T, place place) {
		db, dir := open(t, place(t)), t.TempDir()
		r, p := newRun(t, db, 3, 2)
		finish(t, db, r, p)
		before, stale := contents(t, db, r.ID), mustRun(t, db, r.ID)
		earlier := mustRun(t, db, r.ID)
		for _, run := range []*store.Run{r, stale} {
			if err := db.Archive(t.Context(), run, dir, "1"); err != nil || run.Archive.Trials != 12 {
				t.Fatal(run.Archive, err)
			}
		}
		if got := contents(t, db, r.ID); got != before {
			t.Errorf("it reads\n%s\nnot\n%s", got, before)
		}
		_, rows := store.Collect(db.Calls(t.Context(), earlier))
		_, one := db.Tally(t.Context(), earlier)
		for _, err := range []error{rows, one} {
			if err == nil || !strings.Contains(err.Error(), "run the same command again") {
				t.Errorf("of the run as it was before: %v", err)
			}
		}
	})
}

// A plan that is written while it is checked is not taken for damaged.
func TestPlansAreCheckedBesideAWriter(t *testing.T) {
	onBoth(t, func(t *testing.T, place place) {
		path := place(t)
		db := open(t, path)
		var runs []*store.Run
		for range 3 {
			r, p := newRun(t, db, 3, 2)
			finish(t, db, r, p)
			runs = append(runs, r)
		}
		read, err := store.OpenRead(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer read.Close()
		var writing sync.WaitGroup
		defer writing.Wait()
		ended := make(chan struct{})
		dir := t.TempDir()
		writing.Go(func() {
			defer close(ended)
			for _, r := range runs {
				if err := db.Archive(t.Context(), r, dir, "1"); err != nil {
					t.Error(err)
				}
			}
		})
		for {
			if err := read.Damage(t.Context()); err != nil {
				t.Fatal(err)
			}
			select {
			case <-ended:
				return
			default:
			}
		}
	})
}

// What a killed process left of the first file of an archive does not make the folder another's.
func TestArchiveGoesOnAtItsFirstFile(t *testing.T) {
	db, dir := open(t, filepath.Join(t.TempDir(), "s.db")), t.TempDir()
	r, p := newRun(t, db, 3, 2)
	finish(t, db, r, p)
	at := filepath.Join(dir, r.ID)
	if err := errors.Join(os.Mkdir(at, 0o700), os.WriteFile(filepath.Join(at, ".run.json.1abc.part"), []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := db.Archive(t.Context(), r, dir, "1"); err != nil {
		t.Error(err)
	}
}

// Copies of a store archive a run into one folder at once.
func TestArchivesOfCopiesAtOnce(t *testing.T) {
	path, dir := filepath.Join(t.TempDir(), "s.db"), t.TempDir()
	db := open(t, path)
	r, p := newRun(t, db, 50, 2)
	finish(t, db, r, p)
	db.Close()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "s.db")
	if err := os.WriteFile(copied, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var both sync.WaitGroup
	for i, path := range []string{path, copied} {
		db := open(t, path)
		both.Go(func() {
			run, err := db.Run(t.Context(), r.ID)
			for again := err == nil; again; again = err != nil && strings.Contains(err.Error(), "has other files") { // the other one makes the folder
				err = db.Archive(t.Context(), run, dir, fmt.Sprint(i))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
}

// Copies of a store that archive a run into one folder leave each other's files as they are.
func TestArchivesOfCopies(t *testing.T) {
	path, dir := filepath.Join(t.TempDir(), "s.db"), t.TempDir()
	db := open(t, path)
	r, p := newRun(t, db, 3, 2)
	finish(t, db, r, p)
	before := contents(t, db, r.ID)
	db.Close()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "s.db")
	if err := os.WriteFile(copied, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, path := range []string{path, copied} {
		db := open(t, path)
		run := mustRun(t, db, r.ID)
		if err := second(db.SetPlan(t.Context(), run, p)); err != nil {
			t.Fatal(err)
		}
		if err := db.Archive(t.Context(), run, dir, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
		rescore(t, db, run, 2)
		rescore(t, db, run, 1)
		db.Close()
	}
	for _, path := range []string{path, copied} {
		isSound(t, path)
		if got := contents(t, open(t, path), r.ID); got != before {
			t.Errorf("%s reads\n%s\nnot\n%s", path, got, before)
		}
	}
}

// A process that read a run before another scored it replaces the scores that are there now.
func TestArchiveIsScoredMeanwhile(t *testing.T) {
	onBoth(t, func(t *testing.T, place place) {
		path := place(t)
		db := open(t, path)
		r, p := newRun(t, db, 3, 2)
		finish(t, db, r, p)
		if err := db.Archive(t.Context(), r, t.TempDir(), "1"); err != nil {
			t.Fatal(err)
		}
		stale := mustRun(t, db, r.ID)
		if err := second(db.SetPlan(t.Context(), stale, p)); err != nil {
			t.Fatal(err)
		}
		rescore(t, db, r, 2)
		moved := t.TempDir()
		if err := errors.Join(os.Rename(r.Archive.Dir, filepath.Join(moved, r.ID)), db.Archive(t.Context(), r, moved, "1")); err != nil {
			t.Fatal(err)
		}
		rescore(t, db, stale, 3)
		db.Close()
		isSound(t, path)
		if got := contents(t, open(t, path), r.ID); !strings.Contains(got, "Num:3 Den:3") {
			t.Errorf("it reads %s", got)
		}
	})
}

func mustRun(t *testing.T, db *store.DB, id string) *store.Run {
	t.Helper()
	r, err := db.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Files that are missing, moved or changed are named with a remedy.
func TestArchivesThatAreNotThere(t *testing.T) {
	path, dir := filepath.Join(t.TempDir(), "s.db"), t.TempDir()
	db := open(t, path)
	r, p := newRun(t, db, 3, 2)
	finish(t, db, r, p)
	before := contents(t, db, r.ID)
	if err := db.Archive(t.Context(), r, dir, "1"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	at := filepath.Join(dir, r.ID)
	calls := filepath.Join(at, r.Archive.Files[slices.IndexFunc(r.Archive.Files, func(f store.ArchivedFile) bool { return f.Table == "calls" })].File)
	whole, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	fails := func(want ...string) {
		t.Helper()
		db, err := store.OpenRead(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		_, err = db.Progress(t.Context(), mustRun(t, db, r.ID))
		for _, w := range append(want, at, "`scruple archive "+r.ID+" --to FOLDER`") {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("want %q in: %v", w, err)
			}
		}
		if err != nil && strings.Count(err.Error(), "`scruple archive") != 1 {
			t.Errorf("the remedy is there more than once: %v", err)
		}
		checks, err := store.Examine(t.Context(), path)
		if err != nil || !slices.ContainsFunc(checks, func(c store.Check) bool { return c.Name == "archives" && c.State == store.CheckDamaged }) {
			t.Errorf("%v, %v", checks, err)
		}
	}
	if err := os.WriteFile(calls, append(whole[:len(whole)-1:len(whole)-1], 'x'), 0o600); err != nil {
		t.Fatal(err)
	}
	fails("it is not the file that was written")
	if err := errors.Join(os.Remove(calls), os.Mkdir(calls, 0o700)); err != nil {
		t.Fatal(err)
	}
	if checks, err := store.Examine(t.Context(), path); err == nil || strings.Contains(fmt.Sprint(checks), store.CheckDamaged) {
		t.Errorf("a file that this machine cannot read: %v, %v", checks, err)
	}
	if err := errors.Join(os.Remove(calls), os.WriteFile(calls, whole, 0o600)); err != nil {
		t.Fatal(err)
	}
	moved := t.TempDir()
	if err := os.Rename(at, filepath.Join(moved, r.ID)); err != nil {
		t.Fatal(err)
	}
	fails("no such file")
	db = open(t, path)
	if err := db.Archive(t.Context(), mustRun(t, db, r.ID), moved, "1"); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, db, r.ID); got != before {
		t.Errorf("after the move it reads\n%s\nnot\n%s", got, before)
	}
	// A run of this name of another store does not take its place.
	other := open(t, filepath.Join(t.TempDir(), "other.db"))
	same, q := newRun(t, other, 2, 2)
	finish(t, other, same, q)
	if err := other.Archive(t.Context(), same, moved, "1"); err == nil || !strings.Contains(err.Error(), "another run of this name: give another --to") {
		t.Errorf("two runs in one folder: %v", err)
	}
}

// An answer that is the data of an outcome as it is, is stored once, and read in both places.
func TestAnAnswerIsStoredOnce(t *testing.T) { onBoth(t, testAnAnswerIsStoredOnce) }

func testAnAnswerIsStoredOnce(t *testing.T, place place) {
	db := open(t, place(t))
	r, p := newRun(t, db, 2, 2)
	j := journal(t, db, r)
	long := strings.Repeat("a long answer \x00\xff", 9)
	want := map[eval.Trial]string{}
	for seq := range p.Len() {
		trial := p.Trial(seq)
		c := call(trial, long+fmt.Sprint(seq))
		data := c.Response.Text
		switch seq {
		case 1:
			data += "!" // not the answer
		case 2:
			c.Response.Text, data = "short", "short"
		case 3:
			c.Stage = eval.StageJudge
		case 4:
			c.ErrKind, c.Err = "timeout", "x"
		case 5:
			data = ""
		}
		if err := errors.Join(j.Append(c), j.Outcome(trial, eval.Outcome{Kind: eval.OK, Data: []byte(data)})); err != nil {
			t.Fatal(err)
		}
		want[trial] = data
	}
	again := eval.Outcome{Kind: eval.OK, Data: []byte("another outcome of the same answer")}
	if err := errors.Join(j.Outcome(p.Trial(6), again), j.Close()); err != nil {
		t.Fatal(err)
	}
	want[p.Trial(6)] = string(again.Data)
	for o, err := range db.Outcomes(t.Context(), r) {
		if err != nil || string(o.Outcome.Data) != want[o.Trial] {
			t.Errorf("%v: %q, %v, want %q", o.Trial, o.Outcome.Data, err, want[o.Trial])
		}
	}
	if n := store.SharedForTest(t, db); n != 2 { // the first trial and the last
		t.Errorf("%d outcomes refer to a call", n)
	}
}

package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/store"
)

func newRun(t testing.TB, db *store.DB, items, replicates int) (*store.Run, *plan.Plan) {
	t.Helper()
	var list []eval.Item
	for i := range items {
		list = append(list, eval.Item{ID: fmt.Sprintf("doc-%03d", i), Input: 1, Gold: 2})
	}
	p, err := plan.New(list, []eval.Arm{{ID: "a"}, {ID: "b"}}, replicates, 42)
	if err != nil {
		t.Fatal(err)
	}
	r, err := db.CreateRun(t.Context(), store.Run{Study: "my study", Suite: "s", StudyPath: "/x/study.yaml", StudyJSON: []byte(`{}`),
		Treatment: []eval.Part{{Name: "suite", Value: "s"}, {Name: "arm a", Value: "h=1\n2"}}, Replicates: replicates,
		Version: "test", CreatedAt: time.Date(2026, 11, 21, 2, 3, 4, 0, time.UTC)}, list, p)
	if err != nil {
		t.Fatal(err)
	}
	return r, p
}

func open(t testing.TB, path string) *store.DB {
	t.Helper()
	db, err := store.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func journal(t testing.TB, db *store.DB, r *store.Run) *store.Journal {
	t.Helper()
	j, err := db.Journal(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func all[T any](t *testing.T, rows iter.Seq2[T, error]) (list []T) {
	t.Helper()
	for v, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

func call(trial eval.Trial, text string) *eval.Call {
	return &eval.Call{Trial: trial, Stage: eval.StageRun, Step: "ask", Key: "k", Parts: []eval.Part{{Name: "model", Value: "m"}},
		Provider: "openai", Model: "gpt", Attempts: 1, Sent: []eval.Attempt{{At: 1_790_000_000_123_456, Ended: true}}, CostUSD: 0.25, LatencyMS: 12.5, Response: eval.Response{
			Text: text, Stop: eval.StopEnd, StopReason: "stop", ModelVersion: "gpt-1", RequestID: "r1", Adapted: []string{"temperature dropped"},
			ToolCalls: []eval.ToolCall{{ID: "1", Name: "f", Arguments: []byte(`{"not json`)}},
			Usage:     eval.Usage{Input: 10, Output: 5, Cached: 4, Reasoning: 2, CachedInInput: true},
		}}
}

func TestRunReadsBackAsWritten(t *testing.T) { onBoth(t, testRunReadsBackAsWritten) }

func testRunReadsBackAsWritten(t *testing.T, place place) {
	path := place(t)
	db := open(t, path)
	r, p := newRun(t, db, 3, 2)
	if r.ID != "my-study-1" {
		t.Errorf("id %q", r.ID)
	}
	j := journal(t, db, r)
	first, second := p.Trial(0), p.Trial(1)
	want := call(first, "answer \x00 é")
	if err := j.Append(want); err != nil {
		t.Fatal(err)
	}
	outcome := eval.Outcome{Kind: eval.OK, Notes: []string{"repaired"}, Data: []byte("answer")}
	if err := errors.Join(j.Outcome(first, outcome), j.Outcome(second, eval.Outcome{Kind: eval.Failed, Reason: "timeout"}),
		j.Judged(first, []eval.Verdict{{Step: "judge/f", Source: eval.ByModel, By: "m", Data: []byte("yes")}, {Step: "judge/g", Err: "no answer"}}), j.Close()); err != nil {
		t.Fatal(err)
	}

	back, err := db.Run(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := db.SetPlan(t.Context(), back, p); err != nil || !same {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Treatment, back.Treatment); diff != "" {
		t.Error(diff)
	}
	want.ID = 1 // given by the store
	for _, c := range all(t, db.Calls(t.Context(), back)) {
		if diff := cmp.Diff(*want, c); diff != "" {
			t.Error(diff)
		}
	}
	outcomes := all(t, db.Outcomes(t.Context(), back))
	if len(outcomes) != 2 || len(outcomes[0].Verdicts) != 2 || string(outcomes[0].Outcome.Data) != "answer" || outcomes[1].Verdicts != nil {
		t.Errorf("outcomes %+v", outcomes)
	}
	progress, err := db.Progress(t.Context(), back)
	if err != nil {
		t.Fatal(err)
	}
	if !progress.Done.Has(0) || !progress.Failed.Has(1) || progress.Done.Has(2) || !progress.Judged.Has(0) || !progress.Unjudged.Has(0) || !progress.Called.Has(0) || progress.Called.Has(1) {
		t.Errorf("progress %+v", progress)
	}
	// 10 input tokens count the cached ones; 5 output tokens do not count the 2 of reasoning.
	if progress.Calls != 1 || progress.Tokens != 17 || progress.Cost != 0.25 {
		t.Errorf("spent %d calls, %d tokens, $%v", progress.Calls, progress.Tokens, progress.Cost)
	}
}

func TestAnAnswerIsNeverOverwrittenAndAFailureIs(t *testing.T) {
	onBoth(t, testAnAnswerIsNeverOverwrittenAndAFailureIs)
}

func testAnAnswerIsNeverOverwrittenAndAFailureIs(t *testing.T, place place) {
	db := open(t, place(t))
	r, p := newRun(t, db, 1, 1)
	j := journal(t, db, r)
	defer j.Close()
	trial := p.Trial(0)
	failed := call(trial, "")
	failed.ErrKind, failed.Err, failed.Attempts, failed.CostUSD = eval.ErrTimeout, "no answer", 4, math.NaN()
	for _, c := range []*eval.Call{failed, call(trial, "first"), call(trial, "second")} {
		if err := j.Append(c); err != nil {
			t.Fatal(err)
		}
	}
	got, ok, err := j.Lookup(t.Context(), trial, eval.StageRun, "ask")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if got.Response.Text != "first" || got.ErrKind != "" || got.Attempts != 5 {
		t.Errorf("text %q, error %q, attempts %d; want the first answer after 5 attempts", got.Response.Text, got.ErrKind, got.Attempts)
	}
}

func TestConcurrentAppendsAreAllKept(t *testing.T) { onBoth(t, testConcurrentAppendsAreAllKept) }

func testConcurrentAppendsAreAllKept(t *testing.T, place place) {
	db := open(t, place(t))
	r, p := newRun(t, db, 200, 2)
	j := journal(t, db, r)
	var wg sync.WaitGroup
	for seq := range p.Len() {
		wg.Go(func() {
			if err := j.Append(call(p.Trial(seq), "x")); err != nil {
				t.Error(err)
			}
			if err := j.Outcome(p.Trial(seq), eval.Outcome{Kind: eval.OK}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	outcomes := all(t, db.Outcomes(t.Context(), r))
	for n, o := range outcomes {
		if o.Trial != p.Trial(n) {
			t.Fatalf("outcome %d is of %v, want plan order", n, o.Trial)
		}
	}
	if len(outcomes) != 800 {
		t.Errorf("%d outcomes, want 800", len(outcomes))
	}
	if err := j.Append(call(p.Trial(0), "x")); err == nil {
		t.Error("a closed journal accepted a call")
	}
}

func TestASecondWriterIsRefusedAndReadersAreNot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	db := open(t, path)
	newRun(t, db, 1, 1)
	if _, err := store.Open(t.Context(), path); !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), "--store") {
		t.Errorf("second writer: %v", err)
	}
	reader, err := store.OpenRead(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if runs, err := reader.Runs(t.Context()); err != nil || len(runs) != 1 {
		t.Errorf("runs %v, %v", runs, err)
	}
	if _, err := reader.Run(t.Context(), "none"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("unknown run: %v", err)
	}
}

func TestStoresThatCannotBeUsed(t *testing.T) {
	t.Run("newer", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "s.db")
		open(t, path).Close()
		store.SetVersionForTest(t, path, 99)
		for _, err := range []error{second(store.Open(t.Context(), path)), second(store.OpenRead(t.Context(), path))} {
			if err == nil || !strings.Contains(err.Error(), "format 99") {
				t.Errorf("newer store: %v", err)
			}
		}
	})
	t.Run("not a database", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "s.db")
		if err := os.WriteFile(path, []byte(strings.Repeat("not a database ", 100)), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "not a valid SQLite database") {
			t.Errorf("garbage: %v", err)
		}
		if b, _ := os.ReadFile(path); !strings.HasPrefix(string(b), "not a database") {
			t.Error("the file was changed")
		}
	})
	t.Run("absent", func(t *testing.T) {
		if _, err := store.OpenRead(t.Context(), filepath.Join(t.TempDir(), "s.db")); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("absent: %v", err)
		}
	})
	t.Run("read only", func(t *testing.T) {
		if os.Getuid() == 0 {
			path := filepath.Join(t.TempDir(), "s.db")
			open(t, path).Close()
			ro, err := store.OpenRead(t.Context(), path)
			if errors.Is(err, store.ErrNotFound) {
				return
			}
			defer ro.Close()
			if _, err := ro.Journal(t.Context(), &store.Run{}); err == nil {
				t.Error("a read-only store returned a journal")
			}
			return
		}
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(t.Context(), filepath.Join(dir, "s.db")); err == nil || !strings.Contains(err.Error(), "--store") {
			t.Errorf("read-only folder: %v", err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// Without room for what processes share, a store is read, and a writer says that the disk is full.
func TestNoRoomToShare(t *testing.T) {
	dir := t.TempDir()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", dir).Run(); err != nil {
		t.Skipf("mounting a small disk: %v", err)
	}
	t.Cleanup(func() { _ = exec.Command("umount", dir).Run() })
	path := filepath.Join(dir, "s.db")
	db := open(t, path)
	r, _ := newRun(t, db, 5, 1)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 4<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	for range 2 { // the first leaves files behind
		read, err := store.OpenRead(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := read.Run(t.Context(), r.ID); err != nil {
			t.Error(err)
		}
		read.Close()
	}
	if _, err := store.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "the disk is full: free some space") {
		t.Errorf("writing: %v", err)
	}
}

// A full disk is simulated by a page limit of the file, which also gives
// SQLITE_FULL.
func TestFullDiskIsSaidAndNothingRecordedIsLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	db := open(t, path)
	r, p := newRun(t, db, 50, 1)
	j := journal(t, db, r)
	store.CapPagesForTest(t, j, 60)
	kept := 0
	var err error
	for seq := range p.Len() {
		if err = j.Append(call(p.Trial(seq), strings.Repeat("x", 9000))); err != nil {
			break
		}
		kept++
	}
	if err == nil || !strings.Contains(err.Error(), "disk is full") {
		t.Fatalf("full disk: %v after %d calls", err, kept)
	}
	if next := j.Append(call(p.Trial(0), "y")); next == nil {
		t.Error("a failed journal accepted another call")
	}
	if err := j.Close(); err == nil {
		t.Error("Close does not report the loss")
	}
	if n := len(all(t, db.Calls(t.Context(), r))); n != kept || kept == 0 {
		t.Errorf("%d calls are in the store, %d were acknowledged", n, kept)
	}
}

// TestScoresReadBackAsWritten: scores of trials and of whole cases as fractions,
// rows and reasons.
func TestScoresReadBackAsWritten(t *testing.T) { onBoth(t, testScoresReadBackAsWritten) }

func testScoresReadBackAsWritten(t *testing.T, place place) {
	db := open(t, place(t))
	r, p := newRun(t, db, 2, 1)
	ofTrial := []eval.Score{{Unit: "f \"q\" é", Metric: "value", Num: 1.0 / 3, Den: 1}, {Unit: "f \"q\" é", Metric: "rate", Num: 2.5, Den: 7},
		{Unit: "g", Metric: "evidence", Unscored: "judge failed"}, {Metric: "small", Num: -1e-300, Den: 1}, {Metric: "zero", Num: 0, Den: 3},
		{Metric: "kappa", Row: eval.Row{1, -0.5, math.NaN()}}, {Metric: "empty", Row: eval.Row{}}}
	for i := range ofTrial {
		ofTrial[i].Replicate = 1
	}
	ofCase := []eval.Score{{Metric: "majority", Num: 1, Den: 1}}
	write := func(scores ...eval.Score) error {
		return db.ReplaceScores(t.Context(), r, func(yield func(eval.Scored, error) bool) {
			_ = yield(eval.Scored{Case: eval.CaseOf(p.Trial(0), eval.Outcome{Kind: eval.OK}, nil), Scores: scores}, nil) &&
				yield(eval.Scored{Case: eval.CaseOf(p.Trial(1), eval.Outcome{Kind: eval.Failed}, nil)}, nil)
		})
	}
	if err := errors.Join(write(), write(slices.Concat(ofTrial, ofCase)...)); err != nil {
		t.Fatal(err)
	}
	whole := p.Trial(0)
	whole.Replicate = 0
	want := []store.TrialScores{{Trial: whole, Scores: ofCase}, {Trial: p.Trial(0), Scores: ofTrial}} // failed trials are not scored
	if diff := cmp.Diff(want, all(t, db.Scores(t.Context(), r)), cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct {
		of   int
		with eval.Score
		same bool
	}{
		{0, eval.Score{Num: 1.0/3 + 1e-16, Den: 1}, true}, // of another processor
		{0, eval.Score{Num: 0.3334, Den: 1}, false},
		{1, eval.Score{Num: 2.5000000000000004, Den: 6.999999999999999}, true},
		{1, eval.Score{Num: 2.5, Den: 8}, false},
		{2, eval.Score{Unscored: "judge  failed"}, false},
		{5, eval.Score{Row: eval.Row{1, -0.5000000000000001, math.NaN()}}, true},
		{5, eval.Score{Row: eval.Row{1, math.NaN(), -0.5}}, false},
		{6, eval.Score{Num: 0, Den: 1}, false},
	} {
		other := slices.Clone(ofTrial)
		c.with.Unit, c.with.Metric, c.with.Replicate = other[c.of].Unit, other[c.of].Metric, 1
		other[c.of] = c.with
		got, err := db.OtherScores(t.Context(), r, func(yield func(eval.Scored, error) bool) {
			yield(eval.Scored{Case: eval.CaseOf(p.Trial(0), eval.Outcome{Kind: eval.OK}, nil), Scores: slices.Concat(other, ofCase)}, nil)
		})
		if err != nil || (len(got) == 0) != c.same {
			t.Errorf("%+v instead of %+v: %v, %v", c.with, ofTrial[c.of], got, err)
		}
	}
	if err := write(ofCase[0], ofTrial[0]); err == nil {
		t.Error("no error for scores out of order")
	}
	if n := len(all(t, db.Scores(t.Context(), r))); n != 2 {
		t.Errorf("%d entries after an error, want those of before", n)
	}
}

// TestVerdicts: the last verdict of a judge, step and round is in force; raters and
// rounds are independent; changed gold makes judges' verdicts stale but not
// people's; nothing is deleted.
func TestVerdicts(t *testing.T) { onBoth(t, testVerdicts) }

func testVerdicts(t *testing.T, place place) {
	db := open(t, place(t))
	r, p := newRun(t, db, 2, 1)
	trial := p.Trial(0)
	human := func(by string, round int, label string) eval.Verdict {
		return eval.Verdict{Unit: "field", Step: "label", Source: eval.ByHuman, By: by, Round: round, Data: []byte(label), At: fmt.Sprintf("2026-11-22T08:%02d:00Z", round)}
	}
	j := journal(t, db, r)
	rule := eval.Verdict{Step: "length", Source: eval.ByRule, By: "short", Data: []byte("yes")}
	if err := errors.Join(j.Outcome(trial, eval.Outcome{Kind: eval.OK}), j.Judged(trial, []eval.Verdict{rule}), j.Close()); err != nil {
		t.Fatal(err)
	}
	itself := eval.Trial{Item: trial.Item}
	if _, err := db.SetPeople(t.Context(), r, []eval.PersonVerdict{{Trial: trial, Verdict: human("anna", 1, "no")}, {Trial: trial, Verdict: human("ben", 1, "no")},
		{Trial: trial, Verdict: human("anna", 1, "yes")}, {Trial: trial, Verdict: human("anna", 2, "no")}, {Trial: itself, Verdict: human("ben", 1, "hard")}}, nil, nil); err != nil {
		t.Fatal(err)
	}
	rule.Round = 1
	people := []eval.Verdict{human("anna", 1, "yes"), human("anna", 2, "no"), human("ben", 1, "no")}
	check := func(want []eval.Verdict) {
		t.Helper()
		cases := all(t, db.Cases(t.Context(), r))
		if len(cases) != 1 {
			t.Fatalf("%d cases, want 1", len(cases))
		}
		if d := cmp.Diff(want, cases[0].Trials[0].Verdicts); d != "" {
			t.Errorf("on the trial (-want +got)\n%s", d)
		}
		if d := cmp.Diff([]eval.Verdict{human("ben", 1, "hard")}, cases[0].Verdicts); d != "" {
			t.Errorf("on the item (-want +got)\n%s", d)
		}
	}
	check(append(slices.Clone(people), rule))
	said, err := db.SaidByPeople(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[store.PersonUnit]string{{trial, "field", "label", "anna", 1}: "yes", {trial, "field", "label", "anna", 2}: "no", {trial, "field", "label", "ben", 1}: "no"}, said); d != "" {
		t.Errorf("of trials (-want +got)\n%s", d)
	}
	if err := db.Renew(t.Context(), r, []store.Renewal{{Trial: trial, Stage: eval.StageJudge}}, nil); err != nil {
		t.Fatal(err)
	}
	check(people)
	progress, err := db.Progress(t.Context(), r)
	if err != nil || progress.ToJudge() != 1 {
		t.Errorf("%d trials to judge, want 1; %v", progress.ToJudge(), err)
	}
}

// Verdicts of people that are not among those of today are out of force, on a trial and on an
// item, whatever was said before them; they are in force again when they are among them.
func TestVerdictsOfPeopleThatNoLongerCount(t *testing.T) {
	onBoth(t, testVerdictsOfPeopleThatNoLongerCount)
}

func testVerdictsOfPeopleThatNoLongerCount(t *testing.T, place place) {
	db := open(t, place(t))
	r, p := newRun(t, db, 2, 1)
	trial := p.Trial(0)
	j := journal(t, db, r)
	rule := eval.Verdict{Step: "length", Source: eval.ByRule, By: "short", Round: 1, Data: []byte("yes")}
	if err := errors.Join(j.Outcome(trial, eval.Outcome{Kind: eval.OK}), j.Judged(trial, []eval.Verdict{rule}), j.Close()); err != nil {
		t.Fatal(err)
	}
	of := func(trial eval.Trial, step, by, data string) eval.PersonVerdict {
		return eval.PersonVerdict{Trial: trial, Verdict: eval.Verdict{Unit: "field", Step: step, Source: eval.ByHuman, By: by, Round: 1, Data: []byte(data)}}
	}
	itself := eval.Trial{Item: trial.Item}
	was, anna, ben := of(trial, "label", "anna", "no"), of(trial, "label", "anna", "yes"), of(trial, "label", "ben", "no")
	hard := of(itself, "hard", "ben", "hard")
	set := func(ctx context.Context, r *store.Run, list []eval.PersonVerdict, away func(step, person string) bool) (store.PeopleDiff, error) {
		return db.SetPeople(ctx, r, list, away, func(d store.PeopleDiff) []store.Event {
			return []store.Event{{What: "people", Note: fmt.Sprint(d.Len())}}
		})
	}
	for _, s := range []struct {
		name                       string
		said                       []eval.PersonVerdict
		lacking, changed, outdated map[string]int
		onTrial, onItem            []eval.Verdict
		away                       string // whose answers are not here
	}{
		{"first", []eval.PersonVerdict{was, ben, hard}, map[string]int{"label": 2, "hard": 1}, map[string]int{}, map[string]int{}, []eval.Verdict{was.Verdict, ben.Verdict, rule}, []eval.Verdict{hard.Verdict}, ""},
		{"away", []eval.PersonVerdict{was}, map[string]int{}, map[string]int{}, map[string]int{}, []eval.Verdict{was.Verdict, ben.Verdict, rule}, []eval.Verdict{hard.Verdict}, "ben"},
		{"corrected", []eval.PersonVerdict{anna, ben, hard}, map[string]int{"label": 1}, map[string]int{"label": 1}, map[string]int{}, []eval.Verdict{anna.Verdict, ben.Verdict, rule}, []eval.Verdict{hard.Verdict}, ""},
		{"gone", []eval.PersonVerdict{ben}, map[string]int{}, map[string]int{}, map[string]int{"label": 1, "hard": 1}, []eval.Verdict{ben.Verdict, rule}, nil, ""},
		{"still gone", []eval.PersonVerdict{ben}, map[string]int{}, map[string]int{}, map[string]int{}, []eval.Verdict{ben.Verdict, rule}, nil, ""},
		{"back", []eval.PersonVerdict{anna, ben, hard}, map[string]int{"label": 1, "hard": 1}, map[string]int{}, map[string]int{}, []eval.Verdict{anna.Verdict, ben.Verdict, rule}, []eval.Verdict{hard.Verdict}, ""},
	} {
		want := store.PeopleDiff{Lacking: s.lacking, Changed: s.changed, Outdated: s.outdated, Away: map[string]int{}}
		if s.away != "" {
			want.Away = map[string]int{"label": 1, "hard": 1}
		}
		for _, compare := range []func(context.Context, *store.Run, []eval.PersonVerdict, func(step, person string) bool) (store.PeopleDiff, error){db.PeopleDiff, set} {
			got, err := compare(t.Context(), r, s.said, func(_, person string) bool { return person == s.away })
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("%s: %v (-want +got)\n%s", s.name, err, d)
			}
		}
		c, err := db.Case(t.Context(), r, trial)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(s.onTrial, c.Trials[0].Verdicts); d != "" {
			t.Errorf("%s: on the trial (-want +got)\n%s", s.name, d)
		}
		if d := cmp.Diff(s.onItem, c.Verdicts); d != "" {
			t.Errorf("%s: on the item (-want +got)\n%s", s.name, d)
		}
	}
}

// TestMigrate: a store of format 1, written by scruple of 2026-11-22, opens without
// loss.
func TestMigrate(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	path := filepath.Join(t.TempDir(), "s.db")
	old, err := os.ReadFile("testdata/format1.db")
	if err == nil {
		err = os.WriteFile(path, old, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.OpenRead(t.Context(), path) // also by a command that only reads
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r, err := db.LastRun(t.Context(), "starter", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Extract(t.Context(), filepath.Join(t.TempDir(), "part.db"), store.Extraction{Run: r.ID, StudyPath: "s", Process: "p"}); err != nil {
		t.Errorf("a part of a store that was only migrated to be read: %v", err)
	}
	trials, verdicts := 0, 0
	for _, c := range all(t, db.Cases(t.Context(), r)) {
		for _, j := range c.Trials {
			trials++
			for _, v := range j.Verdicts {
				if verdicts++; v.Source != eval.ByModel || v.By != "judge" || v.Round != 1 || v.Step == "" || len(v.Data) == 0 {
					t.Errorf("verdict %+v", v)
				}
			}
		}
	}
	progress, err := db.Progress(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	// Requests of format 1 have no time, but they count.
	got := []int{trials, verdicts, len(all(t, db.Scores(t.Context(), r))), len(all(t, db.Calls(t.Context(), r))), progress.ToJudge(), progress.Calls}
	if want := []int{6, 8, 6, 10, 0, 10}; !slices.Equal(got, want) {
		t.Errorf("trials, verdicts, scored trials, calls, trials to judge, requests: %v, want %v", got, want)
	}
	if _, _, _, err := db.Analysis(t.Context(), r); err != nil {
		t.Error(err)
	}
	// Reading has changed nothing, and leaves nothing.
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(old, now) {
		t.Errorf("reading changed the store (%v)", err)
	}
	if made, err := os.ReadDir(filepath.Dir(path)); err != nil || len(made) != 1 {
		t.Errorf("reading made %v (%v)", made, err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "scruple-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if db.Path() != path {
		t.Errorf("the path is %s", db.Path())
	}
}

// A call counts as retried by its own requests, whether or not its answer is that of another call.
func TestRetried(t *testing.T) { onBoth(t, testRetried) }

func testRetried(t *testing.T, place place) {
	db := open(t, place(t))
	r, p := newRun(t, db, 4, 1)
	j := journal(t, db, r)
	for i, attempts := range []int{1, 3, 1, 0} {
		c := call(p.Trial(2*i), "x")
		c.Trial.Arm, c.Attempts = p.Trial(0).Arm, attempts
		if i >= 2 { // earlier versions counted reading the answer of another run as a request
			c.Source, c.SourceNumber = 1, r.N
		}
		if err := j.Append(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	sums, err := db.CallSums(t.Context(), r)
	if arms := sums.ByArm(); err != nil || len(arms) != 1 || arms[0].Calls != 4 || arms[0].Retried != 2 || arms[0].Reused != 2 {
		t.Errorf("%+v, %v", arms, err)
	}
}

// TestAttempts: a request counts from the moment it is recorded, as estimated until
// its end is known, over all sessions; calls list theirs, oldest first.
func TestAttempts(t *testing.T) { onBoth(t, testAttempts) }

func testAttempts(t *testing.T, place place) {
	path := place(t)
	db := open(t, path)
	r, p := newRun(t, db, 1, 1)
	trial := p.Trial(0)
	c := call(trial, "answer")
	c.Sent = nil
	session := func(ended bool, at int64) {
		t.Helper()
		j := journal(t, db, r)
		c.Sent = append(c.Sent, eval.Attempt{At: at, Tokens: 100, CostUSD: 2})
		if err := j.Attempt(c, true); err != nil {
			t.Fatal(err)
		}
		if ended {
			c.Sent[len(c.Sent)-1].Ended, c.Sent[len(c.Sent)-1].Err = true, eval.ErrRateLimited
			if err := j.Attempt(c, false); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Close(); err != nil { // without the call itself, as after a crash
			t.Fatal(err)
		}
	}
	check := func(calls, tokens int, cost float64) {
		t.Helper()
		got, err := db.Progress(t.Context(), r)
		if err != nil || got.Calls != calls || got.Tokens != tokens || got.Cost != cost {
			t.Errorf("%d calls, %d tokens, $%v (%v); want %d, %d, $%v", got.Calls, got.Tokens, got.Cost, err, calls, tokens, cost)
		}
	}
	session(false, 1)
	check(1, 100, 2)
	session(true, 2)
	check(2, 100, 2)
	if n := len(all(t, db.Calls(t.Context(), r))); n != 0 {
		t.Errorf("%d calls before there is an answer", n)
	}
	j := journal(t, db, r)
	defer j.Close()
	c.Sent = []eval.Attempt{{At: 3, Ended: true, Tokens: 100, CostUSD: 2}}
	c.Response.Usage.Estimated, c.Response.Stop = true, eval.StopOther
	if err := j.Append(c); err != nil {
		t.Fatal(err)
	}
	check(3, 117, 2.25) // the answer has its own usage
	got := all(t, db.Calls(t.Context(), r))
	if len(got) != 1 || got[0].Attempts != 3 || len(got[0].Sent) != 3 || !got[0].Response.Usage.Estimated {
		t.Fatalf("%+v", got)
	}
	for i, s := range got[0].Sent {
		if s.At != int64(i+1) || s.N != 1 || s.Ended != (i > 0) || (s.Err != "") != (i == 1) || s.Process == "" {
			t.Errorf("request %d: %+v", i, s)
		}
	}
	sums, err := db.CallSums(t.Context(), r)
	arms := sums.ByArm()
	if err != nil || len(arms) != 1 || arms[0].Calls != 1 || arms[0].Retried != 2 || arms[0].Estimated != 1 || arms[0].OddEnds != 1 {
		t.Errorf("%+v, %v", arms, err)
	}
	// A request that was not answered in time or not readably, or whose connection was lost, may be paid.
	for i, s := range []eval.Attempt{{Ended: true, Err: eval.ErrTimeout}, {Err: eval.ErrUnavailable}, {Ended: true, Err: eval.ErrUnavailable}, {Ended: true, Err: eval.ErrMalformed}} {
		s.At, s.Tokens, s.CostUSD = int64(4+i), 100, 2
		c.Sent = append(c.Sent, s)
		if err := errors.Join(j.Attempt(c, true), j.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	check(7, 417, 8.25)
	// One with an error that states what it took counts with that.
	last := &c.Sent[len(c.Sent)-1]
	last.Ended, last.Err, last.Tokens, last.CostUSD = false, eval.ErrUnavailable, 7, 0.5
	if err := errors.Join(j.Attempt(c, true), j.Flush()); err != nil {
		t.Fatal(err)
	}
	check(7, 324, 6.75)
	// Without a price nobody knows what it cost.
	last.CostUSD = math.NaN()
	if err := errors.Join(j.Attempt(c, true), j.Flush()); err != nil {
		t.Fatal(err)
	}
	check(7, 324, 6.25)
	if u, err := db.Usage(t.Context(), r); err != nil || u.Unpriced != 1 {
		t.Errorf("%+v, %v; want a request of unknown cost", u, err)
	}
	if lost, err := db.Lost(t.Context(), r); err != nil || lost != (eval.Lost{Requests: 4, Tokens: 307, CostUSD: 6, Unpriced: 1}) {
		t.Errorf("%+v, %v", lost, err)
	}
	if got := all(t, db.Calls(t.Context(), r)); len(got) != 1 || len(got[0].Sent) != 7 || !math.IsNaN(got[0].Sent[6].CostUSD) || got[0].Sent[5].CostUSD != 2 {
		t.Errorf("%+v, want the last request without a cost", got)
	}
}

// TestCuts: prompts that a server cut, by arm and stage, with the longest of them.
func TestCuts(t *testing.T) { onBoth(t, testCuts) }

func testCuts(t *testing.T, place place) {
	db := open(t, place(t))
	r, p := newRun(t, db, 3, 1)
	j := journal(t, db, r)
	for i, cut := range []*eval.Cut{{Words: 900, Tokens: 500}, {Words: 7700, Tokens: 2050}, {Words: 1000, Tokens: 500}, nil, {Words: 2000, Tokens: 500}, {Words: 400, Tokens: 200}} {
		c := call(p.Trial(i), "answer")
		c.Trial.Arm = []string{"a", "b"}[i%2]
		c.Trial.Item = fmt.Sprintf("doc-%03d", i/2)
		if cut != nil {
			c.Response.Adapted = append(c.Response.Adapted, cut.String())
		}
		if stage := map[int]eval.Stage{2: eval.StageJudge, 5: eval.StageEmbed}[i]; stage != "" {
			c.Stage = stage
		}
		if err := j.Append(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	want := []eval.ArmCuts{{Arm: "a", Stage: eval.StageJudge, Cuts: 1, Cut: eval.Cut{Words: 1000, Tokens: 500}},
		{Arm: "a", Stage: eval.StageRun, Cuts: 2, Cut: eval.Cut{Words: 2000, Tokens: 500}},
		{Arm: "b", Stage: eval.StageEmbed, Cuts: 1, Cut: eval.Cut{Words: 400, Tokens: 200}},
		{Arm: "b", Stage: eval.StageRun, Cuts: 1, Cut: eval.Cut{Words: 7700, Tokens: 2050}}}
	if sums, err := db.CallSums(t.Context(), r); err != nil || !sums.Cut() {
		t.Errorf("no cut in %+v, %v", sums, err)
	}
	got, err := db.Cuts(t.Context(), r)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestMixed: answers to requests of one step with different settings, by arm and stage. What a server
// cut, a limit that follows from the request, and another step or replicate do not mix.
func TestMixed(t *testing.T) { onBoth(t, testMixed) }

func testMixed(t *testing.T, place place) {
	db := open(t, place(t))
	r, p := newRun(t, db, 3, 2)
	j := journal(t, db, r)
	for i := range p.Len() {
		trial := p.Trial(i)
		for step, notes := range map[string][]string{
			"mixed":  {"temperature dropped", "", "temperature dropped"},
			"equal":  {"seed dropped", "seed dropped", "seed dropped"},
			"limits": {eval.Cut{Words: 900, Tokens: 500}.String(), "", eval.RaisedNote + "20, as"},
			"failed": {"stop dropped", "", "stop dropped"},
		} {
			c := call(trial, "answer")
			c.Step = step
			note := notes[trial.Item[len(trial.Item)-1]-'0']
			if c.Response.Adapted = nil; note != "" {
				c.Response.Adapted = []string{note}
			}
			if step == "mixed" {
				c.Response.Adapted = append(c.Response.Adapted, eval.RaisedNote+"20, as")
			}
			if trial.Replicate > 1 && step != "mixed" {
				c.Response.Adapted = append(c.Response.Adapted, "prompt_cache_key dropped")
			}
			if step == "failed" && note != "" {
				c.ErrKind = eval.ErrTimeout
			}
			if trial.Arm == "b" {
				c.Stage = eval.StageJudge
			}
			if err := j.Append(c); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if sums, err := db.CallSums(t.Context(), r); err != nil || !sums.Adapted() {
		t.Errorf("no changed request in %+v, %v", sums, err)
	}
	want := []eval.ArmSettings{{Arm: "a", Stage: eval.StageRun, Adapted: 4, Answers: 6}, {Arm: "b", Stage: eval.StageJudge, Adapted: 4, Answers: 6}}
	got, err := db.Mixed(t.Context(), r)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestLatencies: median and 95th percentile, by nearest rank, of an arm's answered
// calls, without judge calls and errors.
func TestLatencies(t *testing.T) { onBoth(t, testLatencies) }

func testLatencies(t *testing.T, place place) {
	db := open(t, place(t))
	r, p := newRun(t, db, 21, 1)
	j := journal(t, db, r)
	append1 := func(c *eval.Call) {
		t.Helper()
		if err := j.Append(c); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for i := range p.Len() {
		trial := p.Trial(i)
		if trial.Arm != "a" {
			continue
		}
		n++
		c := call(trial, "answer")
		c.LatencyMS = float64(100 * n)
		append1(c)
		judged := call(trial, "verdict")
		judged.Stage, judged.LatencyMS = eval.StageJudge, 1e6
		append1(judged)
		failed := call(trial, "")
		failed.Step, failed.ErrKind, failed.LatencyMS = "again", "timeout", 1e6
		append1(failed)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := db.Latencies(t.Context(), r)
	if diff := cmp.Diff([]eval.ArmLatency{{Arm: "a", Median: 1100, P95: 2000}}, got); diff != "" || err != nil {
		t.Errorf("of %d calls: %v (-want +got)\n%s", n, err, diff)
	}
}

// Files are for their owner: they hold prompts, documents and answers.
func TestFilesAreForTheirOwner(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	path := filepath.Join(t.TempDir(), "new", "s.db")
	db := open(t, path)
	r, p := newRun(t, db, 2, 1)
	j := journal(t, db, r)
	if err := j.Append(call(p.Trial(0), "answer")); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) < 4 { // the store, -wal, -shm and .lock
		t.Errorf("files %v, %v", files, err)
	}
	for _, file := range append(files, filepath.Dir(path)) {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
}

// execIn runs statements in a database as another program would.
func execIn(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// The database of another program is refused and not touched, even if that
// program uses goose as well or has a table of a name of ours.
func TestForeignDatabases(t *testing.T) {
	for name, statements := range map[string][]string{
		"tables":         {`CREATE TABLE songs (title TEXT)`},
		"goose":          {`CREATE TABLE goose_db_version (id INTEGER, version_id INTEGER, is_applied INTEGER)`, `INSERT INTO goose_db_version VALUES (1, 1, 1)`, `CREATE TABLE runs (n)`},
		"application id": {`PRAGMA application_id = 252006673`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "their.db")
			execIn(t, path, append(statements, `PRAGMA user_version = 7`)...)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range []error{second(store.Open(t.Context(), path)), second(store.OpenRead(t.Context(), path))} {
				if err == nil || !strings.Contains(err.Error(), "another program") {
					t.Errorf("error %v", err)
				}
			}
			after, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file was changed (%v)", err)
			}
			if files, _ := filepath.Glob(path + "*"); len(files) != 1 {
				t.Errorf("files %v", files)
			}
		})
	}
}

func states(t *testing.T, path string) map[string]string {
	t.Helper()
	checks, err := store.Examine(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]string{}
	for _, c := range checks {
		m[c.Name] = c.State + ": " + c.Note
	}
	return m
}

func TestExamine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	db := open(t, path)
	r, p := newRun(t, db, 40, 2)
	j := journal(t, db, r)
	var calls []*eval.Call
	for seq := range 100 {
		c := call(p.Trial(seq), fmt.Sprint("answer \x00\xff é ", seq))
		switch seq {
		case 1:
			c.CostUSD, c.LatencyMS, c.Response.ToolCalls, c.Response.Adapted = math.NaN(), 3, nil, nil
		case 2:
			c.ErrKind, c.Err = eval.ErrTimeout, "too late"
		}
		calls = append(calls, c)
	}
	again := call(p.Trial(2), "a retry") // adds to the attempts
	for _, c := range append(calls, again) {
		if err := j.Append(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(j.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	sound := states(t, path)
	for name, want := range map[string]string{"file": "ok", "integrity": "ok", "format": "ok", "references": "ok", "plans": "ok", "answers": "ok: calls as written: 100", "permissions": "ok"} {
		if !strings.HasPrefix(sound[name], want) {
			t.Errorf("%s: %q, want %q", name, sound[name], want)
		}
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ check, statement string }{
		{"answers", `UPDATE calls SET text = text || 'x' WHERE id = 7`},
		{"answers", `UPDATE calls SET cost_usd = NULL WHERE id = 7`},
		{"answers", `UPDATE calls SET step = 'other' WHERE id = 7`},
		{"plans", `UPDATE trials SET item = 'doc-00x' WHERE id = 3`},
		{"plans", `UPDATE items SET input = 'f' WHERE item = 'doc-003'`},
		{"plans", `DELETE FROM trials WHERE id = 160`},
		{"references", `DELETE FROM trials WHERE id = 3`},
		{"integrity", `PRAGMA writable_schema = 1; UPDATE sqlite_master SET rootpage = 2 WHERE name = 'trials_by_place'`},
	} {
		broken := filepath.Join(t.TempDir(), "s.db")
		if err := os.WriteFile(broken, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		execIn(t, broken, test.statement)
		if got := states(t, broken); !strings.HasPrefix(got[test.check], store.CheckDamaged) {
			t.Errorf("%s: %s: %q", test.statement, test.check, got[test.check])
		}
	}
	if _, err := store.Examine(t.Context(), filepath.Join(t.TempDir(), "none.db")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no store: %v", err)
	}
	if checks, err := store.Examine(t.Context(), t.TempDir()); err == nil || len(checks) > 0 {
		t.Errorf("a folder: %v, %v", checks, err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if checks, err := store.Examine(stopped, path); err == nil || strings.Contains(fmt.Sprint(checks), store.CheckDamaged) {
		t.Errorf("interrupted: %v, %v", checks, err)
	}
}

// An old store is examined as it is; a run that it gets after its migration has
// checksums beside old answers without.
func TestExamineAnOldStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	old, err := os.ReadFile("testdata/format1.db")
	if err == nil {
		err = os.WriteFile(path, old, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := states(t, path); !strings.Contains(got["format"], "format 1 of") || !strings.HasPrefix(got["permissions"], "warning") {
		t.Errorf("%v", got)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(old, now) {
		t.Errorf("the file was changed (%v)", err)
	}
	db := open(t, path)
	r, p := newRun(t, db, 2, 1)
	j := journal(t, db, r)
	if err := errors.Join(j.Append(call(p.Trial(0), "new")), j.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	if got := states(t, path); got["answers"] != "ok: calls as written: 1; of an older version, without checksum: 10" || !strings.HasPrefix(got["plans"], "ok") {
		t.Errorf("%v", got)
	}
}

// A store that is copied while it is written lacks what only its log has: the copy says so.
func TestExamineACopyWithoutItsLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	db := open(t, path)
	newRun(t, db, 2, 1)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	alone := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(alone, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := states(t, alone); !strings.Contains(got["format"], "copy the file NAME-wal beside it too") {
		t.Errorf("%v", got)
	}
}

// Damage is not taken for a changed study.
func TestDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	db := open(t, path)
	newRun(t, db, 3, 1)
	if err := db.Damage(t.Context()); err != nil {
		t.Error(err)
	}
	execIn(t, path, `UPDATE trials SET item = 'doc-00x' WHERE id = 3`)
	var broken *store.Error
	if err := db.Damage(t.Context()); !errors.As(err, &broken) || !strings.Contains(err.Error(), "the file is damaged: the plan of run my-study-1") {
		t.Errorf("error %v", err)
	}
}

// A study of the run's name beside the folder of the store is that of the run, wherever the run
// began.
func TestStudyIsBesideTheStore(t *testing.T) {
	for _, c := range []struct {
		folder, file string
		beside       bool
	}{{".scruple", "name: my study", true}, {".scruple", "name: another", false}, {"elsewhere", "name: my study", false}} {
		dir := t.TempDir()
		study := filepath.Join(dir, "study.yaml")
		if err := os.WriteFile(study, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		db := open(t, filepath.Join(dir, c.folder, "scruple.db"))
		r, _ := newRun(t, db, 3, 2)
		want := r.StudyPath
		if c.beside {
			want = study
		}
		if back, err := db.Run(t.Context(), r.ID); err != nil || back.StudyPath != want {
			t.Errorf("%+v: %v, %v, want %s", c, back, err, want)
		}
	}
}

// A run whose study was given another name does not take any study beside a store for its own.
func TestAnotherStudyIsBesideTheStore(t *testing.T) {
	dir := t.TempDir()
	own, other := filepath.Join(dir, "own", "study.yaml"), filepath.Join(dir, "shared", "study.yaml")
	for _, path := range []string{own, other} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("name: base"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	db := open(t, filepath.Join(dir, "shared", ".scruple", "scruple.db"))
	items := []eval.Item{{ID: "a", Input: 1, Gold: 2}}
	p, err := plan.New(items, []eval.Arm{{ID: "a"}, {ID: "b"}}, 2, 42)
	if err != nil {
		t.Fatal(err)
	}
	r, err := db.CreateRun(t.Context(), store.Run{Study: "mine", StudyPath: own, StudyJSON: []byte(`{}`), Overrides: []string{"name=mine"}, Replicates: 2, CreatedAt: time.Now()}, items, p)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := db.Run(t.Context(), r.ID); err != nil || back.StudyPath != own {
		t.Errorf("%v, %v", back, err)
	}
}

// A tag is, for a run that takes answers, of the run that had it when the run began or its plan
// changed last, whatever the clocks of the machines say. A run of an earlier version, which did not
// record that, goes by the clocks.
func TestTaggedWhenARunBegan(t *testing.T) {
	onBoth(t, func(t *testing.T, place place) {
		db, ctx := open(t, place(t)), t.Context()
		noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		items := []eval.Item{{ID: "i"}}
		p, err := plan.New(items, []eval.Arm{{ID: "a"}}, 1, 42)
		if err != nil {
			t.Fatal(err)
		}
		begun := func(events ...store.Event) *store.Run {
			r, err := db.CreateRun(ctx, store.Run{Study: "s", StudyJSON: []byte(`{}`), Replicates: 1, CreatedAt: noon}, items, p, events...)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		tag := func(r *store.Run, at time.Time) {
			if err := db.AddEvents(ctx, r, store.Event{At: at, What: store.EventTag, Note: "main"}); err != nil {
				t.Fatal(err)
			}
		}
		takes := store.Event{At: noon, What: store.EventAnswers, Note: "s-1"}
		first, second := begun(), begun()
		tag(first, noon.Add(time.Hour)) // by a clock that is ahead
		old, exact := begun(), begun(takes)
		tag(second, noon.Add(-time.Hour)) // by one that is behind
		later := begun(takes)
		for _, tt := range []struct{ of, want *store.Run }{{old, second}, {exact, first}, {later, second}} {
			r, err := db.Tagged(ctx, "main", tt.of.ID)
			if err != nil || r.ID != tt.want.ID {
				t.Errorf("%s takes the answers of %+v, want %s: %v", tt.of.ID, r, tt.want.ID, err)
			}
		}
	})
}

// TestScorers: of each arm the program that scores it is known by a request that it answered, and its
// answers are no judge's.
func TestScorers(t *testing.T) { onBoth(t, testScorers) }

func testScorers(t *testing.T, place place) {
	db := open(t, place(t))
	r, p := newRun(t, db, 3, 1)
	j := journal(t, db, r)
	for i, provider := range []string{"exec", "http", "openai"} {
		c := call(p.Trial(i), "verdict")
		c.Trial.Arm, c.Trial.Item = []string{"a", "b", "a"}[i], fmt.Sprintf("doc-%03d", i/2)
		c.Stage, c.Provider, c.Response.ModelVersion = eval.StageJudge, provider, provider
		c.Parts = []eval.Part{{Name: "program", Value: provider}}
		if err := j.Append(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := db.Scorers(t.Context(), r)
	want := map[string][]eval.Part{"a": {{Name: "program", Value: "exec"}}, "b": {{Name: "program", Value: "http"}}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
	sums, err := db.CallSums(t.Context(), r)
	if d := cmp.Diff([]eval.ArmVersion{{Arm: "a", Version: "openai", Calls: 1}}, sums.JudgedBy()); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}

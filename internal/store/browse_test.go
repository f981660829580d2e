package store_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/store"
)

// Viewers read the scores that were stored, whatever the names.
func TestReadScores(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "s.db"))
	r, p := newRun(t, db, 1, 1)
	j := journal(t, db, r)
	if err := errors.Join(j.Outcome(p.Trial(0), eval.Outcome{Kind: eval.OK}), j.Close()); err != nil {
		t.Fatal(err)
	}
	row, err := db.PlaceOf(t.Context(), r, p.Trial(0))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		var scores []eval.Score
		for u := range rapid.IntRange(0, 3).Draw(rt, "units") {
			unit := rapid.String().Draw(rt, "unit") + fmt.Sprint(u)
			for m := range rapid.IntRange(1, 4).Draw(rt, "metrics") {
				s := eval.Score{Replicate: 1, Unit: unit, Metric: rapid.String().Draw(rt, "metric") + fmt.Sprint(m)}
				switch rapid.IntRange(0, 3).Draw(rt, "kind") {
				case 0:
					s.Num, s.Den = rapid.Float64Range(-1e9, 1e9).Draw(rt, "num"), 1
				case 1:
					s.Num, s.Den = rapid.Float64Range(0, 1e9).Draw(rt, "num"), rapid.Float64Range(0.001, 1e9).Draw(rt, "den")
				case 2:
					s.Unscored = "no: " + rapid.String().Draw(rt, "why")
				default:
					s.Row = eval.Row{1, math.NaN(), 0.5}
				}
				scores = append(scores, s)
			}
		}
		scores = append(scores, eval.Score{Metric: "of the case", Num: 1, Den: 2}) // replicate 0
		err := db.ReplaceScores(t.Context(), r, func(yield func(eval.Scored, error) bool) {
			yield(eval.Scored{Case: eval.CaseOf(p.Trial(0), eval.Outcome{Kind: eval.OK}, nil), Scores: scores}, nil)
		})
		if err != nil {
			rt.Fatal(err)
		}
		decoded, err := db.ScoresOf(t.Context(), r, row.ID)
		if err != nil {
			rt.Fatal(err)
		}
		for i := range scores {
			scores[i].Replicate = 0 // it is that of the trial
		}
		if diff := cmp.Diff(scores, decoded, cmpopts.EquateNaNs()); diff != "" {
			rt.Fatal(diff)
		}
		var got []eval.Score
		for s, err := range db.StoredScores(t.Context(), r, 0, 1) {
			if err != nil {
				rt.Fatal(err)
			}
			if err := store.ReadScores(s.Data, func(s eval.Score) {
				got = append(got, s)
			}); err != nil {
				rt.Fatal(err)
			}
		}
		if diff := cmp.Diff(scores, got, cmpopts.EquateNaNs()); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func FuzzReadScores(f *testing.F) {
	for _, s := range []string{`{}`, `{"":{"m":1}}`, `{"u":{"m":[1,2],"n":"why","r":[[1,null]]}}`, `{"a\"b":{"\u00e4":1e-3}}`, `{"u":{"m":`, `{"u":{"m":[[1}}`, `{"u\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		_ = store.ReadScores(data, func(eval.Score) {})
	})
}

// What a viewer reads: ranges of the plan, single trials by id, transcripts in pages.
func TestBrowse(t *testing.T) { onBoth(t, testBrowse) }

func testBrowse(t *testing.T, place place) {
	path := place(t)
	db := open(t, path)
	r, p := newRun(t, db, 3, 2) // 12 trials
	j := journal(t, db, r)
	for k := range 5 {
		c := call(p.Trial(4), fmt.Sprint("answer ", k))
		c.Step = fmt.Sprint("step ", k)
		if err := j.Append(c); err != nil {
			t.Fatal(err)
		}
	}
	judge := call(p.Trial(4), "fine")
	judge.Stage = eval.StageJudge
	free := call(p.Trial(5), "x")
	free.CostUSD, free.Response.Usage.Uncounted = math.NaN(), true
	if err := errors.Join(j.Append(judge), j.Append(free), j.Outcome(p.Trial(4), eval.Outcome{Kind: eval.Malformed, Reason: "no_json"}), j.Close()); err != nil {
		t.Fatal(err)
	}
	rows := all(t, db.Rows(t.Context(), r, 3, 6))
	if len(rows) != 3 || rows[1].Trial != p.Trial(4) || rows[1].Kind != eval.Malformed || rows[1].Reason != "no_json" || rows[0].Kind != "" || rows[1].Place != 4 {
		t.Errorf("rows %+v", rows)
	}
	id := rows[1].ID
	if row, err := db.Row(t.Context(), r, id); err != nil || row != rows[1] {
		t.Errorf("row %+v, %v", row, err)
	}
	if _, err := db.Row(t.Context(), r, 999); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown trial: %v", err)
	}
	if row, err := db.PlaceOf(t.Context(), r, p.Trial(4)); err != nil || row != rows[1] {
		t.Errorf("place %+v, %v", row, err)
	}
	calls, total, err := db.Transcript(t.Context(), r, id, 1, 3)
	if err != nil || total != 6 || len(calls) != 3 || calls[0].Step != "step 1" || calls[2].Response.Text != "answer 3" {
		t.Errorf("%d of %d calls: %+v, %v", len(calls), total, calls, err)
	}
	if calls, _, err := db.Transcript(t.Context(), r, id, 5, 3); err != nil || len(calls) != 1 || calls[0].Stage != eval.StageJudge {
		t.Errorf("the last page: %+v, %v", calls, err)
	}
	efforts := all(t, db.Efforts(t.Context(), r, 0, 12))
	// 10 tokens with 4 cached in them, 5 and 2 thinking beside them, five times.
	if len(efforts) != 2 || efforts[0].Calls != 5 || *efforts[0].Tokens != 5*17 || *efforts[0].CostUSD != 1.25 || efforts[0].LatencyMS != 62.5 || efforts[1].CostUSD != nil || efforts[1].Tokens != nil {
		t.Errorf("efforts %+v", efforts)
	}
	if u, err := db.Usage(t.Context(), r); err != nil || u.Unpriced != 1 || u.Uncounted != 1 {
		t.Errorf("usage %+v, %v", u, err)
	}
	if n, err := db.Tally(t.Context(), r); err != nil || n != (store.Tally{Trials: 12, Done: 1}) {
		t.Errorf("tally %+v, %v", n, err)
	}
	if o, err := db.OutcomeOf(t.Context(), r, id); err != nil || o.Outcome.Reason != "no_json" {
		t.Errorf("outcome %+v, %v", o, err)
	}
}

// A watch notices what another connection writes, and nothing else.
func TestWatch(t *testing.T) { onBoth(t, testWatch) }

func testWatch(t *testing.T, place place) {
	path := place(t)
	db := open(t, path)
	r, p := newRun(t, db, 2, 1)
	read, err := store.OpenRead(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	w, err := read.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	version := func() int64 {
		v, err := w.Version(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	before := version()
	if again := version(); again != before {
		t.Errorf("version %d became %d without a change", before, again)
	}
	j := journal(t, db, r)
	if err := errors.Join(j.Outcome(p.Trial(0), eval.Outcome{Kind: eval.OK}), j.Close()); err != nil {
		t.Fatal(err)
	}
	if version() == before {
		t.Error("a change was not noticed")
	}
}

// A watch of a file that is no longer at its path says so.
func TestWatchOfAReplacedFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	path := filepath.Join(dir, "s.db")
	db := open(t, path)
	newRun(t, db, 2, 1)
	db.Close()
	read, err := store.OpenRead(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	w, err := read.Watch(t.Context())
	if err == nil {
		_, err = w.Version(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := w.Version(t.Context()); err == nil || !strings.Contains(err.Error(), "moved or replaced") {
			t.Errorf("a file that was replaced: %v", err)
		}
		open(t, path).Close()
	}
}

// The calls of a range of the plan are those of its trials.
func TestCallsIn(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "s.db"))
	r, p := newRun(t, db, 3, 2)
	j := journal(t, db, r)
	stages := []eval.Stage{eval.StageRun, eval.StageJudge}
	for seq := range p.Len() {
		for k := range seq % 4 {
			c := call(p.Trial(seq), fmt.Sprint("answer ", k))
			c.Step, c.Stage = fmt.Sprint("step ", k), stages[k%2]
			if err := j.Append(c); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for from := range p.Len() {
		to := from + 5
		got, want := map[string]eval.Call{}, map[string]eval.Call{}
		key := func(c eval.Call) string { return fmt.Sprint(c.Trial, c.Stage, c.Step) }
		for c, err := range db.CallsIn(t.Context(), r, from, to) {
			if err != nil {
				t.Fatal(err)
			}
			got[key(c)] = c
		}
		for seq := from; seq < min(to, p.Len()); seq++ {
			for _, stage := range stages {
				calls, err := db.CallsOf(t.Context(), r, p.Trial(seq), stage)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range calls {
					want[key(c)] = c
				}
			}
		}
		if d := cmp.Diff(want, got, cmpopts.EquateNaNs()); d != "" {
			t.Fatalf("from %d: %s", from, d)
		}
	}
}

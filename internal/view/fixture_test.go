package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/store"
)

// bigStore has a run of items by four arms with a call, an outcome and 36 scores each.
func bigStore(t testing.TB, items int) *store.DB {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "s.db")
	db, err := store.Open(context.Background(), path)
	check(err)
	var list []eval.Item
	for i := range items {
		list = append(list, eval.Item{ID: fmt.Sprintf("doc-%06d", i), Input: 1, Gold: 2})
	}
	p, err := plan.New(list, []eval.Arm{{ID: "ctn@a"}, {ID: "idiomatic@a"}, {ID: "ctn@b"}, {ID: "idiomatic@b"}}, 1, 42)
	check(err)
	r, err := db.CreateRun(context.Background(), store.Run{Study: "big", Suite: "s", StudyPath: "/none/study.yaml", StudyJSON: []byte(`{}`), Replicates: 1, Version: "test", CreatedAt: time.Unix(0, 0)}, list, p)
	check(err)
	j, err := db.Journal(context.Background(), r)
	check(err)
	answer := strings.Repeat(`{"value": "an answer"} `, 40)
	work := make(chan int)
	done := make(chan error)
	const writers = 64
	for range writers {
		go func() {
			var failed error
			for seq := range work {
				kind := eval.OK
				if seq%50 == 0 {
					kind = eval.Malformed
				}
				t := p.Trial(seq)
				failed = errors.Join(failed, j.Append(&eval.Call{Trial: t, Stage: eval.StageRun, Step: "ask", Key: "k", Provider: "p", Model: "m", Attempts: 1, CostUSD: 0.001, LatencyMS: float64(seq % 977),
					Response: eval.Response{Text: answer, Usage: eval.Usage{Input: 1000 + seq%100, Output: 50}}}),
					j.Outcome(t, eval.Outcome{Kind: kind, Data: []byte(answer)}))
			}
			done <- failed
		}()
	}
	for seq := range p.Len() {
		work <- seq
	}
	close(work)
	for range writers {
		check(<-done)
	}
	check(j.Close())
	check(db.ReplaceScores(context.Background(), r, func(yield func(eval.Scored, error) bool) {
		var scores []eval.Score
		for seq := range p.Len() {
			scores = scores[:0]
			for unit := range 6 {
				for metric := range 6 {
					scores = append(scores, eval.Score{Replicate: 1, Unit: fmt.Sprint("field_", unit), Metric: fmt.Sprint("metric_", metric), Num: float64((seq*7+unit*3+metric)%5) / 4, Den: 1})
				}
			}
			if !yield(eval.Scored{Case: eval.CaseOf(p.Trial(seq), eval.Outcome{Kind: eval.OK}, nil), Scores: scores}, nil) {
				return
			}
		}
	}))
	check(db.Close())
	read, err := store.OpenRead(context.Background(), path)
	check(err)
	t.Cleanup(func() { read.Close() })
	return read
}

func newViewer(t testing.TB, db *store.DB) *Viewer {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	v, err := New(ctx, Options{DB: db, Study: func(r *store.Run) string { return r.StudyPath }, Load: func(*store.Run, string) (*experiment.Experiment, error) { return nil, errors.New("no study here") },
		Command: func(r *store.Run, verb string, rest ...string) string { return "scruple " + verb + " " + r.ID }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); v.Close() })
	return v
}

func get(t testing.TB, v *Viewer, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	v.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	if w.Code != 200 {
		t.Fatalf("%s: status %d: %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

// longStore has a trial with many calls.
func longStore(t testing.TB, steps int) *store.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.db")
	db, err := store.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	list := []eval.Item{{ID: "i", Input: 1, Gold: 2}}
	p, err := plan.New(list, []eval.Arm{{ID: "a"}}, 1, 42)
	if err != nil {
		t.Fatal(err)
	}
	r, err := db.CreateRun(context.Background(), store.Run{Study: "long", Suite: "s", StudyPath: "/none/study.yaml", StudyJSON: []byte(`{}`), Replicates: 1, Version: "test", CreatedAt: time.Unix(0, 0)}, list, p)
	if err != nil {
		t.Fatal(err)
	}
	j, err := db.Journal(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	for k := range steps {
		if err := j.Append(&eval.Call{Trial: p.Trial(0), Stage: eval.StageRun, Step: fmt.Sprintf("step-%05d", k), Key: "k", Provider: "p", Model: "m", Attempts: 1, Response: eval.Response{Text: strings.Repeat("words of an answer ", 20)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(j.Outcome(p.Trial(0), eval.Outcome{Kind: eval.OK, Data: []byte("x")}), j.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	read, err := store.OpenRead(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close() })
	return read
}

// longTrial has a document of 300 KB with 510 marks.
func longTrial() eval.Exhibit {
	x := eval.Exhibit{Item: "i", Arm: "a"}
	for n := range 30 {
		p := eval.ExhibitPage{Number: n + 1, Text: strings.Repeat("Lorem ipsum dolor sit amet, consetetur. ", 250)}
		for m := range 17 {
			p.Marks = append(p.Marks, eval.Mark{Start: m * 500, End: m*500 + 40, Kind: []string{"gold", "answer", "both"}[m%3], Label: fmt.Sprint("field_", m)})
		}
		x.Pages = append(x.Pages, p)
	}
	return x
}

// A fraction is the score of a trial, or of a unit of it, by the metric m, or that before a colon.
type fraction struct {
	unit string
	num  float64
}

// scoredStore has an analysed run of two arms, a and b, with the scores of each replicate of each
// item by the metric m, of which higher is better, and answers that name arm and score.
func scoredStore(t testing.TB, scores map[string][2][][]fraction, reworded ...string) *store.DB {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "s.db")
	db, err := store.Open(t.Context(), path)
	must(err)
	scoredRun(t, db, scores, nil)
	if reworded != nil {
		scoredRun(t, db, scores, reworded)
	}
	must(db.Close())
	read, err := store.OpenRead(t.Context(), path)
	must(err)
	t.Cleanup(func() { read.Close() })
	return read
}

// scoredRun adds a run that asked some items otherwise, or has other gold of them.
func scoredRun(t testing.TB, db *store.DB, scores map[string][2][][]fraction, reworded []string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var list []eval.Item
	replicates := 0
	for id, of := range scores {
		it := eval.Item{ID: id, Input: 1, Gold: 2}
		switch {
		case !slices.Contains(reworded, id):
		case strings.HasPrefix(id, "gold"):
			it.Gold = 3
		default:
			it.Input = 3
		}
		list = append(list, it)
		replicates = len(of[0])
	}
	slices.SortFunc(list, func(x, y eval.Item) int { return strings.Compare(x.ID, y.ID) })
	p, err := plan.New(list, []eval.Arm{{ID: "a"}, {ID: "b"}}, replicates, 42)
	must(err)
	r, err := db.CreateRun(t.Context(), store.Run{Study: "s", Suite: "s", StudyPath: "/none/study.yaml", StudyJSON: []byte(`{}`), Replicates: replicates, Version: "test", CreatedAt: time.Unix(0, 0)}, list, p)
	must(err)
	j, err := db.Journal(t.Context(), r)
	must(err)
	of := func(t eval.Trial) []fraction {
		return scores[t.Item][map[string]int{"a": 0, "b": 1}[t.Arm]][t.Replicate-1]
	}
	for seq := range p.Len() {
		x := p.Trial(seq)
		must(j.Outcome(x, eval.Outcome{Kind: eval.OK, Data: fmt.Appendf(nil, "%s says %v", x.Arm, of(x))}))
		must(j.Judged(x, nil))
	}
	must(j.Close())
	must(db.ReplaceScores(t.Context(), r, func(yield func(eval.Scored, error) bool) {
		for seq := range p.Len() {
			var list []eval.Score
			for _, f := range of(p.Trial(seq)) {
				metric, unit, named := strings.Cut(f.unit, ":")
				if !named {
					metric, unit = "m", f.unit
				}
				list = append(list, eval.Score{Replicate: p.Trial(seq).Replicate, Unit: unit, Metric: metric, Num: f.num, Den: 1})
			}
			if !yield(eval.Scored{Case: eval.CaseOf(p.Trial(seq), eval.Outcome{Kind: eval.OK}, nil), Scores: list}, nil) {
				return
			}
		}
	}))
	analysis, err := json.Marshal(analyse.Analysis{Format: analyse.Format, Metrics: []analyse.Metric{{Name: "m", Title: "m", HigherIsBetter: true}}})
	must(errors.Join(err, db.SaveAnalysis(t.Context(), r, analysis, nil, "")))
}

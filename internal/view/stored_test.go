package view

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/qa"
)

// TestStudyIsReadAgain: gold that changes while the viewer runs is told, and data that were
// missing for a while are shown when they are back.
func TestStudyIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	path, data := filepath.Join(dir, "study.yaml"), filepath.Join(dir, "q.csv")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gold := func(name string) string {
		return "id,question,answer\nq1,The capital of France?," + name + "\nq2,2+2?,4\n"
	}
	write(path, "name: s\nsuite: qa\ndata: {path: q.csv}\narms: [{name: most_common, builtin: most_common}]\n")
	write(data, gold("Paris"))
	env := experiment.Env{
		Suite:   func(string) (kit.Suite, error) { return qa.Suite(), nil },
		Price:   func(study.Model) (func(eval.Usage) float64, bool) { return nil, false },
		Now:     time.Now,
		Version: "test",
	}
	x, err := experiment.Load(path, nil, env)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	db, err := store.Open(t.Context(), filepath.Join(dir, "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	run, err := x.StartOrResume(t.Context(), db, "")
	if err != nil {
		t.Fatal(err)
	}
	v := newViewer(t, db)
	v.Load = func(_ *store.Run, path string) (*experiment.Experiment, error) {
		return experiment.Load(path, nil, env)
	}
	if err := os.Rename(data, data+".away"); err != nil {
		t.Fatal(err)
	}
	if l := v.study(run.Record); l.err == nil || !strings.Contains(l.err.Error(), "q.csv") {
		t.Fatalf("without its data, the study says %v", l.err)
	}
	if err := os.Rename(data+".away", data); err != nil {
		t.Fatal(err)
	}
	look := func() { // at the files, without a rest; an index may be made meanwhile
		s := v.studies[run.Record.ID]
		s.mu.Lock()
		s.rests = time.Time{}
		s.mu.Unlock()
	}
	look()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	was := v.ctx
	v.ctx = ctx
	if l := v.study(run.Record); l.err == nil || l.x == nil {
		t.Fatalf("without its store, the study says %v", l.err)
	}
	v.ctx = was
	look()
	first := v.study(run.Record)
	if first.err != nil || first.gold["q1"] {
		t.Fatalf("with its data: %v, other gold %v", first.err, first.gold)
	}
	if v.study(run.Record) != first {
		t.Error("a study that did not change was read again")
	}
	write(data, gold("Lyon"))
	look()
	if l := v.study(run.Record); l.err != nil || !l.gold["q1"] || l.gold["q2"] {
		t.Errorf("after gold changed: %v, other gold %v", l.err, l.gold)
	}
	write(data, strings.Replace(gold("Lyon"), "France", "Rhône", 1))
	look()
	if l := v.study(run.Record); l.err != nil || !slices.Equal(l.reworded, []string{"q1"}) || l.gold["q1"] || l.regraded != nil {
		t.Errorf("after an item and its gold changed: %v, other data %v, other gold %v, %v", l.err, l.reworded, l.gold, l.regraded)
	}
	write(data, gold("Lyon"))
	look()
	index, err := v.index(t.Context(), run.Record)
	if ready, current := v.ready(run.Record); err != nil || ready != index || !current {
		t.Errorf("the index is not ready: %v", err)
	}
	write(data, gold("Nice"))
	look()
	if _, current := v.ready(run.Record); current {
		t.Error("after gold changed, the index of before is ready")
	}
	j, err := db.Journal(t.Context(), run.Record)
	if err != nil {
		t.Fatal(err)
	}
	trial := eval.Trial{Item: "q2", Arm: "most_common", Replicate: 1}
	err = errors.Join(j.Outcome(eval.Trial{Item: "q1", Arm: "most_common", Replicate: 1}, eval.Outcome{Kind: eval.Failed}), j.Outcome(trial, eval.Outcome{Kind: eval.Failed}), j.Close())
	for _, what := range []string{"before", "after"} {
		look()
		if l := v.study(run.Record); err != nil || l.err != nil {
			t.Fatal(err, l.err)
		} else if _, err := l.show(t.Context(), trial); err != nil {
			t.Errorf("%s the run was archived: %v", what, err)
		}
		err = db.Archive(t.Context(), run.Record, filepath.Join(dir, "archive"), "test")
	}
}

// TestFailingsAddUp: what a table of problems has no row for is counted in its last one.
func TestFailingsAddUp(t *testing.T) {
	f, a, b := failings{}, 0, 0
	for i := range 14 {
		f.add(strings.Repeat("x", i+1), i%2, i+1)
	}
	list := f.list()
	for _, row := range list {
		a, b = a+row.A, b+row.B
	}
	if len(list) != mostProblems+1 || a != 49 || b != 56 || list[10].What != "and 4 more" || list[0].B != 14 {
		t.Errorf("%d and %d in %+v", a, b, list)
	}
}

// TestReplacedStore: no page shows the runs of a file that is no longer the store.
func TestReplacedStore(t *testing.T) {
	v := newViewer(t, bigStore(t, 3))
	if err := os.Rename(v.DB.Path(), v.DB.Path()+".away"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/r/big-1", "/r/big-1/samples", "/r/big-1/t/1", "/r/big-1/t/1/calls", "/c?r=big-1"} {
		w := httptest.NewRecorder()
		v.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != 500 || !strings.Contains(w.Body.String(), "moved or replaced") {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
}

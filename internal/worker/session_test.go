package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/postgrestest"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/extraction"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

const oneDocument = `{"document_id": "d", "text": "---PAGE 1---\nInvoice Number: A-17\n", "schema": "invoice", "ground_truth": [{"field": "invoice_number", "exists_in_document": true, "is_ambiguous": false, "correct_value": "A-17", "evidence_quote": "A-17", "page": 1}]}
`

// loadedRun is a run of one document, which a model is asked about.
func loadedRun(t *testing.T, q *Queue, client model.Client) *Loaded {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"documents.jsonl": oneDocument, "plain.txt": "What is the number? {{SCHEMA}} {{OUTPUT_FORMAT}}", "study.yaml": `name: asked
suite: extraction
data: {source: jsonl, path: documents.jsonl}
models: [{id: m, provider: openai, name: asked}]
arms: [{name: plain, path: plain.txt, models: [m]}]
execution: {retries: [], concurrency: 1, max_calls: 10}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x, err := experiment.Load(filepath.Join(dir, "study.yaml"), nil, experiment.Env{
		Suite:   func(string) (kit.Suite, error) { return extraction.Suite(), nil },
		Price:   func(study.Model) (func(eval.Usage) float64, bool) { return nil, false },
		Now:     time.Now,
		Version: "v",
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := x.StartOrResume(t.Context(), q.db, "")
	if err != nil {
		t.Fatal(err)
	}
	left, err := r.Left(t.Context(), experiment.Part{})
	if err == nil {
		err = q.Entrust(t.Context(), r, left, Entrusting{Version: "v"})
	}
	if err != nil {
		t.Fatal(err)
	}
	return &Loaded{Run: r, Models: map[string]*run.Model{"m": {Client: client, Group: "m"}}, Close: x.Close}
}

// An onStop is an observer that needs the lock of a session when it is told that it stops: what
// draws a part of the budget meanwhile does.
type onStop struct{ s *session }

func (o *onStop) Event(e run.Event) {
	if e.Kind == "stopping" {
		o.s.sharing()
	}
}

func (*onStop) Progress(run.Progress) {}

// A worker with a budget is stopped while it draws a part.
func TestStoppingWhileDrawing(t *testing.T) {
	q := opened(t, postgrestest.Address(t))
	o := &onStop{}
	w := &Worker{Queue: q, Settings: Settings{Observer: o, Slice: time.Nanosecond}}
	runs := loadedRun(t, q, nil)
	held, err := q.db.OfWorkers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o.s = newSession(w, runs, held[runs.Record.N])
	p := &process{o.s, true}
	h := p.take(t, runs.Record)
	_, _, err = o.s.open(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { // twice, as a session that is opened after it is stopped is
		o.s.stop(errEnded)
		_, _, err := o.s.open(context.Background(), h)
		stopped <- err
	}()
	select {
	case err = <-stopped:
	case <-time.After(10 * time.Second):
		t.Fatal("stopping waits for what waits for it")
	}
	o.s.drop(h)
	if err := errors.Join(err, o.s.close()); err != nil {
		t.Fatal(err)
	}
}

// Who joins a run takes its part of the calls in flight from the first one on.
func TestJoiningWithAPart(t *testing.T) {
	q := opened(t, postgrestest.Address(t))
	runs := loadedRun(t, q, nil)
	held, err := q.db.OfWorkers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(&Worker{Queue: q, Settings: Settings{Slice: time.Minute}}, runs, held[runs.Record.N])
	p := &process{s, true}
	h := p.take(t, runs.Record)
	if _, err := q.pool.Exec(t.Context(), `INSERT INTO river_job (args, kind, max_attempts, priority, queue, state, attempt, attempted_at, attempted_by)
		SELECT args, kind, max_attempts, priority, queue, state, attempt, attempted_at, ARRAY['other'] FROM river_job`); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if _, _, err := s.open(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	if s.sharing() != 2 || time.Since(begun) < beat {
		t.Errorf("it begins after %v as one of %d, want 2 and a beat, in which the other counts it", time.Since(begun), s.sharing())
	}
	s.stop(errEnded)
	s.drop(h)
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
}

// A refusing model refuses the key.
type refusing struct{}

func (refusing) Complete(context.Context, *eval.Request) (eval.Response, error) {
	return eval.Response{}, &model.Error{Kind: eval.ErrAuth, Status: 401}
}

// A worker that gives up a run leaves its shards to others, and ends if it has no other.
func TestAWorkerThatGivesUpARun(t *testing.T) {
	q := opened(t, postgrestest.Address(t))
	loaded, said := loadedRun(t, q, refusing{}), ""
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err := q.Take(ctx, Settings{Once: true, Slice: time.Minute, Version: "v", Say: func(format string, args ...any) { said += fmt.Sprintf(format, args...) + "\n" },
		Load: func(context.Context, *store.Run) (*Loaded, error) { return loaded, nil }}, nil)
	if err != nil {
		t.Fatalf("%v; the worker said:\n%s", err, said)
	}
	if strings.Count(said, "not taking part") != 1 || strings.Contains(said, "done or stopped") {
		t.Errorf("the worker said:\n%s", said)
	}
	if has, err := q.db.Entrusted(t.Context(), loaded.Record); err != nil || !has {
		t.Errorf("workers have the run: %v, %v", has, err)
	}
}

// A sparing model answers with nothing.
type sparing struct{}

func (sparing) Complete(context.Context, *eval.Request) (eval.Response, error) {
	return eval.Response{}, nil
}

// What a killed worker had reserved of the budget is spent by the others, who say why they wait.
func TestABudgetThatALostWorkerReserved(t *testing.T) {
	q := opened(t, postgrestest.Address(t))
	loaded, said := loadedRun(t, q, sparing{}), ""
	end := loaded.Close
	loaded.Close = func() error { return nil } // it is loaded twice
	defer func() { _ = end() }()
	if _, err := q.pool.Exec(t.Context(), `UPDATE budgets SET calls = 10 WHERE run = $1`, loaded.Record.N); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err := q.Take(ctx, Settings{Once: true, Slice: time.Minute, Version: "v", Say: func(format string, args ...any) { said += fmt.Sprintf(format, args...) + "\n" },
		Load: func(context.Context, *store.Run) (*Loaded, error) { return loaded, nil }}, nil)
	if err != nil || !strings.Contains(said, "the budget is exhausted: 0 of 10 calls: the rest is reserved") {
		t.Errorf("%v; the worker said:\n%s", err, said)
	}
	if has, err := q.db.Entrusted(t.Context(), loaded.Record); err != nil || has {
		t.Errorf("workers have the run still: %v, %v; they said:\n%s", has, err, said)
	}
}

package experiment_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

const promptedStudy = `name: prompted
suite: extraction
data: {source: jsonl, path: documents.jsonl}
models: [{id: m, provider: openai, name: asked}, {id: judge, provider: openai, name: judges, temperature: 0}]
judge_model: judge
arms: [{name: plain, path: plain.txt, models: [m]}]
execution: {retries: [], max_failed: 1, concurrency: 1}
`

// numbers answers with the number of the document. A document with an odd number is too
// much for it.
type numbers struct{}

var invoiceNumber = regexp.MustCompile(`Invoice Number: A-(\d+)`)

func (numbers) Complete(_ context.Context, r *eval.Request) (eval.Response, error) {
	if r.Name == "judges" {
		return eval.Response{Text: "a number", Stop: eval.StopEnd}, nil
	}
	number := invoiceNumber.FindStringSubmatch(r.Messages[len(r.Messages)-1].Content)
	if strings.ContainsAny(number[1][len(number[1])-1:], "13579") {
		return eval.Response{}, &model.Error{Kind: eval.ErrUnavailable, Status: 500}
	}
	return eval.Response{Stop: eval.StopEnd, Text: fmt.Sprintf(`{"extractions": [{"field": "invoice_number", "value": "A-%[1]s", "evidence": {"quote": "Invoice Number: A-%[1]s", "page": 1}, "status": "ok", "confidence": "high", "candidates": []}]}`, number[1])}, nil
}

// writePrompted writes the study with documents of these numbers.
func writePrompted(t *testing.T, dir string, documents []int) (path string) {
	t.Helper()
	write(t, filepath.Join(dir, "plain.txt"), "What is the number? {{SCHEMA}} {{OUTPUT_FORMAT}}")
	var b strings.Builder
	for _, n := range documents {
		fmt.Fprintf(&b, `{"document_id": "d%[1]d", "text": "---PAGE 1---\nInvoice Number: A-%[1]d\n", "schema": "invoice", "ground_truth": [{"field": "invoice_number", "exists_in_document": true, "is_ambiguous": false, "correct_value": "A-%[1]d", "evidence_quote": "A-%[1]d", "page": 1}]}`+"\n", n)
	}
	write(t, filepath.Join(dir, "documents.jsonl"), b.String())
	return write(t, filepath.Join(dir, "study.yaml"), promptedStudy)
}

// prompted runs the study on documents, and returns the run and what its report says was
// asked.
func prompted(t *testing.T, db *store.DB, path string) (*experiment.Run, *analyse.Asked) {
	t.Helper()
	r := start(t, load(t, path), db)
	ask := experiment.Asking{Models: map[string]*run.Model{"m": {Client: numbers{}, Group: "m"}, "judge": {Client: numbers{}, Group: "judge"}}}
	if err := r.Ask(t.Context(), left(t, r, false), ask); err != nil {
		t.Fatal(err)
	}
	return r, rescore(t, r).Analysis.Asked
}

// asleep is a bench that must not be asked to do anything.
type asleep struct {
	kit.Bench
	t *testing.T
}

func (b asleep) Perform(_ context.Context, t eval.Trial, _ eval.Asker) (eval.Outcome, error) {
	b.t.Errorf("%v is performed again", t)
	return eval.Outcome{}, nil
}

func (b asleep) Judge(_ context.Context, t eval.Trial, _ eval.Outcome, _ eval.Asker) ([]eval.Verdict, error) {
	b.t.Errorf("%v is judged again", t)
	return nil, nil
}

// A report has the prompts of a trial that succeeded, of the arm and of the judge, and
// performs nothing for them.
func TestReportsPerformNothing(t *testing.T) {
	dir := t.TempDir()
	db, path := openStore(t, dir), writePrompted(t, dir, []int{1, 2, 3, 4})
	r, asked := prompted(t, db, path)
	if len(asked.Parties) != 2 {
		t.Fatalf("asked: %+v", asked.Parties)
	}
	for _, p := range asked.Parties {
		if len(p.Prompts) != 1 || !p.Judge && p.Item != "d2" && p.Item != "d4" || !strings.Contains(p.Prompts[0].Text, "A-"+p.Item[1:]) || p.Missing != "" || p.Steps != 1 {
			t.Errorf("%s: %+v", p.Name, p)
		}
	}
	r.Bench = asleep{r.Bench, t}
	if d := cmp.Diff(asked, rescore(t, r).Analysis.Asked); d != "" {
		t.Errorf("scored again (-was +now):\n%s", d)
	}
	if l := left(t, r, false); !l.None() {
		t.Errorf("left: %+v", l)
	}
	if err := r.Ask(t.Context(), left(t, r, false), experiment.Asking{}); err != nil {
		t.Error(err)
	}
}

// dying is a bench whose process is killed before it judges again.
type dying struct {
	kit.Bench
	kill context.CancelFunc
}

func (b dying) Judge(ctx context.Context, t eval.Trial, o eval.Outcome, ask eval.Asker) ([]eval.Verdict, error) {
	b.kill()
	return b.Bench.Judge(ctx, t, o, ask)
}

// The next run after a kill, while answers were judged against changed gold, goes on as if it
// had not been: the judge did not change.
func TestKilledWhileGoldChanges(t *testing.T) {
	dir := t.TempDir()
	db, path := openStore(t, dir), writePrompted(t, dir, []int{2, 4})
	file := filepath.Join(dir, "documents.jsonl")
	right, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, strings.Replace(string(right), `"correct_value": "A-2", "evidence_quote": "A-2"`, `"correct_value": "Number", "evidence_quote": "Number: A-2"`, 1))
	prompted(t, db, path)
	write(t, file, string(right)) // the answer is right now, and its quote is judged
	x := load(t, path)
	ctx, kill := context.WithCancel(t.Context())
	x.Bench = dying{x.Bench, kill}
	if _, err := x.StartOrResume(ctx, db, ""); err == nil {
		t.Fatal("was not killed")
	}
	// It is killed again when the history has the change and the items do not have the gold.
	raw, err := sql.Open("sqlite", db.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	exec := func(text string) {
		t.Helper()
		if _, err := raw.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	exec(`CREATE TRIGGER die BEFORE INSERT ON items WHEN EXISTS (SELECT 1 FROM events WHERE what = 'gold changed') BEGIN SELECT RAISE(ABORT, 'killed'); END`)
	if _, err := load(t, path).StartOrResume(t.Context(), db, ""); err == nil {
		t.Fatal("was not killed again")
	}
	exec(`DROP TRIGGER die`)
	for range 2 { // then nothing is left to do
		r := start(t, load(t, path), db)
		events, err := db.Events(t.Context(), r.Record)
		if err != nil || slices.ContainsFunc(events, func(e store.Event) bool { return strings.HasPrefix(e.What, "late") }) {
			t.Errorf("history %+v, %v", events, err)
		}
		if n := len(slices.DeleteFunc(events, func(e store.Event) bool { return e.What != "gold changed" })); n != 1 {
			t.Errorf("%d changes of gold in the history", n)
		}
	}
}

// Of a judge that changed, the next run after a kill knows.
func TestKilledWhileJudgeChanges(t *testing.T) {
	dir := t.TempDir()
	db, path := openStore(t, dir), writePrompted(t, dir, []int{2, 4})
	prompted(t, db, path)
	x := load(t, path, "models[judge].max_tokens=77")
	ctx, kill := context.WithCancel(t.Context())
	x.Bench = dying{x.Bench, kill}
	if _, err := x.StartOrResume(ctx, db, ""); err == nil {
		t.Fatal("was not killed")
	}
	for range 2 {
		r := start(t, load(t, path, "models[judge].max_tokens=77"), db)
		events, err := db.Events(t.Context(), r.Record)
		count := map[string]int{}
		for _, e := range events {
			if strings.Contains(e.What, "judge") || strings.Contains(e.Note, "the judge changed (model judge.max_tokens)") {
				count[e.What]++
			}
		}
		if err != nil || count["late judge"] != 3 || count["plan changed"] != 1 || count["judge changed"] != 1 {
			t.Errorf("history %+v, %v", events, err)
		}
	}
}

// The example does not depend on how the run grew: it is that of a new run.
func TestExampleOfAGrownRun(t *testing.T) {
	const most = 24
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 0))
		dir, fresh := t.TempDir(), t.TempDir()
		db := openStore(t, dir)
		has := [most]bool{}
		for i := range has {
			has[i] = random.IntN(2) == 0
		}
		var asked *analyse.Asked
		var list []int
		for round := range 3 {
			if round > 0 && len(asked.Parties) > 0 { // the example leaves
				n, err := strconv.Atoi(asked.Parties[0].Item[1:])
				if err != nil {
					t.Fatal(err)
				}
				has[n] = false
			}
			for range random.IntN(5) {
				has[random.IntN(most)] = true
			}
			list = nil
			for i, is := range has {
				if is {
					list = append(list, i)
				}
			}
			_, asked = prompted(t, db, writePrompted(t, dir, list))
		}
		_, want := prompted(t, openStore(t, fresh), writePrompted(t, fresh, list))
		if d := cmp.Diff(want, asked); d != "" {
			t.Errorf("seed %d, documents %v (-new run +grown run):\n%s", seed, list, d)
		}
	}
}

// ruled is a bench in which a program judges every trial, and the judge only those of every
// eighth document.
type ruled struct{ kit.Bench }

func (b ruled) Judge(ctx context.Context, t eval.Trial, o eval.Outcome, ask eval.Asker) ([]eval.Verdict, error) {
	if _, err := ask.Ask(ctx, "rule", eval.Request{Model: "rule", Provider: "exec", Name: "rules", Payload: []byte(`{}`)}); err != nil {
		return nil, err
	}
	if n, err := strconv.Atoi(t.Item[1:]); err != nil || n%8 > 0 {
		return nil, err
	}
	return b.Bench.Judge(ctx, t, o, ask)
}

func (ruled) Complete(context.Context, *eval.Request) (eval.Response, error) {
	return eval.Response{Text: "{}", Stop: eval.StopEnd}, nil
}

// The example of a judge is one of its own trials, whoever else judged and in whatever order.
func TestExampleOfEachJudge(t *testing.T) {
	var documents []int
	for n := 2; n <= 40; n += 2 {
		documents = append(documents, n)
	}
	items := map[string]bool{}
	for _, concurrency := range []int{1, 16} {
		dir := t.TempDir()
		db, path := openStore(t, dir), writePrompted(t, dir, documents)
		x := load(t, path, fmt.Sprint("execution.concurrency=", concurrency))
		x.Bench = ruled{x.Bench}
		r := start(t, x, db)
		models := map[string]*run.Model{"rule": {Client: ruled{}, Group: "rule"}}
		for _, id := range []string{"m", "judge"} {
			models[id] = &run.Model{Client: numbers{}, Group: id}
		}
		if err := r.Ask(t.Context(), left(t, r, false), experiment.Asking{Models: models}); err != nil {
			t.Fatal(err)
		}
		for _, p := range rescore(t, r).Analysis.Asked.Parties {
			if len(p.Prompts) != 1 || p.Steps != 1 || p.Missing != "" {
				t.Errorf("%s: %+v", p.Model, p)
			}
			if p.Model == "judges" {
				items[p.Item] = true
			}
		}
	}
	if len(items) != 1 {
		t.Errorf("the judge has the examples %v, of runs in different orders", items)
	}
}

// Of many arms, reports show the prompts of some. The example of another is that of a new run, too, if
// reports had its prompts before.
func TestExampleOfAnArmNoLongerShown(t *testing.T) {
	documents := []int{2, 4, 6, 8, 10, 12, 14, 16}
	parties := func(db *store.DB, dir string, first int) []analyse.Party {
		var arms []string
		for n := first; n <= 12; n++ {
			arms = append(arms, fmt.Sprintf("{name: p%d, path: plain.txt, models: [m]}", n))
		}
		path := writePrompted(t, dir, documents)
		write(t, path, strings.Replace(promptedStudy, "{name: plain, path: plain.txt, models: [m]}", strings.Join(arms, ", "), 1))
		_, asked := prompted(t, db, path)
		return slices.DeleteFunc(asked.Parties, func(p analyse.Party) bool { return p.Judge })
	}
	grown, fresh := t.TempDir(), t.TempDir()
	db := openStore(t, grown)
	parties(db, grown, 1)
	if d := cmp.Diff(parties(openStore(t, fresh), fresh, 0), parties(db, grown, 0)); d != "" {
		t.Errorf("-new run +grown run:\n%s", d)
	}
}

package suitetest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/bundle"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/model/simulated"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// A State is what a study says at one time. Files of a [Changing] study follow from it.
type State struct {
	Items  []Item
	Arms   []int // version of the prompt of each arm; -1: the study does not have it
	Reader int   // version of the settings that answers are read with
	Judge  int   // version of the settings of the judge
}

// An Item is one input of a state. Items have the same input if their N is equal modulo
// [Inputs].
type Item struct {
	N    int
	ID   string
	Gold int // version of its gold
}

// Inputs is the number of different inputs.
const Inputs = 5

// A Changing is a study of a suite that changes.
type Changing struct {
	Suite kit.Suite
	// Files returns the study, study.yaml, and the files that it names. Its models are of
	// the provider openai, which a fake answers, or simulated.
	Files func(State) map[string]string
	// Answer is what the fake says to a request that it has not seen before. nil says what
	// is foreseen, mostly.
	Answer  func(r *eval.Request) string
	Arms    int // that the study may have
	Readers int // versions of the settings of the reader, at least 1
	Judges  int
	NoIDs   bool // items may have no id
}

// walks is the number of walks of a test, and manyWalks of one of make e2e.
const (
	walks     = 2
	manyWalks = 8
)

// Walk tests that after a change a run says what a new run would say: a study grows, shrinks,
// renames items, corrects gold, changes settings of readers and judges, prompts and arms; its
// run follows, in parts, stopped, or scored only. In the end outcomes, scores, analysis,
// verdict and the bytes of the report are those of a new run of the final study with the
// same answers, and nothing was asked twice that was answered and is still asked for in the
// same words.
//
// Rapid's own number of checks takes minutes: it is walks, or manyWalks if SCRUPLE_E2E is set,
// unless -rapid.checks says another.
// The walks are the same each time; -rapid.checks or -rapid.seed gives others.
func Walk(t *testing.T, c Changing) {
	if checks, seed := flag.Lookup("rapid.checks"), flag.Lookup("rapid.seed"); isDefault(checks) {
		n := walks
		if os.Getenv("SCRUPLE_E2E") != "" {
			n = manyWalks
		}
		defer set(t, checks, strconv.Itoa(n))()
		if isDefault(seed) {
			defer set(t, seed, "27")()
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "walk")
		if err != nil {
			rt.Fatal(err)
		}
		w := &walk{t: rt, Changing: c, dir: dir, server: &server{answer: c.Answer, said: map[string]eval.Response{}, sent: map[string]int{}}, most: map[asked]int{}}
		w.state.Arms = make([]int, c.Arms)
		for i := range w.state.Arms {
			w.state.Arms[i] = rapid.IntRange(-1, 0).Draw(rt, "arm")
		}
		w.state.Arms[0] = 0
		for range rapid.IntRange(2, 5).Draw(rt, "items") {
			w.add()
		}
		w.write()
		for range rapid.IntRange(2, 6).Draw(rt, "steps") {
			w.act(rapid.SampledFrom([]string{"run", "run", "part", "stop", "score"}).Draw(rt, "act"))
			for range rapid.IntRange(1, 3).Draw(rt, "changes") {
				w.change()
			}
			w.write()
		}
		w.act(rapid.SampledFrom([]string{"run", "score"}).Draw(rt, "act"))
		w.act("run")
		w.count()
		grown, fresh := w.result("grown.db"), w.result("new.db")
		for _, part := range slices.Sorted(maps.Keys(fresh)) {
			if grown[part] != fresh[part] {
				rt.Fatalf("%s of the run that followed the study (-) and of a new run (+):\n%s", part, cmp.Diff(grown[part], fresh[part]))
			}
		}
	})
}

func isDefault(f *flag.Flag) bool { return f.Value.String() == f.DefValue }

// set sets a flag until the returned function is called.
func set(t *testing.T, f *flag.Flag, value string) (restore func()) {
	if err := f.Value.Set(value); err != nil {
		t.Fatal(err)
	}
	return func() { _ = f.Value.Set(f.DefValue) }
}

type walk struct {
	Changing
	t      *rapid.T
	dir    string
	state  State
	named  int // names that were given
	server *server
	most   map[asked]int // the most trials of one state that ask a request
}

// An asked is a request in a step of the stage run. Judges share their answers, whatever
// the step.
type asked struct{ step, key string }

func (w *walk) must(err error) {
	if err != nil {
		w.t.Fatal(err)
	}
}

// opened does something with the study as it is, and a store.
func (w *walk) opened(name string, do func(ctx context.Context, x *experiment.Experiment, db *store.DB)) {
	x, err := experiment.Load(filepath.Join(w.dir, "study.yaml"), nil, w.env())
	if err != nil {
		w.t.Fatalf("%v\nin the state %+v", err, w.state)
	}
	defer x.Close()
	ctx := context.Background()
	db, err := store.Open(ctx, filepath.Join(w.dir, ".scruple", name))
	w.must(err)
	defer db.Close()
	do(ctx, x, db)
}

// add adds an item.
func (w *walk) add() {
	it := Item{N: rapid.IntRange(0, 2*Inputs-1).Draw(w.t, "n")}
	if slices.ContainsFunc(w.state.Items, func(o Item) bool { return o.N == it.N }) {
		return
	}
	if !w.NoIDs || rapid.Bool().Draw(w.t, "has an id") {
		it.ID = w.name()
	}
	at := rapid.IntRange(0, len(w.state.Items)).Draw(w.t, "at")
	w.state.Items = slices.Insert(w.state.Items, at, it)
}

func (w *walk) name() string {
	w.named++
	return fmt.Sprintf("i%d", w.named)
}

// change changes the state in one way.
func (w *walk) change() {
	s := &w.state
	item := func() *Item { return &s.Items[rapid.IntRange(0, len(s.Items)-1).Draw(w.t, "item")] }
	arm := func() *int { return &s.Arms[rapid.IntRange(0, len(s.Arms)-1).Draw(w.t, "which arm")] }
	switch what := rapid.SampledFrom([]string{"shrink", "grow", "grow", "rename", "swap", "gold", "gold", "reader", "judge", "prompt", "arm"}).Draw(w.t, "change"); what {
	case "shrink":
		if len(s.Items) > 2 {
			i := rapid.IntRange(0, len(s.Items)-1).Draw(w.t, "item")
			s.Items = slices.Delete(s.Items, i, i+1)
		}
	case "grow":
		w.add()
	case "rename":
		if it := item(); it.ID != "" {
			it.ID = w.name()
		}
	case "swap":
		a, b := item(), item()
		a.ID, b.ID = b.ID, a.ID
	case "gold":
		item().Gold = rapid.IntRange(0, 2).Draw(w.t, "gold")
	case "reader":
		s.Reader = rapid.IntRange(0, max(1, w.Readers)-1).Draw(w.t, "reader")
	case "judge":
		s.Judge = rapid.IntRange(0, max(1, w.Judges)-1).Draw(w.t, "judge")
	case "prompt":
		if a := arm(); *a >= 0 {
			*a = rapid.IntRange(0, 1).Draw(w.t, "prompt")
		}
	case "arm":
		if i := rapid.IntRange(0, len(s.Arms)-1).Draw(w.t, "which arm"); i > 0 {
			s.Arms[i] = -1 - s.Arms[i]
			if s.Arms[i] < -1 {
				s.Arms[i] = -1
			}
		}
	}
}

func (w *walk) write() {
	for name, text := range w.Files(w.state) {
		path := filepath.Join(w.dir, filepath.FromSlash(name))
		w.must(errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
	}
}

func (w *walk) env() experiment.Env {
	return experiment.Env{
		Suite:   func(string) (kit.Suite, error) { return w.Suite, nil },
		Price:   func(study.Model) (func(eval.Usage) float64, bool) { return func(eval.Usage) float64 { return 0 }, true },
		Now:     func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		Version: "test",
	}
}

// act brings the run up to date, in whole or in part.
func (w *walk) act(how string) {
	w.opened("grown.db", func(ctx context.Context, x *experiment.Experiment, db *store.DB) {
		if how == "score" {
			last, err := db.LastRun(ctx, x.Study.Name, "")
			if errors.Is(err, store.ErrNotFound) {
				return
			}
			w.must(err)
			r, err := x.Follow(ctx, db, last)
			w.must(err)
			_, err = r.Rescore(ctx, 1)
			w.must(err)
			return
		}
		w.demand(x)
		part, stop := experiment.Part{}, 0
		switch how {
		case "part":
			part.Limit = rapid.IntRange(1, 3).Draw(w.t, "limit")
		case "stop":
			stop = rapid.IntRange(1, 20).Draw(w.t, "after")
		}
		w.ask(x, db, part, stop)
	})
}

var errStopped = errors.New("the walk stops the run")

// ask runs a part of the study, and stops after a number of answers if it is not 0.
func (w *walk) ask(x *experiment.Experiment, db *store.DB, part experiment.Part, after int) *experiment.Run {
	ctx := context.Background()
	r, err := x.StartOrResume(ctx, db, "")
	w.must(err)
	left, err := r.Left(ctx, part)
	w.must(err)
	stop := make(chan error, 1)
	if err := r.Ask(ctx, left, experiment.Asking{Models: w.models(x, func(r *eval.Request) { w.server.count(r, stop, after) }), Stop: stop}); err != nil && !errors.Is(err, errStopped) {
		w.t.Fatal(err)
	}
	return r
}

func (w *walk) models(x *experiment.Experiment, seen func(*eval.Request)) map[string]*run.Model {
	models := map[string]*run.Model{}
	for _, m := range x.Study.Models {
		c := client{server: w.server, seen: seen}
		if m.Provider == kit.SimulatedProvider {
			c.fake = simulated.New(simulated.Skill{Wrong: 0.3, Miss: 0.1}, 1)
		}
		models[m.ID] = &run.Model{Client: c, Group: m.ID, Reuse: c.fake == nil}
	}
	return models
}

// demand counts how many trials of the study ask each request. Equal questions to the
// judge are one.
func (w *walk) demand(x *experiment.Experiment) {
	asks := map[asked]int{}
	models := w.models(x, func(*eval.Request) {})
	judges := map[string]bool{}
	for _, a := range x.Bench.Arms() {
		judges[a.ID] = len(a.Judges) > 0
	}
	ask := func(stage eval.Stage, t eval.Trial) eval.Asker {
		return askerFunc(func(ctx context.Context, step string, r eval.Request) (eval.Response, error) {
			if r.Replicate = t.Replicate; stage == eval.StageJudge {
				r.Item, r.Replicate = "", 0
				asks[asked{"", r.Key()}] = 1
			} else {
				asks[asked{step, r.Key()}]++
			}
			return models[r.Model].Client.Complete(ctx, &r)
		})
	}
	for seq := range x.Plan.Len() {
		t := x.Plan.Trial(seq)
		o, err := x.Bench.Perform(context.Background(), t, ask(eval.StageRun, t))
		if err == nil && judges[t.Arm] {
			_, err = x.Bench.Judge(context.Background(), t, o, ask(eval.StageJudge, t))
		}
		w.must(err)
	}
	for what, n := range asks {
		w.most[what] = max(w.most[what], n)
	}
}

// count compares what the server was asked with the journal, which has every answer once,
// and with the most trials that asked it at one time.
func (w *walk) count() {
	db, err := sql.Open("sqlite", filepath.Join(w.dir, ".scruple", "grown.db"))
	w.must(err)
	defer db.Close()
	rows, err := db.Query(`SELECT CASE stage WHEN 'judge' THEN '' ELSE step END, key, count(*) FROM calls WHERE source IS NULL GROUP BY 1, 2`)
	w.must(err)
	defer rows.Close()
	journalled := map[string]int{}
	for rows.Next() {
		var what asked
		var n int
		w.must(rows.Scan(&what.step, &what.key, &n))
		if journalled[what.key] += n; n > w.most[what] && w.server.sent[what.key] > 0 { // a simulated model costs nothing
			w.t.Errorf("%s was asked %d times in step %q, and never by more than %d trials at once", what.key, n, what.step, w.most[what])
		}
	}
	for key, n := range w.server.sent {
		if n != journalled[key] {
			w.t.Errorf("%s was asked %d times, and the journal has %d answers", key, n, journalled[key])
		}
	}
}

type askerFunc func(ctx context.Context, step string, r eval.Request) (eval.Response, error)

func (f askerFunc) Ask(ctx context.Context, step string, r eval.Request) (eval.Response, error) {
	return f(ctx, step, r)
}

// result runs what is left of the study in a store and returns what it says, but for the
// history of the run: when answers were asked for, and what was shown. On the way the run is
// packed, which verifies what was packed.
func (w *walk) result(name string) map[string]string {
	says := map[string]string{}
	encode := func(v any) string {
		data, err := json.MarshalIndent(v, "", " ")
		w.must(err)
		return string(data)
	}
	w.opened(name, func(ctx context.Context, x *experiment.Experiment, db *store.DB) {
		w.ask(x, db, experiment.Part{}, 0)
	})
	w.opened(name, w.bundle)
	w.forget(name)
	w.opened(name, func(ctx context.Context, x *experiment.Experiment, db *store.DB) {
		r := w.ask(x, db, experiment.Part{}, 0)
		result, err := r.Rescore(ctx, 2)
		w.must(err)
		for c, err := range db.Cases(ctx, r.Record) {
			w.must(err)
			for _, j := range c.Trials {
				says["1 outcomes"] += fmt.Sprintf("%v: %s %s %q %q %s\n", j.Trial, j.Outcome.Kind, j.Outcome.Reason, j.Outcome.Notes, j.Outcome.Detail, j.Outcome.Data)
				for _, v := range j.Verdicts {
					says["2 verdicts"] += fmt.Sprintf("%v: %s %s %s %s %s\n", j.Trial, v.Step, v.Unit, v.By, v.Data, v.Err)
				}
			}
		}
		says["3 analysis"], says["4 verdict"] = encode(result.Analysis), encode(result.Verdict)
		for _, f := range report.Formats() {
			var b bytes.Buffer
			w.must(f.Render(&b, report.Report{Analysis: result.Analysis, Verdict: result.Verdict}))
			says["5 report "+f.Name] = b.String()
		}
	})
	return says
}

// bundle packs the run.
func (w *walk) bundle(ctx context.Context, x *experiment.Experiment, db *store.DB) {
	r, err := x.StartOrResume(ctx, db, "")
	w.must(err)
	_, err = r.Rescore(ctx, 1)
	w.must(err)
	r.Record, err = db.Run(ctx, r.Record.ID)
	w.must(err)
	env := bundle.Env{Experiment: w.env(), Samples: func(int) int { return 1 },
		Agree: func(context.Context, *store.DB, *experiment.Run) {},
		Outputs: func(_ context.Context, _ *store.DB, _ *experiment.Run, result experiment.Result) ([]bundle.Output, error) {
			return []bundle.Output{{Name: "report.md", Write: func(to io.Writer) error {
				return report.Formats()[0].Render(to, report.Report{Analysis: result.Analysis, Verdict: result.Verdict})
			}}}, nil
		}}
	if _, err := bundle.Create(ctx, filepath.Join(w.dir, "..", "walk.scruple"), bundle.Source{Experiment: x, Store: db, Run: r.Record}, env); err != nil {
		w.t.Fatalf("bundle and verify: %v", err)
	}
}

// forget removes the history of a run, which a new run does not have.
func (w *walk) forget(name string) {
	db, err := sql.Open("sqlite", filepath.Join(w.dir, ".scruple", name))
	w.must(err)
	defer db.Close()
	for _, statement := range []string{`DELETE FROM events`, `UPDATE runs SET analysed = 0`, `DELETE FROM analyses`, `DELETE FROM attempts`,
		`UPDATE calls SET source = NULL, attempts = 1, latency_ms = 0`} {
		_, err := db.Exec(statement)
		w.must(err)
	}
}

// A server answers equal requests with the same words.
type server struct {
	answer func(*eval.Request) string

	mu   sync.Mutex
	said map[string]eval.Response
	sent map[string]int
	all  int
}

// count counts a request and stops the run after a number of them.
func (s *server) count(r *eval.Request, stop chan error, after int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent[r.Key()]++
	s.all++
	if after > 0 && s.all%after == 0 {
		select {
		case stop <- errStopped:
		default:
		}
	}
}

func (s *server) reply(r *eval.Request) eval.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.Key()
	said, ok := s.said[key]
	if !ok {
		said = s.compose(r)
		s.said[key] = said
	}
	return said
}

// compose writes a new answer: mostly a good one, sometimes one that cannot be read, or no
// words at all.
func (s *server) compose(r *eval.Request) eval.Response {
	text := ""
	if s.answer != nil {
		text = s.answer(r)
	}
	if text == "" && r.Foreseen != nil {
		text = r.Foreseen()
	}
	h := fnv.New32a()
	h.Write([]byte(r.Key()))
	switch h.Sum32() % 9 {
	case 0:
		text = "I would rather not say."
	case 1:
		text = strings.ToValidUTF8(text[:len(text)/2], "")
	case 2:
		return eval.Response{Stop: eval.StopRefused, Refusal: "no", ModelVersion: "v1"}
	}
	if r.Force != "" {
		return eval.Response{ToolCalls: []eval.ToolCall{{ID: "1", Name: r.Force, Arguments: json.RawMessage(text)}}, Stop: eval.StopTool, ModelVersion: "v1"}
	}
	return eval.Response{Text: text, Stop: eval.StopEnd, ModelVersion: "v1", Usage: eval.Usage{Input: 10, Output: 5}}
}

// A client answers with the words of the server, or as a simulated model.
type client struct {
	server *server
	fake   *simulated.Client
	seen   func(*eval.Request)
}

func (c client) Complete(ctx context.Context, r *eval.Request) (eval.Response, error) {
	if c.fake != nil {
		return c.fake.Complete(ctx, r)
	}
	c.seen(r)
	return c.server.reply(r), nil
}

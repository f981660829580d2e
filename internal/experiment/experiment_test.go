package experiment_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/model/outputs"
	"github.com/scruple-eval/scruple/internal/model/simulated"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/extraction"
	"github.com/scruple-eval/scruple/internal/suites/given"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/qa"
	"github.com/scruple-eval/scruple/internal/suites/rerank"
	"github.com/scruple-eval/scruple/internal/suites/spans"
)

// env has four suites and a price only for simulated models.
func env() experiment.Env {
	return experiment.Env{
		Suite: func(name string) (kit.Suite, error) {
			for _, s := range []kit.Suite{extraction.Suite(), given.Suite(), qa.Suite(), rerank.Suite(), spans.Suite()} {
				if s.Name == name {
					return s, nil
				}
			}
			return kit.Suite{}, errors.New("unknown suite " + name)
		},
		Price: func(m study.Model) (func(eval.Usage) float64, bool) {
			return func(eval.Usage) float64 { return 0 }, m.Provider == "simulated"
		},
		Now:     func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		Version: "test",
	}
}

// A counter counts how often each request is sent, and stops the run after some.
// Later calls are answered while the run stops.
type counter struct {
	model.Client
	after    int
	stop     chan error
	stopping chan struct{}

	mu   sync.Mutex
	sent map[string]int
	all  int
}

var errEnough = errors.New("enough")

func (c *counter) Complete(ctx context.Context, r *eval.Request) (eval.Response, error) {
	c.mu.Lock()
	c.sent[r.Key()]++
	c.all++
	if c.all == c.after {
		c.stop <- errEnough
	}
	wait := c.all >= c.after
	c.mu.Unlock()
	if wait {
		<-c.stopping
	}
	return c.Client.Complete(ctx, r)
}

func (c *counter) Event(e run.Event) {
	if e.Kind == "stopping" {
		close(c.stopping)
	}
}

func (c *counter) Progress(run.Progress) {}

const ranking = `name: ranks
suite: rerank
data: {items: data/items.jsonl, reviews: data/reviews.jsonl, users: data/users.jsonl, requests: data/requests.jsonl}
candidates: {sizes: [10]}
arms: [{name: random}, {name: bm25}, {name: listwise}]
models: [{id: sim, provider: simulated, name: sim, max_tokens: 1024}]
execution: {concurrency: 4}
comparisons: [{a: bm25/n10, b: random/n10, primary: true}]
decide: {require: [{name: better than chance, that: "diff_low('bm25/n10', 'random/n10', 'hits_1') > 0"}]}
`

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, path string, overrides ...string) *experiment.Experiment {
	t.Helper()
	x, err := experiment.Load(path, overrides, env())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func openStore(t *testing.T, dir string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), filepath.Join(dir, "runs.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// rankingStudy writes the study with the data of the starter and returns its path.
func rankingStudy(t *testing.T) string {
	t.Helper()
	dir, suite := t.TempDir(), rerank.Suite()
	if _, err := suite.Init(dir); err != nil {
		t.Fatal(err)
	}
	return write(t, filepath.Join(dir, "study.yaml"), ranking)
}

// A metric that the suite offers counts if the study names it, and is a secondary one unless it is
// primary. No metric of the study has its name.
func TestOfferedMetrics(t *testing.T) {
	path := rankingStudy(t)
	for _, c := range []struct {
		overrides []string
		hits      []string // above 10
		secondary bool
	}{
		{nil, nil, false},
		{[]string{"metrics.secondary=[hits_12]"}, []string{"hits_12"}, true},
		{[]string{"metrics.primary=[hits_1, hits_12]"}, []string{"hits_12"}, false},
		{[]string{"decide={require: [{name: r, that: \"value('bm25/n10', 'hits_11') > 0\"}]}"}, []string{"hits_11"}, true},
	} {
		x := load(t, path, append([]string{"candidates.k=12"}, c.overrides...)...)
		var got []string
		for _, m := range x.Suite.Metrics {
			if m.Name == "hits_11" || m.Name == "hits_12" {
				got = append(got, m.Name)
			}
		}
		if secondary := len(c.hits) > 0 && slices.Contains(x.Secondary, c.hits[0]); !slices.Equal(got, c.hits) || secondary != c.secondary {
			t.Errorf("%q: metrics %q, secondary %q", c.overrides, got, x.Secondary)
		}
	}
	_, err := experiment.Load(path, []string{"candidates.k=12", "metrics.own=[{name: hits_12, min: 0, max: 1}]"}, env())
	if err == nil || !strings.Contains(err.Error(), `"hits_12" is a metric of the suite`) {
		t.Error(err)
	}
}

func start(t *testing.T, x *experiment.Experiment, db *store.DB) *experiment.Run {
	t.Helper()
	r, err := x.StartOrResume(t.Context(), db, "")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func left(t *testing.T, r *experiment.Run, retryFailed bool) *experiment.Left {
	t.Helper()
	l, err := r.Left(t.Context(), experiment.Part{RetryFailed: retryFailed})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func rescore(t *testing.T, r *experiment.Run) experiment.Result {
	t.Helper()
	result, err := r.Rescore(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func wantNotAllowed(t *testing.T, err error, words string) {
	t.Helper()
	var refused *experiment.NotAllowedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), words) {
		t.Errorf("error %v (%T), want a NotAllowedError that says %q", err, err, words)
	}
}

// A stopped and resumed run sends every request once, and its results equal the
// stored ones.
func TestStopAndResume(t *testing.T) {
	path, ctx := rankingStudy(t), t.Context()
	db := openStore(t, t.TempDir())
	x := load(t, path)
	if err := x.CheckScorer(); err != nil {
		t.Fatal(err)
	}
	r := start(t, x, db)
	if n := left(t, r, false).Trials; n != x.Plan.Len() {
		t.Errorf("%d trials left of a new run, want %d", n, x.Plan.Len())
	}
	client := &counter{Client: simulated.New(simulated.Skill{}, 1), after: 20, stop: make(chan error, 1), stopping: make(chan struct{}), sent: map[string]int{}}
	asking := experiment.Asking{Models: map[string]*run.Model{"sim": {Client: client, Group: "sim"}}, Observer: client, Stop: client.stop}
	if err := r.Ask(ctx, left(t, r, false), asking); !errors.Is(err, run.ErrStopped) || !errors.Is(err, errEnough) {
		t.Fatalf("stopped run: error %v", err)
	}
	if s, err := experiment.StatusOf(ctx, db, r.Record); err != nil || s.State != "started" || s.Done == 0 || s.Done == s.Trials {
		t.Errorf("status of a stopped run: %+v, %v", s, err)
	}

	x = load(t, path) // like another process
	first := r.Record.ID
	r = start(t, x, db)
	if r.Record.ID != first {
		t.Fatalf("resumed run %s, want %s", r.Record.ID, first)
	}
	if err := r.Ask(ctx, left(t, r, false), asking); err != nil {
		t.Fatal(err)
	}
	if l := left(t, r, false); !l.None() {
		t.Errorf("%d trials left of a finished run", l.Trials)
	}
	if n := len(x.Bench.Items()); client.all != n || len(client.sent) != n {
		t.Errorf("%d requests sent, %d distinct, want %d", client.all, len(client.sent), n)
	}
	s, err := experiment.Statuses(ctx, db, true)
	if err != nil || len(s) != 1 || s[0].State != "success" || s[0].Calls != client.all || s[0].Sessions == nil {
		t.Errorf("status of a finished run: %+v, %v", s, err)
	}
	s[0].Sessions, s[0].Errors, s[0].Events, s[0].Reused, s[0].Warnings, s[0].JudgeErrors = nil, nil, nil, nil, nil, nil
	if brief, err := experiment.Statuses(ctx, db, false); err != nil || encoded(t, brief) != encoded(t, s) {
		t.Errorf("status in a list: %+v, want %+v, %v", brief, s, err)
	}

	result := rescore(t, r)
	if v := result.Verdict; v == nil || v.State != gate.Pass {
		t.Errorf("verdict %+v", v)
	}
	if again := rescore(t, r); encoded(t, again) != encoded(t, result) {
		t.Error("scoring again gives another result")
	}
	kept, err := experiment.Kept(ctx, db, r.Record)
	if err != nil || encoded(t, kept) != encoded(t, result) {
		t.Errorf("the kept result differs (%v)", err)
	}
	t.Run("decide", func(t *testing.T) { decides(t, path, db, r, kept) })
	t.Run("show", func(t *testing.T) { shows(t, r) })
}

// A run goes on with the limits that its study has now, and is recorded with them.
func TestLimitsThatChange(t *testing.T) {
	path, db := rankingStudy(t), openStore(t, t.TempDir())
	models := map[string]*run.Model{"sim": {Client: simulated.New(simulated.Skill{}, 1), Group: "sim"}}
	exhausted := func(limit string, part experiment.Part) string {
		r := start(t, load(t, path, "statistics.alpha=0.05", "execution.max_calls="+limit), db)
		l, err := r.Left(t.Context(), part)
		if err == nil {
			err = r.Ask(t.Context(), l, experiment.Asking{Models: models})
		}
		if err != nil && !errors.Is(err, run.ErrBudget) {
			t.Fatal(err)
		}
		again, err := db.Run(t.Context(), r.Record.ID)
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"statistics.alpha=0.05", "execution.max_calls=" + limit}; !slices.Equal(again.Overrides, want) || !r.LimitsRecorded() || string(again.StudyJSON) != string(r.File.Canonical()) {
			t.Errorf("recorded with %v, want %v\n%s\n%s", again.Overrides, want, again.StudyJSON, r.File.Canonical())
		}
		s, err := experiment.StatusOf(t.Context(), db, again)
		if err != nil || s.Done == s.Trials {
			t.Fatalf("%+v, %v", s, err)
		}
		return s.Exhausted
	}
	if got := exhausted("2", experiment.Part{}); got != "2 of 2 calls" {
		t.Errorf("exhausted is %q", got)
	}
	if got := exhausted("1000", experiment.Part{Limit: 4}); got != "" {
		t.Errorf("with a higher limit, exhausted is %q", got)
	}
	if err := db.Damage(t.Context()); err != nil {
		t.Error(err)
	}
}

// A run of an older version has no history of its rules. It begins with those of its
// study, also if plan and rules change at once.
func TestRulesOfOlderRuns(t *testing.T) {
	path, ctx := rankingStudy(t), t.Context()
	db := openStore(t, t.TempDir())
	r := start(t, load(t, path), db)
	if err := db.SaveAnalysis(ctx, r.Record, []byte(`{}`), nil, "b"); err != nil {
		t.Fatal(err)
	}
	result := rescore(t, start(t, load(t, path, "decide.require[0].that=diff_low('bm25/n10', 'random/n10', 'hits_1') > 0.99", "execution.replicates=2"), db))
	if result.Verdict == nil || len(result.Verdict.Changed) != 1 {
		t.Errorf("verdict %+v: want a change of rules", result.Verdict)
	}
}

// A trend counts analyses that cannot be read, not those of runs that go on, which have none.
func TestTrendOfRunsThatGoOn(t *testing.T) {
	x, db := load(t, rankingStudy(t)), openStore(t, t.TempDir())
	for _, goesOn := range []bool{false, true} {
		r, err := x.Begin(t.Context(), db, experiment.Attempt{Fresh: true})
		if err == nil {
			err = db.SaveAnalysis(t.Context(), r.Record, []byte(`{}`), nil, "b")
		}
		if err == nil && goesOn {
			err = db.DropAnalysis(t.Context(), r.Record)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if list, unread, err := experiment.Trend(t.Context(), db, x.Study.Name, 10); err != nil || len(list) != 0 || unread != 1 {
		t.Errorf("%d runs, %d of them cannot be read, %v", len(list), unread, err)
	}
}

// Rules may change after a run. Requests and settings of the analysis may not.
func decides(t *testing.T, path string, db *store.DB, r *experiment.Run, kept experiment.Result) {
	ctx := t.Context()
	stricter := load(t, path, "decide.require[0].that=diff_low('bm25/n10', 'random/n10', 'hits_1') > 0.99")
	result, err := stricter.Decide(ctx, db, r.Record, kept)
	if err != nil || result.Verdict.State != gate.Fail {
		t.Errorf("a stricter rule: verdict %+v, %v", result.Verdict, err)
	}
	_, err = load(t, path, "statistics.alpha=0.01").Decide(ctx, db, r.Record, kept)
	wantNotAllowed(t, err, "analyse it again")
	_, err = load(t, path, "execution.seed=7").Decide(ctx, db, r.Record, kept)
	wantNotAllowed(t, err, "the study no longer matches run")
	_, err = load(t, path, "execution.replicates=2").Attach(ctx, db, r.Record)
	wantNotAllowed(t, err, "other items, arms or replicates")
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	var refused *experiment.NotAllowedError
	if _, err = stricter.Attach(stopped, db, r.Record); !errors.Is(err, context.Canceled) || errors.As(err, &refused) {
		t.Errorf("a plan that cannot be read: error %v (%T)", err, err)
	}

	other, err := stricter.Start(ctx, db)
	if err != nil || other.Record.ID == r.Record.ID {
		t.Fatalf("a new run: %+v, %v", other, err)
	}
	if last, err := experiment.LastRun(ctx, db, path, nil); err != nil || last.ID != other.Record.ID {
		t.Errorf("the last run is %+v, %v", last, err)
	}
	if _, err := experiment.Kept(ctx, db, other.Record); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the result of a run that asked nothing: %v", err)
	}
	if again, err := stricter.StartOrResume(ctx, db, r.Record.ID); err != nil || again.Record.ID != r.Record.ID {
		t.Errorf("resumed by id: %+v, %v", again, err)
	}
}

func shows(t *testing.T, r *experiment.Run) {
	item := r.Bench.Items()[0].ID
	shown, err := r.Show(t.Context(), experiment.Selection{Item: item, Replicate: 1, Prompts: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(shown.Samples) != 3 || !strings.Contains(encoded(t, shown.Samples), " asked") {
		t.Errorf("%d samples, want 3 with what models were asked:\n%s", len(shown.Samples), encoded(t, shown.Samples))
	}
	for _, sample := range shown.Samples {
		named := map[string]bool{}
		for _, step := range sample.Show.Steps {
			if named[step.Name] {
				t.Errorf("%s of %s is shown twice", step.Name, sample.Show.Arm)
			}
			named[step.Name] = true
		}
	}
	for _, s := range []experiment.Selection{{Item: "nothing", Replicate: 1}, {Item: item, Arms: []string{"nobody"}, Replicate: 1}, {Item: item, Replicate: 2}} {
		if _, err := r.Show(t.Context(), s); err == nil {
			t.Errorf("%+v is shown", s)
		}
	}
}

// Loading reports errors in metrics and budgets together.
func TestLoadReportsAll(t *testing.T) {
	path := rankingStudy(t)
	_, err := experiment.Load(path, []string{"metrics.primary=[nope]", "metrics.secondary=[neither]", "execution.max_cost=1", "models[sim].provider=openai",
		"statistics={method: mixed_effects, random: [nothing_such]}"}, env())
	for _, words := range []string{`no stratum "nothing_such"`, `"nope"`, `"neither"`, "the price of model sim"} {
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q is missing in: %v", words, err)
		}
	}
	const embeddings = "output.embeddings={provider: openai, name: small%s}"
	if _, err = experiment.Load(path, []string{"execution.max_cost=1", fmt.Sprintf(embeddings, "")}, env()); err == nil || !strings.Contains(err.Error(), "the price of the embedding model small is unknown") {
		t.Errorf("embeddings without a price under a limit of cost: %v", err)
	}
	load(t, path, "execution.max_cost=1", fmt.Sprintf(embeddings, ", price: 0"))
	load(t, path, fmt.Sprintf(embeddings, ""))
	e, err := load(t, path).Estimate(t.Context(), func(text string) int { return len(text) })
	if err != nil || e.Calls != e.Items || e.Input == 0 || e.Detectable == nil || e.Detectable.Tests == 0 {
		t.Errorf("estimate %+v, %v", e, err)
	}
}

// What a store has of a plan: answers to be judged are not done.
func TestStanding(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	db, path := openStore(t, dir), writePrompted(t, dir, []int{2, 4, 6, 8})
	priced := env()
	priced.Price = func(m study.Model) (func(eval.Usage) float64, bool) {
		return func(eval.Usage) float64 { return map[string]float64{"m": 0.001, "judge": 1}[m.ID] }, true
	}
	standing := func(overrides ...string) (*experiment.Standing, *experiment.Demands) {
		t.Helper()
		x, err := experiment.Load(path, overrides, priced)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		e, err := x.Estimate(ctx, func(text string) int { return len(text) })
		if err == nil {
			e.Standing, err = x.Standing(ctx, db, e)
		}
		if err != nil {
			t.Fatal(err)
		}
		d, err := x.Demands(ctx, db, filepath.Join(dir, "runs.db"), e)
		if err != nil {
			t.Fatal(err)
		}
		return e.Standing, d
	}
	judge := &counter{Client: numbers{}, sent: map[string]int{}, after: 1000}
	r := start(t, load(t, path), db)
	ask := experiment.Asking{Models: map[string]*run.Model{"m": {Client: numbers{}, Group: "m"}, "judge": {Client: judge, Group: "judge"}}, MaxCalls: 4}
	if err := r.Ask(ctx, left(t, r, false), ask); !errors.Is(err, run.ErrSessionEnd) {
		t.Fatal(err)
	}
	stopped, demands := standing()
	if _, d := standing("models[m].limits={requests_per_minute: 1}"); d.Hours != demands.Hours {
		t.Errorf("%v hours of the judge, %v if the arm's model is slow", demands.Hours, d.Hours)
	}
	if _, d := standing("models[judge].limits={requests_per_minute: 1}"); !(math.Abs(d.Hours*60-float64(stopped.Calls)) <= 1e-9) {
		t.Errorf("%v hours of a judge with %d calls, one a minute", d.Hours, stopped.Calls)
	}
	toJudge := left(t, r, false).Judgments
	ask.MaxCalls = 0
	if err := r.Ask(ctx, left(t, r, false), ask); err != nil {
		t.Fatal(err)
	}
	paid := float64(judge.all)
	if judge.all == 0 || stopped.New != 0 || stopped.ToJudge == 0 || stopped.ToJudge > toJudge || stopped.Calls != judge.all || *stopped.CostUSD != paid || demands.Calls != judge.all || demands.Hours == 0 {
		t.Errorf("before %d calls of the judge: %+v, %+v", judge.all, stopped, demands)
	}
	if s, d := standing(); s.New+s.ToJudge+s.Calls != 0 || *s.CostUSD != 0 || d.Hours != 0 {
		t.Errorf("a finished run: %+v, %+v", s, d)
	}
	for _, c := range []struct {
		overrides      []string
		new, judge, by int
		cost           float64
	}{
		{[]string{"models[judge].name=another"}, 0, stopped.ToJudge, judge.all, paid},
		{[]string{"models[judge].name=another", "name=other"}, r.Plan.Len(), 0, judge.all + 4, paid + 0.004},
	} {
		if s, _ := standing(c.overrides...); s.New != c.new || s.ToJudge != c.judge || s.Calls != c.by || *s.CostUSD != c.cost {
			t.Errorf("%v: %+v, cost %v, want %+v", c.overrides, s, *s.CostUSD, c)
		}
	}
}

// What arms are assumed to score is for rules.
func TestAssumeWithoutRules(t *testing.T) {
	path := rankingStudy(t)
	const assume, warning = "assume=[{name: it, scores: [{arm: bm25/n10, metric: hits_1, value: 0.5}]}]", "has no rules under decide"
	for _, c := range []struct {
		overrides []string
		warned    bool
	}{{nil, false}, {[]string{assume}, false}, {[]string{assume, "decide={}"}, true}, {[]string{"decide={}"}, false}} {
		if got := strings.Join(load(t, path, c.overrides...).Warnings(), "\n"); strings.Contains(got, warning) != c.warned {
			t.Errorf("%q: warnings %q", c.overrides, got)
		}
	}
}

// A metric that explains is no metric of a comparison that lists none, and a metric has strata
// where it is the first of a comparison of the pair, wherever it is kept.
func TestPairTwiceWithoutMetrics(t *testing.T) {
	path := rankingStudy(t)
	x := load(t, path, "metrics.own=[{name: words, title: Words, explains: true}]",
		"comparisons=[{a: bm25/n10, b: random/n10, primary: true, metrics: [hits_1, hits_3]}, {a: bm25/n10, b: random/n10}, {a: random/n10, b: bm25/n10, metrics: [hits_3]}]")
	var got []string
	for _, p := range x.Pairs {
		got = append(got, fmt.Sprint(p.Metrics, p.Strata))
	}
	if len(got) != 2 || got[0] != "[hits_1 hits_3] [hits_1 hits_3]" || strings.Contains(got[1], "words") || !strings.HasSuffix(got[1], " []") {
		t.Errorf("got %q", got)
	}
	if _, err := experiment.Load(path, []string{"metrics={primary: [words], own: [{name: words, explains: true}]}", "comparisons=[{a: bm25/n10, b: random/n10}, {a: bm25, b: random}]"}, env()); err == nil {
		t.Error("a metric that explains decides")
	}
}

// A comparison that stands twice counts once; two primary ones on a primary metric are refused.
func TestPairTwice(t *testing.T) {
	path := rankingStudy(t)
	for second, want := range map[string]struct{ err, warning, kept string }{
		"{a: random/n10, b: bm25/n10, primary: true}":                    {err: "comparisons[1]: random/n10 and bm25/n10 are compared on hits_1 in comparisons[0] too"},
		"{a: bm25, b: random, primary: true, metrics: [hits_3, hits_1]}": {err: "comparisons[1]: bm25/n10 and random/n10 are compared on hits_1 in"},
		"{a: bm25, b: random, metrics: [hits_3, hits_1]}":                {warning: "comparisons[1]: comparisons[0] compares bm25/n10 and random/n10 on hits_1 too", kept: "[hits_3]"},
		"{a: bm25, b: random, metrics: [hits_1]}":                        {warning: "on hits_1 too"},
		"{a: bm25, b: random, metrics: [hits_3]}":                        {kept: "[hits_3]"},
		"{a: bm25, b: random, primary: true, metrics: [hits_3]}":         {kept: "[hits_3]"},
		"{a: bm25, b: listwise, metrics: [hits_1]}":                      {kept: "[hits_1]"},
		"{a: bm25, b: listwise, metrics: [hits_1, hits_1]}":              {err: "comparisons[1].metrics"},
	} {
		for _, swapped := range []bool{false, true} {
			first := "{a: bm25/n10, b: random/n10, primary: true, metrics: [hits_1]}"
			list := first + ", " + second
			if swapped {
				list = second + ", " + first
			}
			x, err := experiment.Load(path, []string{"comparisons=[" + list + "]"}, env())
			if err != nil {
				if want.err == "" || !swapped && !strings.Contains(err.Error(), want.err) {
					t.Errorf("%s: got %v, want %q", list, err, want.err)
				}
				continue
			}
			kept := ""
			for _, p := range x.Pairs {
				if len(p.Metrics) > 0 && !p.Primary || p.Metrics[0] != "hits_1" {
					kept = fmt.Sprint(p.Metrics)
				}
			}
			warnings := strings.Join(x.Warnings(), "\n")
			if want.err != "" || kept != want.kept || !swapped && !strings.Contains(warnings, want.warning) || strings.Contains(warnings, "comparisons[") != (want.warning != "") {
				t.Errorf("%s: got pairs %+v, warnings %q, want %+v", list, x.Pairs, warnings, want)
			}
			x.Close()
		}
	}
}

const judging = `name: judged
suite: extraction
data: {source: jsonl, path: documents.jsonl}
models: [{id: judge, provider: openai, name: any}]
judge_model: judge
arms: [{name: good, outputs: good.jsonl}]
execution: {retries: []}
`

const documents = `{"document_id": "d1", "text": "---PAGE 1---\nInvoice Number: A-17\n", "schema": "invoice", "ground_truth": [{"field": "invoice_number", "exists_in_document": true, "is_ambiguous": false, "correct_value": "A-17", "evidence_quote": "A-17", "page": 1}]}
{"document_id": "d2", "text": "---PAGE 1---\nnothing here\n", "schema": "invoice", "ground_truth": [{"field": "invoice_number", "exists_in_document": false, "is_ambiguous": false}]}
`

const answers = `{"item": "d1", "output": {"extractions": [{"field": "invoice_number", "value": "A-17", "evidence": {"quote": "Invoice Number: A-17", "page": 1}, "status": "ok", "confidence": "high", "candidates": []}]}}
{"item": "d2", "output": "nothing"}
`

// down is a model that never answers.
type down struct{}

func (down) Complete(context.Context, *eval.Request) (eval.Response, error) {
	return eval.Response{}, &model.Error{Kind: eval.ErrUnavailable, Status: 500}
}

// After a judge fails, its judgments are pending and the gate does not decide.
// Changed gold is recorded and requires judging again.
func TestJudgeAndGold(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	path := write(t, filepath.Join(dir, "study.yaml"), judging)
	data := write(t, filepath.Join(dir, "documents.jsonl"), documents)
	answered, err := outputs.Open(write(t, filepath.Join(dir, "good.jsonl"), answers))
	if err != nil {
		t.Fatal(err)
	}
	defer answered.Close()
	db, x := openStore(t, dir), load(t, path)
	r := start(t, x, db)
	asking := experiment.Asking{Models: map[string]*run.Model{"judge": {Client: down{}, Group: "judge"}}}
	for _, p := range x.Bench.Pipelines() {
		asking.Models[p.Model] = &run.Model{Client: answered, Group: p.Model}
	}
	if err := r.Ask(ctx, left(t, r, false), asking); err != nil {
		t.Fatal(err)
	}
	if l := left(t, r, false); !l.None() {
		t.Errorf("left without retries: %+v", l)
	}
	if l := left(t, r, true); l.Trials != 0 || l.Judgments == 0 {
		t.Errorf("left with retries: %d trials, %d judgments", l.Trials, l.Judgments)
	}
	var tooMany *experiment.TooManyFailedError
	if err := r.CheckFailures(rescore(t, r)); !errors.As(err, &tooMany) || tooMany.Study != path {
		t.Errorf("error %v, want a TooManyFailedError", err)
	}
	if r, err = x.Follow(ctx, db, r.Record); err != nil || r.Changed != "" {
		t.Errorf("an unchanged study: %q, %v", r.Changed, err)
	}

	write(t, data, strings.Replace(documents, `"correct_value": "A-17", "evidence_quote": "A-17"`, `"correct_value": "A-18"`, 1))
	changed := load(t, path)
	if r, err = changed.StartOrResume(ctx, db, ""); err != nil || !strings.Contains(r.Changed, "changed gold of 1 item: d1") || strings.Contains(r.Changed, "trial is new") {
		t.Fatalf("changed gold: %q, %v", r.Changed, err)
	}
	if l := left(t, r, false); l.None() {
		t.Error("nothing is left to judge after gold changed")
	}
	if s, err := experiment.StatusOf(ctx, db, r.Record); err != nil || !slices.ContainsFunc(s.Events, func(e store.Event) bool { return strings.HasSuffix(e.Note, "changed gold of 1 item: d1") }) {
		t.Errorf("history %+v, %v", s.Events, err)
	}

	write(t, data, strings.Replace(documents, "Invoice Number: A-17", "Invoice Number: A-17.", 1))
	if r, err = load(t, path).Follow(ctx, db, r.Record); err != nil || !strings.Contains(r.Changed, "1 item changed") {
		t.Fatalf("a changed input: %q, %v", r.Changed, err)
	}
	if l := left(t, r, false); l.Trials != len(x.Bench.Arms()) {
		t.Errorf("%d trials are left of an item with another input, want one of each arm", l.Trials)
	}
}

// A replier is a judge that answers each request with a text.
type replier struct {
	say   string
	asked int
}

func (c *replier) Complete(context.Context, *eval.Request) (eval.Response, error) {
	c.asked++
	return eval.Response{Text: c.say}, nil
}

// A judge whose answer cannot be read is asked again by a retry, once for equal questions, and
// the answer that could not be read stays in the journal. What is asked later takes the new one.
func TestAJudgeThatCannotBeReadIsAskedAgain(t *testing.T) {
	for _, test := range []struct {
		name, settings       string
		asks, again, another int
	}{
		{"equal questions are one", ", temperature: 0", 2, 2, 0},
		{"each is asked", "", 4, 4, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, ctx := t.TempDir(), t.Context()
			write(t, filepath.Join(dir, "said.jsonl"), `{"item": "a", "output": "Yes."}`+"\n"+`{"item": "b", "output": "Yes."}`+"\n"+`{"item": "c", "output": "Yes."}`+"\n")
			questions := `{"id": "a", "question": "Reply.", "rubric": "polite"}` + "\n" + `{"id": "b", "question": "Reply.", "rubric": "polite"}` + "\n"
			data := write(t, filepath.Join(dir, "q.jsonl"), questions)
			path := write(t, filepath.Join(dir, "study.yaml"), `name: s
suite: qa
data: {path: q.jsonl}
models: [{id: judge, provider: openai, name: any`+test.settings+`}]
judge_model: judge
arms: [{name: said, outputs: said.jsonl}]
execution: {concurrency: 1, retries: []}
`)
			answered, err := outputs.Open(filepath.Join(dir, "said.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			defer answered.Close()
			db, judge := openStore(t, dir), &replier{say: "Hard to say."}
			x := load(t, path)
			r := start(t, x, db)
			ask := func(say string, retry bool, wantAsked, wantFailed int) {
				t.Helper()
				judge.say, judge.asked = say, 0
				models := map[string]*run.Model{"judge": {Client: judge, Group: "judge"}}
				for _, p := range x.Bench.Pipelines() {
					models[p.Model] = &run.Model{Client: answered, Group: p.Model}
				}
				if err := r.Ask(ctx, left(t, r, retry), experiment.Asking{Models: models}); err != nil {
					t.Fatal(err)
				}
				p, err := db.Progress(ctx, r.Record)
				if err != nil || judge.asked != wantAsked || p.Unjudged.Count() != wantFailed || p.ToJudge() != 0 {
					t.Errorf("said %q: %d requests, %d trials not judged, want %d and %d (%v)", say, judge.asked, p.Unjudged.Count(), wantAsked, wantFailed, err)
				}
				if rep, err := r.Repeat(ctx); err != nil || rep.Err() != nil || rep.Unrepeated != 0 || rep.Verdicts == 0 {
					t.Errorf("said %q: judged again from the journal: %+v, %v", say, rep, err)
				}
			}
			ask("Hard to say.", false, test.asks, 4) // with an answer to another question, which is to fail
			ask("Still hard.", true, test.again, 4)
			ask("PASS. It is polite.", true, test.again, 0)
			ask("FAIL.", true, 0, 0)

			write(t, data, questions+`{"id": "c", "question": "Reply.", "rubric": "polite"}`+"\n")
			x = load(t, path)
			r = start(t, x, db)
			ask("PASS. It is new.", false, test.another, 0)
			calls, err := db.CallsOf(ctx, r.Record, eval.Trial{Item: "a", Arm: "said", Replicate: 1}, eval.StageJudge)
			if err != nil || len(calls) != 3 || !calls["rubric"].Stale || calls["rubric"].Response.Text != "Hard to say." || calls["rubric again again"].Stale {
				t.Errorf("calls %+v, %v", calls, err)
			}
		})
	}
}

// An analysis of other clusters, strata or settings of the suite does not decide.
func TestChangedSinceAnalysis(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	path := write(t, filepath.Join(dir, "study.yaml"), judging)
	data := write(t, filepath.Join(dir, "documents.jsonl"), documents)
	write(t, filepath.Join(dir, "good.jsonl"), answers)
	db := openStore(t, dir)
	r := start(t, load(t, path), db)
	for _, c := range []struct{ name, was, now, override string }{
		{"cluster", `"schema": "invoice"`, `"schema": "invoice", "cluster": "one"`, ""},
		{"stratum", `"document_id": "d1"`, `"document_id": "d1", "difficulty": "hard"`, ""},
		{"option of the suite", "", "", "quotes=typography"},
	} {
		t.Run(c.name, func(t *testing.T) {
			write(t, data, documents)
			rescore(t, r)
			kept, err := experiment.Kept(ctx, db, r.Record)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := load(t, path).Decide(ctx, db, r.Record, kept); err != nil {
				t.Errorf("an unchanged study: %v", err)
			}
			var overrides []string
			if c.override != "" {
				overrides = []string{c.override}
			}
			write(t, data, strings.Replace(documents, c.was, c.now, 1))
			_, err = load(t, path, overrides...).Decide(ctx, db, r.Record, kept)
			wantNotAllowed(t, err, "analyse it again")
		})
	}
}

// Nor does one with other verdicts of people, which only the analysis reads.
func TestPeopleChangedSinceAnalysis(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	path := write(t, filepath.Join(dir, "study.yaml"), "name: s\nsuite: spans\ndata: [{path: texts.jsonl}]\narms: [{name: lexicon}]\nhuman: people.jsonl\n")
	write(t, filepath.Join(dir, "texts.jsonl"), `{"id": "a", "text": "A boy runs."}`+"\n")
	const line = `{"id": "a", "arm": "lexicon", "spans": [{"text": "boy", "role": "style"}], "result": {"missedElements": [], "falsePositives": [], "taxonomyErrors": [], "granularityErrors": []}}` + "\n"
	people := write(t, filepath.Join(dir, "people.jsonl"), line)
	db := openStore(t, dir)
	r := start(t, load(t, path), db)
	rescore(t, r)
	kept, err := experiment.Kept(ctx, db, r.Record)
	if err != nil {
		t.Fatal(err)
	}
	write(t, people, "\n"+line)
	if _, err := load(t, path).Decide(ctx, db, r.Record, kept); err != nil {
		t.Errorf("the same verdicts: %v", err)
	}
	write(t, people, strings.Replace(line, `"falsePositives": []`, `"falsePositives": [{"text": "boy"}]`, 1))
	_, err = load(t, path).Decide(ctx, db, r.Record, kept)
	wantNotAllowed(t, err, "analyse it again")
}

// A run with a tag stays as it is, whatever of the study changed.
func TestTaggedRunStays(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	path := write(t, filepath.Join(dir, "study.yaml"), "name: scores\nsuite: given\ndata: {path: scores.csv}\n")
	db := openStore(t, dir)
	const row = "item,arm,score\na,old,"
	write(t, filepath.Join(dir, "scores.csv"), row+"1\n")
	r := start(t, load(t, path), db)
	if err := r.Ask(ctx, left(t, r, false), experiment.Asking{}); err != nil {
		t.Fatal(err)
	}
	if done, err := r.Tag(ctx, "main"); err != nil || !done {
		t.Fatalf("tagged: %v, %v", done, err)
	}
	if again := start(t, load(t, path), db); again.Record.ID != r.Record.ID {
		t.Errorf("an unchanged study has another run, %s", again.Record.ID)
	}
	kept := rescore(t, r)
	write(t, filepath.Join(dir, "scores.csv"), row+"0\n")
	_, err := load(t, path).Decide(ctx, db, r.Record, kept)
	wantNotAllowed(t, err, "use another run: this one has the tag main")
	raw, err := sql.Open("sqlite", db.Path())
	if err != nil {
		t.Fatal(err)
	}
	exec := func(query string) {
		if _, err := raw.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	exec(`UPDATE trials SET arm = 'x' || arm`)
	if other, err := load(t, path).StartOrResume(ctx, db, ""); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged file is taken for a changed study: %+v, %v", other, err)
	}
	exec(`UPDATE trials SET arm = substr(arm, 2)`)
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	if other := start(t, load(t, path), db); other.Record.ID == r.Record.ID || other.Kept == "" {
		t.Errorf("run %s follows the study: %q", other.Record.ID, other.Kept)
	}
}

// A trial without a score has one once the table does.
func TestMissingScoreIsGiven(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	path := write(t, filepath.Join(dir, "study.yaml"), "name: scores\nsuite: given\ndata: {path: scores.csv}\n")
	table := filepath.Join(dir, "scores.csv")
	db := openStore(t, dir)
	for _, c := range []struct {
		rows   string
		failed int
	}{
		{"item,arm,score,error\na,old,1,\na,new,0,\nb,old,,boom\n", 2},
		{"item,arm,score,error\na,old,1,\na,new,0,\nb,old,1,\n", 1},
		{"item,arm,score,error\na,old,1,\na,new,0,\nb,old,1,\nb,new,0,\n", 0},
		{"item,arm,score,error\na,old,1,\na,new,0,\nb,new,0,\n", 1},
	} {
		write(t, table, c.rows)
		r := start(t, load(t, path), db)
		if err := r.Ask(ctx, left(t, r, false), experiment.Asking{}); err != nil {
			t.Fatal(err)
		}
		if p, err := db.Progress(ctx, r.Record); err != nil || p.Done.Count() != 4 || p.Failed.Count() != c.failed {
			t.Errorf("%q: %d trials have an outcome, %d failed, %v", c.rows, p.Done.Count(), p.Failed.Count(), err)
		}
	}
}

// Values of a run in progress say how many answers they lack.
func TestInterimsSayWhatTheyLack(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	path := write(t, filepath.Join(dir, "study.yaml"), "name: scores\nsuite: given\ndata: {path: scores.csv}\nmetrics: {own: [{name: f1, title: F1}, {name: em, title: EM}], primary: [f1]}\n")
	write(t, filepath.Join(dir, "scores.csv"), "item,arm,f1,em\na,old,1,1\nb,old,,1\nc,old,0.5,1\n")
	r := start(t, load(t, path), openStore(t, dir))
	if err := r.Ask(ctx, left(t, r, false), experiment.Asking{}); err != nil {
		t.Fatal(err)
	}
	_, arms, err := r.Interims(ctx)
	if err != nil || len(arms) != 1 || arms[0].Done != 3 || arms[0].Failed != 0 || arms[0].Unscored != 1 || !slices.Equal(arms[0].Values, []string{"0.750"}) {
		t.Errorf("got %+v, %v", arms, err)
	}
}

// What changed between two runs says which items it cannot tell of.
func TestChangesSayWhatTheyLack(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	path := write(t, filepath.Join(dir, "study.yaml"), "name: scores\nsuite: given\ndata: {path: scores.csv}\n")
	db := openStore(t, dir)
	var sides []experiment.Side
	for _, rows := range []string{"a,old,1,\nb,old,1,\nc,old,,boom\nd,old,1,\n", "a,old,0,\nb,old,,boom\nc,old,,boom\nd,old,1,\n"} {
		write(t, filepath.Join(dir, "scores.csv"), "item,arm,score,error\n"+rows)
		x := load(t, path)
		r, err := x.Start(ctx, db)
		if err == nil {
			err = r.Ask(ctx, left(t, r, false), experiment.Asking{})
		}
		if err != nil {
			t.Fatal(err)
		}
		rescore(t, r)
		sides = append(sides, experiment.Side{DB: db, Run: r.Record})
	}
	c, err := load(t, path).ChangesOf(ctx, sides[0], sides[1], 1)
	if err != nil || c.Worse != 1 || c.Better != 0 || c.Equal != 1 || c.Unscored != 1 {
		t.Errorf("got %+v, %v", c, err)
	}
}

const answered = `name: q
suite: qa
data: {path: q.csv, match: exact}
arms: [{name: most_common}]
models: []
`

// byEarlier loads a study as a version does that reads answers in another way.
func byEarlier(t *testing.T, path string) *experiment.Experiment {
	t.Helper()
	e := env()
	suite := e.Suite
	e.Suite = func(name string) (kit.Suite, error) {
		s, err := suite(name)
		s.Reads--
		return s, err
	}
	x, err := experiment.Load(path, nil, e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// What an earlier version read is read again, at no cost, but in a run that stays as it is.
func TestReadByEarlierVersion(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	write(t, filepath.Join(dir, "q.csv"), "id,question,answer\na,?,yes\nb,?,no\n")
	path := write(t, filepath.Join(dir, "study.yaml"), answered)
	db := openStore(t, dir)
	r := start(t, byEarlier(t, path), db)
	if err := r.Ask(ctx, left(t, r, false), experiment.Asking{}); err != nil {
		t.Fatal(err)
	}
	x := load(t, path)
	_, err := x.Decide(ctx, db, r.Record, rescore(t, r))
	wantNotAllowed(t, err, "an earlier version of Scruple read the answers of run")
	if r = start(t, x, db); !left(t, r, false).None() {
		t.Error("answers are asked for again")
	}
	if _, err := x.Decide(ctx, db, r.Record, rescore(t, r)); err != nil {
		t.Errorf("after answers were read again: %v", err)
	}

	tagged, err := byEarlier(t, path).Start(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	if err := tagged.Ask(ctx, left(t, tagged, false), experiment.Asking{}); err != nil {
		t.Fatal(err)
	}
	if done, err := tagged.Tag(ctx, "main"); err != nil || !done {
		t.Fatalf("tagged: %v, %v", done, err)
	}
	x = load(t, path)
	if r = start(t, x, db); r.Record.ID != tagged.Record.ID || !strings.Contains(r.Kept, "has the tag main and keeps") {
		t.Fatalf("run %s: %q", r.Record.ID, r.Kept)
	}
	if _, err := x.Decide(ctx, db, r.Record, rescore(t, r)); err != nil {
		t.Errorf("a tagged run that an earlier version read: %v", err)
	}
	rep, err := r.Repeat(ctx)
	if err != nil || rep.Outcomes != 2 || rep.Earlier > 0 || rep.Err() != nil {
		t.Errorf("derived again from what an earlier version read: %+v, %v", rep, err)
	}
	if rep, err = tagged.Repeat(ctx); err != nil || rep.Outcomes != 2 {
		t.Errorf("derived again: %+v, %v", rep, err)
	}
	write(t, filepath.Join(dir, "q.csv"), "id,question,answer\na,?,yes\nb,?,maybe\n")
	if _, err := load(t, path).Follow(ctx, db, tagged.Record); err == nil || !strings.Contains(err.Error(), "has the tag main and stays") {
		t.Errorf("other gold: %v", err)
	}
}

// TestDocumentReadByAnotherVersion: an item that is another without a change of its file names the
// version as a cause.
func TestDocumentReadByAnotherVersion(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "q.csv"), "id,question,answer\na,?,yes\n")
	path := write(t, filepath.Join(dir, "study.yaml"), answered)
	db := openStore(t, dir)
	r := start(t, load(t, path), db)
	if err := r.Ask(t.Context(), left(t, r, false), experiment.Asking{}); err != nil {
		t.Fatal(err)
	}
	kept := rescore(t, r)
	write(t, filepath.Join(dir, "q.csv"), "id,question,answer\na,? ?,yes\n")
	for version, want := range map[string]bool{"test": false, "later": true} {
		e := env()
		e.Version = version
		x, err := experiment.Load(path, nil, e)
		if err != nil {
			t.Fatal(err)
		}
		_, err = x.Decide(t.Context(), db, r.Record, kept)
		wantNotAllowed(t, err, "item a changed")
		if strings.Contains(err.Error(), "version test of scruple, which began the run, reads a document otherwise than this one, later") != want {
			t.Errorf("by version %s: %v", version, err)
		}
		x.Close()
	}
}

// A run stays the study's where one version read some of its answers and a later one others.
func TestReadBySeveralVersions(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	write(t, filepath.Join(dir, "q.csv"), "id,question,answer\na,?,yes\nb,?,no\n")
	path := write(t, filepath.Join(dir, "study.yaml"), answered)
	db := openStore(t, dir)
	r := start(t, byEarlier(t, path), db)
	part, err := r.Left(ctx, experiment.Part{Items: []string{"a"}})
	if err == nil {
		err = r.Ask(ctx, part, experiment.Asking{})
	}
	if err == nil {
		err = db.AddEvents(ctx, r.Record, store.Event{What: store.EventTag, Note: "main"})
	}
	if err != nil {
		t.Fatal(err)
	}
	x := load(t, path)
	later, err := x.Follow(ctx, db, r.Record)
	if err != nil {
		t.Fatal(err)
	}
	if err := later.Ask(ctx, left(t, later, false), experiment.Asking{}); err != nil {
		t.Fatal(err)
	}
	if again := start(t, load(t, path), db); again.Record.ID != r.Record.ID {
		t.Errorf("an unchanged study has another run, %s: %s", again.Record.ID, again.Kept)
	}
	if _, err := x.Decide(ctx, db, r.Record, rescore(t, later)); err != nil {
		t.Error(err)
	}
	file, err := sql.Open("sqlite", db.Path())
	if err == nil {
		_, err = file.Exec(`UPDATE outcomes SET detail = 'read otherwise'`)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	rep, err := later.Repeat(ctx)
	if err != nil || rep.Outcomes != 0 || rep.Reread != 1 || len(rep.Different) != 1 {
		t.Errorf("one outcome each differs by the version and without cause: %+v, %v", rep, err)
	}
}

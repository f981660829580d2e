package experiment_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/stats"
)

// The fixture suite uses what the shipped suites use only in part: replicates
// are scored together, a metric is an estimator of rows, two people rate in two
// rounds, and a judge is a rule.
//
// Items are numbered texts. An arm calls a text long or short; the arm "always"
// is right about all, and "sometimes" wrong in the first replicate of every
// third. The rule judge passes answers of four letters.
type fixture struct{ items []eval.Item }

const fixtureItems = 24

func fixtureSuite() kit.Suite {
	return kit.Suite{
		Suite: eval.Suite{Name: "fixture", Title: "Fixture", Primary: []string{"majority"}, Secondary: []string{"agreement"}, Metrics: []eval.Metric{
			{Name: "majority", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems, Binary: true},
			{Name: "passed", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems, Judge: eval.JudgeYes},
			{Name: "agreement", Min: -1, Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.ByEstimator, Estimate: kappa},
		}},
		Study: func() study.Any { return new(study.Study) },
		Open: func(*study.File, study.Any) (kit.Bench, error) {
			f := &fixture{}
			for i := range fixtureItems {
				f.items = append(f.items, eval.Item{ID: fmt.Sprintf("t%02d", i), Cluster: fmt.Sprint(i / 2), Input: eval.Hash(i + 1), Gold: 1})
			}
			return f, nil
		},
	}
}

// kappa is Cohen's kappa of rows with the labels, 0 or 1, of two raters.
func kappa(rows []eval.Counted) float64 {
	table := [][]int{{0, 0}, {0, 0}}
	for _, r := range rows {
		if !math.IsNaN(r.Row[0]) && !math.IsNaN(r.Row[1]) {
			table[int(r.Row[0])][int(r.Row[1])] += int(r.N)
		}
	}
	k, err := stats.CohenKappa(table, stats.Unweighted, 0.95)
	if err != nil {
		return math.NaN()
	}
	return k.Kappa
}

func (f *fixture) Items() []eval.Item { return f.items }

func (f *fixture) Arms() []eval.Arm {
	var arms []eval.Arm
	for _, id := range []string{"always", "sometimes"} {
		arms = append(arms, eval.Arm{ID: id, Levels: []eval.Level{{Name: "arm", Value: id}}, Hash: id, Judges: []string{"four letters"}})
	}
	return append(arms, eval.Arm{ID: "unjudged", Levels: []eval.Level{{Name: "arm", Value: "unjudged"}}, Hash: "unjudged"})
}

func (f *fixture) Basis(eval.Trial) eval.Basis { return eval.Basis{} }

func (f *fixture) Pipelines() []eval.Pipeline { return nil }

func (f *fixture) ScoreFiles() map[string]string { return nil }

func (f *fixture) Close() error { return nil }

func (f *fixture) Capabilities() eval.Capabilities {
	return eval.Capabilities{RatesTrials: true, Ratings: func(c eval.Case) (list []eval.Rating) {
		for t := range c.Answered() {
			for _, v := range t.Verdicts {
				if v.Source == eval.ByRule {
					list = append(list, eval.Rating{Trial: t.Trial, Yes: string(v.Data) == "true"})
				}
			}
		}
		return list
	}}
}

func (f *fixture) number(item string) (n int) {
	fmt.Sscanf(item, "t%d", &n)
	return n
}

func (f *fixture) Perform(_ context.Context, t eval.Trial, _ eval.Asker) (eval.Outcome, error) {
	n := f.number(t.Item)
	if n == 5 && t.Replicate == 1 {
		return eval.Outcome{Kind: eval.Failed, Reason: "unavailable"}, nil
	}
	answer := "long"
	if t.Arm == "sometimes" && n%3 == 0 && (t.Replicate == 1 || n%2 == 0) {
		answer = "short"
	}
	return eval.Outcome{Kind: eval.OK, Data: []byte(answer)}, nil
}

func (f *fixture) Judge(_ context.Context, t eval.Trial, o eval.Outcome, _ eval.Asker) ([]eval.Verdict, error) {
	if t.Arm == "unjudged" {
		return nil, fmt.Errorf("%v is judged, and its arm has no judges", t)
	}
	return []eval.Verdict{{Step: "letters", Source: eval.ByRule, By: "four letters", Data: fmt.Append(nil, len(o.Data) == 4)}}, nil
}

// Score scores the verdict of the rule on each trial, whether most replicates say
// long, and the labels that two people gave the item in the second round.
func (f *fixture) Score(dst []eval.Score, c eval.Case) []eval.Score {
	long, all := 0, 0
	for t := range c.Answered() {
		passed := 0.0
		for _, v := range t.Verdicts {
			if v.Source == eval.ByRule && string(v.Data) == "true" {
				passed = 1
			}
		}
		dst = append(dst, eval.Score{Replicate: t.Trial.Replicate, Metric: "passed", Num: passed, Den: 1})
		if all++; string(t.Outcome.Data) == "long" {
			long++
		}
	}
	majority := 0.0
	if 2*long > all {
		majority = 1
	}
	dst = append(dst, eval.Score{Metric: "majority", Num: majority, Den: 1})
	row := eval.Row{math.NaN(), math.NaN()}
	for _, v := range c.Verdicts {
		if v.Source == eval.ByHuman && v.Round == 2 {
			label := 0.0
			if string(v.Data) == "hard" {
				label = 1
			}
			row[map[string]int{"anna": 0, "ben": 1}[v.By]] = label
		}
	}
	return append(dst, eval.Score{Metric: "agreement", Row: row})
}

func (f *fixture) Show(c eval.Case) (eval.Exhibit, error) {
	return eval.Exhibit{Item: c.Item, Arm: c.Arm, Title: c.Item}, nil
}

const fixtureStudy = `name: fixture
suite: fixture
execution: {replicates: 3}
statistics: {resamples: 1000}
comparisons: [{a: always, b: sometimes, primary: true, metrics: [majority, agreement]}]
`

// TestFixtureSuite takes the fixture from a study file to an analysis, twice:
// before and after two people rate.
func TestFixtureSuite(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	env := env()
	env.Suite = func(string) (kit.Suite, error) { return fixtureSuite(), nil }
	x, err := experiment.Load(write(t, filepath.Join(dir, "study.yaml"), fixtureStudy), nil, env)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if err := x.CheckScorer(); err != nil { // a suite need not have cases
		t.Error(err)
	}
	if !x.HasJudge() || !x.UsedModels()["four letters"] {
		t.Errorf("judged: %v, by %v", x.HasJudge(), x.UsedModels())
	}
	db := openStore(t, dir)
	r, err := x.StartOrResume(ctx, db, "")
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

	// A trial that failed since it was drawn has nothing to judge.
	for replicate, gone := range map[int]bool{1: true, 2: false} {
		if _, err := r.Subjects(ctx).Show(eval.Trial{Item: "t05", Arm: "always", Replicate: replicate}); errors.Is(err, eval.ErrGone) != gone || (err != nil) != gone {
			t.Errorf("replicate %d is gone: %v, want %v", replicate, err, gone)
		}
	}

	// Two people rate every item in two rounds, and agree better in the second.
	var people []eval.PersonVerdict
	for round := 1; round <= 2; round++ {
		for i, it := range x.Bench.Items() {
			for k, by := range []string{"anna", "ben"} {
				label := "easy"
				if i%2 == 0 || k == 1 && round == 2 && i%8 == 1 || k == 1 && round == 1 {
					label = "hard"
				}
				v := eval.Verdict{Step: "difficulty", Source: eval.ByHuman, By: by, Round: round, Data: []byte(label), At: "2026-11-22T08:00:00Z"}
				people = append(people, eval.PersonVerdict{Trial: eval.Trial{Item: it.ID}, Verdict: v})
			}
		}
	}
	if _, err := db.SetPeople(ctx, r.Record, people, nil, nil); err != nil {
		t.Fatal(err)
	}
	result, err := r.Rescore(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	a := result.Analysis
	value := func(arm, metric string) float64 {
		e, ok := a.Estimate(arm, metric)
		if !ok || e.Items != fixtureItems {
			t.Errorf("%s of %s: %+v", metric, arm, e)
		}
		return float64(e.Value)
	}
	// Of 24 texts 8 are multiples of three, and 4 of six: there all replicates
	// of "sometimes" are wrong, and for the others the first alone, which the
	// majority outvotes.
	if got, want := value("sometimes", "majority"), 20.0/24; !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("majority of sometimes is %v, want %v", got, want)
	}
	if got, want := value("sometimes", "passed"), (16+4*2.0/3)/24; !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("passed of sometimes is %v, want %v", got, want)
	}
	if got := value("always", "majority"); got != 1 {
		t.Errorf("majority of always is %v", got)
	}
	if got := value("unjudged", "passed"); got != 0 || !a.Run.Complete() {
		t.Errorf("passed of unjudged is %v, %+v", got, a.Run)
	}
	// Second round: anna 12 hard and 12 easy, ben 15 and 9; they differ on 3.
	// Observed agreement 21/24, expected 1/2, kappa 3/4.
	e, _ := a.Estimate("always", "agreement")
	if !(math.Abs(float64(e.Value)-0.75) <= 1e-12) || e.Clusters != 12 || !(e.Low < e.Value && e.Value < e.High && e.High <= 1) || !strings.Contains(e.Method, "cluster bootstrap, t interval") {
		t.Errorf("agreement %+v", e)
	}
	// The labels are the items', so both arms have the same.
	c, ok := a.Comparison("always", "sometimes", "agreement")
	if !ok || c.Diff != 0 || c.Pairs != fixtureItems {
		t.Errorf("comparison %+v", c)
	}
	if c, ok := a.Comparison("always", "sometimes", "majority"); !ok || !(math.Abs(float64(c.Diff)-4.0/24) <= 1e-12) {
		t.Errorf("comparison %+v", c)
	}
	for _, f := range report.Formats() {
		var b bytes.Buffer
		if err := f.Render(&b, report.Report{Analysis: a}); err != nil || !strings.Contains(b.String(), "0.75") || strings.Contains(b.String(), "NaN") {
			t.Errorf("%s: %v\n%s", f.Name, err, b.String())
		}
	}
	for _, arm := range a.Arms {
		if arm.OK != 71 || arm.Failed != 1 {
			t.Errorf("%s: %d outcomes, %d failed", arm.ID, arm.OK, arm.Failed)
		}
	}
}

// Two runs are compared by what people say of the judge's verdicts, as two arms of a run are.
func TestRunsComparedByPeople(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	env := env()
	env.Suite = func(string) (kit.Suite, error) { return fixtureSuite(), nil }
	db := openStore(t, dir)
	x, err := experiment.Load(write(t, filepath.Join(dir, "study.yaml"), `name: fixture
suite: fixture
metrics: {primary: [passed]}
annotation: [{name: right, of: trial, judge: true, ask: [{name: right, type: choice, text: Is it?, options: ["yes", "no"]}]}]
`), nil, env)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var sides [2]experiment.Side
	for i, yes := range []int{2, 4} { // by people of the first run a half is right, of the second one in four is wrong
		r, err := x.Begin(ctx, db, experiment.Attempt{Fresh: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Ask(ctx, left(t, r, false), experiment.Asking{Models: map[string]*run.Model{}}); err != nil {
			t.Fatal(err)
		}
		var people []eval.PersonVerdict
		for n, it := range x.Items() {
			data := fmt.Appendf(nil, `{"yes": %v}`, n%yes != 0)
			people = append(people, eval.PersonVerdict{Trial: eval.Trial{Item: it.ID, Arm: "always", Replicate: 1},
				Verdict: eval.Verdict{Step: "right", Source: eval.ByHuman, By: "anna", Round: 1, Data: data, At: "2026-11-22T08:00:00Z"}})
		}
		beside := people[1]
		beside.Trial.Arm = "unjudged"
		if _, err := db.SetPeople(ctx, r.Record, append(people, beside), nil, nil); err != nil {
			t.Fatal(err)
		}
		rescore(t, r)
		if kept, err := experiment.Kept(ctx, db, r.Record); err != nil || kept.Analysis.JudgeAndPeople == nil || kept.Analysis.JudgeAndPeople.Beside != 1 {
			t.Errorf("of an answer that only people judged: %+v, %v", kept.Analysis.JudgeAndPeople, err)
		}
		sides[i] = experiment.Side{DB: db, Run: r.Record}
	}
	a, err := x.CompareRuns(ctx, sides[0], sides[1])
	if err != nil {
		t.Fatal(err)
	}
	c, ok := a.Comparison("fixture-2:always", "fixture-1:always", "passed")
	if !ok || c.ByJudge == nil || c.ByJudge.Diff != 0 || !(c.Diff > 0.15 && c.Diff < 0.35) {
		t.Errorf("by people about a quarter is between the runs, by the judge nothing: %+v", c)
	}
	if c, ok := a.Comparison("fixture-2:sometimes", "fixture-1:sometimes", "passed"); !ok || c.ByJudge != nil || c.Diff != 0 {
		t.Errorf("people judged nothing of the arm: %+v", c)
	}

	// The newer run goes on: four of its 69 answers had a score.
	err = db.ReplaceScores(ctx, sides[1].Run, func(yield func(eval.Scored, error) bool) {
		for _, it := range x.Items()[:4] {
			trial := eval.Trial{Item: it.ID, Arm: "always", Replicate: 1}
			scores := []eval.Score{{Replicate: 1, Metric: "passed", Num: 1, Den: 1}}
			if !yield(eval.Scored{Case: eval.CaseOf(trial, eval.Outcome{Kind: eval.OK}, nil), Scores: scores}, nil) {
				return
			}
		}
	})
	if err := errors.Join(err, db.DropAnalysis(ctx, sides[1].Run)); err != nil {
		t.Fatal(err)
	}
	if a, err = x.CompareRuns(ctx, sides[0], sides[1]); err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(a.Warnings, "\n"); !strings.Contains(said, "run fixture-2 went on after it was scored (answers without a score yet: 65)") || strings.Contains(said, "different metrics") {
		t.Errorf("warnings of a run that goes on: %s", said)
	}
}

// TEST decides: what rules and comparisons need is by its items, whatever part is planned.
func TestPlannedOnTest(t *testing.T) {
	env := env()
	first := ""
	env.Suite = func(string) (kit.Suite, error) {
		suite := fixtureSuite()
		open := suite.Open
		suite.Open = func(file *study.File, s study.Any) (kit.Bench, error) {
			bench, err := open(file, s)
			for i := range bench.Items() {
				if bench.Items()[i].Split = first; first != "" && i >= 16 {
					bench.Items()[i].Split = study.SplitTest
				}
			}
			return bench, err
		}
		return suite, nil
	}
	path := write(t, filepath.Join(t.TempDir(), "study.yaml"), fixtureStudy+`decide: {require: [{name: good, that: "low('always', 'majority') > 0.7"}]}
`)
	for _, c := range []struct {
		first, split    string
		items, clusters int
		test            bool
	}{{"dev", "", 8, 4, true}, {"dev", "dev", 8, 4, true}, {"dev", "test", 8, 4, false}, {"", "", 24, 12, false}, {"", "test", 24, 12, false}, {"test", "", 24, 12, false}} {
		first = c.first
		x, err := experiment.Load(path, []string{"split=" + c.split}, env)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		e, err := x.Estimate(t.Context(), func(text string) int { return len(text) })
		if err != nil {
			t.Fatal(err)
		}
		if r := e.Rules[0]; r.Items != c.items || r.Test != c.test || e.Detectable.Clusters != c.clusters || e.Detectable.Test != c.test {
			t.Errorf("%+v: rule %+v, detectable %+v", c, r, e.Detectable)
		}
		if rules, err := x.Unmeetable(); err != nil || (len(rules) > 0) != (c.items == 8) {
			t.Errorf("%+v: %+v cannot be met, %v", c, rules, err)
		}
	}
}

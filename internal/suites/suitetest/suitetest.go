// Package suitetest has the conformance tests for the bench of a suite. A suite
// calls [Bench] in a test with its bench and a fake. The tests cover what the
// stages rely on: a trial can be replayed from the journal, scoring depends only
// on stored data, and scores match the declared metrics.
//
// The package must not import suites.
package suitetest

import (
	"context"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Answer fakes a model, judge or pipeline. It must depend only on the request
// and be safe for concurrent use.
type Answer func(stage eval.Stage, step string, r eval.Request) (eval.Response, error)

// mostItems limits the items of a test; a bench may have thousands.
const mostItems = 12

// Bench tests the bench of a suite with answers from a fake.
func Bench(t *testing.T, suite eval.Suite, b eval.Bench, answer Answer) {
	t.Helper()
	c := &conformance{suite: suite, bench: b, answer: answer}
	t.Run("suite documents itself", c.documented)
	t.Run("items and arms have ids", c.identified)
	trials := c.trials()
	if len(trials) == 0 {
		t.Fatal("the bench has no trials: give it items and arms")
	}
	first := make([]done, len(trials))
	for i, tr := range trials {
		first[i] = c.do(t, tr)
	}
	t.Run("performing again makes the same calls", func(t *testing.T) { c.repeats(t, trials, first) })
	t.Run("performing again is answered from the journal", func(t *testing.T) { c.replays(t, trials, first) })
	t.Run("errors of the asker are passed on", func(t *testing.T) { c.passesErrors(t, trials, first) })
	t.Run("scores are declared and in range", func(t *testing.T) { c.inRange(t, trials, first) })
	t.Run("scoring depends only on stored data", func(t *testing.T) { c.pure(t, trials, first) })
	t.Run("concurrent use changes nothing", func(t *testing.T) { c.concurrent(t, trials, first) })
	t.Run("exhibits stay inside their text", func(t *testing.T) { c.exhibits(t, trials, first) })
	if b.Capabilities().Ratings != nil {
		t.Run("ratings are of units that people are shown", func(t *testing.T) { c.rated(t, trials, first) })
	}
	t.Run("outcomes of every kind can be scored", func(t *testing.T) { c.anyOutcome(t, trials) })
}

type conformance struct {
	suite  eval.Suite
	bench  eval.Bench
	answer Answer
}

// done is the result of a trial.
type done struct {
	outcome  eval.Outcome
	verdicts []eval.Verdict
	scores   []eval.Score
	calls    map[string]eval.Call // by stage and step
}

// A journal records calls to the fake. It answers known steps without a call.
type journal struct {
	answer Answer
	stage  eval.Stage
	known  map[string]eval.Call
	fail   error

	mu    sync.Mutex
	calls map[string]eval.Call
	fresh int // calls to the fake
}

func (j *journal) Ask(_ context.Context, step string, r eval.Request) (eval.Response, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	name := string(j.stage) + " " + step
	if _, twice := j.calls[name]; twice {
		return eval.Response{}, fmt.Errorf("duplicate step %q in a trial", step)
	}
	call, known := j.known[name]
	if known && call.Key != r.Key() {
		return eval.Response{}, fmt.Errorf("the request of step %q changed: %s", step, strings.Join(eval.DiffParts(call.Parts, r.Parts()), "; "))
	}
	if !known {
		j.fresh++
		if j.fail != nil {
			return eval.Response{}, j.fail
		}
		response, err := j.answer(j.stage, step, r)
		if err != nil {
			return eval.Response{}, err
		}
		call = eval.Call{Stage: j.stage, Step: step, Key: r.Key(), Parts: r.Parts(), Response: response}
	}
	j.calls[name] = call
	return call.Response, nil
}

// perform performs and judges a trial with a journal.
func (c *conformance) perform(tr eval.Trial, known map[string]eval.Call) (done, int, error) {
	run := &journal{answer: c.answer, stage: eval.StageRun, known: known, calls: map[string]eval.Call{}}
	o, err := c.bench.Perform(context.Background(), tr, run)
	if err != nil {
		return done{}, 0, fmt.Errorf("performing %v: %w", tr, err)
	}
	judge := &journal{answer: c.answer, stage: eval.StageJudge, known: known, calls: map[string]eval.Call{}}
	vs, err := c.bench.Judge(context.Background(), tr, o, judge)
	if err != nil {
		return done{}, 0, fmt.Errorf("judging %v: %w", tr, err)
	}
	d := done{outcome: o, verdicts: vs, scores: c.bench.Score(nil, eval.CaseOf(tr, o, vs)), calls: run.calls}
	maps.Copy(d.calls, judge.calls)
	return d, run.fresh + judge.fresh, nil
}

func (c *conformance) do(t *testing.T, tr eval.Trial) done {
	t.Helper()
	d, _, err := c.perform(tr, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (c *conformance) trials() []eval.Trial {
	items := c.bench.Items()
	var trials []eval.Trial
	for _, it := range items[:min(mostItems, len(items))] {
		for _, a := range c.bench.Arms() {
			trials = append(trials, eval.Trial{Item: it.ID, Arm: a.ID, Replicate: 1})
		}
	}
	return trials
}

func (c *conformance) documented(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range c.suite.Metrics {
		if seen[m.Name] {
			t.Errorf("duplicate metric %s", m.Name)
		}
		seen[m.Name] = true
		if m.Title == "" || m.Doc == "" || m.Formula == "" || !(m.Min < m.Max) {
			t.Errorf("metric %s is not documented: %+v", m.Name, m)
		}
		if m.Kind != eval.Scoring && m.Kind != eval.Analysis || (m.Pooling == eval.ByEstimator) != (m.Estimate != nil) || m.Estimate == nil && m.Pooling != eval.MeanOfItems && m.Pooling != eval.RatioOfSums {
			t.Errorf("metric %s has kind %q and pooling %q", m.Name, m.Kind, m.Pooling)
		}
	}
	if c.suite.Name == "" || c.suite.Title == "" || c.suite.Doc == "" || len(seen) == 0 {
		t.Errorf("the suite is not documented: %+v", c.suite)
	}
}

func (c *conformance) identified(t *testing.T) {
	items, arms := map[string]bool{}, map[string]bool{}
	for _, it := range c.bench.Items() {
		if it.ID == "" || items[it.ID] || it.Input == 0 || it.Gold == 0 {
			t.Errorf("item %+v has no unique id or no hashes", it)
		}
		items[it.ID] = true
	}
	for _, a := range c.bench.Arms() {
		if a.ID == "" || arms[a.ID] || a.Hash == "" || len(a.Levels) == 0 {
			t.Errorf("arm %+v has no unique id, no hash or no levels", a)
		}
		if asks := a.Model != "" && !strings.HasPrefix(a.Model, eval.PipelinePrefix); slices.ContainsFunc(a.Levels, func(l eval.Level) bool { return l.Name == "model" }) != asks {
			t.Errorf("arm %q of model %q has the levels %v", a.ID, a.Model, a.Levels)
		}
		arms[a.ID] = true
	}
	if !slices.EqualFunc(c.bench.Arms(), c.bench.Arms(), func(a, b eval.Arm) bool { return cmp.Equal(a, b) }) {
		t.Error("a second call of Arms gives other arms")
	}
}

func same(t *testing.T, tr eval.Trial, was, is done) {
	t.Helper()
	if reflect.DeepEqual(was, is) {
		return // without the cost of cmp
	}
	if d := cmp.Diff(was, is, cmp.AllowUnexported(done{})); d != "" {
		t.Errorf("%v: outcome, verdicts, scores and calls (-first +again)\n%s", tr, d)
	}
}

func (c *conformance) repeats(t *testing.T, trials []eval.Trial, first []done) {
	for i := len(trials) - 1; i >= 0; i-- { // in another order
		same(t, trials[i], first[i], c.do(t, trials[i]))
	}
}

func (c *conformance) replays(t *testing.T, trials []eval.Trial, first []done) {
	for i, tr := range trials {
		again, fresh, err := c.perform(tr, first[i].calls)
		if err != nil {
			t.Fatal(err)
		}
		if fresh > 0 {
			t.Errorf("%v: %d repeated calls", tr, fresh)
		}
		same(t, tr, first[i], again)
	}
}

// errAsked is an error unknown to suites.
type errAsked struct{}

func (errAsked) Error() string { return "the fake does not answer" }

func (c *conformance) passesErrors(t *testing.T, trials []eval.Trial, first []done) {
	for i, tr := range trials {
		run := &journal{answer: c.answer, stage: eval.StageRun, fail: errAsked{}, calls: map[string]eval.Call{}}
		if _, err := c.bench.Perform(context.Background(), tr, run); run.fresh > 0 && err == nil {
			t.Errorf("%v: an error of the asker is lost", tr)
		}
		judge := &journal{answer: c.answer, stage: eval.StageJudge, fail: errAsked{}, calls: map[string]eval.Call{}}
		if _, err := c.bench.Judge(context.Background(), tr, first[i].outcome, judge); judge.fresh > 0 && err == nil {
			t.Errorf("%v: an error of the judge's asker is lost, though it does not concern the call alone", tr)
		}
	}
}

func (c *conformance) inRange(t *testing.T, trials []eval.Trial, first []done) {
	scored := map[string]bool{}
	for i, tr := range trials {
		seen := map[[2]string]bool{}
		for _, s := range first[i].scores {
			c.check(t, tr, s)
			key := [2]string{s.Unit, s.Metric}
			if seen[key] {
				t.Errorf("%v: duplicate score %s of %q", tr, s.Metric, s.Unit)
			}
			seen[key] = true
			scored[s.Metric] = true
		}
	}
	if len(scored) == 0 {
		t.Error("nothing is scored")
	}
}

// rounding is the tolerance for the range of a fraction.
const rounding = 1e-9

func (c *conformance) check(t *testing.T, tr eval.Trial, s eval.Score) {
	t.Helper()
	m, ok := c.suite.Metric(s.Metric)
	switch ratio := s.Num / s.Den; {
	case !ok:
		t.Errorf("%v: metric %q is not declared", tr, s.Metric)
	case s.Unscored != "":
		if s.Num != 0 || s.Den < 0 || s.Row != nil {
			t.Errorf("%v: %s of %q is unscored but has %v/%v, %v", tr, s.Metric, s.Unit, s.Num, s.Den, s.Row)
		}
	case m.Estimate != nil || s.Row != nil:
		if m.Estimate == nil || s.Row == nil {
			t.Errorf("%v: %s of %q: rows belong to metrics with an estimator, and fractions to the others", tr, s.Metric, s.Unit)
		}
	case !(s.Den > 0) || math.IsInf(s.Den, 0):
		t.Errorf("%v: %s of %q is over %v", tr, s.Metric, s.Unit, s.Den)
	case !(ratio >= m.Min-rounding && ratio <= m.Max+rounding):
		t.Errorf("%v: %s of %q is %v, outside [%v, %v]", tr, s.Metric, s.Unit, ratio, m.Min, m.Max)
	}
}

// pure scores trials in another order and from copies.
func (c *conformance) pure(t *testing.T, trials []eval.Trial, first []done) {
	for i := len(trials) - 1; i >= 0; i-- {
		o := first[i].outcome
		o.Data, o.Notes = slices.Clone(o.Data), slices.Clone(o.Notes)
		vs := slices.Clone(first[i].verdicts)
		slices.Reverse(vs) // verdicts are found by step, not by position
		if d := cmp.Diff(first[i].scores, c.bench.Score(nil, eval.CaseOf(trials[i], o, vs))); d != "" {
			t.Errorf("%v: (-first +again)\n%s", trials[i], d)
		}
		if d := cmp.Diff(first[i].outcome, o); d != "" {
			t.Errorf("%v: scoring changed the outcome\n%s", trials[i], d)
		}
	}
}

// concurrent performs every trial several times at once, to find data races with
// -race.
func (c *conformance) concurrent(t *testing.T, trials []eval.Trial, first []done) {
	var wg sync.WaitGroup
	for range 4 {
		for i, tr := range trials {
			wg.Go(func() {
				again, _, err := c.perform(tr, nil)
				if err != nil {
					t.Error(err)
					return
				}
				same(t, tr, first[i], again)
			})
		}
	}
	wg.Wait()
}

func (c *conformance) exhibits(t *testing.T, trials []eval.Trial, first []done) {
	for i, tr := range trials {
		x, err := c.bench.Show(eval.CaseOf(tr, first[i].outcome, first[i].verdicts))
		if err != nil {
			t.Errorf("%v: %v", tr, err)
			continue
		}
		if x.Item != tr.Item || x.Arm != tr.Arm {
			t.Errorf("%v: the exhibit is of %s × %s", tr, x.Item, x.Arm)
		}
		for _, p := range x.Pages {
			last := 0
			for _, m := range p.Marks {
				if m.Start < last || m.End <= m.Start || m.End > len(p.Text) {
					t.Errorf("%v: mark %+v is out of order or out of page %d, which has %d bytes", tr, m, p.Number, len(p.Text))
				}
				last = m.Start
			}
		}
	}
	gone := trials[0]
	gone.Item += " that is gone"
	if x, err := c.bench.Show(eval.CaseOf(gone, first[0].outcome, first[0].verdicts)); err == nil {
		t.Errorf("an item that the study has no more is shown: %+v", x)
	}
}

// rated compares what the judge rates with what people are shown, who see no verdicts.
func (c *conformance) rated(t *testing.T, trials []eval.Trial, first []done) {
	ratings, said := 0, map[bool]int{}
	for i, tr := range trials {
		if first[i].outcome.Kind != eval.OK {
			continue
		}
		x, err := c.bench.Show(eval.CaseOf(tr, first[i].outcome, nil))
		if err != nil {
			t.Errorf("%v: %v", tr, err)
			continue
		}
		shown := map[string]bool{"": true}
		units := x.Judged()
		for _, u := range units {
			if shown[u.ID] {
				t.Errorf("%v: two units are named %q", tr, u.ID)
			}
			shown[u.ID] = true
		}
		x, err = c.bench.Show(eval.CaseOf(tr, first[i].outcome, first[i].verdicts))
		if err != nil || !slices.EqualFunc(units, x.Judged(), func(a, b eval.JudgedUnit) bool { return a.ID == b.ID }) {
			t.Errorf("%v: the order of units depends on verdicts: %+v and %+v, %v", tr, units, x.Judged(), err)
		}
		twice := map[string]bool{}
		for _, r := range c.bench.Capabilities().Ratings(eval.CaseOf(tr, first[i].outcome, first[i].verdicts)) {
			if r.Trial != tr || !shown[r.Unit] || twice[r.Unit] || (r.Unit == "") != c.bench.Capabilities().RatesTrials {
				t.Errorf("%v: a rating of unit %q of %v, which people are not shown, twice, or against RatesTrials", tr, r.Unit, r.Trial)
			}
			twice[r.Unit] = true
			ratings++
			said[r.Yes]++
		}
	}
	t.Logf("%d ratings: %v", ratings, said)
}

// anyOutcome scores outcomes of every kind.
func (c *conformance) anyOutcome(t *testing.T, trials []eval.Trial) {
	for _, tr := range trials {
		for _, o := range []eval.Outcome{
			{Kind: eval.OK},
			{Kind: eval.OK, Data: []byte("\x00\xff{[")},
			{Kind: eval.Malformed, Reason: "not readable", Data: []byte("sorry")},
			{Kind: eval.Refused, Reason: "declined"},
		} {
			for _, s := range c.bench.Score(nil, eval.CaseOf(tr, o, nil)) {
				c.check(t, tr, s)
			}
			if _, err := c.bench.Show(eval.CaseOf(tr, o, nil)); err != nil {
				t.Errorf("%v, outcome %s: %v", tr, o.Kind, err)
			}
		}
	}
}

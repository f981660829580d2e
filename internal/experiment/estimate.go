package experiment

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/power"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
	"github.com/scruple-eval/scruple/stats"
)

// An Estimate is the expected calls and cost of a run, and its smallest
// detectable effect.
type Estimate struct {
	Study      string `json:"study"`
	Items      int    `json:"items"`
	Arms       int    `json:"arms"`
	Replicates int    `json:"replicates"`
	Quantities
	JudgeCalls int `json:"judge_calls"` // of the calls
	// MostCalls is the most that the calls can be, retries of failed requests excepted,
	// and MostJudge the most of the judge; null if the suite does not say.
	MostCalls  *int          `json:"max_calls,omitempty"`
	MostJudge  *int          `json:"max_judge_calls,omitempty"`
	PerArm     []ArmEstimate `json:"per_arm"`
	Detectable *Detectable   `json:"smallest_detectable_effect,omitempty"` // null without comparisons
	Rules      []RulePlan    `json:"rules,omitempty"`
	Standing   *Standing     `json:"standing,omitempty"` // null without a store
	Demands    *Demands      `json:"demands,omitempty"`

	estimation
}

// An estimation is how an estimate was made, and what plan made of each arm and model.
type estimation struct {
	by    plan.Estimator
	arms  []plan.Estimate
	loads plan.Loads
}

// A RulePlan says what a rule needs, and how often it would be met.
type RulePlan struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // "require" or "outcome"
	That string `json:"that"`
	// Perfect is the number of items for which it holds if all arms have the best scores,
	// null if there is none up to 5,000. With fewer it cannot hold if it reads one arm
	// only (Alone), as a worse arm never does better.
	Perfect *int `json:"items_needed_if_all_are_perfect"`
	Alone   bool `json:"reads_one_arm_only"`
	// Other is that of [power.Need]: no number of items is known.
	Other bool    `json:"asks_for_other_than_the_best,omitempty"`
	Power []Power `json:"power,omitempty"` // under each assumption of the study
	// Opportunities are the metrics of the rule in which an item counts only if its
	// answer has an opportunity.
	Opportunities []string `json:"opportunities,omitempty"`
	// Apart are the functions and metrics of the rule that read more than the scores of its
	// arms, such as agreement. A rule that reads no scores does not depend on the number of items.
	Apart  []string `json:"apart,omitempty"`
	Scores bool     `json:"reads_scores"`
	Differ bool     `json:"-"` // it compares arms, so that equal ones may not meet it
	At     string   `json:"-"` // its key in the study file
	Items  int      `json:"-"` // that decide
	Test   bool     `json:"-"` // they are those of TEST instead of what is planned
}

// A Power is the share of simulated studies in which a rule passes.
type Power struct {
	Assumption string   `json:"assumption"`
	Studies    int      `json:"studies"` // 0 if not simulated
	Pass       *float64 `json:"pass"`
	Low        *float64 `json:"low"` // Wilson's interval at 95 %, for the number of studies
	High       *float64 `json:"high"`
	Undecided  *float64 `json:"undecided"`
	Missing    string   `json:"missing,omitempty"` // why it is not simulated
}

// Quantities are the expected calls, tokens and cost of one arm or all arms.
// Margins are null if the sample is too small, costs if a price is missing, and tokens if
// only programs answer, which alone know them.
type Quantities struct {
	Trials      int            `json:"trials"`
	Calls       int            `json:"calls"`
	Input       analyse.Tokens `json:"input_tokens"`
	InputMargin *float64       `json:"input_tokens_margin"`
	Output      analyse.Tokens `json:"max_output_tokens"`
	CostUSD     *float64       `json:"max_cost_usd"`
	CostMargin  *float64       `json:"max_cost_usd_margin"`
	Assumed     []string       `json:"assumed_output,omitempty"` // models without a limit: output and cost may be larger
}

func quantitiesOf(e plan.Estimate) Quantities {
	assumed := map[string]bool{}
	for party, load := range e.Loads {
		if load.Assumed > 0 {
			assumed[party.Model] = true
		}
	}
	input, margin, output := analyse.Tokens(e.InputTokens), e.InputMargin, analyse.Tokens(e.OutputTokens)
	if e.Calls > 0 && input == 0 && output == 0 {
		input, margin, output = -1, math.NaN(), -1
	}
	cost, costMargin := known(e.CostUSD), known(e.CostMargin)
	if cost == nil {
		costMargin = nil
	}
	return Quantities{e.Trials, e.Calls, input, known(margin), output, cost, costMargin, slices.Sorted(maps.Keys(assumed))}
}

func known(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// An ArmEstimate is the estimate for one arm, from a sample of its trials.
type ArmEstimate struct {
	Arm string `json:"arm"`
	Quantities
	Sampled int `json:"sampled"`
}

// rest estimates arms on the items that they have trials of left, for not all items ask as much. Arms that
// lack the same items are estimated together, as those of one shape share a sample.
func (e *Estimate) rest(ctx context.Context, bench eval.Bench, left map[string][]eval.Trial) (map[string]plan.Estimate, error) {
	of := map[string]plan.Estimate{}
	type group struct {
		items map[string]bool
		arms  []eval.Arm
	}
	var groups []group
	for i, arm := range bench.Arms() {
		trials := left[arm.ID]
		if of[arm.ID] = e.arms[i]; len(trials) == 0 || len(trials) == e.arms[i].Trials {
			continue
		}
		items := map[string]bool{}
		for _, t := range trials {
			items[t.Item] = true
		}
		k := slices.IndexFunc(groups, func(g group) bool { return maps.Equal(g.items, items) })
		if k < 0 {
			k, groups = len(groups), append(groups, group{items: items})
		}
		groups[k].arms = append(groups[k].arms, arm)
	}
	for _, g := range groups {
		by := e.by
		items := slices.DeleteFunc(slices.Clone(by.Bench.Items()), func(it eval.Item) bool { return !g.items[it.ID] })
		by.Bench = planning{bench, items, g.arms}
		perArm, _, err := by.Estimates(ctx)
		if err != nil {
			return nil, err
		}
		for _, arm := range perArm {
			of[arm.Arm] = arm
		}
	}
	return of, nil
}

// Detectable is the smallest detectable effect of a study.
type Detectable struct {
	Clusters int     `json:"clusters"`          // independent units: items, or clusters of them
	Test     bool    `json:"of_test,omitempty"` // they are those of TEST instead of what is planned
	Tests    int     `json:"tests"`             // in the corrected family
	Alpha    float64 `json:"alpha"`             // of one test, after the correction
	Power    float64 `json:"power"`
	DZ       float64 `json:"d_z"` // of a t-test
}

// Estimate performs a sample of trials without a model and counts their tokens
// with the counter.
func (x *Experiment) Estimate(ctx context.Context, count plan.Counter) (*Estimate, error) {
	bench, err := x.estimatedBench()
	if err != nil {
		return nil, err
	}
	estimator := plan.Estimator{Bench: planning{bench, x.items, bench.Arms()}, Replicates: x.Study.Execution.Replicates, Count: count, Price: x.pricer()}
	for _, arm := range x.Bench.Arms() {
		if arm.Role == eval.RoleCalibration {
			estimator.Gold = arm.ID
		}
	}
	perArm, all, err := estimator.Estimates(ctx)
	if err != nil {
		return nil, err
	}
	e := &Estimate{Study: x.Study.Name, Items: len(x.Items()), Arms: len(perArm), Replicates: estimator.Replicates, Quantities: quantitiesOf(all),
		JudgeCalls: all.JudgeCalls, estimation: estimation{estimator, perArm, all.Loads}}
	e.PerArm = mapped(perArm, func(of plan.Estimate) ArmEstimate { return ArmEstimate{of.Arm, quantitiesOf(of), of.Sampled} })
	if mostCalls := x.Bench.Capabilities().MostCalls; mostCalls != nil {
		most, judge := 0, 0
		for _, arm := range perArm {
			asked, judged := mostCalls(arm.Arm)
			most, judge = most+arm.Trials*(asked+judged), judge+arm.Trials*judged
		}
		e.MostCalls, e.MostJudge = &most, &judge
	}
	if e.Detectable, err = x.detectable(); err != nil {
		return nil, err
	}
	e.Rules, err = x.RulePlans()
	return e, err
}

// decisive are the items that tests and rules decide by, and whether they are those of TEST because
// no test is made of what is planned.
func (x *Experiment) decisive() (items []eval.Item, test bool) {
	if x.question().Run.Exploratory() {
		s := *x.Study
		s.Split = study.SplitTest
		if items, _, err := itemsOf(x.Bench, &s); err == nil {
			return items, true
		}
	}
	return x.Items(), false
}

// design returns what the rules are planned with, and whether it has the items of TEST instead.
func (x *Experiment) design() (power.Design, bool) {
	q := x.question()
	q.Run.Split, q.Run.Dev = "", 0 // rules decide on TEST
	items, test := x.decisive()
	return power.Design{Suite: &x.Suite.Suite, Items: items, Arms: x.Bench.Arms(), Question: q, Rules: x.rules}, test
}

// RulePlans returns what each rule needs, and its power under each assumption.
func (x *Experiment) RulePlans() ([]RulePlan, error) {
	d, test := x.design()
	needs, err := d.Needs()
	if err != nil {
		return nil, err
	}
	plans := mapped(needs, func(n power.Need) RulePlan { return x.planOf(n, len(d.Items), test) })
	for i, a := range x.Study.Assume {
		powers, err := d.Simulate(a)
		if err != nil {
			return nil, x.File.Errorf(fmt.Sprintf("assume[%d]", i), "%v", err)
		}
		for k, p := range powers {
			out := Power{Assumption: a.Name, Missing: p.Missing, Studies: p.Pass + p.Fail + p.Undecided}
			if out.Studies > 0 {
				share, undecided := float64(p.Pass)/float64(out.Studies), float64(p.Undecided)/float64(out.Studies)
				out.Pass, out.Undecided, out.Low, out.High = &share, &undecided, &p.CI.Low, &p.CI.High
			}
			plans[k].Power = append(plans[k].Power, out)
		}
	}
	return plans, nil
}

// planOf describes what a rule needs.
func (x *Experiment) planOf(n power.Need, items int, test bool) RulePlan {
	r := RulePlan{Name: n.Rule.Name, Kind: n.Rule.Kind, That: n.Rule.That, Alone: n.Alone, Other: n.Other, Opportunities: x.opportunities(n.Rule), Apart: n.Rule.Apart, Scores: n.Rule.Scores,
		Differ: len(n.Rule.Pairs) > 0 || len(n.Rule.Arms) > 1, At: n.Rule.At, Items: items, Test: test}
	if n.Perfect > 0 {
		r.Perfect = &n.Perfect
	}
	return r
}

// pricer prices the expected usage. What a program takes is not known before it answers; stored
// answers cost nothing.
func (x *Experiment) pricer() plan.Pricer {
	costs := map[string]func(eval.Usage) float64{}
	for _, m := range x.Study.Models {
		costs[m.ID], _ = x.env.Price(m)
	}
	for _, p := range x.Bench.Pipelines() {
		if p.Asked() {
			costs[p.Model] = func(eval.Usage) float64 { return math.NaN() }
		}
	}
	return func(id string, u eval.Usage) float64 {
		if cost, ok := costs[id]; ok {
			return cost(u)
		}
		return 0
	}
}

// plannedPower is the power of the smallest detectable effect.
const plannedPower = 0.8

// detectable assumes the paired t-test. For step-wise corrections such as Holm's it uses
// the level of the first step. It ignores corrections of the false discovery rate, whose
// level depends on the number of true effects.
func (x *Experiment) detectable() (*Detectable, error) {
	items, test := x.decisive()
	_, clusters := analyse.Clusters(items) // the independent units of the data
	d := &Detectable{Clusters: clusters, Test: test, Tests: max(1, x.primaryTests()), Alpha: x.Study.Statistics.Alpha, Power: plannedPower}
	if len(x.Pairs) == 0 || d.Clusters < 2 {
		return nil, nil
	}
	switch x.Study.Statistics.Correction {
	case "bonferroni", "holm", "hochberg":
		d.Alpha /= float64(d.Tests)
	}
	var err error
	d.DZ, err = stats.PairedEffect(float64(d.Clusters), d.Power, d.Alpha, stats.TwoSided)
	return d, err
}

// primaryTests counts the tests of the largest family that is corrected together: of the rules,
// or without them of the primary comparisons.
func (x *Experiment) primaryTests() (most int) {
	of, q := map[string]int{}, x.question()
	for _, p := range q.Comparisons {
		for _, m := range x.Suite.Metrics {
			if q.Corrected(p, m.Name) && (len(p.Metrics) == 0 || slices.Contains(p.Metrics, m.Name)) {
				of[p.Family]++
				most = max(most, of[p.Family])
			}
		}
	}
	return most
}

// Unmeetable lists the rules that even perfect arms could not meet with the study's items.
func (x *Experiment) Unmeetable() (list []RulePlan, err error) {
	d, test := x.design()
	needs, err := d.Needs()
	for _, n := range needs {
		if n.Alone && (n.Perfect == 0 || n.Perfect > len(d.Items)) && (n.Rule.Kind == "require" || n.Rule.Passes) {
			list = append(list, x.planOf(n, len(d.Items), test))
		}
	}
	return list, err
}

// opportunities returns the metrics of a rule that pool counts: in them an item counts
// only if its answer has an opportunity, which is not known before a run.
func (x *Experiment) opportunities(r gate.Rule) []string {
	var list []string
	for _, e := range r.Read() {
		if m, ok := x.Suite.Metric(e[1]); ok && m.Pooling == eval.RatioOfSums && !slices.Contains(list, e[1]) {
			list = append(list, e[1])
		}
	}
	return list
}

// uncorrected warns of rules that any of several comparisons or arms could meet
// without a correction: chance has several tries at them.
func (x *Experiment) uncorrected() []string {
	var list []string
	if n := len(x.rules.Alternatives()); n > 1 && x.Study.Statistics.Correction == "none" {
		list = append(list, fmt.Sprintf("the rules could be met by any of %s, whose errors add up: leave out statistics.correction, which is holm by default, or require evidence of one of them as well", text.Plural(n, "comparison", "comparisons")))
	}
	for _, r := range x.rules.All() {
		estimates := slices.Compact(slices.SortedFunc(slices.Values(r.Measured), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }))
		if r.Either && (r.Kind == "require" || r.Passes) && len(estimates) > 1 {
			list = append(list, fmt.Sprintf("%s (%q) could be met by any of %s of single arms, whose intervals are not corrected: compare the arms, or require each of them",
				r.At, r.Name, text.Plural(len(estimates), "estimate", "estimates")))
		}
	}
	return list
}

// A Standing says what of a study's plan a store has.
type Standing struct {
	Run     string `json:"run"`      // newest run of the study, "" if there is none
	Done    int    `json:"done"`     // trials with an outcome in it
	New     int    `json:"new"`      // the others
	ToJudge int    `json:"to_judge"` // trials with an outcome in it that the judge has still to judge
	Calls   int    `json:"calls"`    // expected of what is new and of the judge
	// Known estimates how many of these calls have an answer in the store, from a sample.
	Known   int      `json:"known_calls"`
	CostUSD *float64 `json:"max_cost_usd"` // of the others; null if a price is missing

	asked map[eval.Stage]float64 // the others by stage: the store's answers are taken at once
}

// sampledForStanding is the number of trials whose requests are looked up, of arms of one shape together,
// and of answers of an arm to be judged: their requests are rendered, and the lower end of the interval is used.
const sampledForStanding = 100

// Standing looks up what of the plan is in a store. Answers of the models for which
// reusable is true may be taken from other runs.
func (x *Experiment) Standing(ctx context.Context, db *store.DB, e *Estimate, reusable func(model string) bool) (*Standing, error) {
	bench, err := x.estimatedBench()
	if err != nil {
		return nil, err
	}
	s, judges := &Standing{asked: map[eval.Stage]float64{}}, judgedArms(bench)
	done, judged := make([]bool, x.Plan.Len()), make([]bool, x.Plan.Len())
	last, err := x.Find(ctx, db, "")
	if last != nil {
		s.Run = last.ID
		done, judged, err = x.doneTrials(ctx, db, last)
	}
	if err != nil {
		return nil, err
	}
	pending, judging := map[string][]eval.Trial{}, map[string][]eval.Trial{}
	for seq, is := range done {
		switch t := x.Plan.Trial(seq); {
		case !is:
			pending[t.Arm] = append(pending[t.Arm], t)
			s.New++
		case judges[t.Arm] && !judged[seq]:
			judging[t.Arm] = append(judging[t.Arm], t)
			s.ToJudge++
		}
	}
	s.Done = len(done) - s.New
	in := storeAsker{reusable: reusable, price: x.pricer()}
	if in.journal, err = db.Foresee(ctx, last, x.File.Canonical(), x.Plan); err != nil {
		return nil, err
	}
	asked, errAsked := x.lookUpJudge(ctx, in, db, last, judging)
	rest, err := e.rest(ctx, bench, pending)
	if err := cmp.Or(errAsked, err); err != nil {
		return nil, err
	}
	cost := 0.0
	add := func(stage eval.Stage, calls, costUSD float64, from lookups) {
		known, saved := from.shares()
		s.Calls += int(math.Round(calls))
		s.Known += int(math.Round(calls * known))
		s.asked[stage] += calls * (1 - known)
		if saved < 1 { // else nothing is asked, whatever its price
			cost += costUSD * (1 - saved)
		}
	}
	// Arms of one shape are looked up together, of which there may be one for each attack.
	shaped, looked := map[string][]eval.Trial{}, map[string][2]lookups{}
	arms := bench.Arms()
	shape := func(i int) string {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(e.arms[i].Loads)), func(p plan.Party) bool { return reusable(p.Model) }) {
			return "" // it asks nothing whose answer the store may have
		}
		return fmt.Sprint(judges[arms[i].ID], plan.ShapeOf(arms[i]))
	}
	for i, arm := range arms {
		shaped[shape(i)] = append(shaped[shape(i)], pending[arm.ID]...)
	}
	for i, arm := range e.arms {
		if trials, of := pending[arm.Arm], rest[arm.Arm]; len(trials) > 0 && of.Trials > 0 {
			s := shape(i)
			known, done := looked[s]
			if !done && s != "" {
				if known, err = x.lookUp(ctx, in, shaped[s], judges[arm.Arm]); err != nil {
					return nil, err
				}
				looked[s] = known
			}
			share := float64(len(trials)) / float64(of.Trials)
			add(eval.StageRun, share*float64(of.Calls-of.JudgeCalls), share*max(0, of.CostUSD-of.JudgeCostUSD), known[0])
			add(eval.StageJudge, share*float64(of.JudgeCalls), share*of.JudgeCostUSD, known[1])
		}
		if n := float64(len(judging[arm.Arm])); n > 0 {
			judged := float64(arm.JudgeCalls)
			a, calls := asked[arm.Arm], judged*n/float64(arm.Trials)
			if m := len(a.calls[1]); m > 0 { // else their items had other names
				calls = 0
				for _, asked := range a.calls[1] {
					calls += asked * n / float64(m)
				}
			}
			if calls > 0 {
				add(eval.StageJudge, calls, calls*arm.JudgeCostUSD/judged, *a)
			}
		}
	}
	if !math.IsNaN(cost) {
		s.CostUSD = &cost
	}
	return s, nil
}

// doneTrials says of which trials of the plan a run has an outcome, and which need no judge any more.
func (x *Experiment) doneTrials(ctx context.Context, db *store.DB, r *store.Run) (done, judged []bool, err error) {
	items, errItems := db.Items(ctx, r)
	moved, errMoved := x.moved(ctx, db, r)
	if err = cmp.Or(errItems, errMoved, x.bind(ctx, db)); err != nil {
		return nil, nil, err
	}
	return db.Answered(ctx, r, x.Plan, x.ArmIDs(), moved, x.unchanged(r, items))
}

// lookups are those of the calls of some of an arm's trials, and of what they cost: by trial, with an
// answer in the store and in all.
type lookups struct {
	trials      int // of the arm, or of all of its shape
	calls, cost [2][]float64
}

func (l *lookups) add(a *storeAsker) {
	l.calls[0], l.calls[1] = append(l.calls[0], a.known), append(l.calls[1], a.all)
	l.cost[0], l.cost[1] = append(l.cost[0], a.saved), append(l.cost[1], a.cost)
}

// shares are those of the calls with an answer in the store, and of the cost that these save: no more than
// the share of either, by the lower end of its interval if not all trials were looked up.
func (l lookups) shares() (known, saved float64) {
	saved = 1
	for _, of := range [][2][]float64{l.cost, l.calls} {
		r, err := stats.RatioOfSums(of[0], of[1], 0.95)
		if err != nil || r.Clusters == 0 {
			continue // free, or nothing is asked
		}
		known = r.Value
		least := known
		if len(of[1]) < l.trials {
			if least = r.Monotone(0.95, 0, 1).CI.Low; math.IsNaN(least) {
				least = 0
			}
		}
		saved = min(saved, least)
	}
	return known, min(known, saved)
}

// lookUp looks up the calls of some trials: those without a judge, and those of a judge. These
// are known only where all answers of their trial are.
func (x *Experiment) lookUp(ctx context.Context, in storeAsker, trials []eval.Trial, judged bool) (known [2]lookups, err error) {
	own, judge := &known[0], &known[1]
	own.trials, judge.trials = len(trials), len(trials)
	for _, t := range someOf(trials) {
		performs, judges := in.of(t, eval.StageRun), in.of(t, eval.StageJudge)
		outcome, err := x.Bench.Perform(ctx, t, performs)
		if err == nil && judged && outcome.Kind != eval.Failed {
			_, err = x.Bench.Judge(ctx, t, outcome, judges)
		}
		if err != nil {
			return known, err
		}
		own.add(performs)
		if performs.known+judges.known < performs.all+judges.all {
			judges.known, judges.all, judges.saved = 0, max(1, judges.all), 0
		}
		judge.add(judges)
	}
	return known, nil
}

// lookUpJudge judges some answers that a run has by answers in the store, and says by arm how many calls
// that takes.
func (x *Experiment) lookUpJudge(ctx context.Context, in storeAsker, db *store.DB, r *store.Run, judging map[string][]eval.Trial) (map[string]*lookups, error) {
	asked, chosen := map[string]*lookups{}, map[eval.Trial]bool{}
	for arm, trials := range judging {
		asked[arm] = &lookups{trials: len(trials)}
		for _, t := range someOf(trials) {
			chosen[t] = true
		}
	}
	if len(chosen) == 0 {
		return nil, nil
	}
	var err error
	for j := range until(&err, only(db.Outcomes(ctx, r), func(j eval.Judged) bool { return chosen[j.Trial] })) {
		a := in.of(j.Trial, eval.StageJudge)
		if _, err := x.Bench.Judge(ctx, j.Trial, j.Outcome, a); err != nil {
			return nil, err
		}
		asked[j.Trial.Arm].add(a)
	}
	return asked, err
}

// someOf are up to sampledForStanding trials at even distances.
func someOf(trials []eval.Trial) (some []eval.Trial) {
	n := min(sampledForStanding, len(trials))
	for k := range n {
		some = append(some, trials[k*len(trials)/n])
	}
	return some
}

// A storeAsker answers the requests of a trial from the store, else as predicted.
type storeAsker struct {
	journal  *store.Journal
	reusable func(model string) bool
	price    plan.Pricer
	trial    eval.Trial
	stage    eval.Stage

	mu          *sync.Mutex
	known, all  float64 // calls
	saved, cost float64 // of the known ones, and of all
}

// of is an asker for another trial.
func (a storeAsker) of(t eval.Trial, stage eval.Stage) *storeAsker {
	a.trial, a.stage, a.mu = t, stage, &sync.Mutex{}
	return &a
}

func (a *storeAsker) Ask(ctx context.Context, step string, r eval.Request) (eval.Response, error) {
	r, shared := run.Posed(r, a.trial, a.stage)
	r, parts := r.Sealed()
	call := &eval.Call{Trial: a.trial, Stage: a.stage, Step: step, Key: r.Key(), Parts: parts}
	var found bool
	if a.reusable(r.Model) {
		var err error
		if found, err = a.journal.Take(ctx, call, true, shared); err != nil {
			return call.Response, err
		}
	}
	u, _ := plan.Usage(r, func(text string) int { return len(text) / 4 })
	cost := a.price(r.Model, u)
	if math.IsNaN(cost) { // so is that of all
		cost = 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all, a.cost = a.all+1, a.cost+cost
	switch {
	case found:
		a.known, a.saved = a.known+1, a.saved+cost
		return call.Response, nil
	case r.Foreseen != nil:
		return eval.Response{Text: r.Foreseen(), Stop: eval.StopEnd}, nil
	}
	return eval.Response{}, nil
}

package experiment

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/power"
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

// An estimation is what plan made of each arm and model.
type estimation struct {
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
		JudgeCalls: all.JudgeCalls, estimation: estimation{perArm, all.Loads}}
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
	Run     string   `json:"run"`      // newest run of the study, "" if there is none
	Done    int      `json:"done"`     // trials with an outcome in it
	New     int      `json:"new"`      // the others
	ToJudge int      `json:"to_judge"` // trials with an outcome in it that the judge has still to judge
	Calls   int      `json:"calls"`    // the share of what is new and of what is to be judged in those of the plan
	CostUSD *float64 `json:"cost_usd"` // of these; null if a price is missing

	loads plan.Loads // of these calls
}

// Standing looks up what of the plan the newest run of the study in a store has.
func (x *Experiment) Standing(ctx context.Context, db *store.DB, e *Estimate) (*Standing, error) {
	bench, err := x.estimatedBench()
	if err != nil {
		return nil, err
	}
	s, judges := &Standing{loads: plan.Loads{}}, judgedArms(bench)
	done, judged := make([]bool, x.Plan.Len()), make([]bool, x.Plan.Len())
	last, err := x.Find(ctx, db, "")
	if last != nil {
		s.Run = last.ID
		done, judged, err = x.doneTrials(ctx, db, last)
	}
	if err != nil {
		return nil, err
	}
	left := map[eval.Stage]map[string]float64{eval.StageRun: {}, eval.StageJudge: {}} // trials by arm
	for seq, is := range done {
		switch arm := x.Plan.Trial(seq).Arm; {
		case !is:
			left[eval.StageRun][arm]++
			left[eval.StageJudge][arm]++
			s.New++
		case judges[arm] && !judged[seq]:
			left[eval.StageJudge][arm]++
			s.ToJudge++
		}
	}
	s.Done = len(done) - s.New
	var all plan.Load
	for _, arm := range e.arms {
		for party, load := range arm.Loads {
			if n := left[party.Stage][arm.Arm]; n > 0 {
				s.loads[party] = s.loads[party].Plus(load, n/float64(arm.Trials))
			}
		}
	}
	for _, load := range s.loads {
		all = all.Plus(load, 1)
	}
	s.Calls, s.CostUSD = int(math.Round(all.Calls)), known(math.Round(all.Picodollars)/1e12)
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

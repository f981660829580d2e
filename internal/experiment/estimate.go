package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/power"
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
}

// A RulePlan says what a rule needs, and how often it would be met.
type RulePlan struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // "require" or "outcome"
	That string `json:"that"`
	// Perfect is the number of items for which it holds if all arms have the best scores,
	// null if there is none up to 5,000. With fewer it cannot hold if it reads one arm
	// only (Alone), as a worse arm never does better.
	Perfect *int    `json:"items_needed_if_all_are_perfect"`
	Alone   bool    `json:"reads_one_arm_only"`
	Power   []Power `json:"power,omitempty"` // under each assumption of the study
	// Opportunities are the metrics of the rule in which an item counts only if its
	// answer has an opportunity.
	Opportunities []string `json:"opportunities,omitempty"`
	// Apart are the functions of the rule that read more than the scores of its arms, such
	// as agreement. A rule that reads no scores does not depend on the number of items.
	Apart  []string `json:"apart,omitempty"`
	Scores bool     `json:"reads_scores"`
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
// Margins are null if the sample is too small, costs if a price is missing.
type Quantities struct {
	Trials      int      `json:"trials"`
	Calls       int      `json:"calls"`
	Input       int      `json:"input_tokens"`
	InputMargin *float64 `json:"input_tokens_margin"`
	Output      int      `json:"max_output_tokens"`
	CostUSD     *float64 `json:"max_cost_usd"`
	CostMargin  *float64 `json:"max_cost_usd_margin"`
}

func quantitiesOf(e plan.Estimate) Quantities {
	return Quantities{e.Trials, e.Calls, e.InputTokens, known(e.InputMargin), e.OutputTokens, known(e.CostUSD), known(e.CostMargin)}
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
	Clusters int     `json:"clusters"` // independent units: items, or clusters of them
	Tests    int     `json:"tests"`    // in the corrected family
	Alpha    float64 `json:"alpha"`    // of one test, after the correction
	Power    float64 `json:"power"`
	DZ       float64 `json:"d_z"` // of a t-test
}

// Estimate performs a sample of trials without a model and counts their tokens
// with the counter.
func (x *Experiment) Estimate(ctx context.Context, count plan.Counter) (*Estimate, error) {
	bench, err := x.planned()
	if err != nil {
		return nil, err
	}
	estimator := plan.Estimator{Bench: ofSplit{bench, x.items}, Replicates: x.Study.Execution.Replicates, Count: count, Price: x.pricer()}
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
		JudgeCalls: all.JudgeCalls, PerArm: []ArmEstimate{}}
	if c, ok := x.Bench.(eval.Ceiling); ok {
		most, judge := 0, 0
		for _, arm := range perArm {
			asked, judged := c.MostCalls(arm.Arm)
			most, judge = most+arm.Trials*(asked+judged), judge+arm.Trials*judged
		}
		e.MostCalls, e.MostJudge = &most, &judge
	}
	for _, arm := range perArm {
		e.PerArm = append(e.PerArm, ArmEstimate{arm.Arm, quantitiesOf(arm), arm.Sampled})
	}
	if e.Detectable, err = x.detectable(); err != nil {
		return nil, err
	}
	e.Rules, err = x.RulePlans()
	return e, err
}

// design returns what the rules are planned with.
func (x *Experiment) design() power.Design {
	q := x.question()
	q.Run.Split, q.Run.Dev = "", 0 // rules decide on TEST
	return power.Design{Suite: &x.Suite.Suite, Items: x.Items(), Arms: x.Bench.Arms(), Question: q, Rules: x.rules}
}

// Needs returns what each rule takes, whatever the answers will be.
func (x *Experiment) Needs() ([]power.Need, error) { return x.design().Needs() }

// RulePlans returns what each rule needs, and its power under each assumption.
func (x *Experiment) RulePlans() ([]RulePlan, error) {
	needs, err := x.Needs()
	if err != nil {
		return nil, err
	}
	var plans []RulePlan
	for _, n := range needs {
		plans = append(plans, x.planOf(n))
	}
	for i, a := range x.Study.Assume {
		powers, err := x.design().Simulate(a)
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
func (x *Experiment) planOf(n power.Need) RulePlan {
	r := RulePlan{Name: n.Rule.Name, Kind: n.Rule.Kind, That: n.Rule.That, Alone: n.Alone, Opportunities: x.opportunities(n.Rule), Apart: n.Rule.Apart, Scores: n.Rule.Scores}
	if n.Perfect > 0 {
		r.Perfect = &n.Perfect
	}
	return r
}

// pricer prices the expected usage. External pipelines cost nothing here: they
// are the user's own.
func (x *Experiment) pricer() plan.Pricer {
	costs := map[string]func(eval.Usage) float64{}
	for _, m := range x.Study.Models {
		costs[m.ID], _ = x.env.Price(m)
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
	d := &Detectable{Clusters: x.clusters(), Tests: x.primaryTests(), Alpha: x.Study.Statistics.Alpha, Power: plannedPower}
	if len(x.Pairs) == 0 || d.Clusters < 2 {
		return nil, nil
	}
	switch x.Study.Statistics.Correction {
	case "bonferroni", "holm", "hochberg":
		d.Alpha /= float64(max(1, d.Tests))
	}
	var err error
	d.DZ, err = stats.PairedEffect(float64(d.Clusters), d.Power, d.Alpha, stats.TwoSided)
	return d, err
}

// clusters counts the independent units of the data.
func (x *Experiment) clusters() int {
	ids := map[string]bool{}
	for _, it := range x.Items() {
		id := "item " + it.ID
		if it.Cluster != "" {
			id = "cluster " + it.Cluster
		}
		ids[id] = true
	}
	return len(ids)
}

// primaryTests counts the tests of the largest family.
func (x *Experiment) primaryTests() (most int) {
	of := map[string]int{}
	for _, p := range x.Pairs {
		if !p.Primary {
			continue
		}
		for _, m := range x.Primary {
			if len(p.Metrics) == 0 || slices.Contains(p.Metrics, m) {
				of[p.Family]++
				most = max(most, of[p.Family])
			}
		}
	}
	return most
}

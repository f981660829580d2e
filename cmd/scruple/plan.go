package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"
	"github.com/tiktoken-go/tokenizer"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/stats"
)

func planVerb(a *app) *cobra.Command {
	return verb("plan STUDY|RUN", "show what a run would ask and cost, before it does", `
Trials, calls, tokens and cost for each arm, from trying a sample of trials
without a model. Tokens are estimated with the o200k vocabulary; output is
counted at its limit, so that the cost is an upper bound for what is foreseen.`, cobra.ExactArgs(1),
		func(c *cobra.Command, args []string) error { return a.plan(c.Context(), args[0]) })
}

// sampledTrials is how many trials of an arm an estimate tries.
const sampledTrials = 50

type planned struct {
	Study      string       `json:"study"`
	Items      int          `json:"items"`
	Arms       int          `json:"arms"`
	Replicates int          `json:"replicates"`
	Trials     int          `json:"trials"`
	Calls      int          `json:"calls"`
	Input      int          `json:"input_tokens"`
	Output     int          `json:"max_output_tokens"`
	CostUSD    *float64     `json:"max_cost_usd"` // null: no price known for some model
	PerArm     []armPlanned `json:"per_arm"`
	Detectable *detectable  `json:"smallest_detectable_effect,omitempty"` // null: nothing is compared
}

// detectable is the smallest effect that the study will show.
type detectable struct {
	Clusters int     `json:"clusters"` // independent units: items, or clusters of them
	Tests    int     `json:"tests"`    // in the family that is corrected for
	Alpha    float64 `json:"alpha"`    // of one test, after the correction
	Power    float64 `json:"power"`
	DZ       float64 `json:"d_z"`
}

// plannedPower is the power that detectable effects are stated for.
const plannedPower = 0.8

// detectableEffect is by the paired t-test, which the other tests come close to.
// Where a correction depends on the p-values (Holm and those like it), the
// level is the one its first step has; false discovery rates are not
// corrected for, their level depending on how many effects there are.
func (l *loaded) detectableEffect() (*detectable, error) {
	clusters := map[string]bool{}
	for _, it := range l.bench.Items() {
		id := "item " + it.ID
		if it.Cluster != "" {
			id = "cluster " + it.Cluster
		}
		clusters[id] = true
	}
	d := &detectable{Clusters: len(clusters), Alpha: l.study.Statistics.Alpha, Power: plannedPower}
	for _, p := range l.pairs {
		if !p.Primary {
			continue
		}
		for _, m := range l.primary {
			if len(p.Metrics) == 0 || slices.Contains(p.Metrics, m) {
				d.Tests++
			}
		}
	}
	if len(l.pairs) == 0 || d.Clusters < 2 {
		return nil, nil
	}
	switch l.study.Statistics.Correction {
	case "bonferroni", "holm", "hochberg":
		d.Alpha /= float64(max(1, d.Tests))
	}
	var err error
	d.DZ, err = stats.PairedEffect(float64(d.Clusters), d.Power, d.Alpha, stats.TwoSided)
	return d, err
}

type armPlanned struct {
	plan.Estimate
	CostUSD *float64 `json:"max_cost_usd"`
}

func (a *app) plan(ctx context.Context, arg string) error {
	path, err := a.studyPath(ctx, arg)
	if err != nil {
		return err
	}
	l, err := a.load(path)
	if err != nil {
		return err
	}
	a.warnOf(l)
	defer l.close()
	p, err := a.estimate(ctx, l)
	if err != nil {
		return err
	}
	if a.json {
		return printJSON(a.out, p)
	}
	a.say("%s: %d items × %d arms × %d replicates = %d trials", p.Study, p.Items, p.Arms, p.Replicates, p.Trials)
	a.say("")
	a.say("%-28s %8s %8s %12s %12s %10s", "arm", "trials", "calls", "input", "output ≤", "cost ≤")
	for _, e := range p.PerArm {
		a.say("%-28s %8d %8d %12d %12d %10s", e.Arm, e.Trials, e.Calls, e.InputTokens, e.OutputTokens, dollars(e.CostUSD))
	}
	a.say("%-28s %8d %8d %12d %12d %10s", "all", p.Trials, p.Calls, p.Input, p.Output, dollars(p.CostUSD))
	if d := p.Detectable; d != nil {
		a.say("\nSmallest detectable effect: d = %.3f with %d independent items or clusters, power %.0f %%, two-sided α = %.4g (%d primary tests, correction: %s).",
			d.DZ, d.Clusters, 100*d.Power, d.Alpha, d.Tests, l.study.Statistics.Correction)
		a.say("That is a mean difference of %.3f where differences have a standard deviation of 0.1, of %.3f where it is 0.2, of %.3f where it is 0.3.",
			0.1*d.DZ, 0.2*d.DZ, 0.3*d.DZ)
	}
	if p.CostUSD == nil {
		a.say("\nNo price is known for some model: give it one with `price:` in the study to bound the cost.")
	}
	if l.study.JudgeModel != "" {
		a.say("\nJudge calls are counted as for right answers; answers with more candidates need more.")
	}
	return nil
}

func dollars(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprintf("$%.4f", *v)
}

func (a *app) estimate(ctx context.Context, l *loaded) (*planned, error) {
	price, err := l.pricer()
	if err != nil {
		return nil, err
	}
	p := &planned{Study: l.study.Name, Items: len(l.bench.Items()), Arms: len(l.bench.Arms()), Replicates: l.study.Execution.Replicates,
		Trials: l.plan.Len(), PerArm: []armPlanned{}}
	total, gold := 0.0, ""
	for _, arm := range l.bench.Arms() {
		if arm.Role == eval.RoleCalibration {
			gold = arm.ID
		}
	}
	for _, arm := range l.bench.Arms() {
		e, err := plan.EstimateArm(ctx, l.bench, arm, gold, p.Replicates, sampledTrials, countTokens(), price)
		if err != nil {
			return nil, err
		}
		p.Calls += e.Calls
		p.Input += e.InputTokens
		p.Output += e.OutputTokens
		total += e.CostUSD
		p.PerArm = append(p.PerArm, armPlanned{e, known(e.CostUSD)})
	}
	p.CostUSD = known(total)
	p.Detectable, err = l.detectableEffect()
	return p, err
}

func known(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// countTokens counts with the vocabulary of current OpenAI models, which is
// within a few percent for others; four bytes a token where that fails.
func countTokens() plan.Counter {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	return func(text string) int {
		if err == nil {
			if n, err := codec.Count(text); err == nil {
				return n
			}
		}
		return (len(text) + 3) / 4
	}
}

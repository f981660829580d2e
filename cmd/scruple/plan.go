package main

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/spf13/cobra"
	"github.com/tiktoken-go/tokenizer"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/stats"
)

func planVerb(a *app) *cobra.Command {
	return verb("plan STUDY|RUN", "show what a run would ask and cost, before it does", `
Trials, calls, tokens and cost for each arm, from trying a sample of trials
without a model. The margin (±) is that of the sample, at 95 %. Tokens are
counted with the o200k vocabulary; other vocabularies differ by some percent.
Output is counted at its limit, so the cost is an upper bound of what is
foreseen.`, cobra.ExactArgs(1),
		func(c *cobra.Command, args []string) error { return a.plan(c.Context(), args[0]) })
}

type planned struct {
	Study      string `json:"study"`
	Items      int    `json:"items"`
	Arms       int    `json:"arms"`
	Replicates int    `json:"replicates"`
	quantities
	PerArm     []armPlanned `json:"per_arm"`
	Detectable *detectable  `json:"smallest_detectable_effect,omitempty"` // null: nothing is compared
}

// quantities are what an arm, or all of them, would ask. Margins are null where
// the sample does not show them, and costs where a price is missing.
type quantities struct {
	Trials      int      `json:"trials"`
	Calls       int      `json:"calls"`
	Input       int      `json:"input_tokens"`
	InputMargin *float64 `json:"input_tokens_margin"`
	Output      int      `json:"max_output_tokens"`
	CostUSD     *float64 `json:"max_cost_usd"`
	CostMargin  *float64 `json:"max_cost_usd_margin"`
}

func quantitiesOf(e plan.Estimate) quantities {
	return quantities{e.Trials, e.Calls, e.InputTokens, known(e.InputMargin), e.OutputTokens, known(e.CostUSD), known(e.CostMargin)}
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
	Arm string `json:"arm"`
	quantities
	Sampled int `json:"sampled"`
}

func (a *app) plan(ctx context.Context, arg string) error {
	l, err := a.loadFor(ctx, arg)
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
	const row = "%-28s %8v %8v %12v %6s %12v %10s"
	a.say(row, "arm", "trials", "calls", "input", "±", "output ≤", "cost ≤")
	for _, e := range append(slices.Clip(p.PerArm), armPlanned{Arm: "all", quantities: p.quantities}) {
		a.say(row, e.Arm, e.Trials, e.Calls, e.Input, percentOf(e.InputMargin, e.Input), e.Output, dollars(e.CostUSD))
	}
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

// percentOf is a margin in percent of its total.
func percentOf(margin *float64, total int) string {
	switch {
	case total == 0:
		return ""
	case margin == nil:
		return "?"
	}
	return fmt.Sprintf("%.1f%%", 100**margin/float64(total))
}

func dollars(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprintf("$%.4f", *v)
}

func (a *app) estimate(ctx context.Context, l *loaded) (*planned, error) {
	estimator := plan.Estimator{Bench: l.bench, Replicates: l.study.Execution.Replicates, Count: countTokens(), Price: l.pricer()}
	for _, arm := range l.bench.Arms() {
		if arm.Role == eval.RoleCalibration {
			estimator.Gold = arm.ID
		}
	}
	// Texts are made, counted and dropped: collecting them less often saves a
	// quarter of the time.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	perArm, all, err := estimator.Estimates(ctx)
	if err != nil {
		return nil, err
	}
	p := &planned{Study: l.study.Name, Items: len(l.bench.Items()), Arms: len(perArm), Replicates: estimator.Replicates, quantities: quantitiesOf(all),
		PerArm: []armPlanned{}}
	for _, e := range perArm {
		p.PerArm = append(p.PerArm, armPlanned{e.Arm, quantitiesOf(e), e.Sampled})
	}
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
	load := sync.OnceValues(func() (tokenizer.Codec, error) { return tokenizer.Get(tokenizer.O200kBase) })
	return func(text string) int {
		if codec, err := load(); err == nil {
			if n, err := codec.Count(text); err == nil {
				return n
			}
		}
		return (len(text) + 3) / 4
	}
}

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/text"
)

func planVerb(a *app) *cobra.Command {
	var width float64
	c := a.verb("plan", a.on(itsStore, func(o *opened) error {
		if width != 0 {
			return a.planWidth(o, width)
		}
		return a.plan(o)
	}))
	c.Flags().Float64Var(&width, "width", 0, "how many replicates or items an interval of this width takes, by the newest run")
	return c
}

// planWidth says what intervals of a width take.
func (a *app) planWidth(o *opened, wanted float64) error {
	w, err := o.x.Widths(o.ctx, o.db, wanted)
	if err != nil {
		return err
	}
	return a.result(w, func() {
		a.say("%s: %.0f %% intervals of a width of %.4g, by run %s: %s, %s", w.Metric, 100*(1-o.x.Study.Statistics.Alpha), wanted, w.Run,
			text.Plural(w.Items, "item", "items"), text.Plural(w.Replicates, "replicate", "replicates"))
		const row = "%-40s %8v  %s"
		a.say("\n"+row, "", "now", "takes")
		for _, of := range w.Of {
			takes := fmt.Sprintf("%s, or about %s", text.Plural(of.Replicates, "replicate", "replicates"), text.Plural(of.NeedsItems, "item", "items"))
			if of.Replicates == 0 {
				takes = fmt.Sprintf("about %s; more replicates lead to %.3f at best", text.Plural(of.NeedsItems, "item", "items"), of.Least)
			}
			a.say(row, of.Of, fmt.Sprintf("%.3f", of.Now), takes)
		}
	})
}

func (a *app) plan(o *opened) error {
	ctx, x := o.ctx, o.x
	a.warnOf(x)
	noKeys, err := a.checkModels(ctx, x)
	for _, text := range noKeys {
		a.warn("warning: %s", say.PlainLine(text))
	}
	if err != nil {
		return err
	}
	defer a.collectLess()()
	p, err := x.Estimate(ctx, countTokens())
	if err != nil {
		return err
	}
	if p.Standing, err = standing(o, p); err != nil {
		return err
	}
	if p.Demands, err = x.Demands(ctx, o.db, o.from.store, p); err != nil {
		return err
	}
	if a.json {
		return printJSON(a.out, p)
	}
	a.say("%s: %s × %s × %s = %s", p.Study, text.Plural(p.Items, "item", "items"), text.Plural(p.Arms, "arm", "arms"), text.Plural(p.Replicates, "replicate", "replicates"), text.Plural(p.Trials, "trial", "trials"))
	a.say("")
	const row = "%-28s %8v %8v %12v %6s %12v %10s"
	a.say(row, "arm", "trials", "calls", "input", "±", "output ≤", "cost ≤")
	for _, e := range append(slices.Clip(p.PerArm), experiment.ArmEstimate{Arm: "all", Quantities: p.Quantities}) {
		a.say(row, e.Arm, e.Trials, e.Calls, e.Input, percentOf(e.InputMargin, e.Input), e.Output, dollars(e.CostUSD))
	}
	a.sayStanding(p.Standing)
	a.sayDemands(p.Demands)
	if d := p.Detectable; d != nil {
		a.say("\nSmallest detectable effect: d = %.3f with %d independent items or clusters, power %.0f %%, two-sided α = %.4g (%s, correction: %s).",
			d.DZ, d.Clusters, 100*d.Power, d.Alpha, text.Plural(d.Tests, "primary test", "primary tests"), x.Study.Statistics.Correction)
		a.say("That is a mean difference of %.3f, %.3f or %.3f if the standard deviation of the differences is 0.1, 0.2 or 0.3.",
			0.1*d.DZ, 0.2*d.DZ, 0.3*d.DZ)
	}
	a.sayRules(p)
	if p.CostUSD == nil {
		a.say("\nThe price of a model is unknown: give it with `price:` in the study for an estimate of the cost.")
	}
	a.sayCalls(x, p)
	if keys := keysSent(x.Study.Models); keys != nil {
		a.say("\nKeys that a run sends: %s.", strings.Join(keys, ", "))
	}
	return nil
}

// sayCalls says what the number of calls has in it, and how large it can be.
func (a *app) sayCalls(x *experiment.Experiment, p *experiment.Estimate) {
	if x.HasJudge() {
		a.say("\n%d of the calls are the judge's, estimated for right answers; other answers may need more.", p.JudgeCalls)
	}
	if p.MostCalls != nil && *p.MostCalls > p.Calls {
		a.say("\nAt most %d calls, of which %d of the judge: answers that cannot be read are asked for again, and the judge is asked where rules do not decide. Retries of failed requests come on top.", *p.MostCalls, *p.MostJudge)
	}
}

// standing looks up what of the plan the store has, nil if there is no store.
func standing(o *opened, p *experiment.Estimate) (*experiment.Standing, error) {
	if o.db == nil {
		return nil, nil
	}
	paying := map[string]bool{}
	for _, m := range o.x.Study.Models {
		paying[m.ID] = paid(m)
	}
	for _, p := range o.x.Bench.Pipelines() {
		paying[p.Model] = p.Version != ""
	}
	return o.x.Standing(o.ctx, o.db, p, func(model string) bool { return paying[model] })
}

// sayStanding prints what is there and what is new.
func (a *app) sayStanding(s *experiment.Standing) {
	if s == nil {
		return
	}
	a.say("")
	if s.Run != "" {
		a.say("Run %s has %s of this plan.", s.Run, text.Plural(s.Done, "trial", "trials"))
	}
	if s.New == 0 {
		a.say("Nothing is new: `scruple run` asks nothing.")
		return
	}
	known := ""
	if s.Known > 0 {
		known = fmt.Sprintf(", of which about %d have an answer in the store and are not asked again", s.Known)
	}
	a.say("New: %s, about %s%s; cost of the rest ≤ %s.", text.Plural(s.New, "trial", "trials"), text.Plural(s.Calls, "call", "calls"), known, dollars(s.CostUSD))
}

// sayDemands prints the hours and the room that the new trials take, and what that assumes.
func (a *app) sayDemands(d *experiment.Demands) {
	if d.Trials == 0 {
		return
	}
	var known, assumed []string
	for _, p := range d.Answers {
		what := fmt.Sprintf("%s %.3g s and %.0f bytes an answer", p.Model, p.Seconds, p.Bytes)
		if p.Known > 0 {
			known = append(known, what)
		} else {
			assumed = append(assumed, what)
		}
	}
	a.say("\nTime: about %s with %s in flight and the limits of the study. The store grows by about %s.", hours(d.Hours), text.Plural(d.InFlight, "call", "calls"), gigabytes(d.Bytes))
	for _, of := range []struct {
		from string
		what []string
	}{{"By the latest calls in the store", known}, {"Assumed, with answers at their limit", assumed}} {
		if len(of.what) > 0 {
			a.say("%s: %s.", of.from, strings.Join(of.what, "; "))
		}
	}
}

// hours says a time in a unit that suits it.
func hours(h float64) string {
	switch {
	case h < 1.0/60:
		return fmt.Sprintf("%.0f seconds", math.Ceil(3600*h))
	case h < 1:
		return fmt.Sprintf("%.0f minutes", 60*h)
	case h < 100:
		return fmt.Sprintf("%.1f hours", h)
	}
	return fmt.Sprintf("%.0f hours (%.1f days)", h, h/24)
}

// sayRules prints what the rules need and their power.
func (a *app) sayRules(p *experiment.Estimate) {
	if len(p.Rules) == 0 {
		return
	}
	a.say("\nRules:")
	assumed := false
	for _, r := range p.Rules {
		a.say("  %s (%s): %s", say.PlainLine(r.Name), r.Kind, r.Needed(p.Items))
		for _, w := range r.Power {
			assumed = true
			if w.Missing != "" {
				a.say("    %s: %s", say.PlainLine(w.Assumption), w.Missing)
				continue
			}
			a.say("    %s: met in %.1f %% of %d simulated studies (95 %% CI %.1f to %.1f %%), undecided in %.1f %%",
				say.PlainLine(w.Assumption), 100**w.Pass, w.Studies, 100**w.Low, 100**w.High, 100**w.Undecided)
		}
	}
	if !assumed {
		a.say("State true scores under `assume:` in the study for the power of the rules.")
	}
}

// percentOf returns a margin in percent of its total.
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

// countTokens counts with the vocabulary of current OpenAI models, which is
// within a few percent for others. If that fails it takes four bytes per token.
// Only this vocabulary is linked: the package above codec links four, 6 MB more.
func countTokens() plan.Counter {
	load := sync.OnceValue(codec.NewO200kBase)
	return func(text string) int {
		if n, err := load().Count(text); err == nil {
			return n
		}
		return (len(text) + 3) / 4
	}
}

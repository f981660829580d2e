package gate

import (
	"fmt"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
)

// A function is a named result for rules: of one arm and a metric, two arms and a
// metric, or one arm.
type function struct {
	name          string
	arms, metrics int
	margin        bool // takes a number behind the names and is true or false
	usage         string
	doc           string
	read          func(v view, args []string) (analyse.Number, string)
}

// functions lists all of them; the documentation is generated from it.
var functions = []function{
	ofArm("value", "the estimate", func(e analyse.Estimate) analyse.Number { return e.Value }),
	ofArm("low", "lower end of its interval", func(e analyse.Estimate) analyse.Number { return e.Low }),
	ofArm("high", "upper end of its interval", func(e analyse.Estimate) analyse.Number { return e.High }),
	ofArm("n", "number of items", func(e analyse.Estimate) analyse.Number { return analyse.Number(e.Items) }),
	ofPair("diff", "difference, first minus second", func(c analyse.Comparison) analyse.Number { return c.Diff }),
	ofPair("diff_low", "lower end of its interval", func(c analyse.Comparison) analyse.Number { return c.Low }),
	ofPair("diff_high", "upper end of its interval", func(c analyse.Comparison) analyse.Number { return c.High }),
	ofPair("p", "two-sided p-value, not corrected", func(c analyse.Comparison) analyse.Number { return c.P }),
	ofPair("p_adjusted", "p-value, corrected over the primary comparisons", func(c analyse.Comparison) analyse.Number { return c.PAdjusted }),
	ofPair("d", "Cohen's d for pairs", func(c analyse.Comparison) analyse.Number { return c.D }),
	ofPair("d_low", "lower end of its interval", func(c analyse.Comparison) analyse.Number { return c.DLow }),
	ofPair("d_high", "upper end of its interval", func(c analyse.Comparison) analyse.Number { return c.DHigh }),
	equivLow, equivHigh,
	{name: "within", arms: 2, metrics: 1, margin: true, usage: "within('arm a', 'arm b', 'metric', margin)",
		doc: "true where two one-sided tests (TOST) show that the arms differ by less than the margin"},
	ofPair("pairs", "items with results in both arms", func(c analyse.Comparison) analyse.Number { return analyse.Number(c.Pairs) }),
	ofTrials("failed", "share of trials that failed", func(a analyse.Arm) int { return a.Failed }),
	ofTrials("malformed", "share of answers that do not parse", func(a analyse.Arm) int { return a.Malformed }),
	ofTrials("refused", "share of answers that were refusals", func(a analyse.Arm) int { return a.Refused }),
}

// The interval of the two one-sided tests; within uses it.
var (
	equivLow  = ofPair("equiv_low", "lower end of the 1 − 2α interval of the difference", func(c analyse.Comparison) analyse.Number { return c.EquivLow })
	equivHigh = ofPair("equiv_high", "upper end of the 1 − 2α interval of the difference", func(c analyse.Comparison) analyse.Number { return c.EquivHigh })
)

func ofArm(name, doc string, get func(analyse.Estimate) analyse.Number) function {
	return function{name, 1, 1, false, name + "('arm', 'metric')", doc, func(v view, args []string) (analyse.Number, string) {
		e, ok := v.estimate(args[0], args[1])
		if !ok {
			return analyse.Undefined(), "no such estimate"
		}
		return get(e), strings.Join(e.Warnings, "; ")
	}}
}

func ofPair(name, doc string, get func(analyse.Comparison) analyse.Number) function {
	return function{name, 2, 1, false, name + "('arm a', 'arm b', 'metric')", doc, func(v view, args []string) (analyse.Number, string) {
		c, ok := v.comparison(args[0], args[1], args[2])
		if !ok {
			return analyse.Undefined(), "no such comparison"
		}
		return get(c), strings.Join(c.Warnings, "; ")
	}}
}

func ofTrials(name, doc string, get func(analyse.Arm) int) function {
	return function{name, 1, 0, false, name + "('arm')", doc, func(v view, args []string) (analyse.Number, string) {
		arm, ok := v.arm(args[0])
		if !ok || arm.Planned == 0 {
			return analyse.Undefined(), "the arm has no trials"
		}
		return analyse.Number(float64(get(arm)) / float64(arm.Planned)), ""
	}}
}

// Help lists the functions for rules, one per line.
func Help() string {
	var b strings.Builder
	for _, f := range functions {
		fmt.Fprintf(&b, "  %-42s %s\n", f.usage, f.doc)
	}
	return b.String()
}

// environment returns the functions for expressions; use evaluates them.
func environment(use func(f function, args []string) float64) map[string]any {
	env := map[string]any{}
	for _, f := range functions {
		env[f.name] = func(args ...string) float64 { return use(f, args) } // the checker counts them
		if f.margin {
			env[f.name] = func(x, y, z string, margin float64) bool {
				args := []string{x, y, z}
				low, high := use(equivLow, args), use(equivHigh, args)
				return low > -margin && high < margin
			}
		}
	}
	return env
}

// Decide applies the rules to an analysis. It reports every condition, also those
// after the first decisive one.
func (r *Rules) Decide(a *analyse.Analysis) Verdict {
	v := Verdict{State: Pass}
	for _, arm := range a.Arms {
		v.Simulated = v.Simulated || arm.Simulated
	}
	var named []string
	for _, rule := range r.All() {
		named = append(named, rule.Arms...)
	}
	v.Troubles = a.TroublesOf(named...)
	r.decideRequired(a, &v)
	r.decideOutcome(a, &v)
	if !a.Run.Complete() {
		v.State = Undecided
		reason := fmt.Sprintf("the run is incomplete: %d of %d trials done", a.Run.Done, a.Run.Planned)
		if a.Run.Unjudged > 0 {
			reason += fmt.Sprintf(", %d not judged", a.Run.Unjudged)
		}
		v.Reasons = append(v.Reasons, reason)
	}
	if share, of := a.WorstFailures(); share > a.Run.MaxFailed {
		v.State, v.Broken = Undecided, true
		v.Reasons = append(v.Reasons, fmt.Sprintf("%.1f %% of %s, the limit is %.1f %%: retry them with `scruple run --retry-failed`",
			100*share, of, 100*a.Run.MaxFailed))
	}
	return v
}

func (r *Rules) decideRequired(a *analyse.Analysis, v *Verdict) {
	for _, rule := range r.require {
		c := rule.apply("require", a)
		v.Conditions = append(v.Conditions, c)
		switch {
		case c.State == Fail:
			v.State = Fail
			v.Reasons = append(v.Reasons, fmt.Sprintf("%q does not hold", rule.name))
		case c.State == Undecided && v.State == Pass:
			v.State = Undecided
			v.Reasons = append(v.Reasons, fmt.Sprintf("%q cannot be decided: %s", rule.name, c.Reason))
		}
	}
}

// decideOutcome finds the first class that applies. An undecidable class ends the
// search, since a later one might not be the first.
func (r *Rules) decideOutcome(a *analyse.Analysis, v *Verdict) {
	settled := false
	for _, class := range r.outcomes {
		c := class.apply("outcome", a)
		v.Conditions = append(v.Conditions, c)
		if settled || c.State == Fail {
			continue
		}
		settled = true
		if c.State == Undecided {
			v.worsen(Undecided)
			v.Reasons = append(v.Reasons, fmt.Sprintf("outcome %q cannot be decided: %s", class.name, c.Reason))
			continue
		}
		v.Outcome, v.Advice = class.name, class.advice
		v.worsen(class.state)
		if class.state != Pass {
			v.Reasons = append(v.Reasons, fmt.Sprintf("the outcome is %q", class.name))
		}
	}
	if len(r.outcomes) > 0 && !settled {
		v.worsen(Undecided)
		v.Reasons = append(v.Reasons, "no outcome applies")
	}
}

// worsen returns the worse state: fail, then undecided, then pass.
func (v *Verdict) worsen(s State) {
	if v.State != Fail && s != Pass {
		v.State = s
	}
}

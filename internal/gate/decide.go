package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/text"
)

// Decide applies the rules to an analysis. It reports every condition, also those
// after the first decisive one.
func (r *Rules) Decide(a *analyse.Analysis) Verdict {
	v := Verdict{State: Pass, SimulatedArms: a.SimulatedArms(), SimulatedJudges: a.SimulatedJudges, History: a.Run.Changed(), NoTests: a.Run.WithoutTests(), Uncorrected: r.uncorrected(a)}
	v.Simulated = len(v.SimulatedArms)+len(v.SimulatedJudges) > 0
	for _, b := range a.Blind {
		v.Simulated = v.Simulated || len(b.Simulated) > 0
	}
	var named []string
	for _, rule := range r.All() {
		named = append(named, rule.Arms...)
	}
	for _, j := range a.Judges {
		if j.Cases > 0 {
			v.Judges = append(v.Judges, j)
		}
	}
	v.FailedJudges, v.Blind = a.FailedJudges(), a.BlindValidations()
	v.Troubles = a.TroublesOf(named...)
	if a.Run.OnDev() {
		v.State = Undecided
		v.Reasons = append(v.Reasons, "the run is on DEV, which is for exploring: only TEST decides")
	} else {
		r.decideRequired(a, &v)
		r.decideOutcome(a, &v)
		v.Looked = a.Run.Looks.String()
	}
	if a.Run.AtLook && v.State == Undecided {
		v.Reasons = append(v.Reasons, fmt.Sprintf("%d of %d trials are done: run the same command for the next look", a.Run.Done, a.Run.Planned))
	}
	if a.Run.Interrupted() {
		v.State = Undecided
		v.Reasons = append(v.Reasons, fmt.Sprintf("the run is incomplete: %d of %d trials done", a.Run.Done, a.Run.Planned)+a.Run.WhyNot())
	}
	if why := a.Broken(); why != "" {
		v.State, v.Broken = Undecided, true
		v.Reasons = append(v.Reasons, why+": "+a.Run.Remedy("", a.Arms...))
	}
	if v.State != Pass {
		v.limitAdvice(r.of(Outcome))
		r.diagnose(a, &v)
	}
	return v
}

// limitAdvice marks the advice of a passing outcome where the gate does not pass: it does not
// apply, or is provisional.
func (v *Verdict) limitAdvice(outcomes []Rule) {
	i := slices.IndexFunc(outcomes, func(c Rule) bool { return c.Name == v.Outcome })
	switch {
	case i < 0 || outcomes[i].state != Pass || v.Advice == "":
	case v.State == Fail:
		v.Advice = "A required rule does not hold, so the advice of this outcome does not apply: " + v.Advice
	default:
		v.Advice = "Provisional, as the gate is undecided: " + v.Advice
	}
}

// diagnose finds the first diagnosis that applies. One that cannot be decided does not
// end the search, since it decides nothing.
func (r *Rules) diagnose(a *analyse.Analysis, v *Verdict) {
	var undecided []string
	for _, d := range r.of(Diagnosis) {
		c := d.decide(a)
		if c.State == Undecided {
			undecided = append(undecided, d.Name)
		}
		if d.program == nil && v.Diagnosis != "" {
			c.State = Fail // otherwise
		}
		v.Conditions = append(v.Conditions, c)
		if c.State == Pass && v.Diagnosis == "" {
			v.Diagnosis, v.DiagnosisAdvice = d.Name, d.advice
			if d.program == nil && len(undecided) > 0 {
				v.DiagnosisAdvice = strings.TrimSpace(v.DiagnosisAdvice + " Not decided: " + strings.Join(undecided, ", ") + ".")
			}
		}
	}
}

func (r *Rules) decideRequired(a *analyse.Analysis, v *Verdict) {
	for _, rule := range r.of(Require) {
		c := rule.decide(a)
		v.Conditions = append(v.Conditions, c)
		switch {
		case c.State == Fail:
			v.State = Fail
			v.Reasons = append(v.Reasons, fmt.Sprintf("%q does not hold", rule.Name))
		case c.State == Undecided:
			v.worsen(Undecided)
			v.Reasons = append(v.Reasons, fmt.Sprintf("%q cannot be decided: %s", rule.Name, c.Reason))
		}
	}
}

// decideOutcome finds the first outcome that applies. One that reads something undefined
// ends the search, since a later one might not be the first. One that is neither shown nor
// excluded does not: its evidence is missing. But one for the rest cannot fail the gate
// while one that passes is still open.
func (r *Rules) decideOutcome(a *analyse.Analysis, v *Verdict) {
	settled, open := false, ""
	outcomes := r.of(Outcome)
	for _, outcome := range outcomes {
		c := outcome.decide(a)
		if settled {
			c.Warnings = nil // it has no effect
		}
		v.Conditions = append(v.Conditions, c)
		switch {
		case settled || c.State == Fail:
		case c.Open:
			if open == "" && outcome.state == Pass {
				open = fmt.Sprintf("outcome %q is neither shown nor excluded: %s", outcome.Name, c.Reason)
			}
		case c.State == Undecided:
			settled = true
			v.worsen(Undecided)
			v.Reasons = append(v.Reasons, fmt.Sprintf("outcome %q cannot be decided: %s", outcome.Name, c.Reason))
		default:
			settled = true
			v.Outcome, v.Advice = outcome.Name, outcome.advice
			state := outcome.state
			if state == Fail && outcome.program == nil && open != "" {
				state = Undecided
				v.Reasons = append(v.Reasons, open)
			}
			v.worsen(state)
			if outcome.state != Pass {
				v.Reasons = append(v.Reasons, fmt.Sprintf("the outcome is %q", outcome.Name))
			}
		}
	}
	if len(outcomes) > 0 && !settled {
		v.worsen(Undecided)
		if open != "" {
			v.Reasons = append(v.Reasons, open)
		}
		v.Reasons = append(v.Reasons, "no outcome applies")
	}
}

// worsen sets the state, unless it is worse already: fail, then undecided, then pass.
func (v *Verdict) worsen(s State) {
	if v.State != Fail && s != Pass {
		v.State = s
	}
}

// value returns a result as a rule reads it, and a note if it is undefined.
func (v view) value(r Rule, x call) (analyse.Number, string) {
	if len(v.instead) > 0 {
		if value, ok := v.instead[x.String()]; ok {
			return analyse.Number(value), ""
		}
	}
	f := x.read(v, x.args)
	switch {
	case v.hopeful && x.evidence:
		return f.other, f.note
	case v.hopeful && r.Evidence && x.ends[0] != "" && f.basis.Interval != nil:
		return analyse.Number([2]float64{f.basis.Interval.Low, f.basis.Interval.High}[v.end]), ""
	}
	return f.value, f.note
}

// decide applies a rule, and says what the values of the condition rest on.
func (r Rule) decide(a *analyse.Analysis) Condition {
	c := r.apply(a)
	if r.Kind != Diagnosis {
		r.byJudge(a, &c)
	}
	r.explain(a, &c)
	return c
}

// apply evaluates a rule: it passes if the intervals it reads lie within its limits and
// fails if they lie outside. Between the two it is undecided and open, and without a
// result it cannot be decided.
func (r Rule) apply(a *analyse.Analysis) Condition {
	c := Condition{Name: r.Name, Kind: r.Kind, That: r.That, State: Pass}
	if r.program == nil {
		return c
	}
	r.settle(&c, a)
	left := r.unscored(a, c.State)
	if left == "" && (c.State == Pass && r.Passes || c.State == Fail && r.Kind == Outcome && !r.Passes) {
		left = r.unread(a)
	}
	if left != "" {
		c.State, c.Open, c.Reason = Undecided, false, left
	}
	return c
}

// settle decides a rule by an analysis without regard to missing scores.
func (r Rule) settle(c *Condition, a *analyse.Analysis) {
	v := view{Analysis: a}
	if c.State, c.Values, c.Reason = r.evaluate(v); c.State == Fail && r.possible(v) {
		c.State, c.Open, c.Reason = Undecided, true, r.tooFew(v, c)
	}
}

// possible reports whether the rule could hold with what the intervals include.
func (r Rule) possible(v view) bool {
	v.hopeful = true
	for v.end = range 2 {
		if state, _, _ := r.evaluate(v); state != Fail {
			return true
		}
	}
	return false
}

// tooFew says what is known of the results that a rule reads by their intervals, and what
// the data leave open.
func (r Rule) tooFew(v view, c *Condition) string {
	var list []string
	for _, x := range r.calls {
		if !x.evidence {
			continue
		}
		s, i := x.String()+" is not settled", x.read(v, x.args).basis.Interval
		if i != nil {
			i.Of = ""
			may := "the truth"
			switch {
			case x.effect():
				may = "d"
			case x.arms() == 2:
				may = "the difference"
			}
			s = v.known(x) + fmt.Sprintf(", so %s may be %.4g to %.4g (%s)", may, i.Low, i.High, i.Name())
		}
		list = with(list, s)
		_, clustered := v.sample(x)
		c.Clustered = c.Clustered || clustered
	}
	return "too few data to tell: " + strings.Join(list, "; ")
}

// known says what was found of the subject of a result: counts of events where it has
// some, and on how many items of how many texts.
func (v view) known(x call) string {
	on, _ := v.sample(x)
	switch {
	case x.apart || len(x.args) < 2:
	case x.arms() == 1:
		e, _ := v.Estimate(x.args[0], x.args[1])
		if m, _ := v.Metric(x.args[1]); m.Max == 1 && m.Min == 0 && e.Den > 1 && whole(e.Num) && whole(e.Den) && math.Abs(float64(e.Num/e.Den-e.Value)) < 1e-9 {
			return fmt.Sprintf("%s of %s is %.4g, %.0f of %.0f, %s", x.args[1], x.args[0], float64(e.Value), float64(e.Num), float64(e.Den), on)
		}
		return fmt.Sprintf("%s of %s is %.4g %s", x.args[1], x.args[0], float64(e.Value), on)
	default:
		c, _ := v.Comparison(x.args[0], x.args[1], x.args[2])
		switch size := math.Abs(float64(c.Diff)); {
		case c.Ties == analyse.Number(c.Pairs) && c.Pairs > 0:
			return fmt.Sprintf("%s and %s have the same %s %s", c.A, c.B, c.Metric, strings.Replace(on, "on ", "on all ", 1))
		case c.Diff == 0:
			return fmt.Sprintf("%s of %s and %s is the same %s", c.Metric, c.A, c.B, on)
		case c.Diff < 0:
			return fmt.Sprintf("%s of %s is %.4g lower than that of %s %s", c.Metric, c.A, size, c.B, on)
		default:
			return fmt.Sprintf("%s of %s is %.4g higher than that of %s %s", c.Metric, c.A, size, c.B, on)
		}
	}
	return x.String() + " is " + fmt.Sprintf("%.4g", float64(x.read(v, x.args).value))
}

func whole(x analyse.Number) bool { return x == analyse.Number(math.Trunc(float64(x))) }

// sample says on how many items of how many clusters a result rests.
func (v view) sample(x call) (on string, clustered bool) {
	if x.apart || len(x.args) < 2 {
		return "", false
	}
	of := x.read(v, x.args).about
	on = "on " + text.Plural(of.n, "item", "items")
	if of.clusters > 0 && of.clusters < of.n {
		return on + " of " + text.Plural(of.clusters, "cluster", "clusters"), true
	}
	return on, false
}

// evaluate evaluates the rule on a view: the state, the values it read, and why it
// is undecided.
func (r Rule) evaluate(v view) (state State, values []Used, reason string) {
	seen := map[string]bool{}
	result, err := expr.Run(r.program, environment(r.uses, r.lower, func(f function, args []string) float64 {
		of := call{f, args}
		x, note := v.value(r, of)
		name := of.String()
		if !seen[name] {
			seen[name] = true
			u := Used{Name: name}
			if x.Defined() {
				value := float64(x)
				u.Value = &value
			} else {
				u.Note = note
				reason = strings.TrimSuffix(name+" is undefined: "+note, ": ")
			}
			values = append(values, u)
		}
		return float64(x)
	}))
	holds, isBool := result.(bool)
	switch {
	case err != nil:
		return Undecided, values, firstLine(err)
	case reason != "" || !isBool:
		return Undecided, values, reason
	case holds:
		return Pass, values, ""
	}
	return Fail, values, ""
}

// explain adds to a condition what its values rest on. It warns if it holds by estimates
// alone, and of what the intervals by which it holds take for granted.
func (r Rule) explain(a *analyse.Analysis, c *Condition) {
	v := view{Analysis: a}
	for _, x := range r.calls {
		if said := x.read(v, x.args).about.caveat; said != "" {
			c.Warnings = with(c.Warnings, "compares other arms: "+said)
		}
		for i := range c.Values {
			u := &c.Values[i]
			if u.Name != x.String() {
				continue
			}
			if u.Basis = x.read(v, x.args).basis; u.Value == nil && u.Interval != nil && u.Interval.Of == "" {
				u.Interval = nil // no result has it
			}
			switch {
			case c.State != Pass || c.Kind == Diagnosis || u.Value == nil:
			case x.evidence:
				if s := v.assuming(x); s != "" {
					c.Warnings = with(c.Warnings, s)
				}
			case !r.exact(u.Name):
				said := r.byEstimateAlone(v, x, *u)
				c.EstimateAlone = c.EstimateAlone || len(said) > 0
				c.Warnings = append(c.Warnings, said...)
			}
		}
	}
}

// assuming is what the interval of a result takes for granted.
func (v view) assuming(x call) string {
	of, arms := x.read(v, x.args).about, x.arms()
	if of.assumes == "" || x.apart {
		return ""
	}
	return fmt.Sprintf("%s of %s: %s", x.args[arms], strings.Join(x.args[:arms], " and "), of.assumes)
}

// exact reports whether a rule asks for one value of a result, which no interval is.
func (r Rule) exact(result string) bool {
	t := r.terms[result]
	return t != nil && (strings.Contains(t.Threshold, "== ") || strings.Contains(t.Threshold, "!= "))
}

// byEstimateAlone warns of an estimate by which a rule holds while it would not hold by an
// end of its interval.
func (r Rule) byEstimateAlone(v view, x call, u Used) []string {
	holdsAt := func(end float64) bool {
		v.instead = map[string]float64{u.Name: end}
		state, _, _ := r.evaluate(v)
		return state == Pass
	}
	holds := fmt.Sprintf("holds by the estimate alone: %s = %.6g", u.Name, *u.Value)
	if u.Interval == nil {
		if x.counts || holdsAt(-math.MaxFloat64) && holdsAt(math.MaxFloat64) {
			return nil
		}
		return []string{holds + ", which has no interval" + u.counted()}
	}
	for i, end := range []float64{u.Interval.Low, u.Interval.High} {
		if holdsAt(end) {
			continue
		}
		s := fmt.Sprintf("%s, not by the %s end of its %s, %.6g%s", holds, [2]string{"lower", "upper"}[i], u.Interval.Name(), end, u.counted())
		if x.ends[i] != "" {
			s += ": use " + x.ends[i] + " to require it"
		}
		return []string{s}
	}
	return nil
}

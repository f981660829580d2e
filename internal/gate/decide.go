package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
)

// Decide applies the rules to an analysis. It reports every condition, also those
// after the first decisive one.
func (r *Rules) Decide(a *analyse.Analysis) Verdict {
	v := Verdict{State: Pass, SimulatedJudges: a.SimulatedJudges}
	for _, arm := range a.Arms {
		if arm.Simulated {
			v.SimulatedArms = append(v.SimulatedArms, arm.ID)
		}
	}
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
	if !a.Run.Complete() && !a.Run.AtLook {
		v.State = Undecided
		reason := fmt.Sprintf("the run is incomplete: %d of %d trials done", a.Run.Done, a.Run.Planned)
		if a.Run.Unjudged > 0 {
			reason += fmt.Sprintf("; the judge has not judged %d of them", a.Run.Unjudged)
		}
		v.Reasons = append(v.Reasons, reason)
	}
	if share, of := a.WorstFailures(); share > a.Run.MaxFailed {
		v.State, v.Broken = Undecided, true
		v.Reasons = append(v.Reasons, fmt.Sprintf("%.1f %% of %s, the limit is %.1f %%: retry them with `%s`",
			100*share, of, 100*a.Run.MaxFailed, a.Run.Retry()))
	}
	if v.State != Pass {
		v.limitAdvice(r.outcomes)
		r.diagnose(a, &v)
	}
	return v
}

// limitAdvice marks the advice of a passing outcome where the gate does not pass: it does not
// apply, or is provisional.
func (v *Verdict) limitAdvice(outcomes []class) {
	i := slices.IndexFunc(outcomes, func(c class) bool { return c.Name == v.Outcome })
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
	for _, d := range r.diagnoses {
		c := d.apply(a)
		if c.State == Undecided {
			undecided = append(undecided, d.Name)
		}
		d.explain(a, &c)
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
	for _, rule := range r.require {
		c := rule.apply(a)
		rule.byJudge(a, &c)
		rule.explain(a, &c)
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

// decideOutcome finds the first class that applies. One that reads something undefined
// ends the search, since a later one might not be the first. One that is neither shown nor
// excluded does not: its evidence is missing. But a class for the rest cannot fail the gate
// while one that passes is still open.
func (r *Rules) decideOutcome(a *analyse.Analysis, v *Verdict) {
	settled, open := false, ""
	for _, class := range r.outcomes {
		c := class.apply(a)
		class.byJudge(a, &c)
		class.explain(a, &c)
		if settled {
			c.Warnings = nil // it has no effect
		}
		v.Conditions = append(v.Conditions, c)
		switch {
		case settled || c.State == Fail:
		case c.Open:
			if open == "" && class.state == Pass {
				open = fmt.Sprintf("outcome %q is neither shown nor excluded: %s", class.Name, c.Reason)
			}
		case c.State == Undecided:
			settled = true
			v.worsen(Undecided)
			v.Reasons = append(v.Reasons, fmt.Sprintf("outcome %q cannot be decided: %s", class.Name, c.Reason))
		default:
			settled = true
			v.Outcome, v.Advice = class.Name, class.advice
			state := class.state
			if state == Fail && class.program == nil && open != "" {
				state = Undecided
				v.Reasons = append(v.Reasons, open)
			}
			v.worsen(state)
			if class.state != Pass {
				v.Reasons = append(v.Reasons, fmt.Sprintf("the outcome is %q", class.Name))
			}
		}
	}
	if len(r.outcomes) > 0 && !settled {
		v.worsen(Undecided)
		v.Reasons = append(v.Reasons, nonEmpty(open, "no outcome applies")...)
	}
}

func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

// worsen returns the worse state: fail, then undecided, then pass.
func (v *Verdict) worsen(s State) {
	if v.State != Fail && s != Pass {
		v.State = s
	}
}

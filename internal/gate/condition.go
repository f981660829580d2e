package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
)

// A view is the results that a rule reads: those of an analysis, or what they would
// be by another reading of the same data.
type view struct {
	estimate   func(arm, metric string) (analyse.Estimate, bool)
	comparison func(a, b, metric string) (analyse.Comparison, bool)
	arm        func(id string) (analyse.Arm, bool)

	// These are the same by every reading.
	strata      func(a, b, metric, factor string) []analyse.Comparison
	replication func(a, b, metric string) (analyse.Replication, bool)
	blind       []analyse.BlindResult
	estimateIn  func(arm, metric string, stratum eval.Level) (analyse.Estimate, bool)
	agreement   func(task string) (analyse.Agreement, bool)
	interaction func(a, b, metric, factor string) (analyse.Interaction, bool)
	registered  bool
	alpha       float64

	instead map[string]float64 // of results, by name
}

func viewOf(a *analyse.Analysis) view {
	return view{estimate: a.Estimate, comparison: a.Comparison, arm: func(id string) (analyse.Arm, bool) {
		i := slices.IndexFunc(a.Arms, func(arm analyse.Arm) bool { return arm.ID == id })
		if i < 0 {
			return analyse.Arm{}, false
		}
		return a.Arms[i], true
	}, strata: a.Strata, replication: a.Replication, blind: a.Blind, estimateIn: a.EstimateIn, agreement: a.Agreement, interaction: a.Interaction,
		registered: a.Discipline.AsRegistered(), alpha: a.Study.Alpha}
}

// planned returns the view of the planned tests by themselves.
func (v view) planned() view {
	comparison := v.comparison
	v.comparison = func(a, b, metric string) (analyse.Comparison, bool) {
		c, ok := comparison(a, b, metric)
		return c.AsPlanned(), ok
	}
	return v
}

// hopeful returns the view with the ends of intervals exchanged and p-values of 0: a
// rule that asks for evidence and does not hold here either is contradicted.
func (v view) hopeful() view {
	estimate, comparison := v.estimate, v.comparison
	v.estimate = func(arm, metric string) (analyse.Estimate, bool) {
		e, ok := estimate(arm, metric)
		e.Low, e.High = e.High, e.Low
		return e, ok
	}
	v.comparison = func(a, b, metric string) (analyse.Comparison, bool) {
		c, ok := comparison(a, b, metric)
		c.Low, c.High, c.DLow, c.DHigh = c.High, c.Low, c.DHigh, c.DLow
		c.P, c.PAdjusted = 0, 0
		c.EquivLow, c.EquivHigh = c.EquivHigh, c.EquivLow
		if c.EquivLow > 0 && c.EquivHigh < 0 {
			c.EquivLow, c.EquivHigh = 0, 0 // no difference is among the possible ones
		}
		return c, ok
	}
	return v
}

// extreme returns the view if some arms had the best scores, or the worst, and no
// failures, and the others what they have. Results without a limit are undefined.
func (v view) extreme(changed map[string]bool, best bool) view {
	estimate, comparison, arm := v.estimate, v.comparison, v.arm
	u := analyse.Undefined()
	v.estimate = func(id, metric string) (analyse.Estimate, bool) {
		e, ok := estimate(id, metric)
		if !changed[id] {
			return e, ok
		}
		b := e.Worst
		if best {
			b = e.Best
		}
		e.Value, e.Low, e.High, e.Warnings = u, u, u, nil
		if b != nil {
			e.Value, e.Low, e.High = b.Value, b.Low, b.High
		}
		return e, ok
	}
	v.comparison = func(a, b, metric string) (analyse.Comparison, bool) {
		c, ok := comparison(a, b, metric)
		if !changed[a] && !changed[b] {
			return c, ok
		}
		r := analyse.Reading{Diff: u, Low: u, High: u, P: u, PAdjusted: u, EquivLow: u, EquivHigh: u}
		switch {
		case c.Clusters < 2: // nothing can be shown
			r = analyse.Reading{Diff: c.Diff, Low: -math.MaxFloat64, High: math.MaxFloat64, P: 1, PAdjusted: 1, EquivLow: -math.MaxFloat64, EquivHigh: math.MaxFloat64}
		case c.Reach == nil:
		case changed[a] && changed[b]:
			r = c.Reach.Same
		case changed[a] && best:
			r = c.Reach.BestA
		case changed[a]:
			r = c.Reach.WorstA
		case best:
			r = c.Reach.BestB
		default:
			r = c.Reach.WorstB
		}
		c = c.By(r)
		c.D, c.DLow, c.DHigh, c.Warnings = u, u, u, nil
		return c, ok
	}
	v.arm = func(id string) (analyse.Arm, bool) {
		a, ok := arm(id)
		if changed[id] {
			a.Failed, a.Malformed, a.Refused = 0, 0, 0
		}
		return a, ok
	}
	return v
}

// apply evaluates a rule. It is undecided if a result it reads is undefined, if the
// planned test by itself says otherwise, or if it does not hold but no scores could
// have met it with these items, unless the intervals contradict it.
func (r rule) apply(kind string, a *analyse.Analysis) Condition {
	c := Condition{Name: r.name, Kind: kind, That: r.text, State: Pass}
	if r.program == nil {
		return c
	}
	v := viewOf(a)
	c.State, c.Values, c.Reason = r.evaluate(v)
	if left := r.judgeFailed(a); left != "" {
		c.State, c.Reason = Undecided, left
	}
	if c.State == Undecided {
		return c
	}
	planned, _, _ := r.evaluate(v.planned())
	switch {
	case planned != Undecided && planned != c.State:
		c.Reason = r.disagreement(v, c.State)
		c.State = Undecided
	case c.State == Fail && !r.reachable(v):
		if hopeful, _, _ := r.evaluate(v.hopeful()); hopeful != Fail {
			c.State = Undecided
			c.Reason = "with this number of items no scores of one of its arms could meet the rule, the others being as they are"
		}
	}
	return c
}

// judgeFailed says which metric that the rule reads lacks scores because the judge
// failed its calibration; "" if none does. What is left of such a metric is of the other
// items only.
func (r rule) judgeFailed(a *analyse.Analysis) string {
	for _, e := range a.Estimates {
		if e.JudgeFailed > 0 && r.readsScores(e.Arm, e.Metric) {
			return fmt.Sprintf("%s: %s of %s lacks %d of its scores", eval.JudgeFailed, e.Metric, e.Arm, e.JudgeFailed)
		}
	}
	return ""
}

// readsScores reports whether a rule reads a metric of an arm.
func (r rule) readsScores(arm, metric string) bool {
	return slices.Contains(r.estimates, [2]string{arm, metric}) || slices.Contains(r.across, metric) ||
		slices.ContainsFunc(r.pairs, func(p [3]string) bool { return p[2] == metric && (p[0] == arm || p[1] == arm) })
}

// evaluate evaluates the rule on a view: the state, the values it read, and why it
// is undecided.
func (r rule) evaluate(v view) (state State, values []Used, reason string) {
	seen := map[string]bool{}
	result, err := expr.Run(r.program, environment(r.uses, func(f function, args []string) float64 {
		x, note := f.read(v, args)
		name := resultName(f, args)
		if y, ok := v.instead[name]; ok {
			return y
		}
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
		if !x.Defined() {
			return math.NaN()
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

// disagreement says which readings of the comparisons of the rule disagree.
func (r rule) disagreement(v view, state State) string {
	var with, without []string
	for _, p := range r.pairs {
		if c, ok := v.comparison(p[0], p[1], p[2]); ok && c.Planned != nil {
			with, without = append(with, c.Method), append(without, c.Planned.Method)
		}
	}
	yes, no := without, with
	if state == Pass {
		yes, no = with, without
	}
	return "two readings of the same data disagree: it holds by " + joined(yes) + ", not by " + joined(no)
}

func joined(methods []string) string {
	slices.Sort(methods)
	return strings.Join(slices.Compact(methods), " and ")
}

// mostArms bounds the combinations of arms that are tried.
const mostArms = 8

// reachable reports whether any scores of some of the arms that a rule names could
// meet it, with the items and the other arms as they are.
func (r rule) reachable(v view) bool {
	if r.apart || len(r.arms) > mostArms {
		return true
	}
	for mask := 1; mask < 1<<len(r.arms); mask++ {
		changed := map[string]bool{}
		for i, arm := range r.arms {
			if mask>>i&1 == 1 {
				changed[arm] = true
			}
		}
		for _, best := range []bool{true, false} {
			if state, _, _ := r.evaluate(v.extreme(changed, best)); state != Fail {
				return true
			}
		}
	}
	return false
}

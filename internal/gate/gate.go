package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
)

// A function is a named result for rules: of one arm and a metric, two arms and a
// metric, one arm, or none.
type function struct {
	name          string
	arms, metrics int
	factor        bool        // takes the name of a stratum behind the metric
	level         bool        // the stratum is one of those of the name, as name=value
	across        bool        // takes a comparison of the study by its names, a metric and a factor
	task          bool        // takes the name of a task of annotation alone
	apart         bool        // its value is not that of an estimate or a comparison
	outside       bool        // its value does not come from the scores of the run
	evidence      bool        // a p-value or the end of an interval
	counts        bool        // a number of items, about which there is no chance
	within        []*function // lower and upper end: it takes a number behind the names and is true or false
	ends          [2]string   // functions with the ends of its interval
	usage         string
	doc           string
	read          func(v view, args []string) (analyse.Number, string)
	other         func(v view, args []string) (analyse.Number, string) // of evidence: the other end
	basis         func(v view, args []string) Basis                    // nil for none
}

// functions lists all of them; the documentation is generated from it.
var functions = []function{
	ends("low", "high", ofArm("value", "the estimate", func(e analyse.Estimate) analyse.Number { return e.Value })),
	endOfArm("low", "lower end of its interval", lowOf, highOf),
	endOfArm("high", "upper end of its interval", highOf, lowOf),
	counts(ofArm("n", "number of items", func(e analyse.Estimate) analyse.Number { return analyse.Number(e.Items) })),
	ends("diff_low", "diff_high", ofPair("diff", "difference, first minus second", func(c analyse.Comparison) analyse.Number { return c.Diff })),
	endOfPair(view.diffBasis, "diff_low", "lower end of its interval", diffLow, diffHigh),
	endOfPair(view.diffBasis, "diff_high", "upper end of its interval", diffHigh, diffLow),
	ofTest(ofPair("p", "two-sided p-value, not corrected", func(c analyse.Comparison) analyse.Number { return c.P })),
	ofTest(ofPair("p_adjusted", "p-value, corrected where any of several comparisons would do for the rules", corrected)),
	ends("d_low", "d_high", ofPairBy(effectBasis, "d", "Cohen's d for pairs", func(c analyse.Comparison) analyse.Number { return c.D })),
	endOfPair(effectBasis, "d_low", "lower end of its interval", effectLow, effectHigh),
	endOfPair(effectBasis, "d_high", "upper end of its interval", effectHigh, effectLow),
	equivLow, equivHigh,
	{name: "within", arms: 2, metrics: 1, evidence: true, within: []*function{&equivLow, &equivHigh}, usage: "within('arm a', 'arm b', 'metric', margin)",
		doc: "true where two one-sided tests (TOST) show that the arms differ by less than the margin"},
	counts(ofPair("pairs", "items with results in both arms", func(c analyse.Comparison) analyse.Number { return analyse.Number(c.Pairs) })),
	withoutInterval(apart(ofArm("sd", "standard deviation between items", func(e analyse.Estimate) analyse.Number { return e.SD }))),
	ofStrata("diff_max", "largest difference in a stratum, such as 'doc_type'", func(c []analyse.Comparison) analyse.Number {
		return most(c, func(c analyse.Comparison) analyse.Number { return c.Diff })
	}),
	ofStrata("diff_min", "smallest difference in a stratum", func(c []analyse.Comparison) analyse.Number {
		return -most(c, func(c analyse.Comparison) analyse.Number { return -c.Diff })
	}),
	evidence(ofStrata("p_min", "smallest p-value of the strata in which the first arm scores more, times the number of strata", bonferroni), nil),
	ofAcross("p_across", "p-value of the test that the difference is the same at all levels of a factor, such as 'model'", func(r analyse.Interaction) analyse.Number { return r.P }),
	ofAcross("across_spread", "the differences at all levels differ by less than this (two one-sided tests)", analyse.Interaction.Spread),
	{name: "diff_in", arms: 2, metrics: 1, factor: true, level: true, apart: true, usage: "diff_in('arm a', 'arm b', 'metric', 'stratum=value')", doc: "difference in one stratum",
		read: func(v view, args []string) (analyse.Number, string) {
			name, value, _ := strings.Cut(args[3], "=")
			for _, c := range v.Strata(args[0], args[1], args[2], name) {
				if c.Stratum.Value == value {
					return c.Diff, ""
				}
			}
			return analyse.Undefined(), "the study does not compare the arms by this metric there"
		},
		basis: func(v view, args []string) Basis {
			name, value, _ := strings.Cut(args[3], "=")
			for _, c := range v.Strata(args[0], args[1], args[2], name) {
				if c.Stratum.Value == value {
					return v.diffBasis(c)
				}
			}
			return Basis{}
		}},
	{name: "value_in", arms: 1, metrics: 1, factor: true, level: true, apart: true, usage: "value_in('arm', 'metric', 'stratum=value')", doc: "the estimate in one stratum",
		read: func(v view, args []string) (analyse.Number, string) {
			name, value, _ := strings.Cut(args[2], "=")
			e, ok := v.EstimateIn(args[0], args[1], eval.Level{Name: name, Value: value})
			if !ok {
				return analyse.Undefined(), "no such estimate"
			}
			return e.Value, ""
		},
		basis: func(v view, args []string) Basis {
			name, value, _ := strings.Cut(args[2], "=")
			e, _ := v.EstimateIn(args[0], args[1], eval.Level{Name: name, Value: value})
			return v.estimateBasis(e)
		}},
	{name: "agreement", task: true, apart: true, outside: true, usage: "agreement('task')", doc: "smallest share of equal answers of two people to a task, of its questions",
		read: func(v view, args []string) (analyse.Number, string) {
			least, ok := v.Agreement(args[0])
			if !ok {
				return analyse.Undefined(), "no two people answered the same subjects"
			}
			return least.Share(), ""
		},
		basis: func(v view, args []string) Basis {
			least, _ := v.Agreement(args[0])
			return Basis{N: &least.N, Of: "subjects"}
		}},
	ends("change_low", "change_high", ofChange("change", "change of the difference since the study that this one replicates", func(r analyse.Replication) analyse.Number { return r.Change })),
	changeLow, changeHigh,
	{name: "replicates", arms: 2, metrics: 1, apart: true, evidence: true, within: []*function{&changeLow, &changeHigh}, usage: "replicates('arm a', 'arm b', 'metric', margin)",
		doc: "true where two one-sided tests show that the difference changed by less than the margin"},
	ends("change_in_low", "change_in_high", inStratum("change_in", "the same for the items of one stratum of this run", ofChange("change", "", func(r analyse.Replication) analyse.Number { return r.Change }))),
	changeInLow, changeInHigh,
	{name: "replicates_in", arms: 2, metrics: 1, factor: true, level: true, apart: true, evidence: true, within: []*function{&changeInLow, &changeInHigh}, usage: "replicates_in('arm a', 'arm b', 'metric', 'stratum=value', margin)",
		doc: "replicates for the items of one stratum, such as 'source=public'"},
	{name: "registered", apart: true, outside: true, usage: "registered()", doc: "1 if the run is a TEST run as it was registered, without an unblinding, else 0",
		read: func(v view, _ []string) (analyse.Number, string) {
			if v.Discipline.AsRegistered() {
				return 1, ""
			}
			return 0, ""
		}},
	{name: "blind_runs", apart: true, outside: true, usage: "blind_runs()", doc: "number of blind validations by outsiders",
		read: func(v view, _ []string) (analyse.Number, string) { return analyse.Number(len(v.Blind)), "" }},
	ofBlind("blind_min", "smallest difference in a blind validation", func(a, b analyse.Number) bool { return a < b }),
	ofBlind("blind_max", "largest difference in a blind validation", func(a, b analyse.Number) bool { return a > b }),
	ofTrials("failed", "share of trials that failed", func(a analyse.Arm) int { return a.Failed }),
	ofTrials("malformed", "share of answers that do not parse", func(a analyse.Arm) int { return a.Malformed }),
	ofTrials("refused", "share of answers that were refusals", func(a analyse.Arm) int { return a.Refused }),
}

// The ends of intervals. The two one-sided tests of within and replicates use those of
// level 1 − 2α.
var (
	lowOf      = func(e analyse.Estimate) analyse.Number { return e.Low }
	highOf     = func(e analyse.Estimate) analyse.Number { return e.High }
	diffLow    = func(c analyse.Comparison) analyse.Number { return c.Low }
	diffHigh   = func(c analyse.Comparison) analyse.Number { return c.High }
	effectLow  = func(c analyse.Comparison) analyse.Number { return c.DLow }
	effectHigh = func(c analyse.Comparison) analyse.Number { return c.DHigh }
	lowest     = func(c analyse.Comparison) analyse.Number { return c.EquivLow }
	highest    = func(c analyse.Comparison) analyse.Number { return c.EquivHigh }
	equivLow   = endOfPair(equivalenceBasis, "equiv_low", "lower end of the 1 − 2α interval of the difference", lowest, highest)
	equivHigh  = endOfPair(equivalenceBasis, "equiv_high", "upper end of the 1 − 2α interval of the difference", highest, lowest)

	changedLow  = func(r analyse.Replication) analyse.Number { return r.EquivLow }
	changedHigh = func(r analyse.Replication) analyse.Number { return r.EquivHigh }
	changeLow   = evidence(ofChange("change_low", "lower end of the 1 − 2α interval of the change", changedLow), ofChange("", "", changedHigh).read)
	changeHigh  = evidence(ofChange("change_high", "upper end of the 1 − 2α interval of the change", changedHigh), ofChange("", "", changedLow).read)

	changeInLow  = inStratum("change_in_low", "lower end of its 1 − 2α interval", changeLow)
	changeInHigh = inStratum("change_in_high", "upper end of its 1 − 2α interval", changeHigh)
)

// corrected is the p-value after the correction, if the rules need one.
func corrected(c analyse.Comparison) analyse.Number {
	if c.PAdjusted.Defined() {
		return c.PAdjusted
	}
	return c.P
}

func endOfArm(name, doc string, end, other func(analyse.Estimate) analyse.Number) function {
	return evidence(ofArm(name, doc, end), ofArm("", "", other).read)
}

func endOfPair(basis func(view, analyse.Comparison) Basis, name, doc string, end, other func(analyse.Comparison) analyse.Number) function {
	return evidence(ofPairBy(basis, name, doc, end), ofPair("", "", other).read)
}

func apart(f function) function {
	f.apart = true
	return f
}

// ends names the functions with the ends of the interval.
func ends(low, high string, f function) function {
	f.ends = [2]string{low, high}
	return f
}

// ofTest marks a p-value: its basis is the interval of the difference.
func ofTest(f function) function {
	basis := f.basis
	f.basis = func(v view, args []string) Basis { return basis(v, args).of("difference") }
	return evidence(f, nil)
}

// evidence marks a p-value or the end of an interval, and names the other end: what the
// result could be if the truth were as good as the data allow. That of a p-value is 0.
func evidence(f function, other func(view, []string) (analyse.Number, string)) function {
	f.evidence, f.other = true, other
	if other == nil {
		f.other = func(view, []string) (analyse.Number, string) { return 0, "" }
	}
	return f
}

func counts(f function) function {
	f.counts, f.basis = true, nil
	return f
}

func ofStrata(name, doc string, get func([]analyse.Comparison) analyse.Number) function {
	return function{name: name, arms: 2, metrics: 1, factor: true, apart: true, usage: name + "('arm a', 'arm b', 'metric', 'stratum')", doc: doc,
		read: func(v view, args []string) (analyse.Number, string) {
			list := v.Strata(args[0], args[1], args[2], args[3])
			if len(list) == 0 {
				return analyse.Undefined(), "the study does not compare the arms by this metric in strata of " + args[3]
			}
			return get(list), ""
		},
		basis: func(v view, args []string) Basis { // that of the stratum with the value
			list := v.Strata(args[0], args[1], args[2], args[3])
			x := get(list)
			for _, c := range list {
				if get([]analyse.Comparison{c}) == x {
					return v.diffBasis(c)
				}
			}
			return Basis{}
		}}
}

// most returns the largest of the defined results of strata.
func most(list []analyse.Comparison, get func(analyse.Comparison) analyse.Number) analyse.Number {
	best := analyse.Undefined()
	for _, c := range list {
		if x := get(c); x.Defined() && (!best.Defined() || x > best) {
			best = x
		}
	}
	return best
}

// bonferroni corrects for the choice of the stratum; 1 if the first arm scores more in
// none.
func bonferroni(list []analyse.Comparison) analyse.Number {
	best := analyse.Number(1)
	for _, c := range list {
		if c.Diff > 0 && c.P.Defined() {
			best = min(best, c.P*analyse.Number(len(list)))
		}
	}
	return best
}

func ofAcross(name, doc string, get func(analyse.Interaction) analyse.Number) function {
	return evidence(function{name: name, across: true, apart: true, usage: name + "('a', 'b', 'metric', 'factor')", doc: doc,
		read: func(v view, args []string) (analyse.Number, string) {
			r, ok := v.Interaction(args[0], args[1], args[2], args[3])
			if !ok {
				return analyse.Undefined(), "the study does not compare the difference across " + args[3]
			}
			return get(r), strings.Join(r.Warnings, "; ")
		}}, nil)
}

func ofChange(name, doc string, get func(analyse.Replication) analyse.Number) function {
	return function{name: name, arms: 2, metrics: 1, apart: true, usage: name + "('arm a', 'arm b', 'metric')", doc: doc,
		read: func(v view, args []string) (analyse.Number, string) {
			r, ok := v.Replication(args[0], args[1], args[2], levelOf(args[3:]))
			if !ok {
				return analyse.Undefined(), "there is no finished run of the study that this one replicates, or it does not compare the arms"
			}
			x := get(r)
			if x.Defined() {
				return x, ""
			}
			return x, r.Warning
		},
		basis: func(v view, args []string) Basis {
			r, _ := v.Replication(args[0], args[1], args[2], levelOf(args[3:]))
			b := basisOf(0, "", r.EquivLow, r.EquivHigh, 1-2*v.Study.Alpha)
			b.N = nil
			return b
		}}
}

// inStratum is a change in one stratum of this run.
func inStratum(name, doc string, f function) function {
	f.name, f.doc, f.factor, f.level = name, doc, true, true
	f.usage = name + "('arm a', 'arm b', 'metric', 'stratum=value')"
	return f
}

// levelOf is the stratum that a function names, if it names one.
func levelOf(names []string) *eval.Level {
	if len(names) == 0 {
		return nil
	}
	name, value, _ := strings.Cut(names[0], "=")
	return &eval.Level{Name: name, Value: value}
}

func ofBlind(name, doc string, better func(a, b analyse.Number) bool) function {
	find := func(v view, args []string) (best analyse.BlindComparison) {
		best.Diff = analyse.Undefined()
		for _, b := range v.Blind {
			if c, ok := b.Comparison(args[0], args[1], args[2]); ok && (!best.Diff.Defined() || better(c.Diff, best.Diff)) {
				best = c
			}
		}
		return best
	}
	return function{name: name, arms: 2, metrics: 1, apart: true, outside: true, usage: name + "('arm a', 'arm b', 'metric')", doc: doc,
		read: func(v view, args []string) (analyse.Number, string) {
			return find(v, args).Diff, "no blind validation has the comparison"
		},
		basis: func(v view, args []string) Basis {
			c := find(v, args)
			return basisOf(c.Pairs, "pairs", c.Low, c.High, 0) // the level is the outsider's
		}}
}

func ofArm(name, doc string, get func(analyse.Estimate) analyse.Number) function {
	return function{name: name, arms: 1, metrics: 1, usage: name + "('arm', 'metric')", doc: doc, read: func(v view, args []string) (analyse.Number, string) {
		e, ok := v.Estimate(args[0], args[1])
		if !ok {
			return analyse.Undefined(), "no such estimate"
		}
		return get(e), strings.Join(e.Warnings, "; ")
	}, basis: func(v view, args []string) Basis {
		e, _ := v.Estimate(args[0], args[1])
		return v.estimateBasis(e)
	}}
}

func ofPair(name, doc string, get func(analyse.Comparison) analyse.Number) function {
	return ofPairBy(view.diffBasis, name, doc, get)
}

// ofPairBy is [ofPair] with another interval than that of the difference.
func ofPairBy(basis func(view, analyse.Comparison) Basis, name, doc string, get func(analyse.Comparison) analyse.Number) function {
	return function{name: name, arms: 2, metrics: 1, usage: name + "('arm a', 'arm b', 'metric')", doc: doc, read: func(v view, args []string) (analyse.Number, string) {
		c, ok := v.Comparison(args[0], args[1], args[2])
		if !ok {
			return analyse.Undefined(), "no such comparison"
		}
		if c.Method == analyse.Descriptive {
			return get(c), c.Method
		}
		return get(c), strings.Join(c.Warnings, "; ")
	}, basis: func(v view, args []string) Basis {
		c, _ := v.Comparison(args[0], args[1], args[2])
		return basis(v, c)
	}}
}

func ofTrials(name, doc string, get func(analyse.Arm) int) function {
	return function{name: name, arms: 1, usage: name + "('arm')", doc: doc, read: func(v view, args []string) (analyse.Number, string) {
		arm, ok := v.arm(args[0])
		if !ok || arm.Planned == 0 {
			return analyse.Undefined(), "the arm has no trials"
		}
		return analyse.Number(float64(get(arm)) / float64(arm.Planned)), ""
	}, basis: func(v view, args []string) Basis {
		arm, _ := v.arm(args[0])
		return Basis{N: &arm.Planned, Of: "trials"}
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

// environment returns functions for expressions; use evaluates them.
func environment(list []function, use func(f function, args []string) float64) map[string]any {
	env := map[string]any{}
	for _, f := range list {
		env[f.name] = func(args ...string) float64 { return use(f, args) } // the checker counts them
		if f.within == nil {
			continue
		}
		within := func(margin float64, args ...string) bool {
			low, high := use(*f.within[0], args), use(*f.within[1], args)
			return low > -margin && high < margin
		}
		env[f.name] = func(a, b, metric string, margin float64) bool { return within(margin, a, b, metric) }
		if f.level {
			env[f.name] = func(a, b, metric, stratum string, margin float64) bool { return within(margin, a, b, metric, stratum) }
		}
	}
	return env
}

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
	}
	if !a.Run.OnDev() {
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
	i := slices.IndexFunc(outcomes, func(c class) bool { return c.name == v.Outcome })
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
		c := d.apply("diagnosis", a)
		if c.State == Undecided {
			undecided = append(undecided, d.name)
		}
		d.explain(a, &c)
		if d.program == nil && v.Diagnosis != "" {
			c.State = Fail // otherwise
		}
		v.Conditions = append(v.Conditions, c)
		if c.State == Pass && v.Diagnosis == "" {
			v.Diagnosis, v.DiagnosisAdvice = d.name, d.advice
			if d.program == nil && len(undecided) > 0 {
				v.DiagnosisAdvice = strings.TrimSpace(v.DiagnosisAdvice + " Not decided: " + strings.Join(undecided, ", ") + ".")
			}
		}
	}
}

func (r *Rules) decideRequired(a *analyse.Analysis, v *Verdict) {
	for _, rule := range r.require {
		c := rule.apply("require", a)
		rule.byJudge(a, &c)
		rule.explain(a, &c)
		v.Conditions = append(v.Conditions, c)
		switch {
		case c.State == Fail:
			v.State = Fail
			v.Reasons = append(v.Reasons, fmt.Sprintf("%q does not hold", rule.name))
		case c.State == Undecided:
			v.worsen(Undecided)
			v.Reasons = append(v.Reasons, fmt.Sprintf("%q cannot be decided: %s", rule.name, c.Reason))
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
		c := class.apply("outcome", a)
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
				open = fmt.Sprintf("outcome %q is neither shown nor excluded: %s", class.name, c.Reason)
			}
		case c.State == Undecided:
			settled = true
			v.worsen(Undecided)
			v.Reasons = append(v.Reasons, fmt.Sprintf("outcome %q cannot be decided: %s", class.name, c.Reason))
		default:
			settled = true
			v.Outcome, v.Advice = class.name, class.advice
			state := class.state
			if state == Fail && class.program == nil && open != "" {
				state = Undecided
				v.Reasons = append(v.Reasons, open)
			}
			v.worsen(state)
			if class.state != Pass {
				v.Reasons = append(v.Reasons, fmt.Sprintf("the outcome is %q", class.name))
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

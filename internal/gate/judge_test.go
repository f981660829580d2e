package gate_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/study"
)

// TestJudgeAlone: a rule that rests on a judge whom people did not correct says which error of the
// judge would reverse it, and is undecided if the study asks for people.
func TestJudgeAlone(t *testing.T) {
	judged := func(ctn, plain bool) *analyse.Analysis {
		a := analysis(0.1, 0.01, 0.5) // the interval is 0.08 to 0.12
		a.Metrics = []analyse.Metric{{Name: "composite", Min: 0, Max: 1}}
		a.Estimates[0].JudgeAlone, a.Estimates[1].JudgeAlone = ctn, plain
		return a
	}
	for name, test := range map[string]struct {
		that, want string
		state      gate.State
		a          *analyse.Analysis
	}{
		"difference":     {"diff_low('ctn','plain','composite') > 0", "a difference of 8 points between its errors on ctn and on plain would reverse this", gate.Pass, judged(true, true)},
		"one arm":        {"diff_low('ctn','plain','composite') > 0", "rests on the judge alone for composite of plain:", gate.Pass, judged(false, true)},
		"other way":      {"diff_low('plain','ctn','composite') > -0.15", "a difference of 3 points between its errors on plain and on ctn", gate.Pass, judged(true, true)},
		"p":              {"p('ctn','plain','composite') < 0.05", "a difference of 8 points between", gate.Pass, judged(true, true)},
		"equivalence":    {"diff_high('ctn','plain','composite') < 0.5", "a difference of 38 points between", gate.Pass, judged(true, true)},
		"a limit":        {"low('ctn','composite') > 0.7", "an error of 5 points on ctn would reverse this", gate.Pass, judged(true, false)},
		"the other's":    {"low('ctn','composite') > 0.7", "", gate.Pass, judged(false, true)},
		"failed":         {"high('ctn','composite') < 0.7", "an error of 5 points on ctn would reverse this", gate.Fail, judged(true, true)},
		"checked":        {"diff_low('ctn','plain','composite') > 0", "", gate.Pass, judged(false, false)},
		"a width":        {"high('ctn','composite') - low('ctn','composite') < 0.2", "", gate.Pass, judged(true, true)},
		"whatever it is": {"n('ctn','composite') > 10", "", gate.Pass, judged(true, true)},
	} {
		c := compile(t, rule(test.that)).Decide(test.a).Conditions[0]
		if got := strings.Join(c.Warnings, "\n"); c.State != test.state || !strings.Contains(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%s: %s %q, want %q", name, c.State, got, test.want)
		}
	}
	strict := rule("diff_low('ctn','plain','composite') > 0")
	strict.RequireMeasured = true
	v := compile(t, strict).Decide(judged(true, true))
	if v.State != gate.Undecided || v.ExitCode() != 3 || !strings.Contains(strings.Join(v.Reasons, " "), "require_measured asks for people's verdicts") {
		t.Errorf("require_measured: %+v", v)
	}
	if v := compile(t, strict).Decide(judged(false, false)); v.State != gate.Pass {
		t.Errorf("require_measured with people's verdicts: %+v", v)
	}
	outcome := study.Decide{RequireMeasured: true, Outcomes: []study.Class{{Name: "A", When: "diff_low('ctn','plain','composite') > 0", Verdict: "pass"}, {Name: "B", Verdict: "fail"}}}
	if v := compile(t, outcome).Decide(judged(true, true)); v.State != gate.Undecided {
		t.Errorf("an outcome by the judge alone: %+v", v)
	}
}

// TestCorrected: a rule reads what people corrected if it reads scores of such an arm and metric.
func TestCorrected(t *testing.T) {
	a := analysis(0.1, 0.01, 0.5)
	for that, reads := range map[string]bool{"diff_low('ctn','plain','composite') > 0": true, "low('ctn','composite') > 0.7": true, "low('plain','composite') > 0.5": false} {
		for _, corrected := range []bool{false, true} {
			if a.Estimates[0].ByJudge = nil; corrected {
				a.Estimates[0].ByJudge = &eval.Measured{N: 22}
			}
			for _, r := range compile(t, rule(that)).All() {
				if got := r.Corrected(a); got != (reads && corrected) {
					t.Errorf("%s, corrected %v: %v", that, corrected, got)
				}
			}
		}
	}
}

// TestPeopleDiffer: a rule on scores that people corrected without the answers on which they differ
// says so, and is undecided if the judge must be measured.
func TestPeopleDiffer(t *testing.T) {
	const differ, decide = "people differ on 27 units of composite of ctn or skipped them, which are left out", "decide with `scruple annotate --adjudicate`"
	for that, reads := range map[string]bool{"diff_low('ctn','plain','composite') > 0": true, "low('ctn','composite') > 0.7": true, "low('plain','composite') > 0.5": false} {
		for _, alone := range []bool{false, true} { // they differ on all
			a := analysis(0.1, 0.01, 0.5)
			a.Metrics = []analyse.Metric{{Name: "composite", Min: 0, Max: 1}}
			a.Estimates[0].Disputed, a.Estimates[0].JudgeAlone = 27, alone
			d := rule(that)
			c := compile(t, d).Decide(a).Conditions[0]
			if got := strings.Join(c.Warnings, "; "); c.State != gate.Pass || strings.Contains(got, differ) != reads || strings.Contains(got, decide) != reads || strings.Contains(got, "let people judge") {
				t.Errorf("%s, %v: %s %q", that, alone, c.State, got)
			}
			d.RequireMeasured = true
			c = compile(t, d).Decide(a).Conditions[0]
			if (c.State == gate.Undecided) != reads || reads && (!strings.Contains(c.Reason, "require_measured") || !strings.Contains(c.Reason, differ) || !strings.Contains(c.Reason, decide)) {
				t.Errorf("%s, %v, measured: %s %q", that, alone, c.State, c.Reason)
			}
		}
	}
}

// TestMeasuredInStrata: people's verdicts on other items do not measure the judge in a stratum, and
// what people corrected is not compared across a factor.
func TestMeasuredInStrata(t *testing.T) {
	x := &eval.Level{Name: "type", Value: "x"}
	corrected, known := eval.Measured{}, names
	known.Across, known.Factors, known.Strata = [][4]string{{"ctn", "plain", "composite", "type"}}, []string{"type"}, []string{"type=x", "type=y"}
	for that, want := range map[string]gate.State{
		"value_in('ctn','composite','type=x') > 0.8":         gate.Undecided,
		"value_in('plain','composite','type=x') > 0.5":       gate.Pass,
		"diff_in('ctn','plain','composite','type=x') > 0.2":  gate.Undecided,
		"diff_max('ctn','plain','composite','type') > 0.2":   gate.Undecided,
		"p_across('ctn','plain','composite','type') < 0.05":  gate.Undecided,
		"diff_low('ctn','plain','composite') > 0":            gate.Pass,
		"diff_in('ctn','plain','composite','type=y') >= 0.3": gate.Pass,
	} {
		a := analysis(0.1, 0.01, 0.5)
		a.Metrics = []analyse.Metric{{Name: "composite", Min: 0, Max: 1}}
		a.Estimates[0].ByJudge, a.Estimates[1].ByJudge = &corrected, &corrected
		a.Estimates = append(a.Estimates, analyse.Estimate{Arm: "ctn", Metric: "composite", Stratum: x, JudgeAlone: true, Items: 50, Bounds: analyse.Bounds{Value: 0.9, Low: 0.85, High: 0.95}},
			analyse.Estimate{Arm: "plain", Metric: "composite", Stratum: x, Items: 50, Bounds: analyse.Bounds{Value: 0.6, Low: 0.55, High: 0.65}})
		for _, value := range []string{"x", "y"} {
			c := a.Comparisons[0]
			c.Stratum, c.Diff, c.Low, c.High = &eval.Level{Name: "type", Value: value}, 0.3, 0.25, 0.35
			a.Comparisons = append(a.Comparisons, c)
		}
		a.Interactions = []analyse.Interaction{{A: "ctn", B: "plain", Metric: "composite", Factor: "type", P: 0.01}}
		strict := rule(that)
		strict.RequireMeasured = true
		rules, problems := gate.Compile(strict, known)
		if len(problems) > 0 {
			t.Fatal(problems[0])
		}
		v := rules.Decide(a)
		if v.State != want || want == gate.Undecided && !strings.Contains(v.Conditions[0].Reason, "require_measured") {
			t.Errorf("%s: %s, want %s: %+v", that, v.State, want, v.Conditions[0])
		}
		strict.RequireMeasured = false
		if rules, problems = gate.Compile(strict, known); len(problems) > 0 || !strings.Contains(that, "across") {
			continue
		}
		said := strings.Join(append(v.Conditions[0].Warnings, rules.Decide(a).Conditions[0].Warnings...), " ") + v.Conditions[0].Reason
		if strings.Count(said, "let the rule read diff_in of each level") != 2 || strings.Contains(said, "nobody") || strings.Contains(said, "annotate") {
			t.Errorf("%s: people judged, but it says %q", that, said)
		}
	}
}

// TestJudgesDiffer: what compares arms that different judges judged decides nothing, whether it
// would hold or not.
func TestJudgesDiffer(t *testing.T) {
	for that, undecided := range map[string]bool{
		"diff_low('ctn','plain','composite') > 0":                   true,
		"diff_low('plain','ctn','composite') > 0":                   true,
		"value('ctn','composite') < value('plain','composite')":     true,
		"low('ctn','composite') > 0.7":                              false,
		"n('ctn','composite') > 10 && n('plain','composite') > 100": false,
	} {
		a := analysis(0.1, 0.01, 0.5)
		a.Comparisons[0].JudgesDiffer = "the judges differ (x)"
		v := compile(t, rule(that)).Decide(a)
		if got := v.State == gate.Undecided; got != undecided || undecided && (v.ExitCode() != 3 || !strings.Contains(v.Conditions[0].Reason, "let one judge judge")) {
			t.Errorf("%s: %s, %+v", that, v.State, v.Conditions[0])
		}
		if !strings.Contains(that, "diff") { // the same if the study does not compare the arms
			a := analysis(0.1, 0.01, 0.5)
			a.Comparisons, a.Arms[0].Judges, a.Arms[1].Judges = nil, []string{"one"}, []string{"two"}
			a.Estimates[0].JudgeAlone, a.Estimates[1].JudgeAlone = true, true
			if c := compile(t, rule(that)).Decide(a).Conditions[0]; (c.State == gate.Undecided) != undecided || undecided && !strings.Contains(c.Reason, "(judged by one for ctn, and two for plain): let one judge judge") {
				t.Errorf("%s: %+v", that, c)
			}
		}
		outcomes := study.Decide{Outcomes: []study.Class{{Name: "A", When: that, Verdict: "pass"}, {Name: "B", Verdict: "fail"}}}
		if v := compile(t, outcomes).Decide(a); (v.State == gate.Undecided) != undecided {
			t.Errorf("outcome %s: %s %v", that, v.State, v.Reasons)
		}
	}
}

// TestCombinedVerdicts: of a metric that combines a judge's verdicts the condition says
// that people's verdicts do not correct it, with require_measured too.
func TestCombinedVerdicts(t *testing.T) {
	combined := func(most float64) *analyse.Analysis {
		a := analysis(0.1, 0.01, 0.5)
		a.Metrics = []analyse.Metric{{Name: "composite", Min: 0, Max: analyse.Number(most)}}
		a.Estimates[0].JudgeAlone, a.Estimates[0].Combined = true, true
		return a
	}
	const said = "composite of ctn combines verdicts in a way that people's verdicts do not correct"
	low := rule("low('ctn','composite') > 0.7")
	for most, want := range map[float64]string{1: "an error of 5 points on ctn would reverse this; " + said, math.Inf(1): "which of its errors would reverse this is not known; " + said} {
		c := compile(t, low).Decide(combined(most)).Conditions[0]
		if got := strings.Join(c.Warnings, "\n"); c.State != gate.Pass || !c.JudgeAlone || !strings.Contains(got, want) || strings.Contains(got, "annotate") {
			t.Errorf("%s %q, want %q", c.State, got, want)
		}
	}
	low.RequireMeasured = true
	if v := compile(t, low).Decide(combined(1)); v.State != gate.Undecided || !strings.Contains(v.Conditions[0].Reason, said) {
		t.Errorf("require_measured: %+v", v)
	}
}

// TestAssumption: a rule that holds by an interval names what that takes for granted.
func TestAssumption(t *testing.T) {
	a := analysis(0.1, 0.01, 0.5)
	a.Estimates[0].Assumes, a.Comparisons[0].Assumes = "only 0 events", "rests on there being no outlier"
	for that, want := range map[string]string{
		"low('ctn','composite') > 0.7":            "composite of ctn: only 0 events",
		"diff_low('ctn','plain','composite') > 0": "composite of ctn and plain: rests on there being no outlier",
		"high('ctn','composite') < 0.7":           "",
	} {
		if got := strings.Join(compile(t, rule(that)).Decide(a).Conditions[0].Warnings, "\n"); got != want {
			t.Errorf("%s: %q, want %q", that, got, want)
		}
	}
}

// TestMissingOfChange: a change since another run holds only if it does whatever the
// missing scores of either are; what they do to p_across is not known.
func TestMissingOfChange(t *testing.T) {
	across := names
	across.Across = [][4]string{{"ctn", "plain", "composite", "k"}}
	for that, want := range map[string]string{
		"replicates('ctn','plain','composite', 0.05)": "1 answer without a score could reverse this",
		"replicates('plain','ctn','composite', 0.2)":  "",
		"p_across('ctn','plain','composite','k') < 1": "what these would do to a comparison across a factor is not known",
	} {
		a := analysis(0.1, 0.01, 0.5)
		a.Study.MaxUnscored = 0.05
		e := &a.Estimates[0]
		e.Unscored, e.UnscoredShare, e.Least, e.Most = 1, 0.01, &analyse.Bounds{Value: 0.79, Low: 0.74, High: 0.84}, &analyse.Bounds{Value: 0.8, Low: 0.75, High: 0.85}
		c := a.Comparisons[0]
		c.EquivLow, c.EquivHigh = c.Low, c.High
		least, most := c, c
		least.Diff, least.EquivLow, least.EquivHigh = 0.04, 0.03, 0.05
		c.Least, c.Most = &least, &most
		a.Comparisons[0] = c
		earlier := analysis(0.1, 0.01, 0.5)
		earlier.Comparisons[0].EquivLow, earlier.Comparisons[0].EquivHigh = 0.09, 0.11
		a.Replicate(earlier)
		a.Interactions = []analyse.Interaction{{A: "ctn", B: "plain", Metric: "composite", Factor: "k", P: 0.01}}
		rules, problems := gate.Compile(rule(that), across)
		if len(problems) > 0 {
			t.Fatal(problems[0])
		}
		check := func(a *analyse.Analysis, want string) {
			v := rules.Decide(a)
			if got := v.Conditions[0].Reason; want == "" && v.State != gate.Pass || !strings.Contains(got, want) || want != "" && v.State != gate.Undecided {
				t.Errorf("%s: %s %q, want %q", that, v.State, got, want)
			}
		}
		check(a, want)
		// The same if the earlier run lacks the score, and this one has all.
		a.Replications = nil
		a.Estimates[0], earlier.Estimates[0] = earlier.Estimates[0], a.Estimates[0]
		a.Comparisons[0], earlier.Comparisons[0] = earlier.Comparisons[0], a.Comparisons[0]
		earlier.Study.MaxUnscored = 0.05
		a.Replicate(earlier)
		switch {
		case strings.HasPrefix(that, "p_across"):
			want = ""
		case want != "":
			want = "answers without a score could reverse this: some of composite here or in run "
		}
		check(a, want)
	}
}

// A difference without bounds, as of a mixed model of clusters, decides nothing while scores are missing.
func TestMissingWithoutBounds(t *testing.T) {
	for _, missing := range []int{0, 4} {
		a := analysis(0.1, 0.01, 0.5)
		a.Study.MaxUnscored = 0.05
		if e := &a.Estimates[0]; missing > 0 {
			e.Unscored, e.UnscoredShare, e.Least, e.Most = missing, 0.04, &analyse.Bounds{Value: 0.78}, &analyse.Bounds{Value: 0.82}
		}
		rules, problems := gate.Compile(rule("diff('ctn','plain','composite') > 0.05"), names)
		if len(problems) > 0 {
			t.Fatal(problems[0])
		}
		got := rules.Decide(a).Conditions[0]
		if (got.State == gate.Pass) != (missing == 0) || missing > 0 && !strings.Contains(got.Reason, "the difference of ctn and plain is not known") {
			t.Errorf("%d scores are missing: %s %q", missing, got.State, got.Reason)
		}
	}
}

// TestMissingOfStrata: the missing scores of one stratum may be right and those of another
// wrong.
func TestMissingOfStrata(t *testing.T) {
	study := func(strata int) *analyse.Analysis {
		a := analysis(0.1, 0.01, 0.5)
		a.Study.MaxUnscored = 0.05
		e := &a.Estimates[0]
		e.Unscored, e.UnscoredShare, e.Least, e.Most = 4, 0.04, &analyse.Bounds{Value: 0.78}, &analyse.Bounds{Value: 0.82}
		for i := range strata {
			at := func(diff analyse.Number) analyse.Comparison {
				return analyse.Comparison{A: "ctn", B: "plain", Metric: "composite", Stratum: &eval.Level{Name: "type", Value: fmt.Sprint(i)}, Reading: analyse.Reading{Diff: diff, P: 0.01}}
			}
			c, least, most := at(0.1), at(0.06), at(0.14)
			c.Least, c.Most = &least, &most
			a.Comparisons = append(a.Comparisons, c)
		}
		return a
	}
	factor := names
	factor.Factors, factor.Strata = []string{"type"}, []string{"type=0", "type=1"}
	for _, c := range []struct {
		that   string
		strata int
		want   string
	}{
		{"diff_max('ctn','plain','composite','type') - diff_min('ctn','plain','composite','type') < 0.05", 3, "could reverse this"},
		{"diff_max('plain','ctn','composite','type') - diff_min('plain','ctn','composite','type') < 0.05", 3, "could reverse this"},
		{"diff_in('ctn','plain','composite','type=0') - diff_in('ctn','plain','composite','type=1') < 0.05", 3, "could reverse this"},
		{"diff_max('ctn','plain','composite','type') - diff_min('ctn','plain','composite','type') < 0.09", 3, ""},
		{"diff_min('ctn','plain','composite','type') > 0.05", 11, ""}, // one result alone: all at one end decide
		{"diff_max('ctn','plain','composite','type') - diff_min('ctn','plain','composite','type') < 0.09", 11, "of too many results to try all of their ends"},
	} {
		rules, problems := gate.Compile(rule(c.that), factor)
		if len(problems) > 0 {
			t.Fatal(problems[0])
		}
		got := rules.Decide(study(c.strata)).Conditions[0]
		if (got.State == gate.Pass) != (c.want == "") || !strings.Contains(got.Reason, c.want) {
			t.Errorf("%s in %d strata: %s %q, want %q", c.that, c.strata, got.State, got.Reason, c.want)
		}
	}
}

// TestMissingOfMany: of more results than can be tried together, one may be at its least where another
// is at its most.
func TestMissingOfMany(t *testing.T) {
	a := analysis(0.1, 0.01, 0.5)
	a.Study.MaxUnscored = 0.05
	known := names
	known.Arms, a.Estimates = nil, nil
	terms := []string{"value('a0','composite') > 0.5", "value('a1','composite') < 0.5"}
	for i := range 11 {
		id := fmt.Sprint("a", i)
		known.Arms = append(known.Arms, id)
		a.Estimates = append(a.Estimates, analyse.Estimate{Arm: id, Metric: "composite", Items: 100, Unscored: 4, UnscoredShare: 0.04,
			Bounds: analyse.Bounds{Value: analyse.Number(0.52 - 0.04*float64(i%2))}, Least: &analyse.Bounds{Value: 0.45}, Most: &analyse.Bounds{Value: 0.55}})
		if i > 1 {
			terms = append(terms, fmt.Sprintf("value('%s','composite') > 0.9", id))
		}
	}
	for n, want := range map[int]string{2: "could reverse this", 11: "too many results to try all of their ends"} {
		rules, problems := gate.Compile(rule(strings.Join(terms[:n], " or ")), known)
		if len(problems) > 0 {
			t.Fatal(problems[0])
		}
		if c := rules.Decide(a).Conditions[0]; c.State != gate.Undecided || !strings.Contains(c.Reason, want) {
			t.Errorf("%d results: %s %q, want %q", n, c.State, c.Reason, want)
		}
	}
}

// TestJudgeAndMissing: the error of a judge that would reverse a rule is the one that does so with the
// missing scores at their worst.
func TestJudgeAndMissing(t *testing.T) {
	for that, want := range map[string]string{
		"diff_low('ctn','plain','composite') > 0": "a difference of 3.1 points between its errors on ctn and on plain would reverse this",
		"low('ctn','composite') > 0.7":            "an error of 3.1 points on ctn would reverse this",
	} {
		a := analysis(0.1, 0.01, 0.5) // the interval is 0.08 to 0.12
		a.Study.MaxUnscored = 0.05
		a.Metrics = []analyse.Metric{{Name: "composite", Min: 0, Max: 1}}
		e, c := &a.Estimates[0], &a.Comparisons[0]
		e.JudgeAlone, e.Unscored, e.UnscoredShare = true, 2, 0.02
		e.Least, e.Most = &analyse.Bounds{Value: 0.781, Low: 0.731, High: 0.831}, &analyse.Bounds{Value: 0.8, Low: 0.75, High: 0.85}
		least, most := *c, *c
		least.Diff, least.Low, least.High = 0.051, 0.031, 0.071
		c.Least, c.Most = &least, &most
		if got := strings.Join(compile(t, rule(that)).Decide(a).Conditions[0].Warnings, "\n"); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", that, got, want)
		}
	}
}

// TestErrorsOfAWindow: an error can reverse a rule and a larger one not.
func TestErrorsOfAWindow(t *testing.T) {
	a := analysis(0.1, 0.01, 0.5)
	a.Metrics = []analyse.Metric{{Name: "composite", Min: 0, Max: 1}}
	a.Estimates[0].JudgeAlone = true
	c := compile(t, rule("value('ctn','composite') < 0.775 || value('ctn','composite') > 0.79")).Decide(a).Conditions[0]
	if got := strings.Join(c.Warnings, "\n"); c.State != gate.Pass || !c.JudgeAlone || !strings.Contains(got, "an error of 1 points on ctn would reverse this") {
		t.Errorf("%s %q", c.State, got)
	}
}

// TestErrorsAndManyGaps: with scores missing of many results no error is tried, and the rule says so.
func TestErrorsAndManyGaps(t *testing.T) {
	for arms, want := range map[int]string{6: "", 7: "which of its errors would reverse this is not known"} {
		a, with := analysis(0.1, 0.01, 0.5), names
		a.Study.MaxUnscored, a.Metrics, with.Arms = 0.05, []analyse.Metric{{Name: "composite", Min: 0, Max: 1}}, nil
		var terms []string
		for i := range arms {
			arm, b := fmt.Sprint("a", i), analyse.Bounds{Value: 0.8, Low: 0.7, High: 0.9}
			with.Arms, a.Arms = append(with.Arms, arm), append(a.Arms, analyse.Arm{ID: arm})
			a.Estimates = append(a.Estimates, analyse.Estimate{Arm: arm, Metric: "composite", Items: 50, Bounds: b, JudgeAlone: true, Unscored: 1, Least: &b, Most: &b})
			terms = append(terms, "low('"+arm+"','composite')")
		}
		rules, problems := gate.Compile(rule(strings.Join(terms, " + ")+" > -1"), with)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		c := rules.Decide(a).Conditions[0]
		if got := strings.Join(c.Warnings, "\n"); c.State != gate.Pass || c.JudgeAlone != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%d arms: %s %q, want %q", arms, c.State, got, want)
		}
	}
}

// TestErrorsNotTried: a rule on what the error of a judge is not tried on says so.
func TestErrorsNotTried(t *testing.T) {
	for that, not := range map[string]bool{
		"d('ctn','plain','composite') > 0.3":        true,
		"d_low('plain','ctn','composite') > -0.1":   true,
		"sd('ctn','composite') < 0.5":               true,
		"change('ctn','plain','composite') > -0.1":  true,
		"sd('plain','composite') < 0.5":             false,
		"pairs('ctn','plain','composite') > 50":     false,
		"blind_min('ctn','plain','composite') > -1": false,
	} {
		a := analysis(0.1, 0.01, 0.5)
		a.Metrics = []analyse.Metric{{Name: "composite", Min: 0, Max: 1}}
		a.Estimates[0].JudgeAlone = true
		a.Replications = []analyse.Replication{{A: "ctn", B: "plain", Metric: "composite"}}
		a.Blind = []analyse.BlindResult{{Documents: 9, Comparisons: []analyse.BlindComparison{{A: "ctn", B: "plain", Metric: "composite"}}}}
		c := compile(t, rule(that)).Decide(a).Conditions[0]
		got, want := strings.Join(c.Warnings, "\n"), "rests on the judge alone for composite of ctn: which of its errors would reverse this is not known"
		if c.State != gate.Pass || c.JudgeAlone != not || not && !strings.Contains(got, want) {
			t.Errorf("%s: %s %v %q, want %q", that, c.State, c.JudgeAlone, got, want)
		}
	}
}

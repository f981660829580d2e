package gate_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/study"
	"pgregory.net/rapid"
)

var names = gate.Names{Arms: []string{"ctn", "plain"},
	Metrics:  []eval.Metric{{Name: "composite", Kind: eval.Scoring}, {Name: "quote_words", Kind: eval.Analysis}},
	Compared: func(a, b, metric string) bool { return metric == "composite" && a != b }}

// analysis is a study in which ctn scores 0.8 and plain 0.7, with 100 pairs.
func analysis(diff, p, d float64) *analyse.Analysis {
	return &analyse.Analysis{
		Run:  analyse.Run{Planned: 200, Done: 200, MaxFailed: 0.05},
		Arms: []analyse.Arm{{ID: "ctn", Planned: 100, OK: 100}, {ID: "plain", Planned: 100, OK: 96, Failed: 4}},
		Estimates: []analyse.Estimate{{Arm: "ctn", Metric: "composite", Bounds: analyse.Bounds{Value: 0.8, Low: 0.75, High: 0.85}, Items: 100},
			{Arm: "plain", Metric: "composite", Bounds: analyse.Bounds{Value: analyse.Number(0.8 - diff), Low: 0.65, High: 0.75}, Items: 100}},
		Comparisons: []analyse.Comparison{{A: "ctn", B: "plain", Metric: "composite", Pairs: 100, Clusters: 100, Reading: analyse.Reading{Diff: analyse.Number(diff),
			Low: analyse.Number(diff - 0.02), High: analyse.Number(diff + 0.02), P: analyse.Number(p), PAdjusted: analyse.Number(p)}, Effect: analyse.Effect{D: analyse.Number(d)}}},
	}
}

func rule(that string) study.Decide {
	return study.Decide{Require: []study.Condition{{Name: "r", That: that}}}
}

func compile(t *testing.T, d study.Decide) *gate.Rules {
	t.Helper()
	rules, problems := gate.Compile(d, names)
	for _, p := range problems {
		t.Fatalf("%s: %v", p.Path, p)
	}
	return rules
}

// The classes of the seed's phase 1, ordered and total.
var phase1 = study.Decide{Outcomes: []study.Class{
	{Name: "A", When: "diff('ctn','plain','composite') >= 0.10 && p('ctn','plain','composite') < 0.05 && d('ctn','plain','composite') > 0.5", Verdict: "pass"},
	{Name: "B", When: "diff('ctn','plain','composite') >= 0.05 && p('ctn','plain','composite') < 0.05", Verdict: "pass"},
	{Name: "C", When: "diff('ctn','plain','composite') >= 0.03 && p('ctn','plain','composite') < 0.10", Verdict: "undecided"},
	{Name: "D", Verdict: "fail"},
}}

func TestTheFirstOutcomeThatAppliesDecides(t *testing.T) {
	for _, c := range []struct {
		diff, p, d float64
		want       string
		state      gate.State
		code       int
	}{
		{0.12, 0.01, 0.8, "A", gate.Pass, 0},
		{0.12, 0.01, 0.4, "B", gate.Pass, 0},
		{0.06, 0.08, 0.3, "C", gate.Undecided, 3},
		{0.06, 0.20, 0.3, "D", gate.Undecided, 3}, // B is not excluded
		{0.00, 0.90, 0.0, "D", gate.Fail, 1},
		{-0.2, 0.001, -1, "D", gate.Fail, 1},
		{math.NaN(), math.NaN(), math.NaN(), "", gate.Undecided, 3},
	} {
		v := compile(t, phase1).Decide(analysis(c.diff, c.p, c.d))
		if v.Outcome != c.want || v.State != c.state || v.ExitCode() != c.code {
			t.Errorf("diff %v, p %v, d %v: outcome %q, %s, exit %d; want %q, %s, %d", c.diff, c.p, c.d, v.Outcome, v.State, v.ExitCode(), c.want, c.state, c.code)
		}
		if len(v.Conditions) != 4 {
			t.Errorf("%d conditions are shown, want all 4", len(v.Conditions))
		}
	}
}

// The advice of a passing outcome is marked where the gate does not pass.
func TestAdviceOfAGateThatDoesNotPass(t *testing.T) {
	for that, want := range map[string]string{
		"n('ctn','composite') > 0":                 "proceed",
		"n('ctn','composite') < 0":                 "A required rule does not hold, so the advice of this outcome does not apply: proceed",
		"blind_min('ctn','plain','composite') > 0": "Provisional, as the gate is undecided: proceed",
	} {
		d := rule(that)
		d.Outcomes = []study.Class{{Name: "A", When: "diff('ctn','plain','composite') > 0", Verdict: "pass", Advice: "proceed"}, {Name: "B", Verdict: "fail", Advice: "stop"}}
		if v := compile(t, d).Decide(analysis(0.1, 0.01, 0.8)); v.Outcome != "A" || v.Advice != want {
			t.Errorf("%s: %s, outcome %q, advice %q", that, v.State, v.Outcome, v.Advice)
		}
		if v := compile(t, d).Decide(analysis(-0.1, 0.01, -0.8)); v.Outcome != "B" || v.Advice != "stop" {
			t.Errorf("%s: %s, outcome %q, advice %q", that, v.State, v.Outcome, v.Advice)
		}
	}
}

func TestRequirements(t *testing.T) {
	for that, want := range map[string]gate.State{
		"diff_low('ctn','plain','composite') > 0.05":                                         gate.Pass,
		"diff('plain','ctn','composite') < -0.05":                                            gate.Pass, // turned round
		"diff('plain','ctn','composite') < −0.05":                                            gate.Pass, // pasted from a report
		"low('ctn','composite') > high('plain','composite')":                                 gate.Undecided,
		"n('ctn','composite') >= 100 and pairs('ctn','plain','composite') == 100":            gate.Pass,
		"failed('plain') < 0.05 && malformed('ctn') == 0":                                    gate.Pass,
		"value('ctn','composite') - value('plain','composite') >= 0.2":                       gate.Fail,
		"p_adjusted('ctn','plain','composite') < 0.05 && d('ctn','plain','composite') > 0.5": gate.Pass,
	} {
		v := compile(t, rule(that)).Decide(analysis(0.1, 0.01, 0.8))
		if v.State != want {
			t.Errorf("%s: %s, want %s (%v)", that, v.State, want, v.Reasons)
		}
		if c := v.Conditions[0]; len(c.Values) == 0 || c.Values[0].Value == nil {
			t.Errorf("%s shows no values: %+v", that, c)
		}
	}
}

// TestWithin: two arms are within a margin where the interval of level 1 − 2α
// lies inside of it; that no difference was found does not do.
func TestWithin(t *testing.T) {
	a := analysis(0.01, 0.6, 0.05)
	a.Comparisons[0].EquivLow, a.Comparisons[0].EquivHigh = -0.008, 0.028
	for that, want := range map[string]gate.State{
		"within('ctn','plain','composite', 0.03)":                                                      gate.Pass,
		"within('plain','ctn','composite', 0.03)":                                                      gate.Pass,
		"within('ctn','plain','composite', 0.02)":                                                      gate.Undecided,
		"equiv_high('ctn','plain','composite') < 0.05 && equiv_low('ctn','plain','composite') > -0.05": gate.Pass,
	} {
		v := compile(t, rule(that)).Decide(a)
		if v.State != want {
			t.Errorf("%s: %s, want %s (%v)", that, v.State, want, v.Reasons)
		}
		if len(v.Conditions[0].Values) != 2 {
			t.Errorf("%s shows %v, want both ends of the interval", that, v.Conditions[0].Values)
		}
	}
	a.Comparisons[0].EquivLow = analyse.Undefined()
	v := compile(t, study.Decide{Outcomes: []study.Class{{Name: "r", When: "!within('ctn','plain','composite', 1)", Verdict: "fail"}}}).Decide(a)
	if v.State != gate.Undecided {
		t.Errorf("an interval that is undefined decided: %s", v.State)
	}
}

func TestWhatCannotDecide(t *testing.T) {
	d := rule("diff('ctn','plain','composite') > 0")
	unfinished := analysis(0.1, 0.01, 1)
	unfinished.Run.Done = 150
	if v := compile(t, d).Decide(unfinished); v.State != gate.Undecided || v.ExitCode() != 3 {
		t.Errorf("unfinished run: %+v", v)
	}
	unjudged := analysis(0.1, 0.01, 1)
	unjudged.Run.Unjudged = 3
	if v := compile(t, d).Decide(unjudged); v.State != gate.Undecided || !strings.Contains(strings.Join(v.Reasons, "\n"), "has not judged 3 of them") {
		t.Errorf("a run that is not judged: %+v", v)
	}
	unjudgeable := analysis(0.1, 0.01, 1)
	unjudgeable.Run.JudgeFails = unjudgeable.Run.Done / 2
	if v := compile(t, d).Decide(unjudgeable); v.ExitCode() != 4 || !strings.Contains(strings.Join(v.Reasons, "\n"), "50.0 % of trials could not be judged") {
		t.Errorf("too many failures of the judge: %+v", v)
	}
	failing := analysis(0.1, 0.01, 1)
	failing.Arms[1].Failed = 6
	if v := compile(t, d).Decide(failing); v.State != gate.Undecided || v.ExitCode() != 4 {
		t.Errorf("too many failures: %+v", v)
	}
	undefined := analysis(math.NaN(), math.NaN(), math.NaN())
	undefined.Comparisons[0].Warnings = []string{"all differences are the same"}
	v := compile(t, d).Decide(undefined)
	if v.State != gate.Undecided || !strings.Contains(v.Conditions[0].Reason, "all differences are the same") {
		t.Errorf("undefined result: %+v", v)
	}
	simulated := analysis(0.1, 0.01, 1)
	simulated.Arms[0].Simulated = true
	if v := compile(t, d).Decide(simulated); !v.Simulated {
		t.Error("a verdict on simulated answers does not say so")
	}
	judged := analysis(0.1, 0.01, 1)
	judged.SimulatedJudges = []string{"j"}
	if v := compile(t, d).Decide(judged); !v.Simulated || len(v.SimulatedArms) != 0 || len(v.SimulatedJudges) != 1 {
		t.Errorf("a verdict on what a simulated judge said does not say so: %+v", v)
	}
	outside := analysis(0.1, 0.01, 1)
	outside.Blind = []analyse.BlindResult{{By: "x", Data: "ab", Documents: 9, Simulated: []string{"ctn"}}}
	v = compile(t, d).Decide(outside)
	if !v.Simulated {
		t.Error("a verdict on a blind validation with simulated answers does not say so")
	}
	if len(v.Blind) != 1 || v.Blind[0] != "by x, 0 comparisons, none of them with numbers, data with SHA-256 ab, SIMULATED" {
		t.Errorf("a verdict whose rules read no blind validation says %q of it", v.Blind)
	}
	outside.Blind[0].Simulated = nil
	if v = compile(t, d).Decide(outside); v.Simulated {
		t.Error("a verdict on a blind validation without simulated answers says that it has some")
	}
}

// TestThreeValues: a rule passes where the interval lies within its limit, fails where
// it lies outside, and is undecided between the two. FAIL never means "not known".
func TestThreeValues(t *testing.T) {
	for _, c := range []struct {
		diff, low, high analyse.Number
		p               analyse.Number
		that            string
		want            gate.State
	}{
		{0.10, 0.02, 0.18, 0.01, "diff_low('ctn','plain','composite') > 0", gate.Pass},
		{0.10, -0.02, 0.22, 0.09, "diff_low('ctn','plain','composite') > 0", gate.Undecided},
		{-0.10, -0.22, 0.02, 0.09, "diff_low('ctn','plain','composite') > 0", gate.Undecided},
		{-0.10, -0.18, -0.02, 0.01, "diff_low('ctn','plain','composite') > 0", gate.Fail},
		{0, -0.16, 0.16, 1, "diff_low('ctn','plain','composite') > -0.05", gate.Undecided}, // equal arms never fail
		{-0.10, -0.18, -0.06, 0.01, "diff_low('ctn','plain','composite') > -0.05", gate.Fail},
		{-0.10, -0.18, -0.02, 0.01, "diff_high('plain','ctn','composite') < 0", gate.Fail},
		{-0.10, -0.22, 0.02, 0.09, "diff_high('plain','ctn','composite') < 0", gate.Undecided},
		{0.01, -0.02, 0.04, 0.5, "within('ctn','plain','composite', 0.05)", gate.Pass},
		{0.01, -0.07, 0.09, 0.5, "within('ctn','plain','composite', 0.05)", gate.Undecided},
		{0.11, 0.07, 0.15, 0.01, "within('ctn','plain','composite', 0.05)", gate.Fail},
		{0.10, 0.02, 0.18, 0.01, "p('ctn','plain','composite') < 0.05 && diff('ctn','plain','composite') > 0", gate.Pass},
		{0.10, -0.02, 0.22, 0.09, "p('ctn','plain','composite') < 0.05 && diff('ctn','plain','composite') > 0", gate.Undecided},
		{-0.01, -0.13, 0.11, 0.9, "p('ctn','plain','composite') < 0.05 && diff('ctn','plain','composite') > 0", gate.Undecided},
		{-0.10, -0.18, -0.02, 0.01, "p('ctn','plain','composite') < 0.05 && diff('ctn','plain','composite') > 0", gate.Fail},
		{-0.10, -0.22, 0.02, 0.09, "diff('ctn','plain','composite') > 0", gate.Fail}, // the study asks for the estimate
	} {
		a := analysis(float64(c.diff), float64(c.p), 0.8)
		a.Comparisons[0].Low, a.Comparisons[0].High, a.Comparisons[0].EquivLow, a.Comparisons[0].EquivHigh = c.low, c.high, c.low, c.high
		v := compile(t, rule(c.that)).Decide(a)
		if v.State != c.want || v.Conditions[0].Open != (c.want == gate.Undecided) {
			t.Errorf("%s with %v to %v: %s, want %s (%v)", c.that, c.low, c.high, v.State, c.want, v.Reasons)
		}
	}
	a := analysis(0, 1, 0)
	a.Comparisons[0].Low, a.Comparisons[0].High, a.Study.Alpha = -0.16, 0.16, 0.05
	a.Comparisons[0].DLow, a.Comparisons[0].DHigh = -0.5, 0.5
	for that, may := range map[string]string{"diff_low('ctn','plain','composite') > -0.05": "the difference may be -0.16 to 0.16", "d_low('ctn','plain','composite') > -0.05": "d may be -0.5 to 0.5"} {
		got := compile(t, rule(that)).Decide(a).Conditions[0].Reason
		if want := "too few data to tell: composite of ctn and plain is the same on 100 items, so " + may + " (95\u00a0% CI)"; got != want {
			t.Errorf("reason %q, want %q", got, want)
		}
	}
}

// TestAnOpenOutcome: an outcome that is not shown does not apply. The class for the rest
// cannot fail the gate while one that passes is not excluded.
func TestAnOpenOutcome(t *testing.T) {
	list := study.Decide{Outcomes: []study.Class{
		{Name: "better", When: "diff_low('ctn','plain','composite') > 0", Verdict: "pass"},
		{Name: "no worse", When: "diff_low('ctn','plain','composite') > -0.05", Verdict: "pass"},
		{Name: "rest", Verdict: "fail"}}}
	for _, c := range []struct {
		low, high analyse.Number
		outcome   string
		want      gate.State
	}{{0.01, 0.2, "better", gate.Pass}, {-0.01, 0.2, "no worse", gate.Pass}, {-0.1, 0.2, "rest", gate.Undecided}, {-0.1, -0.02, "rest", gate.Undecided}, {-0.2, -0.06, "rest", gate.Fail}} {
		a := analysis(0.1, 0.01, 0.8)
		a.Comparisons[0].Low, a.Comparisons[0].High = c.low, c.high
		if v := compile(t, list).Decide(a); v.State != c.want || v.Outcome != c.outcome {
			t.Errorf("%v to %v: %s, outcome %q; want %s, %q", c.low, c.high, v.State, v.Outcome, c.want, c.outcome)
		}
	}
}

// TestWorseNeverDoesBetter: where every limit of an interval is worse, so is the verdict,
// or it is the same.
func TestWorseNeverDoesBetter(t *testing.T) {
	rank := map[gate.State]int{gate.Fail: 0, gate.Undecided: 1, gate.Pass: 2}
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Float64Range(-0.2, 0.2).Draw(t, "limit")
		number := rapid.Float64Range(-0.5, 0.5)
		low := number.Draw(t, "low")
		high := low + rapid.Float64Range(0, 0.5).Draw(t, "width")
		worse := analysis(0, 1, 0)
		better := analysis(0, 1, 0)
		better.Comparisons[0].Low, better.Comparisons[0].High = analyse.Number(low), analyse.Number(high)
		worse.Comparisons[0].Low = analyse.Number(low - rapid.Float64Range(0, 0.3).Draw(t, "lower"))
		worse.Comparisons[0].High = max(worse.Comparisons[0].Low, analyse.Number(high-rapid.Float64Range(0, 0.3).Draw(t, "less high")))
		rules, _ := gate.Compile(rule(fmt.Sprintf("diff_low('ctn','plain','composite') > %v", limit)), names)
		if a, b := rules.Decide(worse).State, rules.Decide(better).State; rank[a] > rank[b] {
			t.Fatalf("the worse one: %s, the better one: %s", a, b)
		}
	})
}

func TestRulesAreCheckedBeforeAnythingRuns(t *testing.T) {
	for that, want := range map[string]string{
		"value('ctx','composite') > 0":          `unknown arm "ctx": did you mean "ctn"?; the arms are ctn, plain`,
		"value('other','composite') > 0":        `unknown arm "other"; the arms are ctn, plain`,
		"value('ctn','compsite') > 0":           `unknown metric "compsite": did you mean "composite"?; the metrics are composite`,
		"valu('ctn','composite') > 0":           "unknown function \"valu\": did you mean \"value\"?; `scruple help rules` lists the functions",
		"value('ctn','composite') = 0":          "(1:26): use == to compare",
		"value('ctn','composite') == = 0":       "(1:29): use == to compare",
		"== 0":                                  "want a condition that is true or false",
		"value('ctn','quote_words') > 0":        "cannot decide",
		"value('ctn') > 0":                      "value takes 2 names, got 1",
		"value(ctn, 'composite') > 0":           "quoted names",
		"diff('ctn','ctn','composite') > 0":     "add the pair to comparisons",
		"value('ctn','composite')":              "expected bool, but got float64: want a condition that is true or false",
		"value('ctn','composite') >":            "unexpected token",
		"nonsense('ctn') > 0":                   "nonsense",
		"within('ctn','plain','composite')":     "the last argument must be a number above 0",
		"within('ctn','plain','composite', -1)": "the last argument must be a number above 0",
		"within('ctn','plain','compsite', 0.1)": `unknown metric "compsite"`,
		"value('c−n','composite') < −1":         `unknown arm "c−n"`,
		"within('ctn','plain', 0.1)":            "within takes 3 names, got 2",
		"value('ctn','composite') > 'a'":        "mismatched types",
	} {
		_, problems := gate.Compile(rule(that), names)
		if len(problems) != 1 || !strings.Contains(problems[0].Error(), want) || problems[0].Path != "decide.require[0].that" {
			t.Errorf("%s: %v, want %q", that, problems, want)
		}
	}
}

func FuzzCompile(f *testing.F) {
	f.Add("diff('ctn','plain','composite') >= 0.05 && p('ctn','plain','composite') < 0.05")
	f.Add("all([1,2], {# > 0}) or value('ctn','composite') in 1..3")
	f.Add("((((((((((")
	f.Fuzz(func(t *testing.T, that string) {
		rules, problems := gate.Compile(rule(that), names)
		if len(problems) == 0 {
			rules.Decide(analysis(0.1, 0.01, 1))
		}
	})
}

// TestOutsideResults: results that do not come from the scores of two arms alone.
func TestOutsideResults(t *testing.T) {
	a := analysis(0.1, 0.01, 0.5)
	a.Estimates[0].SD, a.Estimates[1].SD = 0.3, 0.1
	stratum := func(value string, diff, p float64) {
		a.Comparisons = append(a.Comparisons, analyse.Comparison{A: "plain", B: "ctn", Metric: "composite", Stratum: &eval.Level{Name: "type", Value: value}, Reading: analyse.Reading{Diff: analyse.Number(-diff), P: analyse.Number(p)}})
	}
	stratum("x", 0.2, 0.01)
	stratum("y", -0.1, 0.001) // the other arm is better
	stratum("z", 0.05, 0.004)
	a.Estimates = append(a.Estimates, analyse.Estimate{Arm: "ctn", Metric: "composite", Stratum: &eval.Level{Name: "type", Value: "x"}, Bounds: analyse.Bounds{Value: 0.4}})
	a.Replications = []analyse.Replication{{A: "ctn", B: "plain", Metric: "composite", Change: 0.01, EquivLow: -0.02, EquivHigh: 0.04},
		{A: "ctn", B: "plain", Metric: "composite", Stratum: &eval.Level{Name: "type", Value: "x"}, Change: -0.002, EquivLow: -0.02, EquivHigh: 0.016}}
	a.Blind = []analyse.BlindResult{
		{Data: "a", Documents: 60, Comparisons: []analyse.BlindComparison{{A: "plain", B: "ctn", Metric: "composite", Diff: -0.03, Least: -0.03, Most: -0.03},
			{A: "plain", B: "ctn", Metric: "f1", Diff: -0.1, Least: -0.15, Most: -0.05, Unscored: 2}}},
		{Data: "b", Documents: 60, Comparisons: []analyse.BlindComparison{{A: "ctn", B: "plain", Metric: "composite", Diff: -0.01, Least: -0.01, Most: -0.01},
			{A: "ctn", B: "plain", Metric: "f1", Diff: 0.1, Least: 0.05, Most: 0.15, Unscored: 1}}}}
	a.Agreements = []analyse.Agreement{{Task: "double", Question: "exists", Same: 9, N: 10}, {Task: "double", Question: "value", Same: 4, N: 5}}
	a.Discipline = &analyse.Discipline{Registration: &analyse.Registration{}}
	named := names
	named.Metrics = append(slices.Clone(names.Metrics), eval.Metric{Name: "f1", Kind: eval.Scoring})
	named.Compared = func(a, b, _ string) bool { return a != b }
	named.Factors, named.Strata, named.Tasks = []string{"type"}, []string{"type=x"}, []string{"double", "other"}
	for that, want := range map[string]gate.State{
		"sd('ctn','composite') > 2.9 * sd('plain','composite')":         gate.Pass,
		"sd('ctn','composite') > 3.1 * sd('plain','composite')":         gate.Fail,
		"diff_max('ctn','plain','composite','type') == 0.2":             gate.Pass,
		"diff_min('ctn','plain','composite','type') == -0.1":            gate.Pass,
		"diff_max('plain','ctn','composite','type') == 0.1":             gate.Pass,
		"abs(p_min('ctn','plain','composite','type') - 0.012) < 0.0001": gate.Pass, // 3 × 0.004
		"diff_in('ctn','plain','composite','type=x') == 0.2":            gate.Pass,
		"value_in('ctn','composite','type=x') == 0.4":                   gate.Pass,
		"value_in('plain','composite','type=x') == 0.4":                 gate.Undecided,
		"change('ctn','plain','composite') == 0.01":                     gate.Pass,
		"change('plain','ctn','composite') == -0.01":                    gate.Pass,
		"replicates('ctn','plain','composite', 0.05)":                   gate.Pass,
		"replicates('ctn','plain','composite', 0.03)":                   gate.Undecided,
		"replicates_in('ctn','plain','composite','type=x', 0.03)":       gate.Pass, // not by the change over all items
		"change_in('ctn','plain','composite','type=x') < 0":             gate.Pass,
		"change_in_high('plain','ctn','composite','type=x') < 0.021":    gate.Pass,
		"change_in_high('plain','ctn','composite','type=x') < -0.02":    gate.Fail,
		"blind_runs() == 2":                                                    gate.Pass,
		"blind_min('ctn','plain','composite') == -0.01":                        gate.Pass,
		"blind_max('ctn','plain','composite') == 0.03":                         gate.Pass,
		"blind_min('ctn','plain','f1') > 0.04":                                 gate.Pass,
		"blind_min('ctn','plain','f1') > 0.06":                                 gate.Undecided, // if the missing scores are bad for ctn
		"blind_max('ctn','plain','f1') < 0.12":                                 gate.Undecided,
		"blind_max('ctn','plain','f1') < 0.16":                                 gate.Pass,
		"blind_max('plain','ctn','f1') < -0.06":                                gate.Undecided,
		"blind_max('ctn','plain','f1') - blind_min('ctn','plain','f1') < 0.06": gate.Undecided, // one at its least, one at its most
		"agreement('double') == 0.8":                                           gate.Pass,
		"agreement('other') > 0":                                               gate.Undecided,
		"registered() == 1":                                                    gate.Pass,
	} {
		rules, wrong := gate.Compile(study.Decide{Require: []study.Condition{{Name: "r", That: that}}}, named)
		if len(wrong) > 0 {
			t.Errorf("%s: %v", that, wrong[0])
			continue
		}
		if v := rules.Decide(a); v.Conditions[0].State != want {
			t.Errorf("%s: %s (%v), want %s", that, v.Conditions[0].State, v.Conditions[0], want)
		}
	}
	for that, want := range map[string]string{
		"diff_max('ctn','plain','composite','kind') > 0":  `no stratum "kind"`,
		"diff_in('ctn','plain','composite','type=q') > 0": `no stratum "type=q"`,
		"agreement('triple') > 0":                         `no task "triple"`,
		"diff_max('ctn','plain','composite') > 0":         "takes 4 names, got 3",
		"blind_runs('ctn') > 0":                           "takes 0 names, got 1",
		"replicates('ctn','plain','composite')":           "the last argument must be a number above 0",
	} {
		if _, wrong := gate.Compile(study.Decide{Require: []study.Condition{{Name: "r", That: that}}}, named); len(wrong) != 1 || !strings.Contains(wrong[0].Error(), want) {
			t.Errorf("%s: %v, want %q", that, wrong, want)
		}
	}
	// Without an interval of the change nothing is decided, and the reason is given.
	r := &a.Replications[0]
	r.EquivLow, r.EquivHigh, r.Warning = analyse.Undefined(), analyse.Undefined(), "another level"
	rules := compile(t, study.Decide{Require: []study.Condition{{Name: "same", That: "replicates('ctn','plain','composite', 0.05)"}}})
	if c := rules.Decide(a).Conditions[0]; c.State != gate.Undecided || !strings.Contains(fmt.Sprint(c), r.Warning) {
		t.Errorf("without an interval: %v", c)
	}
	// A validation without the comparison may be the bad one.
	rules = compile(t, study.Decide{Require: []study.Condition{{Name: "outside", That: "blind_runs() >= 1 && blind_max('ctn','plain','composite') > 0"}}})
	for _, lacking := range [][]analyse.BlindComparison{{}, {{A: "ctn", B: "plain", Metric: "composite", Diff: analyse.Undefined()}}} {
		was := a.Blind[1]
		a.Blind[1].By, a.Blind[1].Kit, a.Blind[1].Comparisons = "eve", "0123456789abcdef", lacking
		if c := rules.Decide(a).Conditions[0]; c.State != gate.Undecided || !strings.Contains(fmt.Sprint(c), "the blind validation by eve, kit with SHA-256 0123456789ab, lacks the comparison") {
			t.Errorf("without a comparison: %v", c)
		}
		if v := rules.Decide(a); v.Conditions[0].Values[0].Name != "blind_runs()" || *v.Conditions[0].Values[0].Value != 1 || !strings.Contains(v.Blind[1], "none of them with numbers") {
			t.Errorf("a blind validation without numbers counts: %+v, %q", v.Conditions[0].Values, v.Blind)
		}
		a.Blind[1] = was
	}
	a.Blind[1] = analyse.BlindResult{By: "eve", Unread: "why"}
	for that, want := range map[string]string{"blind_runs() < 9": "blind_runs() is undefined", "blind_max('ctn','plain','composite') > 0": "a blind validation is missing, by eve, data with SHA-256 : not read"} {
		if c := compile(t, rule(that)).Decide(a).Conditions[0]; c.State != gate.Undecided || !strings.Contains(c.Reason, want) {
			t.Errorf("one of another version: %v", c)
		}
	}
	a.Discipline.Unblindings = []analyse.Unblinding{{Reason: "r"}}
	if a.Discipline.AsRegistered() {
		t.Error("an unblinded run counts as registered")
	}
}

// TestDiagnoses: a DEV run has no verdict but a diagnosis, and so has a run that fails.
func TestDiagnoses(t *testing.T) {
	rules := compile(t, study.Decide{
		Require:  []study.Condition{{Name: "better", That: "p('ctn','plain','composite') < 0.05"}},
		Diagnose: []study.Diagnosis{{Name: "high", When: "value('ctn','composite') > 0.9", Advice: "x"}, {Name: "wide", When: "diff('ctn','plain','composite') > 0.05", Advice: "y"}, {Name: "none"}},
	})
	a := analysis(0.1, 0.5, 0.5)
	if v := rules.Decide(a); v.State != gate.Undecided || v.Diagnosis != "wide" || v.DiagnosisAdvice != "y" || v.Conditions[3].State != gate.Fail {
		t.Errorf("a run that does not pass: %+v", v)
	}
	a.Run.Split = study.SplitDev
	if v := rules.Decide(a); v.State != gate.Undecided || v.ExitCode() != 3 || v.Diagnosis != "wide" || len(v.Conditions) != 3 {
		t.Errorf("a DEV run: %+v", v)
	}
	if v := rules.Decide(analysis(0.1, 0.01, 0.5)); v.State != gate.Pass || v.Diagnosis != "" || len(v.Conditions) != 1 {
		t.Errorf("a run that passes: %+v", v)
	}
	rules = compile(t, study.Decide{Require: []study.Condition{{Name: "better", That: "p('ctn','plain','composite') < 0.05"}},
		Diagnose: []study.Diagnosis{{Name: "blind", When: "blind_max('ctn','plain','composite') < 0"}, {Name: "none", Advice: "Look."}}})
	if v := rules.Decide(analysis(0.1, 0.5, 0.5)); v.Diagnosis != "none" || v.DiagnosisAdvice != "Look. Not decided: blind." {
		t.Errorf("none of those that can be decided: %q, %q", v.Diagnosis, v.DiagnosisAdvice)
	}
}

// TestMissingScoresDecideNothing: a rule stays undecided if too many scores of an arm and
// metric that it reads are missing, whatever the reason, or if it would be decided
// otherwise were they the lowest or the highest. It may decide by the other arms and metrics.
func TestMissingScoresDecideNothing(t *testing.T) {
	const (
		tooMany  = "12.0 % of composite of plain has no score (12 entries: the judge failed its calibration), the limit is 5.0 %"
		reverses = "12 answers without a score could reverse this: 12 of composite of plain (the judge failed its calibration)"
	)
	at := func(diff float64) *analyse.Comparison {
		c := analysis(diff, 0.01, 0.8).Comparisons[0]
		return &c
	}
	for that, want := range map[string][2]gate.State{ // with 12 and with 4 per cent missing
		"value('plain','composite') > 0":            {gate.Undecided, gate.Pass},
		"value('plain','composite') > 1":            {gate.Undecided, gate.Fail},
		"value('plain','composite') > 0.5":          {gate.Undecided, gate.Undecided}, // 0.45 to 0.55
		"value('plain','composite') < 0.5":          {gate.Undecided, gate.Undecided},
		"n('plain','composite') > 1":                {gate.Undecided, gate.Pass},
		"diff('ctn','plain','composite') > 0":       {gate.Undecided, gate.Pass},
		"diff('ctn','plain','composite') > 0.05":    {gate.Undecided, gate.Undecided}, // 0.04 to 0.16
		"diff('plain','ctn','composite') > -0.05":   {gate.Undecided, gate.Undecided},
		"diff('ctn','plain','composite') > 0.2":     {gate.Undecided, gate.Fail},
		"sd('plain','composite') >= 0":              {gate.Undecided, gate.Pass},
		"failed('plain') < 0.05":                    {gate.Pass, gate.Pass},
		"value('ctn','composite') > 0":              {gate.Pass, gate.Pass},
		"within('ctn','plain','composite', 0.5)":    {gate.Undecided, gate.Pass},
		"p_across('ctn','plain','composite','k')<1": {gate.Undecided, gate.Undecided},
	} {
		for i, share := range []analyse.Number{0.12, 0.04} {
			a := analysis(0.1, 0.01, 0.8)
			a.Study.MaxUnscored = 0.05
			a.Judges = []analyse.Judge{{Name: "j", Failed: true, Effect: "right on 3 of 9"}}
			e := &a.Estimates[1]
			e.Unscored, e.UnscoredShare, e.Reasons = 12, share, []analyse.Count{{Name: eval.JudgeFailed, N: 12}}
			e.Least, e.Most = &analyse.Bounds{Value: 0.45}, &analyse.Bounds{Value: 0.55}
			a.Comparisons[0].Least, a.Comparisons[0].Most = at(0.04), at(0.16)
			across := names
			across.Across = [][4]string{{"ctn", "plain", "composite", "k"}}
			rules, problems := gate.Compile(rule(that), across)
			if len(problems) > 0 {
				t.Fatalf("%s: %v", that, problems)
			}
			v := rules.Decide(a)
			if v.State != want[i] {
				t.Errorf("%s, %v missing: %s, want %s (%v)", that, share, v.State, want[i], v.Reasons)
			}
			if got, said := v.Conditions[0].Reason, [2]string{tooMany, reverses}[i]; v.State == gate.Undecided && got != said && !strings.HasPrefix(that, "p_across") {
				t.Errorf("%s: undecided because %q, want %q", that, got, said)
			}
			if len(v.FailedJudges) != 1 || v.FailedJudges[0] != "judge j failed its calibration: right on 3 of 9" {
				t.Errorf("%s: the verdict says %q of the judge", that, v.FailedJudges)
			}
		}
	}
}

// TestFailedTrialsAreUnknownToEveryRule: what a failed trial would have been decides no share of
// answers, number of items or standard deviation.
func TestFailedTrialsAreUnknownToEveryRule(t *testing.T) {
	for that, want := range map[string]gate.State{ // 4 of 96 answers are malformed, and 4 trials failed
		"malformed('plain') <= 0.05":      gate.Undecided, // 4 or 8 of 100
		"malformed('plain') <= 0.08":      gate.Pass,
		"malformed('plain') <= 0.039":     gate.Fail,
		"malformed('plain') <= 0.041":     gate.Undecided,
		"refused('plain') <= 0.03":        gate.Undecided,
		"failed('plain') <= 0.04":         gate.Pass,
		"malformed('ctn') <= 0.01":        gate.Pass,
		"n('plain','composite') >= 97":    gate.Undecided, // 96 to 100
		"n('plain','composite') >= 96":    gate.Pass,
		"n('plain','composite') >= 101":   gate.Fail,
		"sd('plain','composite') < 0.25":  gate.Undecided, // 0.2 with four outliers is at most 0.28
		"sd('plain','composite') < 0.29":  gate.Pass,
		"sd('plain','composite') < 0.19":  gate.Fail,
		"sd('plain','composite') < 0.198": gate.Undecided,
		"sd('ctn','composite') < 9":       gate.Pass,
	} {
		a := analysis(0.1, 0.01, 0.8)
		arm, e := &a.Arms[1], &a.Estimates[1]
		arm.OK, arm.Malformed, arm.Failed = 92, 4, 4
		e.Items, e.SD, e.Unscored, e.UnscoredShare, e.Reasons = 96, 0.2, 4, 0.04, []analyse.Count{{Name: "the trial failed", N: 4}}
		e.Least, e.Most = &analyse.Bounds{Value: 0.67}, &analyse.Bounds{Value: 0.71}
		a.Study.MaxUnscored = 0.05
		if v := compile(t, rule(that)).Decide(a); v.Conditions[0].State != want {
			t.Errorf("%s: %s, want %s (%s)", that, v.Conditions[0].State, want, v.Conditions[0].Reason)
		}
	}
}

// TestRemedyOfFailedTrials: no retry finds an answer that a file lacks.
func TestRemedyOfFailedTrials(t *testing.T) {
	const retry = "8.0 % of trials of plain failed, the limit is 5.0 %: retry with `scruple run --retry-failed`"
	for given, want := range map[[2]bool]string{ // ctn, plain
		{false, false}: retry,
		{true, false}:  retry,
		{false, true}:  strings.Replace(retry, "retry", "complete the file of answers, then retry", 1),
	} {
		a := analysis(0.1, 0.01, 0.8)
		a.Arms[0].Given, a.Arms[1].Given = given[0], given[1]
		a.Arms[1].OK, a.Arms[1].Failed = 92, 8
		if v := compile(t, rule("diff('ctn','plain','composite') > 0")).Decide(a); v.ExitCode() != 4 || !slices.Contains(v.Reasons, want) {
			t.Errorf("%v: %v", given, v.Reasons)
		}
	}
}

// TestAnswersThatNobodyCouldReadPassNoRule: a rule that reads no other scores is undecided, and so
// is an outcome that would apply or not by them. Beside answers that were read they score as wrong.
func TestAnswersThatNobodyCouldReadPassNoRule(t *testing.T) {
	outcomes := func(classes ...study.Class) study.Decide { return study.Decide{Outcomes: classes} }
	for _, c := range []struct {
		decide study.Decide
		unread []string
		want   gate.State
	}{
		{rule("no_worse('plain','ctn','composite',0.2)"), []string{"plain", "ctn"}, gate.Undecided},
		{rule("diff_low('ctn','plain','composite') > -0.05"), []string{"plain", "ctn"}, gate.Undecided},
		{rule("diff_low('ctn','plain','composite') > -0.05"), []string{"plain"}, gate.Pass},
		{rule("low('ctn','composite') > 0.5 || low('plain','composite') > 0.5"), []string{"plain"}, gate.Pass},
		{rule("low('plain','composite') > 0.5"), []string{"plain"}, gate.Undecided},
		{rule("low('plain','composite') > 0.9"), []string{"plain"}, gate.Fail},
		{rule("malformed('plain') >= 0 && failed('ctn') == 0"), []string{"plain", "ctn"}, gate.Pass},
		{outcomes(study.Class{Name: "worse", When: "diff_high('ctn','plain','composite') < 0", Verdict: "fail"}, study.Class{Name: "fine", When: "low('ctn','composite') > 0.5", Verdict: "pass"}), nil, gate.Pass},
		{outcomes(study.Class{Name: "worse", When: "diff_high('ctn','plain','composite') < 0", Verdict: "fail"}, study.Class{Name: "fine", When: "low('ctn','composite') > 0.5", Verdict: "pass"}), []string{"plain", "ctn"}, gate.Undecided},
		{outcomes(study.Class{Name: "bad", When: "value('plain','composite') < 0.9", Verdict: "fail"}, study.Class{Name: "rest", Verdict: "undecided"}), []string{"plain", "ctn"}, gate.Fail},
	} {
		a := analysis(0.1, 0.01, 0.8)
		for _, arm := range c.unread {
			a.Troubles = append(a.Troubles, analyse.Trouble{Arm: arm, Kind: string(eval.Malformed), N: 96, Answers: 96})
		}
		if v := compile(t, c.decide).Decide(a); v.State != c.want || c.want == gate.Undecided && !strings.Contains(fmt.Sprint(v), "no answer of ") {
			t.Errorf("%+v, unread %q: %s (%v), want %s", c.decide, c.unread, v.State, v.Reasons, c.want)
		}
	}
}

// TestRulesAskForEvidence: a rule that holds on results that know nothing is an error, if it
// can make the gate pass. One that holds by an estimate is none: the gate warns of it.
func TestRulesAskForEvidence(t *testing.T) {
	bounded := names
	bounded.Metrics = []eval.Metric{{Name: "composite", Kind: eval.Scoring, Max: 1}}
	bounded.Factors = []string{"type"}
	for that, wrong := range map[string]bool{
		"p('ctn','plain','composite') > 0.05":                                         true,
		"p('ctn','plain','composite') >= 0.05 && diff('ctn','plain','composite') > 0": true,
		"p('ctn','plain','composite') > 0.05 || diff('ctn','plain','composite') > 0":  true,
		"!(diff_high('ctn','plain','composite') < 0)":                                 true,
		"not (p_adjusted('ctn','plain','composite') < 0.05)":                          true,
		"diff_high('ctn','plain','composite') > 0":                                    true,
		"diff_low('ctn','plain','composite') > -2":                                    true, // it always is
		"high('ctn','composite') <= 1":                                                true,
		"!within('ctn','plain','composite', 0.1)":                                     true,
		"p_min('ctn','plain','composite','type') > 0.05":                              true,
		"p('ctn','plain','composite') < 0.05":                                         false,
		"diff_low('ctn','plain','composite') > -0.05":                                 false,
		"within('ctn','plain','composite', 0.1)":                                      false,
		"high('ctn','composite') < 0.02":                                              false,
		"low('ctn','composite') > high('plain','composite')":                          false,
		"!(diff_low('ctn','plain','composite') <= -0.05)":                             false,
		"value('ctn','composite') >= 0.6":                                             false,
		"value('ctn','composite') >= 0.6 || p('ctn','plain','composite') < 0.05":      false,
		"diff('ctn','plain','composite') > 0 && p('ctn','plain','composite') < 0.05":  false,
		"n('ctn','composite') > 30 && diff_low('ctn','plain','composite') > 0":        false,
		"diff_max('ctn','plain','composite','type') > 0.1":                            false,
		"failed('ctn') < 0.05":                                                        false,
		"true":                                                                        true, // and what else holds whatever comes
		"failed('ctn') <= 1":                                                          true,
		"value('ctn','composite') >= 0":                                               true,
		"n('ctn','composite') >= 0":                                                   true,
		"diff('ctn','plain','composite') >= -1":                                       true,
		"value('ctn','composite') > 0.5 or value('ctn','composite') <= 0.5":           true,
		"value('ctn','composite') > 0":                                                false,
		"value('ctn','composite') < 0.1 or value('ctn','composite') > 0.2":            false,
		"value('ctn','composite') != 0.5":                                             false,
		"value('ctn','composite') - value('plain','composite') > -0.5":                false,
		"n('ctn','composite') >= 20":                                                  false,
		"registered() == 1":                                                           false,
	} {
		for _, d := range []study.Decide{rule(that), {Outcomes: []study.Class{{Name: "A", When: that, Verdict: "pass"}, {Name: "B", Verdict: "undecided"}}}} {
			if _, problems := gate.Compile(d, bounded); (len(problems) > 0) != wrong {
				t.Errorf("%s: %v, want an error: %v", that, problems, wrong)
			}
		}
		for _, harmless := range []string{"fail", "undecided"} {
			if _, problems := gate.Compile(study.Decide{Outcomes: []study.Class{{Name: "A", When: that, Verdict: harmless}}}, bounded); len(problems) > 0 {
				t.Errorf("%s: %s is refused: %v", that, harmless, problems)
			}
		}
	}
	ship := []study.Class{{Name: "worse", When: "diff_high('ctn','plain','composite') < 0", Verdict: "fail"}, {Name: "ship", Verdict: "pass"}}
	if _, problems := gate.Compile(study.Decide{Outcomes: ship}, bounded); len(problems) != 1 || problems[0].Path != "decide.outcomes[1].verdict" {
		t.Errorf("an outcome for the rest passes: %v", problems)
	}
	if _, problems := gate.Compile(study.Decide{Require: rule("diff_low('ctn','plain','composite') > -0.05").Require, Outcomes: ship}, bounded); len(problems) > 0 {
		t.Errorf("an outcome for the rest beside a required rule is refused: %v", problems)
	}
}

// TestRulesCannotReadTheClock: the same results give the same verdict at any time.
func TestRulesCannotReadTheClock(t *testing.T) {
	for _, that := range []string{"now().Year() > 2000", "now() > date('2030-01-01')", "duration('1h').Hours() > 0 and p('ctn','plain','composite') < 0.05", "timezone('UTC') != nil"} {
		if _, problems := gate.Compile(rule(that), names); len(problems) != 1 || !strings.Contains(problems[0].Error(), "cannot read the clock") {
			t.Errorf("%s: %v", that, problems)
		}
	}
}

// TestAlternatives: the comparisons that are corrected together are those any of which would
// do for a rule, or for one of several outcomes that pass. Evidence of another metric of the
// same arms is no reason to leave them alone: it may be true, and then the rule has its tries.
func TestAlternatives(t *testing.T) {
	three := names
	three.Arms = append(slices.Clone(names.Arms), "other")
	three.Metrics = append(slices.Clone(names.Metrics), eval.Metric{Name: "second", Max: 1, Kind: eval.Scoring}, eval.Metric{Name: "third", Max: 1, Kind: eval.Scoring})
	three.Compared = func(_, _, _ string) bool { return true }
	low := func(arm, metric string) string { return fmt.Sprintf("diff_low('%s','plain','%s') > 0", arm, metric) }
	require := func(that ...string) (d study.Decide) {
		for i, x := range that {
			d.Require = append(d.Require, study.Condition{Name: fmt.Sprint(i), That: x})
		}
		return d
	}
	first, other := low("ctn", "composite"), low("other", "composite")
	for name, c := range map[string]struct {
		rules study.Decide
		want  int
	}{
		"one":                           {require(first), 0},
		"both must hold":                {require(first + " && " + other), 0},
		"two rules":                     {require(first, other), 0},
		"any":                           {require(first + " || " + other), 2},
		"one of two":                    {require("(" + first + ") != (" + other + ")"), 2},
		"one of two, by a margin":       {require("no_worse('ctn','plain','composite',0.1) != (" + other + ")"), 2},
		"equal numbers":                 {require("diff_low('ctn','plain','composite') == -diff_low('other','plain','composite')"), 0},
		"any of one comparison":         {require(first + " || p('plain','ctn','composite') < 0.01"), 0},
		"any of two metrics":            {require(low("ctn", "second") + " || " + low("ctn", "third")), 2},
		"the same beside a third":       {require(first, low("ctn", "second")+" || "+low("ctn", "third")), 2},
		"estimates beside evidence":     {require(first, "diff('ctn','plain','second') > 0 || diff('ctn','plain','third') > 0"), 0},
		"estimates beside other arms":   {require(other, "diff('ctn','plain','second') > 0 || diff('ctn','plain','third') > 0"), 2},
		"outcomes":                      {study.Decide{Outcomes: []study.Class{{Name: "a", When: first, Verdict: "pass"}, {Name: "b", When: other, Verdict: "pass"}}}, 2},
		"outcomes of one comparison":    {study.Decide{Outcomes: []study.Class{{Name: "a", When: first + " && " + other, Verdict: "pass"}, {Name: "b", When: first, Verdict: "pass"}}}, 0},
		"an outcome that does not pass": {study.Decide{Outcomes: []study.Class{{Name: "a", When: first, Verdict: "pass"}, {Name: "b", When: other, Verdict: "fail"}}}, 0},
	} {
		r, problems := gate.Compile(c.rules, three)
		if len(problems) > 0 {
			t.Fatalf("%s: %v", name, problems[0])
		}
		if got := r.Alternatives(); len(got) != c.want {
			t.Errorf("%s: %v, want %d", name, got, c.want)
		}
		if got := r.OfOneRule(); c.want > 0 != (len(got) == 1) && name != "outcomes" {
			t.Errorf("%s: of one rule are %v", name, got)
		}
	}
}

// TestLimits: what rules compare the ends of the intervals of differences with.
func TestLimits(t *testing.T) {
	known := names
	known.Factors, known.Compared = []string{"s"}, func(_, _, _ string) bool { return true }
	known.Metrics = append(slices.Clone(names.Metrics), eval.Metric{Name: "second", Max: 1, Kind: eval.Scoring})
	for condition, want := range map[string]string{
		"diff_low('ctn','plain','composite') > 0":                                       "map[]",
		"diff_low('ctn','plain','composite') > 0.02":                                    "map[[ctn plain composite]:[0.02]]",
		"-0.02 < diff_low('ctn','plain','composite')":                                   "map[[ctn plain composite]:[-0.02]]",
		"diff_high('ctn','plain','composite') <= 1":                                     "map[[ctn plain composite]:[1]]",
		"no_worse('ctn','plain','composite',0.05)":                                      "map[[ctn plain composite]:[0.05]]", // of which lower is better
		"diff_low('ctn','plain','composite') * 2 > 1":                                   "map[[ctn plain composite]:[NaN]]",
		"diff_low('ctn','plain','composite') > diff('ctn','plain','second')":            "map[[ctn plain composite]:[NaN]]",
		"within('ctn','plain','composite',0.05)":                                        "map[[ctn plain composite]:[NaN]]",
		"d_low('ctn','plain','composite') > 0.2":                                        "map[[ctn plain composite]:[NaN]]",
		"d_low('ctn','plain','composite') > 0":                                          "map[]",
		"p('ctn','plain','composite') < 0.01 && diff('ctn','plain','composite') > 0.1":  "map[]",
		"low('ctn','composite') > 0.5 && diff_min('ctn','plain','composite','s') > 0.1": "map[]",
		"any([0.1, 0.2], diff_low('ctn','plain','composite') > #)":                      "map[[ctn plain composite]:[NaN]]",
	} {
		r, problems := gate.Compile(study.Decide{Require: []study.Condition{{Name: "r", That: condition}}}, known)
		if len(problems) > 0 {
			t.Fatalf("%s: %v", condition, problems[0])
		}
		if got := fmt.Sprint(r.Limits()); got != want {
			t.Errorf("%s: %s, want %s", condition, got, want)
		}
	}
}

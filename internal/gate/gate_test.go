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

var names = gate.Names{Arms: []string{"ctn", "plain"},
	Metrics:  []eval.Metric{{Name: "composite", Kind: eval.Scoring}, {Name: "quote_words", Kind: eval.Analysis}},
	Compared: func(a, b, metric string) bool { return metric == "composite" && a != b }}

// analysis is a study in which ctn scores 0.8 and plain 0.7, with 100 pairs.
func analysis(diff, p, d float64) *analyse.Analysis {
	return &analyse.Analysis{
		Run:  analyse.Run{Planned: 200, Done: 200, MaxFailed: 0.05},
		Arms: []analyse.Arm{{ID: "ctn", Planned: 100, OK: 100}, {ID: "plain", Planned: 100, OK: 96, Failed: 4}},
		Estimates: []analyse.Estimate{{Arm: "ctn", Metric: "composite", Value: 0.8, Low: 0.75, High: 0.85, Items: 100},
			{Arm: "plain", Metric: "composite", Value: analyse.Number(0.8 - diff), Low: 0.65, High: 0.75, Items: 100}},
		Comparisons: []analyse.Comparison{{A: "ctn", B: "plain", Metric: "composite", Pairs: 100, Clusters: 100, Diff: analyse.Number(diff),
			Low: analyse.Number(diff - 0.02), High: analyse.Number(diff + 0.02), P: analyse.Number(p), PAdjusted: analyse.Number(p), D: analyse.Number(d)}},
	}
}

func rule(that string) study.Decide {
	return study.Decide{Require: []study.Condition{{Name: "r", That: that}}}
}

func compile(t *testing.T, d study.Decide) *gate.Rules {
	t.Helper()
	rules, problems := gate.Compile(d, names)
	for _, p := range problems {
		t.Fatalf("%s: %v", p.At, p)
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
		{0.06, 0.20, 0.3, "D", gate.Fail, 1},
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
		"low('ctn','composite') > high('plain','composite')":                                 gate.Fail,
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
		"within('ctn','plain','composite', 0.02)":                                                      gate.Fail,
		"!within('ctn','plain','composite', 0.02)":                                                     gate.Pass,
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
	v := compile(t, rule("!within('ctn','plain','composite', 1)")).Decide(a)
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
	outside.Blind = []analyse.BlindResult{{By: "x", Data: "ab", Simulated: []string{"ctn"}}}
	v = compile(t, d).Decide(outside)
	if !v.Simulated {
		t.Error("a verdict on a blind validation with simulated answers does not say so")
	}
	if len(v.Blind) != 1 || v.Blind[0] != "by x, 0 comparisons, data with SHA-256 ab, SIMULATED" {
		t.Errorf("a verdict whose rules read no blind validation says %q of it", v.Blind)
	}
}

// TestTwoReadings: a rule must hold by the reading that respects the data and by
// the planned test. If they disagree, there is not enough evidence.
func TestTwoReadings(t *testing.T) {
	u := analyse.Undefined()
	for name, c := range map[string]struct {
		low     analyse.Number // of the reading that decides
		planned *analyse.Reading
		want    gate.State
	}{
		"both hold":                     {0.01, &analyse.Reading{Low: 0.02, High: 0.2, P: 0.01}, gate.Pass},
		"only the planned test holds":   {-0.01, &analyse.Reading{Low: 0.02, High: 0.2, P: 0.01, Method: "paired t-test over items"}, gate.Undecided},
		"only the other one holds":      {0.01, &analyse.Reading{Low: -0.02, High: 0.2, P: 0.1}, gate.Undecided},
		"neither holds":                 {-0.01, &analyse.Reading{Low: -0.02, High: 0.2, P: 0.1}, gate.Fail},
		"the planned test is undefined": {0.01, &analyse.Reading{Low: u, High: u, P: u}, gate.Pass},
		"there is only one":             {-0.01, nil, gate.Fail},
	} {
		a := analysis(0.1, 0.01, 0.8)
		a.Comparisons[0].Low, a.Comparisons[0].Planned, a.Comparisons[0].Method = c.low, c.planned, "cluster-robust t over 8 clusters"
		for _, that := range []string{"diff_low('ctn','plain','composite') > 0", "diff_high('plain','ctn','composite') < 0"} {
			v := compile(t, rule(that)).Decide(a)
			if v.State != c.want {
				t.Errorf("%s: %s: %s, want %s (%v)", name, that, v.State, c.want, v.Reasons)
			}
			if name == "only the planned test holds" && !strings.Contains(v.Conditions[0].Reason, "it holds by paired t-test over items, not by cluster-robust t over 8 clusters") {
				t.Errorf("%s: the reason is %q", name, v.Conditions[0].Reason)
			}
		}
	}
}

// TestWithoutThePlannedTest: intervals of a comparison that the planned test cannot
// make decide nothing. Its difference is as good as another.
func TestWithoutThePlannedTest(t *testing.T) {
	a := analysis(0.1, 0.01, 0.8)
	a.Comparisons[0].Low, a.Comparisons[0].High, a.Comparisons[0].EquivLow, a.Comparisons[0].EquivHigh = 0.01, 0.2, 0.02, 0.19
	a.Comparisons[0].Warnings = []string{"no test: McNemar's test needs scores that are 0 or 1"}
	for that, want := range map[string]gate.State{
		"diff_low('ctn','plain','composite') > 0":   gate.Undecided,
		"diff_high('plain','ctn','composite') < 0":  gate.Undecided,
		"diff_low('ctn','plain','composite') > 0.1": gate.Undecided,
		"within('ctn', 'plain', 'composite', 0.3)":  gate.Undecided,
		"diff('ctn','plain','composite') > 0":       gate.Pass,
		"pairs('ctn','plain','composite') >= 1":     gate.Pass,
	} {
		a.Comparisons[0].Untested = true
		v := compile(t, rule(that)).Decide(a)
		if v.State != want || want == gate.Undecided && !strings.Contains(v.Conditions[0].Reason, "McNemar") {
			t.Errorf("%s: %s, want %s (%v)", that, v.State, want, v.Conditions[0].Reason)
		}
		a.Comparisons[0].Untested = false
		if v := compile(t, rule(that)).Decide(a); v.State == gate.Undecided {
			t.Errorf("%s: undecided with the planned test: %v", that, v.Reasons)
		}
	}
}

// TestTooFewItemsToDecide: a rule that no scores could have met with these items is
// undecided, unless the data contradict it.
func TestTooFewItemsToDecide(t *testing.T) {
	limit := func(value, low, high analyse.Number) *analyse.Bounds {
		return &analyse.Bounds{Value: value, Low: low, High: high}
	}
	// A rate of 0 of 100 has the upper limit 0.037, of 189 it has 0.0199.
	for name, c := range map[string]struct {
		estimate analyse.Estimate
		want     gate.State
	}{
		"no event of 100":            {analyse.Estimate{Value: 0, Low: 0, High: 0.037, Best: limit(0, 0, 0.037), Worst: limit(1, 0.963, 1)}, gate.Undecided},
		"no event of 189":            {analyse.Estimate{Value: 0, Low: 0, High: 0.0199, Best: limit(0, 0, 0.0199), Worst: limit(1, 0.98, 1)}, gate.Pass},
		"one of 189":                 {analyse.Estimate{Value: 0.0053, Low: 0.0009, High: 0.029, Best: limit(0, 0, 0.0199), Worst: limit(1, 0.98, 1)}, gate.Fail},
		"forty of 100":               {analyse.Estimate{Value: 0.4, Low: 0.31, High: 0.5, Best: limit(0, 0, 0.037), Worst: limit(1, 0.963, 1)}, gate.Fail},
		"a metric without a limit":   {analyse.Estimate{Value: 0.05, Low: 0.01, High: 0.09}, gate.Fail},
		"three of 100, not rejected": {analyse.Estimate{Value: 0.03, Low: 0.01, High: 0.085, Best: limit(0, 0, 0.037), Worst: limit(1, 0.963, 1)}, gate.Undecided},
	} {
		a := analysis(0.1, 0.01, 0.8)
		c.estimate.Arm, c.estimate.Metric = "ctn", "composite"
		a.Estimates[0] = c.estimate
		v := compile(t, rule("high('ctn','composite') < 0.02 && failed('ctn') < 0.05")).Decide(a)
		if v.State != c.want {
			t.Errorf("%s: %s, want %s (%v)", name, v.State, c.want, v.Reasons)
		}
	}

	// Sign flips of five clusters have p ≥ 1/16.
	few := func(diff analyse.Number) *analyse.Analysis {
		a := analysis(float64(diff), 0.0625, 0.8)
		all := func(d analyse.Number) analyse.Reading {
			return analyse.Reading{Diff: d, Low: -1, High: 1, P: 0.0625, PAdjusted: 0.0625, EquivLow: -1, EquivHigh: 1}
		}
		a.Comparisons[0].Reach = &analyse.Reach{BestA: all(0.3), WorstA: all(-0.7), BestB: all(-0.3), WorstB: all(0.7), Same: all(0)}
		return a
	}
	p := "p('ctn','plain','composite') < 0.05 && diff('ctn','plain','composite') > 0"
	if v := compile(t, rule(p)).Decide(few(0.1)); v.State != gate.Undecided || !strings.Contains(strings.Join(v.Reasons, " "), "no scores of one of its arms could meet the rule") {
		t.Errorf("five clusters: %s, %v", v.State, v.Reasons)
	}
	if v := compile(t, rule(p)).Decide(few(-0.1)); v.State != gate.Fail {
		t.Errorf("five clusters, the other arm is better: %s, %v", v.State, v.Reasons)
	}
	if v := compile(t, phase1).Decide(few(0.2)); v.State != gate.Undecided || v.Outcome != "" {
		t.Errorf("outcome %q, %s: a later class must not apply where an earlier one cannot be decided", v.Outcome, v.State)
	}
}

func TestRulesAreCheckedBeforeAnythingRuns(t *testing.T) {
	for that, want := range map[string]string{
		"value('ctx','composite') > 0":          `unknown arm "ctx": did you mean "ctn"?; the arms are ctn, plain`,
		"value('other','composite') > 0":        `unknown arm "other"; the arms are ctn, plain`,
		"value('ctn','compsite') > 0":           `unknown metric "compsite": did you mean "composite"?; the metrics are composite`,
		"valu('ctn','composite') > 0":           "unknown function \"valu\": did you mean \"value\"?; `scruple gate --help` lists the functions",
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
		if len(problems) != 1 || !strings.Contains(problems[0].Error(), want) || problems[0].At != "decide.require[0].that" {
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
		a.Comparisons = append(a.Comparisons, analyse.Comparison{A: "plain", B: "ctn", Metric: "composite", Stratum: &eval.Level{Name: "type", Value: value}, Diff: analyse.Number(-diff), P: analyse.Number(p)})
	}
	stratum("x", 0.2, 0.01)
	stratum("y", -0.1, 0.001) // the other arm is better
	stratum("z", 0.05, 0.004)
	a.Estimates = append(a.Estimates, analyse.Estimate{Arm: "ctn", Metric: "composite", Stratum: &eval.Level{Name: "type", Value: "x"}, Value: 0.4})
	a.Replications = []analyse.Replication{{A: "ctn", B: "plain", Metric: "composite", Change: 0.01, EquivLow: -0.02, EquivHigh: 0.04}}
	a.Blind = []analyse.BlindResult{{Comparisons: []analyse.BlindComparison{{A: "plain", B: "ctn", Metric: "composite", Diff: -0.03}}},
		{Comparisons: []analyse.BlindComparison{{A: "ctn", B: "plain", Metric: "composite", Diff: -0.01}}}}
	a.Agreements = []analyse.Agreement{{Task: "double", Question: "exists", Same: 9, N: 10}, {Task: "double", Question: "value", Same: 4, N: 5}}
	a.Discipline = &analyse.Discipline{Registration: &analyse.Registration{}}
	named := names
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
		"replicates('ctn','plain','composite', 0.03)":                   gate.Fail,
		"blind_runs() == 2":                             gate.Pass,
		"blind_min('ctn','plain','composite') == -0.01": gate.Pass,
		"blind_max('ctn','plain','composite') == 0.03":  gate.Pass,
		"agreement('double') == 0.8":                    gate.Pass,
		"agreement('other') > 0":                        gate.Undecided,
		"registered() == 1":                             gate.Pass,
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
	if v := rules.Decide(a); v.State != gate.Fail || v.Diagnosis != "wide" || v.DiagnosisAdvice != "y" || v.Conditions[3].State != gate.Fail {
		t.Errorf("a run that fails: %+v", v)
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

// TestAJudgeThatFailedDecidesNothing: a rule does not decide by what is left of a metric
// whose other scores are missing because the judge failed its calibration. It may
// decide by the rest of the arms and metrics.
func TestAJudgeThatFailedDecidesNothing(t *testing.T) {
	const reason = "the judge failed its calibration: composite of plain lacks 12 of its scores"
	for that, want := range map[string]gate.State{
		"value('plain','composite') > 0":            gate.Undecided,
		"value('plain','composite') > 1":            gate.Undecided, // it does not fail either
		"n('plain','composite') > 1":                gate.Undecided,
		"diff('ctn','plain','composite') > 0":       gate.Undecided,
		"sd('plain','composite') >= 0":              gate.Undecided,
		"failed('plain') < 0.05":                    gate.Pass,
		"value('ctn','composite') > 0":              gate.Pass,
		"within('ctn','plain','composite', 0.5)":    gate.Undecided,
		"p_across('ctn','plain','composite','k')<1": gate.Undecided,
	} {
		a := analysis(0.1, 0.01, 0.8)
		a.Judges = []analyse.Judge{{Name: "j", Failed: true, Effect: "right on 3 of 9"}}
		a.Estimates[1].Unscored, a.Estimates[1].JudgeFailed = 12, 12
		across := names
		across.Across = [][4]string{{"ctn", "plain", "composite", "k"}}
		rules, problems := gate.Compile(rule(that), across)
		if len(problems) > 0 {
			t.Fatalf("%s: %v", that, problems)
		}
		v := rules.Decide(a)
		if v.State != want {
			t.Errorf("%s: %s, want %s (%v)", that, v.State, want, v.Reasons)
		}
		if got := v.Conditions[0].Reason; want == gate.Undecided && got != reason {
			t.Errorf("%s: undecided because %q, want %q", that, got, reason)
		}
		if len(v.FailedJudges) != 1 || v.FailedJudges[0] != "judge j failed its calibration: right on 3 of 9" {
			t.Errorf("%s: the verdict says %q of the judge", that, v.FailedJudges)
		}
	}
}

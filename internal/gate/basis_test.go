package gate_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
)

// basisAnalysis has an interval of everything that has one.
func basisAnalysis() *analyse.Analysis {
	a := analysis(0.1, 0.01, 0.8)
	a.Study.Alpha = 0.05
	for i := range a.Arms {
		arm := &a.Arms[i]
		wilson := func(hits, n int) [2]analyse.Number { s := a.Share(hits, n); return [2]analyse.Number{s.Low, s.High} }
		arm.Intervals = map[eval.OutcomeKind][2]analyse.Number{eval.Failed: wilson(arm.Failed, arm.Done()),
			eval.Malformed: wilson(arm.Malformed, arm.Answers()), eval.Refused: wilson(arm.Refused, arm.Answers())}
	}
	a.Estimates[0].SD = 0.3
	a.Estimates = append(a.Estimates, analyse.Estimate{Arm: "ctn", Metric: "composite", Stratum: &eval.Level{Name: "type", Value: "x"}, Bounds: analyse.Bounds{Value: 0.9, Low: 0.6, High: 1}, Items: 7})
	c := &a.Comparisons[0]
	c.Level, c.DLow, c.DHigh, c.EquivLow, c.EquivHigh = 0.95, 0.5, 1.1, 0.085, 0.115
	for i, value := range []string{"x", "y"} {
		d := analyse.Number(0.3 - 0.2*float64(i))
		a.Comparisons = append(a.Comparisons, analyse.Comparison{A: "ctn", B: "plain", Metric: "composite", Level: 0.95,
			Stratum: &eval.Level{Name: "type", Value: value}, Pairs: 7 + i, Reading: analyse.Reading{Diff: d, Low: d - 0.2, High: d + 0.2, P: 0.5}})
	}
	a.Replications = []analyse.Replication{{A: "ctn", B: "plain", Metric: "composite", Change: 0.01, EquivLow: -0.02, EquivHigh: 0.04, Pairs: [2]int{50, 40}}}
	a.Blind = []analyse.BlindResult{{Comparisons: []analyse.BlindComparison{{A: "plain", B: "ctn", Metric: "composite", Diff: -0.1, Low: -0.2, High: 0.05, Pairs: 60}}}}
	a.Agreements = []analyse.Agreement{{Task: "double", Same: 18, N: 20}, {Task: "double", Same: 8, N: 10}}
	return a
}

func basisNames() gate.Names {
	named := names
	named.Factors, named.Strata, named.Tasks = []string{"type"}, []string{"type=x", "type=y"}, []string{"double"}
	return named
}

func decide(t *testing.T, that string, a *analyse.Analysis) gate.Condition {
	t.Helper()
	rules, wrong := gate.Compile(rule(that), basisNames())
	if len(wrong) > 0 {
		t.Fatalf("%s: %v", that, wrong[0])
	}
	return rules.Decide(a).Conditions[0]
}

// A result that does not exist has no interval.
func TestUndefinedValuesHaveNoInterval(t *testing.T) {
	a := basisAnalysis()
	a.Replications, a.Blind = nil, nil
	for _, that := range []string{"change('ctn','plain','composite') > 0", "change_low('ctn','plain','composite') > 0", "blind_min('ctn','plain','composite') > 0"} {
		c := decide(t, that, a)
		if u := c.Values[0]; c.State != gate.Undecided || u.Value != nil || u.Interval != nil {
			t.Errorf("%s: %v, %+v, interval %v", that, c.State, u, u.Interval)
		}
	}
}

// Every value that a rule reads has the number of observations behind it and the
// interval that the analysis has.
func TestValuesHaveIntervalAndN(t *testing.T) {
	for that, want := range map[string]string{
		"value('ctn','composite') > 0":                       "100 items, 95\u00a0% CI 0.75 to 0.85",
		"low('ctn','composite') > 0":                         "100 items, 95\u00a0% CI 0.75 to 0.85",
		"sd('ctn','composite') > 0":                          "100 items",
		"n('ctn','composite') > 0":                           "",
		"pairs('ctn','plain','composite') > 0":               "",
		"diff('ctn','plain','composite') > 0":                "100 pairs, 95\u00a0% CI 0.08 to 0.12",
		"diff('plain','ctn','composite') < 0":                "100 pairs, 95\u00a0% CI -0.12 to -0.08",
		"p('ctn','plain','composite') < 1":                   "100 pairs, 95\u00a0% CI of the difference 0.08 to 0.12",
		"d('ctn','plain','composite') > 0":                   "100 pairs, 95\u00a0% CI 0.5 to 1.1",
		"equiv_low('ctn','plain','composite') > 0":           "100 pairs, 90\u00a0% CI 0.085 to 0.115",
		"within('ctn','plain','composite',0.5)":              "100 pairs, 90\u00a0% CI 0.085 to 0.115",
		"diff_in('ctn','plain','composite','type=x') > 0":    "7 pairs, 95\u00a0% CI 0.1 to 0.5",
		"diff_max('ctn','plain','composite','type') > 0":     "7 pairs, 95\u00a0% CI 0.1 to 0.5",
		"diff_min('ctn','plain','composite','type') > 0":     "8 pairs, 95\u00a0% CI -0.1 to 0.3",
		"value_in('ctn','composite','type=x') > 0":           "7 items, 95\u00a0% CI 0.6 to 1",
		"change('ctn','plain','composite') > 0":              "40 pairs, 90\u00a0% CI -0.02 to 0.04",
		"blind_min('ctn','plain','composite') > 0":           "60 pairs, interval -0.05 to 0.2",
		"agreement('double') > 0":                            "10 subjects, 95\u00a0% CI 0.49 to 0.943",
		"failed('plain') > 0":                                "100 trials, 95\u00a0% CI 0.0157 to 0.0984",
		"diff('ctn','plain','composite') > 0 and 1.0 in [1]": "100 pairs, 95\u00a0% CI 0.08 to 0.12",
	} {
		u := decide(t, that, basisAnalysis()).Values[0]
		var got []string
		if u.N != nil {
			got = append(got, fmt.Sprintf("%d %s", *u.N, u.Of))
		}
		if i := u.Interval; i != nil {
			got = append(got, fmt.Sprintf("%s %.3g to %.3g", i.Name(), i.Low, i.High))
		}
		if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", that, diff)
		}
	}
	a := basisAnalysis()
	a.Comparisons[0].Level = 0.975
	for _, name := range []string{"diff", "d"} {
		if i := decide(t, name+"('ctn','plain','composite') > 0", a).Values[0].Interval; i.Name() != "simultaneous 95\u00a0% CI" {
			t.Errorf("one of several intervals of %s is called %q", name, i.Name())
		}
	}
}

// A rule that holds by an estimate and not by its interval passes with a warning.
func TestHoldsByTheEstimateAlone(t *testing.T) {
	const alone = "holds by the estimate alone: "
	for that, want := range map[string]string{
		"value('ctn','composite') >= 0.7":                                             "",
		"value('ctn','composite') >= 0.8":                                             alone + "value(ctn, composite) = 0.8, not by the lower end of its 95\u00a0% CI, 0.75 (n = 100 items): use low to require it",
		"0.8 <= value('ctn','composite')":                                             alone + "value(ctn, composite) = 0.8, not by the lower end of its 95\u00a0% CI, 0.75 (n = 100 items): use low to require it",
		"value('ctn','composite') <= 0.82":                                            alone + "value(ctn, composite) = 0.8, not by the upper end of its 95\u00a0% CI, 0.85 (n = 100 items): use high to require it",
		"low('ctn','composite') >= 0.7":                                               "",
		"low('ctn','composite') >= 0.7 && value('ctn','composite') >= 0.75":           "",
		"value('ctn','composite') >= 0.8 or p('ctn','plain','composite') < 0.05":      "", // it holds without the estimate
		"value('ctn','composite') < 0.1":                                              "", // it fails
		"diff('ctn','plain','composite') >= 0.1 && p('ctn','plain','composite')<0.05": alone + "diff(ctn, plain, composite) = 0.1, not by the lower end of its 95\u00a0% CI, 0.08 (n = 100 pairs): use diff_low to require it",
		"diff('plain','ctn','composite') <= -0.1":                                     alone + "diff(plain, ctn, composite) = -0.1, not by the upper end of its 95\u00a0% CI, -0.08 (n = 100 pairs): use diff_high to require it",
		"d('ctn','plain','composite') > 0.6":                                          alone + "d(ctn, plain, composite) = 0.8, not by the lower end of its 95\u00a0% CI, 0.5 (n = 100 pairs): use d_low to require it",
		"diff_in('ctn','plain','composite','type=x') > 0.2":                           alone + "diff_in(ctn, plain, composite, type=x) = 0.3, not by the lower end of its 95\u00a0% CI, 0.1 (n = 7 pairs)",
		"change('ctn','plain','composite') < 0.03":                                    alone + "change(ctn, plain, composite) = 0.01, not by the upper end of its 90\u00a0% CI, 0.04 (n = 40 pairs): use change_high to require it",
		"failed('plain') < 0.1":                                                       "",
		"failed('plain') < 0.05":                                                      alone + "failed(plain) = 0.04, not by the upper end of its 95\u00a0% CI, 0.0983707 (n = 100 trials)",
		"malformed('ctn') <= 0.01":                                                    alone + "malformed(ctn) = 0, not by the upper end of its 95\u00a0% CI, 0.0369935 (n = 100 answers)",
		"refused('ctn') <= 0.01":                                                      alone + "refused(ctn) = 0, not by the upper end of its 95\u00a0% CI, 0.0369935 (n = 100 answers)",
		"agreement('double') > 0.7":                                                   alone + "agreement(double) = 0.8, not by the lower end of its 95\u00a0% CI, 0.490162 (n = 10 subjects)",
		"sd('ctn','composite') < 0.5":                                                 alone + "sd(ctn, composite) = 0.3, which has no interval (n = 100 items)",
		"blind_runs() > 0":                                                            "",
		"n('ctn','composite') >= 100":                                                 "",
		"value('ctn','composite') == 0.8":                                             "", // no interval is one value
	} {
		got := decide(t, that, basisAnalysis())
		if strings.Join(got.Warnings, "\n") != want {
			t.Errorf("%s: %s, warnings %q, want %q", that, got.State, got.Warnings, want)
		}
	}
	one := basisAnalysis()
	one.Estimates[0].Low, one.Estimates[0].High, one.Estimates[0].Items = analyse.Undefined(), analyse.Undefined(), 1
	if got := decide(t, "value('ctn','composite') >= 0.7", one).Warnings; len(got) != 1 || got[0] != alone+"value(ctn, composite) = 0.8, which has no interval (n = 1 item)" {
		t.Errorf("without an interval: %q", got)
	}
}

// Only the outcome that applies is warned about: the others have no effect.
func TestHoldsByTheEstimateAloneOfOutcomes(t *testing.T) {
	v := compile(t, phase1).Decide(basisAnalysis())
	if v.Outcome != "A" || len(v.Conditions[0].Warnings) != 2 {
		t.Errorf("outcome %s, warnings of it %q, want two: of diff and d", v.Outcome, v.Conditions[0].Warnings)
	}
	for _, c := range v.Conditions[1:] {
		if len(c.Warnings) > 0 {
			t.Errorf("outcome %s, which does not apply, has warnings %q", c.Name, c.Warnings)
		}
	}
}

func TestPercent(t *testing.T) {
	for alpha, want := range map[float64]string{0.05: "95", 0.1: "90", 0.025: "97.5", 0.0003: "99.97", 0.000026: "99.9974", 1e-6: "99.9999", 0.05 / 3: "98.33", 1e-15: "> 99.9999999", 1e-30: "> 99.9999999"} {
		if got := gate.Percent(alpha); got != want {
			t.Errorf("%v: %s, want %s", alpha, got, want)
		}
	}
}

// Rules on p-values keep the level of the study over all planned looks, as intervals do.
func TestPValuesAtAPlannedLook(t *testing.T) {
	named := basisNames()
	named.Across = [][4]string{{"ctn", "plain", "composite", "type"}}
	for that, want := range map[string]float64{
		"p('ctn','plain','composite') < 0.05":                 0.2,
		"p_adjusted('ctn','plain','composite') < 0.05":        0.2,
		"p_min('ctn','plain','composite','type') < 0.05":      0.4,
		"p_across('ctn','plain','composite','type') < 0.05":   0.2,
		"across_spread('ctn','plain','composite','type') < 1": 0.3,
	} {
		a := basisAnalysis()
		a.Comparisons[0].P, a.Comparisons[0].PAdjusted = 0.04, 0.04
		a.Comparisons[1].P, a.Comparisons[2].P = 0.04, 1
		a.Interactions = []analyse.Interaction{{A: "ctn", B: "plain", Metric: "composite", Factor: "type", P: 0.04,
			Pairs: []analyse.DiffOfDiff{{Reading: analyse.Reading{EquivLow: -0.1, EquivHigh: 0.3}}}}}
		a.Run.Looks, a.Study.Alpha = &analyse.Looks{Seen: 1, Planned: 4, Alpha: 0.05}, 0.01
		rules, wrong := gate.Compile(rule(that), named)
		if len(wrong) > 0 {
			t.Fatalf("%s: %v", that, wrong[0])
		}
		c := rules.Decide(a).Conditions[0]
		if got := *c.Values[0].Value; !(math.Abs(got-want) <= 1e-9) || (c.State == gate.Pass) != (want == 0.3) {
			t.Errorf("%s: %v by %v, want %v", that, c.State, got, want)
		}
	}
}

package gate_test

import (
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/study"
)

// TestJudgeAlone: a rule that rests on a judge whom nobody checked says which error of the
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
		"one arm":        {"diff_low('ctn','plain','composite') > 0", "rests on the judge alone for composite of plain,", gate.Pass, judged(false, true)},
		"other way":      {"diff_low('plain','ctn','composite') > -0.15", "a difference of 3 points between its errors on plain and on ctn", gate.Pass, judged(true, true)},
		"p":              {"p('ctn','plain','composite') < 0.05", "a difference of 8 points between", gate.Pass, judged(true, true)},
		"equivalence":    {"diff_high('ctn','plain','composite') < 0.5", "a difference of 38 points between", gate.Pass, judged(true, true)},
		"a limit":        {"low('ctn','composite') > 0.7", "an error of 5 points on ctn would reverse this", gate.Pass, judged(true, false)},
		"the other's":    {"low('ctn','composite') > 0.7", "", gate.Pass, judged(false, true)},
		"failed":         {"high('ctn','composite') < 0.7", "an error of 5.2 points on ctn would reverse this", gate.Fail, judged(true, true)},
		"checked":        {"diff_low('ctn','plain','composite') > 0", "", gate.Pass, judged(false, false)},
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

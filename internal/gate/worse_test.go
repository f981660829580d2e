package gate

import (
	"math"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

// TestNoWorse: the rule is the end of the interval against the margin, in the direction of
// the metric, and open where the interval leaves it open.
func TestNoWorse(t *testing.T) {
	names := Names{Arms: []string{"new", "old"}, Compared: func(a, b, m string) bool { return true }, Metrics: []eval.Metric{
		{Name: "right", Kind: eval.Scoring, Max: 1, HigherIsBetter: true}, {Name: "cost", Kind: eval.Scoring, Max: math.Inf(1)}}}
	for _, c := range []struct {
		metric    string
		low, high float64
		want      State
	}{
		{"right", -0.019, 0.01, Pass}, {"right", 0.05, 0.2, Pass}, {"right", -0.1, 0.1, Undecided}, {"right", -0.3, -0.1, Fail},
		{"cost", -0.01, 0.019, Pass}, {"cost", -0.5, -0.1, Pass}, {"cost", -0.1, 0.1, Undecided}, {"cost", 0.1, 0.3, Fail},
	} {
		rules, wrong := Compile(study.Decide{Require: []study.Condition{{Name: "no worse", That: "no_worse('new', 'old', '" + c.metric + "', 0.02)"}}}, names)
		if len(wrong) > 0 {
			t.Fatal(wrong[0])
		}
		a := &analyse.Analysis{Study: analyse.Study{Alpha: 0.05}, Run: analyse.Run{Planned: 100, Done: 100, Items: 50},
			Arms: []analyse.Arm{{ID: "new", Planned: 50, OK: 50}, {ID: "old", Planned: 50, OK: 50}},
			Comparisons: []analyse.Comparison{{A: "new", B: "old", Metric: c.metric, Pairs: 50, Level: 0.95,
				Reading: analyse.Reading{Diff: analyse.Number((c.low + c.high) / 2), Low: analyse.Number(c.low), High: analyse.Number(c.high), P: 0.5}}}}
		v := rules.Decide(a)
		if v.State != c.want {
			t.Errorf("%s from %v to %v: %s, want %s: %+v", c.metric, c.low, c.high, v.State, c.want, v.Conditions)
		}
		if terms := v.Conditions[0].Terms(); len(terms) != 1 || terms[0].Threshold == "" {
			t.Errorf("%s: terms %+v", c.metric, terms)
		}
	}
	for that, want := range map[string]string{
		"no_worse('new', 'old', 'right')":       "no_worse: the last argument must be a number above 0, as in no_worse('arm a', 'arm b', 'metric', margin)",
		"no_worse('new', 'old', 'right', -0.1)": "no_worse: the last argument must be a number above 0",
		"no_worse('new', 'old', 0.1)":           "no_worse takes 3 names, got 2",
		"no_worse('neu', 'old', 'right', 0.1)":  `unknown arm "neu"`,
		"no_worse('new', 'old', 'rigth', 0.1)":  `no_worse: unknown metric "rigth": did you mean "right"?`,
		"no_wors('new', 'old', 'right', 0.1)":   `did you mean "no_worse"`,
	} {
		if _, wrong := Compile(study.Decide{Require: []study.Condition{{Name: "x", That: that}}}, names); len(wrong) == 0 || !strings.Contains(wrong[0].Error(), want) {
			t.Errorf("%s: %v, want %s", that, wrong, want)
		}
	}
	if got := Metrics(study.Decide{Require: []study.Condition{{Name: "x", That: "no_worse('new', 'old', 'latency', 1) and cost('new') < 2"}}}); strings.Join(got, " ") != "new old latency new cost" {
		t.Errorf("names %v", got)
	}
}

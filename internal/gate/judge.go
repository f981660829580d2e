package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
)

// byJudge adds to a decided condition that it rests on a judge whom no person checked, and
// how far the judge would have to err to reverse it. If the study requires judges to be
// measured, the condition is undecided.
func (r rule) byJudge(a *analyse.Analysis, c *Condition) {
	if c.State == Undecided || c.Kind == "outcome" && c.State == Fail {
		return
	}
	var of []string
	for _, e := range a.Estimates {
		if e.Stratum == nil && e.JudgeAlone && r.readsScores(e.Arm, e.Metric) {
			of = append(of, e.Metric+" of "+e.Arm)
		}
	}
	if len(of) == 0 {
		return
	}
	what := "on the judge alone for " + strings.Join(of, ", ")
	const remedy = "let people judge some of these answers with `scruple annotate`"
	if r.checked {
		c.State, c.Reason = Undecided, fmt.Sprintf("it rests %s, and require_measured asks for people's verdicts: %s", what, remedy)
		return
	}
	if reversal := r.reversal(a, c.State); reversal != "" {
		c.JudgeAlone = true
		c.Warnings = append(c.Warnings, fmt.Sprintf("rests %s, whom nobody checked: %s; %s", what, reversal, remedy))
	}
}

// steps is how finely errors of a judge are tried, in parts of the range of a metric.
const steps = 400

// reversal says which error of the judge would change the state of the rule: the smallest
// difference between its errors on the two arms of a comparison, or error on one arm. It is
// "" if none would.
func (r rule) reversal(a *analyse.Analysis, state State) string {
	least, text := math.Inf(1), ""
	try := func(metric, between string, moved func(by analyse.Number) *analyse.Analysis) {
		m, _ := a.Metric(metric)
		most := float64(m.Max - m.Min)
		if math.IsInf(most, 0) || math.IsNaN(most) {
			return
		}
		for k := 1; k <= steps && most*float64(k)/steps < least; k++ {
			by := analyse.Number(most * float64(k) / steps)
			for _, x := range []analyse.Number{by, -by} {
				if r.apply("require", moved(x)).State == state {
					continue
				}
				least = float64(by)
				size := fmt.Sprintf("%.3g", least)
				if m.Max == 1 && m.Min >= -1 {
					size = fmt.Sprintf("%.2g points", 100*least)
				}
				text = fmt.Sprintf(between, size)
				return
			}
		}
	}
	for _, p := range r.pairs {
		i := slices.IndexFunc(a.Comparisons, func(c analyse.Comparison) bool {
			return c.Stratum == nil && c.Metric == p[2] && (c.A == p[0] && c.B == p[1] || c.A == p[1] && c.B == p[0])
		})
		if i < 0 || !judgeAlone(a, p[0], p[2]) && !judgeAlone(a, p[1], p[2]) {
			continue
		}
		try(p[2], fmt.Sprintf("a difference of %%s between its errors on %s and on %s would reverse this", p[0], p[1]), func(by analyse.Number) *analyse.Analysis {
			moved := *a
			moved.Comparisons = slices.Clone(a.Comparisons)
			moved.Comparisons[i] = moved.Comparisons[i].Moved(by)
			return &moved
		})
	}
	for _, e := range r.estimates {
		i := slices.IndexFunc(a.Estimates, func(x analyse.Estimate) bool { return x.Stratum == nil && x.Arm == e[0] && x.Metric == e[1] })
		if i < 0 || !a.Estimates[i].JudgeAlone {
			continue
		}
		try(e[1], fmt.Sprintf("an error of %%s on %s would reverse this", e[0]), func(by analyse.Number) *analyse.Analysis {
			moved := *a
			moved.Estimates = slices.Clone(a.Estimates)
			moved.Estimates[i] = moved.Estimates[i].Moved(by)
			return &moved
		})
	}
	return text
}

func judgeAlone(a *analyse.Analysis, arm, metric string) bool {
	e, _ := a.Estimate(arm, metric)
	return e.JudgeAlone
}

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
// measured, the condition is undecided. What people say of single verdicts corrects a
// metric that counts them, not one that combines them: the condition names such metrics.
func (r Rule) byJudge(a *analyse.Analysis, c *Condition) {
	if said := r.judgesDiffer(a); said != "" && c.State != Undecided {
		c.State, c.Reason = Undecided, said
		return
	}
	if c.State == Undecided || c.Kind == "outcome" && c.State == Fail {
		return
	}
	var counted, combined []string
	for _, e := range a.Estimates {
		switch {
		case e.Stratum != nil || !e.JudgeAlone || !r.readsScores(e.Arm, e.Metric):
		case e.Combined:
			combined = append(combined, e.Metric+" of "+e.Arm)
		default:
			counted = append(counted, e.Metric+" of "+e.Arm)
		}
	}
	var remedies []string
	if len(counted) > 0 {
		remedies = append(remedies, "let people judge some of these answers with `scruple annotate`")
	}
	if len(combined) > 0 {
		remedies = append(remedies, fmt.Sprintf("%s combines verdicts in a way that people's verdicts do not correct: let a rule read a metric that counts single verdicts", strings.Join(combined, ", ")))
	}
	if len(remedies) == 0 {
		return
	}
	what, remedy := "on the judge alone for "+strings.Join(append(counted, combined...), ", "), strings.Join(remedies, "; ")
	if r.checked {
		c.State, c.Reason = Undecided, fmt.Sprintf("it rests %s, and require_measured asks for people's verdicts: %s", what, remedy)
		return
	}
	if reversal := r.reversal(a, c.State); reversal != "" {
		c.JudgeAlone = true
		c.Warnings = append(c.Warnings, fmt.Sprintf("rests %s, whom nobody checked: %s; %s", what, reversal, remedy))
	}
}

// judgesDiffer says that the rule compares arms by what different judges said.
func (r Rule) judgesDiffer(a *analyse.Analysis) string {
	pairs := slices.Clone(r.Tested)
	for i, x := range r.Measured {
		for _, y := range r.Measured[i+1:] {
			if x[1] == y[1] {
				pairs = append(pairs, [3]string{x[0], y[0], x[1]})
			}
		}
	}
	for _, p := range pairs {
		if k, ok := a.Comparison(p[0], p[1], p[2]); ok && k.JudgesDiffer != "" {
			return fmt.Sprintf("%s: let one judge judge %s and %s", k.JudgesDiffer, k.A, k.B)
		}
	}
	return ""
}

// steps is how finely errors of a judge are tried, in parts of the range of a metric.
const steps = 400

// reversal says which error of the judge would change the state of the rule: the smallest
// difference between its errors on the two arms of a comparison, or error on one arm. It is
// "" if none would, and says so where it cannot be tried.
func (r Rule) reversal(a *analyse.Analysis, state State) string {
	least, said := math.Inf(1), ""
	if len(r.across) > 0 {
		said = "how its errors enter a comparison across a factor is not known"
	}
	try := func(metric, between string, move func(moved *analyse.Analysis, by analyse.Number)) {
		m, _ := a.Metric(metric)
		most := float64(m.Max - m.Min)
		if math.IsInf(most, 0) || math.IsNaN(most) {
			if said == "" {
				said = fmt.Sprintf("how far it may err is not known, since %s has no bounds", metric)
			}
			return
		}
		for k := 1; k <= steps && most*float64(k)/steps < least; k++ {
			for _, by := range []float64{most * float64(k) / steps, -most * float64(k) / steps} {
				moved := *a
				moved.Estimates, moved.Comparisons = slices.Clone(a.Estimates), slices.Clone(a.Comparisons)
				move(&moved, analyse.Number(by))
				if r.apply(&moved).State == state {
					continue
				}
				least = math.Abs(by)
				size := fmt.Sprintf("%.3g", least)
				if m.Max == 1 && m.Min >= -1 {
					size = fmt.Sprintf("%.2g points", 100*least)
				}
				said = fmt.Sprintf(between, size)
				return
			}
		}
	}
	for i, c := range a.Comparisons {
		pair := [3]string{c.A, c.B, c.Metric}
		if c.Stratum == nil && slices.ContainsFunc(r.Pairs, same(pair)) && (judgeAlone(a, c.A, c.Metric) || judgeAlone(a, c.B, c.Metric)) {
			named := r.Pairs[slices.IndexFunc(r.Pairs, same(pair))]
			try(c.Metric, fmt.Sprintf("a difference of %%s between its errors on %s and on %s would reverse this", named[0], named[1]), func(moved *analyse.Analysis, by analyse.Number) {
				moved.Comparisons[i] = c.Moved(by)
			})
		}
	}
	for i, e := range a.Estimates {
		if e.Stratum == nil && e.JudgeAlone && slices.Contains(r.Estimates, [2]string{e.Arm, e.Metric}) {
			try(e.Metric, fmt.Sprintf("an error of %%s on %s would reverse this", e.Arm), func(moved *analyse.Analysis, by analyse.Number) {
				moved.Estimates[i] = e.Moved(by)
			})
		}
	}
	return said
}

func judgeAlone(a *analyse.Analysis, arm, metric string) bool {
	e, _ := a.Estimate(arm, metric)
	return e.JudgeAlone
}

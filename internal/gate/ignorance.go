package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
)

// mostFree bounds the results without evidence whose ends are combined.
const mostFree = 8

// ignorant says how a rule holds because nothing is known: every interval is the widest
// possible and every p-value 1. It is "" if the rule does not, or reads no evidence. A rule
// that holds then by an estimate alone, as it would if all were known, is not meant: the
// gate warns of it.
func (r Rule) ignorant(metrics []eval.Metric) string {
	if r.program == nil || !r.Evidence {
		return ""
	}
	nothing, all := map[string]float64{}, map[string]float64{} // is known
	var unknown []string
	var free []call
	for _, x := range r.calls {
		low, high := x.reach(metrics)
		name := x.String()
		switch {
		case !x.evidence:
			free = append(free, x)
			continue
		case strings.HasSuffix(x.name, "low"):
			nothing[name], all[name] = low, high
		case x.name == "across_spread" || strings.HasSuffix(x.name, "high"):
			nothing[name], all[name] = high, low
		default: // a p-value
			nothing[name], all[name] = 1, 0
		}
		unknown = append(unknown, fmt.Sprintf("%s = %.4g", name, nothing[name]))
	}
	always, helps := true, false
	free = free[:min(len(free), mostFree)]
	for mask := range 1 << len(free) {
		for i, x := range free {
			low, high := x.reach(metrics)
			name := x.String()
			nothing[name] = [2]float64{low, high}[mask>>i&1]
			all[name] = nothing[name]
		}
		holds, _, _ := r.evaluate(view{instead: nothing})
		informed, _, _ := r.evaluate(view{instead: all})
		always = always && holds == Pass
		helps = helps || holds == Pass && informed != Pass
	}
	if always || helps {
		return strings.Join(unknown, ", ")
	}
	return ""
}

// reach returns the least and the greatest value that a result can have.
func (x call) reach(metrics []eval.Metric) (low, high float64) {
	const unbounded = 1e9
	low, high = -unbounded, unbounded
	arms := x.arms()
	i := -1
	if arms > 0 && x.takes("metric") {
		i = slices.IndexFunc(metrics, func(m eval.Metric) bool { return m.Name == x.args[arms] })
	}
	switch {
	case x.counts || x.name == "blind_runs":
		return unbounded, unbounded // they are no evidence
	case x.takes("task") || x.name == "registered":
		return 1, 1
	case !x.takes("metric"):
		return 0, 0 // trials that failed
	case i < 0 || strings.HasPrefix(x.name, "d_") || x.name == "d":
		return low, high
	}
	m := metrics[i]
	if width := m.Max - m.Min; arms == 2 && width > 0 && !math.IsInf(width, 0) {
		return -width, width
	}
	if arms == 1 && m.Max > m.Min {
		low, high = max(low, m.Min), min(high, m.Max)
	}
	return low, high
}

// noEvidence is the error of a rule that can make the gate pass where nothing is known.
func noEvidence(how string) error {
	return fmt.Errorf("the rule holds where nothing is known (%s), so it asks for no evidence: ask that an interval lies inside a limit, such as diff_low('new', 'old', 'metric') > -0.05 or within('new', 'old', 'metric', 0.05)", how)
}

// ignorance reports the rules that can make the gate pass where nothing is known.
func (r *Rules) ignorance(metrics []eval.Metric) (problems []*RuleError) {
	asks := false // a required rule reads a result
	for i, x := range r.require {
		asks = asks || len(x.Measured)+len(x.Tested)+len(x.across) > 0
		if how := x.ignorant(metrics); how != "" {
			problems = append(problems, &RuleError{fmt.Sprintf("decide.require[%d].that", i), noEvidence(how)})
		}
	}
	for i, x := range r.outcomes {
		switch how := x.ignorant(metrics); {
		case x.state != Pass:
		case how != "":
			problems = append(problems, &RuleError{fmt.Sprintf("decide.outcomes[%d].when", i), noEvidence(how)})
		case x.program == nil && x.That == Otherwise && !asks:
			problems = append(problems, &RuleError{fmt.Sprintf("decide.outcomes[%d].verdict", i),
				fmt.Errorf("outcome %q passes whenever no other applies, so also when nothing is known: give it a condition, or a verdict of fail or undecided", x.Name)})
		}
	}
	return problems
}

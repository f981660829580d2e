package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/power"
	"github.com/scruple-eval/scruple/internal/text"
)

// Unmeetable describes the rules that even perfect arms could not meet with the study's
// items.
func (x *Experiment) Unmeetable() ([]string, error) {
	needs, err := x.Needs()
	var list []string
	for _, n := range needs {
		if n.Alone && (n.Perfect == 0 || n.Perfect > len(x.Items())) && (n.Rule.Kind == "require" || n.Rule.Passes) {
			list = append(list, fmt.Sprintf("%s (%q) %s", n.Rule.At, n.Rule.Name, x.planOf(n).Needed(len(x.Items()))))
		}
	}
	return list, err
}

// Needed says how many items the rule takes if its arms are perfect. A rule that also
// reads other results than the scores of its arms is not checked before a run.
func (r RulePlan) Needed(items int) string {
	with, perfect := text.Plural(items, "item", "items"), 0
	if r.Perfect != nil {
		perfect = *r.Perfect
	}
	var s string
	switch {
	case len(r.Apart) > 0 && !r.Scores:
		return "does not depend on the number of items: it reads " + strings.Join(r.Apart, " and ")
	case len(r.Apart) > 0:
		return fmt.Sprintf("not checked against %s: it also reads %s, which follows from more than the scores of its arms", with, strings.Join(r.Apart, " and "))
	case len(r.Opportunities) > 0 && perfect > 1:
		return fmt.Sprintf("holds with %s if nothing goes wrong, with one opportunity for %s each; fewer items with more opportunities, and items without one do not count",
			text.Plural(perfect, "item", "items"), strings.Join(r.Opportunities, " or "))
	case !r.Alone && len(r.Opportunities) == 0 && perfect == 0:
		return "asks for a difference: `assume` in the study says how large it may be, and plan then how often " + with + " show it"
	case !r.Alone && perfect > 1:
		s = fmt.Sprintf("holds with %s if its arms are equally perfect", text.Plural(perfect, "item", "items"))
	case perfect == 0:
		return fmt.Sprintf("cannot be met with %s, nor with any number up to %d", with, power.MostItems)
	case perfect == 1:
		s = "can be met with " + with
	case perfect <= items:
		s = fmt.Sprintf("can be met with %s: it needs %d if nothing goes wrong, and more with every fault", with, perfect)
	default:
		s = fmt.Sprintf("cannot be met with %s, even if nothing goes wrong: it needs %d", with, perfect)
	}
	if len(r.Opportunities) > 0 {
		s += "; items without an opportunity for " + strings.Join(r.Opportunities, " or ") + " do not count"
	}
	return s
}

// opportunities returns the metrics of a rule that pool counts: in them an item counts
// only if its answer has an opportunity, which is not known before a run.
func (x *Experiment) opportunities(r gate.Rule) []string {
	var list []string
	add := func(name string) {
		i := slices.IndexFunc(x.Suite.Metrics, func(m eval.Metric) bool { return m.Name == name })
		if i >= 0 && x.Suite.Metrics[i].Pooling == eval.RatioOfSums && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	for _, e := range r.Estimates {
		add(e[1])
	}
	for _, p := range r.Pairs {
		add(p[2])
	}
	return list
}

// alternatives warns of rules that any of several comparisons or arms could meet
// without a correction: chance has several tries at them.
func (x *Experiment) alternatives() []string {
	var list []string
	if n := len(x.rules.Alternatives()); n > 1 && x.Study.Statistics.Correction == "none" {
		list = append(list, fmt.Sprintf("the rules could be met by any of %s, whose errors add up: leave out statistics.correction, which is holm by default, or require evidence of one of them as well", text.Plural(n, "comparison", "comparisons")))
	}
	for _, r := range x.rules.All() {
		estimates := slices.Compact(slices.SortedFunc(slices.Values(r.Measured), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }))
		if r.Either && (r.Kind == "require" || r.Passes) && len(estimates) > 1 {
			list = append(list, fmt.Sprintf("%s (%q) could be met by any of %s of single arms, whose intervals are not corrected: compare the arms, or require each of them",
				r.At, r.Name, text.Plural(len(estimates), "estimate", "estimates")))
		}
	}
	return list
}

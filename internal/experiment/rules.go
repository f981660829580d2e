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

// Unreachable describes the rules that no scores could meet with the study's items.
func (x *Experiment) Unreachable() ([]string, error) {
	limits, err := x.Limits()
	var list []string
	for _, l := range limits {
		if !l.Reachable && (l.Rule.Kind == "require" || l.Rule.Passes) {
			list = append(list, fmt.Sprintf("%s (%q) %s", l.Rule.At, l.Rule.Name, x.planOf(l).Needed(len(x.Items()))))
		}
	}
	return list, err
}

// Needed says whether the rule can be met with a number of items, how many it takes, and
// how many if its arms are equally perfect. A rule that also reads other results than the
// scores of its arms is not checked before a run.
func (r RulePlan) Needed(items int) string {
	with := text.Plural(items, "item", "items")
	var needs, same int
	if r.Needs != nil {
		needs = *r.Needs
	}
	if r.Same != nil {
		same = *r.Same
	}
	var s string
	switch {
	case len(r.Apart) > 0 && !r.Scores:
		return "does not depend on the number of items: it reads " + strings.Join(r.Apart, " and ")
	case len(r.Apart) > 0:
		return fmt.Sprintf("not checked against %s: it also reads %s, which follows from more than the scores of its arms", with, strings.Join(r.Apart, " and "))
	case r.Reachable:
		s = "can be met with " + with
	case needs == 0:
		return fmt.Sprintf("cannot be met with %s, nor with any number up to %d", with, power.MostItems)
	default:
		s = fmt.Sprintf("cannot be met with %s, whatever the answers are: it needs %d", with, needs)
	}
	if same > max(items, needs) {
		s += fmt.Sprintf("; if its arms are equally perfect it needs %d", same)
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
	var classes []gate.Rule // that pass: any of them will do
	rules := x.rules.All()
	for _, r := range rules {
		if r.Either && (r.Kind == "require" || r.Passes) && !anchored(r, rules) {
			list = append(list, x.chances(fmt.Sprintf("%s (%q)", r.At, r.Name), r)...)
		}
		if r.Kind == "outcome" && r.Passes {
			classes = append(classes, r)
		}
	}
	if len(classes) < 2 {
		return list
	}
	common, all := classes[0].Tested, gate.Rule{}
	for _, r := range classes {
		common = slices.DeleteFunc(slices.Clone(common), func(p [3]string) bool { return !slices.ContainsFunc(r.Tested, same(p)) })
		all.Tested = append(all.Tested, r.Tested...)
	}
	if len(common) > 0 { // every class needs it
		return list
	}
	return append(list, x.chances("decide.outcomes", all)...)
}

// anchored reports whether all must hold together with a rule that asks for evidence
// about the same two arms and has no alternatives: then chance has one try.
func anchored(r gate.Rule, rules []gate.Rule) bool {
	if r.Kind != "require" || len(r.Tested) == 0 || len(r.Measured) > 0 {
		return false
	}
	return slices.ContainsFunc(rules, func(anchor gate.Rule) bool {
		return anchor.Kind == "require" && !anchor.Either && anchor.Evidence && slices.ContainsFunc(anchor.Tested, func(t [3]string) bool {
			return !slices.ContainsFunc(r.Tested, func(p [3]string) bool {
				p[2] = t[2]
				return !same(t)(p)
			})
		})
	})
}

// same reports whether a comparison is another one, either way round.
func same(p [3]string) func([3]string) bool {
	return func(q [3]string) bool { return q == p || q == [3]string{p[1], p[0], p[2]} }
}

// chances describes the ways in which a rule could be met that no correction covers.
func (x *Experiment) chances(name string, r gate.Rule) []string {
	var pairs [][3]string
	for _, p := range r.Tested {
		if !slices.ContainsFunc(pairs, same(p)) {
			pairs = append(pairs, p)
		}
	}
	corrected := x.Study.Statistics.Correction != "none"
	var list []string
	if len(pairs) > 1 && !(corrected && !slices.ContainsFunc(pairs, func(p [3]string) bool { return !x.primary(p) })) {
		remedy := "make them primary comparisons on primary metrics"
		if !corrected {
			remedy += ", and set statistics.correction"
		}
		remedy += "; or require evidence of one of them as well"
		list = append(list, fmt.Sprintf("%s could be met by any of %s, whose errors add up: %s",
			name, text.Plural(len(pairs), "comparison", "comparisons"), remedy))
	}
	estimates := slices.Compact(slices.SortedFunc(slices.Values(r.Measured), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }))
	if len(estimates) > 1 {
		list = append(list, fmt.Sprintf("%s could be met by any of %s of single arms, whose intervals are not corrected: compare the arms, or require each of them",
			name, text.Plural(len(estimates), "estimate", "estimates")))
	}
	return list
}

// untested warns of rules that ask for evidence which the planned test cannot give.
func (x *Experiment) untested() []string {
	var list []string
	if x.Study.Statistics.Method != "mcnemar" {
		return nil
	}
	why := map[string]string{} // by metric
	for _, m := range x.Suite.Metrics {
		switch n := x.Study.Execution.Replicates; {
		case m.Pooling != eval.MeanOfItems:
		case !m.Binary:
			why[m.Name] = "which is not 0 or 1"
		case n > 1:
			why[m.Name] = fmt.Sprintf("whose mean of %d replicates may lie between 0 and 1", n)
		}
	}
	for _, r := range x.rules.All() {
		for _, p := range r.Tested {
			if r.Evidence && why[p[2]] != "" {
				list = append(list, fmt.Sprintf("%s (%q) reads evidence about %s, %s: then McNemar's test cannot be made, and the rule stays undecided: set another statistics.method", r.At, r.Name, p[2], why[p[2]]))
			}
		}
	}
	return list
}

// primary reports whether a comparison is in the corrected family.
func (x *Experiment) primary(pair [3]string) bool {
	for _, p := range x.Pairs {
		if p.Primary && samePair(p, pair[0], pair[1]) && (len(p.Metrics) == 0 || slices.Contains(p.Metrics, pair[2])) {
			return slices.Contains(x.Primary, pair[2])
		}
	}
	return false
}

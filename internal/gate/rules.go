package gate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/vm"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

// Rules are the decision rules of a study, checked and ready to be applied: what it
// requires, its outcomes, and diagnoses, which explain a run that is not a pass and decide
// nothing.
type Rules struct{ list []Rule }

// of lists the rules of a kind.
func (r *Rules) of(kind string) []Rule {
	return slices.DeleteFunc(slices.Clone(r.list), func(x Rule) bool { return x.Kind != kind })
}

// The kinds of rule.
const (
	Require   = "require"
	Outcome   = "outcome"
	Diagnosis = "diagnosis"
)

// A Rule is one rule, with what it reads.
type Rule struct {
	At     string // its key in the study file
	Name   string
	Kind   string // Require, Outcome or Diagnosis
	That   string
	Passes bool // it can make the gate pass
	reads
	program *vm.Program // nil: always holds
	checked bool        // judges must be checked by people
	// state and advice are those of an outcome that applies; a diagnosis has advice alone.
	state  State
	advice string
}

// reads is what a rule names.
type reads struct {
	Arms      []string
	Estimates [][2]string // an arm and a metric
	Pairs     [][3]string // two arms and a metric
	// Either reports whether it can hold in more than one way: by or, not, any or a
	// choice.
	Either bool
	Effect bool // it reads the interval of d, which takes long to compute
	Trials bool // it reads how many trials fail
	// Measured and Tested are the estimates and comparisons by which chance can meet the
	// rule: those of which it reads more than the number of items.
	Measured [][2]string
	Tested   [][3]string
	Evidence bool // it reads a p-value or the end of an interval
	// Apart names the functions it reads whose values do not follow from the scores of
	// its arms alone. Scores reports whether any value it reads comes from scores of the
	// run: the number of items limits no other rule.
	Apart  []string
	Scores bool

	limits []limit                  // that it compares the ends of the intervals of comparisons with
	across []string                 // the metrics of comparisons across a factor
	calls  []call                   // the results that it names, with the ends of intervals for a margin
	uses   []function               // the functions that it calls
	terms  map[string]*Term         // of each result that it names
	lower  func(metric string) bool // whether lower is better
}

// Read lists the arms and metrics whose scores a rule reads.
func (r reads) Read() [][2]string {
	list := slices.Clone(r.Estimates)
	for _, p := range r.Pairs {
		list = append(list, [2]string{p[0], p[2]}, [2]string{p[1], p[2]})
	}
	return list
}

// A limit is what the end of the interval of a comparison is compared with; NaN if that is not
// a number, or the interval not that of the difference.
type limit struct {
	of    [3]string
	value float64
}

// A call is a result that a rule names.
type call struct {
	function
	args []string
}

// String is the name of the result in [Used].
func (c call) String() string {
	return fmt.Sprintf("%s(%s)", c.name, strings.Join(c.args[:c.given()], ", "))
}

// Names are the names that rules may use.
type Names struct {
	Arms    []string
	Metrics []eval.Metric
	Factors []string // of the strata of items, such as doc_type
	Strata  []string // such as doc_type=invoice
	Tasks   []string // of annotation
	// Across are the differences that the study compares between levels of a factor: the
	// names of a comparison, a metric and the factor.
	Across [][4]string
	// Compared reports whether the study compares two arms on a metric.
	Compared func(a, b, metric string) bool
}

// Otherwise is the text of an outcome without a condition.
const Otherwise = "otherwise"

// Metrics lists the names in rules, among them those of metrics.
func Metrics(d study.Decide) (names []string) {
	for _, c := range rulesOf(d) {
		for _, x := range readsOf(c.That, false).calls {
			names = append(names, x.args...)
		}
	}
	return names
}

// All lists the rules that decide and have a condition, in their order.
func (r *Rules) All() (list []Rule) {
	for _, x := range r.list {
		if x.Kind != Diagnosis && x.program != nil {
			list = append(list, x)
		}
	}
	return list
}

// Alternatives are the comparisons any of which would do for the gate to pass: chance has
// several tries at them, so they are corrected together. Rules that must all hold need no
// correction: the gate then passes by mistake no more often than the most doubtful of them
// (intersection-union; Berger 1982, Technometrics 24).
func (r *Rules) Alternatives() [][3]string {
	var list [][3]string
	add := func(tested [][3]string) {
		for _, p := range tested {
			if !slices.ContainsFunc(list, same(p)) {
				list = append(list, p)
			}
		}
	}
	for _, tested := range r.OfOneRule() {
		add(tested)
	}
	var outcomes []Rule // that pass: any of them will do
	for _, x := range r.All() {
		if x.Kind == Outcome && x.Passes {
			outcomes = append(outcomes, x)
		}
	}
	if len(outcomes) == 0 {
		return list
	}
	common := slices.Clone(outcomes[0].Tested) // every outcome needs them
	var all [][3]string
	for _, x := range outcomes {
		common = slices.DeleteFunc(common, func(p [3]string) bool { return x.Either || !slices.ContainsFunc(x.Tested, same(p)) })
		all = append(all, x.Tested...)
	}
	if len(common) == 0 && several(all) {
		add(all)
	}
	return list
}

// OfOneRule lists, for each rule that holds by any of several comparisons, these comparisons. Whatever
// families a study makes of them, chance has several tries at one claim.
func (r *Rules) OfOneRule() (list [][][3]string) {
	rules := r.All()
	for _, x := range rules {
		if x.Passes && x.Either && several(x.Tested) && (x.Kind == Outcome || x.Evidence || !anchored(x, rules)) {
			list = append(list, x.Tested)
		}
	}
	return list
}

// uncorrected says that comparisons any of which would do for the gate to pass are not corrected for
// their number; "" if they are.
func (r *Rules) uncorrected(a *analyse.Analysis) string {
	list := r.Alternatives()
	var families []string
	for _, p := range list {
		if c, ok := a.Comparison(p[0], p[1], p[2]); ok && !slices.Contains(families, c.Family) {
			families = append(families, c.Family)
		}
	}
	switch {
	case len(list) < 2:
		return ""
	case a.Study.Correction == "none":
		return fmt.Sprintf("the rules could be met by any of %d comparisons, which are not corrected: the chance of a false pass grows with their number", len(list))
	case len(families) > 1:
		return fmt.Sprintf("the rules could be met by any of %d comparisons, which are corrected in %d families apart: the chance of a false pass grows with the number of families", len(list), len(families))
	}
	return ""
}

// Limits are the values beside 0 that rules ask the intervals of comparisons to exclude, NaN
// where they are not known.
func (r *Rules) Limits() map[[3]string][]float64 {
	limits := map[[3]string][]float64{}
	for _, x := range r.All() {
		for _, l := range x.limits {
			if l.value != 0 && !slices.Contains(limits[l.of], l.value) {
				limits[l.of] = append(limits[l.of], l.value)
			}
		}
	}
	return limits
}

// several reports whether there is more than one comparison.
func several(list [][3]string) bool {
	return len(list) > 0 && slices.ContainsFunc(list, func(p [3]string) bool { return !same(list[0])(p) })
}

// anchored reports whether a rule of estimates must hold together with one that asks for
// evidence about the same two arms and has no alternatives: then chance has one try.
func anchored(r Rule, rules []Rule) bool {
	if len(r.Measured) > 0 {
		return false
	}
	return slices.ContainsFunc(rules, func(anchor Rule) bool {
		return anchor.Kind == Require && !anchor.Either && anchor.Evidence && slices.ContainsFunc(anchor.Tested, func(t [3]string) bool {
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

// Holds reports whether the rule holds by an analysis.
func (r Rule) Holds(a *analyse.Analysis) bool { return r.apply(a).State == Pass }

// Fails reports whether an analysis excludes the rule: not even the ends of intervals meet it.
func (r Rule) Fails(a *analyse.Analysis) bool { return r.apply(a).State == Fail }

// Empty reports whether there are no rules.
func (r *Rules) Empty() bool { return len(r.list) == 0 }

// A Term is a result that a condition reads, and what it is compared with.
type Term struct {
	Used
	Threshold string // such as "> 0.02"; empty if it is part of a larger expression
}

// Terms returns the results that a condition read, with their thresholds.
func (c Condition) Terms() []Term {
	of := map[string]*Term{}
	for _, lowerIsBetter := range []bool{false, true} {
		maps.Copy(of, readsOf(c.That, lowerIsBetter).terms)
	}
	var list []Term
	for _, u := range c.Values {
		term := Term{}
		if found := of[u.Name]; found != nil {
			term = *found
		}
		term.Used = u
		list = append(list, term)
	}
	return list
}

// with appends x to a list that does not have it.
func with[T comparable](list []T, x T) []T {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

package gate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// Rules are the decision rules of a study, checked and ready to be applied.
type Rules struct {
	require  []rule
	outcomes []class
	// diagnoses explain a run that is not a pass. They decide nothing, so their classes
	// have no state.
	diagnoses []class
}

type rule struct {
	name, text string
	program    *vm.Program // nil: always holds
	reads
	checked bool // judges must be checked by people
}

// reads is what a rule names.
type reads struct {
	arms      []string
	estimates [][2]string      // an arm and a metric
	pairs     [][3]string      // two arms and a metric
	across    []string         // the metrics of comparisons across a factor
	either    bool             // it can hold in more than one way: or, not, any, a choice
	effect    bool             // it reads the interval of d
	trials    bool             // it reads shares of trials: failed, malformed, refused
	apart     bool             // it reads results that do not follow from the scores of its arms alone
	measured  [][2]string      // the estimates that it reads more of than their number of items
	tested    [][3]string      // the comparisons, likewise
	evidence  bool             // it reads a p-value or the end of an interval
	others    []string         // functions it reads that are apart
	scores    bool             // it reads a function whose value comes from the scores of the run
	calls     []call           // the results that it names, with the ends of intervals for a margin
	uses      []function       // the functions that it calls
	terms     map[string]*Term // of each result that it names
}

type class struct {
	rule
	state  State
	advice string
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

// A RuleError is an error in a rule. At is its key in the study file, such as
// "decide.require[0].that".
type RuleError struct {
	At  string
	Err error
}

func (e *RuleError) Error() string { return e.Err.Error() }

func (e *RuleError) Unwrap() error { return e.Err }

// Compile checks rules against the names a study has: syntax, types, arms,
// metrics, that no rule uses an analysis metric, and that none passes though nothing is
// known. It reports all errors.
func Compile(d study.Decide, names Names) (*Rules, []*RuleError) {
	r := &Rules{}
	var problems []*RuleError
	add := func(at, name, text string) rule {
		program, reads, err := compile(text, names)
		if err != nil {
			problems = append(problems, &RuleError{at, err})
		}
		return rule{name, text, program, reads, d.RequireMeasured}
	}
	for i, c := range d.Require {
		r.require = append(r.require, add(fmt.Sprintf("decide.require[%d].that", i), c.Name, c.That))
	}
	for i, c := range d.Outcomes {
		out := class{rule: rule{name: c.Name, text: c.When}, state: State(c.Verdict), advice: c.Advice}
		if c.When == "" {
			out.text = Otherwise
		} else {
			out.rule = add(fmt.Sprintf("decide.outcomes[%d].when", i), c.Name, c.When)
		}
		r.outcomes = append(r.outcomes, out)
	}
	for i, c := range d.Diagnose {
		out := class{rule: rule{name: c.Name, text: c.When}, advice: c.Advice}
		if c.When == "" {
			out.text = Otherwise
		} else {
			out.rule = add(fmt.Sprintf("decide.diagnose[%d].when", i), c.Name, c.When)
		}
		r.diagnoses = append(r.diagnoses, out)
	}
	return r, append(problems, r.ignorance(names.Metrics)...)
}

// Otherwise is the text of a class without a condition.
const Otherwise = "otherwise"

// A Rule describes one rule.
type Rule struct {
	At        string // its key in the study file
	Name      string
	Kind      string // "require" or "outcome"
	That      string
	Passes    bool // it can make the gate pass
	Arms      []string
	Estimates [][2]string
	Pairs     [][3]string
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

	rule rule
}

// All describes the rules with a condition, in their order.
func (r *Rules) All() []Rule {
	var list []Rule
	add := func(at, kind string, passes bool, x rule) {
		if x.program != nil {
			list = append(list, Rule{At: at, Name: x.name, Kind: kind, That: x.text, Passes: passes, Arms: x.arms, Estimates: x.estimates, Pairs: x.pairs,
				Either: x.either, Effect: x.effect, Trials: x.trials, Measured: x.measured, Tested: x.tested, Evidence: x.evidence, Apart: x.others, Scores: x.scores, rule: x})
		}
	}
	for i, x := range r.require {
		add(fmt.Sprintf("decide.require[%d].that", i), "require", true, x)
	}
	for i, x := range r.outcomes {
		add(fmt.Sprintf("decide.outcomes[%d].when", i), "outcome", x.state == Pass, x.rule)
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
	rules := r.All()
	var classes []Rule // that pass: any of them will do
	for _, x := range rules {
		switch {
		case x.Kind == "outcome" && x.Passes:
			classes = append(classes, x)
		case x.Kind == "require" && x.Either && several(x.Tested) && !anchored(x, rules):
			add(x.Tested)
		}
	}
	if len(classes) == 0 {
		return list
	}
	common := slices.Clone(classes[0].Tested) // every class needs them
	var all [][3]string
	for _, x := range classes {
		common = slices.DeleteFunc(common, func(p [3]string) bool { return x.Either || !slices.ContainsFunc(x.Tested, same(p)) })
		all = append(all, x.Tested...)
	}
	if len(common) == 0 && several(all) {
		add(all)
	}
	return list
}

// several reports whether there is more than one comparison.
func several(list [][3]string) bool {
	return len(list) > 0 && slices.ContainsFunc(list, func(p [3]string) bool { return !same(list[0])(p) })
}

// anchored reports whether all must hold together with a rule that asks for evidence
// about the same two arms and has no alternatives: then chance has one try.
func anchored(r Rule, rules []Rule) bool {
	if len(r.Measured) > 0 {
		return false
	}
	return slices.ContainsFunc(rules, func(anchor Rule) bool {
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

// Holds reports whether the rule holds by an analysis.
func (r Rule) Holds(a *analyse.Analysis) bool { return r.rule.apply(r.Kind, a).State == Pass }

// Empty reports whether there are no rules.
func (r *Rules) Empty() bool { return len(r.require)+len(r.outcomes)+len(r.diagnoses) == 0 }

func compile(condition string, names Names) (*vm.Program, reads, error) {
	condition = asciiMinus(condition)
	tree, err := parser.Parse(condition)
	if err != nil {
		return nil, reads{}, noCondition(condition, err)
	}
	check := &checker{names: names}
	ast.Walk(&tree.Node, check)
	if check.err != nil {
		return nil, reads{}, check.err
	}
	check.terms = termsOf(tree)
	program, err := expr.Compile(condition, expr.Env(environment(functions, nil)), expr.AsBool())
	if err != nil {
		return nil, reads{}, noCondition(condition, err)
	}
	return program, check.reads, nil
}

// asciiMinus replaces the typographic minus (U+2212) of numbers pasted from a report,
// except in quoted names.
func asciiMinus(condition string) string {
	var quote rune
	return strings.Map(func(r rune) rune {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"' || r == '`':
			quote = r
		case r == '−':
			return '-'
		}
		return r
	}, condition)
}

// noCondition adds to an error of the expression language what a rule must be.
func noCondition(condition string, err error) error {
	var at *file.Error
	if errors.As(err, &at) && assigns([]rune(condition), at.From) {
		return fmt.Errorf("%s: use == to compare", firstLine(err))
	}
	return fmt.Errorf("%s: want a condition that is true or false, such as value('arm', 'metric') > 0.5; `scruple help rules` lists the functions", firstLine(err))
}

// assigns reports whether a condition has a single = at a place.
func assigns(condition []rune, at int) bool {
	return at < len(condition) && condition[at] == '=' && (at+1 == len(condition) || condition[at+1] != '=')
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// ofTime are the functions of the expression language that read the clock or the zone of
// the machine.
var ofTime = []string{"now", "date", "duration", "timezone"}

// A checker checks the calls of an expression against the names of the study.
type checker struct {
	names Names
	reads
	err error
}

// Visit implements ast.Visitor.
func (c *checker) Visit(node *ast.Node) {
	c.either = c.either || branches(*node)
	if b, ok := (*node).(*ast.BuiltinNode); ok && slices.Contains(ofTime, b.Name) && c.err == nil {
		c.err = fmt.Errorf("%s: a rule cannot read the clock: the same results give the same verdict at any time", b.Name)
	}
	call, ok := (*node).(*ast.CallNode)
	if !ok || c.err != nil {
		return
	}
	name := ""
	if id, ok := call.Callee.(*ast.IdentifierNode); ok {
		name = id.Value
	}
	i := slices.IndexFunc(functions, func(f function) bool { return f.name == name })
	if i < 0 {
		c.err = unknownFunction(name)
		return
	}
	f := functions[i]
	c.uses = append(c.uses, f)
	names := call.Arguments
	if f.within != nil {
		if len(names) == 0 || !isNumber(names[len(names)-1]) {
			c.err = fmt.Errorf("%s: the last argument must be a number above 0, as in %s", name, f.usage)
			return
		}
		names = names[:len(names)-1]
	}
	var args []string
	for _, a := range names {
		s, ok := a.(*ast.StringNode)
		if !ok {
			c.err = fmt.Errorf("%s: arguments must be quoted names, as in %s", name, f.usage)
			return
		}
		args = append(args, s.Value)
	}
	if c.err = c.checkArgs(f, args); c.err != nil {
		return
	}
	for _, arm := range args[:f.arms] {
		c.arms = with(c.arms, arm)
	}
	c.call(f, args)
	for _, end := range f.within {
		c.call(*end, args)
	}
	c.trials = c.trials || f.arms > 0 && f.metrics == 0
	c.apart = c.apart || f.apart
	c.effect = c.effect || f.name == "d_low" || f.name == "d_high"
	c.evidence = c.evidence || f.evidence
	c.scores = c.scores || !f.outside
	if f.apart {
		c.others = with(c.others, f.name)
	}
	switch {
	case f.across:
		c.across = with(c.across, args[2])
	case f.arms == 2:
		c.pairs = with(c.pairs, [3]string(args[:3]))
		if !f.counts && !f.outside {
			c.tested = with(c.tested, [3]string(args[:3]))
		}
	case f.arms == 1 && f.metrics == 1:
		c.estimates = with(c.estimates, [2]string(args[:2]))
		if !f.counts {
			c.measured = with(c.measured, [2]string(args[:2]))
		}
	}
}

// call adds a result that the rule names.
func (c *checker) call(f function, args []string) {
	known := func(x call) bool { return resultName(x.function, x.args) == resultName(f, args) }
	if !slices.ContainsFunc(c.calls, known) {
		c.calls = append(c.calls, call{f, args})
	}
}

// with appends x to a list that does not have it.
func with[T comparable](list []T, x T) []T {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

// branches reports whether an expression can hold in more than one way.
func branches(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.BinaryNode:
		return n.Operator == "||" || n.Operator == "or"
	case *ast.UnaryNode:
		return n.Operator == "!" || n.Operator == "not"
	case *ast.ConditionalNode, *ast.BuiltinNode:
		return true
	}
	return false
}

func isNumber(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.IntegerNode:
		return n.Value > 0
	case *ast.FloatNode:
		return n.Value > 0
	}
	return false
}

func unknownFunction(name string) error {
	var known []string
	for _, f := range functions {
		known = append(known, f.name)
	}
	return fmt.Errorf("unknown function %q%s; `scruple help rules` lists the functions", name, text.DidYouMean(name, known))
}

func (c *checker) checkArgs(f function, args []string) error {
	if len(args) != f.names() {
		return fmt.Errorf("%s takes %d names, got %d: use %s", f.name, f.names(), len(args), f.usage)
	}
	if f.across {
		at := [4]string(args)
		turned := [4]string{at[1], at[0], at[2], at[3]}
		if !slices.Contains(c.names.Across, at) && !slices.Contains(c.names.Across, turned) {
			return fmt.Errorf("%s: the study does not compare the difference of %s and %s by %s across %s: add `across: [%s]` to that comparison", f.name, at[0], at[1], at[2], at[3], at[3])
		}
		return nil
	}
	for _, arm := range args[:f.arms] {
		if !slices.Contains(c.names.Arms, arm) {
			return fmt.Errorf("%s: unknown arm %q%s; the arms are %s", f.name, arm, text.DidYouMean(arm, c.names.Arms), strings.Join(c.names.Arms, ", "))
		}
	}
	if f.task && !slices.Contains(c.names.Tasks, args[0]) {
		return fmt.Errorf("%s: the study has no task %q%s; the tasks are %s", f.name, args[0], text.DidYouMean(args[0], c.names.Tasks), strings.Join(c.names.Tasks, ", "))
	}
	if f.metrics == 0 {
		return nil
	}
	metric := args[f.arms]
	i := slices.IndexFunc(c.names.Metrics, func(m eval.Metric) bool { return m.Name == metric })
	if i < 0 {
		var known []string
		for _, m := range c.names.Metrics {
			if m.Kind == eval.Scoring {
				known = append(known, m.Name)
			}
		}
		return fmt.Errorf("%s: unknown metric %q%s; the metrics are %s", f.name, metric, text.DidYouMean(metric, known), strings.Join(known, ", "))
	}
	if c.names.Metrics[i].Kind != eval.Scoring {
		return fmt.Errorf("%s: %s is an analysis metric: it explains results and cannot decide them", f.name, metric)
	}
	if f.factor {
		known, stratum := c.names.Factors, args[len(args)-1]
		if f.level {
			known = c.names.Strata
		}
		if !slices.Contains(known, stratum) {
			return fmt.Errorf("%s: items have no stratum %q%s; the strata are %s", f.name, stratum, text.DidYouMean(stratum, known), strings.Join(known, ", "))
		}
	}
	if f.arms == 2 && !c.names.Compared(args[0], args[1], metric) {
		return c.notCompared(f.name, args[0], args[1], metric)
	}
	return nil
}

// notCompared says what to add to the study so that it compares two arms on a metric.
func (c *checker) notCompared(of, a, b, metric string) error {
	var compared []string
	for _, m := range c.names.Metrics {
		if c.names.Compared(a, b, m.Name) {
			compared = append(compared, m.Name)
		}
	}
	if len(compared) == 0 {
		return fmt.Errorf("%s: the study does not compare %s with %s by %s: add the pair to comparisons", of, a, b, metric)
	}
	return fmt.Errorf("%s: the study compares %s with %s by %s, and not by %s: add %[5]s to the metrics of the pair, or to metrics.primary or metrics.secondary", of, a, b, strings.Join(compared, ", "), metric)
}

package gate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// Compile checks rules against the names a study has: syntax, types, arms,
// metrics, that no rule uses an analysis metric, and that none passes though nothing is
// known. It reports all errors, without positions.
func Compile(d study.Decide, names Names) (*Rules, []*study.Error) {
	r := &Rules{rulesOf(d)}
	var problems []*study.Error
	for i := range r.list {
		x := &r.list[i]
		if x.checked = d.RequireMeasured; x.That == "" {
			x.That = Otherwise
			continue
		}
		var err error
		if x.program, x.reads, err = compile(x.That, names); err != nil {
			problems = append(problems, &study.Error{Path: x.At, Err: err})
		}
	}
	return r, append(problems, r.checkVacuous(names.Metrics)...)
}

// rulesOf lists the rules of a study as it has them.
func rulesOf(d study.Decide) (list []Rule) {
	for i, c := range d.Require {
		list = append(list, Rule{At: fmt.Sprintf("decide.require[%d].that", i), Name: c.Name, Kind: Require, That: c.That, Passes: true})
	}
	for i, c := range d.Outcomes {
		state := State(c.Verdict)
		list = append(list, Rule{At: fmt.Sprintf("decide.outcomes[%d].when", i), Name: c.Name, Kind: Outcome, That: c.When, Passes: state == Pass, state: state, advice: c.Advice})
	}
	for i, c := range d.Diagnose {
		list = append(list, Rule{At: fmt.Sprintf("decide.diagnose[%d].when", i), Name: c.Name, Kind: Diagnosis, That: c.When, advice: c.Advice})
	}
	return list
}

// readsOf is what a condition names, if lower is better of all metrics, or higher.
func readsOf(condition string, lowerIsBetter bool) reads {
	tree, err := parser.Parse(asciiMinus(condition))
	if err != nil {
		return reads{}
	}
	return walk(tree, nil, func(string) bool { return lowerIsBetter }).reads
}

func compile(condition string, names Names) (*vm.Program, reads, error) {
	condition = asciiMinus(condition)
	tree, err := parser.Parse(condition)
	if err != nil {
		return nil, reads{}, noCondition(condition, err)
	}
	w := walk(tree, &names, func(name string) bool {
		return slices.ContainsFunc(names.Metrics, func(m eval.Metric) bool { return m.Name == name && !m.HigherIsBetter })
	})
	if w.err != nil {
		return nil, reads{}, w.err
	}
	program, err := expr.Compile(condition, expr.Env(environment(functions, nil, nil)), expr.AsBool())
	if err != nil {
		return nil, reads{}, noCondition(condition, err)
	}
	return program, w.reads, nil
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
	said := []rune(condition)
	equals := func(i int) bool { return i < len(said) && said[i] == '=' }
	if errors.As(err, &at) && equals(at.From) && !equals(at.From+1) {
		return fmt.Errorf("%s: use == to compare", firstLine(err))
	}
	return fmt.Errorf("%s: want a condition that is true or false, such as value('arm', 'metric') > 0.5; `scruple help rules` lists the functions", firstLine(err))
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// ofTime are the functions of the expression language that read the clock or the zone of
// the machine.
var ofTime = []string{"now", "date", "duration", "timezone"}

// A walker walks an expression once, for what it reads and the thresholds of that, and
// checks the calls against the names of a study, if it has some.
type walker struct {
	names *Names
	reads
	err error
}

func walk(tree *parser.Tree, names *Names, lower func(metric string) bool) *walker {
	w := &walker{names: names, reads: reads{terms: map[string]*Term{}, lower: lower}}
	ast.Walk(&tree.Node, w)
	return w
}

// Visit implements ast.Visitor.
func (w *walker) Visit(node *ast.Node) {
	if w.err != nil {
		return
	}
	switch n := (*node).(type) {
	case *ast.BuiltinNode:
		w.Either = true
		if slices.Contains(ofTime, n.Name) {
			w.err = fmt.Errorf("%s: a rule cannot read the clock: the same results give the same verdict at any time", n.Name)
		}
	case *ast.ConditionalNode:
		w.Either = true
	case *ast.UnaryNode:
		w.Either = w.Either || n.Operator == "!" || n.Operator == "not"
	case *ast.BinaryNode:
		w.Either = w.Either || n.Operator == "||" || n.Operator == "or" || turns[n.Operator] == n.Operator && (isCondition(n.Left) || isCondition(n.Right))
		if turned, ok := turns[n.Operator]; ok {
			w.compare(n.Left, n.Operator, n.Right)
			w.compare(n.Right, turned, n.Left)
		}
	case *ast.CallNode:
		f, args, err := called(n)
		if err == nil && w.names != nil {
			err = w.names.check(f, args)
		}
		if err == nil {
			w.add(f, args, n.Arguments[f.given():])
		} else if w.names != nil {
			w.err = err
		}
	}
}

// isCondition reports whether an operand is true or false: where two of them differ, either one holds.
func isCondition(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.BoolNode:
		return true
	case *ast.BinaryNode:
		return turns[n.Operator] != "" || slices.Contains([]string{"and", "&&", "or", "||"}, n.Operator)
	case *ast.CallNode:
		f, _, err := called(n)
		return err == nil && f.within != nil
	}
	return false
}

// called returns the function of a call and its names. The last argument of a function
// with a margin is not a name.
func called(n *ast.CallNode) (f function, args []string, err error) {
	name := ""
	if id, ok := n.Callee.(*ast.IdentifierNode); ok {
		name = id.Value
	}
	i := slices.IndexFunc(functions, func(f function) bool { return f.name == name })
	if i < 0 {
		var known []string
		for _, f := range functions {
			known = append(known, f.name)
		}
		return f, nil, fmt.Errorf("unknown function %q%s; `scruple help rules` lists the functions", name, text.DidYouMean(name, known))
	}
	f = functions[i]
	names := n.Arguments
	if f.within != nil {
		if len(names) == 0 || !isMargin(names[len(names)-1]) {
			return f, nil, fmt.Errorf("%s: the last argument must be a number above 0, as in %s", name, f.usage())
		}
		names = names[:len(names)-1]
	}
	for _, a := range names {
		s, ok := a.(*ast.StringNode)
		if !ok {
			return f, nil, fmt.Errorf("%s: arguments must be quoted names, as in %s", name, f.usage())
		}
		args = append(args, s.Value)
	}
	if len(args) != f.given() {
		return f, nil, fmt.Errorf("%s takes %d names, got %d: use %s", f.name, f.given(), len(args), f.usage())
	}
	if f.metric != "" {
		args = append(args, f.metric)
	}
	return f, args, nil
}

// isMargin reports whether a node is a number above 0.
func isMargin(node ast.Node) bool {
	value, ok := number(node)
	return ok && value > 0
}

// number is the value of a number, which may have a sign.
func number(node ast.Node) (value float64, ok bool) {
	switch n := node.(type) {
	case *ast.IntegerNode:
		return float64(n.Value), true
	case *ast.FloatNode:
		return n.Value, true
	case *ast.UnaryNode:
		value, ok = number(n.Node)
		if n.Operator == "-" {
			value = -value
		}
		return value, ok && (n.Operator == "-" || n.Operator == "+")
	}
	return 0, false
}

// add adds what a call reads. The results of a function with a margin are the ends, which have it as
// their threshold.
func (w *walker) add(f function, args []string, margin []ast.Node) {
	w.uses = append(w.uses, f)
	asked := math.NaN() // of the end of the interval of a comparison
	if f.within == nil {
		w.result(call{f, args}, "")
	} else {
		value, _ := number(margin[0])
		for _, end := range f.bounds(w.lower(args[2])) {
			than, limit := "> -", -value
			if end == 1 {
				than, limit = "< ", value
			}
			w.result(call{f.within[end], args}, than+margin[0].String())
			if f.worse {
				asked = limit
			}
		}
	}
	w.Evidence = w.Evidence || f.evidence
	w.Scores = w.Scores || !f.outside
	if f.apart {
		w.Apart = with(w.Apart, f.name)
	}
	arms := f.arms()
	for _, arm := range args[:arms] {
		w.Arms = with(w.Arms, arm)
	}
	switch {
	case f.takes("factor"):
		w.across = with(w.across, args[2])
	case arms == 2:
		w.Effect = w.Effect || f.name == "d_low" || f.name == "d_high"
		w.Pairs = with(w.Pairs, [3]string(args[:3]))
		if !f.counts && !f.outside {
			w.Tested = with(w.Tested, [3]string(args[:3]))
		}
		if f.end && !f.apart {
			w.limits = append(w.limits, limit{[3]string(args[:3]), asked})
		}
	case arms == 1 && len(args) > 1:
		w.Estimates = with(w.Estimates, [2]string(args[:2]))
		if !f.counts {
			w.Measured = with(w.Measured, [2]string(args[:2]))
		}
	case arms == 1:
		w.Trials = true
	}
}

// result adds a result that the rule names, and a threshold of it.
func (w *walker) result(x call, threshold string) {
	name := x.String()
	t := w.terms[name]
	if t == nil {
		w.calls = append(w.calls, x)
		t = &Term{}
		w.terms[name] = t
	}
	if threshold != "" && t.Threshold != "" {
		threshold = t.Threshold + " and " + threshold
	}
	if threshold != "" {
		t.Threshold = threshold
	}
}

// turns maps each comparison to the one with its sides exchanged.
var turns = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}

// compare adds a threshold to the result that a side of a comparison is.
func (w *walker) compare(side ast.Node, operator string, limit ast.Node) {
	n, ok := side.(*ast.CallNode)
	if !ok {
		return
	}
	f, args, err := called(n)
	if err != nil || f.within != nil {
		return
	}
	text := limit.String()
	if other, ok := limit.(*ast.CallNode); ok {
		if g, names, err := called(other); err == nil {
			text = call{g, names}.String()
		}
	}
	w.result(call{f, args}, operator+" "+text)
	// The call was visited before the comparison, and last: it added the limit.
	if value, ok := number(limit); ok && f.end && !f.apart && f.arms() == 2 && (value == 0 || f.name == "diff_low" || f.name == "diff_high") {
		w.limits[len(w.limits)-1].value = value
	}
}

// check checks the names in a call.
func (n *Names) check(f function, args []string) error {
	if f.takes("factor") {
		at := [4]string(args)
		turned := [4]string{at[1], at[0], at[2], at[3]}
		if !slices.Contains(n.Across, at) && !slices.Contains(n.Across, turned) {
			return fmt.Errorf("%s: the study does not compare the difference of %s and %s by %s across %s: add `across: [%s]` to that comparison", f.name, at[0], at[1], at[2], at[3], at[3])
		}
		return nil
	}
	arms := f.arms()
	for _, arm := range args[:arms] {
		if !slices.Contains(n.Arms, arm) {
			return unknown(f, "unknown arm %q%s; the arms are %s", arm, n.Arms)
		}
	}
	if f.takes("task") && !slices.Contains(n.Tasks, args[0]) {
		return unknown(f, "the study has no task %q%s; the tasks are %s", args[0], n.Tasks)
	}
	if !f.takes("metric") {
		return nil
	}
	metric, last := args[arms], args[len(args)-1]
	i := slices.IndexFunc(n.Metrics, func(m eval.Metric) bool { return m.Name == metric })
	if i < 0 {
		var known []string
		for _, m := range n.Metrics {
			if m.Kind == eval.Scoring {
				known = append(known, m.Name)
			}
		}
		return unknown(f, "unknown metric %q%s; the metrics are %s", metric, known)
	}
	if n.Metrics[i].Kind != eval.Scoring {
		return fmt.Errorf("%s: %s is an analysis metric: it explains results and cannot decide them", f.name, metric)
	}
	for kind, known := range map[string][]string{"stratum": n.Factors, "stratum=value": n.Strata} {
		if f.takes(kind) && !slices.Contains(known, last) {
			return unknown(f, "items have no stratum %q%s; the strata are %s", last, known)
		}
	}
	if arms == 2 && !n.Compared(args[0], args[1], metric) {
		return n.notCompared(f.name, args[0], args[1], metric)
	}
	return nil
}

// unknown is the error of a name that a study does not have.
func unknown(f function, problem, name string, known []string) error {
	return fmt.Errorf("%s: "+problem, f.name, name, text.DidYouMean(name, known), strings.Join(known, ", "))
}

// notCompared says what to add to the study so that it compares two arms on a metric.
func (n *Names) notCompared(of, a, b, metric string) error {
	var compared []string
	for _, m := range n.Metrics {
		if n.Compared(a, b, m.Name) {
			compared = append(compared, m.Name)
		}
	}
	if len(compared) == 0 {
		return fmt.Errorf("%s: the study does not compare %s with %s by %s: add the pair to comparisons", of, a, b, metric)
	}
	return fmt.Errorf("%s: the study compares %s with %s by %s, and not by %s: add %[5]s to the metrics of the pair, or to metrics.primary or metrics.secondary", of, a, b, strings.Join(compared, ", "), metric)
}

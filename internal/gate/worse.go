package gate

import (
	"fmt"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"

	"github.com/scruple-eval/scruple/internal/eval"
)

// noWorse is a ready rule: an arm is worse than another by less than a margin, by the end of
// the interval. It is the rule on diff_low or diff_high that it stands for, whose results and
// power it has.
const (
	noWorse      = "no_worse"
	noWorseUsage = "no_worse('new', 'old', 'metric', margin)"
	noWorseDoc   = "true where the first arm is worse by less than the margin: diff_low above -margin, or diff_high below it where lower is better"
)

// expand replaces each no_worse of a condition with the rule that it stands for, and reports
// whether there is one. lower says of which metrics lower is better.
func expand(tree *parser.Tree, lower func(metric string) bool) (found bool, err error) {
	e := expansion{lower: lower}
	ast.Walk(&tree.Node, &e)
	return e.found, e.err
}

// lowerOf says of which metrics lower is better.
func lowerOf(metrics []eval.Metric) func(string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(metrics, func(m eval.Metric) bool { return m.Name == name && !m.HigherIsBetter })
	}
}

type expansion struct {
	lower func(metric string) bool
	found bool
	err   error
}

// Visit implements ast.Visitor.
func (e *expansion) Visit(node *ast.Node) {
	call, ok := (*node).(*ast.CallNode)
	if !ok {
		return
	}
	if callee, ok := call.Callee.(*ast.IdentifierNode); !ok || callee.Value != noWorse {
		return
	}
	if e.found = true; len(call.Arguments) != 4 || !isNumber(call.Arguments[3]) {
		e.err = fmt.Errorf("%s: want two arms, a metric and a margin above 0, as in %s", noWorse, noWorseUsage)
		return
	}
	function, than, margin := "diff_low", ">", ast.Node(&ast.UnaryNode{Operator: "-", Node: call.Arguments[3]})
	if name, ok := call.Arguments[2].(*ast.StringNode); ok && e.lower(name.Value) {
		function, than, margin = "diff_high", "<", call.Arguments[3]
	}
	ast.Patch(node, &ast.BinaryNode{Operator: than, Right: margin,
		Left: &ast.CallNode{Callee: &ast.IdentifierNode{Value: function}, Arguments: call.Arguments[:3]}})
}

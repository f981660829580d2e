package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
)

// A Term is a result that a condition reads, and what it is compared with.
type Term struct {
	Used
	Arms      []string
	Metric    string
	Threshold string // such as "> 0.02"; empty if it is part of a larger expression
}

// Terms returns the results that a condition read, with their thresholds.
func (c Condition) Terms() []Term {
	var of map[string]*Term
	if tree, err := parser.Parse(asciiMinus(c.That)); err == nil {
		of = termsOf(tree)
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

func termsOf(tree *parser.Tree) map[string]*Term {
	t := terms{found: map[string]*Term{}}
	ast.Walk(&tree.Node, &t)
	return t.found
}

// terms collects the terms of an expression by the name of their result.
type terms struct{ found map[string]*Term }

// Visit implements ast.Visitor.
func (t *terms) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.CallNode:
		t.call(n)
	case *ast.BinaryNode:
		turned, ok := turns[n.Operator]
		if !ok {
			return
		}
		t.compare(n.Left, n.Operator, n.Right)
		t.compare(n.Right, turned, n.Left)
	}
}

// turns maps each comparison to the one with its sides exchanged.
var turns = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}

// call adds the results that a call reads. Those of within have its margin as their
// threshold.
func (t *terms) call(n *ast.CallNode) {
	f, args, ok := called(n)
	if !ok {
		return
	}
	if f.within != nil {
		if len(n.Arguments) == len(args)+1 {
			m := n.Arguments[len(args)].String()
			t.add(*f.within[0], args, "> -"+m)
			t.add(*f.within[1], args, "< "+m)
		}
		return
	}
	t.add(f, args, "")
}

// compare adds a threshold to the result that a side of a comparison is.
func (t *terms) compare(side ast.Node, operator string, with ast.Node) {
	call, ok := side.(*ast.CallNode)
	if !ok {
		return
	}
	f, args, ok := called(call)
	if !ok || f.within != nil {
		return
	}
	limit := with.String()
	if other, ok := with.(*ast.CallNode); ok {
		if g, names, ok := called(other); ok {
			limit = resultName(g, names)
		}
	}
	t.add(f, args, operator+" "+limit)
}

func (t *terms) add(f function, args []string, threshold string) {
	name := resultName(f, args)
	term := t.found[name]
	if term == nil {
		term = &Term{Arms: args[:f.arms]}
		if f.apart {
			term.Arms = nil
		} else if f.metrics > 0 {
			term.Metric = args[f.arms]
		}
		t.found[name] = term
	}
	if threshold != "" && term.Threshold != "" {
		threshold = term.Threshold + " and " + threshold
	}
	if threshold != "" {
		term.Threshold = threshold
	}
}

// called returns the function of a call and its names. The last argument of a function
// with a margin is not a name.
func called(n *ast.CallNode) (f function, args []string, ok bool) {
	id, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		return f, nil, false
	}
	i := slices.IndexFunc(functions, func(f function) bool { return f.name == id.Value })
	if i < 0 {
		return f, nil, false
	}
	f = functions[i]
	for _, a := range n.Arguments {
		if s, ok := a.(*ast.StringNode); ok {
			args = append(args, s.Value)
		}
	}
	return f, args, len(args) == f.names()
}

// names is the number of names that a function takes.
func (f function) names() int {
	if f.across {
		return 4
	}
	if f.factor || f.task {
		return f.arms + f.metrics + 1
	}
	return f.arms + f.metrics
}

// resultName is the name of a result in [Used].
func resultName(f function, args []string) string {
	return fmt.Sprintf("%s(%s)", f.name, strings.Join(args, ", "))
}

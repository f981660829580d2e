package request

import (
	"fmt"
	"slices"
)

// A Group is a class of requests with the same shape.
type Group struct {
	ID      string // G01
	Pattern string // of the shorthand; a stands for one or more conditions
	fits    func(n *Node) bool
}

// Groups lists the ten groups. A group with anchors, the conditions next to its
// alternatives, allows one or more of them. A condition may be negated by NOT. An
// AND or OR of one node is that node.
func Groups() []Group {
	return []Group{
		{"G01", "AND(a, b, c)", func(n *Node) bool {
			anchors, rest := split(n)
			return len(anchors) >= 3 && len(rest) == 0
		}},
		{"G02", "AND(anchor, OR(a, b))", anchored(alternatives(2))},
		{"G03", "AND(a, OR(b, c))", anchored(alternatives(2))},
		{"G04", "AND(a, review_meta_*)", func(n *Node) bool {
			anchors, rest := split(n)
			return len(anchors) >= 2 && len(rest) == 0 && slices.ContainsFunc(anchors, credibility)
		}},
		{"G05", "AND(a, OR(b, c, d))", anchored(alternatives(3))},
		{"G06", "AND(a, OR(AND(b, c), AND(d, e)))", anchored(joins(Or, pair, pair))},
		{"G07", "AND(a, OR(b, c), OR(d, e))", anchored(alternatives(2), alternatives(2))},
		{"G08", "AND(a, OR(b, AND(c, d)))", anchored(joins(Or, condition, pair))},
		{"G09", "1HOP([friends], pattern)", social(1)},
		{"G10", "2HOP([friends], pattern)", social(2)},
	}
}

// Lint returns an error if a request names one of the [Groups] and its tree does
// not have that group's shape. Without a group, or with one of the user's own, it
// may have any shape. The tree must pass [Check].
func Lint(r Request) error {
	groups := Groups()
	i := slices.IndexFunc(groups, func(g Group) bool { return g.ID == r.Group })
	if i >= 0 && !groups[i].fits(bareNode(r.Structure)) {
		return fmt.Errorf("group %s has the shape %s, got %s", r.Group, groups[i].Pattern, r.Structure.Shorthand())
	}
	return nil
}

// bareNode removes AND and OR of one node.
func bareNode(n *Node) *Node {
	for (n.Op == And || n.Op == Or) && len(n.Args) == 1 {
		n = n.Args[0]
	}
	return n
}

// condition reports whether a node is a condition, negated or not.
func condition(n *Node) bool {
	n = bareNode(n)
	return n.Op == "" || (n.Op == Not && bareNode(n.Args[0]).Op == "")
}

// pair reports whether a node is an AND of two conditions.
func pair(n *Node) bool { return joins(And, condition, condition)(n) }

// credibility reports whether a condition is about the writers of reviews.
func credibility(n *Node) bool {
	e := n.Leaves()[0].Evidence
	return e != nil && (e.Kind == ReviewMeta || (e.Kind == ReviewText && e.WeightBy != ""))
}

// split separates the arguments of a conjunction into conditions and the rest.
func split(n *Node) (conditions, rest []*Node) {
	if n.Op != And {
		return nil, []*Node{n}
	}
	for _, a := range n.Args {
		if a = bareNode(a); condition(a) {
			conditions = append(conditions, a)
		} else {
			rest = append(rest, a)
		}
	}
	return conditions, rest
}

// anchored matches a conjunction of one or more conditions and these parts, in
// any order.
func anchored(parts ...func(*Node) bool) func(*Node) bool {
	return func(n *Node) bool {
		anchors, rest := split(n)
		return len(anchors) >= 1 && fit(rest, parts)
	}
}

func alternatives(n int) func(*Node) bool {
	return joins(Or, slices.Repeat([]func(*Node) bool{condition}, n)...)
}

// joins matches an operator with these arguments, in any order.
func joins(op string, parts ...func(*Node) bool) func(*Node) bool {
	return func(n *Node) bool {
		n = bareNode(n)
		return n.Op == op && fit(n.Args, parts)
	}
}

// fit reports whether the nodes match the parts one to one.
func fit(nodes []*Node, parts []func(*Node) bool) bool {
	if len(nodes) != len(parts) {
		return false
	}
	left := slices.Clone(parts)
	for _, n := range nodes {
		i := slices.IndexFunc(left, func(part func(*Node) bool) bool { return part(n) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}

// social matches a single social condition.
func social(hops int) func(*Node) bool {
	return func(n *Node) bool {
		e := n.Evidence
		return n.Op == "" && e != nil && e.Kind == SocialFilter && e.Hops == hops && e.Pattern != ""
	}
}

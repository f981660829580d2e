package request

import (
	"fmt"
	"slices"
)

// A Group is a kind of request that tries one thing.
type Group struct {
	ID      string // G01
	Pattern string // of the shorthand; a stands for one or more conditions
	fits    func(n *Node) bool
}

// Groups lists the ten groups. Where a group has anchors, conditions that
// stand beside its alternatives, there may be several. A condition may be
// negated by NOT, and an AND or OR of one thing is that thing.
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

// Lint says how a request's tree departs from the shape of its group, nil if
// it does not. The tree must be one that [Check] finds nothing wrong with.
func Lint(r Request) error {
	groups := Groups()
	i := slices.IndexFunc(groups, func(g Group) bool { return g.ID == r.Group })
	if i < 0 {
		return fmt.Errorf("unknown group %q: want G01 to G10", r.Group)
	}
	if !groups[i].fits(bareNode(r.Structure)) {
		return fmt.Errorf("group %s has the shape %s, got %s", r.Group, groups[i].Pattern, r.Structure.Shorthand())
	}
	return nil
}

// bareNode leaves out operators that join one thing.
func bareNode(n *Node) *Node {
	for (n.Op == And || n.Op == Or) && len(n.Args) == 1 {
		n = n.Args[0]
	}
	return n
}

// condition reports a condition, negated or not.
func condition(n *Node) bool {
	n = bareNode(n)
	return n.Op == "" || (n.Op == Not && bareNode(n.Args[0]).Op == "")
}

// pair reports two conditions that must both hold.
func pair(n *Node) bool { return joins(And, condition, condition)(n) }

// credibility reports a condition on who wrote the reviews.
func credibility(n *Node) bool {
	e := n.Leaves()[0].Evidence
	return e != nil && (e.Kind == ReviewMeta || (e.Kind == ReviewText && e.WeightBy != ""))
}

// split parts what a conjunction joins into conditions and the rest.
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

// anchored is a conjunction of one or more conditions and these parts, in any
// order of one and the other.
func anchored(parts ...func(*Node) bool) func(*Node) bool {
	return func(n *Node) bool {
		anchors, rest := split(n)
		return len(anchors) >= 1 && fit(rest, parts)
	}
}

func alternatives(n int) func(*Node) bool {
	return joins(Or, slices.Repeat([]func(*Node) bool{condition}, n)...)
}

// joins is a node that joins these parts by an operator, in any order.
func joins(op string, parts ...func(*Node) bool) func(*Node) bool {
	return func(n *Node) bool {
		n = bareNode(n)
		return n.Op == op && fit(n.Args, parts)
	}
}

// fit reports that each node is one of the parts, each part taken once.
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

// social is a social condition that stands alone.
func social(hops int) func(*Node) bool {
	return func(n *Node) bool {
		e := n.Evidence
		return n.Op == "" && e != nil && e.Kind == SocialFilter && e.Hops == hops && e.Pattern != ""
	}
}

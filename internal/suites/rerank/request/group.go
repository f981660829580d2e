package request

import (
	"fmt"
	"slices"
	"strings"
)

// A Group is a class of requests with the same shape.
type Group struct {
	ID      string // G01
	Pattern string // of the shorthand; a stands for one or more conditions
}

// Groups lists the ten groups. A group with anchors, the conditions next to its
// alternatives, allows one or more of them. A condition may be negated by NOT. An
// AND or OR of one node is that node.
func Groups() []Group {
	return []Group{
		{"G01", "AND(a, b, c)"}, {"G02", "AND(anchor, OR(a, b))"}, {"G03", "AND(a, OR(b, c))"}, {"G04", "AND(a, review_meta_*)"},
		{"G05", "AND(a, OR(b, c, d))"}, {"G06", "AND(a, OR(AND(b, c), AND(d, e)))"}, {"G07", "AND(a, OR(b, c), OR(d, e))"},
		{"G08", "AND(a, OR(b, AND(c, d)))"}, {"G09", "1HOP([friends], pattern)"}, {"G10", "2HOP([friends], pattern)"},
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

func (g Group) fits(n *Node) bool {
	if hops, _, ok := strings.Cut(g.Pattern, "HOP"); ok {
		e := n.Evidence
		return n.Op == "" && e != nil && e.Kind == SocialFilter && fmt.Sprint(e.Hops) == hops && e.Pattern != ""
	}
	pattern, err := ParseShorthand(g.Pattern)
	if err != nil {
		panic("request: " + err.Error())
	}
	if n.Op != And {
		return false
	}
	anchors, rest := split(n.Args)
	wanted, parts := split(pattern.Args)
	credible := strings.Contains(g.Pattern, "review_meta_")
	return len(anchors) >= len(wanted) && matchAll(parts, rest) && (!credible || slices.ContainsFunc(anchors, credibility))
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
	return n.Op == "" || n.Op == Not && bareNode(n.Args[0]).Op == ""
}

// split separates conditions from the rest.
func split(nodes []*Node) (conditions, rest []*Node) {
	for _, n := range nodes {
		if condition(n) {
			conditions = append(conditions, n)
		} else {
			rest = append(rest, n)
		}
	}
	return conditions, rest
}

// match reports whether a node has the shape of a pattern.
func match(pattern, n *Node) bool {
	n = bareNode(n)
	if pattern.Op == "" {
		return condition(n)
	}
	return n.Op == pattern.Op && matchAll(pattern.Args, n.Args)
}

// matchAll reports whether nodes match patterns one to one, in any order.
func matchAll(patterns, nodes []*Node) bool {
	left := slices.Clone(patterns)
	for _, n := range nodes {
		i := slices.IndexFunc(left, func(p *Node) bool { return match(p, n) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return len(left) == 0
}

// credibility reports whether a condition is about the writers of reviews.
func credibility(n *Node) bool {
	e := n.Leaves()[0].Evidence
	return e != nil && (e.Kind == ReviewMeta || e.Kind == ReviewText && e.WeightBy != "")
}

// Package request defines requests: a text, its logic as a tree of conditions
// ([Node]), a shorthand for the tree's shape ([ParseShorthand],
// [Node.Shorthand]), and the item, or the items, that satisfy it.
//
// # The tree
//
// A node of a file is one of
//
//	{"op": "AND" | "OR" | "NOT", "args": [node, …]}
//	{"aspect": "free_wifi", "evidence": {"kind": …, …}}
//
// Gold is one id; if several items satisfy a request, it is a list of ids or an
// object of ids and grades of relevance:
//
//	"gold": "i1"   "gold": ["i1", "i7"]   "gold": {"i1": 3, "i7": 1}
//
// [Evidence] describes the conditions. [Check] validates a tree; [Lint] compares
// it with the shape of its group.
//
// The package must not evaluate conditions: that is package evidence.
package request

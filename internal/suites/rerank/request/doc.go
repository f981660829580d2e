// Package request defines requests: a text, its logic as a tree of conditions
// ([Node]), a shorthand for the tree's shape ([ParseShorthand],
// [Node.Shorthand]), and the one item that satisfies it.
//
// # The tree
//
// A node of a file is one of
//
//	{"op": "AND" | "OR" | "NOT", "args": [node, …]}
//	{"aspect": "free_wifi", "evidence": {"kind": …, …}}
//
// [Evidence] describes the conditions. [Check] validates a tree; [Lint] compares
// it with the shape of its group.
//
// The package must not evaluate conditions: that is package evidence.
package request

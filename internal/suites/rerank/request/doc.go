// Package request is the language in which requests are kept: a text that a
// person would say, the logic behind it as a tree of conditions ([Node]), a
// shorthand that shows the tree's shape ([ParseShorthand], [Node.Shorthand]),
// and the one item that is right.
//
// # The tree
//
// A node of a file is one of
//
//	{"op": "AND" | "OR" | "NOT", "args": [node, …]}
//	{"aspect": "free_wifi", "evidence": {"kind": …, …}}
//
// [Evidence] lists what a condition may be about. [Check] finds everything that
// is wrong with a tree, [Lint] holds it to the shape of its group.
//
// The package must not know what is true of an item: that is package evidence.
package request

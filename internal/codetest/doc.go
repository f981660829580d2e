// Package codetest tests rules of the code base: allowed imports and the reasons, budgets of
// lines, the order of files in large packages, a package comment for every package, and no
// init functions. It reads source text, and runs none of it.
package codetest

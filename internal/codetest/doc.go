// Package codetest tests rules of the code base: allowed imports and the reasons,
// a package comment for every package, and no init functions. It reads only
// source text.
package codetest

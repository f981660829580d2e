// Package codetest holds the rules of the code base as tests: which way
// imports point and why, that every package says what it is for, and that
// nothing is wired behind one's back. It knows only source text.
package codetest

// Package generate makes data sets whose answers are known: items, people and
// who is whose friend, reviews, and requests of all ten groups, each with
// exactly one item that satisfies it. What is made depends on the seed and the
// sizes and on nothing else, byte for byte.
//
// Nothing here is real. Items may be given (real ones, of which the package
// then makes up reviews only); the words are in words.yaml. That a request is
// right is not assumed but checked, by package evidence.
//
// The package must not know any method or prompt.
package generate

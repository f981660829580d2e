// Package generate generates synthetic data with known answers: items, users,
// friendships, reviews, and requests of all ten groups, each satisfied by exactly
// one item. The output depends only on the seed and the sizes, byte for byte.
//
// All data are synthetic, except items given in [Options]. The words are in
// words.yaml. Package evidence validates every request.
//
// The package must not know any method or prompt.
package generate

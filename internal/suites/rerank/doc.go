// Package rerank evaluates methods that rank candidates for a request that
// exactly one of them satisfies: how often the right one is first, how that
// changes with the number of candidates, and how robust it is to manipulated
// reviews.
//
// The package binds its parts to a study: catalog and request (data), evidence
// (truth), candidates (selection, order and budget), attack (changes to
// reviews), method (rankers). open.go does so, arms.go makes arms, bench.go performs,
// score.go and metrics.go score; show.go has the truth of an item. It must not import providers, the store, a clock
// or statistics.
package rerank

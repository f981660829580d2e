// Package rerank evaluates methods that put candidates in order for a request
// that exactly one of them satisfies: which method puts the right one first,
// how that changes with the number of candidates, and what it is worth when
// somebody writes reviews to mislead it.
//
// The package binds its parts to a study: catalog and request (the data),
// evidence (what is true), candidates (who competes, in which order, with how
// much text), attack (what is done to reviews), method (the ways to rank). It
// must not know any provider, store, clock or statistic.
package rerank

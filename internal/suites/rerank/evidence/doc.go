// Package evidence computes the truth of a request for an item. It evaluates
// conditions on attributes, hours, reviews, reviewers and friendships, combines
// them in Kleene's strong three-valued logic, and explains the result.
//
// It is the ground truth of the suite. [Validate] evaluates every request on
// every item; a request is valid only if exactly one item satisfies it.
//
// The package must not know any method, prompt or model.
package evidence

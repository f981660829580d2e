// Package evidence tells what is true of an item: it evaluates the conditions
// of a request on attributes, hours, reviews, reviewers and friendships, joins
// them by the strong three-valued logic of Kleene, and explains itself.
//
// It is the ground truth of the suite. [Validate] holds every request to every
// item with it, and a request is right only if exactly one item satisfies it.
//
// The package must not know any method, prompt or model.
package evidence

// Package span scores labelled spans against gold, as nervaluate (the scheme of
// MUC-5 and SemEval-2013 task 9), seqeval and conlleval do, and reads tagged
// sentences. It must not know any suite.
//
// Offsets count tokens, characters or anything else, as long as gold and
// prediction use the same. An end is exclusive. A span that does not end behind its
// start has no place: it matches nothing, and counts as missed or spurious.
package span

import (
	"cmp"
	"strings"
)

// A Span is a labelled part of a text.
type Span struct {
	Start, End int
	Label      string
}

// Compare orders spans by start, end and label.
func Compare(a, b Span) int {
	return cmp.Or(a.Start-b.Start, a.End-b.End, strings.Compare(a.Label, b.Label))
}

// samePlace reports whether two spans have the same borders. Spans without a place
// have none in common: their offsets say only that they were not found.
func samePlace(a, b Span) bool { return a.Start == b.Start && a.End == b.End && a.Start < a.End }

// overlap is the length of the part that two spans share.
func overlap(a, b Span) int { return max(0, min(a.End, b.End)-max(a.Start, b.Start)) }

// IoU is the length of the intersection of two spans over that of their union,
// without regard to labels.
func IoU(a, b Span) float64 {
	shared := overlap(a, b)
	if shared == 0 {
		return 0
	}
	return float64(shared) / float64(a.End-a.Start+b.End-b.Start-shared)
}

package text

import (
	"cmp"
	"errors"
)

// booleans are the words and marks of "true" and of "false", case folded.
var booleans = func() map[string]string {
	all := map[string]string{"[ ]": "false"}
	for _, line := range wordLines(wordsFile, "boolean") {
		for _, w := range line[1:] {
			all[w] = line[0]
		}
	}
	return all
}()

var errNotBoolean = errors.New("neither yes nor no; write true or false")

// foldBoolean is the form in which booleans are compared: "true" and "false" for these
// words or yes and no in one of ten languages, 1 and 0, or a box with a mark or without one
// (☑, [x], ☐, [ ]); else the folded text.
func foldBoolean(s string) string {
	// The box must be tried first: Fold takes its brackets off.
	return cmp.Or(booleans[foldCase(Minimal(s))], booleans[Fold(s)], Fold(s))
}

// containsBoolean looks for a word or box that means the value. The numbers 1 and 0 of a
// running text mean something else, unless the value is written so.
func containsBoolean(quote, value string) bool {
	want := booleans[foldBoolean(value)]
	if want == "" {
		return containsWords(Fold(quote), Fold(value))
	}
	q := foldCase(Minimal(quote))
	found := containsWords(q, foldCase(Minimal(value)))
	for w, is := range booleans {
		found = found || is == want && w != "1" && w != "0" && containsWords(q, w)
	}
	return found
}

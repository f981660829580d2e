package text

import (
	"errors"
	"fmt"
	"strconv"
)

// booleans are the words and marks that are true or false, case folded.
var booleans = func() map[string]bool {
	all := map[string]bool{"[ ]": false}
	for _, line := range wordLines(wordsFile, "boolean") {
		for _, w := range line[1:] {
			all[w] = line[0] == "true"
		}
	}
	return all
}()

var errNotBoolean = errors.New("neither yes nor no; write true or false")

// ParseBoolean reads a text that says true or false: these words or yes and no in one of
// ten languages, 1 and 0, or a box with a mark or without one (☑, [x], ☐, [ ]).
func ParseBoolean(s string) (bool, error) {
	// The box must be tried first: Fold takes its brackets off.
	for _, key := range []string{foldCase(Minimal(s)), Fold(s)} {
		if yes, ok := booleans[key]; ok {
			return yes, nil
		}
	}
	return false, fmt.Errorf("reading %q as a boolean: %w", clip(s), errNotBoolean)
}

// foldBoolean is the form in which booleans are compared: true, false or the folded text.
func foldBoolean(s string) string {
	if yes, err := ParseBoolean(s); err == nil {
		return strconv.FormatBool(yes)
	}
	return Fold(s)
}

// containsBoolean looks for a word or box that means the value. The numbers 1 and 0 of a
// running text mean something else, unless the value is written so.
func containsBoolean(quote, value string) bool {
	want, err := ParseBoolean(value)
	if err != nil {
		return containsWords(Fold(quote), Fold(value))
	}
	q, v := foldCase(Minimal(quote)), foldCase(Minimal(value))
	found := containsWords(q, v)
	for w, yes := range booleans {
		found = found || yes == want && w != "1" && w != "0" && containsWords(q, w)
	}
	return found
}

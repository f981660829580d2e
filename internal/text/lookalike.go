package text

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// LookAlikes warns of items whose ids have white space or invisible characters at their
// ends, and of those that differ only in these or in how Unicode writes the same
// characters: gold or answers from elsewhere may mean the other one, or none.
func LookAlikes(ids []string) []string {
	first := map[string]string{}
	var padded, alike []string
	for _, id := range ids {
		if strings.TrimFunc(id, unseen) != id {
			padded = append(padded, fmt.Sprintf("item %+q has white space or an invisible character at an end of its id, which is a part of it: remove it, or write it wherever the item is named", id))
		}
		key := Minimal(strings.Join(strings.FieldsFunc(id, invisible), ""))
		if other, ok := first[key]; ok {
			alike = append(alike, fmt.Sprintf("items %+q and %+q look the same: give one of them another id", other, id))
		} else {
			first[key] = id
		}
	}
	return slices.Concat(fewOf(padded, "more has such an id", "more have such ids"), fewOf(alike, "more looks like another item", "more look like another item"))
}

// invisible reports a character without a form, such as a zero width space.
func invisible(r rune) bool { return unicode.Is(unicode.Cf, r) }

func unseen(r rune) bool { return unicode.IsSpace(r) || invisible(r) }

// fewOf is the beginning of a list, and how many more there are.
func fewOf(list []string, one, many string) []string {
	const few = 3
	if n := len(list) - few; n > 0 {
		return append(list[:few], Plural(n, one, many))
	}
	return list
}

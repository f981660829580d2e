package extraction

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
)

// didYouMean names the known name nearest to one that is not known, as the end
// of an error text, or says nothing when none is near.
func didYouMean(name string, known []string) string {
	best, at := max(1, len(name)/3)+1, -1
	for i, k := range known {
		if d := levenshtein.Distance(strings.ToLower(name), strings.ToLower(k), nil); d < best && d < len(name) {
			best, at = d, i
		}
	}
	if at < 0 {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", known[at])
}

// joined lists names for an error text.
func joined[T ~string](names []T) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = string(n)
	}
	return strings.Join(list, ", ")
}

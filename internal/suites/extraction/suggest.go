package extraction

import (
	"fmt"
	"strings"

	"github.com/scruple-eval/scruple/internal/text"
)

// didYouMean names the known name nearest to one that is not known, as the end
// of an error text, or says nothing when none is near.
func didYouMean(name string, known []string) string {
	if k, ok := text.Nearest(name, known); ok {
		return fmt.Sprintf(": did you mean %q?", k)
	}
	return ""
}

// joined lists names for an error text.
func joined[T ~string](names []T) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = string(n)
	}
	return strings.Join(list, ", ")
}

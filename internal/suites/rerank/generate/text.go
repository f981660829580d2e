package generate

import (
	"maps"
	"slices"
	"strings"
)

// fill puts a text in the place of {name}.
func fill(template, name, text string) string {
	return strings.ReplaceAll(template, "{"+name+"}", text)
}

func joinSentences(list []string) string { return strings.Join(list, " ") }

// enumerate writes a, b and c.
func enumerate(list []string, word string) string {
	if len(list) == 1 {
		return list[0]
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " " + word + " " + list[last]
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

package extraction

import "strings"

// joined lists names for an error text.
func joined[T ~string](names []T) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = string(n)
	}
	return strings.Join(list, ", ")
}

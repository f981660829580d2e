package catalog

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// Kind names the type of a value in messages.
func Kind(v any) string {
	switch v.(type) {
	case nil:
		return "missing"
	case bool:
		return "bool"
	case float64:
		return "number"
	case string:
		return "text"
	case []any:
		return "list"
	}
	return "map"
}

// Keys returns the sorted keys of a map.
func Keys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// At returns the value at a path of keys, separated by dots, in nested maps; nil if there is
// none. Keys may contain dots: the longest first key with a value counts.
func At(m map[string]any, path string) any {
	for end := len(path); end > 0; end = strings.LastIndexByte(path[:end], '.') {
		v := m[path[:end]]
		if end == len(path) && v != nil {
			return v
		}
		if v != nil {
			inner, _ := v.(map[string]any)
			return At(inner, path[end+1:])
		}
	}
	return nil
}

// Equal reports whether two values of the same type are equal: texts under simple case
// folding, lists in order, maps with case-sensitive keys. "1", 1 and true are three different
// values.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && strings.EqualFold(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, Equal)
	}
	return a == b
}

// Text formats a value: a text unchanged, "" for a missing one, and JSON otherwise.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	}
	return string(kit.JSON(v))
}

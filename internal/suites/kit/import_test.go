package kit

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// Ids of a converted file differ, also from those that look like a numbered repetition.
func TestUniqueID(t *testing.T) {
	for _, c := range []struct{ given, want []string }{
		{[]string{"a", "a", "a-2", "a"}, []string{"a", "a-2", "a-2-2", "a-3"}},
		{[]string{"a-2", "a", "a", "a"}, []string{"a-2", "a", "a-3", "a-4"}},
	} {
		taken := map[string]int{}
		for i, id := range c.given {
			if got := UniqueID(taken, id); got != c.want[i] {
				t.Errorf("%q: got %s, want %s", c.given[:i+1], got, c.want[i])
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		taken, seen := map[string]int{}, map[string]bool{}
		for _, id := range rapid.SliceOf(rapid.SampledFrom([]string{"a", "a-2", "a-3", "a-2-2", "b", ""})).Draw(t, "ids") {
			got := UniqueID(taken, id)
			if seen[got] {
				t.Fatal(fmt.Sprintf("%q twice", got))
			}
			seen[got] = true
		}
	})
}

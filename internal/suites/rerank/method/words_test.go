package method

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// ASCII text is split as any text is.
func TestPlainWords(t *testing.T) {
	if got, want := words("WiFi: free-Internet, 2ndFloor ABCd x"), []string{"wi", "fi", "free", "internet", "2nd", "floor", "abcd", "x"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching("[ -~\\n\\t]*").Draw(t, "text")
		if got, want := words(s), anyWords(s); !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q", s, got, want)
		}
	})
}

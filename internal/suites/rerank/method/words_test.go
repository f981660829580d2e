package method

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Words are runs of letters and digits, split at the humps of camel case.
func TestPlainWords(t *testing.T) {
	if got, want := words("WiFi: free-Internet, 2ndFloor ABCd x"), []string{"wi", "fi", "free", "internet", "2nd", "floor", "abcd", "x"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := words("CaféÉclair ΣΊΣΥΦΟΣ 2é ÄB"), []string{"café", "éclair", "σίσυφοσ", "2é", "äb"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching("[ -~\\n\\t]*").Draw(t, "text")
		if got, want := words(s), strings.Fields(strings.ToLower(regexp.MustCompile("[^A-Za-z0-9]+").ReplaceAllString(regexp.MustCompile("([a-z])([A-Z])").ReplaceAllString(s, "$1 $2"), " "))); !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q", s, got, want)
		}
	})
}

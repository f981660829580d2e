package text

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestShorten(t *testing.T) {
	for _, tc := range []struct {
		s    string
		most int
		want string
	}{
		{"", 5, ""},
		{"short", 5, "short"},
		{"longer", 5, "long…"},
		{"größer", 5, "größ…"},
		{"cafe\u0301s", 5, "caf…"}, // e and its accent are two code points
		{"👩‍👩‍👧 family", 5, "…"},
		{"👩‍👩‍👧 family", 7, "👩‍👩‍👧 …"},
		{"a\xffbcd", 4, "a\xffb…"},
	} {
		if got := Shorten(tc.s, tc.most); got != tc.want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", tc.s, tc.most, got, tc.want)
		}
	}
}

func TestShortenKeepsTheBeginning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, most := rapid.String().Draw(t, "text"), rapid.IntRange(1, 20).Draw(t, "most")
		got := Shorten(s, most)
		if n := utf8.RuneCountInString(got); n > most || !utf8.ValidString(got) {
			t.Fatalf("%q of %d characters", got, n)
		}
		if got != s && !strings.HasPrefix(s, strings.TrimSuffix(got, "…")) {
			t.Fatalf("%q is no beginning of %q", got, s)
		}
	})
}

package text

import (
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/rangetable"
)

func TestDigitValue(t *testing.T) {
	for in, want := range map[rune]int{ // Unicode names: ARABIC-INDIC DIGIT THREE and so on
		'7': 7, '٣': 3, '۹': 9, '०': 0, '५': 5, '৪': 4, '๑': 1, '８': 8, '𝟗': 9, '𝟘': 0,
		'a': -1, '²': -1, '½': -1, '三': -1, '/': -1, ':': -1, 0: -1,
	} {
		if got := digitValue(in); got != want {
			t.Errorf("%q has the value %d, want %d", in, got, want)
		}
	}
	// NFKC knows the values of full-width and mathematical digits.
	seen := [10]int{}
	rangetable.Visit(unicode.Nd, func(r rune) {
		v := digitValue(r)
		seen[v]++
		if n := norm.NFKC.String(string(r)); len(n) == 1 && n != string(rune('0'+v)) {
			t.Errorf("%q has the value %d, want %s", r, v, n)
		}
	})
	for v, n := range seen {
		if n != seen[0] {
			t.Errorf("%d digits have the value %d, and %d the value 0", n, v, seen[0])
		}
	}
}

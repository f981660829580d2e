package text

import (
	"slices"
	"strings"
	"testing"

	"github.com/agext/levenshtein"
	"pgregory.net/rapid"
)

func TestEditDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"kitten", "sitting", 3}, // Levenshtein's textbook pair
		{"saturday", "sunday", 3},
		{"flaw", "lawn", 2},
		{"größe", "große", 1}, // code points, not bytes
		{strings.Repeat("a", 64), strings.Repeat("b", 64), 64},
		{strings.Repeat("ab", 100), strings.Repeat("ba", 100), 2},
	}
	for _, tt := range tests {
		if got := editDistance([]rune(tt.a), []rune(tt.b), 1000); got != tt.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

// TestEditDistanceAgrees compares with an independent implementation, on both sides of the limit.
func TestEditDistanceAgrees(t *testing.T) {
	letters := rapid.SampledFrom([]rune("abcé"))
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.SampledFrom([]int{3, 63, 64, 65, 130, 200})
		a := []rune(rapid.StringOfN(letters, 0, length.Draw(t, "most in a"), -1).Draw(t, "a"))
		b := []rune(rapid.StringOfN(letters, 0, length.Draw(t, "most in b"), -1).Draw(t, "b"))
		if rapid.Bool().Draw(t, "near") {
			b = append(slices.Clone(a), b[:min(len(b), 5)]...)
		}
		want := levenshtein.Distance(string(a), string(b), nil)
		for _, limit := range []int{rapid.IntRange(0, 30).Draw(t, "limit"), 1000} {
			if got := editDistance(a, b, limit); got != min(want, limit+1) {
				t.Errorf("editDistance(%q, %q, %d) = %d, want %d", string(a), string(b), limit, got, min(want, limit+1))
			}
		}
	})
}

func TestNear(t *testing.T) {
	tests := []struct {
		typ     Type
		a, gold string
		want    bool
	}{
		{String, "Acme Inc.", "ACME INC", true},
		{String, "kitten", "sitting", false},
		{String, "0123456789", "x123456789", false}, // 0.9
		{String, "0123456789a", "x123456789a", true},
		{String, strings.Repeat("a", 95) + "bcdefg", strings.Repeat("a", 95), true},
		{String, strings.Repeat("a", 90) + "bcdefghijk", strings.Repeat("a", 90), false},
		{String, strings.Repeat("abcdefghi.", 200), strings.Repeat("xbcdefghi.", 100) + strings.Repeat("abcdefghi.", 100), true},
		{String, strings.Repeat("abcdefghi.", 200), strings.Repeat("xbcdefghi.", 199) + "abcdefghi.", true},
		{String, strings.Repeat("abcdefghi.", 200), strings.Repeat("xbcdefghi.", 200), false}, // 0.9
		{String, strings.Repeat("abcdefghi.", 200), strings.Repeat("xycdefghi.", 200), false},
		{String, strings.Repeat("a", 4000), strings.Repeat("a", 3601), true},
		{String, strings.Repeat("a", 4000), strings.Repeat("a", 3600), false},
		{String, "", "", true},
		{String, "", "abc", false},
		{Number, "3.14159", "3.14", true},
		{Number, "3.145", "3.15", true}, // halves away from zero
		{Number, "-3.145", "-3.15", true},
		{Number, "3", "3.14", false},
		{Number, "3.14", "3.14159", false}, // gold is the second
		{Money, "1,512,345", "$1.5 million", true},
		{Money, "$1,234.40", "1,234", true},
		{Money, "1233.50", "1233", false},
		{Number, "1234.5", "1234.6", false}, // one digit of six, and no half measures
		{Date, "2024-03-15", "March 15, 2024", true},
		{Date, "2024-03-15", "March 16, 2024", false},
		{Date, "2024-03-15", "March 2024", true},
		{Date, "2024-03", "2024", true},
		{Date, "March 2024", "2024-03-15", false},
		{Date, "03/04/2024", "2024-04", false},
		{Enum, "female", "male", false},
		{ID, "INV-2024-00017", "INV-2024-00018", false},
	}
	for _, tt := range tests {
		if got := Near(tt.typ, tt.a, tt.gold); got != tt.want {
			t.Errorf("Near(%s, %q, %q) = %v, want %v", tt.typ, tt.a, tt.gold, got, tt.want)
		}
	}
}

func TestNearAgrees(t *testing.T) {
	types := rapid.SampledFrom([]Type{String, Number, Money, Date, Enum, ID})
	rapid.Check(t, func(t *rapid.T) {
		typ, a, b := types.Draw(t, "type"), anyText().Draw(t, "a"), anyText().Draw(t, "b")
		got, want := Near(typ, a, b), Equal(typ, a, b)
		if typ == String && !want {
			want = levenshtein.Similarity(Fold(a), Fold(b), nil) > 0.9
		}
		if got != want && (want || typ != Number && typ != Money && typ != Date) {
			t.Errorf("Near(%s, %q, %q) = %v, want %v", typ, a, b, got, want)
		}
	})
}

func BenchmarkNear(b *testing.B) {
	x := strings.Repeat("governed by the laws of the State of New York ", 40)
	y := strings.Repeat("governed by the laws of the State of Delaware ", 40)
	for b.Loop() {
		Near(String, x, y)
	}
}

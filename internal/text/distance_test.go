package text

import (
	"math"
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
		if got := editDistance([]rune(tt.a), []rune(tt.b)); got != tt.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

// TestEditDistanceAgrees compares with an independent implementation, for
// lengths on both sides of the blocks of 64 rows.
func TestEditDistanceAgrees(t *testing.T) {
	letters := rapid.SampledFrom([]rune("abcé"))
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.SampledFrom([]int{3, 63, 64, 65, 130, 200})
		a := rapid.StringOfN(letters, 0, length.Draw(t, "most in a"), -1).Draw(t, "a")
		b := rapid.StringOfN(letters, 0, length.Draw(t, "most in b"), -1).Draw(t, "b")
		want := levenshtein.Distance(a, b, nil)
		if got := editDistance([]rune(a), []rune(b)); got != want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", a, b, got, want)
		}
	})
}

func TestSimilarity(t *testing.T) {
	tests := []struct {
		typ     Type
		a, gold string
		want    float64
	}{
		{String, "Acme Inc.", "ACME INC", 1},
		{String, "kitten", "sitting", 1 - 3.0/7},
		{String, "", "", 1},
		{String, "", "abc", 0},
		{Number, "3.14159", "3.14", 1},
		{Number, "3.145", "3.15", 1}, // halves away from zero
		{Number, "-3.145", "-3.15", 1},
		{Number, "3", "3.14", 0},
		{Number, "3.14", "3.14159", 0}, // gold is the second
		{Money, "1,512,345", "$1.5 million", 1},
		{Money, "$1,234.40", "1,234", 1},
		{Money, "1233.50", "1233", 0},
		{Number, "1234.5", "1234.6", 0}, // one digit of six, and no half measures
		{Date, "2024-03-15", "March 15, 2024", 1},
		{Date, "2024-03-15", "March 16, 2024", 0},
		{Date, "2024-03-15", "March 2024", 1},
		{Date, "2024-03", "2024", 1},
		{Date, "March 2024", "2024-03-15", 0},
		{Date, "03/04/2024", "2024-04", 0},
		{Enum, "female", "male", 0},
		{ID, "INV-2024-00017", "INV-2024-00018", 0},
	}
	for _, tt := range tests {
		if got := Similarity(tt.typ, tt.a, tt.gold); !(math.Abs(got-tt.want) <= 1e-15) {
			t.Errorf("Similarity(%s, %q, %q) = %v, want %v", tt.typ, tt.a, tt.gold, got, tt.want)
		}
	}
}

func TestSimilarityIsBounded(t *testing.T) {
	types := rapid.SampledFrom([]Type{String, Number, Money, Date, Enum, ID})
	rapid.Check(t, func(t *rapid.T) {
		typ, a, b := types.Draw(t, "type"), anyText().Draw(t, "a"), anyText().Draw(t, "b")
		got := Similarity(typ, a, b)
		if !(got >= 0 && got <= 1) {
			t.Errorf("Similarity(%s, %q, %q) = %v, want it in [0, 1]", typ, a, b, got)
		}
		if (got == 1) != Equal(typ, a, b) && typ != Number && typ != Money && typ != Date {
			t.Errorf("Similarity(%s, %q, %q) = %v, but Equal is %v", typ, a, b, got, !(got == 1))
		}
	})
}

func BenchmarkSimilarity(b *testing.B) {
	x := strings.Repeat("governed by the laws of the State of New York ", 40)
	y := strings.Repeat("governed by the laws of the State of Delaware ", 40)
	for b.Loop() {
		Similarity(String, x, y)
	}
}

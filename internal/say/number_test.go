package say

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The shown p-value is on the same side of alpha as the real one.
func TestPValueKeepsItsSide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alpha := rapid.SampledFrom([]float64{0.1, 0.05, 0.025, 0.01, 0.005}).Draw(t, "alpha")
		p := alpha + rapid.Float64Range(-1e-3, 1e-3).Draw(t, "off")
		if math.Abs(p-alpha) < 1e-6 {
			t.Skip("closer than six decimals can tell")
		}
		shown, err := strconv.ParseFloat(P(Number(p), alpha), 64)
		if err != nil {
			t.Fatal(err)
		}
		if (shown < alpha) != (p < alpha) {
			t.Fatalf("p = %v is shown as %v at alpha = %v", p, shown, alpha)
		}
	})
}

// A value is rounded only once: the percentage of x has the digits of x.
func TestPercentageRoundsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(0, 1).Draw(t, "x")
		got := Shifted(x, 2, 1)
		digits := strconv.FormatFloat(x, 'f', 3, 64)
		want, _ := strconv.ParseFloat(digits, 64)
		back, err := strconv.ParseFloat(got, 64)
		if err != nil || !(math.Abs(back-want*100) <= 1e-9) {
			t.Fatalf("%v is %q percent, and %q as a fraction", x, got, digits)
		}
	})
}

func TestTails(t *testing.T) {
	numbers := []string{"$0.8084", "$12.50", "–", "$0", "< 0.001", ""}
	got := Tails(numbers)
	var points []int
	for i, s := range numbers {
		padded := s + strings.Repeat(" ", got[i])
		points = append(points, len([]rune(padded))-len([]rune(s[:wholeEnd(s)])))
	}
	for i, p := range points[:5] {
		if p != points[0] {
			t.Errorf("%q: its point is %d from the right, want %d", numbers[i], p, points[0])
		}
	}
	if got[5] != 0 {
		t.Errorf("an empty cell is padded by %d", got[5])
	}
}

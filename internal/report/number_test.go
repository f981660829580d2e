package report

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
)

// plainSpaces makes expected texts readable in a test.
func plainSpaces(s string) string { return strings.ReplaceAll(s, nbsp, " ") }

func TestNumbersAsText(t *testing.T) {
	undefined := analyse.Undefined()
	level := func(least, most analyse.Number, pooling eval.Pooling, x analyse.Number) string {
		return scaleOf(analyse.Metric{Min: least, Max: most, Pooling: pooling}).value(x, false)
	}
	raw, share := scale{decimals: 3}, scale{percent: true, decimals: 1}
	for _, tc := range []struct{ got, want string }{
		// The range and pooling of a metric determine its format.
		{level(0, 1, eval.RatioOfSums, 0.8312), "83.1 %"},
		{level(0, 1, eval.MeanOfItems, 0.8312), "0.831"},
		{level(-1, 1, eval.RatioOfSums, -0.25), "−0.250"},
		{level(0, 10, eval.MeanOfItems, 7.456), "7.46"},
		{level(0, 100, eval.MeanOfItems, 83.12), "83.1"},
		{level(0, 1000, eval.MeanOfItems, 831.2), "831"},
		{level(0, undefined, eval.MeanOfItems, 2210.256), "2,210.26"},
		{level(0, 1, eval.RatioOfSums, undefined), "–"},
		{level(0, 1, eval.RatioOfSums, analyse.Number(math.Inf(1))), "–"},

		// Differences are signed.
		{raw.value(0.31, true), "+0.310"},
		{raw.value(-0.31, true), "−0.310"},
		{raw.value(0, true), "0.000"},
		{raw.value(0.0004, true), "+0.0004"}, // not +0.000
		{raw.value(-0.0000123, true), "−0.00001"},
		{raw.value(-3e-9, true), "−3e−09"},
		{raw.value(1e-17, true), "0.000"}, // rounding error of 0
		{raw.value(-1e-17, true), "0.000"},
		{share.value(0.0312, true), "+3.1 pp"},
		{share.value(-0.0004, true), "−0.04 pp"},

		{raw.interval(0.27, 0.35, true), "+0.270 to +0.350"},
		{raw.interval(-0.01, 0.034, true), "−0.010 to +0.034"},
		{raw.interval(0.801, 0.86, false), "0.801 to 0.860"},
		{share.interval(0.01, 0.054, false), "1.0 to 5.4 %"},
		{share.interval(-0.01, 0.054, true), "−1.0 to +5.4 pp"},
		{raw.interval(undefined, undefined, false), "–"},
		{raw.interval(undefined, 0.5, false), "– to 0.500"},

		{pValue(0.034, 0.05), "0.034"},
		{pValue(0.0009999, 0.05), "< 0.001"},
		{pValue(0, 0.05), "< 0.001"},
		{pValue(0.001, 0.05), "0.001"},
		{pValue(0.9996, 0.05), "> 0.999"},
		{pValue(1, 0.05), "1.000"},
		{pValue(0.04996, 0.05), "0.04996"}, // 0.050 would suggest that it is not below 0.05
		{pValue(0.0496, 0.05), "0.0496"},   // same here
		{pValue(0.05, 0.05), "0.050"},
		{pValue(0.05004, 0.05), "0.050"}, // 0.050 is not below 0.05, and neither is p
		{pValue(0.0166, 1.0/60), "0.0166"},
		{pValue(undefined, 0.05), "–"},
		{pSentence(0.034, 0.05), "p = 0.034"},
		{pSentence(0.0001, 0.05), "p < 0.001"},

		{usd(0), "$0"}, {usd(0.80837), "$0.8084"}, {usd(1), "$1.00"}, {usd(1234.5), "$1,234.50"},
		{usd(0.00001234), "$0.00001"}, {usd(-2.5), "−$2.50"}, {usd(undefined), "–"},

		{count(0), "0"}, {count(999), "999"}, {count(2340), "2,340"}, {count(-1234567), "−1,234,567"},
		{plural(1, "item", "items"), "1 item"}, {plural(0, "item", "items"), "0 items"},
		{degrees(38), "38"}, {degrees(37.42), "37.4"}, {degrees(analyse.Undefined()), "–"},
		{confidence(0.05), "95 % CI"}, {confidence(0.1), "90 % CI"},
		{confidence(0.0125), "98.75 % CI"}, {confidence(0), "interval"},
		{fraction(eval.Score{Num: 0.94, Den: 1}), "0.94"}, {fraction(eval.Score{Num: 2, Den: 3}), "2/3"},
		{fraction(eval.Score{Unscored: "gated"}), "–"},
		{exact(0.0408), "0.0408"}, {exact(-1e-9), "−1e−09"},
	} {
		if got := plainSpaces(tc.got); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// The shown p-value is on the same side of alpha as the real one.
func TestPValueKeepsItsSide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alpha := rapid.SampledFrom([]float64{0.1, 0.05, 0.025, 0.01, 0.005}).Draw(t, "alpha")
		p := alpha + rapid.Float64Range(-1e-3, 1e-3).Draw(t, "off")
		if math.Abs(p-alpha) < 1e-6 {
			t.Skip("closer than six decimals can tell")
		}
		shown, err := strconv.ParseFloat(pValue(analyse.Number(p), alpha), 64)
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
		got := fixed(x, 2, 1)
		digits := strconv.FormatFloat(x, 'f', 3, 64)
		want, _ := strconv.ParseFloat(digits, 64)
		back, err := strconv.ParseFloat(got, 64)
		if err != nil || math.Abs(back-want*100) > 1e-9 {
			t.Fatalf("%v is %q percent, and %q as a fraction", x, got, digits)
		}
	})
}

func TestTails(t *testing.T) {
	numbers := []string{"$0.8084", "$12.50", "–", "$0", "< 0.001", ""}
	got := tails(numbers)
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

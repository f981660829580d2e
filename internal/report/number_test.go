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

func TestScaleOf(t *testing.T) {
	undefined := analyse.Undefined()
	for _, tc := range []struct {
		name     string
		min, max analyse.Number
		pooling  eval.Pooling
		x        analyse.Number
		want     string
	}{
		{"a share is a percentage", 0, 1, eval.RatioOfSums, 0.8312, "83.1 %"},
		{"a score is raw", 0, 1, eval.MeanOfItems, 0.8312, "0.831"},
		{"kappa", -1, 1, eval.RatioOfSums, -0.25, "−0.250"},
		{"grades", 0, 10, eval.MeanOfItems, 7.456, "7.46"},
		{"points of a hundred", 0, 100, eval.MeanOfItems, 83.12, "83.1"},
		{"points of a thousand", 0, 1000, eval.MeanOfItems, 831.2, "831"},
		{"no upper bound", 0, undefined, eval.MeanOfItems, 2210.256, "2,210.26"},
		{"undefined", 0, 1, eval.RatioOfSums, undefined, "–"},
		{"infinite is undefined", 0, 1, eval.RatioOfSums, analyse.Number(math.Inf(1)), "–"},
	} {
		s := scaleOf(analyse.Metric{Min: tc.min, Max: tc.max, Pooling: tc.pooling})
		if got := plainSpaces(s.value(tc.x, false)); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// plainSpaces makes expected texts readable in a test.
func plainSpaces(s string) string { return strings.ReplaceAll(s, nbsp, " ") }

func TestDifferencesAreSigned(t *testing.T) {
	raw, share := scale{decimals: 3}, scale{percent: true, decimals: 1}
	for _, tc := range []struct {
		s    scale
		x    analyse.Number
		want string
	}{
		{raw, 0.31, "+0.310"},
		{raw, -0.31, "−0.310"},
		{raw, 0, "0.000"},
		{raw, 0.0004, "+0.0004"}, // not +0.000
		{raw, -0.0000123, "−0.00001"},
		{raw, -3e-9, "−3e−09"},
		{raw, 1e-17, "0.000"}, // what floating point leaves of nothing
		{raw, -1e-17, "0.000"},
		{share, 0.0312, "+3.1 pp"},
		{share, -0.0004, "−0.04 pp"},
	} {
		if got := plainSpaces(tc.s.value(tc.x, true)); got != tc.want {
			t.Errorf("difference %v: %q, want %q", tc.x, got, tc.want)
		}
	}
}

func TestIntervals(t *testing.T) {
	raw, share := scale{decimals: 3}, scale{percent: true, decimals: 1}
	undefined := analyse.Undefined()
	for _, tc := range []struct {
		s         scale
		low, high analyse.Number
		signed    bool
		want      string
	}{
		{raw, 0.27, 0.35, true, "+0.270 to +0.350"},
		{raw, -0.01, 0.034, true, "−0.010 to +0.034"},
		{raw, 0.801, 0.86, false, "0.801 to 0.860"},
		{share, 0.01, 0.054, false, "1.0 to 5.4 %"},
		{share, -0.01, 0.054, true, "−1.0 to +5.4 pp"},
		{raw, undefined, undefined, false, "–"},
		{raw, undefined, 0.5, false, "– to 0.500"},
	} {
		if got := plainSpaces(tc.s.interval(tc.low, tc.high, tc.signed)); got != tc.want {
			t.Errorf("interval %v to %v: %q, want %q", tc.low, tc.high, got, tc.want)
		}
	}
}

func TestPValues(t *testing.T) {
	for _, tc := range []struct {
		p, alpha float64
		want     string
	}{
		{0.034, 0.05, "0.034"},
		{0.0009999, 0.05, "< 0.001"},
		{0, 0.05, "< 0.001"},
		{0.001, 0.05, "0.001"},
		{0.9996, 0.05, "> 0.999"},
		{1, 0.05, "1.000"},
		{0.04996, 0.05, "0.04996"}, // 0.050 would say that it is not below 0.05
		{0.0496, 0.05, "0.0496"},   // so would this
		{0.05, 0.05, "0.050"},
		{0.05004, 0.05, "0.050"}, // 0.050 is not below 0.05, and neither is p
		{0.0166, 1.0 / 60, "0.0166"},
		{math.NaN(), 0.05, "–"},
	} {
		if got := plainSpaces(pValue(analyse.Number(tc.p), tc.alpha)); got != tc.want {
			t.Errorf("p-value %v at %v: %q, want %q", tc.p, tc.alpha, got, tc.want)
		}
	}
	if got := plainSpaces(pSentence(0.034, 0.05) + "; " + pSentence(0.0001, 0.05)); got != "p = 0.034; p < 0.001" {
		t.Errorf("in a sentence: %q", got)
	}
}

// The shown p-value never stands on the other side of alpha than the real one.
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

func TestUSD(t *testing.T) {
	for _, tc := range []struct {
		x    analyse.Number
		want string
	}{
		{0, "$0"}, {0.80837, "$0.8084"}, {1, "$1.00"}, {1234.5, "$1,234.50"},
		{0.00001234, "$0.00001"}, {-2.5, "−$2.50"}, {analyse.Undefined(), "–"},
	} {
		if got := usd(tc.x); got != tc.want {
			t.Errorf("%v dollars: %q, want %q", float64(tc.x), got, tc.want)
		}
	}
}

func TestSmallWriters(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{count(0), "0"}, {count(999), "999"}, {count(2340), "2,340"}, {count(-1234567), "−1,234,567"},
		{plural(1, "item", "items"), "1 item"}, {plural(0, "item", "items"), "0 items"},
		{degrees(38), "38"}, {degrees(37.42), "37.4"}, {degrees(analyse.Undefined()), "–"},
		{plainSpaces(confidence(0.05)), "95 % CI"}, {plainSpaces(confidence(0.1)), "90 % CI"},
		{plainSpaces(confidence(0.0125)), "98.75 % CI"}, {confidence(0), "interval"},
		{fraction(eval.Score{Num: 0.94, Den: 1}), "0.94"}, {fraction(eval.Score{Num: 2, Den: 3}), "2/3"},
		{fraction(eval.Score{Unscored: "gated"}), "–"},
		{exact(0.0408), "0.0408"}, {exact(-1e-9), "−1e−09"},
	} {
		if tc.got != tc.want {
			t.Errorf("%q, want %q", tc.got, tc.want)
		}
	}
}

// Moving the point in the digits rounds once: the percentage of x has the
// digits of x itself.
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

package report

import (
	"math"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
)

// plainSpaces makes expected texts readable in a test.
func plainSpaces(s string) string { return strings.ReplaceAll(s, say.NBSP, " ") }

func TestNumbersAsText(t *testing.T) {
	undefined := analyse.Undefined()
	level := func(least, most analyse.Number, pooling eval.Pooling, x analyse.Number) string {
		return analyse.Metric{Min: least, Max: most, Pooling: pooling}.Scale().Value(x, false)
	}
	raw, share := say.Scale{Decimals: 3}, say.Scale{Percent: true, Decimals: 1}
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
		{raw.Value(0.31, true), "+0.310"},
		{raw.Value(-0.31, true), "−0.310"},
		{raw.Value(0, true), "0.000"},
		{raw.Value(0.0004, true), "+0.0004"}, // not +0.000
		{raw.Value(-0.0000123, true), "−0.00001"},
		{raw.Value(-3e-9, true), "−3e−09"},
		{raw.Value(1e-17, true), "0.000"}, // rounding error of 0
		{raw.Value(-1e-17, true), "0.000"},
		{share.Value(0.0312, true), "+3.1 pp"},
		{share.Value(-0.0004, true), "−0.04 pp"},

		{raw.Interval(0.27, 0.35, true), "+0.270 to +0.350"},
		{raw.Interval(-0.01, 0.034, true), "−0.010 to +0.034"},
		{raw.Interval(0.801, 0.86, false), "0.801 to 0.860"},
		{share.Interval(0.01, 0.054, false), "1.0 to 5.4 %"},
		{share.Interval(-0.01, 0.054, true), "−1.0 to +5.4 pp"},
		{raw.Interval(undefined, undefined, false), "–"},
		{raw.Interval(undefined, 0.5, false), "– to 0.500"},

		{say.P(0.034, 0.05), "0.034"},
		{say.P(0.0009999, 0.05), "< 0.001"},
		{say.P(0, 0.05), "< 0.001"},
		{say.P(0.001, 0.05), "0.001"},
		{say.P(0.9996, 0.05), "> 0.999"},
		{say.P(1, 0.05), "1.000"},
		{say.P(0.04996, 0.05), "0.04996"}, // 0.050 would suggest that it is not below 0.05
		{say.P(0.0496, 0.05), "0.0496"},   // same here
		{say.P(0.05, 0.05), "0.050"},
		{say.P(0.05004, 0.05), "0.050"}, // 0.050 is not below 0.05, and neither is p
		{say.P(0.0166, 1.0/60), "0.0166"},
		{say.P(undefined, 0.05), "–"},
		{say.PEquals(0.034, 0.05), "p = 0.034"},
		{say.PEquals(0.0001, 0.05), "p < 0.001"},

		{say.USD(0), "$0"}, {say.USD(0.80837), "$0.8084"}, {say.USD(1), "$1.00"}, {say.USD(1234.5), "$1,234.50"},
		{say.USD(0.00001234), "$0.00001"}, {say.USD(-2.5), "−$2.50"}, {say.USD(undefined), "–"},

		{say.Count(0), "0"}, {say.Count(999), "999"}, {say.Count(2340), "2,340"}, {say.Count(-1234567), "−1,234,567"},
		{say.Plural(1, "item", "items"), "1 item"}, {say.Plural(0, "item", "items"), "0 items"},
		{say.Degrees(38), "38"}, {say.Degrees(37.42), "37.4"}, {say.Degrees(analyse.Undefined()), "–"},
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

package report

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
)

const (
	minus = "\u2212" // the true minus sign
	dash  = "\u2013" // undefined values
	nbsp  = "\u00a0" // keeps a number and its unit on one line
)

// noise bounds the rounding error of sums of scores.
const noise = 1e-12

// A scale is the number format of one metric.
type scale struct {
	percent  bool
	decimals int
}

// scaleOf chooses a scale by range and pooling: a proportion (hits over
// opportunities, between 0 and 1) is a percentage, a score between 0 and 1 has
// three decimals, wider ranges have fewer.
func scaleOf(m analyse.Metric) scale {
	span := float64(m.Max - m.Min)
	switch {
	case m.Min == 0 && m.Max == 1 && m.Pooling == eval.RatioOfSums:
		return scale{percent: true, decimals: 1}
	case math.IsNaN(span) || math.IsInf(span, 0):
		return scale{decimals: 2}
	case span <= 2:
		return scale{decimals: 3}
	case span <= 20:
		return scale{decimals: 2}
	case span <= 200:
		return scale{decimals: 1}
	}
	return scale{}
}

func (s scale) shift() int {
	if s.percent {
		return 2
	}
	return 0
}

// value formats a value of the metric, "0.831", "83.1 %", or a difference, which
// is signed: "+0.310", "−3.1 pp".
func (s scale) value(n analyse.Number, diff bool) string {
	return withUnit(s.number(n, diff), s.unit(diff))
}

// interval formats both ends, with the unit once: "0.801 to 0.860".
func (s scale) interval(low, high analyse.Number, signed bool) string {
	if !low.Defined() && !high.Defined() {
		return dash
	}
	text := s.number(low, signed) + " to " + s.number(high, signed)
	return withUnit(text, s.unit(signed))
}

func (s scale) unit(diff bool) string {
	switch {
	case !s.percent:
		return ""
	case diff:
		return nbsp + "pp"
	}
	return nbsp + "%"
}

func withUnit(number, unit string) string {
	if number == dash {
		return dash
	}
	return number + unit
}

func (s scale) number(n analyse.Number, signed bool) string {
	if !n.Defined() {
		return dash
	}
	x := float64(n)
	if math.Abs(x) < noise {
		x = 0
	}
	return sign(x, signed) + magnitude(x, s.shift(), s.decimals)
}

func sign(x float64, signed bool) string {
	switch {
	case x < 0:
		return minus
	case signed && x > 0:
		return "+"
	}
	return ""
}

// magnitude formats |x|·10^shift. A nonzero number is never shown as 0: it gets as
// many decimals as its first digit needs.
func magnitude(x float64, shift, decimals int) string {
	const most = 6
	for ; decimals <= most; decimals++ {
		s := fixed(x, shift, decimals)
		if x == 0 || strings.Trim(s, "0.") != "" {
			return s
		}
	}
	s := strconv.FormatFloat(math.Abs(x)*math.Pow10(shift), 'e', 0, 64)
	return strings.Replace(s, "e-", "e"+minus, 1)
}

// fixed formats |x|·10^shift with the given decimals. It moves the point in the
// digits, so that the value is rounded only once.
func fixed(x float64, shift, decimals int) string {
	s := strconv.FormatFloat(math.Abs(x), 'f', decimals+shift, 64)
	whole, frac, _ := strings.Cut(s, ".")
	whole = cmp.Or(strings.TrimLeft(whole+frac[:shift], "0"), "0")
	if frac = frac[shift:]; frac != "" {
		frac = "." + frac
	}
	return grouped(whole) + frac
}

// grouped adds thousands separators.
func grouped(digits string) string {
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// count formats a whole number: "12,340".
func count(n int) string {
	s := strconv.Itoa(n)
	if digits, negative := strings.CutPrefix(s, "-"); negative {
		return minus + grouped(digits)
	}
	return grouped(s)
}

// plural formats a count with its noun: "1 item", "40 items".
func plural(n int, one, many string) string {
	if n == 1 {
		return count(n) + " " + one
	}
	return count(n) + " " + many
}

// usd formats US dollars: with cents from one dollar on, with hundredths of a cent
// below.
func usd(n analyse.Number) string {
	if !n.Defined() {
		return dash
	}
	x := float64(n)
	switch {
	case x == 0:
		return "$0"
	case math.Abs(x) >= 1:
		return sign(x, false) + "$" + fixed(x, 0, 2)
	}
	return sign(x, false) + "$" + magnitude(x, 0, 4)
}

// pValue formats a p-value for a table: "0.034", "< 0.001". It has three decimals,
// or more if three would round it across alpha.
func pValue(p analyse.Number, alpha float64) string {
	x := float64(p)
	switch {
	case !p.Defined():
		return dash
	case x < 0.001:
		return "<" + nbsp + "0.001"
	case x > 0.999 && x < 1:
		return ">" + nbsp + "0.999"
	}
	s := ""
	for decimals := 3; decimals <= 6; decimals++ {
		s = strconv.FormatFloat(x, 'f', decimals, 64)
		shown, _ := strconv.ParseFloat(s, 64)
		if (shown < alpha) == (x < alpha) {
			break
		}
	}
	return s
}

// pSentence formats a p-value for a sentence: "p = 0.034", "p < 0.001".
func pSentence(p analyse.Number, alpha float64) string {
	s := pValue(p, alpha)
	if strings.ContainsAny(s, "<>") {
		return "p" + nbsp + s
	}
	return "p" + nbsp + "=" + nbsp + s
}

// plainNumber formats a statistic with the given decimals: "−2.03".
func plainNumber(n analyse.Number, decimals int) string {
	return scale{decimals: decimals}.number(n, false)
}

// degrees formats degrees of freedom: without decimals if whole, else with one.
func degrees(n analyse.Number) string {
	if n.Defined() && float64(n) == math.Trunc(float64(n)) {
		return plainNumber(n, 0)
	}
	return plainNumber(n, 1)
}

// confidence returns the name of a study's intervals: "95 % CI".
func confidence(alpha float64) string {
	if !(alpha > 0 && alpha < 1) {
		return "interval"
	}
	return gate.Percent(alpha) + nbsp + "% CI"
}

// short formats a number that is not a result, such as a fraction's terms, with at
// most three decimals.
func short(x float64) string {
	s := strconv.FormatFloat(math.Abs(x), 'f', 3, 64)
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	return sign(x, false) + s
}

// fraction formats a score: its value if the denominator is 1, else "3/4".
func fraction(s eval.Score) string {
	switch {
	case s.Unscored != "":
		return dash
	case s.Den == 1:
		return short(s.Num)
	}
	return short(s.Num) + "/" + short(s.Den)
}

// tails returns how many columns to add after each right-aligned number so that
// decimal points align. Text without digits aligns with the end of units. An empty
// text needs none.
func tails(numbers []string) []int {
	lacking := make([]int, len(numbers))
	longest := 0
	for i, s := range numbers {
		lacking[i] = utf8.RuneCountInString(s[wholeEnd(s):])
		longest = max(longest, lacking[i])
	}
	for i, s := range numbers {
		if s == "" {
			lacking[i] = longest
		}
		lacking[i] = longest - lacking[i]
	}
	return lacking
}

// wholeEnd returns the end of the integer part of the first number in s.
func wholeEnd(s string) int {
	from := strings.IndexAny(s, "0123456789")
	if from < 0 {
		return len(s)
	}
	n := strings.IndexFunc(s[from:], func(r rune) bool { return r != ',' && (r < '0' || r > '9') })
	if n < 0 {
		return len(s)
	}
	return from + n
}

// Package say writes numbers and text for people: one format for a share, an interval, a
// p-value or a price, and text of models made safe for one line, several or a page.
package say

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Number is a float64 that may be undefined: NaN, written as null in JSON and
// as "–" in reports, never as 0.
type Number float64

// Undefined is NaN.
func Undefined() Number { return Number(math.NaN()) }

// Defined reports whether the number is defined.
func (n Number) Defined() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// MarshalJSON writes the shortest form that reads back the same, or null.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.Defined() {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'g', -1, 64), nil
}

// UnmarshalJSON reads a number or null.
func (n *Number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = Undefined()
		return nil
	}
	return json.Unmarshal(b, (*float64)(n))
}

const (
	Minus = "\u2212" // the true Minus sign
	Dash  = "\u2013" // undefined values
	NBSP  = "\u00a0" // keeps a number and its unit on one line
)

// Noise bounds the rounding error of sums of scores.
const Noise = 1e-12

// A Scale is the number format of one metric.
type Scale struct {
	Percent  bool
	Decimals int
	// Significant is how many digits of a number below 1 are shown at least, such as those
	// of a price; 0 is one.
	Significant int
}

func (s Scale) Shift() int {
	if s.Percent {
		return 2
	}
	return 0
}

// Value formats a value of the metric, "0.831", "83.1 %", or a difference, which
// is signed: "+0.310", "−3.1 pp".
func (s Scale) Value(n Number, diff bool) string {
	return WithUnit(s.Number(n, diff), s.Unit(diff))
}

// Interval formats both ends, with the unit once: "0.801 to 0.860".
func (s Scale) Interval(low, high Number, signed bool) string {
	if !low.Defined() && !high.Defined() {
		return Dash
	}
	text := s.Number(low, signed) + " to " + s.Number(high, signed)
	return WithUnit(text, s.Unit(signed))
}

func (s Scale) Unit(diff bool) string {
	switch {
	case !s.Percent:
		return ""
	case diff:
		return NBSP + "pp"
	}
	return NBSP + "%"
}

func WithUnit(number, unit string) string {
	if number == Dash {
		return Dash
	}
	return number + unit
}

func (s Scale) Number(n Number, signed bool) string {
	if !n.Defined() {
		return Dash
	}
	x := float64(n)
	if math.Abs(x) < Noise {
		x = 0
	}
	decimals := s.Decimals
	if a := math.Abs(x); s.Significant > 0 && a > 0 && a < 1 {
		const most = 9
		decimals = max(decimals, min(most, s.Significant-1-int(math.Floor(math.Log10(a)))))
	}
	return Sign(x, signed) + magnitude(x, s.Shift(), decimals)
}

func Sign(x float64, signed bool) string {
	switch {
	case x < 0:
		return Minus
	case signed && x > 0:
		return "+"
	}
	return ""
}

// magnitude formats |x|·10^shift. A nonzero number is never shown as 0: it gets as
// many decimals as its first digit needs.
func magnitude(x float64, shift, decimals int) string {
	most := max(6, decimals)
	for ; decimals <= most; decimals++ {
		s := Shifted(x, shift, decimals)
		if x == 0 || strings.Trim(s, "0.") != "" {
			return s
		}
	}
	s := strconv.FormatFloat(math.Abs(x)*math.Pow10(shift), 'e', 0, 64)
	return strings.Replace(s, "e-", "e"+Minus, 1)
}

// Shifted formats |x|·10^shift with the given decimals. It moves the point in the
// digits, so that the value is rounded only once.
func Shifted(x float64, shift, decimals int) string {
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

// Count formats a whole number: "12,340".
func Count(n int) string {
	s := strconv.Itoa(n)
	if digits, negative := strings.CutPrefix(s, "-"); negative {
		return Minus + grouped(digits)
	}
	return grouped(s)
}

// Plural formats a count with its noun: "1 item", "40 items".
func Plural(n int, one, many string) string {
	if n == 1 {
		return Count(n) + " " + one
	}
	return Count(n) + " " + many
}

// USD formats US dollars: with cents from one dollar on, with hundredths of a cent
// below.
func USD(n Number) string {
	if !n.Defined() {
		return Dash
	}
	x := float64(n)
	switch {
	case x == 0:
		return "$0"
	case math.Abs(x) >= 1:
		return Sign(x, false) + "$" + Shifted(x, 0, 2)
	}
	return Sign(x, false) + "$" + magnitude(x, 0, 4)
}

// P formats a p-value for a table: "0.034", "< 0.001". It has three decimals,
// or more if three would round it across alpha.
func P(p Number, alpha float64) string {
	x := float64(p)
	switch {
	case !p.Defined():
		return Dash
	case x < 0.001:
		return "<" + NBSP + "0.001"
	case x > 0.999 && x < 1:
		return ">" + NBSP + "0.999"
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

// PEquals formats a p-value for a sentence: "p = 0.034", "p < 0.001".
func PEquals(p Number, alpha float64) string {
	s := P(p, alpha)
	if strings.ContainsAny(s, "<>") {
		return "p" + NBSP + s
	}
	return "p" + NBSP + "=" + NBSP + s
}

// Fixed formats a statistic with the given decimals: "−2.03".
func Fixed(n Number, decimals int) string {
	return Scale{Decimals: decimals}.Number(n, false)
}

// Degrees formats degrees of freedom: without decimals if whole, else with one.
func Degrees(n Number) string {
	if n.Defined() && float64(n) == math.Trunc(float64(n)) {
		return Fixed(n, 0)
	}
	return Fixed(n, 1)
}

// Short formats a number that is not a result, such as a fraction's terms, with at
// most three decimals.
func Short(x float64) string {
	s := strconv.FormatFloat(math.Abs(x), 'f', 3, 64)
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	return Sign(x, false) + s
}

// Tails returns how many columns to add after each right-aligned number so that
// decimal points align. Text without digits aligns with the end of units. An empty
// text needs none.
func Tails(numbers []string) []int {
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

// Significant formats a number with as many significant digits.
func Significant(x float64, digits int) string {
	return strings.ReplaceAll(strconv.FormatFloat(x, 'g', digits, 64), "-", Minus)
}

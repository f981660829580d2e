package text

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cockroachdb/apd/v3"
)

// Longer numbers are rejected, since parsing them is slow.
const (
	maxDigits   = 200
	maxExponent = 100
	maxNumber   = 400 // bytes
)

// ParseNumber parses a number or an amount of money in the usual notations. The
// result is exact and keeps the written precision: its exponent is -2 for 1.50, and
// 5 for 1.5 million.
//
// Signs: "-", "−" and dashes before the number or a trailing "-" ("5.00-", as
// accounting systems print it), and parentheses round it, make it negative.
// Currency signs, codes and words are dropped wherever they stand, and so is a
// percent sign: 12% is read as 12. The unit words thousand, million, billion
// and trillion count, and so do mn and bn, and k, m and b right after an
// amount that has a currency.
//
// Separators: spaces and apostrophes separate thousands. Of a full stop and a
// comma in one number, the last is the decimal point. One kind several times
// separates thousands. One comma separates thousands if one to three digits,
// not beginning with 0, stand before it and exactly three after ("1,234");
// else it is the decimal point ("12,5"). One full stop is the decimal point
// ("1.234"), except next to a currency whose countries group by full stops
// (EUR, BRL, IDR …), where the rule for the comma holds: "EUR 1.000" is one
// thousand. Groups must have three digits, or two before the last three, as
// in India ("12,34,567"); a number grouped otherwise is an error.
//
// Digits may be those of any script, and "٫" and "٬" are the decimal point and the
// comma of Arabic.
func ParseNumber(s string) (*apd.Decimal, error) {
	n, err := readNumeral(s)
	if err != nil {
		return nil, fmt.Errorf("reading %q as a number: %w", clip(s), err)
	}
	d, err := n.decimal(n.dots)
	if err != nil {
		return nil, fmt.Errorf("reading %q as a number: %w", clip(s), err)
	}
	return d, nil
}

var (
	errNoDigits = errors.New("no digits")
	errBeyond   = errors.New("more than one number")
	errGroups   = errors.New("separators do not form groups of three digits")
	errTooLong  = errors.New("too long for a number")
	errRaised   = errors.New("superscript, subscript or enclosed digits")
)

// readNumeral reads a text that is one number and nothing else.
func readNumeral(s string) (numeral, error) {
	if len(s) > maxNumber {
		return numeral{}, errTooLong
	}
	// The normal form makes 10² into 102.
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.No, r) }) {
		return numeral{}, errRaised
	}
	s, _ = plainDigits(Minimal(s))
	s = strings.Trim(s, " \"'`“”‘’;:")
	s = strings.TrimRight(s, ".,")
	first := strings.IndexAny(s, "0123456789")
	if first < 0 {
		return numeral{}, errNoDigits
	}
	if first > 0 && s[first-1] == ',' || leadingPoint(s, first) {
		first--
	}
	n := scanNumeral(s, 0, first, whole)
	if n.start != 0 || n.end != len(s) {
		return numeral{}, errBeyond
	}
	return n, nil
}

// leadingPoint reports whether the full stop before the digit s[first] is a
// decimal point (".50", "RM.50") and not the end of a word ("Rs.500", "No.5")
// or of another number.
func leadingPoint(s string, first int) bool {
	if first == 0 || s[first-1] != '.' {
		return false
	}
	r, _ := utf8.DecodeLastRuneInString(s[:first-1])
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' || strings.HasSuffix(s[:first-1], "RM")
}

// decimal is the value of the numeral. With dots, a lone full stop before
// three digits separates thousands.
func (n *numeral) decimal(dots bool) (*apd.Decimal, error) {
	digits, err := plainBody(n.body, dots)
	if err != nil {
		return nil, err
	}
	if len(digits) > maxDigits || n.exponent > maxExponent || n.exponent < -maxExponent {
		return nil, errTooLong
	}
	d, _, err := apd.NewFromString(digits)
	if err != nil {
		return nil, errNoDigits
	}
	d.Exponent += int32(n.exponent)
	d.Negative = n.negative && !d.IsZero()
	return d, nil
}

// plainBody rewrites the body of a number with a decimal point and nothing
// else between its digits.
func plainBody(body string, dots bool) (string, error) {
	point := decimalPoint(body, dots)
	if !grouped.MatchString(body[:point]) {
		return "", errGroups
	}
	var b strings.Builder
	b.Grow(len(body))
	for i := range len(body) {
		switch {
		case i == point:
			b.WriteByte('.')
		case isDigit(body[i]):
			b.WriteByte(body[i])
		}
	}
	return b.String(), nil
}

// decimalPoint is where the decimal point of a number stands, len(body) when
// it has none.
func decimalPoint(body string, dots bool) int {
	last := strings.LastIndexAny(body, ".,' ")
	if last < 0 || body[last] == ' ' || body[last] == '\'' {
		return len(body)
	}
	mark, before, after := body[last:last+1], body[:last], body[last+1:]
	switch {
	case strings.Contains(before, mark):
		return len(body)
	case strings.ContainsAny(before, ".,' "):
		return last
	case mark == "." && !dots:
		return last
	case len(after) == 3 && 1 <= len(before) && len(before) <= 3 && before[0] != '0':
		return len(body)
	}
	return last
}

// grouped matches the whole part of a number: digits alone, or in groups of three that the
// same mark separates, or as in India.
var grouped = regexp.MustCompile(`^(?:\d*|[1-9]\d{0,2}(?:(?:\.\d{3})+|(?:,\d{3})+|(?:'\d{3})+|(?: \d{3})+)|[1-9]\d?(?:,\d\d)+,\d{3})$`)

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// exponentForm matches the exponent that is written after a number, such as e6.
var exponentForm = regexp.MustCompile(`^[eE]([-+−]?)(\d{1,4})`)

// power is the exponent written after a number, and how many bytes it takes.
func power(s string) (exponent, size int) {
	m := exponentForm.FindStringSubmatch(s)
	if m == nil {
		return 0, 0
	}
	exponent, _ = strconv.Atoi(m[2])
	if m[1] == "-" || m[1] == "−" {
		exponent = -exponent
	}
	return exponent, len(m[0])
}

package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// digitValue is the value of a decimal digit of any script, -1 for any other character.
// The digits of a script stand together in Unicode, from 0 to 9.
func digitValue(r rune) int {
	switch {
	case '0' <= r && r <= '9':
		return int(r - '0')
	case r < utf8.RuneSelf || !unicode.Is(unicode.Nd, r):
		return -1
	}
	before := 0
	for unicode.Is(unicode.Nd, r-1-rune(before)) {
		before++
	}
	return before % 10
}

// plainDigit is a digit of any script, or a separator of Arabic numbers, in ASCII.
func plainDigit(r rune) rune {
	switch v := digitValue(r); {
	case v >= 0:
		return '0' + rune(v)
	case r == '٫':
		return '.'
	case r == '٬':
		return ','
	}
	return r
}

// plainDigits rewrites a text by [plainDigit]. It also returns the way from an offset in
// the new text to the old one.
func plainDigits(s string) (plain string, back func(int) int) {
	if plain = s; !isASCII(s) {
		plain = strings.Map(plainDigit, s)
	}
	if plain == s {
		return s, func(i int) int { return i }
	}
	from := make([]int, 0, len(plain)+1)
	for i, r := range s {
		for range utf8.RuneLen(plainDigit(r)) {
			from = append(from, i)
		}
	}
	from = append(from, len(s))
	return plain, func(i int) int { return from[i] }
}

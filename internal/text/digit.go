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
	if v := digitValue(r); v >= 0 {
		return '0' + rune(v)
	}
	switch r {
	case '٫':
		return '.'
	case '٬':
		return ','
	}
	return r
}

// plainDigits rewrites a text by [plainDigit]. It also returns the way from an offset in
// the new text to the old one.
func plainDigits(s string) (plain string, back func(int) int) {
	if strings.IndexFunc(s, func(r rune) bool { return plainDigit(r) != r }) < 0 {
		return s, func(i int) int { return i }
	}
	var b strings.Builder
	var from []int
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		piece := s[i : i+size]
		if p := plainDigit(r); p != r {
			piece = string(p)
		}
		b.WriteString(piece)
		for k := range len(piece) {
			from = append(from, i+k)
		}
		i += size
	}
	from = append(from, len(s))
	return b.String(), func(i int) int { return from[i] }
}

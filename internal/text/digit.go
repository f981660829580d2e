package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// digitValue is the value of a decimal digit of any script, -1 for any other character.
// The digits of a script stand together in Unicode, from 0 to 9.
func digitValue(r rune) int {
	if r < utf8.RuneSelf {
		if '0' <= r && r <= '9' {
			return int(r - '0')
		}
		return -1
	}
	if !unicode.Is(unicode.Nd, r) {
		return -1
	}
	before := 0
	for unicode.Is(unicode.Nd, r-1-rune(before)) {
		before++
	}
	return before % 10
}

// plainDigits rewrites the digits of all scripts, and the separators of Arabic numbers,
// in ASCII. It also returns the way from an offset in the new text to the old one.
func plainDigits(s string) (plain string, back func(int) int) {
	foreign := func(r rune) bool {
		return r >= utf8.RuneSelf && (r == '٫' || r == '٬' || digitValue(r) >= 0)
	}
	if strings.IndexFunc(s, foreign) < 0 {
		return s, func(i int) int { return i }
	}
	b := make([]byte, 0, len(s))
	from := make([]int, 0, len(s)+1)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '٫':
			b, from = append(b, '.'), append(from, i)
		case r == '٬':
			b, from = append(b, ','), append(from, i)
		case foreign(r):
			b, from = append(b, '0'+byte(digitValue(r))), append(from, i)
		default:
			for k := range size {
				b, from = append(b, s[i+k]), append(from, i+k)
			}
		}
		i += size
	}
	from = append(from, len(s))
	return string(b), func(i int) int { return from[i] }
}

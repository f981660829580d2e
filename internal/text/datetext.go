package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A dateToken is a run of digits, a run of letters or any other character.
type dateToken struct {
	start, end int
	kind       tokenKind
	word       string // as written
	number     int    // of up to eight digits
	month      int    // if the word is a month's name
	mark       rune
}

type tokenKind uint8

const (
	noToken tokenKind = iota
	numberToken
	wordToken
	markToken
)

// A dateText is a text cut into tokens, white space left out.
type dateText struct{ tokens []dateToken }

func dates(s string) *dateText {
	d := &dateText{tokens: make([]dateToken, 0, 8+len(s)/6)}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		t := dateToken{start: i, end: i + size}
		switch {
		case isSpace(r):
			i += size
			continue
		case '0' <= r && r <= '9':
			t.kind = numberToken
			t.end = i + runLength(s[i:], func(r rune) bool { return '0' <= r && r <= '9' })
			if t.end-t.start <= 8 {
				for _, c := range []byte(s[t.start:t.end]) {
					t.number = 10*t.number + int(c-'0')
				}
			}
		case unicode.IsLetter(r):
			t.kind = wordToken
			t.end = i + runLength(s[i:], unicode.IsLetter)
			t.word = s[t.start:t.end]
			t.month = months[strings.ToLower(t.word)]
		default:
			t.kind, t.mark = markToken, r
		}
		d.tokens = append(d.tokens, t)
		i = t.end
	}
	return d
}

// runLength is the length of the run of characters at the beginning of s.
func runLength(s string, in func(rune) bool) int {
	for i, r := range s {
		if !in(r) {
			return i
		}
	}
	return len(s)
}

// threeParts reports whether a text has the form of a day: three numbers, or two and
// the name of a month, with the usual marks between them.
func (d *dateText) threeParts() bool {
	numbers, months := 0, 0
	for _, t := range d.tokens {
		switch {
		case t.digits() >= 1 && t.digits() <= 4:
			numbers++
		case t.month > 0:
			months++
		case t.is('-'), t.is('/'), t.is('.'), t.is(','):
		default:
			return false
		}
	}
	return numbers == 3 && months == 0 || numbers == 2 && months == 1
}

// at is the token at i, of no kind beyond the ends.
func (d *dateText) at(i int) dateToken {
	if i < 0 || i >= len(d.tokens) {
		return dateToken{}
	}
	return d.tokens[i]
}

func (t dateToken) digits() int {
	if t.kind != numberToken {
		return 0
	}
	return t.end - t.start
}

func (t dateToken) is(mark rune) bool { return t.kind == markToken && t.mark == mark }

// says reports one of some words, in any case.
func (t dateToken) says(words ...string) bool {
	return t.kind == wordToken && slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(t.word, w) })
}

// touching reports that no white space stands between the tokens i and i+1.
func (d *dateText) touching(i int) bool {
	return i >= 0 && i+1 < len(d.tokens) && d.tokens[i].end == d.tokens[i+1].start
}

// lead skips what may stand before a date.
func (d *dateText) lead() int {
	i := 0
	for ; i < len(d.tokens); i++ {
		t := d.tokens[i]
		switch {
		case isLead(t), isWeekday(t):
		case t.kind == markToken && (isOuter(t.mark) || t.mark == '(' && d.at(i+1).kind == wordToken):
		default:
			return i
		}
	}
	return i
}

// tail reports that nothing but a time of day and punctuation stands from i on.
func (d *dateText) tail(i int) bool {
	if i == d.clock(i) {
		for ; d.at(i).is(','); i++ {
		}
		if isWeekday(d.at(i)) {
			i++
		}
	}
	for i = d.clock(i); i < len(d.tokens); i++ {
		if t := d.tokens[i]; t.kind != markToken || !isOuter(t.mark) && t.mark != ')' {
			return false
		}
	}
	return true
}

// clock skips a time of day with its zone.
func (d *dateText) clock(i int) int {
	from := i
	if d.at(i-1).digits() == 8 && d.at(i).is('/') && d.at(i+1).digits() == 6 {
		return i + 2 // 20180428/191204
	}
	for d.at(i).is(',') || d.at(i).says("t", "at") {
		i++
	}
	if n := d.at(i).digits(); n < 1 || n > 2 || !d.at(i+1).is(':') || d.at(i+2).digits() != 2 {
		return from
	}
	i += 3
	for (d.at(i).is(':') || d.at(i).is('.')) && d.at(i+1).digits() > 0 && d.touching(i) {
		i += 2
	}
	i = d.meridiem(i)
	switch t := d.at(i); {
	case t.says("z", "utc", "gmt"):
		i++
	case (t.is('+') || t.is('-')) && d.at(i+1).digits() == 4:
		i += 2
	case (t.is('+') || t.is('-')) && d.at(i+1).digits() == 2 && d.at(i+2).is(':') && d.at(i+3).digits() == 2:
		i += 4
	}
	return i
}

// meridiem skips am, pm, a.m. and p.m.
func (d *dateText) meridiem(i int) int {
	switch {
	case d.at(i).says("am", "pm"):
		return i + 1
	case d.at(i).says("a", "p") && d.at(i+1).is('.') && d.at(i+2).says("m"):
		if d.at(i + 3).is('.') {
			return i + 4
		}
		return i + 3
	}
	return i
}

// isWeekday reports the name of a day of the week or its abbreviation.
func isWeekday(t dateToken) bool {
	return t.says("monday", "mon", "tuesday", "tue", "tues", "wednesday", "wed", "thursday", "thu", "thur", "thurs",
		"friday", "fri", "saturday", "sat", "sunday", "sun")
}

// isLead reports a word that may stand before a date and says nothing of it.
func isLead(t dateToken) bool {
	return t.says("dated", "date", "as", "of", "the", "this", "on", "effective", "executed", "signed", "made",
		"entered", "into", "and", "is", "from", "in", "day")
}

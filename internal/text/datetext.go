package text

import (
	"unicode"
	"unicode/utf8"
)

// A dateToken is a run of digits, a run of letters or any other character.
type dateToken struct {
	start, end int
	kind       tokenKind
	number     int    // of up to eight digits
	month      int    // of a month's name
	word       string // lower case, for words a date is made of
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
type dateText struct {
	text   string
	tokens []dateToken
}

func dates(s string) *dateText {
	d := &dateText{text: s}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		t := dateToken{start: i, end: i + size}
		switch {
		case isSpace(r):
			i += size
			continue
		case '0' <= r && r <= '9':
			t.kind = numberToken
			t.end = i + span1(s[i:], func(r rune) bool { return '0' <= r && r <= '9' })
			if t.end-t.start <= 8 {
				for _, c := range []byte(s[t.start:t.end]) {
					t.number = 10*t.number + int(c-'0')
				}
			}
		case unicode.IsLetter(r):
			t.kind = wordToken
			t.end = i + span1(s[i:], unicode.IsLetter)
			t.word = lowerWord(s[t.start:t.end])
			t.month = monthNamed(t.word)
		default:
			t.kind, t.mark = markToken, r
		}
		d.tokens = append(d.tokens, t)
		i = t.end
	}
	return d
}

// span1 is the length of the run of characters at the beginning of s.
func span1(s string, in func(rune) bool) int {
	for i, r := range s {
		if !in(r) {
			return i
		}
	}
	return len(s)
}

// lowerWord is a short ASCII word in lower case, "" for any other.
func lowerWord(w string) string {
	if len(w) > len("wednesday") {
		return ""
	}
	var b [len("wednesday")]byte
	for i := range len(w) {
		if w[i] >= utf8.RuneSelf {
			return ""
		}
		b[i] = w[i] | 0x20
	}
	return string(b[:len(w)])
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
		case t.kind == wordToken && (isLead(t.word) || isWeekday(t.word)):
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
		if w := d.at(i); isWeekday(w.word) {
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
	for d.at(i).is(',') || d.at(i).word == "t" || d.at(i).word == "at" {
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
	case t.word == "z" || t.word == "utc" || t.word == "gmt":
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
	switch d.at(i).word {
	case "am", "pm":
		return i + 1
	case "a", "p":
		if d.at(i+1).is('.') && d.at(i+2).word == "m" {
			i += 3
			if d.at(i).is('.') {
				i++
			}
		}
	}
	return i
}

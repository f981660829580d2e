package text

import (
	"iter"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Values returns every value of a type in running text, as written and in order:
// numbers, whole ones for integers, amounts of money (numbers with a currency or with
// two decimals) and dates to the day. It returns nil for the other types, which cannot
// be recognised in running text: a "no" there is seldom the value of a field.
//
// A number must stand alone: the digits of an identifier, a date, a time of day or a
// telephone number do not count. Parentheses are not a minus sign here, since
// "thirty (30) days" is more common.
func Values(t Type, s string) []string {
	var found []string
	switch t {
	case Number, Integer, Money:
		for n := range numerals(s, running) {
			_, err := n.value(t, n.dots)
			if err == nil && (t != Money || n.codes != "" || n.hasCents() && !n.percent) {
				found = append(found, s[n.start:n.end])
			}
		}
	case Date:
		for written := range datesIn(s) {
			found = append(found, written)
		}
	}
	return found
}

// Contains reports whether a value of a type that is [Equal] to value stands
// in the quote. Numbers and dates are looked for anywhere in its text, and a
// number in parentheses may be meant either way; strings, identifiers and the
// words for true and false must begin and end at the border of a word.
func Contains(t Type, quote, value string) bool {
	if isBlank(value) {
		return false
	}
	if Equal(t, quote, value) {
		return true
	}
	switch t {
	case Number, Integer, Money:
		return containsNumber(t, quote, value)
	case Date:
		return containsDate(quote, value)
	case Boolean:
		return containsBoolean(quote, value)
	case ID:
		return containsID(quote, value)
	}
	return containsWords(Fold(quote), Fold(value))
}

func containsNumber(t Type, quote, value string) bool {
	v, err := readValue(t, value)
	if err != nil {
		return containsWords(Fold(quote), Fold(value))
	}
	for n := range readings(quote) {
		dots := n.dots || v.dots
		x, errX := n.value(t, dots)
		y, errY := v.value(t, dots)
		if errX == nil && errY == nil && n.sameCurrency(v, t) && x.Cmp(y) == 0 {
			return true
		}
	}
	return false
}

// everyNumber are the values that the numbers of a text can have.
func everyNumber(s string) map[string]bool {
	all := map[string]bool{}
	for n := range readings(s) {
		for _, v := range n.anyValue() {
			all[v] = true
		}
	}
	return all
}

// anyValue are the values of a numeral, with full stops for thousands or for decimals.
func (n *numeral) anyValue() (list []string) {
	for _, dots := range []bool{n.dots, true} {
		if d, err := n.decimal(dots); err == nil {
			d.Reduce(d)
			list = append(list, d.String())
		}
	}
	return list
}

func containsDate(quote, value string) bool {
	v, err := readDate(value)
	switch {
	case err == nil && v.precision == toMonth:
		return containsMonth(quote, v)
	case (err != nil || v.precision == toYear || v.Ambiguous) && containsWords(Fold(quote), Fold(value)):
		return true
	case err != nil || v.precision == toYear:
		return false
	}
	for _, r := range datesIn(quote) {
		found := r.MonthFirst == v.MonthFirst || r.DayFirst == v.DayFirst // the day is one of the two the quote can mean
		switch {
		case v.Ambiguous:
			found = r.sameNumbers(v)
		case !r.Ambiguous:
			found = r.same(v)
		}
		if found {
			return true
		}
	}
	return false
}

// containsMonth looks for a month of a year, such as a résumé's "May 2019".
func containsMonth(quote string, v dateReading) bool {
	d := dates(quote)
	for i := range d.tokens {
		if r, n := d.month(i); n > 0 && r.same(v) && d.standsAlone(i, n) {
			return true
		}
	}
	return false
}

// numerals yields the numbers of a running text.
func numerals(s string, in scope) iter.Seq[numeral] {
	return func(yield func(numeral) bool) {
		s, back := plainDigits(s)
		floor := 0 // where the last number ended
		for i := 0; i < len(s); {
			if !isDigit(s[i]) {
				i++
				continue
			}
			first := i
			if first > floor && leadingPoint(s, first) {
				first--
			}
			n := scanNumeral(s, floor, first, in)
			i, floor = n.end, n.end
			if !standsAlone(s, n) {
				continue
			}
			n.start, n.end = back(n.start), back(n.end)
			if _, err := n.decimal(n.dots); err == nil && !yield(n) {
				return
			}
		}
	}
}

// readings yields the numbers of a text in all ways to read them: plain spaces may join digits, and
// parentheses round a number may be a minus sign.
func readings(s string) iter.Seq[numeral] {
	return func(yield func(numeral) bool) {
		for _, in := range []scope{running, joined} {
			for n := range numerals(s, in) {
				if !yield(n) {
					return
				}
				if n.negative || !strings.HasSuffix(s[:n.start], "(") || !strings.HasPrefix(s[n.end:], ")") {
					continue
				}
				if n.negative = true; !yield(n) {
					return
				}
			}
		}
	}
}

// standsAlone reports whether a numeral is not part of a word, an identifier, a date
// or similar.
func standsAlone(s string, n numeral) bool {
	begin, _ := utf8.DecodeRuneInString(s[n.start:])
	bare := begin == '.' || unicode.IsDigit(begin)
	left, beyond := lastTwo(s[:n.start])
	switch {
	case isWordRune(left) && !abuts(left) && (bare || unicode.IsLetter(begin)):
		return false
	case units[string(left)] != "" && unicode.IsDigit(beyond): // 1.5万2345 is not two numbers
		return false
	case isJoiner(left) && bare && (unicode.IsDigit(beyond) || isMinus(left) && unicode.IsLetter(beyond)):
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(s[:n.end])
	right, beyond := firstTwo(s[n.end:])
	switch {
	case abuts(last) && units[string(last)] != "":
		return !unicode.IsDigit(right)
	case !unicode.IsDigit(last):
		return true // a mark ends it
	case abuts(right):
		return units[firstWord(s[n.end:])] == ""
	}
	return !isWordRune(right) && !(isJoiner(right) && unicode.IsDigit(beyond))
}

// isJoiner reports a mark that joins digits to dates, times, telephone numbers
// and identifiers.
func isJoiner(r rune) bool {
	return isMinus(r) || r == '/' || r == ':' || r == '.' || r == ','
}

// datesIn yields the dates of a running text, as written and as read.
func datesIn(s string) iter.Seq2[string, dateReading] {
	return func(yield func(string, dateReading) bool) {
		d := dates(s)
		for i := 0; i < len(d.tokens); {
			r, n := d.day(i)
			if n == 0 || !d.standsAlone(i, n) {
				i++
				continue
			}
			if !yield(s[d.tokens[i].start:d.tokens[i+n-1].end], r) {
				return
			}
			i += n
		}
	}
}

// standsAlone reports whether the date of n tokens at i is not part of a longer
// number or identifier.
func (d *dateText) standsAlone(i, n int) bool {
	word := func(i int) bool { return d.isWord(i) && !abuts(d.at(i).mark) }
	joins := func(i int) bool { mark := d.at(i).mark; return mark != 0 && isJoiner(mark) || mark == '_' }
	if d.isNumber(i) && d.touching(i-1) {
		if word(i-1) && d.is(i) == '8' || joins(i-1) && d.touching(i-2) && d.isNumber(i-2) {
			return false
		}
	}
	last := i + n - 1
	switch {
	case !d.touching(last), d.clock(last+1) > last+1, d.is(last) == 'D': // 3月15日に
		return true
	case joins(last + 1):
		return !(d.touching(last+1) && d.isNumber(last+2))
	}
	return !word(last + 1)
}

// containsWords reports whether s contains value, which is not empty, at word
// boundaries.
func containsWords(s, value string) bool { return containsWithin(s, value, wordBorder) }

// ContainsWords reports whether s contains words between borders of words. A number is one word, so
// that 5 is not in 4.5.
func ContainsWords(s, words string) bool {
	return strings.TrimSpace(words) != "" && containsWithin(s, words, func(s string, i int) bool {
		left, first := lastTwo(s[:i])
		right, last := firstTwo(s[i:])
		point := left == '.' || left == ','
		if point {
			left = first
		} else if point = right == '.' || right == ','; point {
			right = last
		}
		return wordBorder(s, i) && !(point && unicode.IsDigit(left) && unicode.IsDigit(right))
	})
}

// containsWithin reports whether s contains value between two borders.
func containsWithin(s, value string, border func(s string, i int) bool) bool {
	for at := 0; ; {
		i := strings.Index(s[at:], value)
		if i < 0 || value == "" {
			return false
		}
		at += i
		if border(s, at) && border(s, at+len(value)) {
			return true
		}
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
}

// wordBorder reports whether no word of s runs over the offset i. In a script without spaces
// any offset can be a border.
func wordBorder(s string, i int) bool {
	left, _ := utf8.DecodeLastRuneInString(s[:i])
	right, _ := utf8.DecodeRuneInString(s[i:])
	return phraseBorder(s, i) || isUnspaced(left) || isUnspaced(right)
}

// phraseBorder reports whether the offset i of s is not between two characters of words, or is
// between one of a script without spaces and one of another: "既往歴no".
func phraseBorder(s string, i int) bool {
	left, _ := utf8.DecodeLastRuneInString(s[:i])
	right, _ := utf8.DecodeRuneInString(s[i:])
	return !isWordRune(left) || !isWordRune(right) || isUnspaced(left) != isUnspaced(right)
}

// containsID looks for an identifier, white space not counting on either side.
func containsID(quote, value string) bool {
	var form []string
	for _, r := range foldID(value) {
		if r == '-' {
			form = append(form, `[`+minuses+`]`)
		} else {
			form = append(form, regexp.QuoteMeta(string(r)))
		}
	}
	id, err := regexp.Compile(strings.Join(form, " ?"))
	if form == nil || err != nil { // empty, or of millions of characters
		return false
	}
	q := foldCase(Minimal(quote))
	for from := 0; ; {
		at := id.FindStringIndex(q[from:])
		if at == nil {
			return false
		}
		start, end := from+at[0], from+at[1]
		if idBorder(lastTwo(q[:start])) && idBorder(firstTwo(q[end:])) {
			return true
		}
		_, size := utf8.DecodeRuneInString(q[start:])
		from = start + size
	}
}

// idBorder reports whether an identifier can begin or end beside two
// characters: not at a letter or digit, nor at a dash with one behind it.
func idBorder(near, beyond rune) bool {
	switch {
	case isWordRune(near):
		return abuts(near)
	case isMinus(near):
		return !isWordRune(beyond)
	}
	return true
}

func firstTwo(s string) (near, beyond rune) {
	near, size := utf8.DecodeRuneInString(s)
	beyond, _ = utf8.DecodeRuneInString(s[size:])
	return near, beyond
}

func lastTwo(s string) (near, beyond rune) {
	near, size := utf8.DecodeLastRuneInString(s)
	beyond, _ = utf8.DecodeLastRuneInString(s[:len(s)-size])
	return near, beyond
}

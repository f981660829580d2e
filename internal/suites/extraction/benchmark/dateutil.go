package benchmark

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The dates of ExtractBench: json_subset_match.py, normalize_date_string. A text with one of eight
// patterns is read by dateutil 2.9 (dateutil.parser.parse without fuzzy) and, if it is a date from
// 1900 to 2100, becomes YYYY-MM-DD. Other texts stay as they are.

const datesFrom, datesTo = 1900, 2100

// thisYear decides the century of years of two digits, as the clock does for dateutil: it is the
// year of the benchmark, so that a score does not change with the day.
const thisYear = 2026

var (
	datePattern = regexp.MustCompile(`\d{4}-\d{1,2}-\d{1,2}|\d{1,2}/\d{1,2}/\d{4}|\d{1,2}/\d{1,2}/\d{2}(?:$|[^\p{L}\p{N}_])|\d{1,2}-\d{1,2}-\d{4}|\d{1,2}-\d{1,2}-\d{2}(?:$|[^\p{L}\p{N}_])` +
		`|[A-Za-z]+ \d{1,2},? \d{4}|[A-Za-z]+\.? [A-Za-z]+\.? \d{1,2},? \d{4}|\d{1,2} [A-Za-z]+ \d{4}`)
	longNumber  = regexp.MustCompile(`\d{10,}`)
	aroundComma = regexp.MustCompile(space + `*,` + space + `*`)
)

// isoDate is a date as YYYY-MM-DD, and any other text as it is.
func isoDate(s string) string {
	if n := utf8.RuneCountInString(s); n < 4 || n > 50 || longNumber.MatchString(s) {
		return s
	}
	probe := aroundComma.ReplaceAllString(s, ", ")
	if !datePattern.MatchString(probe) {
		return s
	}
	d := dateReader{tokens: dateTokens(probe), year: -1, month: -1, day: -1, hour: -1}
	if year, month, day, ok := d.read(); ok && year >= datesFrom && year <= datesTo {
		return fmt.Sprintf("%04d-%02d-%02d", year, month, day)
	}
	return s
}

// A dateReader reads tokens as dateutil's parser does. Members are places in numbers, -1 if not
// known.
type dateReader struct {
	tokens           []string
	numbers          []int
	year, month, day int
	century          bool // the year has more than two digits
	hour             int
	minute, second   int
	zoned, zoneNamed bool
}

var (
	jumps    = words(" ", ".", ",", ";", "-", "/", "'", "at", "on", "and", "ad", "m", "t", "of", "st", "nd", "rd", "th")
	weekdays = words("mon", "monday", "tue", "tuesday", "wed", "wednesday", "thu", "thursday", "fri", "friday", "sat", "saturday", "sun", "sunday")
	units    = map[string]int{"h": 0, "hour": 0, "hours": 0, "m": 1, "minute": 1, "minutes": 1, "s": 2, "second": 2, "seconds": 2}
	halves   = map[string]int{"am": 0, "a": 0, "pm": 1, "p": 1}
	zones    = words("UTC", "GMT", "Z", "z")
)

func words(list ...string) map[string]bool {
	m := map[string]bool{}
	for _, w := range list {
		m[w] = true
	}
	return m
}

var months = []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}

func monthOf(s string) int {
	s = strings.ToLower(s)
	return 1 + slices.IndexFunc(months, func(name string) bool { return s == name || s == name[:3] || s == "sept" && name == "september" })
}

// at is a token, empty beyond the last.
func (d *dateReader) at(i int) string {
	if i < 0 || i >= len(d.tokens) {
		return ""
	}
	return d.tokens[i]
}

func (d *dateReader) jump(i int) bool { return jumps[strings.ToLower(d.at(i))] }

// known is what a word means, -1 for nothing.
func known(m map[string]int, token string) int {
	if k, ok := m[strings.ToLower(token)]; ok {
		return k
	}
	return -1
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// add takes a number of a date; of is the member that it must be, if that is known.
func (d *dateReader) add(token string, of *int) bool {
	if !digits(token) {
		return false
	}
	n, err := strconv.Atoi(token)
	if len(token) > 2 {
		d.century = true
		if of != nil && of != &d.year {
			return false
		}
		of = &d.year
	}
	return err == nil && d.put(n, of)
}

func (d *dateReader) put(n int, of *int) bool {
	if of != nil && *of >= 0 {
		return false
	}
	d.numbers = append(d.numbers, n)
	if of != nil {
		*of = len(d.numbers) - 1
	}
	return true
}

// addValue takes a number whose digits do not count; a fraction is cut off.
func (d *dateReader) addValue(v float64) bool {
	if v > 100 {
		d.century = true
		return d.put(int(v), &d.year)
	}
	return d.put(int(v), nil)
}

// read is false for what is no date.
func (d *dateReader) read() (year, month, day int, ok bool) {
	for i := 0; i < len(d.tokens); i++ {
		token := d.tokens[i]
		lower := strings.ToLower(token)
		switch named := monthOf(token); {
		case token[0] >= '0' && token[0] <= '9':
			if i, ok = d.number(i); !ok {
				return 0, 0, 0, false
			}
		case weekdays[lower]:
		case named > 0:
			if !d.put(named, &d.month) {
				return 0, 0, 0, false
			}
			if sep := d.at(i + 1); sep == "-" || sep == "/" {
				if !d.add(d.at(i+2), nil) {
					return 0, 0, 0, false
				}
				if d.at(i+3) == sep {
					if !d.add(d.at(i+4), nil) {
						return 0, 0, 0, false
					}
					i += 2
				}
				i += 2
			} else if sep == " " && d.at(i+3) == " " && strings.EqualFold(d.at(i+2), "of") && digits(d.at(i+4)) {
				return 0, 0, 0, false // what follows would be the year
			}
		case known(halves, token) >= 0:
			if d.hour < 0 || d.hour > 12 {
				return 0, 0, 0, false
			}
			d.half(known(halves, token))
		case d.zone(token):
			d.zoneNamed = true
			d.zoned = token == "z"
			if sign := d.at(i + 1); sign == "+" || sign == "-" {
				d.zoned, d.zoneNamed = false, !zones[strings.ToUpper(token)]
			}
		case d.hour >= 0 && (token == "+" || token == "-"):
			next := d.at(i + 1)
			switch {
			case !digits(next):
				return 0, 0, 0, false
			case len(next) == 4:
			case d.at(i+2) == ":":
				if !digits(d.at(i + 3)) {
					return 0, 0, 0, false
				}
				i += 2
			case len(next) > 2:
				return 0, 0, 0, false
			}
			d.zoned = true
			i++
		case !jumps[lower]:
			return 0, 0, 0, false
		}
	}
	return d.date()
}

func (d *dateReader) zone(token string) bool {
	return d.hour >= 0 && !d.zoneNamed && !d.zoned && len(token) <= 5 && (strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" || zones[token])
}

func (d *dateReader) half(pm int) {
	switch {
	case d.hour < 12 && pm == 1:
		d.hour += 12
	case d.hour == 12 && pm == 0:
		d.hour = 0
	}
}

// number reads a number at a token and what belongs to it, and returns the place of the last token.
func (d *dateReader) number(i int) (last int, ok bool) {
	token := d.tokens[i]
	value, err := strconv.ParseFloat(token, 64)
	if err != nil {
		return i, false
	}
	part := func(from, to int) int { // digits of the token
		if to > len(token) || !digits(token[from:to]) {
			ok = false
			return 0
		}
		n, _ := strconv.Atoi(token[from:to])
		return n
	}
	ok = true
	unit, unitAt := d.unit(i)
	switch n, next := len(token), d.at(i+1); {
	case len(d.numbers) == 3 && (n == 2 || n == 4) && d.hour < 0 && next != ":" && known(units, next) < 0:
		if d.hour = part(0, 2); n == 4 {
			d.minute = part(2, 4)
		}
	case n == 6 || n > 6 && strings.IndexByte(token, '.') == 6:
		if len(d.numbers) == 0 && !strings.Contains(token, ".") {
			return i, d.add(token[:2], nil) && d.add(token[2:4], nil) && d.add(token[4:], nil)
		}
		d.hour, d.minute = part(0, 2), part(2, 4)
		d.second = part(4, 6)
	case n == 8 || n == 12 || n == 14:
		if ok = d.add(token[:4], &d.year) && d.add(token[4:6], nil) && d.add(token[6:8], nil); ok && n > 8 {
			if d.hour, d.minute = part(8, 10), part(10, 12); n > 12 {
				d.second = part(12, 14)
			}
		}
	case unitAt >= 0:
		switch unit {
		case 0:
			d.hour = int(value)
		case 1:
			d.minute, d.second = int(value), 0
		case 2:
			d.second = int(value)
		}
		return max(i, unitAt), true
	case next == ":" && i+2 < len(d.tokens):
		d.hour = int(value)
		minutes, err := strconv.ParseFloat(d.at(i+2), 64)
		if err != nil {
			return i, false
		}
		d.minute, d.second = int(minutes), 0
		if d.at(i+3) == ":" && i+4 < len(d.tokens) {
			seconds, err := strconv.ParseFloat(d.at(i+4), 64)
			if err != nil {
				return i, false
			}
			d.second = int(seconds)
			i += 2
		}
		i += 2
	case next == "-" || next == "/" || next == ".":
		ok = d.add(token, nil)
		if ok && i+2 < len(d.tokens) && !d.jump(i+2) {
			ok = d.addOrMonth(d.at(i + 2))
			if ok && d.at(i+3) == next {
				ok = d.addOrMonth(d.at(i + 4))
				i += 2
			}
			i++
		}
		i++
	case next == "" || d.jump(i+1):
		if half := known(halves, d.at(i+2)); half >= 0 {
			d.hour = int(value)
			d.half(half)
			i++
		} else {
			ok = d.addValue(value)
		}
		i++
	case known(halves, next) >= 0 && value < 24:
		d.hour = int(value)
		d.half(known(halves, next))
		i++
	default:
		ok = d.couldBeDay(value) && d.addValue(value)
	}
	return i, ok
}

func (d *dateReader) addOrMonth(token string) bool {
	if m := monthOf(token); m > 0 {
		return d.put(m, &d.month)
	}
	return d.add(token, nil)
}

// unit is the unit of a number: hours, minutes or seconds; at is the place of its word, or -1.
func (d *dateReader) unit(i int) (unit, at int) {
	switch last := len(d.tokens) - 1; {
	case known(units, d.at(i+1)) >= 0:
		return known(units, d.at(i+1)), i + 1
	case d.at(i+1) == " " && known(units, d.at(i+2)) >= 0:
		return known(units, d.at(i+2)), i + 2
	case known(units, d.at(i-1)) >= 0:
		return known(units, d.at(i-1)) + 1, i - 1
	case 1 < i && i == last && d.at(i-1) == " " && known(units, d.at(i-2)) >= 0:
		return known(units, d.at(i-2)) + 1, i - 2
	}
	return 0, -1
}

func (d *dateReader) couldBeDay(v float64) bool {
	most := 31
	switch {
	case d.day >= 0 || v < 1:
		return false
	case d.month < 0:
	case d.year < 0:
		most = daysIn(2000, d.numbers[d.month])
	default:
		most = daysIn(d.numbers[d.year], d.numbers[d.month])
	}
	return v <= float64(most)
}

func daysIn(year, month int) int {
	switch {
	case month == 2 && (year%4 != 0 || year%100 == 0 && year%400 != 0):
		return 28
	case month == 2:
		return 29
	case month == 4 || month == 6 || month == 9 || month == 11:
		return 30
	}
	return 31
}

// inCentury completes a year of two digits.
func inCentury(year int) int {
	if year < 100 {
		if year += thisYear / 100 * 100; year >= thisYear+50 {
			year -= 100
		} else if year < thisYear-50 {
			year += 100
		}
	}
	return year
}

// date is the date of three numbers. With fewer dateutil takes the rest from the clock: such texts
// are no dates here.
func (d *dateReader) date() (year, month, day int, ok bool) {
	if len(d.numbers) != 3 {
		return 0, 0, 0, false
	}
	n := d.numbers
	var order [3]int // places of year, month, day
	switch places := []int{d.year, d.month, d.day}; {
	case d.year >= 0 && d.month >= 0: // the day is the third
		order = [3]int{d.year, d.month, 3 - d.year - d.month}
	case slices.Equal(places, []int{-1, 0, -1}):
		if order = [3]int{2, 0, 1}; n[1] > 31 {
			order = [3]int{1, 0, 2}
		}
	case d.month == 1:
		if order = [3]int{2, 1, 0}; n[0] > 31 {
			order = [3]int{0, 1, 2}
		}
	case d.month == 2:
		if order = [3]int{0, 2, 1}; n[1] > 31 {
			order = [3]int{1, 2, 0}
		}
	case n[0] > 31 || d.year == 0:
		order = [3]int{0, 1, 2}
	case n[0] > 12:
		order = [3]int{2, 1, 0}
	default:
		order = [3]int{2, 0, 1}
	}
	year, month, day = n[order[0]], n[order[1]], n[order[2]]
	if !d.century {
		year = inCentury(year)
	}
	ok = month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month) && d.hour <= 23 && d.minute <= 59 && d.second <= 59
	return year, month, day, ok
}

// dateTokens splits a text as dateutil does: into words, numbers, and other characters one by one.
// A dot may be part of a word or number until it turns out to separate two; so may a comma after
// two digits.
func dateTokens(s string) []string {
	var tokens []string
	rs := []rune(s)
	for i := 0; i < len(rs); {
		start, word, number := i, unicode.IsLetter(rs[i]), unicode.IsDigit(rs[i])
		i++
		if !word && !number {
			if tokens = append(tokens, string(rs[start])); isSpace(rs[start]) {
				tokens[len(tokens)-1] = " "
			}
			continue
		}
		dotted, letters := false, false
	token:
		for ; i < len(rs); i++ {
			r := rs[i]
			letters = letters || word
			switch inner := dotted && rs[i-1] == '.'; {
			case word && unicode.IsLetter(r), number && unicode.IsDigit(r):
			case r == '.', number && !dotted && r == ',' && i-start >= 2:
				dotted = true
			case inner && word && unicode.IsDigit(r), inner && number && unicode.IsLetter(r):
				word, number = !word, !number
			default:
				break token
			}
		}
		token := string(rs[start:i])
		var rest []string
		if dotted && (letters || strings.Count(token, ".") > 1 || strings.HasSuffix(token, ".") || strings.HasSuffix(token, ",")) {
			first := strings.IndexAny(token, ".,")
			for at := first; at < len(token); {
				end := at + 1
				if c := token[at]; c != '.' && c != ',' {
					if end = strings.IndexAny(token[at:], ".,") + at; end < at {
						end = len(token)
					}
				}
				rest = append(rest, token[at:end])
				at = end
			}
			token = token[:first]
		}
		if dotted && number && !strings.Contains(token, ".") {
			token = strings.ReplaceAll(token, ",", ".")
		}
		tokens = append(append(tokens, token), rest...)
	}
	return tokens
}

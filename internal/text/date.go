package text

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A Day is a day of the calendar.
type Day struct {
	Year  int
	Month time.Month
	Day   int
}

// String is the day in ISO 8601: "2024-03-15".
func (d Day) String() string {
	return fmt.Sprintf("%04d-%02d-%02d", d.Year, int(d.Month), d.Day)
}

// valid reports whether there is such a day in the Gregorian calendar.
func (d Day) valid() bool {
	if d.Year < 1000 || d.Year > 9999 || d.Month < 1 || d.Month > 12 || d.Day < 1 {
		return false
	}
	return d.Day <= time.Date(d.Year, d.Month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// A DateReading holds the possible meanings of a written date. 03/04/2024 is
// ambiguous, April 3 or March 4, and has both readings. Otherwise the two are equal.
type DateReading struct {
	Ambiguous  bool
	MonthFirst Day
	DayFirst   Day
}

// ParseDate parses a text that is one calendar day in any of the usual formats, with
// words of English or another large language of Europe (see words.txt) and those of
// Chinese, Japanese and Korean:
//
//	2024-03-15   2024/03/15   2024.03.15   20240315   2024-Mar-15
//	15/03/2024   15-03-24     15.03.2024   25032024   3-14-18   15. 3. 2024
//	15 March 2024    15-Mar-24    02/JAN/2017    31 January, 1994
//	March 15, 2024   Mar. 15, 2024   June 1st, 2020   August 3 , 2014
//	15th day of March, 2024   (1st) day of January, 1996   1st of March, 2003
//	15. März 2024   1er janvier 2024   3 de marzo de 2024   den 3. maj 2024
//	15 марта 2024 г.   2024. március 15.
//	2024年3月15日   二〇二四年三月十五日   令和6年3月15日   2024년 3월 15일
//
// with a weekday or words such as "dated as of the" before it, a time of day
// after it, and ordinals that text extraction broke ("17t h"). Digits may be those of any
// script.
//
// Two digits of a year mean 1969 to 2068, as POSIX has it. A day that does not
// exist, a date that lacks a part ("July __, 2000", "May 2019") and one with
// anything else around it are errors.
func ParseDate(s string) (DateReading, error) {
	r, err := readDate(s)
	if err == nil && r.precision != toDay {
		err = errIncomplete
	}
	if err != nil {
		return DateReading{}, fmt.Errorf("reading %q as a date: %w", clip(s), err)
	}
	return r.DateReading, nil
}

var (
	errNoDate     = errors.New("not a calendar day in a known format; write it as 2024-03-15")
	errIncomplete = errors.New("missing day; write it as 2024-03-15")
	errDateLength = errors.New("too long for a date")
)

// A precision says how much of a date is given.
type precision int

const (
	toDay precision = iota
	toMonth
	toYear
)

// dateReading is a date that may lack its day, or day and month.
type dateReading struct {
	DateReading
	precision precision
	dotted    bool // two numbers and a year with full stops: the day is first by a rule
}

// same reports that two dates without doubt are the same one.
func (r dateReading) same(x dateReading) bool {
	return r.DateReading == x.DateReading && r.precision == x.precision
}

// sameNumbers reports that a date and an ambiguous one have the same numbers in the same order.
func (r dateReading) sameNumbers(x dateReading) bool {
	return (r.Ambiguous || r.dotted) && (x.Ambiguous || x.dotted) && r.DayFirst == x.DayFirst
}

// longest text that is looked at as one date
const maxDate = 200

// readDate reads a text that is one date and nothing else.
func readDate(s string) (dateReading, error) {
	if len(s) > maxDate {
		return dateReading{}, errDateLength
	}
	s = unbold(Minimal(s))
	if inside, ok := strings.CutPrefix(s, "("); ok && inside != "" && strings.IndexByte(inside, ')') == len(inside)-1 {
		s = inside[:len(inside)-1]
	}
	d := dates(s)
	from := d.lead()
	if r, n := d.day(from); n > 0 && d.tail(from+n) {
		return r, nil
	}
	if r, n := d.month(from); n > 0 && d.tail(from+n) {
		return r, nil
	}
	return dateReading{}, errNoDate
}

// pivot is the century of a year of two digits, as POSIX strptime has it.
func pivot(yy int) int {
	if yy >= 69 {
		return 1900 + yy
	}
	return 2000 + yy
}

// exactly is the reading of a day written without doubt.
func exactly(y, m, d int) (DateReading, bool) {
	day := Day{y, time.Month(m), d}
	return DateReading{MonthFirst: day, DayFirst: day}, day.valid()
}

// eitherOrder is the reading of a day written as two numbers and a year.
func eitherOrder(a, b, y int) (DateReading, bool) {
	monthFirst, dayFirst := Day{y, time.Month(a), b}, Day{y, time.Month(b), a}
	switch m, d := monthFirst.valid(), dayFirst.valid(); {
	case !m && !d:
		return DateReading{}, false
	case !m:
		monthFirst = dayFirst
	case !d:
		dayFirst = monthFirst
	}
	return DateReading{Ambiguous: monthFirst != dayFirst, MonthFirst: monthFirst, DayFirst: dayFirst}, true
}

//go:embed words.txt
var wordsFile string

// wordLines are the lines of a kind in a file of words, without it.
func wordLines(file, kind string) (lines [][]string) {
	for line := range strings.Lines(file) {
		if f := strings.Fields(line); len(f) > 2 && f[0] == kind {
			lines = append(lines, f[1:])
		}
	}
	return lines
}

// meanings maps the words of a kind to what their lines begin with.
func meanings(kind string) map[string]string {
	all := map[string]string{}
	for _, line := range wordLines(wordsFile, kind) {
		for _, word := range line[1:] {
			all[word] = line[0]
		}
	}
	return all
}

// A dateWord is what a word means in a date: its shape, see [dateText], and its month if
// it is the name of one.
type dateWord struct {
	shape byte
	month int
}

// dateWords are the words of dates by their key.
var dateWords = readDateWords(wordsFile)

// readDateWords reads words in many languages. A word of two meanings, such as a name of
// two different months, has none: which is meant would be a guess.
func readDateWords(file string) map[string]dateWord {
	all := map[string]dateWord{}
	add := func(form string, is dateWord) {
		key := wordKey(form)
		switch was, ok := all[key]; {
		case ok && (was.month != is.month || is.month == 0 && was != is):
			all[key] = dateWord{shape: 'w'}
		case !ok || is.shape == 'm':
			all[key] = is
		}
	}
	for _, line := range wordLines(file, "shape") {
		for _, word := range line[1:] {
			add(word, dateWord{shape: line[0][0]})
		}
	}
	for shape, kind := range map[byte]string{'m': "names", 'f': "short"} {
		for _, line := range wordLines(file, kind) {
			for i, forms := range line[1:] {
				is := dateWord{shape: shape, month: i + 1}
				for form := range strings.SplitSeq(strings.Trim(forms, "-"), "/") {
					add(form, is)
				}
			}
		}
	}
	delete(all, "")
	return all
}

var oneForm = strings.NewReplacer("ς", "σ", "ı", "i", "i\u0307", "i")

// wordKey is the form in which words of dates are compared: without case and accents,
// which capitals often lack (FEVRIER, ΜΑΡΤΙΟΥ), and with one form of the Greek s and the
// Turkish i.
func wordKey(word string) string {
	word = strings.ToLower(word)
	if isASCII(word) {
		return word
	}
	word = oneForm.Replace(word)
	if d := norm.NFD.String(word); d != word {
		word = strings.Join(strings.FieldsFunc(d, func(r rune) bool { return unicode.Is(unicode.Mn, r) }), "")
	}
	return word
}

// meaning is what a word means in a date.
func meaning(word string) dateWord {
	return cmp.Or(dateWords[wordKey(word)], dateWord{shape: 'w'})
}

// eras are those of Japan, and the year before their first.
var eras = map[string]int{"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911}

const hanDigits = "〇一二三四五六七八九"

// hanNumber matches a year in four Chinese digits or a number below 70, before the word
// for a year, month or day.
var hanNumber = regexp.MustCompile(strings.ReplaceAll(`^([零〇N]{4}|[二三四五六]?十[N]?|[N元])[年月日号號]`, "N", "一二三四五六七八九"))

// splits reports a character at which a token begins, as no space stands before it in
// Chinese and Japanese: one that may begin an era or a number.
func splits(r rune) bool {
	return r >= 0x3000 && strings.ContainsRune("令平昭大元零十"+hanDigits, r)
}

// hanToken reads the name of an era or a number in Chinese digits, of which 元 is the first
// year or month. The size is 0 if s begins with neither.
func hanToken(s string) (is byte, number, size int) {
	for era, year := range eras {
		if strings.HasPrefix(s, era) {
			return 'E', year, len(era)
		}
	}
	m := hanNumber.FindStringSubmatch(s)
	if m == nil {
		return 0, 0, 0
	}
	tens := strings.ContainsAny(m[1], "十")
	for _, r := range strings.ReplaceAll(m[1], "元", "一") {
		v := max(0, strings.IndexRune(hanDigits, r)/len("一")) // 零 is 0 as well
		switch {
		case r == '十':
			number = 10 * max(number, 1)
		case tens:
			number += v
		default:
			number = 10*number + v
		}
	}
	return 'C', number, len(m[1])
}

// A dateToken is a run of digits, a run of letters or any other character.
type dateToken struct {
	start, end int
	number     int  // of up to eight digits
	month      int  // if the word is a month's name
	mark       rune // its first character, 0 for a number
}

// A dateText is a text cut into tokens, white space left out. Its shape has a character for
// each of them, so that the written forms of a date are regular expressions:
//
//	1–8       a number of so many digits, 9 for more
//	m         the name of a month, W that of a weekday; f an abbreviation that is not
//	          English, where "5 out 10" is no date
//	a         st, nd, rd or th; also in two pieces, s t, n d, r d and t h
//	o         an ordinal of another language, as in 1er and 1º
//	Y O T     "day", "of", "the"; L another word that says nothing before a date
//	N G D     年, 月, 日 after a number; E an era of Japan; C a number in Chinese digits
//	J         a word for "year" after a date, as in Russian
//	e A p M z "at", "am" or "pm", "a" or "p", "m", a time zone
//	w         another word
//	'         an apostrophe of either form
//	~         a dash that is no hyphen-minus
//	"         other punctuation that is insignificant at an end, see isOuter
//	*         any other character beyond ASCII; those of ASCII are themselves
type dateText struct {
	tokens []dateToken
	shape  string
}

func dates(s string) *dateText {
	d := &dateText{tokens: make([]dateToken, 0, 8+len(s)/6)}
	shape := make([]byte, 0, 8+len(s)/6)
	last := byte(0)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		t := dateToken{start: i, end: i + size}
		is := byte('w')
		switch {
		case isSpace(r):
			i += size
			continue
		case digitValue(r) >= 0:
			t.end = i + runLength(s[i:], func(r rune) bool { return digitValue(r) >= 0 })
			is = '0'
			for _, c := range s[i:t.end] {
				if is++; is == '9' {
					break
				}
				t.number = 10*t.number + digitValue(c)
			}
		case splits(r):
			if han, number, size := hanToken(s[i:]); size > 0 {
				is, t.number, t.end = han, number, i+size
			}
		case unicode.IsLetter(r):
			t.mark = r
			if '1' <= last && last <= '9' || last == 'C' {
				if unit := meaning(string(r)); strings.IndexByte("NGD", unit.shape) >= 0 {
					is = unit.shape
					break
				}
			}
			t.end = i + runLength(s[i:], func(r rune) bool { return unicode.IsLetter(r) && !splits(r) })
			if w := meaning(s[i:t.end]); strings.IndexByte("NGD", w.shape) < 0 {
				is, t.month = w.shape, w.month
			}
		default:
			t.mark, is = r, shapeOfMark(r)
		}
		d.tokens, shape = append(d.tokens, t), append(shape, is)
		i, last = t.end, is
	}
	d.shape = string(shape)
	return d
}

func shapeOfMark(r rune) byte {
	switch {
	case r == '°': // 1° gennaio
		return 'o'
	case strings.ContainsRune(",.:", r):
		return byte(r)
	case r == '\'' || r == '’':
		return '\''
	case r == '–' || r == '‐' || r == '‑':
		return '~'
	case isOuter(r):
		return '"'
	case r >= utf8.RuneSelf || r == '~':
		return '*'
	}
	return byte(r)
}

// runLength is the length of the run of characters at the beginning of s.
func runLength(s string, in func(rune) bool) int {
	if i := strings.IndexFunc(s, func(r rune) bool { return !in(r) }); i >= 0 {
		return i
	}
	return len(s)
}

// at is the token at i, empty beyond the ends, and is its shape, 0 beyond them.
func (d *dateText) at(i int) dateToken {
	if i < 0 || i >= len(d.tokens) {
		return dateToken{}
	}
	return d.tokens[i]
}

func (d *dateText) is(i int) byte {
	if i < 0 || i >= len(d.shape) {
		return 0
	}
	return d.shape[i]
}

func (d *dateText) isNumber(i int) bool { return '1' <= d.is(i) && d.is(i) <= '9' }

func (d *dateText) isWord(i int) bool { return 'a' <= d.is(i)|0x20 && d.is(i)|0x20 <= 'z' }

// touching reports that no white space stands between the tokens i and i+1.
func (d *dateText) touching(i int) bool {
	return i >= 0 && i+1 < len(d.tokens) && d.tokens[i].end == d.tokens[i+1].start
}

// length is the number of tokens that an expression matches at i, 0 if it does not.
func (d *dateText) length(form *regexp.Regexp, i int) int {
	if i < 0 || i >= len(d.shape) {
		return 0
	}
	return len(form.FindString(d.shape[i:]))
}

// A dateForm is a written form of a date. Its groups are the tokens y, m and d, or e and j for
// an era of Japan and the year of it.
type dateForm struct {
	*regexp.Regexp
	holds func(d *dateText, at dateParts) bool // nil: always
}

// dateParts are the tokens of a date: the first one and those of groups, beyond the text where
// a group is not there.
type dateParts struct{ first, era, ofEra, year, month, day int }

// match finds the first of the forms that stands at i, and how many tokens it takes: 0 if none
// does.
func (d *dateText) match(forms []dateForm, i int) (at dateParts, n int) {
	if strings.IndexByte("1248CEmf(", d.is(i)) < 0 {
		return at, 0
	}
	for _, f := range forms {
		m := f.FindStringSubmatchIndex(d.shape[i:])
		if m == nil {
			continue
		}
		group := func(name string) int {
			if k := f.SubexpIndex(name); k >= 0 && m[2*k] >= 0 {
				return i + m[2*k]
			}
			return len(d.shape)
		}
		at = dateParts{i, group("e"), group("j"), group("y"), group("m"), group("d")}
		if f.holds == nil || f.holds(d, at) {
			return at, m[1]
		}
	}
	return at, 0
}

// numbers are the year, month and day of a date, 0 for a month or day that is not there.
func (d *dateText) numbers(at dateParts) (year, month, day int) {
	m := d.at(at.month)
	return d.year(at.year) + d.at(at.era).number + d.at(at.ofEra).number, m.number + m.month, d.at(at.day).number
}

// The written forms of dates, times and what is around them.
const (
	between = `[-,./'~]*`                             // the parts of a date
	ordinal = `(?:a|st|[nr]d|th|[.:]?o)?`             // after a day
	inEast  = `(?:(?P<y>[4C])|(?P<e>E)(?P<j>[12C]))N` // a year of China, Japan or Korea
	monthOf = `Y?O?(?:[-./'~]<>)?(?P<m>[mf])<>O?<>(?P<y>[24])`
)

func form(s string) *regexp.Regexp {
	return regexp.MustCompile("^(?:" + strings.NewReplacer("<>", between, "<th>", ordinal).Replace(s) + ")")
}

var dayForms = []dateForm{
	// 2024-03-15, 2024/3/15, 2024.03.15, 2024-Mar-15
	{form(`(?P<y>4).(?P<m>[12mf]).(?P<d>[12])`), func(d *dateText, at dateParts) bool { return d.separated(at.first) }},
	// 2024年3月15日, 令和6年3月15日
	{form(inEast + `(?P<m>[12C])G(?P<d>[12C])D`), nil},
	// 2024. március 15. In running text "in 2024. May 5" is the end of one sentence and the
	// beginning of another, so the last full stop must be there, or a suffix (15-én). "in 2024.
	// March 15, 2025" has another year.
	{form(`(?P<y>4)\.(?P<m>[mf])\.?(?P<d>[12])`), func(d *dateText, at dateParts) bool {
		after := d.is(at.day + 1)
		return (after == 0 || after == '.' || after == '-' && d.isWord(at.day+2)) && d.length(formYearFollows, at.day+1) == 0
	}},
	// March 15, 2024, Mar. 15, 2024, June 1st, 2020, August 3 , 2014, Mar-15-24. "May 5, 20
	// people came" has no year.
	{form(`(?P<m>m)<>T?(?P<d>[12])<th><>O?(?P<y>[24])`), func(d *dateText, at dateParts) bool {
		return d.is(at.year) == '4' || d.is(at.month+1) == '-' || d.is(at.month+1) == '/' || d.is(at.year-1) == '\''
	}},
	// 15 March 2024, 15-Mar-24, 02/JAN/2017, 31 January, 1994, 17t h day of October, 2007,
	// 1st of March, 2003, and (1st) day of January, 1996
	// 15. März 2024, 1er janvier 2024, 3 de marzo de 2024
	{form(`(?P<d>[12])<th>` + monthOf), isDayFirst},
	{form(`\((?P<d>[12])<th>\)` + monthOf), isDayFirst},
}

// isDayFirst reports that a year of two digits is one: in "5 March 15, 2024" the 15 is not, nor
// is it in "May 5 March 15".
func isDayFirst(d *dateText, at dateParts) bool {
	marked := d.is(at.month) == 'm' || strings.IndexByte("-/'", d.is(at.year-1)) >= 0
	return d.is(at.year) == '4' || marked && d.is(at.first-1) != 'm' && d.length(formYearFollows, at.year+1) == 0
}

// monthForms are 2019年5月, 2019年, May 2019, May, 2019, 2019-05, 05/2019 and 2019.
var monthForms = []dateForm{
	{form(inEast + `(?:(?P<m>[12C])G)?`), nil}, {form(`(?P<m>[mf])<>O?(?P<y>4)`), nil},
	{form(`(?P<y>4)-(?P<m>2)`), nil}, {form(`(?P<m>[12])/(?P<y>4)`), nil}, {form(`(?P<y>4)`), nil},
}

var (
	formNumeric     = form(`[12].[12].[24]`) // 15/03/2024, 3-14-18, 15.03.2024
	formYearFollows = form(`<th><>4`)
	formYearWord    = form(`[Jr]\.?`)
	formClock       = form(`[,te]*[12]:2`)
	formZone        = form(`(?:A|p\.M\.?)?(?:z|[-+]4|[-+]2:2)?`)
	formOuter       = form(`["',.:)]*$`)
	formThreeParts  = form(`(?:[1-4]{3}|[mf][1-4]{2}|[1-4][mf][1-4]|[1-4]{2}[mf])$`)
)

// day reads a date to the day in any form that begins at i, and gives the number of tokens
// that it takes: 0 if no such date stands there.
func (d *dateText) day(i int) (r dateReading, n int) {
	ok := false
	if d.is(i) == '8' {
		n = 1
		r.DateReading, ok = compact(d.at(i).number)
	} else if n = d.length(formNumeric, i); n > 0 && d.separated(i) {
		r.DateReading, ok = d.numeric(i)
	}
	if !ok {
		var at dateParts
		if at, n = d.match(dayForms, i); n > 0 {
			r.DateReading, ok = exactly(d.numbers(at))
		}
	}
	if !ok {
		return dateReading{}, 0
	}
	r.dotted = d.is(i) <= '2' && d.is(i+1) == '.' && d.isNumber(i+2)
	return r, n
}

// numeric reads a day, a month and a year. Full stops are written where the day comes first.
func (d *dateText) numeric(i int) (DateReading, bool) {
	a, b, year := d.at(i).number, d.at(i+2).number, d.year(i+4)
	if r, ok := exactly(year, b, a); ok && d.is(i+1) == '.' {
		return r, true
	}
	return eitherOrder(a, b, year)
}

// compact reads 20240315, and 25032018 as some tills print it.
func compact(n int) (DateReading, bool) {
	// Years of these two centuries, which leaves no number with both readings.
	if y := n / 1e4; 1900 <= y && y <= 2099 {
		if r, ok := exactly(y, n/100%100, n%100); ok {
			return r, true
		}
	}
	if y := n % 1e4; 1900 <= y && y <= 2099 {
		return eitherOrder(n/1e6, n/1e4%100, y)
	}
	return DateReading{}, false
}

// month reads a date to the month or the year.
func (d *dateText) month(i int) (dateReading, int) {
	at, n := d.match(monthForms, i)
	if n == 0 {
		return dateReading{}, 0
	}
	year, month, _ := d.numbers(at)
	r, ok := exactly(year, max(month, 1), 1)
	switch {
	case !ok:
		return dateReading{}, 0
	case month == 0:
		return dateReading{DateReading: r, precision: toYear}, n
	}
	return dateReading{DateReading: r, precision: toMonth}, n
}

// separated reports that the tokens i, i+2 and i+4 are joined by the same
// mark. Full stops and dashes stand close; round slashes there may be space, and after full
// stops of a date with a whole year.
func (d *dateText) separated(i int) bool {
	if d.at(i+1).mark != d.at(i+3).mark {
		return false
	}
	switch d.is(i + 1) {
	case '/':
		return true
	case '-', '.', '~':
		spaced := d.is(i+1) == '.' && (d.is(i) == '4' || d.is(i+4) == '4') && !d.touching(i+3)
		return d.touching(i) && d.touching(i+2) && d.touching(i+1) == !spaced && d.touching(i+3) == !spaced
	}
	return false
}

// year is that of a token of four digits or of two.
func (d *dateText) year(i int) int {
	if d.is(i) == '2' {
		return pivot(d.at(i).number)
	}
	return d.at(i).number
}

// threeParts reports whether a text has the form of a day: three numbers, or two and
// the name of a month, with the usual marks between them.
func (d *dateText) threeParts() bool {
	return formThreeParts.MatchString(strings.NewReplacer("-", "", "/", "", ".", "", ",", "", "O", "", "N", "", "G", "", "D", "").Replace(d.shape))
}

// lead skips what may stand before a date, such as "sexta-feira,".
func (d *dateText) lead() (i int) {
	for i < len(d.shape) && (strings.IndexByte(`LOTYW"',.:`, d.is(i)) >= 0 || d.is(i) == '(' && d.isWord(i+1) || d.is(i) == '-' && d.is(i-1) == 'W') {
		i++
	}
	return i
}

// tail reports that nothing but a time of day and punctuation stands from i on.
func (d *dateText) tail(i int) bool {
	i += d.length(formYearWord, i) // 15 марта 2024 г.
	if d.is(i-1) != '.' && d.is(i) == '.' && d.is(i+1) == ',' {
		i++ // 2024. március 15., péntek
	}
	if i == d.clock(i) {
		for d.is(i) == ',' {
			i++
		}
		if d.is(i) == 'W' {
			i++
		}
	}
	return formOuter.MatchString(d.shape[d.clock(i):])
}

// clock skips a time of day with its zone.
func (d *dateText) clock(i int) int {
	if d.is(i-1) == '8' && d.is(i) == '/' && d.is(i+1) == '6' {
		return i + 2 // 20180428/191204
	}
	n := d.length(formClock, i)
	if n == 0 {
		return i
	}
	for i += n; (d.is(i) == ':' || d.is(i) == '.') && d.isNumber(i+1) && d.touching(i); i += 2 {
	}
	return i + d.length(formZone, i)
}

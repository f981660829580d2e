package text

import (
	"errors"
	"fmt"
	"strings"
	"time"
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
//	15/03/2024   15-03-24     15.03.2024   25032024   3-14-18
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
	if inside, ok := strings.CutPrefix(s, "("); ok && inside != "" && strings.IndexByte(inside, ')') == len(inside)-1 {
		s = inside[:len(inside)-1]
	}
	d := dates(Minimal(s))
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
	case m && d:
		return DateReading{Ambiguous: a != b, MonthFirst: monthFirst, DayFirst: dayFirst}, true
	case m:
		return DateReading{MonthFirst: monthFirst, DayFirst: monthFirst}, true
	case d:
		return DateReading{MonthFirst: dayFirst, DayFirst: dayFirst}, true
	}
	return DateReading{}, false
}

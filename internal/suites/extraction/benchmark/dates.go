package benchmark

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// The dates of ExtractBench: json_subset_match.py, normalize_date_string. A text with one of eight
// patterns is read by dateutil 2.9 (dateutil.parser.parse without fuzzy) and, if it is a date from
// 1900 to 2100, becomes YYYY-MM-DD. Other texts stay as they are. Here such a text has a date in one
// of these forms, perhaps with a weekday before it and a time of day behind.

const datesFrom, datesTo = 1900, 2100

// thisYear decides the century of years of two digits, as the clock does for dateutil: it is the
// year of the benchmark, so that a score does not change with the day.
const thisYear = 2026

var (
	datePattern = regexp.MustCompile(`\d{4}-\d{1,2}-\d{1,2}|\d{1,2}/\d{1,2}/\d{4}` +
		`|\d{1,2}/\d{1,2}/\d{2}(?:$|[^\p{L}\p{N}_])|\d{1,2}-\d{1,2}-\d{4}|\d{1,2}-\d{1,2}-\d{2}(?:$|[^\p{L}\p{N}_])` +
		`|[A-Za-z]+ \d{1,2},? \d{4}|[A-Za-z]+\.? [A-Za-z]+\.? \d{1,2},? \d{4}|\d{1,2} [A-Za-z]+ \d{4}`)
	longNumber  = regexp.MustCompile(`\d{10,}`)
	aroundComma = regexp.MustCompile(space + `*,` + space + `*`)

	// The forms of a date. What stands before and behind it does not count.
	isoForm      = dateForm(`(\d{4})-(\d{1,2})-(\d{1,2})`)
	numericForm  = dateForm(`(\d{1,2})[/-](\d{1,2})[/-](\d{4}|\d{2})`)
	monthDayForm = dateForm(`([a-z]+)\.? (\d{1,2}),? (\d{4})`)
	dayMonthForm = dateForm(`(\d{1,2}) ([a-z]+) (\d{4})`)
)

// dateForm compiles at the first use: every command would wait for it else.
func dateForm(date string) func() *regexp.Regexp {
	const (
		weekday = `(?:sun|mon|tues|wednes|thurs|fri|satur)day|sun|mon|tue|wed|thu|fri|sat`
		idle    = `(?:(?:at|on|and|` + weekday + `)[ ,.]+)*`
		clock   = `(?:[01]?\d|2[0-3])(?::[0-5]\d){1,2}(?:\.\d+)?(?: ?[ap]\.?m)?|(?:0?\d|1[0-2]) ?[ap]\.?m`
		zone    = `(?: ?(?:z|(?-i:[A-Z]{1,5})(?:[+-]\d{1,2})?|[+-]\d{2}(?::?\d{2})?))?`
	)
	return sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^` + idle + date + `(?:[ t,]+` + idle + `(?:` + clock + `)` + zone + `)?` +
			`(?:[ .,;-]+(?:at|on|and|ad|` + weekday + `)?)*$`)
	})
}

// isoDate is a date as YYYY-MM-DD, and any other text as it is.
func isoDate(s string) string {
	if n := utf8.RuneCountInString(s); n < 4 || n > 50 || longNumber.MatchString(s) {
		return s
	}
	probe := aroundComma.ReplaceAllString(s, ", ")
	if !datePattern.MatchString(probe) {
		return s
	}
	var year, month, day int
	if m := isoForm().FindStringSubmatch(probe); m != nil {
		year, month, day = digits(m[1]), digits(m[2]), digits(m[3])
	} else if m := monthDayForm().FindStringSubmatch(probe); m != nil {
		year, month, day = digits(m[3]), monthOf(m[1]), digits(m[2])
	} else if m := dayMonthForm().FindStringSubmatch(probe); m != nil {
		year, month, day = digits(m[3]), monthOf(m[2]), digits(m[1])
	} else if m := numericForm().FindStringSubmatch(probe); m != nil {
		// The month is first, unless it is above 12.
		if year, month, day = digits(m[3]), digits(m[1]), digits(m[2]); month > 12 {
			month, day = day, month
		}
		if len(m[3]) == 2 && digits(m[1]) > 31 {
			year, month, day = digits(m[1]), digits(m[2]), digits(m[3])
		}
		if year < 100 {
			year = inCentury(year)
		}
	}
	date := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if year < datesFrom || year > datesTo || int(date.Month()) != month || date.Day() != day {
		return s
	}
	return date.Format(time.DateOnly)
}

func digits(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

var months = strings.Fields("january february march april may june july august september october november december")

// monthOf is the number of a month by its name or the short form of it, 0 for another word.
func monthOf(s string) int {
	s = strings.ToLower(s)
	return 1 + slices.IndexFunc(months, func(name string) bool {
		return s == name || s == name[:3] || s == "sept" && name == "september"
	})
}

// inCentury completes a year of two digits.
func inCentury(year int) int {
	year += thisYear / 100 * 100
	if year >= thisYear+50 {
		return year - 100
	}
	return year
}

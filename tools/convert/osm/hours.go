package osm

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// The parts of a rule: days, times (or 24/7), a modifier and a comment.
const (
	aDay  = `(?:mo|tu|we|th|fr|sa|su|ph|sh)\b`
	days  = aDay + `(?:\s*-\s*` + aDay + `)?`
	times = `\d{1,2}:\d{2}(?:\s*[-–—]\s*\d{1,2}:\d{2})?\s*\+?`
)

var (
	// rule matches at every place: all of its parts may be absent. The colon after
	// the days is not in the grammar, but people write it.
	rule = regexp.MustCompile(`(?i)^\s*(?:(` + days + `(?:\s*,\s*` + days + `)*)\s*:?)?\s*(24/7|` + times + `(?:\s*,\s*` + times + `)*)?` +
		`\s*(?:(off|closed|open)\b)?\s*("[^"]*")?\s*`)
	clock    = regexp.MustCompile(`\d+`)
	word     = regexp.MustCompile(`^[^\s;,]*`)
	dayNames = strings.Fields("mo tu we th fr sa su ph sh")
)

// ParseHours parses the value of an opening_hours tag that describes a week: days
// and ranges of days (Mo-Fr, Su-Th, Sa,Su), one or more intervals
// (11:30-14:30,17:00-24:00), also past midnight (18:00-02:00, 18:00-26:00), off and
// closed, 24/7. A rule after a semicolon replaces earlier rules for its days; one
// after a comma adds to them, except off, which always closes its days. Days
// without a rule are closed.
//
// Notes list what was ignored: public and school holidays, comments, and days that
// stay unknown because their time is open-ended (17:00+) or an empty interval
// (23:00-23:00). The rest of the grammar (months, weeks, dates, sunset, fallbacks)
// is an error, and all days are unknown.
//
// The grammar is that of wiki.openstreetmap.org/wiki/Key:opening_hours/specification.
func ParseHours(s string) (h catalog.Hours, notes []string, err error) {
	if strings.TrimSpace(s) == "" {
		return h, nil, errors.New("empty value")
	}
	note := func(text string) {
		if !slices.Contains(notes, text) {
			notes = append(notes, text)
		}
	}
	var open [7][]catalog.Interval
	var unknown [7]bool
	for add := false; ; {
		m := rule.FindStringSubmatch(s)
		s = s[len(m[0]):]
		on, holidays, err := daysOf(m[1])
		if err != nil {
			return h, nil, err
		}
		intervals, vague, err := intervalsOf(m[2])
		off := m[3] != "" && !strings.EqualFold(m[3], "open")
		switch {
		case err != nil:
			return h, nil, err
		case off && m[2] != "":
			return h, nil, errors.New("off with times is not supported")
		case m[2]+m[3] == "":
			return h, nil, fmt.Errorf("want times, off or 24/7, got %q", word.FindString(s))
		case m[2] == "" && !off:
			intervals = []catalog.Interval{{From: 0, To: catalog.Day}}
		}
		if holidays != "" {
			note(holidays + " (holidays) is ignored")
		}
		if m[4] != "" {
			note("the comment " + m[4] + " is left out")
		}
		for _, day := range on {
			if !add || off {
				open[day], unknown[day] = nil, false
			}
			open[day] = append(open[day], intervals...)
			if vague != "" {
				unknown[day] = true
				note(vague + " leaves its days unknown")
			}
		}
		add = strings.HasPrefix(s, ",")
		switch {
		case s == "" || strings.TrimSpace(s) == ";":
			for day := range open {
				if !unknown[day] {
					h.Set(day, open[day]...)
				}
			}
			return h, notes, nil
		case strings.HasPrefix(s, "||"):
			return h, nil, errors.New("fallbacks (||) are not supported")
		case !add && s[0] != ';':
			return h, nil, fmt.Errorf("%q is not supported", word.FindString(s))
		}
		s = s[1:]
	}
}

// daysOf lists days and ranges of them, all seven for "", and the last holidays named.
func daysOf(s string) (list []int, holidays string, err error) {
	if s == "" {
		return []int{0, 1, 2, 3, 4, 5, 6}, "", nil
	}
	for part := range strings.SplitSeq(strings.ToLower(s), ",") {
		from, to, ranges := strings.Cut(part, "-")
		first := slices.Index(dayNames, strings.TrimSpace(from))
		last := first
		if ranges {
			last = slices.Index(dayNames, strings.TrimSpace(to))
		}
		switch {
		case ranges && max(first, last) > 6:
			return nil, "", fmt.Errorf("want a range of days such as Mo-Fr, got %q", part)
		case first > 6:
			holidays = strings.ToUpper(dayNames[first])
			continue
		}
		for day := first; ; day = (day + 1) % 7 {
			if list = append(list, day); day == last {
				break
			}
		}
	}
	return list, holidays, nil
}

// intervalsOf lists intervals. Vague is why their days stay unknown, or "".
func intervalsOf(s string) (list []catalog.Interval, vague string, err error) {
	if s == "24/7" {
		return []catalog.Interval{{From: 0, To: catalog.Day}}, "", nil
	}
	for part := range strings.SplitSeq(s, ",") {
		n := []int{} // hours and minutes
		for _, digits := range clock.FindAllString(part, -1) {
			i, err := strconv.Atoi(digits)
			if err != nil {
				return nil, "", err
			}
			n = append(n, i)
		}
		i := catalog.Interval{}
		for k := 0; k < len(n); k += 2 {
			i.From, i.To = i.To, n[k]*60+n[k+1]
			if n[k+1] > 59 || i.To > 2*catalog.Day { // what ends on the next day
				return nil, "", fmt.Errorf("%q is not a time of day", part)
			}
		}
		if i.To <= i.From {
			i.To += catalog.Day
		}
		switch plus := strings.HasSuffix(part, "+"); {
		case len(n) == 2 && plus:
			vague = "open-ended time (+)"
		case len(n) == 2:
			return nil, "", fmt.Errorf("want an interval such as 11:00-22:00, got %q", part)
		case len(n) == 4 && (i.From >= catalog.Day || i.To > i.From+catalog.Day):
			return nil, "", errors.New("an interval must start on its day and last at most 24 hours")
		case plus:
			vague = "open-ended time (+)"
		case len(n) == 4 && i.To-i.From == catalog.Day && i.From > 0: // 0:00-0:00 is a whole day
			vague = "empty interval"
		case len(n) == 4:
			list = append(list, i)
		}
	}
	return list, vague, nil
}

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
	p := hours{text: s}
	if err := p.rules(); err != nil {
		return catalog.Hours{}, nil, err
	}
	for day := range catalog.Weekdays {
		if !p.unknown[day] {
			h.Set(day, p.days[day]...)
		}
	}
	return h, p.notes, nil
}

// hours is a value that is being read.
type hours struct {
	text    string
	at      int
	days    [7][]catalog.Interval
	unknown [7]bool
	notes   []string
}

var (
	dayWord   = regexp.MustCompile(`(?i)^(mo|tu|we|th|fr|sa|su|ph|sh)\b`)
	clockWord = regexp.MustCompile(`^(\d{1,2}):(\d{2})`)
	offWord   = regexp.MustCompile(`(?i)^(off|closed)\b`)
	openWord  = regexp.MustCompile(`(?i)^open\b`)
	always    = regexp.MustCompile(`^24/7`)
	comment   = regexp.MustCompile(`^"[^"]*"`)
	word      = regexp.MustCompile(`^[^\s;,]+`)
)

var dayNames = []string{"mo", "tu", "we", "th", "fr", "sa", "su", "ph", "sh"}

func (p *hours) errorf(format string, args ...any) error {
	return fmt.Errorf("column %d: %s", p.at+1, fmt.Sprintf(format, args...))
}

func (p *hours) note(s string) {
	if !slices.Contains(p.notes, s) {
		p.notes = append(p.notes, s)
	}
}

func (p *hours) skip() {
	for p.at < len(p.text) && strings.IndexByte(" \t", p.text[p.at]) >= 0 {
		p.at++
	}
}

// take moves over what an expression matches, "" if it does not.
func (p *hours) take(re *regexp.Regexp) string {
	p.skip()
	m := re.FindString(p.text[p.at:])
	p.at += len(m)
	return m
}

func (p *hours) peek(re *regexp.Regexp) bool {
	p.skip()
	return re.MatchString(p.text[p.at:])
}

func (p *hours) byte(c byte) bool {
	p.skip()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *hours) end() bool { p.skip(); return p.at == len(p.text) }

// rules reads rules and what stands between them.
func (p *hours) rules() error {
	if p.end() {
		return errors.New("empty value")
	}
	for add := false; ; {
		if err := p.rule(add); err != nil {
			return err
		}
		switch {
		case p.end():
			return nil
		case strings.HasPrefix(p.text[p.at:], "||"):
			return p.errorf("fallbacks (||) are not supported")
		case p.byte(';'):
			if p.end() {
				return nil
			}
			add = false
		case p.byte(','):
			add = true
		default:
			return p.errorf("%q is not supported", p.word())
		}
	}
}

func (p *hours) word() string { p.skip(); return word.FindString(p.text[p.at:]) }

// rule reads days, times and a modifier, and applies them.
func (p *hours) rule(add bool) error {
	days, onlyHolidays, err := p.weekdays()
	if err != nil {
		return err
	}
	intervals, vague, said, err := p.times()
	if err != nil {
		return err
	}
	off := p.take(offWord) != ""
	switch {
	case off && said:
		return p.errorf("off with times is not supported")
	case !off && !said && p.take(openWord) == "":
		return p.errorf("want times, off or 24/7, got %q", p.word())
	case !off && !said:
		intervals = []catalog.Interval{{From: 0, To: catalog.Day}}
	case said:
		p.take(openWord)
	}
	if c := p.take(comment); c != "" {
		p.note("the comment " + c + " is left out")
	}
	if onlyHolidays {
		return nil
	}
	for _, day := range days {
		if !add || off {
			p.days[day], p.unknown[day] = nil, false
		}
		p.days[day] = append(p.days[day], intervals...)
		if vague != "" {
			p.unknown[day] = true
			p.note(vague + " leaves its days unknown")
		}
	}
	return nil
}

// weekdays reads days and ranges of them; all seven if none is named.
func (p *hours) weekdays() (days []int, onlyHolidays bool, err error) {
	if !p.peek(dayWord) {
		return []int{0, 1, 2, 3, 4, 5, 6}, false, nil
	}
	for {
		first := slices.Index(dayNames, strings.ToLower(p.take(dayWord)))
		if first < 0 {
			return nil, false, p.errorf("want a day, got %q", p.word())
		}
		if first > 6 {
			p.note(strings.ToUpper(dayNames[first]) + " (holidays) is ignored")
		}
		last := first
		if p.byte('-') {
			last = slices.Index(dayNames, strings.ToLower(p.take(dayWord)))
			if first > 6 || last < 0 || last > 6 {
				return nil, false, p.errorf("want a range of days such as Mo-Fr")
			}
		}
		for day := first; first <= 6; day = (day + 1) % 7 {
			days = append(days, day)
			if day == last {
				break
			}
		}
		before := p.at
		if !p.byte(',') {
			break
		}
		if !p.peek(dayWord) { // the comma of an additional rule
			p.at = before
			break
		}
	}
	p.byte(':') // "Mo-Fr: 9:00-17:00", which people write
	return days, len(days) == 0, nil
}

// The reasons for unknown hours.
const (
	openEnd  = "open-ended time (+)"
	noLength = "empty interval"
)

// times reads intervals; said tells whether there were any.
func (p *hours) times() (list []catalog.Interval, vague string, said bool, err error) {
	if p.take(always) != "" {
		return []catalog.Interval{{From: 0, To: catalog.Day}}, "", true, nil
	}
	for p.peek(clockWord) {
		said = true
		from, err := p.clock()
		if err != nil {
			return nil, "", false, err
		}
		if p.byte('+') {
			vague = openEnd
		} else {
			i, plus, err := p.interval(from)
			switch {
			case err != nil:
				return nil, "", false, err
			case plus:
				vague = openEnd
			case i.To-i.From == catalog.Day && i.From > 0: // 0:00-0:00 is a whole day
				vague = noLength
			default:
				list = append(list, i)
			}
		}
		before := p.at
		if !p.byte(',') {
			break
		}
		if !p.peek(clockWord) { // the comma of an additional rule
			p.at = before
			break
		}
	}
	return list, vague, said, nil
}

// interval parses the rest of an interval; plus reports an open end.
func (p *hours) interval(from int) (i catalog.Interval, plus bool, err error) {
	if !p.byte('-') && p.take(dash) == "" {
		return i, false, p.errorf("want an interval such as 11:00-22:00, got %q", p.word())
	}
	if !p.peek(clockWord) {
		return i, false, p.errorf("want an end time, got %q", p.word())
	}
	to, err := p.clock()
	if err != nil {
		return i, false, err
	}
	if to <= from {
		to += catalog.Day
	}
	if from >= catalog.Day || to > from+catalog.Day {
		return i, false, p.errorf("an interval must start on its day and last at most 24 hours")
	}
	return catalog.Interval{From: from, To: to}, p.byte('+'), nil
}

var dash = regexp.MustCompile(`^[–—]`)

// clock reads hours and minutes, up to 48:00 for what ends on the next day.
func (p *hours) clock() (int, error) {
	m := clockWord.FindStringSubmatch(p.text[p.at:])
	hour, err1 := strconv.Atoi(m[1])
	minute, err2 := strconv.Atoi(m[2])
	if err1 != nil || err2 != nil || minute > 59 || hour*60+minute > 2*catalog.Day {
		return 0, p.errorf("%s is not a time of day", m[0])
	}
	p.at += len(m[0])
	return hour*60 + minute, nil
}

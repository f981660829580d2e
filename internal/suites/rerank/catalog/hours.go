package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Weekdays names the days in the order of [Hours].
var Weekdays = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}

// Weekday returns the index of a day's name in [Weekdays], ignoring case, or -1.
func Weekday(name string) int {
	return slices.IndexFunc(Weekdays, func(d string) bool { return strings.EqualFold(d, strings.TrimSpace(name)) })
}

// Day is the number of minutes in a day.
const Day = 24 * 60

// An Interval is a time of being open, in minutes after the start of its day. It
// may end on the next day:
// 0 ≤ From < Day and From < To ≤ From + Day.
type Interval struct{ From, To int }

// String writes 17:00-01:30.
func (i Interval) String() string { return Clock(i.From) + "-" + Clock(i.To) }

// Clock formats minutes after midnight as a time of day. The end of the day is
// 24:00; later minutes are times of the next day.
func Clock(minutes int) string {
	if minutes > Day {
		minutes -= Day
	}
	return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60)
}

var interval = regexp.MustCompile(`^\s*(\d{1,2}):(\d{1,2})\s*[-–]\s*(\d{1,2}):(\d{1,2})\s*$`)

// ParseInterval parses "H:M-H:M", with or without leading zeros: 8:0-17:30. An
// end that is not after its start is on the next day. 0:0-0:0 is the whole day,
// as Yelp writes it; any other interval without length is an error.
func ParseInterval(s string) (Interval, error) {
	m := interval.FindStringSubmatch(s)
	if m == nil {
		return Interval{}, fmt.Errorf("%q is not an interval: want hours and minutes such as 8:00-17:30", s)
	}
	from, err := minutes(m[1], m[2])
	if err != nil {
		return Interval{}, fmt.Errorf("%q: %w", s, err)
	}
	to, err := minutes(m[3], m[4])
	switch {
	case err != nil:
		return Interval{}, fmt.Errorf("%q: %w", s, err)
	case from == Day:
		return Interval{}, fmt.Errorf("%q starts at the end of the day: use 0:00 of the next day", s)
	case from == 0 && to == 0:
		return Interval{0, Day}, nil
	case from == to:
		return Interval{}, fmt.Errorf("%q is empty: use 0:00-24:00 for a whole day, an empty list for a closed day", s)
	case to < from:
		to += Day
	}
	return Interval{from, to}, nil
}

// ParseClock parses a time of day "H:M" up to 24:00 as minutes after midnight.
func ParseClock(s string) (int, error) {
	h, m, _ := strings.Cut(strings.TrimSpace(s), ":")
	return minutes(h, m)
}

func minutes(hour, minute string) (int, error) {
	h, err1 := strconv.ParseUint(hour, 10, 8)
	m, err2 := strconv.ParseUint(minute, 10, 8)
	if err1 != nil || err2 != nil || m > 59 || h > 24 || (h == 24 && m > 0) {
		return 0, fmt.Errorf("%s:%s is not a time of day", hour, minute)
	}
	return int(h*60 + m), nil
}

// Hours are the opening hours of a week. A known day without intervals is closed.
// In the zero Hours all days are unknown.
type Hours struct {
	Days  [7][]Interval // sorted by their start
	Known [7]bool
}

// Set sets the intervals of a day; without intervals the day is closed.
func (h *Hours) Set(day int, intervals ...Interval) {
	h.Known[day] = true
	h.Days[day] = slices.Clone(intervals)
	slices.SortFunc(h.Days[day], func(a, b Interval) int { return cmp.Or(a.From-b.From, a.To-b.To) })
}

// IsZero reports whether no day is known.
func (h *Hours) IsZero() bool { return h.Known == [7]bool{} }

// Contains reports whether it is open without a break from one minute of a day
// to another, and whether that is known. An end that is not after the start is
// on the next day; 0 to 0 is the whole day.
//
// Intervals of the day before that pass midnight count, and so do intervals of
// the next day; adjacent intervals are merged. A minute that no interval covers
// is closed if its day is known, else unknown. If the asked day is unknown, so are
// the minutes after its midnight: its hours may pass it. One closed minute makes
// the result false; otherwise one unknown minute makes it unknown.
func (h *Hours) Contains(day, from, to int) (open, known bool) {
	if day < 0 || day >= len(h.Days) {
		return false, false
	}
	if to <= from {
		to += Day
	}
	open = true
	for at := from; at < to; {
		if next := h.openUntil(day, at); next > at {
			at = next
			continue
		}
		if h.Known[day] && h.Known[(day+at/Day)%7] {
			return false, true
		}
		open = false
		at = (at/Day + 1) * Day // no interval starts on an unknown day
	}
	return open, open
}

// openUntil returns the latest end of the intervals that contain a minute of a
// day; 0 if there is none.
func (h *Hours) openUntil(day, minute int) int {
	latest := 0
	for shift := -1; shift <= 1; shift++ {
		for _, i := range h.Days[(day+shift+7)%7] {
			if i.From+shift*Day <= minute && minute <= i.To+shift*Day {
				latest = max(latest, i.To+shift*Day)
			}
		}
	}
	return latest
}

// On formats a day's hours: "11:00-14:30, 17:00-22:00" or "closed"; "" for an unknown day.
func (h *Hours) On(day int) string {
	switch {
	case day < 0 || day >= len(h.Days) || !h.Known[day]:
		return ""
	case len(h.Days[day]) == 0:
		return "closed"
	}
	return strings.Join(h.texts(day), ", ")
}

func (h *Hours) texts(day int) []string {
	texts := make([]string, len(h.Days[day]))
	for i, interval := range h.Days[day] {
		texts[i] = interval.String()
	}
	return texts
}

// MarshalJSON writes hours as files have them: a list for each known day.
func (h *Hours) MarshalJSON() ([]byte, error) {
	days := map[string][]string{}
	for day, name := range Weekdays {
		if h.Known[day] {
			days[name] = h.texts(day)
		}
	}
	return json.Marshal(days)
}

// readHours parses an object of days. It returns all errors and the valid days.
func readHours(v any) (h Hours, errs []error) {
	days, ok := v.(map[string]any)
	if !ok && v != nil {
		return h, []error{fmt.Errorf("hours: want an object of days, got a %s", Kind(v))}
	}
	for _, name := range Keys(days) {
		day := slices.Index(Weekdays, name)
		if day < 0 {
			errs = append(errs, fmt.Errorf("hours: %q is not a day: want Monday to Sunday", name))
			continue
		}
		if days[name] == nil {
			continue
		}
		list, err := readDay(days[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("hours of %s: %w", Weekdays[day], err))
			continue
		}
		h.Set(day, list...)
	}
	return h, errs
}

// readDay parses comma-separated intervals, a list of intervals, or a list of
// pairs of times.
func readDay(v any) (list []Interval, err error) {
	var texts []string
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if pair, _ := e.([]any); len(pair) == 2 {
				e = Text(pair[0]) + "-" + Text(pair[1])
			}
			texts = append(texts, Text(e))
		}
	case string:
		if !strings.EqualFold(strings.TrimSpace(v), "closed") {
			texts = strings.Split(v, ",")
		}
	default:
		return nil, fmt.Errorf("want an interval or a list of them, got a %s", Kind(v))
	}
	for _, s := range texts {
		i, err := ParseInterval(s)
		if err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	return list, nil
}

package evidence

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
	prose "github.com/scruple-eval/scruple/internal/text"
)

// itemMeta tests the value at a path. Values match by equality, never by
// substring; a wanted text also matches as a parsed literal, so that "True" and
// "u'free'" mean the same as in the data.
//
//	test            value matches   another value   no value
//	true            true            false *         missing
//	false           false           true            missing
//	not_true        false           true            true
//	contains        true            false           missing
//	not_contains    false           true            true
//	neutral         unknown         unknown         missing
//	gte, lte        true            false           missing
//	between         true            false           missing
//	none            a bool: itself; flags: any is set; else unknown; missing
//
// * unknown if false or neutral is also given, but false for a value of false.
//
// gte, lte and between compare numbers, and texts that are numbers; any other
// value is false. Both ends of between count.
func itemMeta(e *request.Evidence) test {
	want, no := readings(e.Value), readings(e.False)
	return func(item *subject) (Truth, reason) {
		v := item.At(e.Path)
		t := Truth(e.Missing)
		switch {
		case v != nil:
			t = decide(e, v, want, no)
		case e.Test == request.NotTrue || e.Test == request.NotContains:
			t = True
		}
		return t, func() string {
			if v == nil {
				return e.Path + " has no value"
			}
			return fmt.Sprintf("%s is %s%s", e.Path, shown(v), wanted(e))
		}
	}
}

// Unread returns a warning for each path of a comparison of numbers at which items have values that
// are no numbers: the condition is false for them.
func Unread(c *catalog.Catalog, file string, requests []request.Request) (findings []catalog.Finding) {
	seen := map[string]bool{}
	for _, r := range requests {
		for _, leaf := range r.Structure.Leaves() {
			e := leaf.Evidence
			if e.Kind != request.ItemMeta || wanted(e) == "" || seen[e.Path] {
				continue
			}
			seen[e.Path] = true
			n, first := 0, ""
			for _, item := range c.Items {
				if v := item.At(e.Path); v != nil && !holds(v, func(float64) bool { return true }) {
					if n++; first == "" {
						first = fmt.Sprintf("%q of item %s", prose.Shorten(catalog.Text(v), 60), item.ID)
					}
				}
			}
			if n > 0 {
				findings = append(findings, catalog.Finding{File: file, Warning: true, Text: fmt.Sprintf("%s of %s is no number, as %s: conditions such as that of request %s are false for them; write numbers",
					e.Path, prose.Plural(n, "item", "items"), first, r.ID)})
			}
		}
	}
	return findings
}

// wanted formats the bounds of a comparison of numbers; "" for other tests.
func wanted(e *request.Evidence) string {
	low, high, _ := e.Bounds()
	switch e.Test {
	case request.AtLeast:
		return ", want at least " + catalog.Text(e.Value)
	case request.AtMost:
		return ", want at most " + catalog.Text(e.Value)
	case request.Between:
		return fmt.Sprintf(", want %s to %s", number(low), number(high))
	}
	return ""
}

// decide tests a value that is not missing, with the readings of Value and of False.
func decide(e *request.Evidence, v any, want, no []any) Truth {
	switch e.Test {
	case "":
		return standing(v)
	case request.IsFalse, request.NotTrue:
		return -truth(equals(v, want))
	case request.Contains:
		return truth(contains(v, want))
	case request.NotContains:
		return -truth(contains(v, want))
	case request.AtLeast:
		return truth(holds(v, func(n float64) bool { return n >= asNumber(e.Value) }))
	case request.AtMost:
		return truth(holds(v, func(n float64) bool { return n <= asNumber(e.Value) }))
	case request.Between:
		low, high, _ := e.Bounds()
		return truth(holds(v, func(n float64) bool { return low <= n && n <= high }))
	case request.IsTrue:
		switch {
		case equals(v, want):
			return True
		case e.False == nil && e.Neutral == nil || equals(v, no) && e.False != nil:
			return False
		}
	}
	return Unknown
}

// holds tests a number.
func holds(v any, test func(n float64) bool) bool {
	n, ok := written(v)
	return ok && test(n)
}

func asNumber(v any) float64 {
	n, _ := v.(float64)
	return n
}

// standing returns the truth of a value without a test.
func standing(v any) Truth {
	switch v := v.(type) {
	case bool:
		return truth(v)
	case map[string]any:
		any := false
		for _, flag := range v {
			b, ok := flag.(bool)
			if !ok {
				return Unknown
			}
			any = any || b
		}
		return truth(any)
	}
	return Unknown
}

// readings returns the values that a wanted value matches: itself, its parsed
// literal, and for a list each element.
func readings(v any) []any {
	list := []any{v}
	switch v := v.(type) {
	case string:
		if strings.TrimSpace(v) == "" {
			break
		}
		if meant := catalog.Interpret(v); meant != nil && !catalog.Equal(meant, v) {
			list = append(list, meant)
		}
		if flags, err := catalog.ParseLiteral("{" + v + "}"); err == nil {
			list = append(list, flags) // 'hipster': True
		}
	case []any:
		for _, e := range v {
			list = append(list, readings(e)...)
		}
	}
	return list
}

func equals(v any, want []any) bool {
	return slices.ContainsFunc(want, func(w any) bool { return catalog.Equal(v, w) })
}

// contains reports whether a list has one of the wanted values as an element, a
// map has one as a set flag or has all its entries, or a text contains one as
// whole words ([prose.ContainsWords]), ignoring case.
func contains(v any, want []any) bool {
	return slices.ContainsFunc(want, func(w any) bool {
		switch v := v.(type) {
		case []any:
			return equals(w, v)
		case map[string]any:
			return hasFlag(v, w)
		case string:
			kind := catalog.Kind(w)
			return kind != "map" && kind != "list" && prose.ContainsWords(spaced(v), spaced(catalog.Text(w)))
		}
		return catalog.Equal(v, w)
	})
}

// spaced folds a text; beer_and_wine is three words.
func spaced(s string) string { return fold(strings.ReplaceAll(s, "_", " ")) }

func hasFlag(v map[string]any, want any) bool {
	if entries, ok := want.(map[string]any); ok {
		for key, w := range entries {
			if !catalog.Equal(v[key], w) {
				return false
			}
		}
		return len(entries) > 0
	}
	for key, flag := range v {
		if strings.EqualFold(key, catalog.Text(want)) && set(flag) {
			return true
		}
	}
	return false
}

// set reports whether a flag is set: true, or a value other than false.
func set(v any) bool { return v != nil && v != false }

// mostShown is the maximum number of characters shown of a value or a review.
const mostShown = 201

// shown formats a value, shortened to mostShown characters.
func shown(v any) string {
	s := catalog.Text(v)
	if _, ok := v.(string); ok {
		s = fmt.Sprintf("%q", s)
	}
	return prose.Shorten(s, mostShown)
}

// hours tests whether an item is open on a day from one time to another.
func hours(e *request.Evidence) test {
	day := catalog.Weekday(e.Day)
	from, to, err := request.Span(e)
	if err != nil {
		return broken(err.Error())
	}
	return func(item *subject) (Truth, reason) {
		open, known := item.Hours.Contains(day, from, to)
		t := Truth(e.Missing)
		if known {
			t = truth(open)
		}
		return t, func() string { return hoursReason(item.Item, day, to <= from) }
	}
}

// hoursReason formats the hours of a day, those of the day before if they pass
// midnight, and, if next, those of the next day.
func hoursReason(item *catalog.Item, day int, next bool) string {
	text := hoursText(item, day)
	if next {
		text += "; " + hoursText(item, (day+1)%7)
	}
	before := (day + 6) % 7
	if slices.ContainsFunc(item.Hours.Days[before], func(i catalog.Interval) bool { return i.To > catalog.Day }) {
		text += fmt.Sprintf("; %s: %s", catalog.Weekdays[before], item.Hours.On(before))
	}
	return text
}

func hoursText(item *catalog.Item, day int) string {
	if hours := item.Hours.On(day); hours != "" {
		return catalog.Weekdays[day] + ": " + hours
	}
	return "hours of " + catalog.Weekdays[day] + " are unknown"
}

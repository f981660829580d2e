package method

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

var weekdays = catalog.Weekdays

func intervalsOn(item *catalog.Item, day int) [][2]int {
	var list [][2]int
	for _, i := range item.Hours.Days[day] {
		list = append(list, [2]int{i.From, i.To})
	}
	return list
}

func hoursOn(item *catalog.Item, day int) (string, bool) {
	if !item.Hours.Known[day] {
		return "", false
	}
	var parts []string
	for _, i := range intervalsOn(item, day) {
		parts = append(parts, clock(i[0])+"-"+clock(i[1]))
	}
	if len(parts) == 0 {
		return "closed", true
	}
	return strings.Join(parts, ", "), true
}

// clock is minutes after midnight as on a clock, beyond midnight too.
func clock(m int) string { return fmt.Sprintf("%02d:%02d", m/60%24, m%60) }

// hoursOf gives the days of which the hours are known.
func hoursOf(item *catalog.Item) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for day := range weekdays {
			if text, ok := hoursOn(item, day); ok && !yield(day, text) {
				return
			}
		}
	}
}

func conditionOf(id string, n *request.Node) condition {
	e := n.Evidence
	c := condition{ID: id, Kind: kindReview, Text: n.Aspect, Names: []string{}}
	switch e.Kind {
	case request.ItemMeta:
		c.Kind, c.Path, c.Value = kindAttr, e.Path, e.Value.String()
		c.Test = map[string]string{"true": "is", "not_true": "is_not", "contains": "has", "not_contains": "has_not"}[e.Test]
	case request.ItemMetaHours:
		c.Kind, c.Day, c.From, c.To = kindHours, e.Day, e.From, e.To
	case request.SocialFilter:
		c.Kind, c.Names, c.Hops = kindSocial, e.Names, e.Hops
	}
	return c
}

func (c *condition) evidence() (*request.Evidence, error) {
	switch c.Kind {
	case kindAttr:
		test := map[string]string{"is": "true", "is_not": "not_true", "has": "contains", "has_not": "not_contains"}[c.Test]
		if test == "" || c.Path == "" {
			return nil, fmt.Errorf("ATTR needs a path and a test, got %q, %q", c.Path, c.Test)
		}
		return &request.Evidence{Kind: request.ItemMeta, Path: c.Path, Test: test, Value: catalog.TextValue(c.Value)}, nil
	case kindHours:
		if !slices.Contains(weekdays, c.Day) {
			return nil, fmt.Errorf("HOURS needs a day, got %q", c.Day)
		}
		return &request.Evidence{Kind: request.ItemMetaHours, Day: c.Day, From: c.From, To: c.To}, nil
	}
	return nil, fmt.Errorf("%s is decided by reviews", c.Kind)
}

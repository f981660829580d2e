package method

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// anotTests maps the tests of ATTR conditions to tests of evidence.
var anotTests = map[string]string{
	"is": request.IsTrue, "is_not": request.NotTrue, "has": request.Contains, "has_not": request.NotContains, "set": "",
	"gte": request.AtLeast, "lte": request.AtMost, "between": request.Between,
}

// conditionOf converts a condition of a structure to a condition of a plan.
// What ATTR and HOURS cannot express becomes a REVIEW condition.
func conditionOf(id string, n *request.Node) condition {
	e := n.Evidence
	c := condition{ID: id, Kind: kindReview, Text: n.Aspect, Names: []string{}}
	plain := e.Missing == 0 && e.False == nil && e.Neutral == nil
	value, kind := catalog.Text(e.Value), catalog.Kind(e.Value)
	if ends, _ := e.Value.([]any); e.Test == request.Between && len(ends) == 2 {
		value, kind = catalog.Text(ends[0])+", "+catalog.Text(ends[1]), ""
	}
	switch e.Kind {
	case request.ItemMeta:
		for test, meant := range anotTests { // a bijection
			if meant == e.Test && plain && kind != "list" && kind != "map" {
				c.Kind, c.Path, c.Test, c.Value = kindAttr, e.Path, test, value
			}
		}
	case request.ItemMetaHours:
		if plain {
			c.Kind, c.Day, c.From, c.To = kindHours, e.Day, e.From, e.To
		}
	case request.SocialFilter:
		c.Kind, c.Names, c.Hops = kindSocial, e.Names, number(e.Hops)
	}
	return c
}

// bounds parses the value of a comparison: a number, or two separated by a comma.
func bounds(test, value string) (any, error) {
	var list []float64
	for part := range strings.SplitSeq(value, ",") {
		n, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return nil, fmt.Errorf("%q is not a number: write digits alone, without a unit", ellipsis(part, 40))
		}
		list = append(list, n)
	}
	switch {
	case test != request.Between && len(list) == 1:
		return list[0], nil
	case test == request.Between && len(list) == 2 && list[0] <= list[1]:
		return []any{list[0], list[1]}, nil
	}
	return nil, fmt.Errorf("the value is %q, want one number, and for between the lower and the upper one, as in 500, 800", ellipsis(value, 40))
}

// evidence converts a condition on attributes or hours to evidence. It returns
// an error if the condition cannot be evaluated.
func (c *condition) evidence() (*request.Evidence, error) {
	switch c.Kind {
	case kindAttr:
		test, ok := anotTests[c.Test]
		if !ok || c.Path == "" {
			return nil, fmt.Errorf("ATTR needs a path and a test, got %q and %q", ellipsis(c.Path, 40), ellipsis(c.Test, 40))
		}
		e := &request.Evidence{Kind: request.ItemMeta, Path: c.Path, Test: test, Value: c.Value}
		var err error
		switch test {
		case "":
			e.Value = nil
		case request.AtLeast, request.AtMost, request.Between:
			if e.Value, err = bounds(test, c.Value); err != nil {
				return nil, fmt.Errorf("ATTR %s: %w", c.Test, err)
			}
		}
		return e, nil
	case kindHours:
		e := &request.Evidence{Kind: request.ItemMetaHours, Day: c.Day, From: c.From, To: c.To}
		if err := request.CheckEvidence(e); err != nil {
			return nil, fmt.Errorf("HOURS needs a day and two times of day, got %q, %q, %q: %s", ellipsis(c.Day, 40), ellipsis(c.From, 40), ellipsis(c.To, 40), ellipsis(err.Error(), 80))
		}
		return e, nil
	}
	return nil, fmt.Errorf("%s is decided by reviews", c.Kind)
}

package method

import (
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
	"pgregory.net/rapid"
)

// What a plan says of attributes and hours is evaluated as the condition it
// stands for; what it cannot say is left to reading. Items whose text looks like
// a number or a bool are left out: a plan's values have no type.
func TestConditionsMeanWhatEvidenceMeans(t *testing.T) {
	values := []any{nil, true, false, float64(1), float64(2.5), "free",
		"1", "True", "", []any{"free", float64(1)},
		map[string]any{"free": true, "paid": false}}
	tests := []string{request.IsTrue, request.IsFalse, request.NotTrue, request.Contains, request.NotContains, request.IsNeutral, request.AtLeast, request.AtMost, request.Between, ""}
	rapid.Check(t, func(t *rapid.T) {
		e := &request.Evidence{Kind: request.ItemMeta, Path: "attributes.A", Test: rapid.SampledFrom(tests).Draw(t, "test")}
		number := rapid.SampledFrom([]any{float64(-1), float64(1), float64(2.5), float64(1e21)})
		switch e.Test {
		case "":
		case request.AtLeast, request.AtMost:
			e.Value = number.Draw(t, "bound")
		case request.Between:
			from, to := number.Draw(t, "from"), number.Draw(t, "to")
			if from.(float64) > to.(float64) {
				from, to = to, from
			}
			e.Value = []any{from, to}
		default:
			e.Value = rapid.SampledFrom(values[1:]).Draw(t, "value")
		}
		e.Missing = rapid.SampledFrom([]int8{0, 0, -1, 1}).Draw(t, "missing")
		if rapid.Bool().Draw(t, "hours") {
			e = &request.Evidence{Kind: request.ItemMetaHours, Day: rapid.SampledFrom(catalog.Weekdays).Draw(t, "day"), From: "22:00", To: "1:00", Missing: e.Missing}
		}
		has := rapid.SampledFrom(values).Draw(t, "has")
		compared := slices.Contains([]string{request.AtLeast, request.AtMost, request.Between}, e.Test)
		if text, ok := has.(string); ok && !catalog.Equal(catalog.Interpret(text), has) && !compared {
			return
		}
		item := &catalog.Item{Attributes: map[string]any{"A": has}}
		if rapid.Bool().Draw(t, "open") {
			item.Hours.Set(rapid.IntRange(0, 6).Draw(t, "on"), catalog.Interval{From: 20 * 60, To: 26 * 60})
		}
		c := conditionOf("C1", &request.Node{Aspect: "x", Evidence: e})
		if c.Kind == kindReview {
			return
		}
		again, err := c.evidence()
		if err != nil {
			t.Fatalf("%+v is written as %+v: %v", e, c, err)
		}
		evaluator := evidence.New(nil)
		if was, is := evaluator.Leaf(e, item), evaluator.Leaf(again, item); was != is {
			t.Fatalf("%+v is %v and, written as %+v, %v", e, was, c, is)
		}
	})
}

func TestConditionsThatPlansCannotSay(t *testing.T) {
	for want, list := range map[string][]*request.Evidence{
		kindAttr: {
			{Kind: request.ItemMeta, Path: "city", Test: request.IsTrue, Value: "x"},
			{Kind: request.ItemMeta, Path: "attributes.A"},
			{Kind: request.ItemMeta, Path: "price", Test: request.AtLeast, Value: float64(500)},
			{Kind: request.ItemMeta, Path: "price", Test: request.AtMost, Value: float64(0.5)},
			{Kind: request.ItemMeta, Path: "price", Test: request.Between, Value: []any{float64(500), float64(800)}},
		},
		kindHours:  {{Kind: request.ItemMetaHours, Day: "Monday", From: "9:00", To: "10:00"}},
		kindSocial: {{Kind: request.SocialFilter, Names: []string{"Alice"}, Hops: 1}},
		kindReview: {
			{Kind: request.ReviewText, Pattern: "x"},
			{Kind: request.ReviewMeta, Path: "user.elite", Test: request.NotEmpty},
			{Kind: request.ItemMeta, Path: "city", Test: request.IsTrue, Value: "x", Missing: 1},
			{Kind: request.ItemMeta, Path: "city", Test: request.IsTrue, Value: []any{"x"}},
			{Kind: request.ItemMeta, Path: "city", Test: request.IsFalse, Value: "x"},
		},
	} {
		for _, e := range list {
			if c := conditionOf("C1", &request.Node{Aspect: "x", Evidence: e}); c.Kind != want {
				t.Errorf("%+v is written as %s, want %s", e, c.Kind, want)
			}
		}
	}
}

// Hours need a day and a span that is not empty: otherwise the plan is asked for again.
func TestHoursNeedASpan(t *testing.T) {
	for _, c := range []struct{ day, from, to, want string }{
		{"Monday", "9:00", "17:30", ""}, {"monday", "22:00", "1:30", ""}, {"Sunday", "0:00", "0:00", ""}, {"Sunday", "0:00", "24:00", ""},
		{"Monday", "17:00", "17:00", "is empty"}, {"Monday", "24:00", "2:00", "is empty"}, {"Monday", "9", "10:00", "not a time of day"}, {"someday", "9:00", "10:00", "not a day"},
	} {
		_, err := (&condition{Kind: kindHours, Day: c.day, From: c.from, To: c.to}).evidence()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s-%s: %v, want %q", c.day, c.from, c.to, err, c.want)
		}
	}
}

// A comparison needs numbers: otherwise the plan is asked for again with the reason.
func TestComparisonsNeedNumbers(t *testing.T) {
	for _, c := range []struct{ test, value, want string }{
		{"gte", "500", ""}, {"lte", " 1.5 ", ""}, {"between", "500, 800", ""}, {"between", "-1,-1", ""},
		{"gte", "", "is not a number"}, {"lte", "500 €", "is not a number"}, {"gte", "NaN", "is not a number"}, {"gte", "Inf", "is not a number"},
		{"gte", "1,000", "want one number"}, {"between", "500", "want one number"}, {"between", "800, 500", "want one number"}, {"between", "1, 2, 3", "want one number"},
	} {
		e, err := (&condition{Kind: kindAttr, Path: "price", Test: c.test, Value: c.value}).evidence()
		if c.want == "" {
			if err == nil {
				err = request.CheckEvidence(e)
			}
			if err != nil {
				t.Errorf("%s %q: %v", c.test, c.value, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %q", c.test, c.value, err, c.want)
		}
	}
}

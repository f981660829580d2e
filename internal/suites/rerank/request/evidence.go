package request

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// keys are those that evidence of each kind may have in a file.
var keys = map[string][]string{
	ItemMeta:      strings.Fields("path true false not_true contains not_contains neutral gte lte between missing"),
	ItemMetaHours: strings.Fields("day from to missing"),
	ReviewText:    strings.Fields("pattern weight_by percentile min_credible_matches"),
	ReviewMeta:    strings.Fields("path not_empty gte lte min_stars agg count missing"),
	SocialFilter:  strings.Fields("pattern names hops min_matches"),
}

// tests are the keys that set Test and Value.
var tests = []string{IsTrue, NotTrue, Contains, NotContains, AtLeast, AtMost, Between, IsFalse, IsNeutral, NotEmpty}

// UnmarshalJSON reads evidence from a file. [CheckEvidence] returns what is wrong with it.
func (e *Evidence) UnmarshalJSON(data []byte) error {
	var given map[string]any
	if json.Unmarshal(data, &given) != nil {
		return errors.New("evidence: want an object")
	}
	maps.DeleteFunc(given, func(_ string, v any) bool { return v == nil })
	*e = Evidence{}
	kind, _ := given["kind"].(string)
	switch {
	case kind == SocialFilter:
		e.Hops, e.MinMatches = 1, 1
	case kind == ReviewText && given["weight_by"] != nil:
		e.Percentile, e.MinCredible = DefaultPercentile, DefaultMinCredible
	}
	type plain Evidence
	if err := dataset.DecodeLoose(kit.JSON(given), (*plain)(e)); err != nil {
		e.Kind, e.err = kind, errors.Unwrap(err) // without the column, which is none of the line
	} else {
		e.err = e.read(given)
	}
	return nil
}

// read checks the keys that are given and sets the test.
func (e *Evidence) read(given map[string]any) error {
	for _, key := range catalog.Keys(given) {
		n, isNumber := given[key].(float64)
		switch known := keys[e.Kind]; {
		case known != nil && key != "kind" && !slices.Contains(known, key):
			return fmt.Errorf("unknown key %q: want %s", key, strings.Join(known, ", "))
		case slices.Contains([]string{"min_credible_matches", "min_matches", Count}, key) && isNumber && n < 1:
			return fmt.Errorf("invalid %s %v: want at least 1", key, n)
		case key == NotEmpty && given[key] != true:
			return errors.New("not_empty is not true: put the condition into NOT")
		case key == "weight_by" && e.WeightBy == "":
			return errors.New("weight_by has no field: want one such as user.review_count")
		}
	}
	for _, test := range tests {
		switch v, ok := given[test]; {
		case !ok:
		case e.Test == "":
			e.Test, e.Value = test, v
		case e.Test == IsTrue && test == IsFalse:
			e.False = v
		case e.Test == IsTrue && test == IsNeutral:
			e.Neutral = v
		default:
			return fmt.Errorf("both %s and %s are set: want one test, or true with false or neutral", e.Test, test)
		}
	}
	if e.Kind == ReviewMeta && (e.Test == "" || e.Test == NotEmpty) {
		e.Test, e.Value = NotEmpty, nil
	}
	if day := catalog.Weekday(e.Day); day >= 0 {
		e.Day = catalog.Weekdays[day]
	}
	return nil
}

// MarshalJSON encodes evidence in its file format.
func (e *Evidence) MarshalJSON() ([]byte, error) {
	var o catalog.Object
	add := func(key string, v any, given bool) {
		if given {
			o.Add(key, v)
		}
	}
	text := func(key, s string) { add(key, s, s != "") }
	tests := map[string]any{IsFalse: e.False, IsNeutral: e.Neutral}
	if e.Test != "" {
		tests[e.Test] = e.Value
	}
	values := func(names ...string) {
		for _, test := range names {
			add(test, kit.JSON(tests[test]), tests[test] != nil)
		}
	}
	text("kind", e.Kind)
	text("path", e.Path)
	values(IsTrue, IsFalse, NotTrue, Contains, NotContains, IsNeutral)
	add("missing", e.Missing, e.Missing != 0)
	text("day", e.Day)
	text("from", e.From)
	text("to", e.To)
	text("pattern", e.Pattern)
	text("weight_by", e.WeightBy)
	add("percentile", e.Percentile, e.WeightBy != "")
	add("min_credible_matches", cmp.Or(e.MinCredible, DefaultMinCredible), e.WeightBy != "")
	add(NotEmpty, true, e.Test == NotEmpty)
	values(AtLeast, AtMost, Between)
	add("min_stars", e.MinStars, e.MinStars != 0)
	text("agg", e.Aggregate)
	add("count", e.Count, e.Count != 0)
	add("names", e.Names, len(e.Names) > 0)
	add("hops", e.Hops, e.Kind == SocialFilter)
	add("min_matches", e.MinMatches, e.MinMatches > 1)
	return []byte(o.JSON()), nil
}

package request

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// keys are those that evidence of each kind may have in a file. Aliases, which are never
// written, are among them.
var keys = map[string][]string{
	ItemMeta:      strings.Fields("path true false not_true true_not contains not_contains neutral gte lte between missing"),
	ItemMetaHours: strings.Fields("path true day from to missing"),
	ReviewText:    strings.Fields("pattern weight_by percentile credibility_percentile min_credible_matches social_filter min_matches"),
	ReviewMeta:    strings.Fields("path op value not_empty gte lte min_stars agg count missing"),
	SocialFilter:  circleKeys,
}

var circleKeys = strings.Fields("pattern names friends hops min_matches")

// UnmarshalJSON reads evidence from a file. [CheckEvidence] returns what is wrong with it.
func (e *Evidence) UnmarshalJSON(data []byte) error {
	f := &fields{}
	if json.Unmarshal(data, &f.of) != nil {
		return errors.New("evidence: want an object")
	}
	*e = Evidence{Kind: get[string](f, "kind")}
	known, ok := keys[e.Kind]
	if !ok {
		e.err = fmt.Errorf("unknown kind of evidence: want %s, %s, %s, %s, %s", ItemMeta, ItemMetaHours, ReviewText, ReviewMeta, SocialFilter)
		return nil
	}
	f.only(known)
	e.Path, e.Pattern, e.Aggregate = f.path("path"), get[string](f, "pattern"), get[string](f, "agg")
	e.MinStars = get[float64](f, "min_stars")
	missing := 0
	if f.whole("missing", -1, &missing); missing > 1 {
		f.fault("invalid missing %d: want -1, 0 or 1", missing)
	}
	e.Missing = int8(min(missing, 1))
	switch e.Kind {
	case ItemMeta:
		f.itemMeta(e)
	case ItemMetaHours:
		f.hours(e)
	case ReviewText:
		f.reviewText(e)
	case ReviewMeta:
		f.reviewMeta(e)
	case SocialFilter:
		f.circle(e)
	}
	e.err = f.err
	return nil
}

// fields are an object of a file, with the first error in it.
type fields struct {
	of  map[string]any
	err error
}

func (f *fields) fault(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

// only checks that no other keys are there.
func (f *fields) only(known []string) {
	for _, key := range catalog.Keys(f.of) {
		if key != "kind" && f.of[key] != nil && !slices.Contains(known, key) {
			f.fault("unknown key %q: want %s", key, strings.Join(known, ", "))
		}
	}
}

// both is the error if more than one of these keys is there.
func (f *fields) both(keys ...string) bool {
	given := slices.DeleteFunc(keys, func(key string) bool { return f.of[key] == nil })
	if len(given) > 1 {
		f.fault("both %s and %s are set: want one of them", given[0], given[1])
	}
	return len(given) > 1
}

// get returns the value of the first of the keys that is there.
func get[T any](f *fields, keys ...string) (v T) {
	for _, key := range keys {
		if given := f.of[key]; given != nil {
			var ok bool
			if v, ok = given.(T); !ok {
				f.fault("%s: want a %s, got a %s", key, catalog.Kind(v), catalog.Kind(given))
			}
			return v
		}
	}
	return v
}

// whole sets a whole number that is given.
func (f *fields) whole(key string, least int, into *int) {
	if f.of[key] == nil {
		return
	}
	n := get[float64](f, key)
	if *into = int(n); float64(*into) != n {
		f.fault("%s: want a whole number, got %v", key, n)
	}
	if *into < least {
		f.fault("invalid %s %d: want at least %d", key, *into, least)
	}
}

// texts returns a list of texts.
func (f *fields) texts(keys ...string) (list []string) {
	for _, v := range get[[]any](f, keys...) {
		s, ok := v.(string)
		if !ok {
			f.fault("%s: want texts, got a %s", keys[0], catalog.Kind(v))
		}
		list = append(list, s)
	}
	return list
}

// path returns a dot-separated path; a list of keys is joined.
func (f *fields) path(key string) string {
	if _, ok := f.of[key].([]any); ok {
		return strings.Join(f.texts(key), ".")
	}
	return get[string](f, key)
}

func (f *fields) itemMeta(e *Evidence) {
	if f.of[AtLeast] != nil && f.of[AtMost] != nil && f.of[Between] == nil {
		f.of[Between] = []any{f.of[AtLeast], f.of[AtMost]}
		delete(f.of, AtLeast)
		delete(f.of, AtMost)
	}
	if f.of[NotTrue] == nil {
		f.of[NotTrue] = f.of["true_not"]
	}
	for _, test := range []string{IsTrue, NotTrue, Contains, NotContains, AtLeast, AtMost, Between, IsFalse, IsNeutral} {
		switch v := f.of[test]; {
		case v == nil:
		case e.Test == "":
			e.Test, e.Value = test, v
		case e.Test == IsTrue && test == IsFalse:
			e.False = v
		case e.Test == IsTrue && test == IsNeutral:
			e.Neutral = v
		default:
			f.fault("both %s and %s are set: want one test, or true with false or neutral", e.Test, test)
		}
	}
}

// hours accepts day, from and to, or a path that ends in the day with the
// interval in true.
func (f *fields) hours(e *Evidence) {
	e.Day, e.From, e.To = get[string](f, "day"), get[string](f, "from"), get[string](f, "to")
	if e.Path != "" && !f.both("path", "day") {
		day, ok := strings.CutPrefix(e.Path, "hours.")
		if !ok {
			f.fault("invalid path %q: want hours and a day, such as hours.Monday", e.Path)
		}
		e.Day, e.Path = day, ""
	}
	if f.of[IsTrue] != nil && !f.both(IsTrue, "from") && !f.both(IsTrue, "to") {
		i, err := catalog.ParseInterval(catalog.Text(f.of[IsTrue]))
		if err != nil {
			f.fault("%w", err)
		}
		e.From, e.To = catalog.Clock(i.From), catalog.Clock(i.To)
	}
	if day := catalog.Weekday(e.Day); day >= 0 {
		e.Day = catalog.Weekdays[day]
	}
}

func (f *fields) reviewText(e *Evidence) {
	if f.both("weight_by", "social_filter") {
		return
	}
	credible := f.of["percentile"] != nil || f.of["credibility_percentile"] != nil || f.of["min_credible_matches"] != nil
	if inner := get[map[string]any](f, "social_filter"); inner != nil {
		switch {
		case credible:
			f.fault("percentile and min_credible_matches require weight_by, not social_filter")
		case inner["min_matches"] == nil:
			inner["min_matches"] = f.of["min_matches"]
		case f.of["min_matches"] != nil:
			f.fault("min_matches is set beside and inside social_filter: want one of them")
		}
		circle := &fields{of: inner, err: f.err}
		circle.only(circleKeys[1:])
		e.Kind = SocialFilter
		circle.circle(e)
		f.err = circle.err
		return
	}
	switch {
	case f.of["min_matches"] != nil:
		f.fault("min_matches requires social_filter; with weight_by use min_credible_matches")
	case f.of["weight_by"] == nil && credible:
		f.fault("percentile and min_credible_matches require weight_by")
	case f.of["weight_by"] == nil:
		return
	}
	from, key := f, "weight_by" // the path of a field, or an object with it
	if inner, ok := f.of["weight_by"].(map[string]any); ok {
		from, key = &fields{of: inner, err: f.err}, "field"
		from.only([]string{key})
	}
	if e.WeightBy = from.path(key); e.WeightBy == "" {
		from.fault("weight_by has no field: want one such as user.review_count")
	}
	f.err = from.err
	e.Percentile, e.MinCredible = DefaultPercentile, DefaultMinCredible
	if f.of["percentile"] != nil || f.of["credibility_percentile"] != nil {
		e.Percentile = get[float64](f, "percentile", "credibility_percentile")
	}
	f.whole("min_credible_matches", 1, &e.MinCredible)
}

// reviewMeta accepts {"gte": 5} and {"op": "gte", "value": 5}.
func (f *fields) reviewMeta(e *Evidence) {
	if f.both(NotEmpty, AtLeast, AtMost, "op") {
		return
	}
	e.Test = NotEmpty
	for _, test := range []string{AtLeast, AtMost} {
		if f.of[test] != nil {
			e.Test, e.Value = test, f.of[test]
		}
	}
	if f.of["op"] != nil {
		e.Test, e.Value = get[string](f, "op"), f.of["value"]
	} else if f.of["value"] != nil {
		f.fault("value requires op: want op gte or lte beside it")
	}
	if f.of[NotEmpty] != nil && !get[bool](f, NotEmpty) {
		f.fault("not_empty is false: put the condition into NOT")
	}
	f.whole("count", 1, &e.Count)
}

// circle reads a social filter, which may also be part of review_text.
func (f *fields) circle(e *Evidence) {
	f.both("names", "friends")
	e.Names, e.Hops, e.MinMatches = f.texts("names", "friends"), 1, 1
	f.whole("hops", 0, &e.Hops)
	f.whole("min_matches", 1, &e.MinMatches)
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

package request

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// keys lists the keys that are set.
func (r *evidenceRecord) keys() []string {
	var list []string
	v := reflect.ValueOf(*r)
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "kind" && !v.FieldByIndex(f.Index).IsZero() {
			list = append(list, name)
		}
	}
	return list
}

// allowed lists the valid keys of each kind.
var allowed = map[string][]string{
	ItemMeta:      {"path", "true", "false", "not_true", "true_not", "contains", "not_contains", "neutral", "gte", "lte", "between", "missing"},
	ItemMetaHours: {"path", "true", "day", "from", "to", "missing"},
	ReviewText:    {"pattern", "weight_by", "percentile", "credibility_percentile", "min_credible_matches", "social_filter", "min_matches"},
	ReviewMeta:    {"path", "op", "value", "not_empty", "gte", "lte", "min_stars", "agg", "count", "missing"},
	SocialFilter:  {"pattern", "names", "friends", "hops", "min_matches"},
}

var kinds = []string{ItemMeta, ItemMetaHours, ReviewText, ReviewMeta, SocialFilter}

// typed converts evidence from a file. [Check] validates the result.
func (r *evidenceRecord) typed() (*Evidence, error) {
	if !slices.Contains(kinds, r.Kind) {
		return nil, fmt.Errorf("unknown kind of evidence: want %s", strings.Join(kinds, ", "))
	}
	for _, key := range r.keys() {
		if !slices.Contains(allowed[r.Kind], key) {
			return nil, fmt.Errorf("unknown key %q: want %s", key, strings.Join(allowed[r.Kind], ", "))
		}
	}
	e := &Evidence{Kind: r.Kind, Path: string(r.Path)}
	if r.Missing != nil {
		if *r.Missing < -1 || *r.Missing > 1 {
			return nil, fmt.Errorf("invalid missing %d: want -1, 0 or 1", *r.Missing)
		}
		e.Missing = int8(*r.Missing)
	}
	switch r.Kind {
	case ItemMeta:
		return e, r.itemMeta(e)
	case ItemMetaHours:
		return e, r.hours(e)
	case ReviewText:
		return e, r.reviewText(e)
	case ReviewMeta:
		return e, r.reviewMeta(e)
	}
	return e, r.circle.fill(e, r.Pattern)
}

func (r *evidenceRecord) itemMeta(e *Evidence) error {
	if r.NotTrue == nil {
		r.NotTrue = r.TrueNot
	}
	type test struct {
		name  string
		value *catalog.Value
	}
	var given []test
	var atLeast, atMost *catalog.Value
	switch {
	case r.AtLeast != nil && r.AtMost != nil && r.Between == nil:
		both := catalog.ListValue(catalog.NumberValue(*r.AtLeast), catalog.NumberValue(*r.AtMost))
		r.Between = &both
	default:
		atLeast, atMost = numberOf(r.AtLeast), numberOf(r.AtMost)
	}
	for _, t := range []test{{IsTrue, r.True}, {NotTrue, r.NotTrue}, {Contains, r.Contains}, {NotContains, r.NotContains},
		{AtLeast, atLeast}, {AtMost, atMost}, {Between, r.Between}, {IsFalse, r.False}, {IsNeutral, r.Neutral}} {
		if t.value == nil {
			continue
		}
		if t.value.IsZero() {
			return fmt.Errorf("%s is null: want a value", t.name)
		}
		given = append(given, t)
	}
	if len(given) == 0 {
		return nil
	}
	e.Test, e.Value = given[0].name, *given[0].value
	for _, t := range given[1:] {
		switch {
		case e.Test == IsTrue && t.name == IsFalse:
			e.False = *t.value
		case e.Test == IsTrue && t.name == IsNeutral:
			e.Neutral = *t.value
		default:
			return fmt.Errorf("both %s and %s are set: want one test, or true with false or neutral", e.Test, t.name)
		}
	}
	return nil
}

func numberOf(n *float64) *catalog.Value {
	if n == nil {
		return nil
	}
	v := catalog.NumberValue(*n)
	return &v
}

// hours accepts day, from and to, or a path that ends in the day with the
// interval in true.
func (r *evidenceRecord) hours(e *Evidence) error {
	e.Path = ""
	e.Day, e.From, e.To = r.Day, r.From, r.To
	if r.Path != "" {
		if r.Day != "" {
			return errors.New("both path and day are set: want one of them")
		}
		day, ok := strings.CutPrefix(string(r.Path), "hours.")
		if !ok {
			return fmt.Errorf("invalid path %q: want hours and a day, such as hours.Monday", r.Path)
		}
		e.Day = day
	}
	if r.True != nil {
		if r.From != "" || r.To != "" {
			return errors.New("both true and from, to are set: want one of them")
		}
		i, err := catalog.ParseInterval(r.True.String())
		if err != nil {
			return err
		}
		e.From, e.To = catalog.Clock(i.From), catalog.Clock(i.To)
	}
	if day := catalog.Weekday(e.Day); day >= 0 {
		e.Day = catalog.Weekdays[day]
	}
	return nil
}

func (r *evidenceRecord) reviewText(e *Evidence) error {
	if r.SocialFilter != nil {
		if r.WeightBy != nil {
			return errors.New("both weight_by and social_filter are set: want one of them")
		}
		c := *r.SocialFilter
		if c.MinMatches == nil {
			c.MinMatches = r.MinMatches
		}
		e.Kind = SocialFilter
		return c.fill(e, r.Pattern)
	}
	if r.Pattern != nil {
		e.Pattern = *r.Pattern
	}
	if r.MinMatches != nil {
		return errors.New("min_matches requires social_filter; with weight_by use min_credible_matches")
	}
	percentile := r.Percentile
	if percentile == nil {
		percentile = r.CredibilityPercentile
	}
	if r.WeightBy == nil {
		if percentile != nil || r.MinCredibleMatches != nil {
			return errors.New("percentile and min_credible_matches require weight_by")
		}
		return nil
	}
	e.WeightBy, e.Percentile, e.MinCredible = string(*r.WeightBy), DefaultPercentile, DefaultMinCredible
	if percentile != nil {
		e.Percentile = *percentile
	}
	if r.MinCredibleMatches != nil {
		e.MinCredible = *r.MinCredibleMatches
		if e.MinCredible < 1 {
			return fmt.Errorf("invalid min_credible_matches %d: want at least 1", e.MinCredible)
		}
	}
	if e.WeightBy == "" {
		return errors.New("weight_by has no field: want one such as user.review_count")
	}
	return nil
}

// reviewMeta accepts {"gte": 5} and {"op": "gte", "value": 5}.
func (r *evidenceRecord) reviewMeta(e *Evidence) error {
	given := 0
	if r.NotEmpty != nil {
		if !*r.NotEmpty {
			return errors.New("not_empty is false: put the condition into NOT")
		}
		given++
		e.Test = NotEmpty
	}
	if r.AtLeast != nil {
		given++
		e.Test, e.Value = AtLeast, catalog.NumberValue(*r.AtLeast)
	}
	if r.AtMost != nil {
		given++
		e.Test, e.Value = AtMost, catalog.NumberValue(*r.AtMost)
	}
	if r.Op != nil {
		given++
		e.Test = *r.Op
		if r.Value != nil {
			e.Value = *r.Value
		}
	}
	if given > 1 {
		return errors.New("want one of not_empty, gte and lte")
	}
	if given == 0 {
		e.Test = NotEmpty
	}
	if r.MinStars != nil {
		e.MinStars = *r.MinStars
	}
	if r.Agg != nil {
		e.Aggregate = *r.Agg
	}
	if r.Count != nil {
		e.Count = *r.Count
		if e.Count < 1 {
			return fmt.Errorf("invalid count %d: want at least 1", e.Count)
		}
	}
	return nil
}

func (c circle) fill(e *Evidence, pattern *string) error {
	if c.Names != nil && c.Friends != nil {
		return errors.New("both names and friends are set: want one of them")
	}
	e.Names, e.Hops, e.MinMatches = c.Names, 1, 1
	if e.Names == nil {
		e.Names = c.Friends
	}
	if c.Hops != nil {
		e.Hops = *c.Hops
	}
	if c.MinMatches != nil {
		e.MinMatches = *c.MinMatches
		if e.MinMatches < 1 {
			return fmt.Errorf("invalid min_matches %d: want at least 1", e.MinMatches)
		}
	}
	if pattern != nil {
		e.Pattern = *pattern
	}
	return nil
}

// recordOf converts evidence to its file format.
func recordOf(e *Evidence) *evidenceRecord {
	r := &evidenceRecord{Kind: e.Kind, Path: pathText(e.Path)}
	if e.Missing != 0 {
		missing := int(e.Missing)
		r.Missing = &missing
	}
	if e.Pattern != "" {
		r.Pattern = &e.Pattern
	}
	switch e.Kind {
	case ItemMeta:
		tests := map[string]**catalog.Value{IsTrue: &r.True, IsFalse: &r.False, NotTrue: &r.NotTrue,
			Contains: &r.Contains, NotContains: &r.NotContains, IsNeutral: &r.Neutral, Between: &r.Between}
		bound := e.Value.Number()
		switch e.Test {
		case AtLeast:
			r.AtLeast = &bound
		case AtMost:
			r.AtMost = &bound
		default:
			if at := tests[e.Test]; at != nil {
				*at = &e.Value
			}
		}
		if !e.False.IsZero() {
			r.False = &e.False
		}
		if !e.Neutral.IsZero() {
			r.Neutral = &e.Neutral
		}
	case ItemMetaHours:
		r.Day, r.From, r.To = e.Day, e.From, e.To
	case ReviewText:
		if e.WeightBy != "" {
			count := cmp.Or(e.MinCredible, DefaultMinCredible)
			r.WeightBy, r.Percentile, r.MinCredibleMatches = (*weightBy)(&e.WeightBy), &e.Percentile, &count
		}
	case ReviewMeta:
		recordReviewMeta(r, e)
	case SocialFilter:
		r.Names, r.Hops = e.Names, &e.Hops
		if e.MinMatches > 1 {
			r.MinMatches = &e.MinMatches
		}
	}
	return r
}

func recordReviewMeta(r *evidenceRecord, e *Evidence) {
	yes, bound := true, e.Value.Number()
	switch e.Test {
	case NotEmpty:
		r.NotEmpty = &yes
	case AtLeast:
		r.AtLeast = &bound
	case AtMost:
		r.AtMost = &bound
	}
	if e.MinStars != 0 {
		r.MinStars = &e.MinStars
	}
	if e.Aggregate != "" {
		r.Agg = &e.Aggregate
	}
	if e.Count != 0 {
		r.Count = &e.Count
	}
}

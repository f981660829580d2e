package request

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// evidenceRecord is the file format of [Evidence]. Some fields have an alias,
// which is accepted but never written.
type evidenceRecord struct {
	Kind string   `json:"kind"`
	Path pathText `json:"path,omitempty"`

	True        catalog.Value `json:"true,omitzero"` // for hours: the interval
	False       catalog.Value `json:"false,omitzero"`
	NotTrue     catalog.Value `json:"not_true,omitzero"`
	TrueNot     catalog.Value `json:"true_not,omitzero"`
	Contains    catalog.Value `json:"contains,omitzero"`
	NotContains catalog.Value `json:"not_contains,omitzero"`
	Neutral     catalog.Value `json:"neutral,omitzero"`
	Missing     int           `json:"missing,omitempty"`

	Day  string `json:"day,omitempty"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`

	Pattern               string    `json:"pattern,omitempty"`
	WeightBy              *weightBy `json:"weight_by,omitempty"`
	Percentile            *float64  `json:"percentile,omitempty"`
	CredibilityPercentile *float64  `json:"credibility_percentile,omitempty"`
	MinCredibleMatches    *int      `json:"min_credible_matches,omitempty"`
	SocialFilter          *circle   `json:"social_filter,omitempty"`

	Op       *string       `json:"op,omitempty"`
	Value    catalog.Value `json:"value,omitzero"`
	NotEmpty *bool         `json:"not_empty,omitempty"`
	AtLeast  *float64      `json:"gte,omitempty"`
	AtMost   *float64      `json:"lte,omitempty"`
	Between  catalog.Value `json:"between,omitzero"`
	MinStars float64       `json:"min_stars,omitempty"`
	Agg      string        `json:"agg,omitempty"`
	Count    *int          `json:"count,omitempty"`

	circle
}

// circle is a social filter, which may also be part of review_text.
type circle struct {
	Names      []string `json:"names,omitempty"`
	Friends    []string `json:"friends,omitempty"`
	Hops       *int     `json:"hops,omitempty"`
	MinMatches *int     `json:"min_matches,omitempty"`
}

// pathText is a dot-separated path; a list of keys is joined.
type pathText string

func (p *pathText) UnmarshalJSON(data []byte) error {
	var keys []string
	err := json.Unmarshal(data, (*string)(p))
	if data[0] == '[' {
		err = json.Unmarshal(data, &keys)
		*p = pathText(strings.Join(keys, "."))
	}
	if err != nil {
		return errors.New("path: want a text or a list of texts")
	}
	return nil
}

// weightBy is the path of a field, or an object with a field.
type weightBy string

func (w *weightBy) UnmarshalJSON(data []byte) error {
	if data[0] != '{' {
		return (*pathText)(w).UnmarshalJSON(data)
	}
	var o struct {
		Field pathText `json:"field"`
	}
	if err := dataset.DecodeStrict(data, &o); err != nil {
		return fmt.Errorf("weight_by: %w", err)
	}
	*w = weightBy(o.Field)
	return nil
}

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

// kinds lists the kinds with their valid keys.
var kinds = []struct {
	name string
	keys []string
}{
	{ItemMeta, strings.Fields("path true false not_true true_not contains not_contains neutral gte lte between missing")},
	{ItemMetaHours, strings.Fields("path true day from to missing")},
	{ReviewText, strings.Fields("pattern weight_by percentile credibility_percentile min_credible_matches social_filter min_matches")},
	{ReviewMeta, strings.Fields("path op value not_empty gte lte min_stars agg count missing")},
	{SocialFilter, strings.Fields("pattern names friends hops min_matches")},
}

// typed converts evidence from a file. [Check] validates the result.
func (r *evidenceRecord) typed() (*Evidence, error) {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	at := slices.Index(names, r.Kind)
	if at < 0 {
		return nil, fmt.Errorf("unknown kind of evidence: want %s", strings.Join(names, ", "))
	}
	for _, key := range r.keys() {
		if !slices.Contains(kinds[at].keys, key) {
			return nil, fmt.Errorf("unknown key %q: want %s", key, strings.Join(kinds[at].keys, ", "))
		}
	}
	if r.Missing < -1 || r.Missing > 1 {
		return nil, fmt.Errorf("invalid missing %d: want -1, 0 or 1", r.Missing)
	}
	e := &Evidence{Kind: r.Kind, Path: string(r.Path), Missing: int8(r.Missing), Pattern: r.Pattern, MinStars: r.MinStars, Aggregate: r.Agg}
	var err error
	switch r.Kind {
	case ItemMeta:
		err = r.itemMeta(e)
	case ItemMetaHours:
		err = r.hours(e)
	case ReviewText:
		err = r.reviewText(e)
	case ReviewMeta:
		err = r.reviewMeta(e)
	case SocialFilter:
		err = r.circle.fill(e)
	}
	return e, err
}

// A named is a test with its value.
type named struct {
	name  string
	value *catalog.Value
}

// tests lists the tests of an attribute whose value may be of any kind.
func (r *evidenceRecord) tests() []named {
	return []named{{IsTrue, &r.True}, {NotTrue, &r.NotTrue}, {Contains, &r.Contains}, {NotContains, &r.NotContains},
		{Between, &r.Between}, {IsFalse, &r.False}, {IsNeutral, &r.Neutral}}
}

func (r *evidenceRecord) itemMeta(e *Evidence) error {
	if r.NotTrue.IsZero() {
		r.NotTrue = r.TrueNot
	}
	least, most := numberOf(r.AtLeast), numberOf(r.AtMost)
	if r.AtLeast != nil && r.AtMost != nil && r.Between.IsZero() {
		r.Between, least, most = catalog.ListValue(least, most), catalog.Value{}, catalog.Value{}
	}
	for _, t := range slices.Insert(r.tests(), 4, named{AtLeast, &least}, named{AtMost, &most}) {
		switch {
		case t.value.IsZero():
		case e.Test == "":
			e.Test, e.Value = t.name, *t.value
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

func numberOf(n *float64) catalog.Value {
	if n == nil {
		return catalog.Value{}
	}
	return catalog.NumberValue(*n)
}

// hours accepts day, from and to, or a path that ends in the day with the
// interval in true.
func (r *evidenceRecord) hours(e *Evidence) error {
	e.Path, e.Day, e.From, e.To = "", r.Day, r.From, r.To
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
	if !r.True.IsZero() {
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
	percentile := cmp.Or(r.Percentile, r.CredibilityPercentile)
	switch {
	case r.SocialFilter != nil && r.WeightBy != nil:
		return errors.New("both weight_by and social_filter are set: want one of them")
	case r.SocialFilter != nil:
		e.Kind, r.SocialFilter.MinMatches = SocialFilter, cmp.Or(r.SocialFilter.MinMatches, r.MinMatches)
		return r.SocialFilter.fill(e)
	case r.MinMatches != nil:
		return errors.New("min_matches requires social_filter; with weight_by use min_credible_matches")
	case r.WeightBy == nil && (percentile != nil || r.MinCredibleMatches != nil):
		return errors.New("percentile and min_credible_matches require weight_by")
	case r.WeightBy == nil:
		return nil
	case *r.WeightBy == "":
		return errors.New("weight_by has no field: want one such as user.review_count")
	}
	e.WeightBy, e.Percentile, e.MinCredible = string(*r.WeightBy), DefaultPercentile, DefaultMinCredible
	if percentile != nil {
		e.Percentile = *percentile
	}
	return atLeastOne("min_credible_matches", r.MinCredibleMatches, &e.MinCredible)
}

// atLeastOne sets a number that was given.
func atLeastOne(key string, given, into *int) error {
	if given != nil {
		if *into = *given; *into < 1 {
			return fmt.Errorf("invalid %s %d: want at least 1", key, *into)
		}
	}
	return nil
}

// reviewMeta accepts {"gte": 5} and {"op": "gte", "value": 5}.
func (r *evidenceRecord) reviewMeta(e *Evidence) error {
	var tests []Evidence
	if r.NotEmpty != nil {
		tests = append(tests, Evidence{Test: NotEmpty})
		if !*r.NotEmpty {
			return errors.New("not_empty is false: put the condition into NOT")
		}
	}
	if r.AtLeast != nil {
		tests = append(tests, Evidence{Test: AtLeast, Value: numberOf(r.AtLeast)})
	}
	if r.AtMost != nil {
		tests = append(tests, Evidence{Test: AtMost, Value: numberOf(r.AtMost)})
	}
	if r.Op != nil {
		tests = append(tests, Evidence{Test: *r.Op, Value: r.Value})
	}
	if len(tests) > 1 {
		return errors.New("want one of not_empty, gte and lte")
	}
	e.Test = NotEmpty
	if len(tests) == 1 {
		e.Test, e.Value = tests[0].Test, tests[0].Value
	}
	return atLeastOne("count", r.Count, &e.Count)
}

func (c circle) fill(e *Evidence) error {
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
	return atLeastOne("min_matches", c.MinMatches, &e.MinMatches)
}

// recordOf converts evidence to its file format.
func recordOf(e *Evidence) *evidenceRecord {
	r := &evidenceRecord{Kind: e.Kind, Path: pathText(e.Path), False: e.False, Neutral: e.Neutral, Missing: int(e.Missing),
		Day: e.Day, From: e.From, To: e.To, Pattern: e.Pattern, MinStars: e.MinStars, Agg: e.Aggregate, circle: circle{Names: e.Names}}
	for _, t := range r.tests() {
		if e.Kind == ItemMeta && t.name == e.Test {
			*t.value = e.Value
		}
	}
	yes, bound := true, e.Value.Number()
	switch e.Test {
	case AtLeast:
		r.AtLeast = &bound
	case AtMost:
		r.AtMost = &bound
	case NotEmpty:
		r.NotEmpty = &yes
	}
	if e.WeightBy != "" {
		count := cmp.Or(e.MinCredible, DefaultMinCredible)
		r.WeightBy, r.Percentile, r.MinCredibleMatches = (*weightBy)(&e.WeightBy), &e.Percentile, &count
	}
	if e.Count != 0 {
		r.Count = &e.Count
	}
	if e.Kind == SocialFilter {
		r.Hops = &e.Hops
	}
	if e.MinMatches > 1 {
		r.MinMatches = &e.MinMatches
	}
	return r
}

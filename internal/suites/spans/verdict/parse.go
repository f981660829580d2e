package verdict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/suites/spans/label"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Step is how an answer could be read.
type Step string

// The steps, each taken if the one before fails.
const (
	Enhanced Step = "enhanced" // the JSON object in the answer is valid
	Repaired Step = "repaired" // after one repair
	Basic    Step = "basic"    // only scores and what else is valid could be used
	None     Step = "none"     // nothing: a result of zeros that is not counted as a judgement
)

// Steps lists the steps in order.
var Steps = [4]Step{Enhanced, Repaired, Basic, None}

// A Parsed is a judge's answer as it was read.
type Parsed struct {
	Result Result
	Step   Step
	// Notes say what was changed or looks wrong: a total that is not the sum, an
	// index out of range, an unknown category.
	Notes []string
	Raw   string // the answer, unchanged
}

// Parse reads a judge's answer about spans. Any text gives a result.
func Parse(raw string, t *label.Taxonomy, spans []spanfile.Span) Parsed {
	p := Parsed{Result: Empty(), Step: None, Raw: raw}
	reading, err := text.ReadObjectWith(raw, "scores")
	if err != nil {
		p.note("%v", err)
		return p
	}
	if reading.Wrapped {
		p.note("read leniently: the result is in another object or in a list")
	}
	switch err := p.enhanced(reading.JSON, t); {
	case err == nil && reading.Repaired:
		p.Step = Repaired
	case err == nil:
		p.Step = Enhanced
	default:
		p.note("not a valid result: %v", err)
		p.Result = Empty()
		if !p.basic(reading.JSON, t) {
			p.Result = Empty()
			return p
		}
		p.Step = Basic
	}
	if reading.Cut {
		p.cut(reading.JSON)
	}
	p.settle(t, spans)
	return p
}

// cut marks the list in which an answer ends that was cut off.
func (p *Parsed) cut(data []byte) {
	last := ""
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return
		}
		last, _ = key.(string)
	}
	switch last {
	case incorrect:
		last = listFalse
		fallthrough
	case listMissed, listFalse, listTaxonomy, listGranularity:
		p.note("%s was cut off", last)
		p.Result.lose(last)
	}
}

// incorrect is the list of wrong spans of the basic format, which has no others.
const incorrect = "incorrectExtractions"

func (p *Parsed) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// wire is a result as a judge writes it: anything can be missing.
type wire struct {
	Scores            *map[string]*text.Loose            `json:"scores"`
	TotalScore        *text.Loose                        `json:"totalScore"`
	MissedElements    *[]Missed                          `json:"missedElements"`
	FalsePositives    *[]FalsePositive                   `json:"falsePositives"`
	TaxonomyErrors    *[]Confusion                       `json:"taxonomyErrors"`
	GranularityErrors *[]Granularity                     `json:"granularityErrors"`
	CategoryScores    *map[string]map[string]*text.Loose `json:"categoryScores"`
	Notes             *string                            `json:"notes"`
	Lost              []string                           `json:"lostLists"` // of a stored result
}

// enhanced reads a full result, or returns why it is not one.
func (p *Parsed) enhanced(data []byte, t *label.Taxonomy) error {
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	r := &p.Result
	if w.Scores == nil {
		return fmt.Errorf("scores are missing")
	}
	var err error
	if r.Scores, err = scoresOf(*w.Scores); err != nil {
		return err
	}
	for i, missing := range []bool{w.MissedElements == nil, w.FalsePositives == nil, w.TaxonomyErrors == nil, w.GranularityErrors == nil, w.CategoryScores == nil} {
		if missing {
			return fmt.Errorf("%s is missing", []string{listMissed, listFalse, listTaxonomy, listGranularity, "categoryScores"}[i])
		}
	}
	r.Lost = w.Lost
	r.MissedElements, r.FalsePositives, r.TaxonomyErrors, r.GranularityErrors = *w.MissedElements, *w.FalsePositives, *w.TaxonomyErrors, *w.GranularityErrors
	for i, e := range r.MissedElements {
		if !slices.Contains(t.Severities, e.Severity) {
			return fmt.Errorf("missedElements[%d]: unknown severity %q", i, e.Severity)
		}
	}
	for i, e := range r.FalsePositives {
		if !slices.Contains(t.Reasons, e.Reason) {
			return fmt.Errorf("falsePositives[%d]: unknown reason %q", i, e.Reason)
		}
	}
	for i, e := range r.GranularityErrors {
		if !slices.Contains(t.Granularity, e.Issue) {
			return fmt.Errorf("granularityErrors[%d]: unknown issue %q", i, e.Issue)
		}
	}
	if err := p.categories(*w.CategoryScores, t); err != nil {
		return err
	}
	// What is not needed for a judgement is filled in, and noted: the schema has it.
	if r.TotalScore = r.Scores.Total(); w.TotalScore != nil {
		r.TotalScore = float64(*w.TotalScore)
	} else {
		p.note("totalScore is missing")
	}
	if w.Notes != nil {
		r.Notes = *w.Notes
	} else {
		p.note("notes is missing")
	}
	for i, e := range r.FalsePositives {
		if e.Text == "" {
			p.note("falsePositives[%d] has no text", i)
		}
	}
	return nil
}

func scoresOf(values map[string]*text.Loose) (Scores, error) {
	var list [5]float64
	for i, name := range Criteria {
		v := values[name]
		if v == nil {
			return Scores{}, fmt.Errorf("score %s is missing", name)
		}
		list[i] = float64(*v)
		if !(list[i] >= LeastScore && list[i] <= MostScore) {
			return Scores{}, fmt.Errorf("score %s is %v: want 1 to 5", name, list[i])
		}
	}
	return Scores{list[0], list[1], list[2], list[3], list[4]}, nil
}

// categories reads the scores of categories. One that the text does not have is
// null; a judge that gives 0 means the same.
func (p *Parsed) categories(values map[string]map[string]*text.Loose, t *label.Taxonomy) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v := values[name]
		if !hasCategory(t, name) {
			p.note("unknown category %q skipped", name)
			continue
		}
		coverage, precision := v["coverage"], v["precision"]
		if coverage == nil || precision == nil || *coverage == 0 || *precision == 0 {
			p.Result.CategoryScores[name] = nil
			continue
		}
		score := &CategoryScore{float64(*coverage), float64(*precision)}
		if !score.valid() {
			return fmt.Errorf("categoryScores.%s: %v and %v: want 1 to 5, or null", name, *coverage, *precision)
		}
		p.Result.CategoryScores[name] = score
	}
	return nil
}

// basic reads what it can of an object: the scores, which it must have, and of
// the rest what is valid. The errors of the basic format are texts.
func (p *Parsed) basic(data []byte, t *label.Taxonomy) bool {
	var keys map[string]json.RawMessage
	if json.Unmarshal(data, &keys) != nil {
		return false
	}
	var values map[string]*text.Loose
	if json.Unmarshal(keys["scores"], &values) != nil {
		return false
	}
	r := &p.Result
	var err error
	if r.Scores, err = scoresOf(values); err != nil {
		return false
	}
	r.TotalScore = r.Scores.Total()
	var total text.Loose
	if json.Unmarshal(keys["totalScore"], &total) == nil {
		r.TotalScore = float64(total)
	}
	leastSevere := t.Severities[len(t.Severities)-1]
	for _, e := range list(p, keys, listMissed, func(s string) Missed {
		return Missed{Text: s, ExpectedRole: "unknown", Category: "unknown"}
	}) {
		if !slices.Contains(t.Severities, e.Severity) {
			e.Severity = leastSevere
		}
		r.MissedElements = append(r.MissedElements, e)
	}
	byText := func(s string) FalsePositive {
		return FalsePositive{SpanIndex: -1, Text: s, AssignedRole: "unknown"}
	}
	for _, e := range append(list(p, keys, listFalse, byText), list(p, keys, incorrect, byText)...) {
		if !slices.Contains(t.Reasons, e.Reason) {
			e.Reason = label.Other
		}
		r.FalsePositives = append(r.FalsePositives, e)
	}
	r.TaxonomyErrors = append(r.TaxonomyErrors, list[Confusion](p, keys, listTaxonomy, nil)...)
	for i, e := range list[Granularity](p, keys, listGranularity, nil) {
		if slices.Contains(t.Granularity, e.Issue) {
			r.GranularityErrors = append(r.GranularityErrors, e)
		} else {
			p.note("granularityErrors[%d] dropped: unknown issue %q", i, e.Issue)
			r.lose(listGranularity)
		}
	}
	var categories map[string]json.RawMessage
	_ = json.Unmarshal(keys["categoryScores"], &categories) // without it there are none
	for _, name := range slices.Sorted(maps.Keys(categories)) {
		var v map[string]*text.Loose
		if json.Unmarshal(categories[name], &v) == nil {
			if err := p.categories(map[string]map[string]*text.Loose{name: v}, t); err != nil {
				p.note("%v", err)
			}
		}
	}
	_ = json.Unmarshal(keys["notes"], &r.Notes)
	return true
}

// list decodes the elements of a list that can be decoded, and notes the others; a text
// is an element where ofText is given. A list that is not there is not an empty one.
func list[E any](p *Parsed, keys map[string]json.RawMessage, kind string, ofText func(string) E) []E {
	var raw []json.RawMessage
	data, ok := keys[kind]
	of := kind
	if kind == incorrect {
		of = listFalse
	}
	switch _, basic := keys[incorrect]; {
	case !ok:
		if kind != incorrect && (!basic || kind == listMissed) {
			p.note("%s is missing", kind)
			p.Result.lose(kind)
		}
	case json.Unmarshal(data, &raw) != nil || raw == nil:
		p.note("%s dropped: not a list", kind)
		p.Result.lose(of)
	}
	var all []E
	for i, one := range raw {
		var s string
		var e E
		switch {
		case string(one) == "null":
		case ofText != nil && json.Unmarshal(one, &s) == nil:
			all = append(all, ofText(s))
		case json.Unmarshal(one, &e) == nil:
			all = append(all, e)
		default:
			p.note("%s[%d] dropped: it does not have the form of an error", kind, i)
			p.Result.lose(of)
		}
	}
	return all
}

// settle recomputes the total, finds the spans that errors are about, and flags
// confusions that cannot be counted.
func (p *Parsed) settle(t *label.Taxonomy, spans []spanfile.Span) {
	r := &p.Result
	if sum := r.Scores.Total(); !(math.Abs(sum-r.TotalScore) <= 1e-9) {
		p.note("the judge's total is %v, the sum of its scores %v", r.TotalScore, sum)
		r.TotalScore = sum
	}
	for i := range r.FalsePositives {
		e := &r.FalsePositives[i]
		e.SpanIndex = p.about("falsePositives", i, e.SpanIndex, e.Text, spans)
	}
	for i := range r.TaxonomyErrors {
		e := &r.TaxonomyErrors[i]
		e.SpanIndex = p.about("taxonomyErrors", i, e.SpanIndex, e.Text, spans)
		switch {
		case t.Canonical(e.AssignedRole) == t.Canonical(e.ExpectedRole):
			p.note("taxonomyErrors[%d]: assigned and expected role are both %q", i, e.ExpectedRole)
		case !t.Known(e.ExpectedRole):
			p.note("taxonomyErrors[%d]: the taxonomy has no role %q", i, e.ExpectedRole)
		}
	}
	for i := range r.GranularityErrors {
		e := &r.GranularityErrors[i]
		e.SpanIndex = p.about("granularityErrors", i, e.SpanIndex, e.Text, spans)
	}
}

// about is the index of the span that an error is about: where index and text
// disagree, that of the only span with the text; -1 if the index is invalid.
func (p *Parsed) about(kind string, i int, index Index, of string, spans []spanfile.Span) Index {
	if index >= 0 && int(index) < len(spans) && spans[index].Text == of {
		return index
	}
	found, n := -1, 0
	for k := range spans {
		if spans[k].Text == of {
			found, n = k, n+1
		}
	}
	switch {
	case n == 1:
		if index != -1 {
			p.note("%s[%d]: index %d is not the span %q: its text is that of span %d", kind, i, index, of, found)
		}
		return Index(found)
	case index >= 0 && int(index) < len(spans):
		p.note("%s[%d]: span %d is not %q", kind, i, index, of)
		return index
	case index != -1:
		p.note("%s[%d]: index %d is out of range", kind, i, index)
	}
	return -1
}

// Recorded reads a judgement that another tool has stored. What it has parsed is
// taken as it is, scores outside 1 to 5 included; anything else is parsed like an
// answer.
func Recorded(data []byte, t *label.Taxonomy, spans []spanfile.Span) Parsed {
	r := new(Result)
	if err := jsonv2.Unmarshal(data, r); err != nil || !r.complete() {
		return Parse(string(data), t, spans)
	}
	p := Parsed{Step: Enhanced, Raw: string(data)}
	if r.Step == Repaired || r.Step == Basic {
		p.Step = r.Step
	}
	if r.CategoryScores == nil {
		r.CategoryScores = map[string]*CategoryScore{}
	}
	for _, name := range slices.Sorted(maps.Keys(r.CategoryScores)) {
		if s := r.CategoryScores[name]; s != nil && (s.Coverage == 0 || s.Precision == 0) {
			r.CategoryScores[name] = nil // absent: see categories
		}
		if !hasCategory(t, name) {
			p.note("unknown category %q skipped", name)
			delete(r.CategoryScores, name)
		}
	}
	p.Result = *r
	if _, failed := r.Failure(); failed {
		p.Step = None
	}
	p.settle(t, spans)
	return p
}

// complete reports whether a stored judgement has all lists, and scores that are
// numbers.
func (r *Result) complete() bool {
	total := r.Scores.Total()
	return r.MissedElements != nil && r.FalsePositives != nil && r.TaxonomyErrors != nil && r.GranularityErrors != nil && !math.IsNaN(total) && !math.IsInf(total, 0)
}

func hasCategory(t *label.Taxonomy, name string) bool {
	return slices.ContainsFunc(t.Categories, func(c label.Category) bool { return c.Name == name })
}

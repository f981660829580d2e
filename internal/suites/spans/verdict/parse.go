package verdict

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

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
	if len(reading.Others) > 0 {
		p.note("several different results, of which the first is read")
	}
	if err := p.read(reading.JSON, t); err != nil {
		p.note("not a valid result: %v", err)
		p.Result, p.Step = Empty(), None
		return p
	}
	if p.Step == Enhanced && reading.Repaired {
		p.Step = Repaired
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
	for key := range text.Members(data) {
		last = key
	}
	if last == incorrect {
		last = listFalse
	}
	if slices.Contains([]string{listMissed, listFalse, listTaxonomy, listGranularity}, last) {
		p.note("%s was cut off", last)
		p.Result.lose(last)
	}
}

// incorrect is the list of wrong spans of the basic format, which has no others.
const incorrect = "incorrectExtractions"

func (p *Parsed) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// fault notes why a judgement is not valid as written.
func (p *Parsed) fault(format string, args ...any) {
	p.Step = Basic
	p.note(format, args...)
}

// wire is a result as a judge writes it: anything can be missing, or of another form.
type wire struct {
	Scores               map[string]*text.Loose
	TotalScore           json.RawMessage
	MissedElements       json.RawMessage
	FalsePositives       json.RawMessage
	IncorrectExtractions json.RawMessage // of the basic format
	TaxonomyErrors       json.RawMessage
	GranularityErrors    json.RawMessage
	CategoryScores       json.RawMessage
	Notes                json.RawMessage
	LostLists            json.RawMessage // of a stored result
}

func absent(value json.RawMessage) bool { return value == nil || string(value) == "null" }

// read reads a result: its scores, and of the rest what is valid. If all is, the step is
// [Enhanced]. The errors of the basic format are texts. It returns why there are no scores.
func (p *Parsed) read(data []byte, t *label.Taxonomy) (err error) {
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	r := &p.Result
	if w.Scores == nil {
		return errors.New("scores are missing")
	}
	if r.Scores, err = scoresOf(w.Scores); err != nil {
		return err
	}
	p.Step = Enhanced
	_ = json.Unmarshal(w.LostLists, &r.Lost) // none but in a stored result
	leastSevere, isBasic := t.Severities[len(t.Severities)-1], w.IncorrectExtractions != nil
	if isBasic {
		p.Step = Basic
	}
	known := func(value *string, values []string, what, otherwise string) (wrong string) {
		if !slices.Contains(values, *value) {
			wrong = fmt.Sprintf("unknown %s %q", what, *value)
			*value = otherwise
		}
		return wrong
	}
	r.MissedElements = list(p, listMissed, w.MissedElements, false, func(s string) Missed {
		return Missed{Text: s, ExpectedRole: "unknown", Category: "unknown", Severity: leastSevere}
	}, func(e *Missed) string { return known(&e.Severity, t.Severities, "severity", leastSevere) })
	byText := func(s string) FalsePositive {
		return FalsePositive{SpanIndex: -1, Text: s, AssignedRole: "unknown", Reason: label.Other}
	}
	reason := func(e *FalsePositive) string { return known(&e.Reason, t.Reasons, "reason", label.Other) }
	r.FalsePositives = append(list(p, listFalse, w.FalsePositives, isBasic, byText, reason),
		list(p, incorrect, w.IncorrectExtractions, true, byText, reason)...)
	r.TaxonomyErrors = list[Confusion](p, listTaxonomy, w.TaxonomyErrors, isBasic, nil, nil)
	r.GranularityErrors = list(p, listGranularity, w.GranularityErrors, isBasic, nil, func(e *Granularity) string {
		if wrong := known(&e.Issue, t.Granularity, "issue", ""); wrong != "" {
			return dropped + wrong
		}
		return ""
	})
	p.categories(w.CategoryScores, t)
	// What is not needed for a judgement is filled in, and noted: the schema has it.
	r.TotalScore = r.Scores.Total()
	optional := func(name string, value json.RawMessage, into any) {
		if absent(value) {
			p.note("%s is missing", name)
		} else if json.Unmarshal(value, into) != nil {
			p.fault("%s dropped: of another form", name)
		}
	}
	optional("totalScore", w.TotalScore, (*text.Loose)(&r.TotalScore))
	optional("notes", w.Notes, &r.Notes)
	for i, e := range r.FalsePositives {
		if e.Text == "" {
			p.note("falsePositives[%d] has no text", i)
		}
	}
	return nil
}

// dropped begins the reason why an error is not kept.
const dropped = "dropped: "

// list decodes the elements of a list that can be decoded, and notes what is wrong with the
// others; a text is an element where ofText is given. A list that is not there is not an empty
// one, unless it is optional.
func list[E any](p *Parsed, kind string, data json.RawMessage, optional bool, ofText func(string) E, wrong func(*E) string) []E {
	all, of := []E{}, kind
	if kind == incorrect {
		of = listFalse
	}
	var raw []json.RawMessage
	switch {
	case data == nil && optional:
		return all
	case data == nil:
		p.fault("%s is missing", kind)
		p.Result.lose(of)
	case json.Unmarshal(data, &raw) != nil || raw == nil:
		p.fault("%s dropped: not a list", kind)
		p.Result.lose(of)
	}
	for i, one := range raw {
		var s string
		var e E
		why := ""
		switch {
		case string(one) == "null":
			why = dropped + "null"
		case ofText != nil && json.Unmarshal(one, &s) == nil:
			p.Step, e = Basic, ofText(s)
		case json.Unmarshal(one, &e) != nil:
			why = dropped + "it does not have the form of an error"
		case wrong != nil:
			why = wrong(&e)
		}
		if why != "" {
			p.fault("%s[%d] %s", kind, i, why)
		}
		if strings.HasPrefix(why, dropped) {
			p.Result.lose(of)
		} else {
			all = append(all, e)
		}
	}
	return all
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
func (p *Parsed) categories(data json.RawMessage, t *label.Taxonomy) {
	var values map[string]json.RawMessage
	if absent(data) || json.Unmarshal(data, &values) != nil {
		p.fault("categoryScores is missing")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		var v map[string]*text.Loose
		switch err := json.Unmarshal(values[name], &v); {
		case !hasCategory(t, name):
			p.note("unknown category %q skipped", name)
			continue
		case err != nil:
			p.fault("categoryScores.%s dropped: %v", name, err)
			continue
		}
		coverage, precision := v["coverage"], v["precision"]
		if coverage == nil || precision == nil || *coverage == 0 || *precision == 0 {
			p.Result.CategoryScores[name] = nil
			continue
		}
		score := &CategoryScore{float64(*coverage), float64(*precision)}
		if !score.valid() {
			p.fault("categoryScores.%s: %v and %v: want 1 to 5, or null", name, *coverage, *precision)
			continue
		}
		p.Result.CategoryScores[name] = score
	}
}

// settle recomputes the total, finds the spans that errors are about, and flags
// confusions that cannot be counted.
func (p *Parsed) settle(t *label.Taxonomy, spans []spanfile.Span) {
	r := &p.Result
	if sum := r.Scores.Total(); !(math.Abs(sum-r.TotalScore) <= 1e-9) {
		p.note("the judge's total is %v, the sum of its scores %v", r.TotalScore, sum)
		r.TotalScore = sum
	}
	r.ofSpans(func(kind, i int, index *Index, text string) {
		*index = p.about(spanLists[kind], i, *index, text, spans)
	})
	for i, e := range r.TaxonomyErrors {
		switch {
		case t.Canonical(e.AssignedRole) == t.Canonical(e.ExpectedRole):
			p.note("taxonomyErrors[%d]: assigned and expected role are both %q", i, e.ExpectedRole)
		case !t.Known(e.ExpectedRole):
			p.note("taxonomyErrors[%d]: the taxonomy has no role %q", i, e.ExpectedRole)
		}
	}
}

// about is the index of the span that an error is about: where index and text
// disagree, that of the only span with the text, or else with the text but for case, blanks and
// punctuation at its ends; -1 if the index is invalid.
func (p *Parsed) about(kind string, i int, index Index, of string, spans []spanfile.Span) Index {
	inRange := index >= 0 && int(index) < len(spans)
	if inRange && spans[index].Text == of {
		return index
	}
	found, n := only(spans, of, func(s string) string { return s })
	if n == 0 {
		if folded := text.Fold(of); folded != "" {
			if inRange && text.Fold(spans[index].Text) == folded {
				return index
			}
			found, n = only(spans, folded, text.Fold)
		}
	}
	switch {
	case n == 1:
		if index != -1 {
			p.note("%s[%d]: index %d is not the span %q: its text is that of span %d", kind, i, index, of, found)
		}
		return Index(found)
	case inRange:
		p.note("%s[%d]: span %d is not %q", kind, i, index, of)
		return index
	case index != -1:
		p.note("%s[%d]: index %d is out of range", kind, i, index)
	}
	return -1
}

// only is the last span with a text as form has it, and counts them.
func only(spans []spanfile.Span, of string, form func(string) string) (at, n int) {
	for k := range spans {
		if form(spans[k].Text) == of {
			at, n = k, n+1
		}
	}
	return at, n
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

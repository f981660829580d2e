package annotate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// An Answer has a value for each question that was answered: text for a choice or
// text, a list for several, a number, or a list of [Span].
type Answer map[string]jsontext.Value

// A Span is a marked passage. Start and End count code points of the page.
type Span struct {
	Page  int    `json:"page"`
	Start int    `json:"start"`
	End   int    `json:"end"`
	Text  string `json:"text"`
	Label string `json:"label,omitempty"`
	// Value is that of gold of a list, which the passage shows, and Record the number of its
	// record, from 1, if records have several values.
	Value  string `json:"value,omitempty"`
	Record int    `json:"record,omitempty"`
}

// valueOf decodes an answer. ok is false if the question was left open.
func valueOf[T any](a Answer, name string) (value T, ok bool) {
	if data, given := a[name]; given && json.Unmarshal(data, &value) == nil {
		return value, true
	}
	return *new(T), false
}

// Text is the answer to a choice or text, or "".
func (a Answer) Text(name string) string {
	s, _ := valueOf[string](a, name)
	return s
}

// Spans is the answer to a question about passages.
func (a Answer) Spans(name string) []Span {
	s, _ := valueOf[[]Span](a, name)
	return s
}

// List is the answer to a question with several options.
func (a Answer) List(name string) []string {
	s, _ := valueOf[[]string](a, name)
	return s
}

// put encodes the answer to a question.
func (a Answer) put(name string, value any) { a[name] = encoded(value) }

// label is the answer to a question as one label, to compare people; "" if it was left open.
func (a Answer) label(q study.Question) string {
	switch q.Type {
	case "choice", "text":
		return a.Text(q.Name)
	case "several":
		return strings.Join(slices.Sorted(slices.Values(a.List(q.Name))), " + ")
	case "number": // 4.0 of a table is the 4 of a browser
		if x := a[q.Name].Clone(); x.Canonicalize() == nil {
			return string(x)
		}
	}
	return string(a[q.Name])
}

// equal reports whether two answers say the same in JSON of any form. A text of white space counts as no text.
func (a Answer) equal(b Answer) bool {
	return maps.EqualFunc(a.written(), b.written(), func(x, y jsontext.Value) bool {
		x, y = x.Clone(), y.Clone()
		return x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y)
	})
}

// written is an answer without blank texts, which a table does not have.
func (a Answer) written() Answer {
	written := maps.Clone(a)
	maps.DeleteFunc(written, func(name string, v jsontext.Value) bool {
		return v.Kind() == '"' && strings.TrimSpace(a.Text(name)) == ""
	})
	return written
}

// The questions of a failure: its codes in order, and the name of a new one.
var (
	codePlaces = []string{"primary", "secondary", "tertiary"}
	newCode    = "emergent"
)

// codes are the codes of a failure, whatever their place. A new code counts under its name.
func (a Answer) codes() (list []string) {
	for _, place := range codePlaces {
		code := a.Text(place)
		if name := strings.ToLower(strings.TrimSpace(a.Text(newCode))); code == newCode && name != "" {
			code = newCode + " " + name
		}
		if code != "" && !slices.Contains(list, code) {
			list = append(list, code)
		}
	}
	return list
}

// The questions of kind gold.
const (
	goldExists     = "exists"
	goldValue      = "value"
	goldQuote      = "quote"
	goldCandidates = "candidates"
)

// unitGold is an answer to the questions of kind gold.
func (a Answer) unitGold(unit string) eval.UnitGold {
	g := eval.UnitGold{Unit: unit}
	spans := a.Spans(goldQuote)
	list := slices.ContainsFunc(spans, func(s Span) bool { return s.Value != "" })
	switch exists := a.Text(goldExists); {
	case exists == study.UnitMissing:
		g.Missing = true
	case list:
		numbers := map[int]int{} // of records, which may have gaps
		for i, s := range spans {
			number := cmp.Or(s.Record, -1-i)
			n, known := numbers[number]
			if !known {
				n = len(g.Records)
				numbers[number] = n
				g.Records = append(g.Records, nil)
			}
			g.Records[n] = append(g.Records[n], eval.UnitGold{Unit: s.Label, Values: []string{strings.TrimSpace(s.Value)}, Quote: s.Text, Page: s.Page})
		}
	case exists == study.UnitAmbiguous:
		g.Ambiguous = true
		for line := range strings.Lines(a.Text(goldCandidates)) {
			if line = strings.TrimSpace(line); line != "" {
				g.Values = append(g.Values, line)
			}
		}
	default:
		g.Values = []string{strings.TrimSpace(a.Text(goldValue))}
		for _, s := range spans {
			g.Quote, g.Page = s.Text, s.Page
		}
	}
	return g
}

// valuesOf are the values of gold as text, a line for each record of a list; those of a list are
// sorted, since it has no order.
func valuesOf(g eval.UnitGold) (lines []string) {
	if g.Records == nil {
		return g.Values
	}
	for _, record := range g.Records {
		var values []string
		for _, v := range record {
			values = append(values, strings.TrimPrefix(v.Unit+" "+v.Values[0], " "))
		}
		slices.Sort(values)
		lines = append(lines, strings.Join(values, ", "))
	}
	slices.Sort(lines)
	return lines
}

// leaves are the values that gold has, each with the name of its unit.
func leaves(g eval.UnitGold) (list []eval.UnitGold) {
	if g.Records == nil {
		return []eval.UnitGold{g}
	}
	for _, v := range slices.Concat(g.Records...) {
		v.Unit = eval.Leaf(g.Unit, v.Unit)
		list = append(list, v)
	}
	return list
}

// check returns what is wrong with an answer to what was shown. A draft may be
// incomplete.
func (a Answer) check(shown Shown, draft bool) error {
	var names []string
	for _, q := range shown.Ask {
		names = append(names, q.Name)
	}
	for name := range a {
		if !slices.Contains(names, name) {
			return fmt.Errorf("the task asks no %q; it asks %s", name, strings.Join(names, ", "))
		}
	}
	for _, q := range shown.Ask {
		value, given := a[q.Name]
		switch {
		case !q.Applies(a.Text):
			if given && !draft {
				return fmt.Errorf("%s: is asked only if %s", q.Text, q.When)
			}
		case given:
			if err := checkValue(q, value, shown, draft); err != nil {
				return fmt.Errorf("%s: %w", q.Text, err)
			}
		case !q.Optional && !draft:
			return fmt.Errorf("%s: missing answer %q: want %s", q.Text, q.Name, wanted(q))
		}
	}
	return nil
}

// wanted says what answers a question takes.
func wanted(q study.Question) string {
	options := strings.Join(q.Options, ", ")
	switch q.Type {
	case "choice":
		return "one of " + options
	case "several":
		return "a list of " + options
	case "number", "text":
		return "a " + q.Type
	}
	if options != "" {
		return "passages with a label of " + options
	}
	return "passages"
}

// strict decodes a value.
func strict[T any](data []byte) (value T, err error) {
	err = dataset.DecodeStrict(data, &value)
	return value, err
}

func checkValue(q study.Question, value jsontext.Value, shown Shown, draft bool) error {
	switch q.Type {
	case "choice":
		s, err := strict[string](value)
		return cmp.Or(err, checkOption(q, s))
	case "several":
		list, err := strict[[]string](value)
		again := repeats[string]()
		for _, s := range list {
			if again(s) {
				return fmt.Errorf("%q is given twice", s)
			}
			err = cmp.Or(err, checkOption(q, s))
		}
		return cmp.Or(err, checkCount(q, len(list), "option", "options", draft))
	case "text":
		s, err := strict[string](value)
		return cmp.Or(err, checkCount(q, utf8.RuneCountInString(strings.TrimSpace(s)), "character", "characters", draft))
	case "number":
		x, err := strict[float64](value)
		return cmp.Or(err, checkRange(q, x))
	}
	spans, err := strict[[]Span](value)
	pages := runesOf(shown.Pages)
	again, twice := repeats[Span](), repeats[Span]()
	for _, s := range spans {
		if err = cmp.Or(err, s.check(q, pages, draft)); err != nil {
			return err
		}
		if draft {
			continue
		}
		if again(s) {
			return fmt.Errorf("the passage %d to %d of page %d is given twice", s.Start, s.End, s.Page)
		}
		if s.Record > 0 && twice(Span{Record: s.Record, Label: s.Label}) {
			return fmt.Errorf("record %d has two values of %s: give one of them another number", s.Record, s.Label)
		}
	}
	return cmp.Or(err, checkCount(q, len(spans), "passage", "passages", draft))
}

// repeats returns a function that reports whether it was called with a value before.
func repeats[T comparable]() func(T) bool {
	seen := map[T]bool{}
	return func(v T) bool {
		was := seen[v]
		seen[v] = true
		return was
	}
}

func checkOption(q study.Question, s string) error {
	if !slices.Contains(q.Options, s) {
		return fmt.Errorf("%q is not an option: want one of %s", s, strings.Join(q.Options, ", "))
	}
	return nil
}

// checkCount compares a length with the bounds of a question. Without a bound, an
// answer that is not optional needs one.
func checkCount(q study.Question, n int, one, many string, draft bool) error {
	least := 1
	if q.Min != nil {
		least = int(*q.Min)
	}
	switch {
	case draft || n == 0 && q.Optional:
	case n < least:
		return fmt.Errorf("got %s, want at least %d", text.Plural(n, one, many), least)
	case q.Max != nil && n > int(*q.Max):
		return fmt.Errorf("got %s, want at most %d", text.Plural(n, one, many), int(*q.Max))
	}
	return nil
}

func checkRange(q study.Question, x float64) error {
	switch {
	case q.Min != nil && x < *q.Min:
		return fmt.Errorf("got %v, want at least %v", x, *q.Min)
	case q.Max != nil && x > *q.Max:
		return fmt.Errorf("got %v, want at most %v", x, *q.Max)
	}
	return nil
}

// runesOf are the code points of pages by number, which passages count: once for all passages of an answer.
func runesOf(pages []Page) map[int][]rune {
	of := map[int][]rune{}
	for _, p := range pages {
		of[p.Number] = []rune(p.Text)
	}
	return of
}

// check compares a passage with its page. The text may be the visible form of the
// page, which has as many code points. In a draft it may have no label yet.
func (s *Span) check(q study.Question, pages map[int][]rune, draft bool) error {
	runes, ok := pages[s.Page]
	if !ok {
		return fmt.Errorf("page %d does not exist", s.Page)
	}
	if s.Start < 0 || s.Start >= s.End || s.End > len(runes) {
		return fmt.Errorf("passage %d to %d is outside page %d, which has %d characters", s.Start, s.End, s.Page, len(runes))
	}
	if slice := string(runes[s.Start:s.End]); s.Text != slice && s.Text != say.Exactly(slice) {
		return fmt.Errorf("the passage %d to %d of page %d is %q, not %q", s.Start, s.End, s.Page, slice, s.Text)
	}
	switch {
	case draft && s.Label == "":
	case len(q.Options) > 0 && !slices.Contains(q.Options, s.Label):
		return fmt.Errorf("%q is not a label: want one of %s", s.Label, strings.Join(q.Options, ", "))
	case len(q.Options) == 0 && s.Label != "":
		return fmt.Errorf("the passages have no labels, got %q", s.Label)
	case !q.Values && (s.Value != "" || s.Record != 0):
		return fmt.Errorf("the passages have no values, got %q", s.Value)
	case q.Values && strings.TrimSpace(s.Value) == "" && !draft:
		return fmt.Errorf("the passage %q has no value", text.Shorten(s.Text, 80))
	case q.Values && (s.Record < 1) == (len(q.Options) > 0) && !draft:
		return fmt.Errorf("the passage %q has record %d: want the number of a record from 1, or none in a list of values", text.Shorten(s.Text, 80), s.Record)
	}
	return nil
}

// exact returns the answer with the text of its passages as the pages have it, and so of values
// that are the visible form of their passage.
func (a Answer) exact(shown Shown) Answer {
	line := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for _, q := range shown.Ask {
		spans := a.Spans(q.Name)
		if q.Type != "span" || len(spans) == 0 {
			continue
		}
		pages := runesOf(shown.Pages)
		for i, s := range spans {
			own := string(pages[s.Page][s.Start:s.End])
			visible := func(value string) bool { return value != "" && line(value) == line(say.Exactly(own)) }
			spans[i].Text = own
			if visible(s.Value) {
				spans[i].Value = line(own)
			}
			if q.Name == goldQuote && visible(a.Text(goldValue)) {
				a.put(goldValue, line(own))
			}
		}
		a.put(q.Name, spans)
	}
	return a
}

package extraction

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Document is one record of the data: a text and its gold. Lines such as
// ---PAGE 2--- divide the text into pages.
type Document struct {
	ID         string `json:"document_id"`
	Text       string `json:"text"`
	Schema     string `json:"schema"`
	DocType    string `json:"doc_type,omitempty"` // default: the name of the schema
	Difficulty string `json:"difficulty,omitempty"`
	Split      string `json:"split,omitempty"`   // dev, test or empty
	Cluster    string `json:"cluster,omitempty"` // documents of a cluster are resampled together
	Truth      []Gold `json:"ground_truth"`
	// Gold is gold in the shape of a JSON Schema, instead of ground_truth.
	Gold   jsontext.Value            `json:"gold,omitempty"`
	Others map[string]jsontext.Value `json:",inline"` // further members: shown, and strata

	members []string // those of the record that are none of the above
}

// Gold is the annotation of one field of one document.
type Gold struct {
	Field      string    `json:"field"`
	Exists     *bool     `json:"exists_in_document"`
	Ambiguous  bool      `json:"is_ambiguous,omitempty"`
	Correct    literal   `json:"correct_value,omitempty"`
	Acceptable []literal `json:"acceptable_values,omitempty"`
	Candidates []literal `json:"candidate_values,omitempty"`
	Quote      string    `json:"evidence_quote,omitempty"`        // a passage that shows the value
	Contains   string    `json:"evidence_must_contain,omitempty"` // or text that such a passage must contain
	Page       int       `json:"page,omitempty"`
	Note       string    `json:"note,omitempty"` // why the field is ambiguous
}

// A literal is the text of a JSON string, number or boolean; "" for null.
type literal string

// UnmarshalJSON accepts a string, number, boolean or null.
func (l *literal) UnmarshalJSON(data []byte) error {
	switch jsontext.Value(data).Kind() {
	case '{', '[':
		return errors.New("want a value: a string, a number, true, false or null")
	case 'n':
		data = nil
	case '"':
		text, err := jsontext.AppendUnquote(nil, data)
		if err != nil {
			return err
		}
		data = text
	}
	*l = literal(data)
	return nil
}

// A field is present, missing or ambiguous.
func (g *Gold) missing() bool { return g.Exists != nil && !*g.Exists }
func (g *Gold) present() bool { return !g.missing() && !g.Ambiguous }

// goldRules say what gold may lack.
type goldRules struct {
	mayBeEmpty bool // people have still to make it
	plain      bool // values need not be in the text
}

// check validates a record and returns all errors, which the caller locates. It passes to
// warn what is doubtful.
func (d *Document) check(s *Schema, rules goldRules, warn func(string)) error {
	var wrong findings
	wrong.add(strings.TrimSpace(d.Text) == "", "text is empty: there is nothing to extract from")
	wrong.add(d.Split != "" && d.Split != study.SplitDev && d.Split != study.SplitTest,
		"split is %q: want dev or test, or leave it out", d.Split)
	index, err := text.NewIndex(d.Text)
	if err != nil {
		wrong.add(true, "%v", err)
		return wrong.errorOf(d.ID)
	}
	s.index()
	seen := map[string]bool{}
	for i := range d.Truth {
		g := &d.Truth[i]
		name, fieldType := g.Field, text.String
		if name == "" {
			name = fmt.Sprintf("ground_truth[%d]", i)
			wrong.add(true, "%s has no field name", name)
		}
		var ofField, doubts findings
		if _, n, err := new(tree).at(s.root, g.Field); err == nil {
			fieldType = s.Fields[n.field].Type
		} else if g.Field != "" {
			ofField.add(true, "schema %s %v", s.Name, err)
		}
		ofField.add(seen[name], "duplicate gold")
		seen[name] = true
		before := len(ofField)
		if g.check(fieldType, index, &ofField); len(ofField) == before && !g.missing() {
			g.checkValues(fieldType, index, rules, &ofField, &doubts)
		}
		for _, what := range ofField {
			wrong.add(true, "field %q: %s", name, what)
		}
		for _, what := range doubts {
			warn(fmt.Sprintf("document %q: field %q: %s", d.ID, name, what))
		}
	}
	lists := d.Truth != nil && !slices.ContainsFunc(s.Fields, func(f Field) bool { return !inList(f.Name) }) // all can be empty
	wrong.add(len(d.Truth) == 0 && !rules.mayBeEmpty && !lists,
		"ground_truth is empty: give gold for at least one field, "+
			"leave the document out, or let people make gold with `scruple annotate`")
	return wrong.errorOf(d.ID)
}

// findings are what is wrong with a document or its gold.
type findings []string

func (f *findings) add(wrong bool, format string, args ...any) {
	if wrong {
		*f = append(*f, fmt.Sprintf(format, args...))
	}
}

func (f findings) errorOf(document string) error {
	var errs []error
	for _, what := range f {
		errs = append(errs, fmt.Errorf("document %q: %s", document, what))
	}
	return errors.Join(errs...)
}

// checkValues checks whether an answer can be right. It is wrong if none can: if a
// value does not exist, or if gold has evidence that does not show it. It is doubtful
// if answers can only match a value as text, or if no quote can show it; the
// comparison may not know the notation of the document. Values of type enum are often
// classes, for which annotators quote the reason.
func (g *Gold) checkValues(t text.Type, index *text.Index, rules goldRules, wrong, doubts *findings) {
	var right []literal
	for _, v := range slices.Concat([]literal{g.Correct}, g.Acceptable, g.Candidates) {
		if (v != "" || !g.Ambiguous) && !slices.Contains(right, v) {
			right = append(right, v)
		}
	}
	for _, v := range right {
		err := text.Check(t, string(v))
		noDay := errors.Is(err, text.ErrNoDay)
		wrong.add(noDay, "value %q: %v", clip(string(v)), err)
		doubts.add(err != nil && !noDay,
			"value %q cannot be read as type %s and is compared as text: %v", clip(string(v)), t, err)
	}
	if t == text.Date && !slices.ContainsFunc(right, func(v literal) bool { return days(v) == 1 }) {
		for _, v := range right {
			doubts.add(days(v) == 2, "value %q can be two days and is compared as written: add the one that is meant to acceptable_values, such as 2024-03-15", clip(string(v)))
		}
	}
	percent := func(v literal) bool { return strings.ContainsAny(string(v), "%％") }
	if t == text.Number && !slices.ContainsFunc(right, func(v literal) bool { return !percent(v) }) {
		for _, v := range right {
			doubts.add(true, "value %q is compared as the number before the percent sign: write the number that is meant, 7 or 0.07 for 7%% (in a workbook, format the cells as numbers), or add the other to acceptable_values", clip(string(v)))
		}
	}
	if rules.plain {
		return
	}
	held := func(v literal) bool { return index.Holds(t, string(v)) }
	if g.Ambiguous {
		for _, v := range g.Candidates {
			doubts.add(!held(v),
				"candidate value %q is not in the text, so no quote can show it", clip(string(v)))
		}
		return
	}
	serious := wrong
	if t == text.Enum || g.Quote == "" && g.Contains == "" {
		serious = doubts
	}
	const remedy = "add its spelling in the text to acceptable_values, or correct the value"
	if g.Quote == "" {
		serious.add(!slices.ContainsFunc(right, held),
			"value %q is nowhere in the text, so no quote can show it: %s", clip(string(g.Correct)), remedy)
		return
	}
	quote := text.MinimalQuote(g.Quote)
	shown := slices.ContainsFunc(right, func(v literal) bool { return !blank(v) && strings.Contains(quote, text.Minimal(string(v))) }) ||
		slices.ContainsFunc(right, func(v literal) bool { return text.Contains(t, quote, string(v)) })
	serious.add(!shown,
		"evidence_quote %q does not contain the value %q: %s", clip(g.Quote), clip(string(g.Correct)), remedy)
}

// days are how many a date can be: two if its order of day and month is ambiguous, 0 if it is none.
func days(v literal) int {
	r, err := text.ParseDate(string(v))
	switch {
	case err != nil:
		return 0
	case r.Ambiguous:
		return 2
	}
	return 1
}

// check validates the gold of a field: some answer must be able to match it.
func (g *Gold) check(t text.Type, index *text.Index, wrong *findings) {
	wrong.add(g.Exists == nil, "exists_in_document is missing: want true or false")
	switch {
	case g.missing():
		valued := g.Correct != "" || len(g.Acceptable) > 0 || len(g.Candidates) > 0
		wrong.add(g.Ambiguous, "is ambiguous but does not exist in the document: change one of the two")
		wrong.add(valued && !g.Ambiguous,
			"does not exist in the document but has a value: set exists_in_document, or remove the values")
		wrong.add(g.Quote != "" || g.Contains != "",
			"does not exist in the document but has evidence: set exists_in_document, or remove the evidence")
		wrong.add(g.Page != 0, "does not exist in the document but has page %d", g.Page)
		return
	case g.Ambiguous:
		distinct := text.NewSet(t)
		for _, v := range g.Candidates {
			distinct.Add(string(v))
		}
		wrong.add(distinct.Len() < 2,
			"is ambiguous but candidate_values has %s: list at least two, or give one correct_value instead",
			text.Plural(distinct.Len(), "distinct value", "distinct values"))
		wrong.add(g.Correct != "", "is ambiguous but has correct_value %q: remove one of the two", g.Correct)
	case g.Exists != nil:
		wrong.add(blank(g.Correct), "exists in the document but has no correct_value")
		wrong.add(len(g.Candidates) > 0,
			"has candidate_values but is not ambiguous: set is_ambiguous, or move them to acceptable_values")
	}
	wrong.add(slices.ContainsFunc(slices.Concat(g.Acceptable, g.Candidates), blank),
		"has an empty value among acceptable_values or candidate_values: remove it")
	wrong.add(g.Contains != "" && !index.Has(g.Contains),
		"evidence_must_contain %q is not in the text, so no quote can contain it", clip(g.Contains))
	if g.Page != 0 && !slices.ContainsFunc(index.Pages(), func(p text.Page) bool { return p.Number == g.Page }) {
		wrong.add(true, "page %d: the document has no such page", g.Page)
	} else if g.Quote != "" && !index.Has(g.Quote) { // the first place is enough: filings are long, and their quotes many
		wrong.add(true,
			"evidence_quote %q is not in the text: it must be copied character for character (white space may differ)", clip(g.Quote))
	} else if g.Quote != "" && g.Page != 0 && !index.BeginsOn(g.Quote, g.Page) {
		wrong.add(true,
			"evidence_quote %q is on page %d, not on page %d", clip(g.Quote), index.Find(g.Quote)[0].Page, g.Page)
	}
}

func blank(v literal) bool { return strings.TrimSpace(string(v)) == "" }

// inputHash covers what arms see of the document, goldHash its gold. Neither
// depends on key order or spacing in the file.
func (d *Document) inputHash() eval.Hash {
	return kit.Hash(d.Schema, d.Text)
}

func (d *Document) goldHash() eval.Hash {
	if d.Truth == nil { // people have still to make it
		return 0
	}
	var b []byte
	for _, g := range d.Truth {
		b = kit.AppendParts(b, g.Field, strconv.FormatBool(g.missing()), strconv.FormatBool(g.Ambiguous),
			string(g.Correct), g.Quote, g.Contains, strconv.Itoa(g.Page), g.Note)
		b = kit.AppendParts(b, strconv.Itoa(len(g.Acceptable)), strconv.Itoa(len(g.Candidates)))
		b = kit.AppendParts(kit.AppendParts(b, stringsOf(g.Acceptable)...), stringsOf(g.Candidates)...)
	}
	return eval.HashOf(b)
}

// clip shortens a text for an error message.
func clip(s string) string { return text.Shorten(s, 80) }

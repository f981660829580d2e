package extraction

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/eval"
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

// UnmarshalJSONFrom refuses unknown keys, which a document may have.
func (g *Gold) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	type plain Gold
	return json.UnmarshalDecode(d, (*plain)(g), json.RejectUnknownMembers(true))
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

// check validates a record and returns all errors, which the caller locates. It passes to
// warn what is doubtful. A document may have no gold if people have still to make it. Without
// evidence, values need not be in the text.
func (d *Document) check(s *Schema, forPeople, evidence bool, warn func(string)) error {
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("document %q: %s", d.ID, fmt.Sprintf(format, args...)))
	}
	if strings.TrimSpace(d.Text) == "" {
		fault("text is empty: there is nothing to extract from")
	}
	if d.Split != "" && d.Split != splitDev && d.Split != splitTest {
		fault("split is %q: want dev or test, or leave it out", d.Split)
	}
	index, err := text.NewIndex(d.Text)
	if err != nil {
		fault("%v", err)
		return errors.Join(errs...)
	}
	s.index()
	seen := map[string]bool{}
	for i := range d.Truth {
		g := &d.Truth[i]
		name := g.Field
		if name == "" {
			name = fmt.Sprintf("ground_truth[%d]", i)
			fault("%s has no field name", name)
		} else if _, _, err := new(tree).at(s.root, name); err != nil {
			fault("field %q: schema %s %v", name, s.Name, err)
		} else if seen[name] {
			fault("field %q: duplicate gold", name)
		}
		seen[name] = true
		fieldType := text.String
		if at := s.field(pattern(name)); at >= 0 {
			fieldType = s.Fields[at].Type
		}
		before := len(errs)
		g.check(fieldType, index, func(format string, args ...any) { fault("field %q: %s", name, fmt.Sprintf(format, args...)) })
		if len(errs) == before && !g.missing() {
			g.checkValues(fieldType, index, evidence, func(serious bool, format string, args ...any) {
				if text := fmt.Sprintf(format, args...); serious {
					fault("field %q: %s", name, text)
				} else {
					warn(fmt.Sprintf("document %q: field %q: %s", d.ID, name, text))
				}
			})
		}
	}
	if empty := d.Truth != nil && !slices.ContainsFunc(s.Fields, func(f Field) bool { return !inList(f.Name) }); len(d.Truth) == 0 && !forPeople && !empty { // all lists can be
		fault("ground_truth is empty: give gold for at least one field, leave the document out, or let people make gold with `scruple annotate`")
	}
	return errors.Join(errs...)
}

// checkValues checks whether an answer can be right. It is serious if none can: if a
// value does not exist, or if gold has evidence that does not show it. It is doubtful
// if answers can only match a value as text, or if no quote can show it; the
// comparison may not know the notation of the document. Values of type enum are often
// classes, for which annotators quote the reason.
func (g *Gold) checkValues(t text.Type, index *text.Index, evidence bool, report func(serious bool, format string, args ...any)) {
	right := append(append([]literal{g.Correct}, g.Acceptable...), g.Candidates...)
	if g.Ambiguous {
		right = right[1:]
	}
	for _, v := range right {
		if err := text.Check(t, string(v)); errors.Is(err, text.ErrNoDay) {
			report(true, "value %q: %v", clip(string(v)), err)
		} else if err != nil {
			report(false, "value %q cannot be read as type %s and is compared as text: %v", clip(string(v)), t, err)
		}
	}
	if !evidence {
		return
	}
	if g.Ambiguous {
		for _, v := range g.Candidates {
			if !index.Holds(t, string(v)) {
				report(false, "candidate value %q is not in the text, so no quote can show it", clip(string(v)))
			}
		}
		return
	}
	shown := func(holds func(literal) bool) bool { return slices.ContainsFunc(right, holds) }
	const remedy = "add its spelling in the text to acceptable_values, or correct the value"
	switch {
	case g.Quote != "":
		quote := text.Minimal(g.Quote)
		if !shown(func(v literal) bool {
			return !blank(v) && strings.Contains(quote, text.Minimal(string(v))) || text.Contains(t, quote, string(v))
		}) {
			report(t != text.Enum, "evidence_quote %q does not contain the value %q: %s", clip(g.Quote), clip(string(g.Correct)), remedy)
		}
	case !shown(func(v literal) bool { return index.Holds(t, string(v)) }):
		report(g.Contains != "" && t != text.Enum, "value %q is nowhere in the text, so no quote can show it: %s", clip(string(g.Correct)), remedy)
	}
}

// check validates the gold of a field: some answer must be able to match it.
func (g *Gold) check(t text.Type, index *text.Index, fault func(format string, args ...any)) {
	switch {
	case g.Exists == nil:
		fault("exists_in_document is missing: want true or false")
	case g.missing():
		g.checkMissing(fault)
		return
	case g.Ambiguous:
		distinct := text.NewSet(t)
		for _, v := range g.Candidates {
			distinct.Add(string(v))
		}
		if distinct.Len() < 2 {
			fault("is ambiguous but candidate_values has %s: list at least two, or give one correct_value instead", text.Plural(distinct.Len(), "distinct value", "distinct values"))
		}
		if g.Correct != "" {
			fault("is ambiguous but has correct_value %q: remove one of the two", g.Correct)
		}
	default:
		if blank(g.Correct) {
			fault("exists in the document but has no correct_value")
		}
		if len(g.Candidates) > 0 {
			fault("has candidate_values but is not ambiguous: set is_ambiguous, or move them to acceptable_values")
		}
	}
	if slices.ContainsFunc(g.Acceptable, blank) || slices.ContainsFunc(g.Candidates, blank) {
		fault("has an empty value among acceptable_values or candidate_values: remove it")
	}
	g.checkEvidence(index, fault)
}

func blank(v literal) bool { return strings.TrimSpace(string(v)) == "" }

func (g *Gold) checkMissing(fault func(format string, args ...any)) {
	switch {
	case g.Ambiguous:
		fault("is ambiguous but does not exist in the document: change one of the two")
	case g.Correct != "" || len(g.Acceptable) > 0 || len(g.Candidates) > 0:
		fault("does not exist in the document but has a value: set exists_in_document, or remove the values")
	case g.Quote != "" || g.Contains != "":
		fault("does not exist in the document but has evidence: set exists_in_document, or remove the evidence")
	case g.Page != 0:
		fault("does not exist in the document but has page %d", g.Page)
	}
}

func (g *Gold) checkEvidence(index *text.Index, fault func(format string, args ...any)) {
	if g.Contains != "" && !index.Has(g.Contains) {
		fault("evidence_must_contain %q is not in the text, so no quote can contain it", clip(g.Contains))
	}
	if g.Page != 0 && !slices.ContainsFunc(index.Pages(), func(p text.Page) bool { return p.Number == g.Page }) {
		fault("page %d: the document has no such page", g.Page)
		return
	}
	if g.Quote == "" {
		return
	}
	switch { // the first place is enough: filings are long, and their quotes many
	case !index.Has(g.Quote):
		fault("evidence_quote %q is not in the text: it must be copied character for character (white space may differ)", clip(g.Quote))
	case g.Page != 0 && !index.BeginsOn(g.Quote, g.Page):
		fault("evidence_quote %q is on page %d, not on page %d", clip(g.Quote), index.Find(g.Quote)[0].Page, g.Page)
	}
}

// inputHash covers what arms see of the document, goldHash its gold. Neither
// depends on key order or spacing in the file.
func (d *Document) inputHash() eval.Hash {
	return kit.Hash(d.Schema, d.Text)
}

func (d *Document) goldHash() eval.Hash {
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

package extraction

import (
	"encoding/json"
	"iter"
	"regexp"
	"strings"

	"github.com/scruple-eval/scruple/internal/model/simulated"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// The answers that the suite makes itself: that of the null baseline, those that follow from
// gold, and the right and wrong ones of simulated models.

// nullAnswer answers missing for every field.
func nullAnswer(s *Schema) string {
	entries := []Entry{}
	for _, f := range s.Fields {
		if !inList(f.Name) { // it answers that lists have no records
			entries = append(entries, missingEntry(f.Name))
		}
	}
	return answerText(entries)
}

// perfect is the answer that gold implies for every annotated field, as [readAnswer]
// would read it.
func (d *prepared) perfect() Answer {
	a := Answer{Entries: make([]Entry, len(d.points))}
	for i := range d.points {
		a.Entries[i] = d.rightEntry(&d.points[i])
		a.Entries[i].checkStatus()
	}
	return a
}

// rightEntry is the right entry of a field.
func (d *prepared) rightEntry(p *point) Entry {
	switch {
	case p.gold.missing():
		return missingEntry(p.field.Name)
	case p.gold.Ambiguous:
		list := make([]Candidate, len(p.gold.Candidates))
		for i, v := range p.gold.Candidates {
			list[i] = d.citeAny(p.field.Type, string(v))
		}
		return ambiguousEntry(p.field.Name, list)
	}
	c, ok := p.goldCitation()
	if !ok {
		c = d.citeAny(p.field.Type, p.rightValues()...)
	}
	return okEntry(p.field.Name, c)
}

// goldAnswer answers from gold, for the present fields whose quote contains the
// value. A judge must get them right.
func goldAnswer(d *prepared) string {
	entries := []Entry{}
	for i := range d.ready().points {
		p := &d.points[i]
		if c, ok := p.goldCitation(); ok {
			entries = append(entries, okEntry(p.field.Name, c))
		}
	}
	return answerText(entries)
}

// goldCitation is the first right value that the quote in gold contains.
func (p *point) goldCitation() (Candidate, bool) {
	found := p.index.Find(p.gold.Quote)
	if !p.gold.present() || len(found) == 0 {
		return Candidate{}, false
	}
	page := found[0].Page
	if p.gold.Page != 0 {
		page = p.gold.Page
	}
	for _, value := range p.rightValues() {
		if p.supports(value, given(p.gold.Quote)).holds {
			return cited(value, p.gold.Quote, page), true
		}
	}
	return Candidate{}, false
}

// rightValues are the correct value and the other acceptable ones.
func (p *point) rightValues() []string {
	return append([]string{string(p.gold.Correct)}, stringsOf(p.gold.Acceptable)...)
}

// citeAny cites the first of the values that the document has, or the first one without a
// passage.
func (d *prepared) citeAny(t text.Type, values ...string) Candidate {
	for _, v := range values {
		if c, ok := d.cite(t, v); ok {
			return c
		}
	}
	return cited(values[0], values[0], 1)
}

// cite finds a passage that contains a value, as written or, within a line, as a
// typed value.
func (d *prepared) cite(t text.Type, value string) (Candidate, bool) {
	if found := d.index.Find(value); len(found) > 0 {
		o := found[0]
		passage := d.around(span{o.Start, o.End})
		return cited(value, d.Text[passage.start:passage.end], o.Page), true
	}
	for l := range d.lines() {
		if line := d.Text[l.start:l.end]; len(line) <= longestQuote && text.Contains(t, line, value) {
			return cited(value, line, d.index.PageAt(l.start)), true
		}
	}
	return Candidate{}, false
}

// A span is a range of bytes of the document.
type span struct{ start, end int }

// lines visits the non-blank lines, trimmed and without page markers.
func (d *prepared) lines() iter.Seq[span] {
	return func(yield func(span) bool) {
		for _, p := range d.index.Pages() {
			at := p.Start
			for line := range strings.Lines(d.Text[p.Start:p.End]) {
				body := strings.TrimSpace(line)
				start := at + strings.Index(line, body)
				if body != "" && !yield(span{start, start + len(body)}) {
					return
				}
				at += len(line)
			}
		}
	}
}

// longestQuote limits the quotes of the suite's own arms, apart from the value.
const longestQuote = 120

// around is the value with the text before it on its line, cut at white space:
// the label usually precedes the value.
func (d *prepared) around(value span) span {
	from := strings.LastIndexByte(d.Text[:value.start], '\n') + 1
	if value.start-from > longestQuote/2 {
		from = value.start - longestQuote/2
		if i := strings.IndexAny(d.Text[from:value.start], " \t"); i >= 0 {
			from += i
		} else {
			from = value.start
		}
	}
	label := d.Text[from:value.start]
	return span{value.start - len(strings.TrimLeft(label, " \t")), value.end}
}

// unreadable is the malformed answer of a simulated model.
const unreadable = "I have read the document. Please tell me which of its fields you need."

// answerSheet gives a simulated model the right answer by entry, and the answer
// for each kind of error. arm is the prompt, if the model has a skill of its own with
// it.
func answerSheet(d *prepared, arm string) json.RawMessage {
	sheet := simulated.Sheet{Arm: arm, Prefix: `{"extractions":[`, Separator: ",", Suffix: "]}", Malformed: unreadable}
	byField, names := map[string]*point{}, []string{}
	for i := range d.points {
		name := d.points[i].field.Name
		byField[name], names = &d.points[i], append(names, name)
	}
	if !d.schema.nested {
		names = d.schema.names()
	}
	for _, name := range names {
		part := simulated.Part{Right: kit.PlainJSON(missingEntry(name))} // without gold
		if p := byField[name]; p != nil {
			part = d.part(p)
		}
		sheet.Parts = append(sheet.Parts, part)
	}
	return simulated.Encode(sheet)
}

// part is the right entry of a field and the wrong ones.
func (d *prepared) part(p *point) simulated.Part {
	name, right := p.field.Name, d.rightEntry(p)
	wrong := map[string]Entry{simulated.Miss: missingEntry(name)}
	switch {
	case p.gold.missing():
		wrong = map[string]Entry{simulated.Invent: okEntry(name, d.decoy(p))}
	case p.gold.Ambiguous:
		var fabricated []Candidate
		for _, c := range right.Candidates {
			fabricated = append(fabricated, d.fabricate(c))
		}
		wrong[simulated.Wrong] = okEntry(name, right.Candidates[0]) // a guess
		wrong[simulated.Fabricate] = ambiguousEntry(name, fabricated)
	default:
		wrong[simulated.Wrong] = okEntry(name, d.decoy(p))
		wrong[simulated.Fabricate] = okEntry(name, d.fabricate(Candidate{right.Value, right.Evidence}))
	}
	part := simulated.Part{Right: kit.PlainJSON(right), Alternatives: map[string]string{}}
	for how, e := range wrong {
		part.Alternatives[how] = kit.PlainJSON(e)
	}
	return part
}

// fabricate returns the value with a quote that is not in the document.
func (d *prepared) fabricate(c Candidate) Candidate {
	c.Quote.Text = "as stated: " + c.Value.Text
	for d.index.Has(c.Quote.Text) {
		c.Quote.Text = "as " + c.Quote.Text
	}
	return c
}

var (
	properName = regexp.MustCompile(`[A-Z][a-z]{3,}(?: [A-Z][a-z]+)*`)
	codeName   = regexp.MustCompile(`[A-Z]*[0-9][A-Z0-9/-]{2,}`)
)

// decoy is a wrong value of the field's type, from the document if possible, so
// that it has a real quote and page.
func (d *prepared) decoy(p *point) Candidate {
	var others []string
	switch p.field.Type {
	case text.Date, text.Money, text.Number:
		others = text.Values(p.field.Type, d.Text)
	case text.ID:
		others = codeName.FindAllString(d.Text, 50)
	default:
		for i := range d.points {
			if o := &d.points[i]; o.field.Type == p.field.Type && o.gold.present() {
				others = append(others, string(o.gold.Correct))
			}
		}
		others = append(others, properName.FindAllString(d.Text, 50)...)
	}
	for _, v := range others {
		if p.wrong(v) && !strings.Contains(v, "\n") {
			if c, ok := d.cite(p.field.Type, v); ok {
				return c
			}
		}
	}
	for _, v := range strangers[p.field.Type] {
		if p.wrong(v) {
			return cited(v, v, 1)
		}
	}
	return cited("none of these", "none of these", 1)
}

// strangers are decoys for documents without another value of the type. There
// are two of each, so that at least one is wrong.
var strangers = map[text.Type][]string{
	text.Date:   {"1 February 1903", "2 March 1904"},
	text.Money:  {"987,654.32", "876,543.21"},
	text.Number: {"987654.32", "876543.21"},
	text.ID:     {"ZX-90817263", "ZY-81726354"},
	text.String: {"Quillfeather & Daughters", "Ninebark Holdings"},
	text.Enum:   {"Quillfeather", "Ninebark"},
}

// wrong reports whether a value scores 0.
func (p *point) wrong(value string) bool {
	return p.value(&Entry{Value: given(value), Status: statusOK}) == 0
}

// judgeSheet gives a simulated judge the right answer: the claimed value, if the
// quote contains it.
func judgeSheet(q *question) json.RawMessage {
	right := "not stated"
	for _, claimed := range q.claims {
		if text.Contains(q.field.Type, q.quote, claimed) {
			right = claimed
			break
		}
	}
	return simulated.Encode(simulated.Sheet{Parts: []simulated.Part{{Right: right, Alternatives: map[string]string{simulated.Wrong: "unclear"}}}})
}

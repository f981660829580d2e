package extraction

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
)

// Show shows the first trial of a case: the document with the quotes of answer
// and gold marked, and for each field gold, answer and failures.
func (b *bench) Show(c eval.Case) (eval.Exhibit, error) {
	d, err := b.document(c.Item)
	if err != nil {
		return eval.Exhibit{}, err
	}
	t, o := c.Trials[0].Trial, c.Trials[0].Outcome
	arranged, results := b.assess(d.ready(), &o, c.Trials[0].Verdicts)
	x := eval.Exhibit{Item: t.Item, Arm: t.Arm, Title: fmt.Sprintf("%s, answered by %s", t.Item, t.Arm), Raw: string(o.Data)}
	x.Facts = append(x.Facts, b.Item(c.Item).Strata...)
	_, others := b.study.Documents.levels(&d.Document)
	x.Facts = append(x.Facts, others...)
	if d.Split != "" {
		x.Facts = append(x.Facts, eval.Level{Name: "split", Value: d.Split})
	}
	reading := string(o.Kind)
	if o.Reason != "" {
		reading += " (" + o.Reason + ")"
	}
	x.Facts = append(x.Facts, eval.Level{Name: "answer", Value: strings.Join(append([]string{reading}, o.Notes...), ", ")})
	for i, fault := range arranged.faults {
		x.Facts = append(x.Facts, eval.Level{Name: fmt.Sprintf("shape %d", i+1), Value: fault})
	}
	for _, list := range slices.Compact(slices.Sorted(slices.Values(arranged.long))) {
		x.Facts = append(x.Facts, eval.Level{Name: "alignment", Value: list + " has too many records to compare all pairs: by keys and order, or by values of lists wherever they stand"})
	}
	places := arranged.places(d.schema)
	for i := range results {
		row, from := b.row(&results[i]), arranged.partner[i]
		if from != "" {
			row.Note = strings.TrimPrefix(row.Note+"; in the answer: "+from, "; ")
		}
		if row.Own = from; inList(results[i].unit) && len(results[i].entries) == 0 {
			row.Place = -1 // only gold has it
		} else {
			row.Place = places[cmp.Or(from, row.Unit)]
		}
		x.Rows = append(x.Rows, row)
	}
	for i := range arranged.surplus {
		e, from := &arranged.surplus[i], arranged.own[i]
		x.Rows = append(x.Rows, eval.ExhibitRow{Unit: e.Field, Gold: "no such record", Answer: e.shown(), Quote: shownQuote(e), Note: "a record that gold does not have",
			Own: from, Place: places[from]})
	}
	x.Pages = d.pages(results)
	if o.Kind != eval.OK || slices.Contains(o.Notes, eval.NoteTruncated) {
		var gold []string
		for _, r := range x.Rows {
			gold = append(gold, r.Unit+" = "+r.Gold)
		}
		x.Expected = "a JSON object whose list “extractions” has the fields "
		if b.plain {
			x.Expected = "a JSON object with the fields "
		}
		x.Expected += strings.Join(gold, "; ")
	}
	return x, nil
}

// places are those of values in an answer with lists, by their paths: rows stand in the order of gold.
func (x *arranged) places(s *Schema) map[string]int {
	if !slices.ContainsFunc(s.names(), inList) {
		return nil
	}
	places := map[string]int{}
	var walk func(n *node, answer *tree, path string)
	walk = func(n *node, answer *tree, path string) {
		switch {
		case n.isObject():
			for i, m := range n.members {
				walk(m, answer.get(i), join(path, n.names[i]))
			}
		case n.isList():
			for _, number := range answer.numbers() {
				walk(n.records, answer.get(number), fmt.Sprintf("%s[%d]", path, number))
			}
		default:
			places[path] = len(places) + 1
		}
	}
	walk(s.root, x.answer, "")
	return places
}

func (b *bench) row(r *result) eval.ExhibitRow {
	m := emitter{plain: b.plain}
	m.components(r, b.weights)
	row := eval.ExhibitRow{Unit: r.field.Name, Gold: r.gold.shown(), Answer: shownAnswer(r.entries), Note: r.note(), Scores: m.scores}
	if g := r.gold; g.Quote != "" {
		row.GoldEvidence = fmt.Sprintf("(quote %q, page %d)", g.Quote, g.Page)
	}
	if e := r.entry(); e != nil {
		row.Quote = shownQuote(e)
	}
	return row
}

// shown formats gold for a table cell.
func (g *Gold) shown() string {
	switch {
	case g.missing():
		return "not in the document"
	case g.Ambiguous:
		return "ambiguous: " + strings.Join(stringsOf(g.Candidates), " or ")
	}
	values := stringsOf(append([]literal{g.Correct}, g.Acceptable...))
	for i := len(values) - 1; i > 0; i-- {
		if slices.Contains(values[:i], values[i]) {
			values = slices.Delete(values, i, i+1)
		}
	}
	return strings.Join(values, " or ")
}

func shownAnswer(entries []*Entry) string {
	if len(entries) == 0 {
		return "omitted"
	}
	list := make([]string, len(entries))
	for i, e := range entries {
		list[i] = e.shown()
	}
	return strings.Join(list, "; again: ")
}

func (e *Entry) shown() string {
	switch {
	case e.Status == statusAmbiguous && !e.Value.Given:
		values := make([]string, len(e.Candidates))
		for i, c := range e.Candidates {
			values[i] = c.Value.shown()
		}
		return "ambiguous: " + strings.Join(values, " or ")
	case e.Status == statusMissing && !e.Value.Given:
		return "missing"
	case e.Status == statusOK:
		return e.Value.shown()
	}
	return fmt.Sprintf("%s (status %q)", e.Value.shown(), e.Status)
}

func (s Scalar) shown() string {
	if !s.Given {
		return "null"
	}
	return s.Text
}

// evidences are the evidence of the entry and that of its candidates.
func (e *Entry) evidences() []Evidence {
	list := []Evidence{e.Evidence}
	for _, c := range e.Candidates {
		list = append(list, c.Evidence)
	}
	return slices.DeleteFunc(list, func(v Evidence) bool { return !v.Quote.Given })
}

func shownQuote(e *Entry) string {
	var quotes []string
	for _, v := range e.evidences() {
		quote := "“" + v.Quote.Text + "”"
		if v.Page.Given && !v.Page.Bad {
			quote += fmt.Sprintf(" (page %d)", v.Page.Number)
		}
		quotes = append(quotes, quote)
	}
	return strings.Join(quotes, " | ")
}

// note lists the failures of a field.
func (r *result) note() string {
	var notes []string
	for i, m := range modes {
		if r.failures[i] && i != modeSchema { // e.Fault below says more
			notes = append(notes, m.title)
		}
	}
	if e := r.entry(); e != nil && e.Fault != "" {
		notes = append(notes, e.Fault)
	}
	if r.failed != "" {
		notes = append(notes, "evidence not scored: "+r.failed)
	}
	if r.gold.Note != "" {
		notes = append(notes, "gold: "+r.gold.Note)
	}
	return strings.Join(notes, "; ")
}

// pages are the document's pages with the quotes marked, those of gold and of the answer.
func (d *prepared) pages(results []result) []eval.ExhibitPage {
	pages := make([]eval.ExhibitPage, len(d.index.Pages()))
	for i, p := range d.index.Pages() {
		pages[i] = eval.ExhibitPage{Number: p.Number, Text: d.Text[p.Start:p.End]}
	}
	for i := range results {
		r := &results[i]
		d.mark(pages, "gold", r.field.Name, Evidence{given(r.gold.Quote), PageRef{Number: r.gold.Page, Given: r.gold.Page != 0}})
		for _, e := range r.entries {
			for _, v := range e.evidences() {
				d.mark(pages, "answer", r.field.Name, v)
			}
		}
	}
	for i := range pages {
		slices.SortStableFunc(pages[i].Marks, func(a, b eval.Mark) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	}
	return pages
}

// mark marks a quote on the named page if it occurs there, else its first
// occurrence. A quote that crosses pages is marked on each. One of the same range and
// field for gold and answer is marked as both.
func (d *prepared) mark(pages []eval.ExhibitPage, kind, label string, v Evidence) {
	found := d.index.Find(v.Quote.Text)
	if len(found) == 0 {
		return
	}
	at := found[0]
	if i := slices.IndexFunc(found, func(o text.Occurrence) bool { return v.Page.Given && o.Page == v.Page.Number }); i >= 0 {
		at = found[i]
	}
	for i, p := range d.index.Pages() {
		m := eval.Mark{Start: max(at.Start, p.Start) - p.Start, End: min(at.End, p.End) - p.Start, Kind: kind, Label: label}
		marks := &pages[i].Marks
		k := slices.IndexFunc(*marks, func(o eval.Mark) bool { return o.Start == m.Start && o.End == m.End && o.Label == m.Label })
		switch {
		case m.Start >= m.End:
		case k < 0:
			*marks = append(*marks, m)
		case (*marks)[k].Kind != kind:
			(*marks)[k].Kind = "both"
		}
	}
}

package spans

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
)

// Show shows the first trial of a case: the text with its spans by category and
// their errors, the gold spans, and a row for every span.
func (b *bench) Show(c eval.Case) (eval.Exhibit, error) {
	r, of, x, err := b.Shown(c, "labelled by")
	if err != nil {
		return x, err
	}
	t := b.read(r, of)
	reading := string(of.Outcome.Kind)
	if of.Outcome.Reason != "" {
		reading += " (" + of.Outcome.Reason + ")"
	}
	x.Facts = append(x.Facts, eval.Level{Name: "answer", Value: strings.Join(append([]string{reading}, of.Outcome.Notes...), ", ")})
	problems := make([][]string, len(t.spans))
	v := &t.parsed.Result
	var lost []eval.ExhibitRow
	if t.missing == "" {
		problems, lost = judged(v, len(t.spans))
		x.Facts = append(x.Facts, eval.Level{Name: "judged total", Value: fmt.Sprintf("%v of %d", v.TotalScore, verdict.MostTotal)})
	}
	goldOf := make([]*spanfile.Span, len(t.spans))
	for _, m := range t.matches {
		if m.span == nil {
			lost = append(lost, eval.ExhibitRow{Unit: m.gold.Text, Gold: m.gold.Role, Note: "not labelled"})
			continue
		}
		goldOf[m.index] = m.gold
		of := &problems[m.index]
		if m.gold == nil {
			*of = append(*of, "not in gold")
		}
		if m.role {
			*of = append(*of, "gold role: "+m.gold.Role)
		}
		if m.borders {
			*of = append(*of, "other borders than gold")
		}
	}
	for i, s := range t.spans {
		if t.notes[i] != "" {
			problems[i] = append(problems[i], t.notes[i])
		}
		row := eval.ExhibitRow{ID: unitOf(i), Unit: fmt.Sprintf("[%d] %s", i, s.Text), Answer: s.Role, Note: strings.Join(problems[i], "; ")}
		if s.Stated() {
			row.Answer += fmt.Sprintf(", %.2f", s.Confidence)
		}
		if g := goldOf[i]; g != nil {
			row.Gold = g.Role
			if g.Text != s.Text {
				row.Gold += ": " + g.Text
			}
		}
		x.Rows = append(x.Rows, row)
	}
	x.Rows = append(x.Rows, lost...)
	if t.missing == "" {
		for _, m := range v.MissedElements {
			x.Rows = append(x.Rows, eval.ExhibitRow{Unit: m.Text, Note: fmt.Sprintf("missed, by the judge: %s, %s", m.ExpectedRole, m.Severity)})
		}
	}
	x.Pages = append(x.Pages, b.page(1, "Labelled spans", r.Text, t.spans, problems))
	if r.Labelled {
		gold := b.page(2, "Gold", r.Text, r.Spans, nil)
		gold.Gold = true
		x.Pages = append(x.Pages, gold)
	}
	var said []string
	for _, verdict := range of.Verdicts {
		notes := strings.TrimSpace(strings.Join(append([]string{v.Notes}, t.parsed.Notes...), "\n"))
		if words := cmp.Or(verdict.Err, notes); words != "" { // the whole verdict is shown with the judges
			said = append(said, verdict.By+": "+words)
		}
	}
	x.Lead = strings.Join(said, "\n")
	return x, nil
}

// unitOf names a span of an answer in verdicts of people.
func unitOf(i int) string { return "span " + strconv.Itoa(i+1) }

// judged are the errors of each of n spans, by the judge, and rows of those of unknown spans.
func judged(v *verdict.Result, n int) (all [][]string, unknown []eval.ExhibitRow) {
	all = make([][]string, n)
	add := func(at verdict.Index, text, what, more string) {
		if more != "" {
			what += ": " + more
		}
		if i := int(at); i >= 0 && i < n {
			all[i] = append(all[i], what)
		} else {
			unknown = append(unknown, eval.ExhibitRow{Unit: text, Note: "in an unknown span, by the judge: " + what})
		}
	}
	for _, e := range v.FalsePositives {
		add(e.SpanIndex, e.Text, "false positive: "+e.Reason, "")
	}
	for _, e := range v.TaxonomyErrors {
		add(e.SpanIndex, e.Text, "wrong role", e.ExpectedRole+" expected")
	}
	for _, e := range v.GranularityErrors {
		add(e.SpanIndex, e.Text, strings.ReplaceAll(e.Issue, "_", " "), e.Suggestion)
	}
	return all, unknown
}

// page is a text with its spans marked by category.
func (b *bench) page(number int, title, text string, spans []spanfile.Span, problems [][]string) eval.ExhibitPage {
	p := eval.ExhibitPage{Number: number, Title: title, Text: text}
	r := spanfile.NewRuler(text)
	for i, s := range spans {
		if !s.Placed() {
			continue
		}
		m := eval.Mark{Start: r.Byte(s.Start), End: r.Byte(s.End), Kind: b.taxonomy.Category(s.Role), Label: s.Role, Tone: b.taxonomy.Index(s.Role) + 1}
		if m.Tone == 0 {
			m.Tone = len(b.taxonomy.Categories) + 1
		}
		if problems != nil {
			m.Fault = strings.Join(problems[i], "; ")
		}
		p.Marks = append(p.Marks, m)
	}
	slices.SortStableFunc(p.Marks, func(a, b eval.Mark) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	return p
}

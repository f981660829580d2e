package spans

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/spans/label"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
)

// Show shows the first trial of a case: the text with its spans by category and
// their errors, the gold spans, and a row for every span.
func (b *Bench) Show(c eval.Case) (eval.Exhibit, error) {
	r := b.record(c.Item)
	if r == nil || len(c.Trials) == 0 {
		return eval.Exhibit{}, fmt.Errorf("spans: %s × %s cannot be shown: the study does not have the text, or there is no trial", c.Item, c.Arm)
	}
	t := &c.Trials[0]
	x := eval.Exhibit{Item: c.Item, Arm: c.Arm, Title: fmt.Sprintf("%s, labelled by %s", c.Item, c.Arm), Raw: string(t.Outcome.Data)}
	x.Facts = append(x.Facts, b.items[b.byID[r.ID]].Strata...)
	reading := string(t.Outcome.Kind)
	if t.Outcome.Reason != "" {
		reading += " (" + t.Outcome.Reason + ")"
	}
	x.Facts = append(x.Facts, eval.Level{Name: "answer", Value: strings.Join(append([]string{reading}, t.Outcome.Notes...), ", ")})
	var a answer
	if t.Outcome.Kind == eval.OK {
		a, _ = b.readAnswer(t.Outcome.Data, r.Text) // an answer without spans shows none
	}
	j := b.judgement(r, t)
	problems := make([][]string, len(a.spans))
	var missed []verdict.Missed
	if j.missing == "" {
		problems, missed = b.problems(&j, len(a.spans))
		x.Facts = append(x.Facts, eval.Level{Name: "judged total", Value: fmt.Sprintf("%v of %d", j.parsed.Result.TotalScore, verdict.MostTotal)})
	}
	goldOf := make([]*label.Span, len(a.spans))
	var lost []*label.Span
	if r.Labelled {
		for _, m := range b.matches(r, a.spans) {
			switch {
			case m.span == nil:
				lost = append(lost, m.gold)
			case m.gold == nil:
				problems[m.index] = append(problems[m.index], "not in gold")
			default:
				goldOf[m.index] = m.gold
				problems[m.index] = append(problems[m.index], b.differences(m)...)
			}
		}
	}
	for i, s := range a.spans {
		if a.notes[i] != "" {
			problems[i] = append(problems[i], a.notes[i])
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
	for _, g := range lost {
		x.Rows = append(x.Rows, eval.ExhibitRow{Unit: g.Text, Gold: g.Role, Note: "not labelled"})
	}
	for _, m := range missed {
		x.Rows = append(x.Rows, eval.ExhibitRow{Unit: m.Text, Note: fmt.Sprintf("missed, by the judge: %s, %s", m.ExpectedRole, m.Severity)})
	}
	x.Pages = append(x.Pages, b.page(1, "Labelled spans", r.Text, a.spans, problems))
	if r.Labelled {
		gold := b.page(2, "Gold", r.Text, r.Spans, nil)
		gold.Gold = true
		x.Pages = append(x.Pages, gold)
	}
	var said []string
	for _, v := range t.Verdicts {
		said = append(said, v.By+": "+cmp.Or(v.Err, notesOf(&j), string(v.Data)))
	}
	x.Lead = strings.Join(said, "\n")
	return x, nil
}

// unitOf names a span of an answer in verdicts of people.
func unitOf(i int) string { return "span " + strconv.Itoa(i+1) }

// notesOf is what a judge says of its judgement, and what was changed in it.
func notesOf(j *judgement) string {
	return strings.TrimSpace(strings.Join(append([]string{j.parsed.Result.Notes}, j.parsed.Notes...), "\n"))
}

// problems are the errors of each span, by the judge, and what it misses.
func (b *Bench) problems(j *judgement, n int) ([][]string, []verdict.Missed) {
	all := make([][]string, n)
	add := func(i int, format string, args ...any) {
		if i >= 0 && i < n {
			all[i] = append(all[i], fmt.Sprintf(format, args...))
		}
	}
	v := &j.parsed.Result
	for _, e := range v.FalsePositives {
		add(e.SpanIndex, "false positive: %s", e.Reason)
	}
	for _, e := range v.TaxonomyErrors {
		add(e.SpanIndex, "wrong role: %s expected", e.ExpectedRole)
	}
	for _, e := range v.GranularityErrors {
		if e.Suggestion == "" {
			add(e.SpanIndex, "%s", strings.ReplaceAll(e.Issue, "_", " "))
		} else {
			add(e.SpanIndex, "%s: %s", strings.ReplaceAll(e.Issue, "_", " "), e.Suggestion)
		}
	}
	return all, v.MissedElements
}

// differences are those of a span from gold.
func (b *Bench) differences(m match) []string {
	var list []string
	if b.taxonomy.Canonical(m.gold.Role) != b.taxonomy.Canonical(m.span.Role) {
		list = append(list, "gold role: "+m.gold.Role)
	}
	if m.gold.Start != m.span.Start || m.gold.End != m.span.End {
		list = append(list, "other borders than gold")
	}
	return list
}

// page is a text with its spans marked by category.
func (b *Bench) page(number int, title, text string, spans []label.Span, problems [][]string) eval.ExhibitPage {
	p := eval.ExhibitPage{Number: number, Title: title, Text: text}
	r := label.NewRuler(text)
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

package rerank

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// Exhibit shows a trial: the request, the trace of the method, and beside it
// the truth table of the candidates in the order in which they were ranked.
func (b *Bench) Exhibit(t eval.Trial, o eval.Outcome, vs []eval.Verdict) (eval.Exhibit, error) {
	_, r, err := b.find(t)
	if err != nil {
		return eval.Exhibit{}, err
	}
	rec, _ := read(&o)
	x := eval.Exhibit{Item: t.Item, Arm: t.Arm, Title: fmt.Sprintf("%s, ranked by %s", t.Item, t.Arm)}
	fact := func(name, value string) {
		if value != "" {
			x.Facts = append(x.Facts, eval.Level{Name: name, Value: value})
		}
	}
	fact("group", r.Group)
	fact("candidates", fmt.Sprint(len(rec.Candidates)))
	fact("gold stood at", fmt.Sprint(rec.Gold))
	fact("ranked at", rankWords(&rec, o.Kind))
	fact("attack", rec.Attack)
	if rec.Promoted > 0 {
		fact("injection speaks for", fmt.Sprint(rec.Promoted))
	}
	if o.Reason != "" {
		fact("answer", string(o.Kind)+" ("+o.Reason+")")
	}
	x.Pages = []eval.ExhibitPage{{Number: 1, Text: r.Text + "\n\n" + r.Shorthand + "\n\n" + traceText(&rec)}}
	x.Rows = b.truthRows(&rec, r.Structure)
	return x, nil
}

func rankWords(rec *record, kind eval.OutcomeKind) string {
	if kind != eval.OK {
		return "no prediction"
	}
	if p := rec.place(); p > 0 {
		return fmt.Sprint(p)
	}
	return "not in the list"
}

func traceText(rec *record) string {
	var s strings.Builder
	for _, e := range rec.Trace {
		if e.Step != "" {
			s.WriteString(e.Step + " ")
		}
		s.WriteString(e.Kind + ": " + e.Text + "\n")
	}
	if rec.Detail != "" {
		s.WriteString(rec.Detail + "\n")
	}
	return s.String()
}

// truthRows are the candidates, ranked ones first, with what is true of them.
func (b *Bench) truthRows(rec *record, structure *request.Node) []eval.ExhibitRow {
	var items []*catalog.Item
	for _, id := range rec.Candidates {
		if it := b.catalog.Item(id); it != nil {
			items = append(items, it)
		}
	}
	if len(items) != len(rec.Candidates) {
		return nil // the data changed since
	}
	order := slices.Clone(rec.Ranking)
	for i := range items {
		if !slices.Contains(order, i+1) {
			order = append(order, i+1)
		}
	}
	table := b.evaluator.Table(structure, items)
	leaves := structure.Leaves()
	var rows []eval.ExhibitRow
	for at, place := range order {
		if place < 1 || place > len(items) {
			continue
		}
		row := table[place-1]
		var marks []string
		for k, truth := range row.Conditions {
			marks = append(marks, evidence.Mark(truth)+" "+leaves[k].Aspect)
		}
		rank := "not ranked"
		if at < len(rec.Ranking) {
			rank = fmt.Sprintf("rank %d", at+1)
		}
		note := ""
		if place == rec.Gold {
			note = "gold"
		}
		if place == rec.Promoted {
			note = strings.TrimPrefix(note+", promoted by the injection", ", ")
		}
		rows = append(rows, eval.ExhibitRow{Unit: fmt.Sprintf("%d %s", place, items[place-1].Name), Gold: row.Truth.String(), Answer: rank,
			Quote: strings.Join(marks, "; "), Note: note})
	}
	return rows
}

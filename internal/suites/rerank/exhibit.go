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

// Show shows the first trial of a case: the request, the trace of the method,
// and the truth table of the candidates in ranked order.
func (b *Bench) Show(c eval.Case) (eval.Exhibit, error) {
	t, o := c.Trials[0].Trial, c.Trials[0].Outcome
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
	gold := rec.placeOf(r.Gold)
	if gold == 0 && len(rec.Candidates) > 0 {
		fact("gold", goldIsNew)
	} else {
		fact("gold position", fmt.Sprint(gold))
	}
	fact("gold rank", rankWords(&rec, gold, o.Kind))
	fact("attack", rec.Attack)
	if rec.Promoted > 0 {
		fact("injection promotes position", fmt.Sprint(rec.Promoted))
	}
	if o.Reason != "" {
		fact("answer", string(o.Kind)+" ("+o.Reason+")")
	}
	x.Lead = r.Text + "\n" + r.Shorthand
	x.Table = b.truths(&rec, r)
	for _, e := range rec.Trace {
		x.Steps = append(x.Steps, eval.ExhibitStep{Name: strings.TrimSpace(e.Step + " " + e.Kind), Text: e.Text})
	}
	if rec.Detail != "" {
		x.Steps = append(x.Steps, eval.ExhibitStep{Name: "end", Text: rec.Detail})
	}
	return x, nil
}

func rankWords(rec *record, gold int, kind eval.OutcomeKind) string {
	if kind != eval.OK {
		return "no prediction"
	}
	if p := rec.rankOf(gold); p > 0 {
		return fmt.Sprint(p)
	}
	return "not ranked"
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

// truths is the truth table of the candidates, ranked ones first. It is nil if
// candidates are no longer in the data.
func (b *Bench) truths(rec *record, r *request.Request) *eval.Table {
	var items []*catalog.Item
	for _, id := range rec.Candidates {
		if it := b.catalog.Item(id); it != nil {
			items = append(items, it)
		}
	}
	if len(items) != len(rec.Candidates) || len(items) == 0 {
		return nil
	}
	order := slices.DeleteFunc(slices.Clone(rec.Ranking), func(place int) bool { return place < 1 || place > len(items) })
	ranked := len(order)
	for i := range items {
		if !slices.Contains(order, i+1) {
			order = append(order, i+1)
		}
	}
	t := &eval.Table{Name: "truth", Columns: []string{"rank", "place", "candidate"}}
	var conditions []string
	for k, leaf := range r.Structure.Leaves() {
		t.Columns = append(t.Columns, fmt.Sprint(k+1))
		conditions = append(conditions, fmt.Sprintf("%d %s", k+1, leaf.Title()))
	}
	t.Columns = append(t.Columns, "all")
	if rec.Lost != nil {
		t.Columns = append(t.Columns, "lost")
	}
	t.Columns = append(t.Columns, "")
	t.Note = "Truth of each condition by candidate, from the clean data: " + strings.Join(conditions, "; ") + "."
	if rec.Lost != nil {
		t.Note += " Lost: reviews removed by the budget."
	}
	truth, gold := b.evaluator.Table(r.Structure, items), rec.placeOf(r.Gold)
	for at, place := range order {
		rank := "–"
		if at < ranked {
			rank = fmt.Sprint(at + 1)
		}
		row := []string{rank, fmt.Sprint(place), items[place-1].Name}
		for _, condition := range truth[place-1].Conditions {
			row = append(row, evidence.Mark(condition))
		}
		var notes []string
		if place == gold {
			notes = append(notes, "gold")
		}
		if place == rec.Promoted {
			notes = append(notes, "promoted by the injection")
		}
		row = append(row, evidence.Mark(truth[place-1].Truth))
		if place <= len(rec.Lost) {
			row = append(row, fmt.Sprint(rec.Lost[place-1]))
		}
		t.Rows = append(t.Rows, append(row, strings.Join(notes, ", ")))
	}
	return t
}

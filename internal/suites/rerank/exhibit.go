package rerank

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/method"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// Show shows the first trial of a case: the request, the ranking, the trace of the method,
// and the truth table of the candidates in ranked order. Of an item alone it shows the request.
func (b *bench) Show(c eval.Case) (eval.Exhibit, error) {
	t, o := c.Trials[0].Trial, c.Trials[0].Outcome
	if r := b.Datum(t.Item); r != nil && t.Arm == "" {
		return eval.Exhibit{Item: t.Item, Title: t.Item, Lead: leadOf(r), Rows: []eval.ExhibitRow{b.row(&record{}, r, nil, "")}}, nil
	}
	r, a, err := b.Of(t)
	if err != nil {
		return eval.Exhibit{}, err
	}
	rec := b.recordOf(r, a, &o)
	x := eval.Exhibit{Item: t.Item, Arm: t.Arm, Title: fmt.Sprintf("%s, ranked by %s", t.Item, t.Arm)}
	fact := func(name, value string) {
		if value != "" {
			x.Facts = append(x.Facts, eval.Level{Name: name, Value: value})
		}
	}
	fact("group", r.Group)
	fact("candidates", fmt.Sprint(len(rec.Candidates)))
	var right []int
	for _, g := range r.Answers() {
		right = append(right, rec.placeOf(g.ID))
	}
	if slices.Contains(right, 0) && len(rec.Candidates) > 0 {
		fact("gold", goldIsNew)
	} else {
		fact("gold position", method.Join(right))
	}
	fact("gold rank", rankWords(&rec, right, o.Kind))
	fact("budget removed the evidence at positions", method.Join(rec.Unproved))
	fact("attack", rec.Attack)
	fact("injection promotes position", method.Join(rec.promoted()))
	fact("attack refused at positions", method.Join(rec.Refused))
	if o.Kind != eval.OK {
		x.Expected = fmt.Sprintf("a ranking of the %d candidates, best first", len(rec.Candidates))
		if len(right) > 0 && !slices.Contains(right, 0) {
			x.Expected += "; gold position: " + method.Join(right)
		}
	}
	if o.Reason != "" {
		fact("answer", string(o.Kind)+" ("+o.Reason+")")
	}
	x.Lead = leadOf(r)
	x.Rows = []eval.ExhibitRow{b.row(&rec, r, right, o.Kind)}
	x.Raw = cmp.Or(x.Rows[0].Answer, rec.Detail)
	x.Table = b.truths(&rec, r)
	for _, e := range rec.Trace {
		x.Steps = append(x.Steps, eval.ExhibitStep{Name: strings.TrimSpace(e.Step + " " + e.Kind), Text: e.Text})
	}
	if rec.Detail != "" {
		x.Steps = append(x.Steps, eval.ExhibitStep{Name: "end", Text: rec.Detail})
	}
	return x, nil
}

func leadOf(r *request.Request) string { return r.Text + "\n" + r.Shorthand }

// row is a trial in a row: what is right with its positions, what was ranked, best first, and what is
// wrong with it.
func (b *bench) row(rec *record, r *request.Request, right []int, kind eval.OutcomeKind) eval.ExhibitRow {
	name := func(id string, place int) string {
		if it := b.catalog.Item(id); it != nil {
			id = it.Name
		}
		if place > 0 {
			id += fmt.Sprintf(" [%d]", place)
		}
		return id
	}
	var gold, ranked []string
	for _, g := range r.Answers() {
		gold = append(gold, name(g.ID, rec.placeOf(g.ID)))
	}
	for i, place := range rec.Ranking {
		ranked = append(ranked, fmt.Sprintf("%d. %s", i+1, name(rec.Candidates[place-1], place)))
	}
	row := eval.ExhibitRow{Unit: "ranking", Gold: strings.Join(gold, "; "), Answer: strings.Join(ranked, "\n")}
	switch {
	case kind == "" || rec.untouched():
	case slices.Contains(right, 0):
		row.Note = goldIsNew
	case len(rec.Ranking) == 0 || !slices.Contains(right, rec.Ranking[0]):
		if row.Note = rankWords(rec, right, kind); row.Note == notRanked {
			row.Note = "gold not ranked"
		} else if kind == eval.OK {
			row.Note = "gold at rank " + row.Note
		}
	}
	return row
}

const notRanked = "not ranked"

func rankWords(rec *record, right []int, kind eval.OutcomeKind) string {
	switch {
	case rec.untouched():
		return "not asked: the attack changed nothing"
	case kind != eval.OK:
		return "no prediction"
	}
	var ranks []int
	for i, place := range rec.Ranking {
		if slices.Contains(right, place) {
			ranks = append(ranks, i+1)
		}
	}
	if len(ranks) == 0 {
		return notRanked
	}
	return method.Join(ranks)
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

// verdict is the truth of a condition as a cell.
func verdict(t evidence.Truth) eval.Cell {
	if t == evidence.Unknown {
		return eval.Missing(eval.KindVerdict, "")
	}
	return eval.Is(t == evidence.True)
}

// truths is the truth table of the candidates, ranked ones first. It is nil if
// candidates are no longer in the data.
func (b *bench) truths(rec *record, r *request.Request) *eval.Table {
	var items []*catalog.Item
	for _, id := range rec.Candidates {
		if it := b.catalog.Item(id); it != nil {
			items = append(items, it)
		}
	}
	if len(items) != len(rec.Candidates) || len(items) == 0 {
		return nil
	}
	order := slices.Clone(rec.Ranking)
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
	truth := b.evaluator.Table(r.Structure, items)
	for at, place := range order {
		rank := eval.Missing(eval.KindCount, "")
		if at < len(rec.Ranking) {
			rank = eval.Count(at + 1)
		}
		row := []eval.Cell{rank, eval.Count(place), eval.Text(items[place-1].Name)}
		for _, condition := range truth[place-1].Conditions {
			row = append(row, verdict(condition))
		}
		var notes []string
		if grade := r.Grade(rec.Candidates[place-1]); grade == 1 {
			notes = append(notes, "gold")
		} else if grade > 1 {
			notes = append(notes, fmt.Sprintf("gold, grade %d", grade))
		}
		if slices.Contains(rec.promoted(), place) {
			notes = append(notes, "promoted by the injection")
		}
		row = append(row, verdict(truth[place-1].Truth))
		if place <= len(rec.Lost) {
			row = append(row, eval.Count(rec.Lost[place-1]))
		}
		t.Row(append(row, eval.Text(strings.Join(notes, ", ")))...)
	}
	return t
}

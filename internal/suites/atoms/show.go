package atoms

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/atoms/graph"
	"github.com/scruple-eval/scruple/internal/suites/atoms/okf"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// Show shows the first trial of a case: the graph of gold and answer, claims beside
// the sentence they rest on, and the problems of files and graph.
func (b *bench) Show(c eval.Case) (eval.Exhibit, error) {
	s, t, x, err := b.Shown(c, "extracted by")
	if err != nil {
		return x, fmt.Errorf("atoms: %w", err)
	}
	x.Title = s.id
	a := b.assess(s, t)
	x.Graph = graph.Draw(s.gold, a.pred, a.matched, a.compared)
	atoms, edges := graph.Sum(a.compared.Atoms), graph.Sum(a.compared.Edges)
	x.Facts = append(x.Facts,
		eval.Level{Name: "atoms", Value: fmt.Sprintf("%d of %d found, %d emitted", atoms.True, atoms.Gold, atoms.Predicted)},
		eval.Level{Name: "edges", Value: fmt.Sprintf("%d of %d found, %d emitted", edges.True, edges.Gold, edges.Predicted)})
	if t.Outcome.Kind != eval.OK && c.Arm != "" {
		x.Lead = string(t.Outcome.Kind) + ": " + t.Outcome.Reason
	}
	var said, known []string
	for i, p := range a.points {
		j := a.judged[i]
		row := p.row(j)
		row.Place = i
		x.Rows = append(x.Rows, row)
		if !p.fromGold && j.holds {
			said = append(said, j.evidence)
		} else if at, like := nearest(p.claim, s.sentences); p.fromGold && at >= 0 && like >= enough {
			known = append(known, s.text(at))
		}
	}
	for i, p := range a.matched.Gold {
		missing := &s.gold.Atoms[i]
		if p < 0 && len(missing.Claims) == 0 { // claims of the others are omitted
			x.Rows = append(x.Rows, eval.ExhibitRow{Unit: missing.Name(), Gold: missing.Title, Note: "missing atom"})
		}
	}
	// What is wrong comes first.
	slices.SortStableFunc(x.Rows, func(a, b eval.ExhibitRow) int {
		return cmp.Compare(kit.Indicator(a.Note == ""), kit.Indicator(b.Note == ""))
	})
	x.Rows = append(x.Rows, a.findings()...)
	for i, d := range s.sources {
		x.Pages = append(x.Pages, eval.ExhibitPage{Number: i + 1, Text: d.Text, Marks: marksOf(said, known, d.Text)})
	}
	var raw strings.Builder
	for _, d := range a.pred.Documents {
		fmt.Fprintf(&raw, "=== %s\n%s\n", d.Path, text.Shorten(strings.ToValidUTF8(string(d.Bytes()), "\ufffd"), 4000))
		if raw.Len() > 100_000 {
			raw.WriteString("…")
			break
		}
	}
	x.Raw = cmp.Or(raw.String(), string(t.Outcome.Data))
	for _, v := range t.Verdicts {
		x.Steps = append(x.Steps, eval.ExhibitStep{Name: string(v.Source) + " " + v.By + " " + v.Step, Text: cmp.Or(v.Err, string(v.Data)), Verdict: true})
	}
	return x, nil
}

// row shows a claim beside what the judge says of it.
func (p *point) row(j judgement) eval.ExhibitRow {
	row := eval.ExhibitRow{ID: p.unit, Unit: p.atom, Answer: p.claim, Quote: j.evidence, Note: j.why}
	share, fails := metricGrounded, "fabricated: "
	if p.fromGold {
		row = eval.ExhibitRow{Unit: p.atom, Gold: p.claim, Note: j.why}
		share, fails = metricCovered, "omitted: "
		if j.holds {
			row.Answer = j.evidence
		}
	}
	score := eval.Score{Metric: share, Num: kit.Indicator(j.holds), Den: 1}
	switch {
	case j.missing:
		score = eval.Score{Metric: share, Unscored: j.why}
	case !j.holds:
		row.Note = fails + row.Note
	}
	row.Scores = []eval.Score{score}
	return row
}

// findings lists the findings of files and graph.
func (a *assessment) findings() (rows []eval.ExhibitRow) {
	for _, f := range append(a.pred.Findings(), a.issues...) {
		if f.Code == okf.CodeUnresolved {
			continue // the graph has it as a dangling edge
		}
		rows = append(rows, eval.ExhibitRow{Unit: f.Where(), Note: fmt.Sprintf("%s %s: %s", f.Severity, f.Code, f.Text)})
	}
	return rows
}

// marksOf marks sentences of a source: those that emitted claims rest on, and those
// that gold claims rest on.
func marksOf(said, known []string, source string) []eval.Mark {
	var marks []eval.Mark
	add := func(list []string, kind string) {
		for i, s := range list {
			if s == "" || slices.Contains(list[:i], s) {
				continue
			}
			if at := strings.Index(source, s); at >= 0 {
				marks = append(marks, eval.Mark{Start: at, End: at + len(s), Kind: kind})
			}
		}
	}
	add(said, "answer")
	add(known, "gold")
	slices.SortStableFunc(marks, func(a, b eval.Mark) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
	return marks
}

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

// maxShown limits the rows of an exhibit of each kind.
const maxShown = 60

// Show shows the first trial of a case: the graph of gold and answer, claims beside
// the sentence they rest on, and the problems of files and graph.
func (b *Bench) Show(c eval.Case) (eval.Exhibit, error) {
	s := b.Datum(c.Item)
	if s == nil || len(c.Trials) == 0 {
		return eval.Exhibit{}, fmt.Errorf("atoms: %s × %s cannot be shown: the study does not have the case, or there is no trial", c.Item, c.Arm)
	}
	t := &c.Trials[0]
	x := eval.Exhibit{Item: c.Item, Arm: c.Arm, Title: s.id, Facts: slices.Clone(s.item.Strata)}
	pred, before := b.written(t)
	m := graph.Match(s.gold, pred)
	compared := graph.Compare(s.gold, pred, m)
	x.Graph = graph.Draw(s.gold, pred, m, compared)
	atoms, edges := graph.Sum(compared.Atoms), graph.Sum(compared.Edges)
	x.Facts = append(x.Facts,
		eval.Level{Name: "atoms", Value: fmt.Sprintf("%d of %d found, %d emitted", atoms.True, atoms.Gold, atoms.Predicted)},
		eval.Level{Name: "edges", Value: fmt.Sprintf("%d of %d found, %d emitted", edges.True, edges.Gold, edges.Predicted)})
	if t.Outcome.Kind != eval.OK && c.Arm != "" {
		x.Lead = string(t.Outcome.Kind) + ": " + t.Outcome.Reason
	}
	var said, known []string
	for _, p := range s.points(pred) {
		if len(x.Rows) == maxShown {
			break
		}
		j := b.judgement(s, p, t.Verdicts)
		row, share := eval.ExhibitRow{Unit: p.atom, Note: j.why}, metricGrounded
		switch {
		case p.fromGold:
			row.Gold, share = p.claim, metricCovered
			if j.holds {
				row.Answer = j.evidence
			}
			if at, like := nearest(p.claim, s.sentences); at >= 0 && like >= enough {
				known = append(known, s.sources[s.sentences[at].source].Text[s.sentences[at].start:s.sentences[at].end])
			}
		default:
			row.ID, row.Answer, row.Quote = p.unit, p.claim, j.evidence
			if !j.holds && !j.missing {
				row.Note = "fabricated: " + row.Note
			}
			if j.holds {
				said = append(said, j.evidence)
			}
		}
		if p.fromGold && !j.holds && !j.missing {
			row.Note = "omitted: " + row.Note
		}
		if j.missing {
			row.Scores = []eval.Score{{Metric: share, Unscored: j.why}}
		} else {
			row.Scores = []eval.Score{{Metric: share, Num: kit.Indicator(j.holds), Den: 1}}
		}
		x.Rows = append(x.Rows, row)
	}
	// What is wrong comes first.
	slices.SortStableFunc(x.Rows, func(a, b eval.ExhibitRow) int {
		return cmp.Compare(kit.Indicator(a.Note == ""), kit.Indicator(b.Note == ""))
	})
	x.Rows = append(x.Rows, problems(pred, before)...)
	for i, d := range s.sources {
		x.Pages = append(x.Pages, eval.ExhibitPage{Number: i + 1, Text: d.Text, Marks: marksOf(said, known, d.Text)})
	}
	var raw strings.Builder
	for _, d := range pred.Documents {
		fmt.Fprintf(&raw, "=== %s\n%s\n", d.Path, text.Shorten(strings.ToValidUTF8(string(d.Bytes()), "\ufffd"), 4000))
		if raw.Len() > 100_000 {
			raw.WriteString("…")
			break
		}
	}
	x.Raw = cmp.Or(raw.String(), string(t.Outcome.Data))
	for _, v := range t.Verdicts {
		x.Steps = append(x.Steps, eval.ExhibitStep{Name: string(v.Source) + " " + v.By + " " + v.Step, Text: cmp.Or(v.Err, string(v.Data))})
	}
	return x, nil
}

// problems lists the findings of files and graph.
func problems(pred, before *okf.Base) []eval.ExhibitRow {
	var rows []eval.ExhibitRow
	list := pred.Findings()
	list = append(list, graph.Integrity(before)...)
	for _, f := range list {
		if len(rows) == maxShown {
			break
		}
		if f.Code == okf.CodeUnresolved {
			continue // the graph has it as a dangling edge
		}
		where := f.File
		if f.Line > 0 {
			where = fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		rows = append(rows, eval.ExhibitRow{Unit: where, Note: fmt.Sprintf("%s %s: %s", f.Severity, f.Code, f.Text)})
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

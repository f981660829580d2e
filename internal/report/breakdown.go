package report

import (
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
)

// breakdown is the fourth section: every metric by arm and stratum, the suite's
// own tables, and the accuracy of the judges.
func (b *builder) breakdown() section {
	s := section{ID: "breakdown", Title: "Breakdown", InTerm: whenVerbose}
	for _, m := range b.ranked("primary", "secondary") {
		s.Blocks = append(s.Blocks, b.strata(m)...)
	}
	if t := b.otherMetrics(); t != nil {
		s.Blocks = append(s.Blocks, block{Table: t})
	}
	if len(b.a.Judges) > 0 {
		s.Blocks = append(s.Blocks, block{Table: b.judges()})
	}
	if j := b.a.JudgeAndPeople; j != nil {
		s.Blocks = append(s.Blocks, block{Table: b.judgeAndPeople(j)}, block{Table: judgeErrors(j)}, block{Table: b.correctedRates(j)})
	}
	for _, t := range b.a.Tables {
		if t.Summary {
			continue
		}
		s.Blocks = append(s.Blocks, block{Table: suiteTable(t, b.a.Study.Alpha)})
	}
	return s
}

// strata has a chart for each factor: all items first, then arms within levels.
// For many arms it has a table with one column per level instead.
func (b *builder) strata(m analyse.Metric) []block {
	strata := filter(b.a.Estimates, func(e analyse.Estimate) bool { return e.Metric == m.Name && e.Stratum != nil })
	var blocks []block
	for _, factor := range factors(strata, func(e analyse.Estimate) string { return e.Stratum.Name }) {
		of := filter(strata, func(e analyse.Estimate) bool { return e.Stratum.Name == factor })
		if b.crowded() {
			blocks = append(blocks, block{Table: b.strataTable(m, factor, of)})
		} else {
			blocks = append(blocks, block{Chart: b.levels(m.Title+" by "+factor, m, b.strataRows(m, of))})
		}
	}
	return blocks
}

// strataTable has one row per arm and one column per level of a factor.
func (b *builder) strataTable(m analyse.Metric, factor string, strata []analyse.Estimate) *table {
	t := &table{Caption: m.Title + " by " + factor, Columns: []column{{Title: "Arm"}, {Title: "All items", Align: right}}, Legend: b.valueLegend()}
	levels := factors(strata, levelOf)
	for _, level := range levels {
		t.Columns = append(t.Columns, column{Title: level, Align: right})
	}
	cells := map[[2]string]cell{}
	for _, e := range strata {
		cells[[2]string{e.Arm, e.Stratum.Value}] = b.levelCell(m, e, &t.Notes)
	}
	for _, arm := range b.contestants() {
		none := undefinedCell(&t.Notes, "not measured for this arm")
		row := []cell{armCell(arm), none}
		if e, ok := b.a.Estimate(arm.ID, m.Name); ok {
			row[1] = b.levelCell(m, e, &t.Notes)
		}
		for _, level := range levels {
			c, ok := cells[[2]string{arm.ID, level}]
			if !ok {
				c = none
			}
			row = append(row, c)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func levelOf(e analyse.Estimate) string { return e.Stratum.Value }

// levelCell returns a value with its interval and n below it, shaded by value.
func (b *builder) levelCell(m analyse.Metric, e analyse.Estimate, ns *notes) cell {
	c := b.estimated(m, e, ns)
	if m.Min == 0 && m.Max == 1 {
		c = shaded(c, e.Value)
	}
	return c
}

func (b *builder) strataRows(m analyse.Metric, strata []analyse.Estimate) []measuredRow {
	var rows []measuredRow
	for _, arm := range b.contestants() {
		if e, ok := b.a.Estimate(arm.ID, m.Name); ok {
			rows = append(rows, b.estimateRow("All items", armCell(arm), e))
			rows[len(rows)-1].total = true
		}
	}
	for _, level := range factors(strata, levelOf) {
		for _, arm := range b.contestants() {
			for _, e := range strata {
				if e.Stratum.Value == level && e.Arm == arm.ID {
					rows = append(rows, b.estimateRow(e.Stratum.Name+" = "+level, armCell(arm), e))
				}
			}
		}
	}
	return rows
}

// otherMetrics is a compact table of the metrics that are neither primary nor
// secondary: one row per metric, one column per arm.
func (b *builder) otherMetrics() *table {
	ms := filter(b.metrics(), func(m analyse.Metric) bool { return m.Rank != "primary" && m.Rank != "secondary" })
	if len(ms) == 0 {
		return nil
	}
	if b.crowded() {
		return b.scoreTable("Other metrics", ms)
	}
	t := &table{Caption: "Other metrics", Columns: []column{{Title: "Metric"}}, Legend: b.valueLegend()}
	for _, arm := range b.contestants() {
		title := tagged(strings.TrimSpace, armCell(arm))
		t.Columns = append(t.Columns, column{Title: title, Align: point})
	}
	for _, m := range ms {
		row := []cell{{Text: m.Title + arrow(m), Detail: nonEmpty(analysisOnly(m))}}
		for _, arm := range b.contestants() {
			row = append(row, b.estimateCell(arm.ID, m, &t.Notes))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// accuracy is the scale of that of a judge.
var accuracy = say.Scale{Percent: true, Decimals: 1}

func (b *builder) judges() *table {
	t := &table{Caption: "Judges, on cases with known answers", Columns: []column{
		{Title: "Judge"}, {Title: "Right", Align: right}, {Title: "Accuracy", Align: point}, {Title: "Effect on scoring"},
	}}
	for _, j := range b.a.Judges {
		reasons := j.Warnings
		if len(reasons) == 0 && !j.Accuracy.Defined() {
			reasons = []string{"undefined: the judge had no case with a known answer"}
		}
		t.Rows = append(t.Rows, []cell{
			{Text: j.Name},
			{Text: say.Count(j.Right) + " of " + say.Count(j.Cases)},
			{
				Text:   accuracy.Value(j.Accuracy, false),
				Detail: []string{accuracy.Interval(j.Low, j.High, false), "n = " + say.Plural(j.Cases, "case", "cases")},
				Refs:   t.Notes.refs(reasons),
			},
			{Text: j.Effect},
		})
	}
	t.Legend = []string{"Below each accuracy: its " + b.ci + "."}
	return t
}

// suiteTable shows a suite's own table. Its rows may be ragged.
func suiteTable(of eval.Table, alpha float64) *table {
	t := &table{Caption: of.Title, Legend: nonEmpty(of.Note)}
	for j, c := range of.Columns {
		align := left
		if j > 0 && numeric(of.Rows, j) {
			align = point
		}
		t.Columns = append(t.Columns, column{Title: c, Align: align})
	}
	tones := map[string]tone{eval.VerdictTrue: good, eval.VerdictFalse: bad, eval.VerdictUnknown: unsure}
	for _, r := range of.Rows {
		row := make([]cell, len(of.Columns))
		for i, c := range r[:min(len(r), len(row))] {
			row[i] = cell{Text: c.Number(alpha), Detail: nonEmpty(c.Interval()), Refs: t.Notes.refs(nonEmpty(c.Why))}
			if c.Kind == eval.KindVerdict {
				row[i].Tone = tones[row[i].Text]
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// numeric reports whether a column has only numbers.
func numeric(rows [][]eval.Cell, j int) bool {
	some := false
	for _, r := range rows {
		switch {
		case j >= len(r) || r[j].String() == "":
		case r[j].Kind == eval.KindText || r[j].Kind == eval.KindVerdict:
			return false
		default:
			some = true
		}
	}
	return some
}

package report

import (
	"github.com/scruple-eval/scruple/internal/analyse"

	"github.com/scruple-eval/scruple/internal/say"
)

// modelBlocks shows the mixed models behind the comparisons: the standard deviation
// of each random effect, the test that all arm means are equal, and the means.
func (b *builder) modelBlocks() []block {
	var blocks []block
	for _, m := range b.a.Models {
		blocks = append(blocks,
			block{Table: b.modelTable(m), Detail: true},
			block{Table: b.meansTable(m), Detail: true})
	}
	return blocks
}

func (b *builder) modelTable(m analyse.Model) *table {
	metric := b.metric(m.Metric)
	t := &table{Caption: "Mixed model of " + metric.Title + ": " + m.Formula, Columns: []column{
		{Title: "Random effect"}, {Title: "Levels", Align: right}, {Title: "Standard deviation", Align: point}}}
	for _, g := range m.Groups {
		t.Rows = append(t.Rows, []cell{{Text: g.Name}, {Text: say.Count(g.Levels)}, {Text: say.Fixed(g.SD, 4)}})
	}
	t.Rows = append(t.Rows, []cell{{Text: "residual"}, {Text: say.Count(m.Rows)}, {Text: say.Fixed(m.Residual, 4)}})
	if m.F.Defined() {
		t.Legend = append(t.Legend, "Equal arm means: F("+say.Degrees(m.NumDF)+", "+say.Degrees(m.DenDF)+") = "+say.Fixed(m.F, 2)+
			", "+say.PEquals(m.P, b.a.Study.Alpha)+". Degrees of freedom by Satterthwaite's method.")
	}
	t.Legend = append(t.Legend, m.Warnings...)
	return t
}

func (b *builder) meansTable(m analyse.Model) *table {
	s := scaleOf(b.metric(m.Metric))
	t := &table{Caption: "Arm means of the model", Columns: []column{
		{Title: "Arm"}, {Title: "Mean", Align: point}, {Title: b.ci}, {Title: "df", Align: point}}}
	for _, e := range m.Means {
		t.Rows = append(t.Rows, []cell{{Text: e.Arm}, {Text: s.Value(e.Value, false)}, {Text: s.Interval(e.Low, e.High, false)}, {Text: say.Degrees(e.DF)}})
	}
	return t
}

package report

import (
	"slices"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
)

// outsideBlocks show what comes from outside of the run: how differences changed since an
// earlier study, what outsiders found on data of their own, and how often two people gave
// the same answer.
func (b *builder) outsideBlocks() []block {
	var blocks []block
	for _, t := range []*table{b.replications(), b.blindResults(), b.agreements()} {
		if t != nil {
			blocks = append(blocks, block{Table: t})
		}
	}
	return blocks
}

func (b *builder) replications() *table {
	if len(b.a.Replications) == 0 {
		return nil
	}
	t := &table{Caption: "Replication of run " + b.a.Replications[0].Run, Columns: []column{{Title: "A " + say.Minus + " B"}, {Title: "Metric"},
		{Title: "Earlier", Align: point}, {Title: "Here", Align: point}, {Title: "Change", Align: point}, {Title: "Interval of the change", Align: point}}}
	for _, r := range b.a.Replications {
		m := b.metric(r.Metric)
		s := scaleOf(m)
		why := slices.DeleteFunc([]string{r.Warning, r.Unblinded}, func(s string) bool { return s == "" })
		t.Rows = append(t.Rows, []cell{{Text: r.A + minusBetween + r.B + inWhich(r.Stratum), Tags: b.simulatedTag(r.A, r.B)}, {Text: m.Title + arrow(m)},
			{Text: s.Value(r.Earlier, true)}, {Text: s.Value(r.Here, true)}, {Text: s.Value(r.Change, true)}, {Text: s.Interval(r.EquivLow, r.EquivHigh, true), Refs: t.Notes.refs(why)}})
	}
	t.Legend = []string{"Differences on the items of the earlier run and of this one, which are different items. If the interval of the change lies within ±m, two one-sided tests show that the difference changed by less than m. Its level is " + say.Fixed(analyse.Number(100*(1-2*b.a.Study.Alpha)), 0) + say.NBSP + "% or more."}
	return t
}

func inWhich(stratum *eval.Level) string {
	if stratum == nil {
		return ""
	}
	return ", " + stratum.Name + "=" + stratum.Value
}

func (b *builder) blindResults() *table {
	t := &table{Caption: "Blind validations by outsiders", Columns: []column{{Title: "By"}, {Title: "Data, SHA-256"}, {Title: "A " + say.Minus + " B"}, {Title: "Metric"},
		{Title: "Difference", Align: point}, {Title: "Pairs", Align: right}, {Title: "p", Align: point}}}
	for _, r := range b.a.Blind {
		var tags []string
		if len(r.Simulated) > 0 {
			tags = []string{tagSimulated}
		}
		for _, c := range r.Comparisons {
			m := b.metric(c.Metric)
			s := scaleOf(m)
			t.Rows = append(t.Rows, []cell{{Text: r.By, Tags: tags}, {Text: brief(r.Data)}, {Text: c.A + minusBetween + c.B}, {Text: m.Title + arrow(m)},
				{Text: s.Value(c.Diff, true), Detail: []string{s.Interval(c.Low, c.High, true)}}, {Text: say.Count(c.Pairs)}, {Text: say.P(c.P, b.a.Study.Alpha)}})
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	t.Legend = []string{"Aggregates alone, as outsiders reported them: their data were committed to by the hash before the run, and nobody else saw them."}
	return t
}

// brief is the beginning of a hash.
func brief(hash string) string { return hash[:min(12, len(hash))] }

func (b *builder) agreements() *table {
	if len(b.a.Agreements) == 0 {
		return nil
	}
	t := &table{Caption: "Agreement of two people", Columns: []column{{Title: "Task"}, {Title: "Question"}, {Title: "Same answer", Align: right}, {Title: "Share", Align: right}}}
	for _, g := range b.a.Agreements {
		share := say.Dash
		if g.N > 0 {
			share = say.WithUnit(say.Fixed(analyse.Number(100*float64(g.Same)/float64(g.N)), 1), say.NBSP+"%")
		}
		t.Rows = append(t.Rows, []cell{{Text: g.Task}, {Text: g.Question}, {Text: say.Count(g.Same) + " of " + say.Count(g.N)}, {Text: share}})
	}
	t.Legend = []string{"Of the subjects that two people answered independently."}
	return t
}

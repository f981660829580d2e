package report

import (
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
		if len(t.Rows) > 0 {
			blocks = append(blocks, block{Table: t})
		}
	}
	return blocks
}

func (b *builder) replications() *table {
	t := newTable("", "A "+say.Minus+" B", "Metric", ".Earlier", ".Here", ".Change", ".Interval of the change")
	for _, r := range b.a.Replications {
		t.Caption = "Replication of run " + r.Run
		m := b.metric(r.Metric)
		s := m.Scale()
		t.add(cell{Text: r.A + minusBetween + r.B + inWhich(r.Stratum), Tags: b.simulatedTag(r.A, r.B)}, words(m.Title+arrow(m)),
			words(s.Value(r.Earlier, true)), words(s.Value(r.Here, true)), words(s.Value(r.Change, true)),
			cell{Text: s.Interval(r.EquivLow, r.EquivHigh, true), Refs: t.Notes.refs(nonEmpty(r.Warning, r.Unblinded))})
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
	t := newTable("Blind validations by outsiders", "By", "Data, SHA-256", "A "+say.Minus+" B", "Metric", ".Difference", ">Pairs", ".p")
	for _, r := range b.a.Blind {
		by := words(r.By)
		if len(r.Simulated) > 0 {
			by.Tags = []string{tagSimulated}
		}
		for _, c := range r.Comparisons {
			m := b.metric(c.Metric)
			s := m.Scale()
			t.add(by, words(r.Data[:min(12, len(r.Data))]), words(c.A+minusBetween+c.B), words(m.Title+arrow(m)),
				cell{Text: s.Value(c.Diff, true), Detail: []string{s.Interval(c.Low, c.High, true)}}, number(c.Pairs), words(say.P(c.P, b.a.Study.Alpha)))
		}
	}
	t.Legend = []string{"Aggregates alone, as outsiders reported them: their data were committed to by the hash before the run, and nobody else saw them."}
	return t
}

func (b *builder) agreements() *table {
	t := newTable("Agreement of two people", "Task", "Question", ">Same answer", ">Share")
	for _, g := range b.a.Agreements {
		t.add(words(g.Task), words(g.Question), words(say.Count(g.Same)+" of "+say.Count(g.N)), words(eval.ShareOf(g.Same, g.N).Number(0)))
	}
	t.Legend = []string{"Of the subjects that two people answered independently."}
	return t
}

// modelBlocks shows the mixed models behind the comparisons: the standard deviation of each
// random effect, the test that all arm means are equal, and the means.
func (b *builder) modelBlocks() []block {
	var blocks []block
	for _, m := range b.a.Models {
		blocks = append(blocks, block{Table: b.modelTable(m), In: atLength}, block{Table: b.meansTable(m), In: atLength})
	}
	return blocks
}

func (b *builder) modelTable(m analyse.Model) *table {
	t := newTable("Mixed model of "+b.metric(m.Metric).Title+": "+m.Formula, "Random effect", ">Levels", ".Standard deviation")
	for _, g := range m.Groups {
		t.add(words(g.Name), number(g.Levels), words(say.Fixed(g.SD, 4)))
	}
	t.add(words("residual"), number(m.Rows), words(say.Fixed(m.Residual, 4)))
	if m.F.Defined() {
		t.Legend = append(t.Legend, "Equal arm means: F("+say.Degrees(m.NumDF)+", "+say.Degrees(m.DenDF)+") = "+say.Fixed(m.F, 2)+
			", "+say.PEquals(m.P, b.a.Study.Alpha)+". Degrees of freedom by Satterthwaite's method.")
	}
	t.Legend = append(t.Legend, m.Warnings...)
	return t
}

func (b *builder) meansTable(m analyse.Model) *table {
	s := b.metric(m.Metric).Scale()
	t := newTable("Arm means of the model", "Arm", ".Mean", b.ci, ".df")
	for _, e := range m.Means {
		t.add(words(e.Arm), words(s.Value(e.Value, false)), words(s.Interval(e.Low, e.High, false)), words(say.Degrees(e.DF)))
	}
	return t
}

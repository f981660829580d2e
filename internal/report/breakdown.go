package report

import (
	"cmp"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/say"
)

// breakdown is the section of every metric by arm and stratum, the suite's own tables, and
// the accuracy of the judges.
func (b *builder) breakdown() section {
	s := section{ID: "breakdown", Title: "Breakdown"}
	for _, m := range b.ranked("primary", "secondary") {
		for _, t := range b.strata(m) {
			s.Blocks = append(s.Blocks, block{Table: t, In: inFull})
		}
	}
	others := filter(b.metrics(), func(m analyse.Metric) bool { return m.Rank != "primary" && m.Rank != "secondary" })
	s.Blocks = append(s.Blocks, b.scoreBlocks("Other metrics", atLength, others)...)
	if len(b.a.Judges) > 0 {
		s.Blocks = append(s.Blocks, block{Table: b.judges(), In: atLength})
	}
	if j := b.a.JudgeAndPeople; j != nil {
		for _, t := range []*table{b.judgeAndPeople(j), judgeErrors(j), b.correctedRates(j)} {
			s.Blocks = append(s.Blocks, block{Table: t, In: atLength})
		}
	}
	for _, t := range b.a.Tables {
		if !t.Summary {
			s.Blocks = append(s.Blocks, block{Table: suiteTable(t, b.a.Study.Alpha), In: atLength})
		}
	}
	return s
}

// strata has a table for each factor.
func (b *builder) strata(m analyse.Metric) (list []*table) {
	strata := filter(b.a.Estimates, func(e analyse.Estimate) bool { return e.Metric == m.Name && e.Stratum != nil })
	for _, factor := range factors(strata, func(e analyse.Estimate) string { return e.Stratum.Name }) {
		list = append(list, b.strataTable(m, factor, filter(strata, func(e analyse.Estimate) bool { return e.Stratum.Name == factor })))
	}
	return list
}

// strataTable has one row per arm and one column per level of a factor.
func (b *builder) strataTable(m analyse.Metric, factor string, strata []analyse.Estimate) *table {
	t := newTable(m.Title+" by "+factor, "Arm", ">All items")
	levels := factors(strata, levelOf)
	for _, level := range levels {
		t.column(level, right)
	}
	cells := map[[2]string]cell{}
	for _, e := range strata {
		cells[[2]string{e.Arm, e.Stratum.Value}] = b.levelCell(m, e, t)
	}
	for _, arm := range b.contestants() {
		none := t.undefined("not measured for this arm")
		all := none
		if e, ok := b.a.Estimate(arm.ID, m.Name); ok {
			all = b.levelCell(m, e, t)
		}
		row := []cell{armCell(arm), all}
		for _, level := range levels {
			c, ok := cells[[2]string{arm.ID, level}]
			if !ok {
				c = none
			}
			row = append(row, c)
		}
		t.add(row...)
	}
	return b.valued(t)
}

func levelOf(e analyse.Estimate) string { return e.Stratum.Value }

// levelCell returns a value with its interval and n below it, shaded by value.
func (b *builder) levelCell(m analyse.Metric, e analyse.Estimate, t *table) cell {
	c := b.estimated(m, e, t)
	if m.Min == 0 && m.Max == 1 {
		c = shaded(c, e.Value)
	}
	return c
}

// share is the scale of shares: of the accuracy of a judge, of agreement.
var share = say.Scale{Percent: true, Decimals: 1}

// shareCell is a share with its interval and other details below it.
func shareCell(value, low, high analyse.Number, refs []int, more ...string) cell {
	return cell{Text: share.Value(value, false), Detail: append([]string{share.Interval(low, high, false)}, more...), Refs: refs}
}

func (b *builder) judges() *table {
	t := newTable("Judges, on cases with known answers", "Judge", ">Right", ".Accuracy", "Effect on scoring")
	for _, j := range b.a.Judges {
		reasons := j.Warnings
		if len(reasons) == 0 && !j.Accuracy.Defined() {
			reasons = []string{"undefined: the judge had no case with a known answer"}
		}
		t.add(words(j.Name), words(say.Count(j.Right)+" of "+say.Count(j.Cases)),
			shareCell(j.Accuracy, j.Low, j.High, t.Notes.refs(reasons), "n = "+say.Plural(j.Cases, "case", "cases")), words(j.Effect))
	}
	t.Legend = []string{"Below each accuracy: its " + b.ci + "."}
	return t
}

// judgeAndPeople shows how a judge agrees with people.
func (b *builder) judgeAndPeople(j *analyse.JudgeAndPeople) *table {
	t := newTable("Judge and people, on the same units", "Judge", ">Both yes", ">Only the judge", ">Only people", ">Both no", ".Agreement", ".Cohen’s kappa")
	t.Legend = []string{"People judged " + say.Count(j.N()) + " of the " + say.Plural(j.Units, "unit", "units") + " that the judge judged. Below each number: its " + b.ci + "."}
	agreed := shareCell(j.Agreement, j.AgreeLow, j.AgreeHigh, t.Notes.refs(j.Warnings))
	k := t.undefined("only one label was given")
	if kappa := (say.Scale{Decimals: 3}); j.Kappa.Defined() {
		k = cell{Text: kappa.Value(j.Kappa, false), Detail: []string{kappa.Interval(j.Low, j.High, false)}}
	}
	t.add(words(j.Judge), number(j.Both), number(j.JudgeOnly), number(j.PeopleOnly), number(j.Neither), agreed, k)
	return t
}

// judgeErrors shows the errors of a judge by type of unit.
func judgeErrors(j *analyse.JudgeAndPeople) *table {
	t := newTable("Errors of the judge by type, people taken as right", "Type", ">Judged by people", ">Yes, people no", ">No, people yes")
	for _, e := range j.Types {
		t.add(words(cmp.Or(e.Type, "all")), number(e.N), number(e.FalseYes), number(e.FalseNo))
	}
	return t
}

// correctedRates shows judged rates, corrected by people.
func (b *builder) correctedRates(j *analyse.JudgeAndPeople) *table {
	t := newTable("Judged rates, corrected by people", "Arm", ">Units", ">Judged by people", ".Judge says yes", ".People say yes", ".Corrected")
	t.Legend = []string{"Corrected: the judge’s rate of all units and people’s of a random sample, combined (PPI++). Below it: its " + b.ci + "."}
	for _, r := range j.Rates {
		corrected := t.undefined("undefined: people judged too few units")
		if r.Corrected.Defined() {
			corrected = shareCell(r.Corrected, r.Low, r.High, t.Notes.refs(r.Warnings))
		}
		t.add(words(r.Arm), number(r.Units), number(r.Labelled), words(share.Value(r.Judge, false)), words(share.Value(r.People, false)), corrected)
	}
	return t
}

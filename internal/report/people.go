package report

import (
	"cmp"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/say"
)

// judgeAndPeople shows how a judge agrees with people.
func (b *builder) judgeAndPeople(j *analyse.JudgeAndPeople) *table {
	t := &table{Caption: "Judge and people, on the same units", Columns: []column{
		{Title: "Judge"}, {Title: "Both yes", Align: right}, {Title: "Only the judge", Align: right}, {Title: "Only people", Align: right},
		{Title: "Both no", Align: right}, {Title: "Agreement", Align: point}, {Title: "Cohen’s kappa", Align: point}},
		Legend: []string{"People judged " + say.Count(j.N()) + " of the " + say.Plural(j.Units, "unit", "units") + " that the judge judged. Below each number: its " + b.ci + "."}}
	share, kappa := say.Scale{Percent: true, Decimals: 1}, say.Scale{Decimals: 3}
	agreed := cell{Text: share.Value(j.Agreement, false), Detail: []string{share.Interval(j.AgreeLow, j.AgreeHigh, false)}, Refs: t.Notes.refs(j.Warnings)}
	k := undefinedCell(&t.Notes, "only one label was given")
	if j.Kappa.Defined() {
		k = cell{Text: kappa.Value(j.Kappa, false), Detail: []string{kappa.Interval(j.Low, j.High, false)}}
	}
	t.Rows = [][]cell{{{Text: j.Judge}, {Text: say.Count(j.Both)}, {Text: say.Count(j.JudgeOnly)}, {Text: say.Count(j.PeopleOnly)}, {Text: say.Count(j.Neither)}, agreed, k}}
	return t
}

// judgeErrors shows the errors of a judge by type of unit.
func judgeErrors(j *analyse.JudgeAndPeople) *table {
	t := &table{Caption: "Errors of the judge by type, people taken as right", Columns: []column{
		{Title: "Type"}, {Title: "Judged by people", Align: right}, {Title: "Yes, people no", Align: right}, {Title: "No, people yes", Align: right}}}
	for _, e := range j.Types {
		t.Rows = append(t.Rows, []cell{{Text: cmp.Or(e.Type, "all")}, {Text: say.Count(e.N)}, {Text: say.Count(e.FalseYes)}, {Text: say.Count(e.FalseNo)}})
	}
	return t
}

// correctedRates shows judged rates, corrected by people.
func (b *builder) correctedRates(j *analyse.JudgeAndPeople) *table {
	t := &table{Caption: "Judged rates, corrected by people", Columns: []column{
		{Title: "Arm"}, {Title: "Units", Align: right}, {Title: "Judged by people", Align: right}, {Title: "Judge says yes", Align: point},
		{Title: "People say yes", Align: point}, {Title: "Corrected", Align: point}},
		Legend: []string{"Corrected: the judge’s rate of all units and people’s of a random sample, combined (PPI++). Below it: its " + b.ci + "."}}
	share := say.Scale{Percent: true, Decimals: 1}
	for _, r := range j.Rates {
		corrected := undefinedCell(&t.Notes, "undefined: people judged too few units")
		if r.Corrected.Defined() {
			corrected = cell{Text: share.Value(r.Corrected, false), Detail: []string{share.Interval(r.Low, r.High, false)}, Refs: t.Notes.refs(r.Warnings)}
		}
		t.Rows = append(t.Rows, []cell{{Text: r.Arm}, {Text: say.Count(r.Units)}, {Text: say.Count(r.Labelled)},
			{Text: share.Value(r.Judge, false)}, {Text: share.Value(r.People, false)}, corrected})
	}
	return t
}

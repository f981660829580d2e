package extraction

import (
	"fmt"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
)

// Report has a summary, a table of the null baseline with its expected score, and a table
// of failure modes by arm, the agreement on the checklist if there is one, and figures.
func (b *Bench) Report(r eval.Results) ([]eval.Block, error) {
	value := func(arm, metric string) eval.Number {
		if m, ok := r.Estimate(arm, metric); ok {
			return m.Value
		}
		return eval.Undefined()
	}
	null, modes := b.nullTable(value), b.modesTable(value)
	var verified *eval.Measured
	for _, a := range b.arms {
		if m, ok := r.Estimate(a.ID, metricGoldVerified); ok && a.Role == eval.RoleBaseline && m.Value.Defined() {
			verified = &m
		}
	}
	blocks := []eval.Block{{Table: b.summaryTable(value, verified)}, {Table: &null}, {Table: &modes}}
	if t := b.verifiedTable(); t != nil {
		blocks = append(blocks, eval.Block{Table: t})
	}
	for _, f := range b.figures(r) {
		blocks = append(blocks, eval.Block{Figure: &f})
	}
	return blocks, nil
}

// nullTable shows the floor and the ceiling of the composite: the null baseline's
// score, with the score that gold implies for it (a difference is a bug in the
// scorer), and the score of the answers from gold.
func (b *Bench) nullTable(value func(arm, metric string) eval.Number) eval.Table {
	t := eval.Table{Name: "null_baseline", Title: "Floor and ceiling",
		Note: fmt.Sprintf("The null baseline answers missing for every field. It scores 1 on missing fields and %s (schema alone) on the others. An arm must beat its mean over documents. The ceiling is the composite of answers from gold: below 1, some gold has no passage that shows it or has long quotes, and no arm can be expected to score more.",
			eval.Ratio(eval.Number(b.weights.Schema))),
		Columns: []string{"arm", "gold present", "gold missing", "gold ambiguous", "floor, expected", "floor, measured", "ceiling"}}
	if b.unannotated > 0 {
		t.Note += fmt.Sprintf(" Requested but not scored, because they have no gold: %s.", text.Plural(b.unannotated, "field", "fields"))
	}
	for _, a := range b.arms {
		if a.Role != eval.RoleBaseline {
			continue
		}
		missing, ambiguous := value(a.ID, metricGoldMissing), value(a.ID, metricGoldAmbiguous)
		t.Row(eval.Text(a.ID), eval.Share(1-missing-ambiguous), eval.Share(missing), eval.Share(ambiguous),
			eval.Ratio(value(a.ID, metricNullExpected)), eval.Ratio(value(a.ID, metricComposite)), eval.Ratio(value(a.ID, metricGoldComposite)))
	}
	return t
}

// modesTable has the share of fields with each failure mode, by arm.
func (b *Bench) modesTable(value func(arm, metric string) eval.Number) eval.Table {
	t := eval.Table{Name: "failure_modes", Title: "Failure modes",
		Note:    "Share of fields with each failure; one field can have several. The first row is a share of answers.",
		Columns: []string{"failure"}}
	arms := b.shownArms()
	t.Columns = append(t.Columns, arms...)
	row := func(title, metric string) {
		cells := []eval.Cell{eval.Text(title)}
		for _, a := range arms {
			cells = append(cells, eval.Share(value(a, metric)))
		}
		t.Row(cells...)
	}
	row("answer does not parse", metricParseFailure)
	for _, m := range modes {
		row(m.title, m.metric)
	}
	return t
}

package extraction

import (
	"fmt"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Report is the null baseline with what it must score, and how each arm goes
// wrong.
func (b *Bench) Report(r eval.Results) ([]eval.Block, error) {
	value := func(arm, metric string) (float64, bool) {
		m, ok := r.Estimate(arm, metric)
		return float64(m.Value), ok
	}
	null, modes := b.nullTable(value), b.modesTable(value)
	return []eval.Block{{Table: &null}, {Table: &modes}}, nil
}

// nullTable holds what the null baseline scored against what gold says it
// must: calling a field missing is perfect where it is, and keeps its form
// everywhere else. A difference is an error of the scorer.
func (b *Bench) nullTable(value func(arm, metric string) (float64, bool)) eval.Table {
	t := eval.Table{Name: "null_baseline", Title: "Null baseline",
		Note: fmt.Sprintf("Calling every field missing scores 1 where it is and %s (the form alone) elsewhere; the mean over documents is the floor every arm has to beat.",
			number(b.weights.Schema, true)),
		Columns: []string{"arm", "gold present", "gold missing", "gold ambiguous", "expected composite", "measured composite"}}
	if b.unannotated > 0 {
		t.Note += fmt.Sprintf(" %d fields of documents have no gold: they are asked for and not scored.", b.unannotated)
	}
	for _, a := range b.arms {
		if a.Role != eval.RoleBaseline {
			continue
		}
		missing, ok := value(a.ID, metricGoldMissing)
		ambiguous, _ := value(a.ID, metricGoldAmbiguous)
		expected, okExpected := value(a.ID, metricNullExpected)
		measured, okMeasured := value(a.ID, metricComposite)
		t.Rows = append(t.Rows, []string{a.ID, percent(1-missing-ambiguous, ok), percent(missing, ok), percent(ambiguous, ok),
			number(expected, okExpected), number(measured, okMeasured)})
	}
	return t
}

// modesTable shows, for every arm, the share of fields that went wrong in each
// way.
func (b *Bench) modesTable(value func(arm, metric string) (float64, bool)) eval.Table {
	t := eval.Table{Name: "failure_modes", Title: "Failure modes",
		Note:    "Share of fields with each failure; one field can have several. Unreadable answers are a share of answers.",
		Columns: []string{"failure"}}
	var arms []string
	for _, a := range b.arms {
		if a.Role != eval.RoleCalibration {
			arms = append(arms, a.ID)
		}
	}
	t.Columns = append(t.Columns, arms...)
	row := func(title, metric string) {
		cells := []string{title}
		for _, a := range arms {
			cells = append(cells, percent(value(a, metric)))
		}
		t.Rows = append(t.Rows, cells)
	}
	row("answer not readable", metricParseFailure)
	for _, m := range modes {
		row(m.title, m.metric)
	}
	return t
}

func percent(share float64, ok bool) string {
	if !ok {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}

func number(x float64, ok bool) string {
	if !ok {
		return "–"
	}
	return fmt.Sprintf("%.4f", x)
}

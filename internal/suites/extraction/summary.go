package extraction

import (
	"cmp"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
)

// mostCommon is the number of failure modes that a summary names.
const mostCommon = 3

// summaryTable has the findings of a run in brief: one line for each question. verified
// is the share of confirmed points of the checklist, nil without one.
func (b *Bench) summaryTable(value func(arm, metric string) eval.Number, verified *eval.Measured) *eval.Table {
	t := &eval.Table{Name: "executive_summary", Title: "Summary", Summary: true, Columns: []string{"question", "finding"}}
	add := func(question, format string, args ...any) {
		t.Row(eval.Text(question), eval.Textf(format, args...))
	}
	arms := slices.DeleteFunc(b.shownArms(), func(id string) bool { return b.byArm[id].Role == eval.RoleBaseline })
	best, worst := extremes(arms, metricComposite, value)
	if best != "" {
		line := eval.Textf("%s, with a composite of %s", best, eval.Ratio(value(best, metricComposite)))
		if worst != best {
			line = eval.Textf("%s; the lowest is %s, %s", line, worst, eval.Ratio(value(worst, metricComposite)))
		}
		add("Which arm scores most?", "%s. The comparisons say whether arms differ.", line)
	}
	for _, a := range b.arms {
		floor, expected, ceiling := value(a.ID, metricComposite), value(a.ID, metricNullExpected), value(a.ID, metricGoldComposite)
		if a.Role == eval.RoleBaseline && floor.Defined() && expected.Defined() && ceiling.Defined() {
			add("Between which scores?", "Floor %s, which %s has with every field missing (expected from gold: %s); ceiling %s, of answers from gold.",
				eval.Ratio(floor), a.ID, eval.Ratio(expected), eval.Ratio(ceiling))
		}
	}
	if list := b.commonModes(best, value); list.Text != "" {
		add("How does "+best+" fail?", "%s of the fields.", list)
	}
	if most, _ := extremes(arms, metricFabrication, value); most != "" {
		add("Are quotes real?", "%s of the quotes that %s owes are not in the document, the largest share of all arms.", eval.Share(value(most, metricFabrication)), most)
	}
	if verified != nil {
		add("Was gold verified?", "%s of the points on the checklist were confirmed, of %s of this run.", eval.Share(verified.Value), text.Plural(verified.N, "document", "documents"))
	}
	return t
}

// extremes are the arms with the largest and the smallest value, "" without any.
func extremes(arms []string, metric string, value func(arm, metric string) eval.Number) (largest, smallest string) {
	var high, low eval.Number
	for _, id := range arms {
		x := value(id, metric)
		if !x.Defined() {
			continue
		}
		if largest == "" || x > high {
			largest, high = id, x
		}
		if smallest == "" || x < low {
			smallest, low = id, x
		}
	}
	return largest, smallest
}

// commonModes names the most common failures of an arm.
func (b *Bench) commonModes(arm string, value func(arm, metric string) eval.Number) eval.Cell {
	type share struct {
		title string
		value eval.Number
	}
	var list []share
	for _, m := range modes {
		if x := value(arm, m.metric); x > 0 {
			list = append(list, share{m.title, x})
		}
	}
	slices.SortStableFunc(list, func(x, y share) int { return cmp.Compare(y.value, x.value) })
	line, between := eval.Text(""), ""
	for _, m := range list[:min(mostCommon, len(list))] {
		line = eval.Textf("%s%s%s in %s", line, between, m.title, eval.Share(m.value))
		between = ", "
	}
	return line
}

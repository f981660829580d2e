package extraction

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
)

// mostCommon is the number of failure modes that a summary names.
const mostCommon = 3

// summaryTable has the findings of a run in brief: one line for each question. verified
// is the share of confirmed points of the checklist, nil without one.
func (b *Bench) summaryTable(value func(arm, metric string) (float64, bool), verified *eval.Measured) *eval.Table {
	t := &eval.Table{Name: "executive_summary", Title: "Summary", Summary: true, Columns: []string{"question", "finding"}}
	add := func(question, format string, args ...any) {
		t.Rows = append(t.Rows, []string{question, fmt.Sprintf(format, args...)})
	}
	arms := slices.DeleteFunc(b.shownArms(), func(id string) bool { return b.byArm[id].Role == eval.RoleBaseline })
	best, worst := extremes(arms, metricComposite, value)
	if best != "" {
		line := fmt.Sprintf("%s, with a composite of %s", best, number3(value(best, metricComposite)))
		if worst != best {
			line += fmt.Sprintf("; the lowest is %s, %s", worst, number3(value(worst, metricComposite)))
		}
		add("Which arm scores most?", "%s. The comparisons say whether arms differ.", line)
	}
	for _, a := range b.arms {
		measured, ok := value(a.ID, metricComposite)
		expected, okExpected := value(a.ID, metricNullExpected)
		ceiling, okCeiling := value(a.ID, metricGoldComposite)
		if a.Role == eval.RoleBaseline && ok && okExpected && okCeiling {
			add("Between which scores?", "Floor %s, which %s has with every field missing (expected from gold: %s); ceiling %s, of answers from gold.",
				number3(measured, true), a.ID, number3(expected, true), number3(ceiling, true))
		}
	}
	if list := b.commonModes(best, value); list != "" {
		add("How does "+best+" fail?", "%s of the fields.", list)
	}
	if most, _ := extremes(arms, metricFabrication, value); most != "" {
		add("Are quotes real?", "%s of the quotes that %s owes are not in the document, the largest share of all arms.", percent(value(most, metricFabrication)), most)
	}
	if verified != nil {
		add("Was gold verified?", "%s of the points on the checklist were confirmed, of %s of this run.", percent(float64(verified.Value), true), text.Plural(verified.N, "document", "documents"))
	}
	return t
}

// extremes are the arms with the largest and the smallest value, "" without any.
func extremes(arms []string, metric string, value func(arm, metric string) (float64, bool)) (largest, smallest string) {
	var high, low float64
	for _, id := range arms {
		x, ok := value(id, metric)
		if !ok || math.IsNaN(x) {
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
func (b *Bench) commonModes(arm string, value func(arm, metric string) (float64, bool)) string {
	type share struct {
		title string
		value float64
	}
	var list []share
	for _, m := range modes {
		if x, ok := value(arm, m.metric); ok && x > 0 {
			list = append(list, share{m.title, x})
		}
	}
	slices.SortStableFunc(list, func(x, y share) int { return cmp.Compare(y.value, x.value) })
	var names []string
	for _, m := range list[:min(mostCommon, len(list))] {
		names = append(names, fmt.Sprintf("%s in %s", m.title, percent(m.value, true)))
	}
	return strings.Join(names, ", ")
}

func number3(x float64, ok bool) string {
	if !ok || math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf("%.3f", x)
}

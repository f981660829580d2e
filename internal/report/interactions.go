package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
)

// mostLevelPairs is the most pairs of levels that a chart shows.
const mostLevelPairs = 12

// interactionBlocks show whether differences depend on a factor: a sentence and the
// differences of differences. A run on DEV has the differences at each level alone.
func (b *builder) interactionBlocks() []block {
	var blocks []block
	size := everywhere
	if b.crowded() {
		size = atLength
	}
	for _, r := range b.a.Interactions {
		m := b.metric(r.Metric)
		s := m.Scale()
		name := r.A + minusBetween + r.B
		var at []string
		for _, l := range r.Levels {
			at = append(at, l.Name+say.NBSP+s.Value(l.Diff, true))
		}
		t := newTable("Does the difference "+name+" in "+m.Title+" depend on "+r.Factor+"?", "Levels", ".Difference of differences", ">"+b.levelCI(r.Level), ">n", ".p adjusted")
		t.Lead = b.dependence(r) + " " + name + ": " + strings.Join(at, ", ") + "."
		pairs := slices.Clone(r.Pairs)
		if n := len(pairs); n > mostLevelPairs {
			slices.SortStableFunc(pairs, func(x, y analyse.DiffOfDiff) int { return cmp.Compare(x.P, y.P) })
			pairs = pairs[:mostLevelPairs]
			t.Lead += " The " + say.Count(mostLevelPairs) + " pairs of levels with the smallest p of " + say.Count(n) + "; the JSON report has all."
		}
		if len(r.Warnings) > 0 && r.P.Defined() {
			t.Lead += " Note: " + strings.Join(r.Warnings, "; ") + "."
		}
		if len(pairs) == 0 {
			blocks = append(blocks, block{Prose: t.Caption + " " + t.Lead})
			continue
		}
		var rows []measuredRow
		for _, d := range pairs {
			rows = append(rows, measuredRow{label: words(d.First + minusBetween + d.Second), Measured: eval.Measured{Value: d.Diff, Low: d.Low, High: d.High, N: d.Items},
				more: []cell{words(say.P(d.PAdjusted, b.a.Study.Alpha))}})
		}
		t.plot(rows, analyse.Undefined(), analyse.Undefined(), s, true)
		blocks = append(blocks, block{Table: t, In: size})
	}
	return blocks
}

// dependence says what the test of equal differences shows.
func (b *builder) dependence(r analyse.Interaction) string {
	switch {
	case b.a.Run.Exploratory():
		return "DEV is for exploring: no test is made."
	case !r.P.Defined():
		return "Not tested: " + strings.Join(r.Warnings, "; ") + "."
	case float64(r.P) < b.a.Study.Alpha:
		return "Yes: the differences differ between levels, " + say.PEquals(r.P, b.a.Study.Alpha) + " (" + r.Method + ")."
	}
	text := "No evidence that it does, " + say.PEquals(r.P, b.a.Study.Alpha) + " (" + r.Method + ")."
	if spread := r.Spread(); spread.Defined() {
		text += " Two one-sided tests show that the differences differ by less than " + b.metric(r.Metric).Scale().Value(spread, false) + "."
	}
	return text
}

// levelCI names an interval of a level.
func (b *builder) levelCI(level analyse.Number) string {
	if !level.Defined() {
		return b.ci
	}
	return "simultaneous " + b.ci
}

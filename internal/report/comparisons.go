package report

import (
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
)

// comparisons is the third section: every difference with its interval and
// test, over all items and by stratum.
func (b *builder) comparisons() section {
	s := section{ID: "comparisons", Title: "Comparisons"}
	whole := b.wholeComparisons()
	own := filter(whole, func(c analyse.Comparison) bool { return !c.Contrast })
	contrasts := filter(whole, func(c analyse.Comparison) bool { return c.Contrast })
	for _, name := range factors(own, func(c analyse.Comparison) string { return c.Metric }) {
		s.Blocks = append(s.Blocks, block{Chart: b.forest("Difference in ", name, own), Detail: b.metric(name).Rank != "primary"})
	}
	for _, name := range factors(contrasts, func(c analyse.Comparison) string { return c.Metric }) {
		s.Blocks = append(s.Blocks, block{Chart: b.forest("Contrasts of the suite: difference in ", name, contrasts), Detail: b.crowded()})
	}
	if len(whole) > 0 {
		s.Blocks = append(s.Blocks, block{Table: b.testTable(whole), Detail: true})
	}
	s.Blocks = append(s.Blocks, b.outsideBlocks()...)
	s.Blocks = append(s.Blocks, b.interactionBlocks()...)
	s.Blocks = append(s.Blocks, b.modelBlocks()...)
	for _, q := range factors(slices.Concat(whole, b.a.Comparisons), questionOf) {
		if c := b.strataForest(q); c != nil {
			s.Blocks = append(s.Blocks, block{Chart: c, Detail: b.crowded()})
		}
	}
	return s
}

// A question identifies a comparison, independent of the stratum.
type question struct{ a, b, metric string }

func questionOf(c analyse.Comparison) question { return question{c.A, c.B, c.Metric} }

// wholeComparisons returns the comparisons over all items, primary ones first.
func (b *builder) wholeComparisons() []analyse.Comparison {
	whole := filter(b.a.Comparisons, func(c analyse.Comparison) bool { return c.Stratum == nil })
	return slices.Concat(
		filter(whole, func(c analyse.Comparison) bool { return c.Primary }),
		filter(whole, func(c analyse.Comparison) bool { return !c.Primary }))
}

func (b *builder) pairCell(c analyse.Comparison) cell {
	tags := b.simulatedTag(c.A, c.B)
	if c.Primary {
		tags = append([]string{"primary"}, tags...)
	}
	return cell{Text: c.A + minusBetween + c.B, Tags: tags}
}

// forest shows the differences in one metric over all items.
func (b *builder) forest(caption, metric string, cs []analyse.Comparison) *chart {
	var rows []measuredRow
	for _, c := range cs {
		if c.Metric == metric {
			rows = append(rows, b.differenceRow("", b.pairCell(c), c))
		}
	}
	m := b.metric(metric)
	return b.differences(caption+m.Title, m, rows)
}

// strataForest shows one difference over all items and in every stratum. It
// returns nil without strata.
func (b *builder) strataForest(q question) *chart {
	asked := filter(b.a.Comparisons, func(c analyse.Comparison) bool { return questionOf(c) == q })
	strata := filter(asked, func(c analyse.Comparison) bool { return c.Stratum != nil })
	if len(strata) == 0 {
		return nil
	}
	var rows []measuredRow
	for _, c := range asked {
		if c.Stratum == nil {
			rows = append(rows, b.differenceRow("", cell{Text: "All items"}, c))
			rows[len(rows)-1].total = true
		}
	}
	for _, factor := range factors(strata, func(c analyse.Comparison) string { return c.Stratum.Name }) {
		for _, c := range strata {
			if c.Stratum.Name == factor {
				rows = append(rows, b.differenceRow(factor, cell{Text: c.Stratum.Value}, c))
			}
		}
	}
	m := b.metric(q.metric)
	c := b.differences(q.a+minusBetween+q.b+", "+m.Title+", by stratum", m, rows)
	if tags := b.simulatedTag(q.a, q.b); tags != nil {
		c.Lead += map[string]string{tagSimulated: " SIMULATED answers.", tagSimulatedJudge: " SIMULATED judge."}[tags[0]]
	}
	return c
}

// factors lists the distinct names of a list in order of appearance.
func factors[T any, N comparable](list []T, name func(T) N) []N {
	var names []N
	for _, x := range list {
		if n := name(x); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

func (b *builder) differenceRow(group string, label cell, c analyse.Comparison) measuredRow {
	return measuredRow{group: group, label: label, href: b.href(behindComparison(c)), Measured: eval.Measured{Value: c.Diff, Low: c.Low, High: c.High, N: c.Pairs},
		more: []cell{{Text: record(c)}}, reasons: b.reasons(c)}
}

func behindComparison(c analyse.Comparison) Behind {
	return Behind{Arm: c.A, Against: c.B, Metric: c.Metric, Stratum: c.Stratum}
}

// reasons returns the remarks on a comparison, or why it is undefined, and the level
// of a simultaneous interval.
func (b *builder) reasons(c analyse.Comparison) []string {
	list := b.remarks(c)
	if len(list) == 0 {
		list = comparisonReasons(c)
	}
	if b.simultaneous(c) {
		list = append(list, "simultaneous: "+say.WithUnit(say.Short(100*float64(c.Level)), say.NBSP+"%")+" for this interval, "+strings.TrimSuffix(b.ci, " CI")+" for those of all primary comparisons together")
	}
	return list
}

// differences is a forest plot: differences around a line at 0.
func (b *builder) differences(caption string, m analyse.Metric, rows []measuredRow) *chart {
	c := &chart{Caption: caption, Lead: favours(m), Heads: []string{"Difference", b.ci, "n", "W/T/L"}}
	c.plot(rows, analyse.Undefined(), analyse.Undefined(), scaleOf(m), true)
	if b.a.Run.Exploratory() { // differences of DEV have no interval
		c.Heads = slices.Delete(c.Heads, 1, 2)
		for i := range c.Rows {
			if c.Rows[i].Group == "" {
				c.Rows[i].Cells = slices.Delete(c.Rows[i].Cells, 1, 2)
			}
		}
	}
	return c
}

func favours(m analyse.Metric) string {
	if m.HigherIsBetter {
		return "Right of 0 favours the first arm: higher is better."
	}
	return "Left of 0 favours the first arm: lower is better."
}

// record formats wins, ties and losses of A.
func record(c analyse.Comparison) string {
	return say.Count(c.Wins) + "/" + say.Count(c.Ties) + "/" + say.Count(c.Losses)
}

// comparisonReasons returns why a comparison is undefined, and the warnings of the
// analysis.
func comparisonReasons(c analyse.Comparison) []string {
	undefined := !c.Diff.Defined() || !c.Low.Defined() || !c.High.Defined()
	switch {
	case c.Method == analyse.Descriptive && c.Diff.Defined():
		return c.Warnings
	case len(c.Warnings) > 0 || !undefined:
		return c.Warnings
	case c.Pairs == 0:
		return []string{"undefined: no item has a value for both arms"}
	case c.Pairs == 1:
		return []string{"no interval: one pair is not enough"}
	}
	return []string{"undefined for an unknown reason"}
}

// remarks returns the warnings of a comparison and its arms, and what the tests beside it say.
func (b *builder) remarks(c analyse.Comparison) []string {
	list := slices.Clone(c.Warnings)
	for _, t := range b.a.TroublesOf(c.A, c.B) {
		list = append(list, t.Brief())
	}
	for _, p := range c.Beside {
		if b.brief && (!p.P.Defined() || excludes0(c) == excludes0(c.By(p))) {
			continue
		}
		text := "beside it, " + p.Method
		if p.Low.Defined() {
			text += " gives " + scaleOf(b.metric(c.Metric)).Interval(p.Low, p.High, true)
			if p.P.Defined() {
				text += ", " + b.pOf(c, p.P, p.PAdjusted)
			}
			if excludes0(c) != excludes0(c.By(p)) {
				text += "; it says otherwise than what decides"
			}
		}
		list = append(list, text)
	}
	return list
}

// pOf shows a p-value of a reading of a comparison: the corrected one where there is one,
// and else says that it is not, since the interval beside it is.
func (b *builder) pOf(c analyse.Comparison, p, adjusted analyse.Number) string {
	switch {
	case !b.corrected() || !c.PAdjusted.Defined() || !b.simultaneous(c) && c.PAdjusted == c.P:
		return say.PEquals(p, b.a.Study.Alpha)
	case adjusted.Defined():
		return say.PEquals(adjusted, b.a.Study.Alpha) + " after " + b.correction() + " correction"
	}
	return say.PEquals(p, b.a.Study.Alpha) + " before correction"
}

// excludes0 returns the sign of a difference whose interval excludes 0, else 0.
func excludes0(c analyse.Comparison) int {
	switch {
	case c.Low > 0:
		return 1
	case c.High < 0:
		return -1
	}
	return 0
}

// testTable has all test results, one row per comparison.
func (b *builder) testTable(cs []analyse.Comparison) *table {
	if b.a.Run.Exploratory() {
		return b.differenceTable(cs)
	}
	t := &table{Caption: "Tests", Keys: 2, Columns: []column{
		{Title: "A " + say.Minus + " B"}, {Title: "Metric"},
		{Title: "Difference", Align: point}, {Title: "Pairs", Align: right}, {Title: "p", Align: point},
		{Title: "p adjusted", Align: point}, {Title: "d", Align: point},
		{Title: "W/T/L", Align: right}, {Title: "t", Align: point}, {Title: "Method"},
	}}
	alpha := b.a.Study.Alpha
	for _, c := range cs {
		m := b.metric(c.Metric)
		s := scaleOf(m)
		t.Rows = append(t.Rows, []cell{
			b.pairCell(c),
			{Text: m.Title + arrow(m)},
			differenceCell(s, c, t.Notes.refs(b.reasons(c))),
			{Text: say.Count(c.Pairs), Detail: []string{say.Count(c.Unpaired) + " unpaired"}},
			statistic(say.P(c.P, alpha), c, &t.Notes), b.adjustedCell(c, &t.Notes),
			effectCell(c, &t.Notes),
			{Text: record(c)},
			tCell(c, &t.Notes),
			{Text: c.Method},
		})
	}
	t.Legend = b.testLegend()
	return t
}

// differenceCell has a difference, and what it would be with the missing scores.
func differenceCell(s say.Scale, c analyse.Comparison, refs []int) cell {
	x := cell{Text: s.Value(c.Diff, true), Detail: []string{s.Interval(c.Low, c.High, true)}, Refs: refs}
	if c.Least != nil {
		x.Detail = append(x.Detail, "with missing scores "+s.Interval(c.Least.Diff, c.Most.Diff, true))
	}
	return x
}

// differenceTable is the table of an exploratory run, which has no tests.
func (b *builder) differenceTable(cs []analyse.Comparison) *table {
	t := &table{Caption: "Differences", Keys: 2, Columns: []column{{Title: "A " + say.Minus + " B"}, {Title: "Metric"}, {Title: "Difference", Align: point},
		{Title: "Pairs", Align: right}, {Title: "d", Align: point}, {Title: "W/T/L", Align: right}}}
	for _, c := range cs {
		m := b.metric(c.Metric)
		t.Rows = append(t.Rows, []cell{b.pairCell(c), {Text: m.Title + arrow(m)},
			{Text: scaleOf(m).Value(c.Diff, true), Refs: t.Notes.refs(b.reasons(c))},
			{Text: say.Count(c.Pairs), Detail: []string{say.Count(c.Unpaired) + " unpaired"}}, {Text: say.Fixed(c.D, 2)}, {Text: record(c)}})
	}
	t.Legend = []string{"DEV is for exploring: no test is made, and differences have no interval. W/T/L: items on which A wins, ties, loses. d: Cohen's d for pairs. Unpaired: items with a value for only one arm."}
	return t
}

// adjustedCell returns the corrected p-value, or why a test has none.
func (b *builder) adjustedCell(c analyse.Comparison, ns *notes) cell {
	switch {
	case c.PAdjusted.Defined() || !c.P.Defined():
		return statistic(say.P(c.PAdjusted, b.a.Study.Alpha), c, ns)
	case b.corrected():
		return undefinedCell(ns, "the correction covers primary comparisons only")
	}
	return undefinedCell(ns, "no correction is used")
}

// effectCell returns d with its interval.
func effectCell(c analyse.Comparison, ns *notes) cell {
	d := statistic(say.Fixed(c.D, 2), c, ns)
	if c.D.Defined() && c.DLow.Defined() && c.DHigh.Defined() {
		d.Detail = []string{say.Scale{Decimals: 2}.Interval(c.DLow, c.DHigh, false)}
	}
	return d
}

func tCell(c analyse.Comparison, ns *notes) cell {
	t := statistic(say.Fixed(c.T, 2), c, ns)
	if c.DF.Defined() {
		t.Detail = []string{"df = " + say.Degrees(c.DF)}
	}
	return t
}

// statistic returns a number of a test, or why it is undefined: there was no test,
// or the method does not compute it.
func statistic(text string, c analyse.Comparison, ns *notes) cell {
	switch {
	case text != say.Dash:
		return cell{Text: text}
	case c.P.Defined():
		return undefinedCell(ns, "not computed by this method")
	case len(comparisonReasons(c)) > 0:
		return undefinedCell(ns, comparisonReasons(c)...)
	}
	return undefinedCell(ns, "no test was made")
}

func undefinedCell(ns *notes, reasons ...string) cell {
	return cell{Text: say.Dash, Tone: muted, Refs: ns.refs(reasons)}
}

func (b *builder) testLegend() []string {
	correction := "p adjusted: not corrected for the number of comparisons (correction: none)."
	if b.corrected() {
		correction = "p adjusted: " + b.correction() + " correction over the primary comparisons."
	}
	return []string{
		"Below each difference and each d: its " + b.ci + ". W/T/L: items on which A wins, ties, loses. d: Cohen's d for pairs. Unpaired: items with a value for only one arm.",
		correction,
	}
}

package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/say"
)

// comparisons is the section of differences with their intervals and tests, over all items
// and by stratum.
func (b *builder) comparisons() section {
	s := section{ID: "comparisons", Title: "Comparisons"}
	whole := b.wholeComparisons()
	if own := filter(whole, func(c analyse.Comparison) bool { return !c.Contrast && b.metric(c.Metric).Rank == "primary" }); len(own) > 0 {
		s.show(briefly, b.differences("Differences", own, false))
	}
	caption := map[bool]string{false: "Difference in ", true: "Contrasts of the suite: difference in "}
	for _, contrast := range []bool{false, true} {
		list := filter(whole, func(c analyse.Comparison) bool { return c.Contrast == contrast })
		if contrast && len(list) > 0 && !b.crowded() {
			s.show(briefly, b.differences("Contrasts of the suite", list, false))
		}
		for _, name := range factors(list, func(c analyse.Comparison) string { return c.Metric }) {
			of := filter(list, func(c analyse.Comparison) bool { return c.Metric == name })
			m, size := b.metric(name), drawn
			if m.Rank != "primary" || contrast && b.crowded() {
				size = inFull
			}
			rows := mapped(of, func(c analyse.Comparison) measuredRow { return b.differenceRow("", b.pairCell(c), c) })
			s.show(size, b.charted(caption[contrast]+m.Title, "A "+say.Minus+" B", m, rows))
		}
	}
	s.show(atLength, b.differences("Differences", whole, true))
	// What comes from outside of the run: how differences changed since an earlier study, what
	// outsiders found on data of their own, and how often two people gave the same answer.
	s.show(everywhere, b.replications(), b.blindResults(), b.agreements())
	s.Blocks = append(s.Blocks, b.interactionBlocks()...)
	for _, m := range b.a.Models { // behind the comparisons
		s.show(atLength, b.modelTable(m), b.meansTable(m))
	}
	for _, q := range factors(slices.Concat(whole, b.a.Comparisons), questionOf) {
		size := inFull
		t, differ := b.strataForest(q)
		if differ && !b.crowded() {
			size = everywhere
		}
		s.show(size, t)
	}
	return s
}

// A question identifies a comparison, independent of the stratum.
type question struct{ a, b, metric string }

func questionOf(c analyse.Comparison) question { return question{c.A, c.B, c.Metric} }

// inAnswer reports whether the answer is about a comparison.
func (b *builder) inAnswer(c analyse.Comparison) bool {
	return c.Primary && c.Stratum == nil && b.metric(c.Metric).Rank == "primary"
}

// wholeComparisons returns the comparisons over all items, primary ones first.
func (b *builder) wholeComparisons() []analyse.Comparison {
	whole := filter(b.a.Comparisons, func(c analyse.Comparison) bool { return c.Stratum == nil })
	return slices.Concat(
		filter(whole, func(c analyse.Comparison) bool { return c.Primary }),
		filter(whole, func(c analyse.Comparison) bool { return !c.Primary }))
}

func (b *builder) pairCell(c analyse.Comparison) cell {
	tags := b.simulatedIn(c.A, c.B)
	if c.Primary {
		tags = append([]string{"primary"}, tags...)
	}
	return cell{Text: c.A + minusBetween + c.B, Tags: tags}
}

// differences has a line for each comparison, of one or several metrics; at length, with the
// columns of the method. The caption names what is the same in all of them: the metric, or the two
// arms. On DEV there are neither intervals nor tests.
func (b *builder) differences(caption string, cs []analyse.Comparison, long bool) *table {
	metrics := factors(cs, func(c analyse.Comparison) string { return c.Metric })
	pairs := factors(cs, func(c analyse.Comparison) string { return b.pairCell(c).Text })
	onePair, dev := len(pairs) == 1 && len(metrics) > 1, b.a.Run.Exploratory()
	adjusted := slices.ContainsFunc(cs, func(c analyse.Comparison) bool { return corrected(c) && (long || c.PAdjusted != c.P) })
	heads := []string{"A " + say.Minus + " B", "Metric", ".Difference", b.ci, ".p", ".p adjusted", ">n", ">W/T/L"}
	if long {
		heads = append(heads, ".d", ".t", "Method")
	}
	t := newTable(caption, heads...)
	for _, c := range cs {
		m, n := b.metric(c.Metric), number(c.Pairs)
		s := m.Scale()
		pair, metric := b.pairCell(c), words(m.Title+arrow(m))
		if onePair {
			metric.Tags = pair.Tags
		}
		if long && c.Unpaired > 0 {
			n.Detail = []string{say.Count(c.Unpaired) + " unpaired"}
		}
		difference, interval := cell{Text: s.Value(c.Diff, true), Refs: t.Notes.refs(b.reasons(c, long))}, words(s.Interval(c.Low, c.High, true))
		if long && c.Least != nil {
			interval.Detail = []string{"with missing scores " + s.Interval(c.Least.Diff, c.Most.Diff, true)}
		}
		p, pAdjusted := b.pCells(c, t, adjusted)
		row := []cell{pair, metric, difference, interval, p, pAdjusted, n, words(b.wins(c))}
		if long {
			d := statistic(say.Fixed(c.D, 2), c, t)
			if c.D.Defined() && c.DLow.Defined() && c.DHigh.Defined() {
				d.Detail = []string{say.Scale{Decimals: 2}.Interval(c.DLow, c.DHigh, false)}
			}
			var tested cell
			if !dev {
				tested = statistic(say.Fixed(c.T, 2), c, t)
			}
			if c.DF.Defined() {
				tested.Detail = []string{"df = " + say.Degrees(c.DF)}
			}
			row = append(row, d, tested, words(c.Method))
		}
		t.add(row...)
	}
	t.Keys = 2
	t.Legend = []string{b.winsLegend(cs) + " ↑ higher is better, ↓ lower is better."}
	if adjusted && !dev {
		t.Legend = append(t.Legend, "p adjusted: "+b.correction()+" correction over "+b.coveredAll()+".")
	}
	if long {
		t.Legend = append(t.Legend, "d: Cohen's d for pairs, with its "+b.ci+". Unpaired: items with a value for only one arm.")
	}
	switch {
	case !long || adjusted && !dev:
	case dev:
		t.Legend = append(t.Legend, "DEV is for exploring: no test is made, and differences have no interval.")
	case b.corrects():
		t.Legend = append(t.Legend, "No p-value is corrected: the "+b.correction()+" correction covers only "+b.covered()+".")
	default:
		t.Legend = append(t.Legend, "p-values are not corrected for the number of comparisons (correction: none).")
	}
	if long && dev {
		t.without(10)
		t.without(9)
	}
	if !adjusted || dev {
		t.without(5)
	}
	if dev {
		t.without(4)
		t.without(3)
	}
	switch {
	case onePair:
		t.without(0)
		t.Caption = caption + ", " + pairs[0]
	case len(metrics) == 1:
		t.without(1)
		t.Keys = 1
		m := b.metric(metrics[0])
		t.Caption, t.Lead, t.Legend[0] = caption+" in "+m.Title, direction(m), b.winsLegend(cs)
	}
	return t
}

// strataForest charts one difference over all items and in every stratum, and reports
// whether strata differ: their intervals are apart. It has no rows without strata.
func (b *builder) strataForest(q question) (t *table, differ bool) {
	asked := filter(b.a.Comparisons, func(c analyse.Comparison) bool { return questionOf(c) == q })
	strata := filter(asked, func(c analyse.Comparison) bool { return c.Stratum != nil })
	if len(strata) == 0 {
		return &table{}, false
	}
	var rows []measuredRow
	for _, c := range asked {
		if c.Stratum == nil {
			rows = append(rows, b.differenceRow("", words("All items"), c))
			rows[len(rows)-1].total = true
		}
	}
	for _, factor := range factors(strata, func(c analyse.Comparison) string { return c.Stratum.Name }) {
		of := filter(strata, func(c analyse.Comparison) bool { return c.Stratum.Name == factor })
		for _, c := range of {
			rows = append(rows, b.differenceRow(factor, words(c.Stratum.Value), c))
			differ = differ || slices.ContainsFunc(of, func(o analyse.Comparison) bool { return c.Low > o.High })
		}
	}
	m := b.metric(q.metric)
	t = b.charted(q.a+minusBetween+q.b+", "+m.Title+", by stratum", "Stratum", m, rows)
	if tags := b.simulatedIn(q.a, q.b); tags != nil {
		t.Lead += " " + strings.ToUpper(tags[0]) + "."
	}
	return t, differ
}

func (b *builder) differenceRow(group string, label cell, c analyse.Comparison) measuredRow {
	return measuredRow{group: group, label: label, href: b.href(behindComparison(c)), Measured: eval.Measured{Value: c.Diff, Low: c.Low, High: c.High, N: c.Pairs},
		more: []cell{words(b.wins(c))}, reasons: b.reasons(c, false)}
}

// charted is a forest plot: differences around a line at 0.
func (b *builder) charted(caption, label string, m analyse.Metric, rows []measuredRow) *table {
	t := newTable(caption, label, ".Difference", ">"+b.ci, ">n", ">W/T/L")
	t.Lead = direction(m)
	t.plot(rows, analyse.Undefined(), analyse.Undefined(), m.Scale(), true)
	if b.a.Run.Exploratory() { // differences of DEV have no interval
		t.without(2)
	}
	return t
}

func behindComparison(c analyse.Comparison) Behind {
	return Behind{Arm: c.A, Against: c.B, Metric: c.Metric, Stratum: c.Stratum}
}

// reasons returns the remarks on a comparison, or why it is undefined, and the level of a
// simultaneous interval. If not all, those that the answer has are left out.
func (b *builder) reasons(c analyse.Comparison, all bool) []string {
	list := b.remarks(c, true)
	if len(list) == 0 {
		list = comparisonReasons(c)
	}
	if !all && b.warned && b.inAnswer(c) {
		list = nil
	}
	if b.simultaneous(c) {
		list = append(list, "simultaneous: "+say.WithUnit(say.Short(100*float64(c.Level)), say.NBSP+"%")+" for this interval, "+strings.TrimSuffix(b.ci, " CI")+" for those of "+b.covered()+" together")
	}
	return list
}

// wins formats wins, ties and losses of A; a dash for estimates over all items, of which none
// has a score to win by, and for those that people correct, of which only the judge's are known.
func (b *builder) wins(c analyse.Comparison) string {
	if b.metric(c.Metric).Pooling == eval.ByEstimator || !c.Wins.Defined() {
		return say.Dash
	}
	return say.Count(int(c.Wins)) + "/" + say.Count(int(c.Ties)) + "/" + say.Count(int(c.Losses))
}

// winsLegend explains [builder.wins]: an item on which one arm has nothing to count, 0/0, counts in a
// difference of pooled values without being won or lost.
func (b *builder) winsLegend(cs []analyse.Comparison) string {
	legend := "W/T/L: items on which A wins, ties, loses."
	if slices.ContainsFunc(cs, func(c analyse.Comparison) bool {
		return b.metric(c.Metric).Pooling == eval.RatioOfSums && c.Wins+c.Ties+c.Losses < analyse.Number(c.Pairs)
	}) {
		legend += " An item on which one arm has nothing to count is not a win, tie or loss, but counts in n and in the difference."
	}
	if slices.ContainsFunc(cs, func(c analyse.Comparison) bool { return !c.Wins.Defined() }) {
		legend += " Of a difference that people correct they are not known."
	}
	return legend
}

// comparisonReasons returns why a comparison is undefined, and the warnings of the
// analysis.
func comparisonReasons(c analyse.Comparison) []string {
	undefined := !c.Diff.Defined() || !c.Low.Defined() || !c.High.Defined()
	switch {
	case len(c.Warnings) > 0 || !undefined || c.Method == analyse.Descriptive && c.Diff.Defined():
		return c.Warnings
	case c.Pairs == 0:
		return []string{"undefined: no item has a value for both arms"}
	case c.Pairs == 1:
		return []string{"no interval: one pair is not enough"}
	}
	return []string{"undefined for an unknown reason"}
}

// remarks returns the warnings of a comparison and its arms, and what the tests beside it say:
// all, or those that say otherwise than what decides.
func (b *builder) remarks(c analyse.Comparison, all bool) []string {
	list := slices.Clone(c.Warnings)
	if !b.warned { // else the warnings have them
		list = append(list, mapped(b.a.TroublesOf(c.A, c.B), analyse.Trouble.Brief)...)
	}
	for _, p := range c.Beside {
		if !all && (!p.P.Defined() || excludes0(c.Reading) == excludes0(p)) {
			continue
		}
		text := "beside it, " + p.Method
		if p.Low.Defined() {
			text += " gives " + b.metric(c.Metric).Scale().Interval(p.Low, p.High, true)
			if p.P.Defined() {
				text += ", " + b.pOf(c, p.P, p.PAdjusted)
			}
			if excludes0(c.Reading) != excludes0(p) {
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
	case !b.corrects() || !corrected(c) || !b.simultaneous(c) && c.PAdjusted == c.P:
		return say.PEquals(p, b.a.Study.Alpha)
	case adjusted.Defined():
		return say.PEquals(adjusted, b.a.Study.Alpha) + " after " + b.correction() + " correction"
	}
	return say.PEquals(p, b.a.Study.Alpha) + " before correction"
}

// excludes0 returns the sign of a difference whose interval excludes 0, else 0.
func excludes0(c analyse.Reading) int {
	switch {
	case c.Low > 0:
		return 1
	case c.High < 0:
		return -1
	}
	return 0
}

// pCells are the p-value of a comparison and, in a table that has them, the adjusted one.
func (b *builder) pCells(c analyse.Comparison, t *table, adjusted bool) (p, pAdjusted cell) {
	if b.a.Run.Exploratory() {
		return
	}
	p = statistic(say.P(c.P, b.a.Study.Alpha), c, t)
	switch {
	case adjusted && c.P.Defined() && !corrected(c):
		pAdjusted = t.undefined("the correction covers only " + b.covered())
	case adjusted:
		pAdjusted = statistic(say.P(c.PAdjusted, b.a.Study.Alpha), c, t)
	}
	return p, pAdjusted
}

// statistic returns a number of a test, or why it is undefined: there was no test, or the
// method does not compute it.
func statistic(text string, c analyse.Comparison, t *table) cell {
	switch {
	case text != say.Dash:
		return words(text)
	case c.P.Defined():
		return t.undefined("not computed by this method")
	case len(comparisonReasons(c)) > 0:
		return t.undefined(comparisonReasons(c)...)
	}
	return t.undefined("no test was made")
}

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
		at := mapped(r.Levels, func(l analyse.LevelDiff) string { return l.Name + say.NBSP + s.Value(l.Diff, true) })
		t := newTable("Does the difference "+name+" in "+m.Title+" depend on "+r.Factor+"?", "Levels", ".Difference of differences", ">"+b.ciOf(r.Level.Defined()), ">n", ".p adjusted")
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

func (b *builder) replications() *table {
	t := newTable("", "A "+say.Minus+" B", "Metric", ".Earlier", ".Here", ".Change", ".Interval of the change", ">Pairs, earlier and here")
	for _, r := range b.a.Replications {
		t.Caption = "Replication of run " + r.Run
		m := b.metric(r.Metric)
		s := m.Scale()
		in := ""
		if r.Stratum != nil {
			in = ", " + r.Stratum.Name + "=" + r.Stratum.Value
		}
		change := words(s.Value(r.Change, true))
		if r.Least != nil {
			change.Detail = []string{"with missing scores " + s.Interval(r.Least.Change, r.Most.Change, true)}
		}
		t.add(cell{Text: r.A + minusBetween + r.B + in, Tags: b.simulatedIn(r.A, r.B)}, words(m.Title+arrow(m)),
			words(s.Value(r.Earlier, true)), words(s.Value(r.Here, true)), change,
			cell{Text: s.Interval(r.EquivLow, r.EquivHigh, true), Refs: t.Notes.refs(nonEmpty(r.Warning, r.OtherModels, r.Unblinded))}, words(say.Count(r.Pairs[0])+", "+say.Count(r.Pairs[1])))
	}
	t.Legend = []string{"Differences on the items of the earlier run and of this one, which are different items. If the interval of the change lies within ±m, two one-sided tests show that the difference changed by less than m. Its level is " + gate.Percent(2*b.a.Study.Alpha) + say.NBSP + "% or more."}
	return t
}

func (b *builder) blindResults() *table {
	t := newTable("Blind validations by outsiders", "By", "Data, SHA-256", "A "+say.Minus+" B", "Metric", ".Difference", ">Pairs", ".p")
	before := true
	for _, r := range b.a.Blind {
		by := words(r.By)
		switch {
		case len(r.Comparisons) == 0:
		case r.BeganAt == "" || r.CommittedAt == "":
			before = false
		case r.Late:
			before = false
			by.Refs = t.Notes.refs([]string{"not counted: the commitment was recorded after the run began, " + r.Order()})
		default:
			by.Refs = t.Notes.refs([]string{"commitment " + r.Order()})
		}
		if len(r.Simulated) > 0 {
			by.Tags = []string{tagSimulated}
		}
		for _, c := range r.Comparisons {
			m := b.metric(c.Metric)
			s := m.Scale()
			interval := s.Interval(c.Low, c.High, true)
			if c.Level > 0 && c.Low.Defined() {
				interval = gate.Percent(1-float64(c.Level)) + say.NBSP + "% CI " + interval
			}
			diff := cell{Text: s.Value(c.Diff, true), Detail: []string{interval}}
			if c.Unscored > 0 {
				diff.Detail = append(diff.Detail, "with missing scores "+s.Interval(c.Least, c.Most, true))
			}
			t.add(by, words(r.Data[:min(12, len(r.Data))]), words(c.A+minusBetween+c.B), words(m.Title+arrow(m)), diff,
				number(c.Pairs), words(say.P(c.P, b.a.Study.Alpha)))
		}
	}
	legend := "Aggregates alone, as outsiders reported them: nobody else saw their data."
	if before {
		legend = "Aggregates alone, as outsiders reported them: their data were committed to by the hash before the run, and nobody else saw them."
	}
	t.Legend = []string{legend}
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

// modelTable has the standard deviation of each random effect of a mixed model, and the test
// that all arm means are equal.
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

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/text"
)

// arms is the section of scores, trial outcomes and usage of each arm.
func (b *builder) arms() section {
	s := section{ID: "arms", Title: "Arms"}
	size := everywhere
	if b.crowded() {
		size = atLength
	}
	chart := drawn
	if b.crowded() && len(b.a.Figures) > 0 {
		chart = inFull
	}
	for _, m := range b.ranked("primary") {
		s.show(chart, b.armChart(m))
	}
	s.Blocks = append(s.Blocks, b.scoreBlocks("Primary and secondary metrics", size, b.ranked("primary", "secondary"))...)
	if t := b.outcomeTable(); len(t.Columns) > 3 {
		s.show(everywhere, b.merged(t))
	} else {
		s.Blocks = append(s.Blocks, block{Prose: "Trial outcomes: " + say.Plural(b.a.Run.Done, "trial", "trials") + " done, none malformed, refused, failed, repaired, truncated or unscored."})
	}
	if slices.ContainsFunc(b.a.Arms, func(a analyse.Arm) bool { return a.Calls+a.JudgeCalls > 0 }) {
		if b.a.Total != nil {
			s.Blocks = append(s.Blocks, block{Prose: b.total()})
		}
		s.show(atLength, b.usage())
	}
	return s
}

// scoreBlocks have a table of the metrics that tell a reader something, and name the others: no
// arm had an opportunity, or all numbers are those of a primary metric.
func (b *builder) scoreBlocks(caption string, size shown, metrics []analyse.Metric) (blocks []block) {
	var ms, idle []analyse.Metric
	var why []string
	for _, m := range metrics {
		reason := ""
		if m.Rank != "primary" && !b.any(m, func(e analyse.Estimate) bool { return e.Value.Defined() }) {
			reason = "no opportunity"
		}
		for _, p := range b.ranked("primary") {
			if m.Rank != "primary" && reason == "" && !b.any(m, func(e analyse.Estimate) bool { return !b.same(e, p) }) {
				reason = "equals " + p.Title + " throughout"
			}
		}
		if reason == "" {
			ms = append(ms, m)
		} else {
			idle, why = append(idle, m), append(why, m.Title+" ("+reason+")")
		}
	}
	if len(ms) > 0 {
		blocks = append(blocks, block{Table: b.scoreTable(caption, ms), In: size})
	}
	if len(idle) > 0 {
		blocks = append(blocks, block{Prose: "Not shown: " + strings.Join(why, ", ") + ".", In: size}, block{Table: b.scoreTable(caption+", not shown above", idle), In: inFull})
	}
	return blocks
}

// any reports whether an estimate of a metric over all items is as the function says.
func (b *builder) any(m analyse.Metric, is func(analyse.Estimate) bool) bool {
	return slices.ContainsFunc(b.contestants(), func(a analyse.Arm) bool {
		e, ok := b.a.Estimate(a.ID, m.Name)
		return ok && is(e)
	})
}

// same reports whether an estimate is that of the same arm by another metric.
func (b *builder) same(e analyse.Estimate, m analyse.Metric) bool {
	o, ok := b.a.Estimate(e.Arm, m.Name)
	return ok && o.Value == e.Value && o.Low == e.Low && o.High == e.High && o.Items == e.Items && o.Unscored == e.Unscored
}

// armChart shows one metric of every arm over all items.
func (b *builder) armChart(m analyse.Metric) *table {
	var rows []measuredRow
	for _, arm := range b.contestants() {
		if e, ok := b.a.Estimate(arm.ID, m.Name); ok {
			rows = append(rows, measuredRow{label: armCell(arm), href: b.href(behindEstimate(e)), reasons: estimateReasons(e), Measured: e.Measured()})
		}
	}
	t := newTable(m.Title+" by arm", "Arm", ".Value", ">"+b.ci, ">n")
	t.Lead = direction(m)
	t.plot(rows, m.Min, m.Max, m.Scale(), false)
	return t
}

func behindEstimate(e analyse.Estimate) Behind {
	return Behind{Arm: e.Arm, Metric: e.Metric, Stratum: e.Stratum}
}

func direction(m analyse.Metric) string {
	if m.NoDirection {
		return "Neither higher nor lower is better."
	}
	if m.HigherIsBetter {
		return "Higher is better."
	}
	return "Lower is better."
}

// fewArms is the number of arms up to which they are the columns of a table of metrics.
const fewArms = 3

// scoreTable has a row for each arm and a column for each metric, or the other way round.
func (b *builder) scoreTable(caption string, ms []analyse.Metric) *table {
	t := newTable(caption, "Arm")
	if len(b.contestants()) <= fewArms {
		t.Columns[0].Title = "Metric"
		for _, arm := range b.contestants() {
			t.column(tagged(strings.TrimSpace, armCell(arm)), point)
		}
		for _, m := range ms {
			estimates := mapped(b.contestants(), func(arm analyse.Arm) cell { return b.estimateCell(arm.ID, m, t) })
			cells := append([]cell{{Text: m.Title + arrow(m), Detail: nonEmpty(analysisOnly(m))}}, estimates...)
			if n := counts(cells[1:]); len(n) == 1 {
				cells[0].Detail = append(cells[0].Detail, n[0])
				dropCounts(cells[1:])
			}
			t.add(cells...)
		}
	} else {
		for _, m := range ms {
			t.column(m.Title+arrow(m), point)
		}
		for _, arm := range b.contestants() {
			estimates := mapped(ms, func(m analyse.Metric) cell { return b.estimateCell(arm.ID, m, t) })
			t.add(append([]cell{armCell(arm)}, estimates...)...)
		}
	}
	return b.valued(t)
}

// valued adds the legend of values.
func (b *builder) valued(t *table) *table {
	t.Legend = append(t.Legend, "With each value: its "+b.ci+"; n counts items. ↑ higher is better, ↓ lower is better.")
	return t.trimmed()
}

func arrow(m analyse.Metric) string {
	if m.NoDirection {
		return ""
	}
	if m.HigherIsBetter {
		return " ↑"
	}
	return " ↓"
}

// estimateCell returns a value with its interval and n below it.
func (b *builder) estimateCell(arm string, m analyse.Metric, t *table) cell {
	e, ok := b.a.Estimate(arm, m.Name)
	if !ok {
		return t.undefined("not measured for this arm")
	}
	return b.estimated(m, e, t)
}

func (b *builder) estimated(m analyse.Metric, e analyse.Estimate, t *table) cell {
	s := m.Scale()
	c := cell{Text: s.Value(e.Value, false), Refs: t.Notes.refs(estimateReasons(e)), Href: b.href(behindEstimate(e))}
	if e.Value.Defined() {
		c.Detail = []string{s.Interval(e.Low, e.High, false), "n = " + say.Count(e.Items)}
	}
	if e.Unscored > 0 {
		c.Detail = append(c.Detail, say.Count(e.Unscored)+" unscored ("+percentOf(float64(e.UnscoredShare))+")")
	}
	if e.Least != nil {
		c.Detail = append(c.Detail, "with them "+s.Interval(e.Least.Value, e.Most.Value, false))
	}
	return c
}

func percentOf(share float64) string { return say.WithUnit(say.Shifted(share, 2, 1), say.NBSP+"%") }

// estimateReasons returns why an estimate or its interval is undefined, and the
// warnings of the analysis.
func estimateReasons(e analyse.Estimate) []string {
	undefined := !e.Value.Defined() || !e.Low.Defined() || !e.High.Defined()
	switch {
	case len(e.Warnings) > 0 || !undefined:
		return e.Warnings
	case e.Items == 0:
		return []string{"undefined: no item has this metric"}
	case e.Den == 0:
		return []string{"undefined: the denominator is 0"}
	case e.Clusters < 2:
		return []string{"no interval: needs at least two clusters"}
	}
	return []string{"undefined for an unknown reason"}
}

// outcomeTable counts the trial outcomes of each arm.
func (b *builder) outcomeTable() *table {
	t := newTable("Trial outcomes", "Arm", ">Planned", ">OK", "?>Malformed", "?>Refused", "?>Failed", "?>Repaired", "?>Truncated", "?>Unscored", "?Reasons and notes")
	for _, arm := range b.a.Arms {
		others := filter(arm.Notes, func(c analyse.Count) bool { return c.Name != "repaired" && c.Name != "truncated" })
		t.add(armCell(arm), number(arm.Planned), b.trialsOf(arm, eval.OK, number(arm.OK)),
			b.trialsOf(arm, eval.Malformed, trouble(arm.Malformed)), b.trialsOf(arm, eval.Refused, trouble(arm.Refused)), b.trialsOf(arm, eval.Failed, trouble(arm.Failed)),
			rare(noted(arm, "repaired")), rare(noted(arm, "truncated")), trouble(b.unscored(arm.ID)), words(counted(slices.Concat(arm.Reasons, others))))
	}
	t.trimmed()
	if t.has("Malformed") || t.has("Refused") || t.has("Failed") {
		t.Legend = append(t.Legend, "Malformed and refused answers are scored like any other. Failed trials have no answer: they are counted here and not scored.")
	}
	if t.has("Unscored") {
		t.Legend = append(t.Legend, "Unscored counts entries of all metrics without a score, without those of failed trials; the results have the reasons.")
	}
	return t
}

// trialsOf links a count to its trials. Rows of many arms are merged, which links would
// prevent.
func (b *builder) trialsOf(arm analyse.Arm, kind eval.OutcomeKind, c cell) cell {
	if !b.crowded() && arm.Role != eval.RoleCalibration {
		c.Href = b.href(Behind{Arm: arm.ID, Outcome: string(kind)})
	}
	return c
}

func noted(arm analyse.Arm, note string) int {
	for _, c := range arm.Notes {
		if c.Name == note {
			return c.N
		}
	}
	return 0
}

func (b *builder) unscored(arm string) int {
	n := 0
	for _, e := range b.a.Estimates {
		if e.Arm == arm && e.Stratum == nil {
			n += e.Unjudged()
		}
	}
	return n
}

// total sums the calls of all arms.
func (b *builder) total() string {
	u := b.a.Total
	text := "All arms: " + calls(u) + ", " + leastTokens(u) + say.Plural(u.InputTokens, "input token", "input tokens") + ", " +
		leastTokens(u) + say.Plural(u.OutputTokens, "output token", "output tokens") + ", " + spent(u)
	if c := b.a.Calibration; c != nil {
		text += ", of which " + spent(c) + " for the calibration of the judges"
	}
	return text + "."
}

// calls counts the calls and those of judges.
func calls(u *analyse.Usage) string {
	var parts []string
	if u.Calls > 0 || u.JudgeCalls == 0 {
		parts = append(parts, say.Plural(u.Calls, "call", "calls"))
	}
	if u.JudgeCalls > 0 {
		parts = append(parts, say.Plural(u.JudgeCalls, "judge call", "judge calls"))
	}
	return strings.Join(parts, " and ")
}

// spent formats the cost of all calls. A sum that lacks calls of unknown cost is a
// lower bound.
func spent(u *analyse.Usage) string {
	text := atLeast(u.CostUSD+u.JudgeCostUSD, u.Unpriced+u.JudgeUnpriced)
	if c := u.Unpriced + u.JudgeUnpriced; c > 0 {
		return text + " (" + say.Plural(c, "call", "calls") + " of unknown cost)"
	}
	return text
}

// atLeast formats a cost that may lack calls of unknown cost.
func atLeast(cost analyse.Number, unpriced int) string {
	switch {
	case unpriced > 0 && cost == 0:
		return "unknown"
	case unpriced > 0:
		return "≥" + say.NBSP + say.USD(cost)
	}
	return say.USD(cost)
}

// leastTokens is written before sums of tokens that lack those of some calls.
func leastTokens(u *analyse.Usage) string {
	if u.Uncounted > 0 {
		return "≥" + say.NBSP
	}
	return ""
}

// tokens is a count of tokens, or a dash and why it is not known.
func (t *table) tokens(n analyse.Tokens) cell {
	if n < 0 {
		return t.undefined("a program did not say in its answers how many tokens it took (usage.input_tokens, usage.output_tokens)")
	}
	return number(int(n))
}

// usage shows usage and cost of each arm, of the calibration of the judges, and of all calls.
func (b *builder) usage() *table {
	t := newTable("Usage and cost", "Arm", ">Calls", "?>Retried", ">Tokens in", "?>Cached", ">Tokens out", "?>Thinking", ".Cost", "?>Judge calls", "?.Judge cost")
	timed := slices.ContainsFunc(b.a.Arms, func(a analyse.Arm) bool { return a.LatencyMS != nil })
	if timed {
		t.column("Latency, median", right)
		t.column("Latency, p95", right)
	}
	for _, arm := range b.a.Arms {
		cells := []cell{armCell(arm), number(arm.Calls), rare(arm.Retried),
			t.tokens(arm.InputTokens), t.tokens(arm.CachedTokens), t.tokens(arm.OutputTokens), t.tokens(arm.Reasoning),
			costCell(arm.CostUSD, arm.Calls, t), number(arm.JudgeCalls), costCell(arm.JudgeCostUSD, arm.JudgeCalls, t)}
		if timed {
			cells = append(cells, latencyCells(arm, t)...)
		}
		t.add(cells...)
	}
	t = b.merged(t)
	for _, sum := range []struct {
		name string
		*analyse.Usage
	}{{"calibration of the judges", b.a.Calibration}, {"all calls", b.a.Total}} {
		if sum.Usage == nil {
			continue
		}
		cost := func(c analyse.Number, unpriced int) cell {
			text := words(atLeast(c, unpriced))
			if unpriced > 0 {
				text.Refs = t.Notes.refs([]string{say.Plural(unpriced, "call", "calls") + " of unknown cost" + priceLater})
			}
			return text
		}
		tokens := func(n int) cell { return words(leastTokens(sum.Usage) + say.Count(n)) }
		cells := []cell{{Text: sum.name, Tone: strong}, number(sum.Calls), rare(sum.Retried), tokens(sum.InputTokens), number(sum.CachedTokens), tokens(sum.OutputTokens), number(sum.Reasoning),
			cost(sum.CostUSD, sum.Unpriced), number(sum.JudgeCalls), cost(sum.JudgeCostUSD, sum.JudgeUnpriced)}
		for len(cells) < len(t.Columns) { // latencies
			cells = append(cells, cell{})
		}
		t.add(cells...)
	}
	source := "Tokens are as counted by the provider"
	if slices.ContainsFunc(b.a.Arms, func(a analyse.Arm) bool { return a.Estimated > 0 }) {
		source += ", or estimated from the request and the answer where it sent no counts"
	}
	t.Legend = []string{source + "; cached tokens were read from its prompt cache. Retried counts requests after the first of a call. Costs are in US dollars."}
	if l := b.a.Run.Lost; l != nil {
		t.Legend = append(t.Legend, fmt.Sprintf("Not in the table: %s without an answer that may be paid: %s tokens, cost %s, as stated or estimated on the high side.",
			say.Plural(l.Requests, "request", "requests"), say.Count(l.Tokens), spent(&analyse.Usage{CostUSD: analyse.Number(l.CostUSD), Unpriced: l.Unpriced})))
	}
	t.Legend = append(t.Legend, mapped(b.a.Run.Reused, b.reused)...)
	return t.trimmed()
}

// reused says which answers were not asked for. Their cost is in the table.
func (b *builder) reused(u eval.Reuse) string {
	answers := text.Plural(u.Answers, "answer", "answers")
	unpaid := fmt.Sprintf("; the costs above include $%.4f for them that was not paid again", u.CostUSD)
	if u.CostUSD == 0 {
		unpaid = ""
	}
	if u.Run == b.a.Run.ID {
		return answers + " shared by equal questions to a judge, or kept from trials that had left the plan" + unpaid + "."
	}
	return answers + " reused from " + u.Run + unpaid + "."
}

// latencyCells returns the median and the 95th percentile of a call.
func latencyCells(arm analyse.Arm, t *table) []cell {
	if arm.LatencyMS == nil {
		none := t.undefined("no call was answered")
		return []cell{none, none}
	}
	ms := func(n analyse.Number) cell { return words(say.WithUnit(say.Scale{}.Number(n, false), say.NBSP+"ms")) }
	return []cell{ms(arm.LatencyMS.Median), ms(arm.LatencyMS.P95)}
}

// priceLater is what to do about answers of unknown cost: a call keeps the cost that it was
// stored with.
const priceLater = "; give models.price in the study file, or usage.cost_usd in the answers of a program, and ask again: `scruple run --new --no-reuse`"

func costCell(cost analyse.Number, calls int, t *table) cell {
	switch {
	case cost.Defined():
		return words(say.USD(cost))
	case calls == 0:
		return cell{Text: say.Dash, Tone: muted}
	}
	return cell{Text: "unknown", Tone: muted, Refs: t.Notes.refs([]string{"no price was known when it answered" + priceLater})}
}

// breakdown is the section of every metric by arm and stratum, the suite's own tables, and
// the accuracy of the judges.
func (b *builder) breakdown() section {
	s := section{ID: "breakdown", Title: "Breakdown"}
	for _, m := range b.ranked("primary", "secondary") {
		s.show(inFull, b.strata(m)...)
	}
	others := filter(b.metrics(), func(m analyse.Metric) bool { return m.Rank != "primary" && m.Rank != "secondary" })
	s.Blocks = append(s.Blocks, b.scoreBlocks("Other metrics", atLength, others)...)
	s.show(atLength, b.judges())
	if j := b.a.JudgeAndPeople; j != nil {
		s.show(atLength, b.judgeAndPeople(j), judgeErrors(j), b.correctedRates(j))
	}
	s.Blocks = append(s.Blocks, b.suiteBlocks(false, atLength)...)
	return s
}

// strata has a table for each factor.
func (b *builder) strata(m analyse.Metric) []*table {
	strata := filter(b.a.Estimates, func(e analyse.Estimate) bool { return e.Metric == m.Name && e.Stratum != nil })
	all := factors(strata, func(e analyse.Estimate) string { return e.Stratum.Name })
	return mapped(all, func(factor string) *table {
		return b.strataTable(m, factor, filter(strata, func(e analyse.Estimate) bool { return e.Stratum.Name == factor }))
	})
}

// strataTable has one row per arm and one column per level of a factor.
func (b *builder) strataTable(m analyse.Metric, factor string, strata []analyse.Estimate) *table {
	t := newTable(m.Title+" by "+factor, "Arm", ">All items")
	levels := factors(strata, func(e analyse.Estimate) string { return e.Stratum.Value })
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
	if j.Clusters > 0 && j.Clusters < j.N() { // analyses of before do not count them
		t.Legend = append(t.Legend, "That of kappa counts units of one item as independent, that of the agreement does not.")
	}
	if j.Beside > 0 {
		t.Legend = append(t.Legend, "People also judged "+say.Plural(j.Beside, "unit", "units")+" that the judge did not: they are in no number here.")
	}
	agreed := shareCell(j.Agreement, j.AgreeLow, j.AgreeHigh, t.Notes.refs(j.Warnings))
	kappa := say.Scale{Decimals: 3}
	k := cell{Text: kappa.Value(j.Kappa, false), Detail: []string{kappa.Interval(j.Low, j.High, false)}}
	if !j.Kappa.Defined() {
		k = t.undefined("not both labels were given")
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
		var corrected cell
		if r.Corrected.Defined() {
			corrected = shareCell(r.Corrected, r.Low, r.High, t.Notes.refs(r.Warnings))
		} else {
			corrected = t.undefined("undefined: people judged too few units")
		}
		t.add(words(r.Arm), number(r.Units), number(r.Labelled), words(share.Value(r.Judge, false)), words(share.Value(r.People, false)), corrected)
	}
	return t
}

package report

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/text"
)

// arms is the second section: scores, trial outcomes and usage of each arm.
func (b *builder) arms() section {
	s := section{ID: "arms", Title: "Arms"}
	for _, m := range b.ranked("primary") {
		if c := b.armChart(m); c != nil {
			s.Blocks = append(s.Blocks, block{Chart: c, Detail: b.crowded() && len(b.a.Figures) > 0})
		}
	}
	if ms := b.ranked("primary", "secondary"); len(ms) > 0 {
		s.Blocks = append(s.Blocks, block{Table: b.scoreTable("Primary and secondary metrics", ms), Detail: b.crowded()})
	}
	many := b.crowded()
	if many {
		s.Blocks = append(s.Blocks, block{Table: b.briefOutcomes(), Brief: true})
	}
	s.Blocks = append(s.Blocks, block{Table: b.merged(b.outcomeTable()), Detail: many}, block{Table: b.usage(), Detail: many || !b.called()})
	return s
}

// called reports whether any arm called a model.
func (b *builder) called() bool {
	return slices.ContainsFunc(b.a.Arms, func(a analyse.Arm) bool { return a.Calls > 0 })
}

// armChart shows one metric of every arm over all items.
func (b *builder) armChart(m analyse.Metric) *chart {
	var rows []measuredRow
	for _, arm := range b.contestants() {
		if e, ok := b.a.Estimate(arm.ID, m.Name); ok {
			rows = append(rows, b.estimateRow("", armCell(arm), e))
		}
	}
	return b.levels(m.Title+" by arm", m, rows)
}

// scoreTable has a row for each arm and a column for each metric.
func (b *builder) scoreTable(caption string, ms []analyse.Metric) *table {
	t := &table{Caption: caption, Columns: []column{{Title: "Arm"}}, Legend: b.valueLegend()}
	for _, m := range ms {
		t.Columns = append(t.Columns, column{Title: m.Title + arrow(m), Align: point})
	}
	for _, arm := range b.contestants() {
		row := []cell{armCell(arm)}
		for _, m := range ms {
			row = append(row, b.estimateCell(arm.ID, m, &t.Notes))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (b *builder) valueLegend() []string {
	return []string{"Below each value: its " + b.ci + " and the number of items. ↑ higher is better, ↓ lower is better."}
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
func (b *builder) estimateCell(arm string, m analyse.Metric, ns *notes) cell {
	e, ok := b.a.Estimate(arm, m.Name)
	if !ok {
		return undefinedCell(ns, "not measured for this arm")
	}
	return b.estimated(m, e, ns)
}

func (b *builder) estimated(m analyse.Metric, e analyse.Estimate, ns *notes) cell {
	s := scaleOf(m)
	c := cell{
		Text:   s.Value(e.Value, false),
		Detail: []string{s.Interval(e.Low, e.High, false), "n = " + say.Count(e.Items)},
		Refs:   ns.refs(estimateReasons(e)),
		Href:   b.href(behindEstimate(e)),
	}
	if e.Unscored > 0 {
		c.Detail = append(c.Detail, say.Count(e.Unscored)+" unscored ("+say.WithUnit(say.Shifted(float64(e.UnscoredShare), 2, 1), say.NBSP+"%")+")")
	}
	if e.Least != nil {
		c.Detail = append(c.Detail, "with them "+s.Interval(e.Least.Value, e.Most.Value, false))
	}
	return c
}

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

// outcomeTable counts the trial outcomes of each arm. It shows failures that did
// not occur as 0: a 0 is a result.
func (b *builder) outcomeTable() *table {
	t := &table{Caption: "Trial outcomes", Columns: []column{
		{Title: "Arm"},
		{Title: "Planned", Align: right}, {Title: "OK", Align: right}, {Title: "Malformed", Align: right},
		{Title: "Refused", Align: right}, {Title: "Failed", Align: right}, {Title: "Repaired", Align: right},
		{Title: "Truncated", Align: right}, {Title: "Unscored", Align: right}, {Title: "Reasons and notes"},
	}}
	for _, arm := range b.a.Arms {
		t.Rows = append(t.Rows, []cell{
			armCell(arm), number(arm.Planned), b.trialsOf(arm, eval.OK, number(arm.OK)),
			b.trialsOf(arm, eval.Malformed, trouble(arm.Malformed)), b.trialsOf(arm, eval.Refused, trouble(arm.Refused)), b.trialsOf(arm, eval.Failed, trouble(arm.Failed)),
			rare(noted(arm, "repaired")), rare(noted(arm, "truncated")), trouble(b.unscored(arm.ID)),
			{Text: reasonsAndNotes(arm)},
		})
	}
	t.Legend = []string{
		"Malformed and refused answers are scored like any other. Failed trials have no answer: they are counted here and not scored.",
		"Unscored counts entries of all metrics without a score, without those of failed trials; the results have the reasons.",
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

// merged joins rows that are the same for many arms.
func (b *builder) merged(t *table) *table {
	if !b.crowded() {
		return t
	}
	var rows [][]cell
	var arms [][]string
	for _, r := range t.Rows {
		i := slices.IndexFunc(rows, func(other []cell) bool { return reflect.DeepEqual(other[1:], r[1:]) })
		if i < 0 {
			i = len(rows)
			rows, arms = append(rows, r), append(arms, nil)
		}
		arms[i] = append(arms[i], r[0].Text)
	}
	for i, names := range arms {
		switch {
		case len(names) == len(t.Rows):
			rows[i][0] = cell{Text: "all " + say.Count(len(names)) + " arms"}
		case len(names) > 1:
			rows[i][0] = cell{Text: say.Count(len(names)) + " arms", Detail: []string{listed(names)}}
		}
	}
	t.Rows = rows
	return t
}

func number(n int) cell { return cell{Text: say.Count(n)} }

// briefOutcomes has one row for arms with the same outcomes, and sums notes and
// usage in the legend.
func (b *builder) briefOutcomes() *table {
	full := b.outcomeTable()
	last := len(full.Columns) - 1
	t := &table{Caption: full.Caption, Columns: full.Columns[:last]}
	for _, r := range full.Rows {
		t.Rows = append(t.Rows, r[:last])
	}
	t = b.merged(t)
	var said []analyse.Count
	for _, arm := range b.a.Arms {
		said = slices.Concat(said, arm.Reasons, arm.Notes)
	}
	for _, name := range factors(said, func(c analyse.Count) string { return c.Name }) {
		trials := 0
		arms := filter(said, func(c analyse.Count) bool { return c.Name == name })
		for _, c := range arms {
			trials += c.N
		}
		t.Legend = append(t.Legend, name+": "+say.Plural(trials, "trial", "trials")+" of "+say.Plural(len(arms), "arm", "arms")+".")
	}
	if u := b.a.Total; u != nil {
		t.Legend = append(t.Legend, "All arms: "+say.Plural(u.Calls+u.JudgeCalls, "call", "calls")+", "+say.Plural(u.InputTokens, "input token", "input tokens")+", "+
			say.Plural(u.OutputTokens, "output token", "output tokens")+", "+spent(u)+". For each arm: the report with -v, or as HTML.")
	}
	return t
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

// usage shows usage and cost of each arm, of the calibration of the judges, and of all
// calls.
func (b *builder) usage() *table {
	t := b.merged(b.usageTable())
	add := func(name string, u *analyse.Usage) {
		if u == nil {
			return
		}
		cost := func(c analyse.Number, unpriced int) cell {
			text := cell{Text: atLeast(c, unpriced)}
			if unpriced > 0 {
				text.Refs = t.Notes.refs([]string{say.Plural(unpriced, "call", "calls") + " of unknown cost; give models.price in the study file"})
			}
			return text
		}
		row := []cell{{Text: name, Tone: strong}, number(u.Calls), rare(u.Retried), number(u.InputTokens), number(u.CachedTokens), number(u.OutputTokens), number(u.Reasoning),
			cost(u.CostUSD, u.Unpriced), number(u.JudgeCalls), cost(u.JudgeCostUSD, u.JudgeUnpriced)}
		for len(row) < len(t.Columns) { // latencies
			row = append(row, cell{})
		}
		t.Rows = append(t.Rows, row)
	}
	add("calibration of the judges", b.a.Calibration)
	add("all calls", b.a.Total)
	if b.a.Total != nil {
		all := "All calls: " + spent(b.a.Total)
		if c := b.a.Calibration; c != nil {
			all += ", of which " + spent(c) + " for the calibration of the judges"
		}
		t.Legend = append(t.Legend, all+".")
	}
	return t
}

// rare is a count that is usually 0.
func rare(n int) cell {
	if n == 0 {
		return cell{Text: "0", Tone: muted}
	}
	return number(n)
}

// trouble is a count that should be 0.
func trouble(n int) cell {
	c := rare(n)
	if n != 0 {
		c.Tone = unsure
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

// reasonsAndNotes lists reasons and notes without their own column.
func reasonsAndNotes(arm analyse.Arm) string {
	others := filter(arm.Notes, func(c analyse.Count) bool { return c.Name != "repaired" && c.Name != "truncated" })
	return counted(slices.Concat(arm.Reasons, others))
}

// usageTable shows usage and cost.
func (b *builder) usageTable() *table {
	t := &table{Caption: "Usage and cost", Columns: []column{
		{Title: "Arm"},
		{Title: "Calls", Align: right}, {Title: "Retried", Align: right},
		{Title: "Tokens in", Align: right}, {Title: "Cached", Align: right},
		{Title: "Tokens out", Align: right}, {Title: "Thinking", Align: right},
		{Title: "Cost", Align: point}, {Title: "Judge calls", Align: right}, {Title: "Judge cost", Align: point},
	}}
	timed := slices.ContainsFunc(b.a.Arms, func(a analyse.Arm) bool { return a.LatencyMS != nil })
	if timed {
		t.Columns = append(t.Columns, column{Title: "Latency, median", Align: right}, column{Title: "Latency, p95", Align: right})
	}
	for _, arm := range b.a.Arms {
		row := []cell{
			armCell(arm), number(arm.Calls), rare(arm.Retried),
			number(arm.InputTokens), number(arm.CachedTokens), number(arm.OutputTokens), number(arm.Reasoning),
			costCell(arm.CostUSD, arm.Calls, &t.Notes), number(arm.JudgeCalls), costCell(arm.JudgeCostUSD, arm.JudgeCalls, &t.Notes),
		}
		if timed {
			row = append(row, latencyCells(arm, &t.Notes)...)
		}
		t.Rows = append(t.Rows, row)
	}
	source := "Tokens are as counted by the provider"
	if slices.ContainsFunc(b.a.Arms, func(a analyse.Arm) bool { return a.Estimated > 0 }) {
		source += ", or estimated from the request and the answer where it sent no counts"
	}
	t.Legend = []string{source + "; cached tokens were read from its prompt cache. Retried counts requests after the first of a call. Costs are in US dollars."}
	for _, u := range b.a.Run.Reused {
		t.Legend = append(t.Legend, b.reused(u))
	}
	return t
}

// reused says which answers were not asked for. Their cost is in the table.
func (b builder) reused(u eval.Reuse) string {
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
func latencyCells(arm analyse.Arm, ns *notes) []cell {
	if arm.LatencyMS == nil {
		none := undefinedCell(ns, "no call was answered")
		return []cell{none, none}
	}
	ms := say.Scale{}
	return []cell{{Text: say.WithUnit(ms.Number(arm.LatencyMS.Median, false), say.NBSP+"ms")}, {Text: say.WithUnit(ms.Number(arm.LatencyMS.P95, false), say.NBSP+"ms")}}
}

func costCell(cost analyse.Number, calls int, ns *notes) cell {
	switch {
	case cost.Defined():
		return cell{Text: say.USD(cost)}
	case calls == 0:
		return undefinedCell(ns, "no call was made")
	}
	return cell{Text: "unknown", Tone: muted, Refs: ns.refs([]string{"the price of this model is unknown; give models.price in the study file"})}
}

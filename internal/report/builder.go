package report

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/say"
)

// builder makes the content of one report.
type builder struct {
	a    *analyse.Analysis
	v    *gate.Verdict
	ci   string // "95 % CI"
	link func(Behind) string

	warned bool // the report has a list of warnings, so that comparisons need not repeat them
}

func newBuilder(r Report) *builder {
	return &builder{a: r.Analysis, v: r.Verdict, ci: confidence(r.Analysis.Study.Alpha), link: r.Link}
}

// href returns the address of the trials behind a number, or "".
func (b *builder) href(of Behind) string {
	if b.link == nil {
		return ""
	}
	return b.link(of)
}

func (b *builder) suite() string {
	if s := b.a.Study; s.Title != "" && s.Title != s.Suite {
		return s.Title + " (" + s.Suite + ")"
	}
	return b.a.Study.Suite
}

// metric finds a metric. If the analysis lacks it, only its name is set.
func (b *builder) metric(name string) analyse.Metric {
	if m, ok := b.a.Metric(name); ok {
		m.Title = cmp.Or(m.Title, m.Name)
		return m
	}
	return analyse.Metric{Name: name, Title: name, Min: analyse.Undefined(), Max: analyse.Undefined(), HigherIsBetter: true}
}

// metrics lists all metrics.
func (b *builder) metrics() []analyse.Metric {
	return mapped(b.a.Metrics, func(m analyse.Metric) analyse.Metric { return b.metric(m.Name) })
}

// ranked lists the metrics of the given ranks, rank by rank.
func (b *builder) ranked(ranks ...string) []analyse.Metric {
	var ms []analyse.Metric
	for _, rank := range ranks {
		ms = append(ms, filter(b.metrics(), func(m analyse.Metric) bool { return m.Rank == rank })...)
	}
	return ms
}

// contestants returns all arms except those that answer from gold to measure the
// judges.
func (b *builder) contestants() []analyse.Arm {
	return filter(b.a.Arms, func(a analyse.Arm) bool { return a.Role != eval.RoleCalibration })
}

// Crowd is the number of arms up to which reports show each arm.
const Crowd = 12

// crowded reports whether there are so many arms that tables merge equal rows and
// show strata side by side.
func (b *builder) crowded() bool { return len(b.contestants()) > Crowd }

// Tags of what must not be overlooked.
const (
	tagSimulated      = "simulated"
	tagSimulatedJudge = "simulated judge"
	tagJudgeFailed    = "judge failed"
	tagUnblinded      = "unblinded"
	tagLedger         = "ledger"
	tagRulesChanged   = "rules changed after results"
)

// simulatedTags marks results of simulated answers, and of answers that a simulation judged.
func simulatedTags(answers, judge bool) []string {
	switch {
	case answers:
		return []string{tagSimulated}
	case judge:
		return []string{tagSimulatedJudge}
	}
	return nil
}

// simulatedIn marks results of some arms.
func (b *builder) simulatedIn(ids ...string) []string {
	answers, judge := false, false
	for _, a := range b.a.Arms {
		if slices.Contains(ids, a.ID) {
			answers, judge = answers || a.Simulated, judge || a.SimulatedJudge
		}
	}
	return simulatedTags(answers, judge)
}

func armTags(arm analyse.Arm) []string {
	tags := simulatedTags(arm.Simulated, arm.SimulatedJudge)
	if arm.Role != eval.RoleArm {
		return append([]string{string(arm.Role)}, tags...)
	}
	return tags
}

func armCell(arm analyse.Arm) cell {
	c := cell{Text: arm.ID, Tags: armTags(arm)}
	if arm.Role != eval.RoleArm {
		c.Tone = muted
	}
	return c
}

// listed joins names for a sentence: "a, b and c".
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// counted joins counts for a cell: "timeout (2), not_json (1)".
func counted(counts []analyse.Count) string {
	return strings.Join(mapped(counts, func(c analyse.Count) string { return c.Name + " (" + say.Count(c.N) + ")" }), ", ")
}

// fraction formats a score: its value if the denominator is 1, else "3/4".
func fraction(s eval.Score) string {
	switch {
	case s.Unscored != "":
		return say.Dash
	case s.Den == 1:
		return say.Short(s.Num)
	}
	return say.Short(s.Num) + "/" + say.Short(s.Den)
}

// confidence returns the name of a study's intervals: "95 % CI".
func confidence(alpha float64) string {
	if !(alpha > 0 && alpha < 1) {
		return "interval"
	}
	return gate.Percent(alpha) + say.NBSP + "% CI"
}

// warnings returns the warnings of the study, of judges and of primary comparisons.
func (b *builder) warnings() []string {
	b.warned = true // the list has what comparisons would repeat
	list := b.notices()
	if b.v != nil {
		list = append(list, append(rulesChanged(b.v), nonEmpty(b.v.Uncorrected)...)...)
	}
	list = append(list, nonEmpty(b.a.Discipline.OtherRuns(), b.a.Run.WithoutTests())...)
	list = append(list, b.a.Warnings...)
	if b.v != nil {
		list = append(list, byEstimateAlone(b.v)...)
	}
	for _, j := range b.a.Judges {
		for _, w := range j.Warnings {
			if j.Cases > 0 { // else there was no judge to ask
				list = append(list, "judge "+j.Name+": "+w)
			}
		}
	}
	for _, c := range b.primaryComparisons() {
		if !c.Diff.Defined() { // its sentence has them
			continue
		}
		for _, note := range b.remarks(c, false) {
			if note != analyse.NotPlanned { // already in the list, once
				list = append(list, c.A+minusBetween+c.B+", "+b.metric(c.Metric).Title+": "+note)
			}
		}
	}
	return list
}

// merged joins the rows of many arms that are the same and are marked alike.
func (b *builder) merged(t *table) *table {
	if !b.crowded() {
		return t
	}
	var rows []row
	var arms [][]string
	for _, r := range t.Rows {
		i := slices.IndexFunc(rows, func(other row) bool {
			return slices.Equal(other.Cells[0].Tags, r.Cells[0].Tags) && reflect.DeepEqual(other.Cells[1:], r.Cells[1:])
		})
		if i < 0 {
			i = len(rows)
			rows, arms = append(rows, r), append(arms, nil)
		}
		arms[i] = append(arms[i], r.Cells[0].Text)
	}
	for i, names := range arms {
		switch {
		case len(names) == len(t.Rows):
			rows[i].Cells[0].Text = fmt.Sprintf("all %d arms", len(names))
		case len(names) > 1:
			rows[i].Cells[0].Text, rows[i].Cells[0].Detail = fmt.Sprintf("%d arms", len(names)), []string{listed(names)}
		}
	}
	t.Rows = rows
	return t
}

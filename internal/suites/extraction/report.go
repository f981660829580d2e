package extraction

import (
	"cmp"
	_ "embed" // the words of tables
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/extraction/synthetic"
	"github.com/scruple-eval/scruple/internal/text"
)

//go:embed tables.json
var tablesJSON []byte

var tableOf = eval.Tables(tablesJSON)

// An estimator gives the estimate of a metric for an arm, undefined if there is none.
type estimator func(arm, metric string) eval.Number

// Report has a table of the null baseline with its expected score, and a table
// of failure modes by arm, the agreement on the checklist if there is one, and figures.
func (b *bench) Report(r eval.Results) ([]eval.Block, error) {
	value := func(arm, metric string) eval.Number {
		if m, ok := r.Estimate(arm, metric); ok {
			return m.Value
		}
		return eval.Undefined()
	}
	var blocks []eval.Block
	if !b.plain { // without evidence there is no composite
		blocks = append(blocks, eval.Block{Table: b.nullTable(value)})
	}
	blocks = append(blocks, eval.Block{Table: b.modesTable(value)})
	if t := b.listsTable(r); len(t.Rows) > 0 {
		blocks = append(blocks, eval.Block{Table: t})
	}
	if len(b.verified) > 0 {
		blocks = append(blocks, eval.Block{Table: b.verifiedTable()})
	}
	for _, f := range b.figures(r) {
		blocks = append(blocks, eval.Block{Figure: &f})
	}
	return blocks, nil
}

// lead is the metric that sums up an arm: without evidence there is no composite.
func (b *bench) lead() string { return b.leadName(metricComposite, metricF1) }

func (b *bench) leadName(withEvidence, plain string) string {
	if b.plain {
		return plain
	}
	return withEvidence
}

// armsOf lists the arms of one of the roles.
func (b *bench) armsOf(roles ...eval.Role) (ids []string) {
	for _, a := range b.OwnArms {
		if slices.Contains(roles, a.Role) {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// shownArms are the arms of tables and figures.
func (b *bench) shownArms() []string { return b.armsOf(eval.RoleArm, eval.RoleBaseline) }

// nullTable shows the floor and the ceiling of the composite: the null baseline's
// score, with the score that gold implies for it (a difference is a bug in the
// scorer), and the score of the answers from gold.
func (b *bench) nullTable(value estimator) *eval.Table {
	unannotated := ""
	if b.unannotated > 0 {
		unannotated = fmt.Sprintf(" Requested but not scored, because they have no gold: %s.", text.Plural(b.unannotated, "field", "fields"))
	}
	t := tableOf("null_baseline", "{schema}", eval.Ratio(eval.Number(b.weights.Schema)).String(), "{unannotated}", unannotated)
	for _, id := range b.armsOf(eval.RoleBaseline) {
		missing, ambiguous := value(id, metricGoldMissing), value(id, metricGoldAmbiguous)
		t.Add(id, eval.Share(1-missing-ambiguous), eval.Share(missing), eval.Share(ambiguous),
			eval.Ratio(value(id, metricNullExpected)), eval.Ratio(value(id, metricComposite)), eval.Ratio(value(id, metricGoldComposite)))
	}
	return t
}

// listsTable has precision, recall and F1 of the values of each list, over all documents.
func (b *bench) listsTable(r eval.Results) *eval.Table {
	t := tableOf("lists")
	arms := b.armsOf(eval.RoleArm)
	lists, tooLong := map[string]bool{}, false
	for _, arm := range arms {
		if long := r.Sum(arm, metricLongList); long.Num > 0 {
			tooLong = true
			t.Note += fmt.Sprintf(" In %s of %s a list is too long to compare all pairs of records: equal ones are aligned, then those with equal keys, and the others by order, or by the values of their lists wherever they stand.", text.Plural(int(long.Num), "answer", "answers"), arm)
		}
		for list := range r.ByUnit(arm, metricRecall) {
			lists[list] = true
		}
	}
	if len(lists) < 2 && !tooLong {
		return t
	}
	for _, list := range slices.Sorted(maps.Keys(lists)) {
		for _, arm := range arms {
			recall := r.ByUnit(arm, metricRecall)[list]
			var rates []eval.Cell
			for _, metric := range []string{metricPrecision, metricRecall, metricF1} {
				f := r.ByUnit(arm, metric)[list]
				rates = append(rates, eval.Share(eval.Number(f.Num/f.Den)))
			}
			t.Add(cmp.Or(strings.TrimSuffix(list, "[]"), "(in no list)"), arm, rates, int(recall.Den))
		}
	}
	return t
}

// modesTable has the share of fields with each failure mode, by arm.
func (b *bench) modesTable(value estimator) *eval.Table {
	arms := b.shownArms()
	t := tableOf("failure_modes")
	t.Columns = append(t.Columns, arms...)
	for _, m := range append([]mode{{metric: metricParseFailure, title: "answer does not parse"}}, modes[:]...) {
		var shares []eval.Cell
		for _, a := range arms {
			shares = append(shares, eval.Share(value(a, m.metric)))
		}
		t.Add(m.title, shares)
	}
	return t
}

// verifiedTable has the agreement on each point of the checklist.
func (b *bench) verifiedTable() *eval.Table {
	t := tableOf("gold_verified", "{documents}", text.Plural(len(b.verified), "document", "documents"))
	row := func(title string, confirmed, checked int) {
		t.Add(title, checked, confirmed, eval.ShareOf(confirmed, checked))
	}
	var sum, of int
	for i, point := range checklistPoints {
		confirmed, checked := 0, 0
		for _, v := range b.verified {
			yes, given := verification{v[i]}.counts()
			confirmed, checked = confirmed+yes, checked+given
		}
		row(strings.ReplaceAll(point, "_", " "), confirmed, checked)
		sum, of = sum+confirmed, of+checked
	}
	row("all points", sum, of)
	return t
}

// figures are the composite by type and difficulty of document, the share of right
// values by confidence, and the failure modes.
func (b *bench) figures(r eval.Results) []eval.Figure {
	var list []eval.Figure
	arms := b.shownArms()
	add := func(f eval.Figure, least int, at func(arm string, tick int) (eval.Measured, bool)) {
		points := 0
		for _, arm := range arms {
			s := eval.Series{Name: arm}
			for i := range f.Ticks {
				if m, ok := at(arm, i); ok {
					s.Points = append(s.Points, eval.Point{X: eval.Number(i), Measured: m})
					points++
				}
			}
			f.Series = append(f.Series, s)
		}
		if len(f.Ticks) >= least && points > 0 {
			list = append(list, f)
		}
	}
	for _, by := range [][2]string{{"doc_type", "type of document"}, {"difficulty", "difficulty"}} {
		f := eval.Figure{Name: "by_" + by[0], Title: b.leadName("Composite", "F1") + " by " + by[1], XTitle: by[1], YTitle: b.leadName("composite", "F1"), Ticks: b.stratumValues(by[0])}
		add(f, 2, func(arm string, i int) (eval.Measured, bool) {
			return r.EstimateIn(arm, b.lead(), eval.Level{Name: by[0], Value: f.Ticks[i]})
		})
	}
	add(eval.Figure{Name: "confidence", Title: "Right values by stated confidence", XTitle: "confidence", YTitle: "share of right values", Ticks: confidences,
		Note: "Of the fields answered once with this confidence, the share with a right value. The shares of a calibrated arm rise from low to high."}, 1,
		func(arm string, i int) (eval.Measured, bool) { return r.Estimate(arm, rightAt(confidences[i])) })
	f := eval.Figure{Name: "failures", Title: "Failure modes", XTitle: "failure", YTitle: "share of fields", Note: "The modes that occur. One field can have several."}
	var metrics []string
	for _, m := range modes {
		if slices.ContainsFunc(arms, func(arm string) bool { e, ok := r.Estimate(arm, m.metric); return ok && e.Value > 0 }) {
			f.Ticks, metrics = append(f.Ticks, m.title), append(metrics, m.metric)
		}
	}
	add(f, 1, func(arm string, i int) (eval.Measured, bool) { return r.Estimate(arm, metrics[i]) })
	return list
}

// stratumValues lists the values of a stratum: the usual difficulties in their order, others by
// name.
func (b *bench) stratumValues(name string) []string {
	seen := map[string]bool{}
	var values []string
	for _, it := range b.Items() {
		if v := eval.LevelOf(it.Strata, name); v != "" && !seen[v] {
			seen[v], values = true, append(values, v)
		}
	}
	slices.SortFunc(values, func(a, b string) int {
		if i, k := slices.Index(synthetic.Difficulties, a), slices.Index(synthetic.Difficulties, b); i >= 0 && k >= 0 {
			return i - k
		}
		return strings.Compare(a, b)
	})
	return values
}

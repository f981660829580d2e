package spans

import (
	"cmp"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/measure/span"
	"github.com/scruple-eval/scruple/internal/suites/spans/snapshot"
)

// tallies are what a report counts for an arm.
type tallies struct {
	summary   *snapshot.Summary
	byRole    span.Tally
	byKind    span.Tally        // by category
	confusion map[[2]string]int // gold and predicted category; "" for none
	gold      int               // texts with gold
	quality   snapshot.Quality
	people    map[*checked]bool // verdicts of people that are on answers of the run
}

// nothing is the category of a span without a counterpart.
const nothing = "(none)"

// Report has the scores by category and the confusions of each arm with gold, and
// the summary of its judgements.
func (b *Bench) Report(results eval.Results) ([]eval.Block, error) {
	type counting struct {
		tallies
		tally *snapshot.Tally
	}
	byArm := map[string]*counting{}
	for c, err := range results.Cases() {
		if err != nil {
			return nil, err
		}
		r, a := b.record(c.Item), b.byArm[c.Arm]
		if r == nil || a == nil || a.Role == eval.RoleCalibration {
			continue
		}
		k := byArm[a.ID]
		if k == nil {
			k = &counting{tally: b.reader.NewTally()}
			k.byRole.Scheme, k.byKind.Scheme, k.confusion, k.people = span.Conll, span.Conll, map[[2]string]int{}, map[*checked]bool{}
			byArm[a.ID] = k
		}
		for i := range c.Trials {
			b.count(&k.tallies, k.tally, r, a, &c.Trials[i])
		}
	}
	var arms []string
	all := map[string]*tallies{}
	for _, a := range b.arms {
		if k := byArm[a.ID]; k != nil {
			k.summary = k.tally.Summary(1)
			arms = append(arms, a.ID)
			all[a.ID] = &k.tallies
		}
	}
	var blocks []eval.Block
	table := func(t eval.Table) {
		if len(t.Rows) > 0 {
			blocks = append(blocks, eval.Block{Table: &t})
		}
	}
	roles := eval.Table{Name: "roles", Title: "Scores by role", Note: "Spans with the same borders and role as gold."}
	table(scoreTable(roles, "role", arms, all, func(k *tallies) *span.Tally { return &k.byRole }))
	if len(b.taxonomy.Roles()) > len(b.taxonomy.Categories) {
		categories := eval.Table{Name: "gold_categories", Title: "Scores by category", Note: "Spans with the same borders and category as gold."}
		table(scoreTable(categories, "category", arms, all, func(k *tallies) *span.Tally { return &k.byKind }))
	}
	table(b.confusionTable(arms, all))
	if f := reliability(arms, all); len(f.Series) > 0 {
		blocks = append(blocks, eval.Block{Figure: &f})
	}
	for _, t := range judgedTables(arms, all) {
		table(t)
	}
	table(b.changedJudges())
	for _, t := range b.changes(all) {
		table(t)
	}
	table(b.peopleTable(arms, all))
	table(qualityTable(arms, all))
	return blocks, nil
}

// count adds a trial.
func (b *Bench) count(k *tallies, tally *snapshot.Tally, r *record, a *arm, t *eval.Judged) {
	if absent(&t.Outcome) {
		return
	}
	var found answer
	if t.Outcome.Kind == eval.OK {
		found, _ = b.readAnswer(t.Outcome.Data, r.Text)
	}
	if r.Labelled && t.Outcome.Kind != eval.Failed {
		k.gold++
		k.byRole.Add(slices.Clone(r.gold), b.spansOf(found.spans, false))
		k.byKind.Add(b.spansOf(r.Spans, true), b.spansOf(found.spans, true))
		for _, m := range b.matches(r, found.spans) {
			pair := [2]string{nothing, nothing}
			if m.gold != nil {
				pair[0] = b.taxonomy.Category(m.gold.Role)
			}
			if m.span != nil {
				pair[1] = b.taxonomy.Category(m.span.Role)
			}
			k.confusion[pair]++
		}
	}
	if len(a.Judges) == 0 {
		return
	}
	var people []uint8
	if h := b.checkedOf(t, found.spans); h != nil {
		k.people[h], people = true, h.flags
	}
	j := b.judgement(r, t)
	l := b.labelled(r, t, found, &j)
	if l.State == snapshot.Judged && l.Verdict.Result.KnowsSpans() {
		k.quality.Add(r.ID, j.flags, people)
	}
	tally.Add(&l)
}

func ratio(x float64) eval.Cell { return eval.Ratio(eval.Number(x)) }

// scoreTable has precision, recall and F1 of each role or category.
func scoreTable(t eval.Table, what string, arms []string, all map[string]*tallies, of func(*tallies) *span.Tally) eval.Table {
	t.Columns = []string{"arm", what, "gold", "predicted", "correct", "precision", "recall", "F1"}
	for _, arm := range arms {
		k := all[arm]
		if k.gold == 0 {
			continue
		}
		row := func(label string, c span.Counts) {
			t.Row(eval.Text(arm), eval.Text(label), eval.Count(c.Gold()), eval.Count(c.Predicted()), eval.Count(c.Correct), ratio(c.Precision()), ratio(c.Recall()), ratio(c.F1()))
		}
		tally := of(k)
		for _, label := range tally.Labels() {
			row(label, tally.ByLabel[label])
		}
		row("all (micro)", tally.Overall)
		p, r, f := tally.Macro()
		t.Row(append(eval.Texts(arm, "all (macro)", "", "", ""), ratio(p), ratio(r), ratio(f))...)
	}
	return t
}

// mostPairs are the rows of a table of confusions for each arm.
const mostPairs = 10

// confusionTable has the most frequent pairs of gold and predicted category.
func (b *Bench) confusionTable(arms []string, all map[string]*tallies) eval.Table {
	t := eval.Table{Name: "gold_confusions", Title: "Categories of gold and prediction", Note: "Spans are matched by overlap, without regard to their roles. (none): a gold span that was not labelled, or a span that is not gold.",
		Columns: []string{"arm", "gold", "predicted", "spans"}}
	for _, arm := range arms {
		type pair struct {
			names [2]string
			n     int
		}
		var pairs []pair
		for names, n := range all[arm].confusion {
			if names[0] != names[1] {
				pairs = append(pairs, pair{names, n})
			}
		}
		slices.SortFunc(pairs, func(a, b pair) int {
			return cmp.Or(b.n-a.n, strings.Compare(a.names[0], b.names[0]), strings.Compare(a.names[1], b.names[1]))
		})
		for _, p := range pairs[:min(mostPairs, len(pairs))] {
			t.Row(eval.Text(arm), eval.Text(p.names[0]), eval.Text(p.names[1]), eval.Count(p.n))
		}
	}
	return t
}

// reliability draws the share of spans without an error by confidence.
func reliability(arms []string, all map[string]*tallies) eval.Figure {
	f := eval.Figure{Name: "reliability", Title: "Confidence and errors", Note: "Share of spans without an error, by the judge, in ten bins of stated confidence.", XTitle: "stated confidence", YTitle: "without an error", Joined: true}
	for _, arm := range arms {
		c := all[arm].summary.ConfidenceAnalysis
		if c == nil || len(c.Reliability) < 2 {
			continue
		}
		s := eval.Series{Name: arm}
		for _, b := range c.Reliability {
			s.Points = append(s.Points, eval.Point{X: eval.Number((b.Low + b.High) / 2), Measured: eval.Measured{Value: eval.Number(b.Accuracy), Low: eval.Number(b.CILow), High: eval.Number(b.CIHigh), N: b.N}})
		}
		f.Series = append(f.Series, s)
	}
	return f
}

// judgedTables are the tables of the summaries of judged arms, each with a first
// column for the arm.
func judgedTables(arms []string, all map[string]*tallies) []eval.Table {
	var tables []eval.Table
	for _, arm := range arms {
		s := all[arm].summary
		if s.Results == 0 {
			continue
		}
		for _, t := range s.Tables() {
			note := t.Note
			switch t.Name {
			case "results":
				t.Columns[0] = "count"
				fallthrough
			case "confidence", "confusions":
				t.Note = "" // of one arm
			}
			tables = joined(tables, arm, "arm", t)
			if t.Name == "confidence" {
				last := &tables[slices.IndexFunc(tables, func(o eval.Table) bool { return o.Name == t.Name })]
				last.Note = strings.TrimSpace(last.Note + " " + arm + ": " + strings.ToLower(note[:1]) + note[1:])
			}
		}
	}
	return tables
}

// changes compares the judged arms of each comparison of the study.
func (b *Bench) changes(all map[string]*tallies) []eval.Table {
	var tables []eval.Table
	for _, c := range b.compared {
		is, was := all[c.A], all[c.B]
		if is == nil || was == nil || is.summary.Results == 0 || was.summary.Results == 0 {
			continue
		}
		for _, t := range snapshot.Changes(was.summary, is.summary) {
			tables = joined(tables, c.A+" − "+c.B, "comparison", t)
		}
	}
	return tables
}

// joined adds a table to those of others, by its name. What has its own first column.
func joined(tables []eval.Table, of, what string, t eval.Table) []eval.Table {
	at := slices.IndexFunc(tables, func(o eval.Table) bool { return o.Name == t.Name })
	if at < 0 {
		at = len(tables)
		head := t
		head.Columns, head.Rows = append([]string{what}, t.Columns...), nil
		tables = append(tables, head)
	}
	for _, row := range t.Rows {
		tables[at].Row(append([]eval.Cell{eval.Text(of)}, row...)...)
	}
	return tables
}

// peopleTable says which verdicts of people are on answers of this run.
func (b *Bench) peopleTable(arms []string, all map[string]*tallies) eval.Table {
	t := eval.Table{Name: "people", Title: "Answers checked by people", Note: "A verdict holds for the spans that were checked. Those on other spans, such as the answers of an earlier prompt, are not used.",
		Columns: []string{"arm", "answers of this run", "of them with errors", "other answers, not used"}}
	verdicts := map[string]int{}
	for key, list := range b.people {
		verdicts[key[1]] += len(list)
	}
	for _, arm := range arms {
		if verdicts[arm] == 0 {
			continue
		}
		used := all[arm].people
		wrong := 0
		for h := range used {
			if len(h.missed) > 0 || slices.ContainsFunc(h.flags, func(f uint8) bool { return f != 0 }) {
				wrong++
			}
		}
		t.Row(eval.Text(arm), eval.Count(len(used)), eval.Count(wrong), eval.Count(verdicts[arm]-len(used)))
	}
	return t
}

// qualityTable has the error rates corrected with people's verdicts.
func qualityTable(arms []string, all map[string]*tallies) eval.Table {
	t := eval.Table{Name: "corrected_rates", Title: "Error rates corrected by people", Note: "Prediction-powered: the judge's rate over all spans, corrected by its bias on the spans that people checked. Below it: its 95 % interval, by text.",
		Columns: []string{"arm", "error", "judge's rate", "people's rate", "corrected", "checked spans"}}
	for _, arm := range arms {
		for _, q := range all[arm].quality.Corrected() {
			corrected := eval.Missing(eval.KindRatio, q.Undefined)
			if q.Undefined == "" {
				corrected = eval.Ratio(q.Value).Within(q.Low, q.High)
			}
			t.Row(eval.Text(arm), eval.Text(strings.ReplaceAll(q.Kind, "_", " ")), eval.Ratio(q.Judge), eval.Ratio(q.People), corrected, eval.Count(q.Labelled))
		}
	}
	return t
}

package spans

import (
	"cmp"
	_ "embed"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/measure/span"
	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/spans/snapshot"
	"github.com/scruple-eval/scruple/internal/text"
)

// A tally is what a report counts for an arm.
type tally struct {
	arm       string
	counts    *snapshot.Tally
	summary   *snapshot.Summary // of the counts
	byRole    span.Tally
	byKind    span.Tally        // by category
	confusion map[[2]string]int // gold and predicted category; "" for none
	gold      int               // texts with gold
	quality   snapshot.Quality
	left      int               // answers that are not in it
	people    map[*checked]bool // verdicts of people that are on answers of the run
}

// nothing is the category of a span without a counterpart.
const nothing = "(none)"

// Report has the scores by category and the confusions of each arm with gold, and
// the summary of its judgements.
func (b *bench) Report(results eval.Results) ([]eval.Block, error) {
	byArm := map[string]*tally{}
	for c, err := range results.Cases() {
		if err != nil {
			return nil, err
		}
		r, a := b.Datum(c.Item), b.Arm(c.Arm)
		if r == nil || a == nil || a.Role == eval.RoleCalibration {
			continue
		}
		k := byArm[a.ID]
		if k == nil {
			k = &tally{arm: a.ID, counts: b.reader.NewTally(), byRole: span.Tally{Scheme: span.Conll}, byKind: span.Tally{Scheme: span.Conll},
				confusion: map[[2]string]int{}, people: map[*checked]bool{}}
			byArm[a.ID] = k
		}
		for i := range c.Trials {
			if t := b.read(r, &c.Trials[i]); !t.absent {
				b.count(k, t)
			}
		}
	}
	var all []*tally
	for _, a := range b.OwnArms {
		if k := byArm[a.ID]; k != nil {
			k.summary = k.counts.Summary()
			estimated(k.summary, func(metric string) (eval.Measured, bool) { return results.Estimate(a.ID, metric) })
			all = append(all, k)
		}
	}
	tables := []eval.Table{scoreTable("roles", all, func(k *tally) *span.Tally { return &k.byRole })}
	if len(b.taxonomy.Roles()) > len(b.taxonomy.Categories) {
		tables = append(tables, scoreTable("gold_categories", all, func(k *tally) *span.Tally { return &k.byKind }))
	}
	blocks := kit.Blocks(append(tables, confusionTable(all))...)
	if f := reliability(all); len(f.Series) > 0 {
		blocks = append(blocks, eval.Block{Figure: &f})
	}
	tables = slices.Concat(judgedTables(all), b.changes(byArm), []eval.Table{b.peopleTable(all), qualityTable(all)})
	return append(blocks, kit.Blocks(tables...)...), nil
}

// count adds a trial.
func (b *bench) count(k *tally, t *trial) {
	if t.record.Labelled && t.Outcome.Kind != eval.Failed {
		k.gold++
		k.byRole.Add(slices.Clone(t.record.gold), b.spansOf(t.spans, b.taxonomy.Canonical))
		k.byKind.Add(b.spansOf(t.record.Spans, b.taxonomy.Category), b.spansOf(t.spans, b.taxonomy.Category))
		for _, m := range t.matches {
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
	if len(t.arm.Judges) == 0 {
		return
	}
	var people []uint8
	if h := b.checkedOf(t); h != nil {
		k.people[h], people = true, h.flags
	}
	l := b.labelled(t)
	switch cluster := t.record.independent(); { // people correct a distrusted judge too
	case t.Outcome.Kind == eval.Failed:
	case !t.readable:
		k.quality.AddWrong(cluster, t.record.wrongSpans())
	case t.missing == "" && t.parsed.Result.UnknownSpans() == "":
		k.quality.Add(cluster, t.flags, people)
	default:
		k.left++
	}
	k.counts.Add(&l)
}

//go:embed tables.json
var tablesJSON []byte

var newTable = eval.Tables(tablesJSON)

func ratio(x float64) eval.Cell { return eval.Ratio(eval.Number(x)) }

// scoreTable has precision, recall and F1 of each role or category.
func scoreTable(name string, all []*tally, of func(*tally) *span.Tally) eval.Table {
	t := *newTable(name)
	for _, k := range all {
		if k.gold == 0 {
			continue
		}
		row := func(label string, c span.Counts) {
			t.Add(k.arm, label, c.Gold(), c.Predicted(), c.Correct, ratio(c.Precision()), ratio(c.Recall()), ratio(c.F1()))
		}
		tally := of(k)
		for _, label := range tally.Labels() {
			row(label, tally.ByLabel[label])
		}
		row("all (micro)", tally.Overall)
		p, r, f := tally.Macro()
		t.Add(k.arm, "all (macro)", "", "", "", ratio(p), ratio(r), ratio(f))
	}
	return t
}

// mostPairs are the rows of a table of confusions for each arm.
const mostPairs = 10

// confusionTable has the most frequent pairs of gold and predicted category.
func confusionTable(all []*tally) eval.Table {
	t := *newTable("gold_confusions")
	for _, k := range all {
		maps.DeleteFunc(k.confusion, func(names [2]string, _ int) bool { return names[0] == names[1] })
		pairs := slices.SortedFunc(maps.Keys(k.confusion), func(a, b [2]string) int {
			return cmp.Or(k.confusion[b]-k.confusion[a], strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1]))
		})
		for _, p := range pairs[:min(mostPairs, len(pairs))] {
			t.Add(k.arm, p[0], p[1], k.confusion[p])
		}
	}
	return t
}

// reliability draws the share of spans without an error by confidence.
func reliability(all []*tally) eval.Figure {
	f := eval.Figure{Name: "reliability", Title: "Confidence and errors", Note: "Share of spans without an error, by the judge, in ten bins of stated confidence.", XTitle: "stated confidence", YTitle: "without an error", Joined: true}
	for _, k := range all {
		c := k.summary.ConfidenceAnalysis
		if c == nil || len(c.Reliability) < 2 {
			continue
		}
		s := eval.Series{Name: k.arm}
		for _, b := range c.Reliability {
			s.Points = append(s.Points, eval.Point{X: eval.Number((b.Low + b.High) / 2), Measured: eval.Measured{Value: eval.Number(b.Accuracy), Low: b.CILow, High: b.CIHigh, N: b.Texts}})
		}
		f.Series = append(f.Series, s)
	}
	return f
}

// judgedTables are the tables of the summaries of judged arms, each with a first
// column for the arm.
func judgedTables(all []*tally) []eval.Table {
	var tables []eval.Table
	for _, k := range all {
		if k.summary.Results == 0 {
			continue
		}
		for _, t := range k.summary.Tables() {
			note := t.Note
			switch t.Name {
			case "results":
				t.Columns[0] = "count"
				fallthrough
			case "confidence", "confusions":
				t.Note = "" // of one arm
			}
			tables = joined(tables, k.arm, "arm", t)
			if t.Name == "confidence" {
				last := &tables[slices.IndexFunc(tables, func(o eval.Table) bool { return o.Name == t.Name })]
				last.Note = strings.TrimSpace(last.Note + " " + k.arm + ": " + strings.ToLower(note[:1]) + note[1:])
			}
		}
	}
	return tables
}

// changes compares the judged arms of each comparison of the study.
func (b *bench) changes(all map[string]*tally) []eval.Table {
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

// Changes compares the judgements of an arm in two runs. Of an arm of another study, which may
// have the name of one of this, the verdicts count and not a file of this study.
func (b *bench) Changes(was, is iter.Seq2[eval.Case, error]) ([]eval.Table, error) {
	var sides [2]*snapshot.Summary
	for i, cases := range []iter.Seq2[eval.Case, error]{was, is} {
		counts := b.reader.NewTally()
		for c, err := range cases {
			if err != nil {
				return nil, err
			}
			r := b.Datum(c.Item)
			for k := range c.Trials {
				t := b.read(r, &c.Trials[k])
				recorded := func(v eval.Verdict) bool { return v.Source == eval.ByPipeline }
				if t.arm = new(arm); slices.ContainsFunc(t.Verdicts, recorded) {
					t.arm.snapshot = new(spanfile.SnapshotFile) // its judgements count whatever the judge is worth
				}
				if len(t.Verdicts) > 0 || t.Outcome.Kind == eval.Failed {
					l := b.labelled(t)
					counts.Add(&l)
				}
			}
		}
		if sides[i] = counts.Summary(); sides[i].JudgedResults == 0 {
			return nil, nil
		}
	}
	return snapshot.Changes(sides[0], sides[1]), nil
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
		tables[at].Add(of, row)
	}
	return tables
}

// peopleTable says which verdicts of people are on answers of this run.
func (b *bench) peopleTable(all []*tally) eval.Table {
	t := *newTable("people")
	verdicts := map[string]int{}
	for _, h := range b.people {
		verdicts[h.arm]++
	}
	for _, k := range all {
		if verdicts[k.arm] == 0 {
			continue
		}
		wrong := 0
		for h := range k.people {
			if len(h.missed) > 0 || slices.ContainsFunc(h.flags, func(f uint8) bool { return f != 0 }) {
				wrong++
			}
		}
		t.Add(k.arm, len(k.people), wrong, verdicts[k.arm]-len(k.people))
	}
	return t
}

// qualityTable has the error rates corrected with people's verdicts.
func qualityTable(all []*tally) eval.Table {
	t := *newTable("corrected_rates")
	for _, k := range all {
		rates := k.quality.Corrected()
		if len(rates) > 0 && k.left > 0 {
			t.Note += fmt.Sprintf(" %s: without %s whose errors are unknown.", k.arm, text.Plural(k.left, "answer", "answers"))
		}
		for _, q := range rates {
			corrected := eval.Missing(eval.KindRatio, q.Undefined)
			if q.Undefined == "" {
				corrected = ratio(q.Value).Within(eval.Number(q.CI.Low), eval.Number(q.CI.High))
			}
			t.Add(k.arm, strings.ReplaceAll(q.Kind, "_", " "), ratio(q.Judge), ratio(q.People), corrected, q.Labelled)
		}
	}
	return t
}

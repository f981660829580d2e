package snapshot

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
	"github.com/scruple-eval/scruple/internal/text"
)

func fixed(x float64) eval.Cell  { return eval.Ratio(eval.Number(x)) }
func signed(x float64) eval.Cell { return eval.Difference(eval.Number(x)) }

// Tables are the summary's tables.
func (s *Summary) Tables() []eval.Table {
	var tables []eval.Table
	add := func(name, title, note string, columns []string, rows [][]eval.Cell) {
		if len(rows) > 0 {
			tables = append(tables, eval.Table{Name: name, Title: title, Note: note, Columns: columns, Rows: rows})
		}
	}
	count := func(name string, n int) []eval.Cell { return []eval.Cell{eval.Text(name), eval.Count(n)} }
	mean := func(name string, x float64) []eval.Cell { return []eval.Cell{eval.Text(name), fixed(x)} }
	rows := [][]eval.Cell{count("results", s.Results), count("judged", s.JudgedResults), count("judge failed", s.JudgeFailures), count("not judged", s.NotJudged),
		count("labeller failed", s.ErrorCount), mean("average total of judged", s.AvgScore),
		mean("average with failures as 0", s.AvgScoreWithFailures), count("judged with a total of 0", s.ZeroScores), mean("average number of spans", s.AvgSpanCount),
		mean("average with errors as 0 spans", s.AvgSpanCountAll)}
	for _, note := range []string{spanfile.Realigned, spanfile.Unaligned} {
		rows = append(rows, count("spans "+note, s.SpanNotes[note]))
	}
	rows = append(rows, count("spans without a confidence from 0 to 1", s.NoConfidence))
	pipelines, sources := s.PipelineSources, s.SpanSources
	rows = append(rows, eval.Texts("pipelines", fmt.Sprintf("nlp %d, llm %d, unknown %d", pipelines.NLP, pipelines.LLM, pipelines.Unknown)),
		eval.Texts("sources of spans", fmt.Sprintf("closed vocabulary %d, open vocabulary %d, llm %d", sources.ClosedVocab, sources.OpenVocab, sources.LLM)))
	add("results", "Results", strings.Join(s.Warnings, "; "), []string{"", "value"}, rows)
	rows = nil
	for _, why := range slices.Sorted(maps.Keys(s.JudgeFailureReasons)) {
		rows = append(rows, count(why, s.JudgeFailureReasons[why]))
	}
	add("judge_failures", "Failed judgements", "Recorded as totals of 0. They are not in the averages.", []string{"reason", "times"}, rows)
	if s.JudgedResults > 0 {
		names, counts := s.ScoreDistribution.Bands()
		rows = nil
		for i, name := range names {
			rows = append(rows, append(count(name, counts[i]), eval.ShareOf(counts[i], s.JudgedResults)))
		}
		add("distribution", "Distribution of totals", "", []string{"band", "results", "share"}, rows)
		rows = nil
		for _, step := range verdict.Steps {
			rows = append(rows, count(string(step), s.ParseSteps[step]))
		}
		add("parse_steps", "How judgements were parsed", "enhanced: valid as written. repaired: after one repair. basic: only parts were valid. none: nothing was.", []string{"step", "judgements"}, rows)
	}
	rows = nil
	for _, name := range slices.Sorted(maps.Keys(s.categories)) {
		c := s.AvgCategoryScores[name]
		rows = append(rows, []eval.Cell{eval.Text(name), fixed(c.Coverage), fixed(c.Precision), eval.Count(s.categories[name])})
	}
	add("categories", "Average scores by category", "Means of 1 to 5 over the judged results that have the category.", []string{"category", "coverage", "precision", "results"}, rows)
	rows = nil
	for _, name := range slices.SortedFunc(maps.Keys(s.FalsePositiveReasons), func(a, b string) int {
		return cmp.Or(s.FalsePositiveReasons[b]-s.FalsePositiveReasons[a], strings.Compare(a, b))
	}) {
		if n := s.FalsePositiveReasons[name]; n > 0 {
			rows = append(rows, count(name, n))
		}
	}
	add("false_positive_reasons", "False positives by reason", "", []string{"reason", "times"}, rows)
	rows = nil
	for _, c := range s.TopTaxonomyErrors {
		rows = append(rows, append(eval.Texts(c.AssignedRole, c.ExpectedRole), eval.Count(c.Count)))
	}
	note := ""
	if s.UncountableConfusions > 0 {
		note = fmt.Sprintf("Left out: %s with two equal roles or an expected role that the taxonomy does not have.", text.Plural(s.UncountableConfusions, "confusion", "confusions"))
	}
	add("confusions", "Most frequent confusions", note, []string{"assigned", "expected", "times"}, rows)
	rows = nil
	if s.JudgedResults > 0 {
		for _, name := range slices.Sorted(maps.Keys(s.ErrorsBySection)) {
			e := s.ErrorsBySection[name]
			rows = append(rows, append(count(name, e.FalsePositives), eval.Count(e.Missed)))
		}
	}
	add("sections", "Errors by section", "A missed element is located by its text.", []string{"section", "false positives", "missed"}, rows)
	if c := s.ConfidenceAnalysis; c != nil {
		tables = append(tables, c.tables()...)
	}
	return tables
}

func (c *Confidence) tables() []eval.Table {
	t := eval.Table{Name: "confidence", Title: "Errors by confidence", Columns: []string{"confidence", "spans", "errors", "error rate", "false positives", "false positive rate"}}
	names, buckets := c.Buckets.List()
	for i, b := range buckets {
		t.Row(eval.Text(fmt.Sprintf("%s, %.1f to %.1f", names[i], b.Range[0], b.Range[1])), eval.Count(b.Total), eval.Count(b.Errors),
			eval.ShareOf(b.Errors, b.Total).Within(eval.Number(b.ErrorRateLow), eval.Number(b.ErrorRateHigh)), eval.Count(b.FalsePositives), eval.ShareOf(b.FalsePositives, b.Total))
	}
	t.Note = fmt.Sprintf("Threshold: %s. Calibration error %s, AUROC %s, with 95 %% intervals of a bootstrap over prompts. An error is any false positive, wrong role or wrong border. With the error rate: Wilson's 95 %% interval.", c.Notes, eval.MeasuredRatio(c.ECE, true), eval.MeasuredRatio(c.AUROC, true))
	r := eval.Table{Name: "reliability", Title: "Reliability", Note: "Share of spans without an error, by stated confidence, and below it Wilson's 95 % interval.", Columns: []string{"confidence", "spans", "mean confidence", "without error"}}
	for _, b := range c.Reliability {
		r.Row(eval.Text(fmt.Sprintf("%.1f to %.1f", b.Low, b.High)), eval.Count(b.N), eval.Ratio(eval.Number(b.Confidence)), eval.Ratio(eval.Number(b.Accuracy)).Within(eval.Number(b.CILow), eval.Number(b.CIHigh)))
	}
	return []eval.Table{t, r}
}

// mostChanges are the confusions and texts that a comparison lists.
const mostChanges = 10

// Changes compares two summaries: the scores of categories, confusions that only one of
// them has, and the texts whose total or state differs. Differences are is minus was.
func Changes(was, is *Summary) []eval.Table {
	categories := eval.Table{Name: "category_changes", Title: "Changes by category",
		Note:    "Means over the judged results of each arm that have the category. Differences are those of the first arm from the second.",
		Columns: []string{"category", "coverage", "change", "precision", "change"}}
	for _, name := range slices.Sorted(maps.Keys(is.categories)) {
		if was.categories[name] > 0 {
			a, b := was.AvgCategoryScores[name], is.AvgCategoryScores[name]
			categories.Row(eval.Text(name), eval.Textf("%s → %s", fixed(a.Coverage), fixed(b.Coverage)), signed(b.Coverage-a.Coverage),
				eval.Textf("%s → %s", fixed(a.Precision), fixed(b.Precision)), signed(b.Precision-a.Precision))
		}
	}
	confusions := eval.Table{Name: "confusion_changes", Title: "New and resolved confusions", Columns: []string{"", "assigned", "expected", "times"},
		Note: fmt.Sprintf("New: in the first arm only. Resolved: in the second only. The %d most frequent of each.", mostChanges)}
	for _, side := range []struct {
		what         string
		in, othersOf *Summary
	}{{"new", is, was}, {"resolved", was, is}} {
		only := maps.Clone(side.in.confusions)
		maps.DeleteFunc(only, func(pair [2]string, _ int) bool { return side.othersOf.confusions[pair] > 0 })
		for _, c := range top(only, mostChanges) {
			confusions.Row(append(eval.Texts(side.what, c.AssignedRole, c.ExpectedRole), eval.Count(c.Count))...)
		}
	}
	return []eval.Table{categories, confusions, changedTexts(was, is), totalChanges(was, is)}
}

// aFall is by how much a total must differ to be counted.
const aFall = 3

// repeatable is the difference that two totals of a text exceed by chance in 5 % of the cases,
// from the replicates of both summaries; 0 without any.
func repeatable(sides ...*Summary) float64 {
	spread, more := 0.0, 0
	for _, s := range sides {
		for _, o := range s.texts {
			if o.n > 1 {
				spread, more = spread+o.spread, more+o.n-1
			}
		}
	}
	if more == 0 {
		return 0
	}
	return 1.96 * math.Sqrt(2*spread/float64(more))
}

// totalChanges counts the texts with another total or state. Losses stand beside gains: between
// two runs that differ by chance there are as many.
func totalChanges(was, is *Summary) eval.Table {
	limit := max(aFall, repeatable(was, is))
	var judged, both, fell, rose, broke, mended int
	var before, after float64
	for id, now := range is.texts {
		then, ok := was.texts[id]
		if !ok {
			continue
		}
		both++
		switch by := now.total - then.total; {
		case then.state == Errored || now.state == Errored:
			if then.state != now.state {
				broke, mended = broke+int(bit(now.state == Errored)), mended+int(bit(then.state == Errored))
			}
		case then.state == Judged && now.state == Judged:
			judged++
			before, after = before+then.total, after+now.total
			fell, rose = fell+int(bit(by <= -limit)), rose+int(bit(by >= limit))
		}
	}
	t := eval.Table{Name: "total_changes", Title: "Changes of the total", Columns: []string{"", "texts", "change"},
		Note: fmt.Sprintf("Of texts that both judged. A fall or rise is one of %.3g or more: %d, or more if the replicates of a text differ by more in 5 %% of the cases. By chance there are as many falls as rises; whether the mean differs is said by its interval.", limit, aFall)}
	if n := float64(judged); n > 0 {
		t.Row(eval.Textf("mean total %s → %s", fixed(before/n), fixed(after/n)), eval.Count(judged), signed((after-before)/n))
	}
	for _, k := range []struct {
		what  string
		n, of int
	}{{"total fell", fell, judged}, {"total rose", rose, judged}, {"failed now, had not", broke, both}, {"had failed, not now", mended, both}} {
		t.Row(eval.Text(k.what), eval.CountOf(k.n, k.of), eval.Text(""))
	}
	return t
}

// changedTexts has the texts with the largest losses first, then those that only one judged.
func changedTexts(was, is *Summary) eval.Table {
	type change struct {
		id      string
		was, is outcome
	}
	var changed []change
	both := 0
	for _, id := range slices.Sorted(maps.Keys(is.texts)) {
		if before, ok := was.texts[id]; ok {
			both++
			if now := is.texts[id]; before.state != now.state || before.total != now.total {
				changed = append(changed, change{id, before, now})
			}
		}
	}
	delta := func(c change) (float64, bool) {
		return c.is.total - c.was.total, c.was.state == Judged && c.is.state == Judged
	}
	slices.SortStableFunc(changed, func(a, b change) int {
		da, okA := delta(a)
		db, okB := delta(b)
		switch {
		case okA && okB:
			return cmp.Compare(da, db)
		case okA:
			return -1
		case okB:
			return 1
		}
		return 0
	})
	t := eval.Table{Name: "text_changes", Title: "Changed texts", Columns: []string{"text", "total", "change", "state"},
		Note: fmt.Sprintf("The texts with the largest losses, at most %d of a comparison.", mostChanges)}
	for _, c := range changed[:min(mostChanges, len(changed))] {
		total := func(o outcome) eval.Cell {
			if o.state != Judged {
				return eval.Missing(eval.KindNumber, "")
			}
			return eval.Quantity(eval.Number(o.total))
		}
		row := []eval.Cell{eval.Text(c.id), eval.Textf("%s → %s", total(c.was), total(c.is)), eval.Missing(eval.KindDifference, ""), eval.Text("")}
		if d, ok := delta(c); ok {
			row[2] = signed(d)
		} else {
			row[3] = eval.Textf("%s, now %s", c.was.state, c.is.state)
		}
		t.Row(row...)
	}
	if len(changed) > 0 {
		t.Row(eval.Text("all that changed"), eval.CountOf(len(changed), both), eval.Text(""), eval.Text(""))
	}
	return t
}

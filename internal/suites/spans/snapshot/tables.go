package snapshot

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
	"github.com/scruple-eval/scruple/internal/text"
)

func fixed(x float64) eval.Cell  { return eval.Ratio(eval.Number(x)) }
func signed(x float64) eval.Cell { return eval.Difference(eval.Number(x)) }

//go:embed tables.json
var tablesJSON []byte

var tableOf = eval.Tables(tablesJSON)

// Tables are the summary's tables: those that have rows.
func (s *Summary) Tables() []eval.Table {
	results := tableOf("results", "{warnings}", strings.Join(s.Warnings, "; "))
	results.Add("results", s.Results)
	results.Add("judged", s.JudgedResults)
	results.Add("judge failed", s.JudgeFailures)
	results.Add("not judged", s.NotJudged)
	results.Add("labeller failed", s.errored)
	results.Add("judged, list of errors not complete", s.LostLists)
	results.Add("errors of unknown spans", s.Unplaced)
	results.Add("average total of judged", fixed(s.AvgScore))
	results.Add("average with failures as 0", fixed(s.AvgScoreWithFailures))
	results.Add("judged with a total of 0", s.ZeroScores)
	results.Add("average number of spans", fixed(s.AvgSpanCount))
	results.Add("average with errors as 0 spans", fixed(s.AvgSpanCountAll))
	for _, note := range []string{spanfile.Realigned, spanfile.Unaligned} {
		results.Add("spans "+note, s.SpanNotes[note])
	}
	results.Add("spans without a confidence from 0 to 1", s.NoConfidence)
	p, of := s.PipelineSources, s.SpanSources
	results.Add("pipelines", fmt.Sprintf("nlp %d, llm %d, unknown %d", p.NLP, p.LLM, p.Unknown))
	results.Add("sources of spans", fmt.Sprintf("closed vocabulary %d, open vocabulary %d, llm %d", of.ClosedVocab, of.OpenVocab, of.LLM))
	failures, distribution, steps := tableOf("judge_failures"), tableOf("distribution"), tableOf("parse_steps")
	categories, reasons := tableOf("categories"), tableOf("false_positive_reasons")
	confusions, sections := tableOf("confusions"), tableOf("sections")
	for _, why := range slices.Sorted(maps.Keys(s.JudgeFailureReasons)) {
		failures.Add(why, s.JudgeFailureReasons[why])
	}
	if s.JudgedResults > 0 {
		for _, b := range s.ScoreDistribution.bands() {
			distribution.Add(b.name, *b.n, eval.ShareOf(*b.n, s.JudgedResults))
		}
		for _, step := range verdict.Steps {
			steps.Add(string(step), s.ParseSteps[step])
		}
		for _, name := range slices.Sorted(maps.Keys(s.ErrorsBySection)) {
			sections.Add(name, s.ErrorsBySection[name].FalsePositives, s.ErrorsBySection[name].Missed)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.categories)) {
		c := s.AvgCategoryScores[name]
		categories.Add(name, fixed(c.Coverage), fixed(c.Precision), s.categories[name])
	}
	for _, name := range slices.SortedFunc(maps.Keys(s.FalsePositiveReasons), func(a, b string) int {
		return cmp.Or(s.FalsePositiveReasons[b]-s.FalsePositiveReasons[a], strings.Compare(a, b))
	}) {
		if n := s.FalsePositiveReasons[name]; n > 0 {
			reasons.Add(name, n)
		}
	}
	for _, c := range s.TopTaxonomyErrors {
		confusions.Add(c.AssignedRole, c.ExpectedRole, c.Count)
	}
	if s.UncountableConfusions > 0 {
		confusions.Note = fmt.Sprintf("Left out: %s with two equal roles or an expected role that the taxonomy does not have.",
			text.Plural(s.UncountableConfusions, "confusion", "confusions"))
	}
	all := []*eval.Table{results, failures, distribution, steps, categories, reasons, confusions, sections}
	if c := s.ConfidenceAnalysis; c != nil {
		all = append(all, c.buckets(), c.reliability())
	}
	var tables []eval.Table
	for _, t := range all {
		if len(t.Rows) > 0 {
			tables = append(tables, *t)
		}
	}
	return tables
}

func (c *Confidence) buckets() *eval.Table {
	t := tableOf("confidence", "{threshold}", c.Notes, "{ece}", eval.MeasuredRatio(c.ECE, true).String(),
		"{auroc}", eval.MeasuredRatio(c.AUROC, true).String())
	names, buckets := c.Buckets.List()
	for i, b := range buckets {
		t.Add(fmt.Sprintf("%s, %.1f to %.1f", names[i], b.Range[0], b.Range[1]), b.Total, b.Errors,
			b.share(b.ErrorRate).Within(b.ErrorRateLow, b.ErrorRateHigh), b.FalsePositives, b.share(b.FalsePositiveRate))
	}
	return t
}

// share is a rate of the bucket, undefined without spans.
func (b Bucket) share(rate float64) eval.Cell {
	if b.Total == 0 {
		return eval.Share(eval.Undefined())
	}
	return eval.Share(eval.Number(rate))
}

func (c *Confidence) reliability() *eval.Table {
	t := tableOf("reliability")
	for _, b := range c.Reliability {
		t.Add(fmt.Sprintf("%.1f to %.1f", b.Low, b.High), b.N, fixed(b.Confidence),
			fixed(b.Accuracy).Within(b.CILow, b.CIHigh))
	}
	return t
}

// mostChanges are the confusions and texts that a comparison lists.
const mostChanges = 10

// Changes compares two summaries: the scores of categories, confusions that only one of
// them has, and the texts whose total or state differs. Differences are is minus was.
func Changes(was, is *Summary) []eval.Table {
	categories := tableOf("category_changes")
	for _, name := range slices.Sorted(maps.Keys(is.categories)) {
		if was.categories[name] > 0 {
			a, b := was.AvgCategoryScores[name], is.AvgCategoryScores[name]
			categories.Add(name, change(fixed(a.Coverage), fixed(b.Coverage)), signed(b.Coverage-a.Coverage),
				change(fixed(a.Precision), fixed(b.Precision)), signed(b.Precision-a.Precision))
		}
	}
	confusions := tableOf("confusion_changes", "{most}", strconv.Itoa(mostChanges))
	for _, side := range []struct {
		what         string
		in, othersOf *Summary
	}{{"new", is, was}, {"resolved", was, is}} {
		only := maps.Clone(side.in.confusions)
		maps.DeleteFunc(only, func(pair [2]string, _ int) bool { return side.othersOf.confusions[pair] > 0 })
		for _, c := range top(only, mostChanges) {
			confusions.Add(side.what, c.AssignedRole, c.ExpectedRole, c.Count)
		}
	}
	return []eval.Table{*categories, *confusions, *changedTexts(was, is), *totalChanges(was, is)}
}

func change(was, is eval.Cell) eval.Cell { return eval.Textf("%s → %s", was, is) }

// aFall is by how much a total must differ to be counted.
const aFall = 3

// repeatable is the difference that two totals of a text exceed by chance in 5 % of the cases,
// from the replicates of both summaries; 0 without any.
func repeatable(sides ...*Summary) float64 {
	spread, more := 0.0, 0
	for _, s := range sides {
		for _, id := range slices.Sorted(maps.Keys(s.texts)) {
			if o := s.texts[id]; o.n > 1 {
				spread, more = spread+o.spread, more+o.n-1
			}
		}
	}
	if more == 0 {
		return 0
	}
	return 1.96 * math.Sqrt(2*spread/float64(more))
}

// A twice is what became of a text in two summaries.
type twice struct {
	id      string
	was, is outcome
}

// inBoth lists the texts of two summaries in the order of their ids.
func inBoth(was, is *Summary) (list []twice) {
	for _, id := range slices.Sorted(maps.Keys(is.texts)) {
		if before, ok := was.texts[id]; ok {
			list = append(list, twice{id, before, is.texts[id]})
		}
	}
	return list
}

// totalChanges counts the texts with another total or state. Losses stand beside gains: between
// two runs that differ by chance there are as many.
func totalChanges(was, is *Summary) *eval.Table {
	limit := max(aFall, repeatable(was, is))
	var judged, fell, rose, broke, mended int
	var before, after float64
	one := func(holds bool) int { return int(bit(holds)) }
	texts := inBoth(was, is)
	for _, t := range texts {
		then, now := t.was, t.is
		switch by := now.total - then.total; {
		case then.state == Errored || now.state == Errored:
			if then.state != now.state {
				broke, mended = broke+one(now.state == Errored), mended+one(then.state == Errored)
			}
		case then.state == Judged && now.state == Judged:
			judged++
			before, after = before+then.total, after+now.total
			fell, rose = fell+one(by <= -limit), rose+one(by >= limit)
		}
	}
	t := tableOf("total_changes", "{limit}", fmt.Sprintf("%.3g", limit), "{fall}", strconv.Itoa(aFall))
	if n := float64(judged); n > 0 {
		t.Add(eval.Textf("mean total %s → %s", fixed(before/n), fixed(after/n)), judged, signed((after-before)/n))
	}
	t.Add("total fell", eval.CountOf(fell, judged), "")
	t.Add("total rose", eval.CountOf(rose, judged), "")
	t.Add("failed now, had not", eval.CountOf(broke, len(texts)), "")
	t.Add("had failed, not now", eval.CountOf(mended, len(texts)), "")
	return t
}

// changedTexts has the texts with the largest losses first, then those that only one judged.
func changedTexts(was, is *Summary) *eval.Table {
	all := inBoth(was, is)
	list := slices.DeleteFunc(slices.Clone(all), func(t twice) bool { return t.was.state == t.is.state && t.was.total == t.is.total })
	// Texts that only one judged have no difference: they come last.
	delta := func(c twice) float64 {
		if c.was.state != Judged || c.is.state != Judged {
			return math.Inf(1)
		}
		return c.is.total - c.was.total
	}
	slices.SortStableFunc(list, func(a, b twice) int { return cmp.Compare(delta(a), delta(b)) })
	t := tableOf("text_changes", "{most}", strconv.Itoa(mostChanges))
	total := func(o outcome) eval.Cell {
		if o.state != Judged {
			return eval.Missing(eval.KindNumber, "")
		}
		return eval.Quantity(eval.Number(o.total))
	}
	for _, c := range list[:min(mostChanges, len(list))] {
		by, state := eval.Missing(eval.KindDifference, ""), eval.Textf("%s, now %s", c.was.state, c.is.state)
		if d := delta(c); !math.IsInf(d, 1) {
			by, state = signed(d), eval.Text("")
		}
		t.Add(c.id, change(total(c.was), total(c.is)), by, state)
	}
	if len(list) > 0 {
		t.Add("all that changed", eval.CountOf(len(list), len(all)), "", "")
	}
	return t
}

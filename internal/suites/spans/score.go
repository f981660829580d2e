package spans

import (
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/measure/span"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/spans/label"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
	"github.com/scruple-eval/scruple/internal/text"
)

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return text.Shorten(line, 120)
}

// A match is a gold span, a predicted span, or both if they overlap.
type match struct {
	gold  *label.Span
	span  *label.Span
	index int // of the span
	iou   float64
}

// matches pairs the spans of an answer with gold, by overlap.
func (b *Bench) matches(r *record, spans []label.Span) []match {
	gold := b.spansOf(r.Spans, false)
	var list []match
	for _, p := range span.Pairs(gold, b.spansOf(spans, false)) {
		m := match{index: p.Predicted, iou: p.IoU}
		if p.Gold >= 0 {
			m.gold = &r.Spans[p.Gold]
		}
		if p.Predicted >= 0 {
			m.span = &spans[p.Predicted]
		}
		list = append(list, m)
	}
	return list
}

// Score scores the trials of a text against gold, by the judge's verdicts, and the
// judge by people's.
func (b *Bench) Score(dst []eval.Score, c eval.Case) []eval.Score {
	r := b.record(c.Item)
	if r == nil {
		return dst
	}
	return kit.ScoreTrials(dst, c, func(dst []eval.Score, t *eval.Judged) []eval.Score {
		arm := b.byArm[t.Trial.Arm]
		judged := arm != nil && len(arm.Judges) > 0
		if absent(&t.Outcome) {
			if r.Labelled {
				dst = unscored(dst, noText, 0, metricF1, metricPrecision, metricRecall, metricExact, metricPartial, metricType, metricCategory, metricMacro)
			}
			if judged {
				dst = unscored(dst, noText, 0, judgedMetrics...)
			}
			return dst
		}
		var a answer
		readable := t.Outcome.Kind == eval.OK
		if readable {
			var err error
			a, err = b.readAnswer(t.Outcome.Data, r.Text)
			readable = err == nil
		}
		dst = append(dst, eval.Score{Metric: metricReadable, Num: kit.Indicator(readable), Den: 1})
		if n := len(a.spans); n > 0 {
			aligned := 0
			for _, note := range a.notes {
				if note == "" {
					aligned++
				}
			}
			dst = append(dst, eval.Score{Metric: metricAligned, Num: float64(aligned), Den: float64(n)})
		}
		if r.Labelled {
			dst = b.scoreGold(dst, r, &a)
		}
		switch {
		case judged && readable:
			return b.scoreJudge(dst, r, &a, t)
		case judged:
			return scoreUnreadable(dst, r)
		}
		if r.Labelled {
			right := make([]bool, len(a.spans))
			for _, m := range b.matches(r, a.spans) {
				if m.span != nil && m.gold != nil {
					right[m.index] = m.span.Start == m.gold.Start && m.span.End == m.gold.End && b.taxonomy.Canonical(m.span.Role) == b.taxonomy.Canonical(m.gold.Role)
				}
			}
			dst = confidences(dst, &a, func(i int) bool { return right[i] })
		}
		return dst
	})
}

// noText is why the arms of files lack scores.
const noText = "the file does not have the text"

// judgedMetrics are the metrics that need a judgement.
var judgedMetrics = func() []string {
	list := []string{metricTotal, metricErrorRate, metricFalse, metricMissed}
	for _, c := range verdict.Criteria {
		list = append(list, criterionPrefix+c)
	}
	return list
}()

// unscored appends entries without a score, each for n opportunities; 0 if their number
// is not known.
func unscored(dst []eval.Score, why string, n int, metrics ...string) []eval.Score {
	for _, m := range metrics {
		dst = append(dst, eval.Score{Metric: m, Den: float64(n), Unscored: why})
	}
	return dst
}

// scoreUnreadable scores an answer without spans that can be judged by the lowest scores
// that a judge can give. It counts as wrong spans, as many as gold has and at least one.
func scoreUnreadable(dst []eval.Score, r *record) []eval.Score {
	dst = append(dst, eval.Score{Metric: metricTotal, Num: float64(len(verdict.Criteria) * verdict.LeastScore), Den: 1})
	for _, c := range verdict.Criteria {
		dst = append(dst, eval.Score{Metric: criterionPrefix + c, Num: verdict.LeastScore, Den: 1})
	}
	n := float64(max(1, len(r.Spans)))
	return append(dst, eval.Score{Metric: metricErrorRate, Num: n, Den: n})
}

// confidences adds the row of the spans with a stated confidence.
func confidences(dst []eval.Score, a *answer, right func(int) bool) []eval.Score {
	var row eval.Row
	for i, s := range a.spans {
		if s.Stated() {
			row = append(row, s.Confidence, kit.Indicator(right(i)))
		}
	}
	if len(row) == 0 {
		return dst
	}
	return append(dst, eval.Score{Metric: metricECE, Row: row}, eval.Score{Metric: metricAUROC, Row: row})
}

// scoreGold compares an answer with gold. An answer that is not readable has no
// spans.
func (b *Bench) scoreGold(dst []eval.Score, r *record, a *answer) []eval.Score {
	predicted := b.spansOf(a.spans, false)
	slices.SortFunc(predicted, span.Compare)
	f1 := func(metric string, c span.Counts) {
		if den := c.Predicted() + c.Gold(); den > 0 {
			dst = append(dst, eval.Score{Metric: metric, Num: 2 * c.Points(), Den: float64(den)})
		}
	}
	strict := span.Agree(span.Strict, r.gold, predicted)
	f1(metricF1, strict)
	if n := strict.Predicted(); n > 0 {
		dst = append(dst, eval.Score{Metric: metricPrecision, Num: float64(strict.Correct), Den: float64(n)})
	}
	if n := strict.Gold(); n > 0 {
		dst = append(dst, eval.Score{Metric: metricRecall, Num: float64(strict.Correct), Den: float64(n)})
	}
	f1(metricExact, span.Agree(span.Exact, r.gold, predicted))
	f1(metricPartial, span.Agree(span.Partial, r.gold, predicted))
	f1(metricType, span.Agree(span.Type, r.gold, predicted))
	goldC, predictedC := b.spansOf(r.Spans, true), b.spansOf(a.spans, true)
	slices.SortFunc(goldC, span.Compare)
	slices.SortFunc(predictedC, span.Compare)
	f1(metricCategory, span.Agree(span.Strict, goldC, predictedC))

	tally := span.Tally{Scheme: span.Conll}
	tally.Add(r.gold, predicted)
	var row eval.Row
	for _, role := range tally.Labels() {
		number, ok := b.roles[role]
		if !ok {
			number = len(b.roles) // all unknown roles are one
		}
		c := tally.ByLabel[role]
		row = append(row, float64(number), float64(c.Correct), float64(c.Predicted()), float64(c.Gold()))
	}
	if row != nil {
		dst = append(dst, eval.Score{Metric: metricMacro, Row: row})
	}
	pairs, iou, borders := 0, 0.0, 0
	for _, p := range b.matches(r, a.spans) {
		if p.gold != nil && p.span != nil {
			pairs++
			iou += p.iou
			borders += max(p.gold.Start-p.span.Start, p.span.Start-p.gold.Start) + max(p.gold.End-p.span.End, p.span.End-p.gold.End)
		}
	}
	if pairs > 0 {
		dst = append(dst, eval.Score{Metric: metricIoU, Num: iou, Den: float64(pairs)}, eval.Score{Metric: metricBoundary, Num: float64(borders), Den: float64(pairs)})
	}
	return dst
}

// lostList is why the errors of an answer are not known though it has a total.
const lostList = "the judge's list of errors is not complete"

// scoreJudge scores an answer by its judgement.
func (b *Bench) scoreJudge(dst []eval.Score, r *record, a *answer, t *eval.Judged) []eval.Score {
	j := b.judgement(r, t)
	if len(j.parsed.Raw) > 0 {
		dst = append(dst, eval.Score{Metric: metricParsed, Num: kit.Indicator(j.parsed.Step == verdict.Enhanced || j.parsed.Step == verdict.Repaired), Den: 1})
	}
	missing, n := j.missing, len(a.spans)
	if !b.trusted && b.byArm[t.Trial.Arm].snapshot == nil {
		missing = eval.JudgeFailed
	}
	if missing != "" {
		for _, m := range judgedMetrics {
			switch of := m == metricErrorRate || m == metricFalse; {
			case of && n > 0:
				dst = unscored(dst, missing, n, m)
			case !of:
				dst = unscored(dst, missing, 1, m)
			}
		}
		return dst
	}
	v := &j.parsed.Result
	dst = append(dst, eval.Score{Metric: metricTotal, Num: v.TotalScore, Den: 1})
	for i, x := range v.Scores.List() {
		dst = append(dst, eval.Score{Metric: criterionPrefix + verdict.Criteria[i], Num: x, Den: 1})
	}
	count := func(metric string, known bool, num, den int) {
		switch {
		case den == 0:
		case !known:
			dst = unscored(dst, lostList, den, metric)
		default:
			dst = append(dst, eval.Score{Metric: metric, Num: float64(num), Den: float64(den)})
		}
	}
	count(metricMissed, v.KnowsMissed(), len(v.MissedElements), 1)
	wrong, spurious := 0, 0
	for _, f := range j.flags {
		wrong += int(kit.Indicator(f != 0))
		spurious += int(kit.Indicator(f&1 != 0))
	}
	count(metricErrorRate, v.KnowsSpans(), wrong, n)
	count(metricFalse, v.KnowsFalse(), spurious, n)
	if n > 0 && v.KnowsSpans() {
		dst = confidences(dst, a, func(i int) bool { return j.flags[i] == 0 })
	}
	if h := b.checkedOf(t, a.spans); h != nil && len(v.Lost) == 0 {
		dst = compareWithPeople(dst, &j, h)
	}
	return dst
}

// compareWithPeople scores the judge on one answer. An error that only the other
// found is a disagreement, whatever its details.
func compareWithPeople(dst []eval.Score, j *judgement, h *checked) []eval.Score {
	ratios := func(kind string, both, judge, people int) {
		if judge > 0 {
			dst = append(dst, eval.Score{Metric: agreementOfJudge + kind + "_precision", Num: float64(both), Den: float64(judge)})
		}
		if people > 0 {
			dst = append(dst, eval.Score{Metric: agreementOfJudge + kind + "_recall", Num: float64(both), Den: float64(people)})
		}
	}
	for k, kind := range verdict.Kinds {
		var table [4]float64
		for i := range j.flags {
			a, b := j.flags[i]>>k&1 == 1, h.flags[i]>>k&1 == 1
			switch {
			case a && b:
				table[0]++
			case a:
				table[1]++
			case b:
				table[2]++
			default:
				table[3]++
			}
		}
		ratios(kind, int(table[0]), int(table[0]+table[1]), int(table[0]+table[2]))
		if len(j.flags) > 0 {
			dst = append(dst, eval.Score{Metric: agreementOfJudge + kind + "_kappa", Row: table[:]})
		}
	}
	taken := make([]bool, len(h.missed))
	both := 0
	for _, m := range j.parsed.Result.MissedElements {
		for at, missed := range h.missed {
			if !taken[at] && sameElement(m.Text, missed) {
				taken[at] = true
				both++
				break
			}
		}
	}
	ratios(kindMissed, both, len(j.parsed.Result.MissedElements), len(taken))
	return dst
}

// sameElement reports whether two texts name the same element: equal after
// folding, or one contains the other.
func sameElement(a, b string) bool {
	a, b = text.Fold(a), text.Fold(b)
	return a != "" && b != "" && (a == b || strings.Contains(a, b) || strings.Contains(b, a))
}

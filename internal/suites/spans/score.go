package spans

import (
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/measure"
	"github.com/scruple-eval/scruple/internal/measure/span"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
	"github.com/scruple-eval/scruple/internal/text"
)

// Score scores the trials of a text against gold, by the judge's verdicts, and the
// judge by people's.
func (b *bench) Score(dst []eval.Score, c eval.Case) []eval.Score {
	r := b.Datum(c.Item)
	if r == nil {
		return dst
	}
	return kit.ScoreTrials(dst, c, func(dst []eval.Score, of *eval.Judged) []eval.Score {
		t := b.read(r, of)
		judged := t.arm != nil && len(t.arm.Judges) > 0
		if t.absent {
			if r.Labelled {
				dst = unscored(dst, noText, 0, metricF1, metricPrecision, metricRecall, metricExact, metricPartial, metricType, metricCategory, metricMacro)
			}
			if judged {
				dst = unscored(dst, noText, 0, judgedMetrics...)
			}
			return dst
		}
		dst = append(dst, share("readable", int(kit.Indicator(t.readable)), 1))
		if n := len(t.spans); n > 0 {
			aligned := 0
			for _, note := range t.notes {
				aligned += int(kit.Indicator(note == ""))
			}
			dst = append(dst, share("aligned", aligned, n))
		}
		if r.Labelled {
			dst = b.scoreGold(dst, t)
		}
		switch {
		case judged && t.readable:
			return b.scoreJudge(dst, t)
		case judged:
			return scoreUnreadable(dst, r)
		case r.Labelled:
			right := make([]bool, len(t.spans))
			for _, m := range t.matches {
				if m.span != nil && m.gold != nil {
					right[m.index] = !m.role && !m.borders
				}
			}
			return confidences(dst, t, func(i int) bool { return right[i] })
		}
		return dst
	})
}

func share(metric string, n, of int) eval.Score {
	return eval.Score{Metric: metric, Num: float64(n), Den: float64(of)}
}

// noText is why the arms of files lack scores.
const noText = "the file does not have the text"

// judgedMetrics are the metrics that need a judgement.
var judgedMetrics = append([]string{metricTotal, metricErrorRate, metricFalse, metricMissed}, criterionMetrics...)

// criterionMetrics are those of the five scores.
var criterionMetrics = strings.Split(criterionPrefix+strings.Join(verdict.Criteria[:], " "+criterionPrefix), " ")

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
	for _, metric := range criterionMetrics {
		dst = append(dst, eval.Score{Metric: metric, Num: verdict.LeastScore, Den: 1})
	}
	n := float64(r.wrongSpans())
	return append(dst, eval.Score{Metric: metricErrorRate, Num: n, Den: n})
}

// confidences adds the row of the spans with a stated confidence.
func confidences(dst []eval.Score, t *trial, right func(int) bool) []eval.Score {
	var row eval.Row
	for i, s := range t.spans {
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
// spans; where gold has none either, it counts as one wrong span.
func (b *bench) scoreGold(dst []eval.Score, t *trial) []eval.Score {
	r, predicted := t.record, b.spansOf(t.spans, b.taxonomy.Canonical)
	ratio := func(metric string, num float64, den int) {
		if den > 0 {
			dst = append(dst, eval.Score{Metric: metric, Num: num, Den: float64(den)})
		}
	}
	strict := span.Agree(span.Strict, r.gold, predicted)
	f1 := func(metric string, c span.Counts) {
		ratio(metric, 2*c.Points(), max(c.Predicted()+c.Gold(), 1-int(kit.Indicator(t.readable))))
	}
	f1(metricF1, strict)
	ratio(metricPrecision, float64(strict.Correct), strict.Predicted())
	ratio(metricRecall, float64(strict.Correct), strict.Gold())
	f1(metricExact, span.Agree(span.Exact, r.gold, predicted))
	f1(metricPartial, span.Agree(span.Partial, r.gold, predicted))
	f1(metricType, span.Agree(span.Type, r.gold, predicted))
	f1(metricCategory, span.Agree(span.Strict, b.spansOf(r.Spans, b.taxonomy.Category), b.spansOf(t.spans, b.taxonomy.Category)))

	tally := span.Tally{Scheme: span.Conll}
	tally.Add(r.gold, predicted)
	var row eval.Row
	for _, role := range tally.Labels() {
		number := slices.Index(b.taxonomy.Roles(), role)
		if number < 0 {
			number = len(b.taxonomy.Roles()) // all unknown roles are one
		}
		c := tally.ByLabel[role]
		row = append(row, float64(number), float64(c.Correct), float64(c.Predicted()), float64(c.Gold()))
	}
	if row != nil {
		dst = append(dst, eval.Score{Metric: metricMacro, Row: row})
	}
	pairs, iou, borders := 0, 0.0, 0
	for _, p := range t.matches {
		if p.gold != nil && p.span != nil {
			pairs++
			iou += p.iou
			borders += max(p.gold.Start-p.span.Start, p.span.Start-p.gold.Start) + max(p.gold.End-p.span.End, p.span.End-p.gold.End)
		}
	}
	ratio("mean_iou", iou, pairs)
	ratio("boundary_error", float64(borders), pairs)
	return dst
}

// distrusts reports whether the verdicts on an arm do not count. Recorded ones do.
func (b *bench) distrusts(a *arm) bool { return !b.trusted && a.snapshot == nil }

// scoreJudge scores an answer by its judgement.
func (b *bench) scoreJudge(dst []eval.Score, t *trial) []eval.Score {
	if len(t.parsed.Raw) > 0 {
		dst = append(dst, share("judgement_parsed", int(kit.Indicator(t.parsed.Step == verdict.Enhanced || t.parsed.Step == verdict.Repaired)), 1))
	}
	missing, n := t.missing, len(t.spans)
	if b.distrusts(t.arm) {
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
	v := &t.parsed.Result
	dst = append(dst, eval.Score{Metric: metricTotal, Num: v.TotalScore, Den: 1})
	for i, x := range v.Scores.List() {
		dst = append(dst, eval.Score{Metric: criterionMetrics[i], Num: x, Den: 1})
	}
	count := func(metric, unknown string, num, den int) {
		switch {
		case den == 0:
		case unknown != "":
			dst = unscored(dst, unknown, den, metric)
		default:
			dst = append(dst, share(metric, num, den))
		}
	}
	count(metricMissed, v.UnknownMissed(), len(v.MissedElements), 1)
	wrong, spurious := 0, 0
	for _, f := range t.flags {
		wrong += int(kit.Indicator(f != 0))
		spurious += int(kit.Indicator(f&1 != 0))
	}
	count(metricErrorRate, v.UnknownSpans(), wrong, n)
	count(metricFalse, v.Unknown(0), spurious, n)
	if n > 0 && v.UnknownSpans() == "" {
		dst = confidences(dst, t, func(i int) bool { return t.flags[i] == 0 })
	}
	if h := b.checkedOf(t); h != nil {
		dst = compareWithPeople(dst, &t.judgement, h)
	}
	return dst
}

// compareWithPeople scores the judge on one answer. An error that only the other
// found is a disagreement, whatever its details.
func compareWithPeople(dst []eval.Score, j *judgement, h *checked) []eval.Score {
	v := &j.parsed.Result
	ratios := func(kind string, both, judge, people int) {
		if judge > 0 {
			dst = append(dst, share(agreementOfJudge+kind+"_precision", both, judge))
		}
		if people > 0 {
			dst = append(dst, share(agreementOfJudge+kind+"_recall", both, people))
		}
	}
	for k, kind := range verdict.Kinds {
		of := agreementOfJudge + kind
		if why := v.Unknown(k); why != "" {
			dst = unscored(dst, why, 0, of+"_precision", of+"_recall", of+"_kappa")
			continue
		}
		table := make(eval.Row, 4) // found by both, by the judge, by people, by neither
		for i := range j.flags {
			a, b := j.flags[i]>>k&1, h.flags[i]>>k&1
			table[2*(1-a)+1-b]++
		}
		ratios(kind, int(table[0]), int(table[0]+table[1]), int(table[0]+table[2]))
		if len(j.flags) > 0 {
			dst = append(dst, eval.Score{Metric: of + "_kappa", Row: table})
		}
	}
	if why := v.UnknownMissed(); why != "" {
		return unscored(dst, why, 0, agreementOfJudge+kindMissed+"_precision", agreementOfJudge+kindMissed+"_recall")
	}
	ratios(kindMissed, sameElements(v.MissedElements, h.missed), len(v.MissedElements), len(h.missed))
	return dst
}

// sameElements counts the elements that judge and people name, each paired once: first equal texts,
// then those of which one has the words of the other, as many as there can be.
func sameElements(judge []verdict.Missed, people []string) (n int) {
	most := int32(min(len(judge), len(people)))
	cost := make([][]int32, len(judge))
	for i, m := range judge {
		cost[i] = make([]int32, len(people))
		for k, missed := range people {
			switch {
			case strings.TrimSpace(m.Text) == "" || strings.TrimSpace(missed) == "":
				cost[i][k] = most + 1
			case text.Equal(text.String, m.Text, missed):
			case text.Contains(text.String, m.Text, missed) || text.Contains(text.String, missed, m.Text):
				cost[i][k] = most // no number of these is worth an equal one
			default:
				cost[i][k] = most + 1
			}
		}
	}
	for i, k := range measure.Assign(cost) {
		if k >= 0 && cost[i][k] <= most {
			n++
		}
	}
	return n
}

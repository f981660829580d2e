package spans

import (
	"math"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/measure"
	"github.com/scruple-eval/scruple/internal/suites/spans/snapshot"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
)

// The metrics.
const (
	metricF1        = "f1"
	metricPrecision = "precision"
	metricRecall    = "recall"
	metricExact     = "exact_f1"
	metricPartial   = "partial_f1"
	metricType      = "type_f1"
	metricCategory  = "category_f1"
	metricMacro     = "macro_f1"
	metricIoU       = "mean_iou"
	metricBoundary  = "boundary_error"
	metricAligned   = "aligned"
	metricReadable  = "readable"

	metricTotal      = "judge_total"
	metricErrorRate  = "error_rate"
	metricFalse      = "false_positive_rate"
	metricMissed     = "missed_elements"
	metricParsed     = "judgement_parsed"
	metricECE        = "confidence_ece"
	metricAUROC      = "confidence_auroc"
	criterionPrefix  = "judge_"
	agreementOfJudge = "judge_vs_people_"
)

// kindMissed is the kind of error that concerns no span.
const kindMissed = "missed"

func metrics() []eval.Metric {
	const muc = "Chinchor & Sundheim 1993 (MUC-5); Segura-Bedmar et al. 2013 (SemEval task 9)"
	const sets = "Tjong Kim Sang & De Meulder 2003 (CoNLL): as conlleval and seqeval"
	of := func(m eval.Metric, doc, formula string) eval.Metric {
		m.Doc, m.Formula = doc, formula
		return m
	}
	ratio := func(name, title, source string, kind eval.Kind) eval.Metric {
		return eval.Metric{Name: name, Title: title, Source: source, Max: 1, HigherIsBetter: true, Kind: kind, Pooling: eval.RatioOfSums}
	}
	// A span is right or not, so shares of spans have the intervals of proportions.
	share := func(name, title, source string, kind eval.Kind, higher bool) eval.Metric {
		m := ratio(name, title, source, kind)
		m.Binary, m.HigherIsBetter = true, higher
		return m
	}
	estimate := func(name, title, source string, kind eval.Kind, higher bool, least float64, parts int, f func([]eval.Counted) float64) eval.Metric {
		return eval.Metric{Name: name, Title: title, Source: source, Min: least, Max: 1, HigherIsBetter: higher, Kind: kind, Pooling: eval.ByEstimator, Parts: parts, Estimate: f}
	}
	mean := func(name, title string, kind eval.Kind, most float64, higher bool) eval.Metric {
		return eval.Metric{Name: name, Title: title, Max: most, HigherIsBetter: higher, Kind: kind, Pooling: eval.MeanOfItems}
	}
	readable, parsed := mean(metricReadable, "Readable", eval.Analysis, 1, true), mean(metricParsed, "Judgement valid", eval.Analysis, 1, true)
	readable.Binary, parsed.Binary = true, true
	total, errorRate := mean(metricTotal, "Judged total", eval.Scoring, verdict.MostTotal, true), share(metricErrorRate, "Error rate", "", eval.Scoring, false)
	total.Judge, errorRate.Judge = eval.JudgeElse, eval.JudgeNo
	list := []eval.Metric{
		of(ratio(metricF1, "F1", sets, eval.Scoring), "Micro F1 of spans with the same borders and role as gold.", "2·correct / (predicted + gold)"),
		of(share(metricPrecision, "Precision", sets, eval.Scoring, true), "Share of the predicted spans that are gold, with borders and role.", "correct / predicted"),
		of(share(metricRecall, "Recall", sets, eval.Scoring, true), "Share of the gold spans that were found, with borders and role.", "correct / gold"),
		of(ratio(metricExact, "F1 of borders", sets, eval.Scoring), "Micro F1 of spans with the borders of gold, whatever their role.", "2·correct / (predicted + gold)"),
		of(ratio(metricPartial, "F1, partial", muc, eval.Scoring),
			"Micro F1 of spans that overlap gold, matched one to one by overlap whatever their role: one point for the same borders, half a point for others.",
			"2·(correct + partial/2) / (predicted + gold)"),
		of(ratio(metricType, "F1 of roles", muc, eval.Scoring), "Micro F1 of spans that overlap gold of the same role, matched one to one by overlap.", "2·correct / (predicted + gold)"),
		of(ratio(metricCategory, "F1 of categories", sets, eval.Scoring), "Micro F1 of spans with the same borders and category as gold.", "2·correct / (predicted + gold)"),
		of(estimate(metricMacro, "Macro F1", "as seqeval", eval.Scoring, true, 0, 4, macroF1),
			"Mean over roles of the F1 of each role, so that rare roles count as much as frequent ones.", "mean of F1 over the roles in gold or prediction"),
		of(ratio(metricIoU, "Overlap", "", eval.Analysis), "Mean overlap of predicted spans with the gold spans they match best.", "Σ intersection/union / matched pairs"),
		{Name: metricBoundary, Title: "Boundary error", Max: math.Inf(1), Kind: eval.Analysis, Pooling: eval.RatioOfSums,
			Doc: "Mean distance in characters between the borders of matched spans.", Formula: "Σ (|Δ start| + |Δ end|) / matched pairs"},
		of(share(metricAligned, "Aligned", "", eval.Analysis, true), "Share of the spans whose text is where their offsets say. Others are realigned, or have no place.", "spans in place / spans"),
		of(readable, "Share of answers that are neither malformed nor refused.", "readable answers / answers"),
		of(total, "Sum of the judge's five scores. An answer that cannot be read has the lowest, 5. Judgements that failed are unscored.",
			"coverage + precision + granularity + taxonomy + technicalSpecs"),
	}
	titles := [5]string{"Judged coverage", "Judged precision", "Judged granularity", "Judged taxonomy", "Judged technical specs"}
	for i, c := range verdict.Criteria {
		list = append(list, of(mean(criterionPrefix+c, titles[i], eval.Analysis, verdict.MostScore, true), "The judge's score for "+c+".", "1 to 5"))
	}
	list = append(list,
		of(errorRate, "Share of the spans with an error of any kind, by the judge. An answer that cannot be read counts as wrong spans, as many as gold has and at least one. Unscored where the judge's lists of errors are not complete.",
			"spans with a false positive, taxonomy or granularity error / spans"),
		of(share(metricFalse, "False positive rate", "", eval.Analysis, false), "Share of the spans that should not be there, by the judge.", "false positives / spans"),
		of(mean(metricMissed, "Missed elements", eval.Analysis, math.Inf(1), false), "Number of elements without a span, by the judge.", "missed elements of a text"),
		of(parsed, "Share of the judge's answers that were valid as written or after one repair.", "enhanced or repaired / answers"),
		of(estimate(metricECE, "Calibration error", "Guo et al. 2017", eval.Analysis, false, 0, 2, func(rows []eval.Counted) float64 { return measure.CalibrationError(stated(rows), snapshot.ECEBins) }),
			"Expected calibration error of the stated confidences. A span is right if the judge found no error, without a judge if it is gold.",
			"Σ n/N · |accuracy − confidence| over ten bins"),
		of(estimate(metricAUROC, "Confidence AUROC", "", eval.Analysis, true, 0, 2, func(rows []eval.Counted) float64 { return measure.AUROC(stated(rows)) }),
			"Probability that a right span has a higher confidence than a wrong one, ties counting one half.", "P(confidence of right > confidence of wrong)"))
	words := []string{"False positives", "Wrong roles", "Wrong borders", "Missed elements"}
	for i, kind := range append(verdict.Kinds[:], kindMissed) {
		prefix := agreementOfJudge + kind
		list = append(list,
			of(share(prefix+"_precision", words[i]+": judge's precision", "", eval.Analysis, true), "Share of the judge's errors of this kind that people found too.", "found by both / found by the judge"),
			of(share(prefix+"_recall", words[i]+": judge's recall", "", eval.Analysis, true), "Share of the errors of this kind found by people that the judge found too.", "found by both / found by people"))
		if kind != kindMissed { // there is no number of elements that neither missed
			list = append(list, of(estimate(prefix+"_kappa", words[i]+": kappa", "Cohen 1960", eval.Analysis, true, -1, 0, kappa),
				"Agreement of judge and people on which spans have an error of this kind, corrected for chance.", "(agreement − chance) / (1 − chance)"))
		}
	}
	return list
}

// stated counts spans by confidence. A part of a row is a confidence and 1 for a right span, 0
// for a wrong one.
func stated(parts []eval.Counted) []measure.Stated {
	counts := make([]measure.Stated, 0, len(parts))
	for _, p := range parts {
		s := measure.Stated{Confidence: p.Row[0]}
		if p.Row[1] == 1 {
			s.Right = p.N
		} else {
			s.Wrong = p.N
		}
		counts = append(counts, s)
	}
	return measure.MergeStated(counts)
}

// macroF1 is the mean F1 over roles. A part of a row has four numbers for a role of a
// text: its number, and the counts of correct, predicted and gold spans.
func macroF1(parts []eval.Counted) float64 {
	sums := map[float64]*[3]float64{}
	most := -1.0
	for _, p := range parts {
		s := sums[p.Row[0]]
		if s == nil {
			s = new([3]float64)
			sums[p.Row[0]] = s
			most = max(most, p.Row[0])
		}
		for k := range s {
			s[k] += p.N * p.Row[1+k]
		}
	}
	total, n := 0.0, 0.0
	for role := 0.0; role <= most; role++ { // in order, so that the sum does not depend on the map
		if s := sums[role]; s != nil && s[1]+s[2] > 0 {
			total += 2 * s[0] / (s[1] + s[2])
			n++
		}
	}
	return total / n
}

// kappa sums 2 × 2 tables: both, only the judge, only people, neither.
func kappa(rows []eval.Counted) float64 {
	var sum [4]float64
	for _, r := range rows {
		for i := range sum {
			sum[i] += r.N * r.Row[i]
		}
	}
	return measure.Kappa(sum[0], sum[1], sum[2], sum[3])
}

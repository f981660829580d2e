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
	ratio := func(name, title, doc, formula, source string, kind eval.Kind) eval.Metric {
		return eval.Metric{Name: name, Title: title, Doc: doc, Formula: formula, Source: source, Min: 0, Max: 1, HigherIsBetter: true, Kind: kind, Pooling: eval.RatioOfSums}
	}
	// A span is right or not, so these have the intervals of proportions, as the error rate.
	proportion := func(name, title, doc, formula string) eval.Metric {
		m := ratio(name, title, doc, formula, sets, eval.Scoring)
		m.Binary = true
		return m
	}
	list := []eval.Metric{
		ratio(metricF1, "F1", "Micro F1 of spans with the same borders and role as gold.", "2·correct / (predicted + gold)", sets, eval.Scoring),
		proportion(metricPrecision, "Precision", "Share of the predicted spans that are gold, with borders and role.", "correct / predicted"),
		proportion(metricRecall, "Recall", "Share of the gold spans that were found, with borders and role.", "correct / gold"),
		ratio(metricExact, "F1 of borders", "Micro F1 of spans with the borders of gold, whatever their role.", "2·correct / (predicted + gold)", sets, eval.Scoring),
		ratio(metricPartial, "F1, partial", "Micro F1 of spans that overlap gold, matched one to one by overlap whatever their role: one point for the same borders, half a point for others.", "2·(correct + partial/2) / (predicted + gold)", muc, eval.Scoring),
		ratio(metricType, "F1 of roles", "Micro F1 of spans that overlap gold of the same role, matched one to one by overlap.", "2·correct / (predicted + gold)", muc, eval.Scoring),
		ratio(metricCategory, "F1 of categories", "Micro F1 of spans with the same borders and category as gold.", "2·correct / (predicted + gold)", sets, eval.Scoring),
		{Name: metricMacro, Title: "Macro F1", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.ByEstimator, Estimate: macroF1,
			Doc: "Mean over roles of the F1 of each role, so that rare roles count as much as frequent ones.", Formula: "mean of F1 over the roles in gold or prediction", Source: "as seqeval"},
		ratio(metricIoU, "Overlap", "Mean overlap of predicted spans with the gold spans they match best.", "Σ intersection/union / matched pairs", "", eval.Analysis),
		{Name: metricBoundary, Title: "Boundary error", Min: 0, Max: math.Inf(1), Kind: eval.Analysis, Pooling: eval.RatioOfSums,
			Doc: "Mean distance in characters between the borders of matched spans.", Formula: "Σ (|Δ start| + |Δ end|) / matched pairs"},
		{Name: metricAligned, Title: "Aligned", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Analysis, Pooling: eval.RatioOfSums, Binary: true,
			Doc: "Share of the spans whose text is where their offsets say. Others are realigned, or have no place.", Formula: "spans in place / spans"},
		{Name: metricReadable, Title: "Readable", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Analysis, Pooling: eval.MeanOfItems, Binary: true,
			Doc: "Share of answers that are neither malformed nor refused.", Formula: "readable answers / answers"},
		{Name: metricTotal, Title: "Judged total", Judge: eval.JudgeElse, Min: 0, Max: verdict.MostTotal, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems,
			Doc: "Sum of the judge's five scores. An answer that cannot be read has the lowest, 5. Judgements that failed are unscored.", Formula: "coverage + precision + granularity + taxonomy + technicalSpecs"},
	}
	titles := [5]string{"Judged coverage", "Judged precision", "Judged granularity", "Judged taxonomy", "Judged technical specs"}
	for i, c := range verdict.Criteria {
		list = append(list, eval.Metric{Name: criterionPrefix + c, Title: titles[i], Min: 0, Max: verdict.MostScore, HigherIsBetter: true, Kind: eval.Analysis, Pooling: eval.MeanOfItems,
			Doc: "The judge's score for " + c + ".", Formula: "1 to 5"})
	}
	list = append(list,
		eval.Metric{Name: metricErrorRate, Title: "Error rate", Judge: eval.JudgeNo, Min: 0, Max: 1, Kind: eval.Scoring, Pooling: eval.RatioOfSums, Binary: true,
			Doc: "Share of the spans with an error of any kind, by the judge. An answer that cannot be read counts as wrong spans, as many as gold has and at least one. Unscored where the judge's lists of errors are not complete.", Formula: "spans with a false positive, taxonomy or granularity error / spans"},
		eval.Metric{Name: metricFalse, Title: "False positive rate", Min: 0, Max: 1, Kind: eval.Analysis, Pooling: eval.RatioOfSums, Binary: true,
			Doc: "Share of the spans that should not be there, by the judge.", Formula: "false positives / spans"},
		eval.Metric{Name: metricMissed, Title: "Missed elements", Min: 0, Max: math.Inf(1), Kind: eval.Analysis, Pooling: eval.MeanOfItems,
			Doc: "Number of elements without a span, by the judge.", Formula: "missed elements of a text"},
		eval.Metric{Name: metricParsed, Title: "Judgement valid", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Analysis, Pooling: eval.MeanOfItems, Binary: true,
			Doc: "Share of the judge's answers that were valid as written or after one repair.", Formula: "enhanced or repaired / answers"},
		eval.Metric{Name: metricECE, Title: "Calibration error", Min: 0, Max: 1, Kind: eval.Analysis, Pooling: eval.ByEstimator,
			Estimate: func(rows []eval.Row) float64 { return measure.CalibrationError(stated(rows), snapshot.ECEBins) },
			Doc:      "Expected calibration error of the stated confidences. A span is right if the judge found no error, without a judge if it is gold.",
			Formula:  "Σ n/N · |accuracy − confidence| over ten bins", Source: "Guo et al. 2017"},
		eval.Metric{Name: metricAUROC, Title: "Confidence AUROC", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Analysis, Pooling: eval.ByEstimator,
			Estimate: func(rows []eval.Row) float64 { return measure.AUROC(stated(rows)) },
			Doc:      "Probability that a right span has a higher confidence than a wrong one, ties counting one half.",
			Formula:  "P(confidence of right > confidence of wrong)"},
	)
	for _, kind := range append(verdict.Kinds[:], kindMissed) {
		words := map[string]string{verdict.KindFalsePositive: "False positives", verdict.KindTaxonomy: "Wrong roles", verdict.KindGranularity: "Wrong borders", kindMissed: "Missed elements"}[kind]
		list = append(list,
			eval.Metric{Name: agreementOfJudge + kind + "_precision", Title: words + ": judge's precision", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Analysis, Pooling: eval.RatioOfSums, Binary: true,
				Doc: "Share of the judge's errors of this kind that people found too.", Formula: "found by both / found by the judge"},
			eval.Metric{Name: agreementOfJudge + kind + "_recall", Title: words + ": judge's recall", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Analysis, Pooling: eval.RatioOfSums, Binary: true,
				Doc: "Share of the errors of this kind found by people that the judge found too.", Formula: "found by both / found by people"})
		if kind == kindMissed {
			continue // there is no number of elements that neither missed
		}
		list = append(list, eval.Metric{Name: agreementOfJudge + kind + "_kappa", Title: words + ": kappa", Min: -1, Max: 1, HigherIsBetter: true, Kind: eval.Analysis, Pooling: eval.ByEstimator, Estimate: kappa,
			Doc: "Agreement of judge and people on which spans have an error of this kind, corrected for chance.", Formula: "(agreement − chance) / (1 − chance)", Source: "Cohen 1960"})
	}
	return list
}

// stated counts spans by confidence. A row has pairs of a confidence and 1 for a
// right span, 0 for a wrong one.
func stated(rows []eval.Row) []measure.Stated {
	n := 0
	for _, row := range rows {
		n += len(row) / 2
	}
	confidence, right := make([]float64, 0, n), make([]bool, 0, n)
	for _, row := range rows {
		for i := 0; i+1 < len(row); i += 2 {
			confidence, right = append(confidence, row[i]), append(right, row[i+1] == 1)
		}
	}
	return measure.CountStated(confidence, right)
}

// macroF1 is the mean F1 over roles. A row has four numbers for each role of a
// text: its number, and the counts of correct, predicted and gold spans.
func macroF1(rows []eval.Row) float64 {
	sums := map[float64]*[3]float64{}
	most := -1.0
	for _, row := range rows {
		for i := 0; i+3 < len(row); i += 4 {
			s := sums[row[i]]
			if s == nil {
				s = new([3]float64)
				sums[row[i]] = s
				most = max(most, row[i])
			}
			for k := range s {
				s[k] += row[i+1+k]
			}
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
func kappa(rows []eval.Row) float64 {
	var sum [4]float64
	for _, row := range rows {
		for i := range sum {
			sum[i] += row[i]
		}
	}
	return measure.Kappa(sum[0], sum[1], sum[2], sum[3])
}

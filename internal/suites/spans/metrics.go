package spans

import (
	_ "embed"
	"maps"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/measure"
	"github.com/scruple-eval/scruple/internal/suites/kit"
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

	metricTotal      = "judge_total"
	metricErrorRate  = "error_rate"
	metricFalse      = "false_positive_rate"
	metricMissed     = "missed_elements"
	metricECE        = "confidence_ece"
	metricAUROC      = "confidence_auroc"
	criterionPrefix  = "judge_"
	agreementOfJudge = "judge_vs_people_"
)

// kindMissed is the kind of error that concerns no span.
const kindMissed = "missed"

//go:embed metrics.json
var metricsJSON []byte

func metrics() []eval.Metric {
	estimators := map[string]func([]eval.Counted) float64{metricMacro: macroF1,
		metricECE:   func(rows []eval.Counted) float64 { return measure.CalibrationError(stated(rows), snapshot.ECEBins) },
		metricAUROC: func(rows []eval.Counted) float64 { return measure.AUROC(stated(rows)) }}
	for _, kind := range verdict.Kinds {
		estimators[agreementOfJudge+kind+"_kappa"] = kappa
	}
	return kit.Metrics(metricsJSON, estimators)
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

// macroF1 is the mean F1 over the roles of all the data; one that a resample lacks has its F1 of
// these. Else a fault that brings a role of its own would leave the mean in many resamples, and more
// of them would raise its limits. A part of a row has four numbers for a role of a text: its number,
// and the counts of correct, predicted and gold spans.
func macroF1(parts []eval.Counted) float64 {
	type role struct{ drawn, all [3]float64 }
	sums := map[float64]*role{}
	for _, p := range parts {
		s := sums[p.Row[0]]
		if s == nil {
			s = new(role)
			sums[p.Row[0]] = s
		}
		for k := range s.all {
			s.drawn[k] += p.N * p.Row[1+k]
			s.all[k] += p.All * p.Row[1+k]
		}
	}
	total, n := 0.0, 0.0
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		of := sums[name].drawn
		if of[1]+of[2] == 0 {
			of = sums[name].all
		}
		if of[1]+of[2] > 0 {
			total += 2 * of[0] / (of[1] + of[2])
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

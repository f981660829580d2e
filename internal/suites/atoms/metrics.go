package atoms

import (
	_ "embed"
	"math"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/measure"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// The metrics of extractors.
const (
	metricAtomF1        = "atom_f1"
	metricAtomPrecision = "atom_precision"
	metricAtomRecall    = "atom_recall"
	metricTypes         = "type_accuracy"
	metricEdgeF1        = "edge_f1"
	metricEdgePrecision = "edge_precision"
	metricEdgeRecall    = "edge_recall"
	metricEvidence      = "evidence_f1"
	metricValidity      = "validity"
	metricConformance   = "okf_conformance"
	metricErrors        = "graph_errors"
	metricRepaired      = "graph_errors_repaired"
	metricWarnings      = "graph_warnings"
	metricFaithfulness  = "faithfulness"
	metricGrounded      = "grounded"
	metricCovered       = "covered"
	metricFabrication   = "fabrication"
	metricOmission      = "omission"
	metricEmitted       = "atoms"
)

// The metrics of judges.
const (
	metricBalanced    = "balanced_accuracy"
	metricKappa       = "kappa"
	metricJudgeError  = "judge_error"
	metricSensitivity = "judge_sensitivity"
	metricSpecificity = "judge_specificity"
	metricStands      = "evidence_stands"
)

//go:embed metrics.json
var metricsJSON []byte

func metrics() []eval.Metric {
	return kit.Metrics(metricsJSON, map[string]func([]eval.Counted) float64{metricFaithfulness: faithfulness, metricBalanced: balancedAccuracy, metricKappa: kappa})
}

// judgeMetrics are the metrics of studies of judges; those of studies with a corpus are the others.
var judgeMetrics = []string{metricBalanced, metricKappa, metricJudgeError, metricSensitivity, metricSpecificity, metricStands}

func metricsOf(judges bool) func() []eval.Metric {
	return func() []eval.Metric {
		return slices.DeleteFunc(metrics(), func(m eval.Metric) bool { return slices.Contains(judgeMetrics, m.Name) != judges })
	}
}

// pooledMetrics are the metrics whose value is one of sums over all cases. Each has a
// macro average beside it: the mean of the cases' own values.
var pooledMetrics = []string{metricAtomF1, metricAtomPrecision, metricAtomRecall, metricTypes, metricEdgeF1, metricEdgePrecision, metricEdgeRecall, metricEvidence,
	metricValidity, metricConformance, metricFaithfulness, metricGrounded, metricCovered, metricFabrication, metricOmission}

func macroOf(metric string) string { return metric + "_macro" }

// faithfulness is the harmonic mean of grounded / emitted and covered / gold, from rows of
// these four counts. A share of no claims takes nothing away; without any claims, or if
// none of the claims that cover gold was judged, there is no mean.
func faithfulness(rows []eval.Counted) float64 {
	var grounded, emitted, covered, gold float64
	for _, r := range rows {
		grounded, emitted, covered, gold = grounded+r.N*r.Row[0], emitted+r.N*r.Row[1], covered+r.N*r.Row[2], gold+r.N*r.Row[3]
	}
	switch {
	case emitted == 0 && (gold == 0 || covered > 0):
		return math.NaN()
	case emitted == 0:
		return 0
	case gold == 0:
		return harmonic(grounded/emitted, 1)
	}
	return harmonic(grounded/emitted, covered/gold)
}

func harmonic(x, y float64) float64 {
	if x+y == 0 {
		return 0
	}
	return 2 * x * y / (x + y)
}

// agreement counts rows of judge and human labels.
func agreement(rows []eval.Counted) (both, judge, human, neither float64) {
	for _, r := range rows {
		switch {
		case r.Row[0] > 0 && r.Row[1] > 0:
			both += r.N
		case r.Row[0] > 0:
			judge += r.N
		case r.Row[1] > 0:
			human += r.N
		default:
			neither += r.N
		}
	}
	return both, judge, human, neither
}

func balancedAccuracy(rows []eval.Counted) float64 {
	both, judge, human, neither := agreement(rows)
	return (both/(both+human) + neither/(neither+judge)) / 2
}

func kappa(rows []eval.Counted) float64 {
	both, judge, human, neither := agreement(rows)
	return measure.Kappa(both, judge, human, neither)
}

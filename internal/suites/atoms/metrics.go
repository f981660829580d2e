package atoms

import (
	"fmt"
	"math"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
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
	metricErrorsAfter   = "graph_errors_repaired"
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

func metrics() []eval.Metric {
	pooled := func(name, title, doc, formula, source string) eval.Metric {
		return eval.Metric{Name: name, Title: title, Doc: doc, Formula: formula, Source: source, Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.RatioOfSums}
	}
	share := func(name, title, doc, formula, source string) eval.Metric {
		m := pooled(name, title, doc, formula, source)
		m.Binary = true
		return m
	}
	analysis := func(m eval.Metric) eval.Metric { m.Kind = eval.Analysis; return m }
	lower := func(m eval.Metric) eval.Metric { m.HigherIsBetter = false; return m }
	count := func(m eval.Metric) eval.Metric {
		m.Max, m.Pooling, m.Counts = math.Inf(1), eval.MeanOfItems, true
		return m
	}
	estimator := func(name, title, doc, formula, source string, low float64, estimate func([]eval.Counted) float64) eval.Metric {
		m := pooled(name, title, doc, formula, source)
		m.Min, m.Pooling, m.Estimate = low, eval.ByEstimator, estimate
		return m
	}
	const seed, k3 = "DEC-0009", "specification of the suite, K3"
	list := []eval.Metric{
		pooled(metricAtomF1, "Atom F1", "Micro F1 of atoms, matched by id, then by type and normalised title.", "2·matched / (emitted + gold)", seed),
		pooled(metricAtomPrecision, "Atom precision", "Share of the emitted atoms that match gold.", "matched / emitted", seed),
		pooled(metricAtomRecall, "Atom recall", "Share of the gold atoms that were found.", "matched / gold", seed),
		share(metricTypes, "Type accuracy", "Share of the matched atoms that have the type of gold.", "right types / matched", seed),
		pooled(metricEdgeF1, "Edge F1", "Micro F1 of typed edges between matched atoms. Sets have no order; ordered edges count by the longest common subsequence.", "2·right / (emitted + gold)", seed),
		pooled(metricEdgePrecision, "Edge precision", "Share of the emitted edges that are in gold.", "right / emitted", seed),
		pooled(metricEdgeRecall, "Edge recall", "Share of the gold edges that were found.", "right / gold", seed),
		analysis(pooled(metricEvidence, "Evidence F1", "Micro F1 of the sentences given as evidence of edges, where gold has them. Sentences of wrong edges are wrong.", "2·right / (emitted + gold)", "Yao et al. 2019, DocRED")),
		share(metricValidity, "Validity", "Share of the emitted files that are valid by the ontology. Nothing emitted: 0.", "valid files / emitted files", seed),
		share(metricConformance, "OKF conformance", "Share of the emitted files that conform to the Open Knowledge Format. Nothing emitted: 0.", "conformant files / emitted files", "Open Knowledge Format"),
		count(lower(pooled(metricErrors, "Graph errors", "Errors of the graph before any repair: several producers of one artifact or none, producers of a wrong type, dangling edges.", "errors / cases", seed))),
		count(analysis(lower(pooled(metricErrorsAfter, "Graph errors after repair", "The same in the final files, for extractors that repair.", "errors / cases", k3)))),
		count(analysis(lower(pooled(metricWarnings, "Graph warnings", "Cycles of stages, atoms without edges, and roles that own nothing, before any repair.", "warnings / cases", seed)))),
		estimator(metricFaithfulness, "Faithfulness", "Harmonic mean of the shares grounded and covered: neither claims without support nor reasons left out are made up for by more of the others.", "2·grounded·covered / (grounded + covered)", seed, 0, faithfulness),
		share(metricGrounded, "Grounded", "Share of the emitted claims that the judge finds supported, with a sentence that stands in a source.", "grounded / emitted claims", seed),
		share(metricCovered, "Covered", "Share of the gold claims that an emitted claim of the same atom states.", "covered / gold claims", seed),
		lower(share(metricFabrication, "Fabrication", "Share of the emitted claims without support in a source.", "1 − grounded", seed)),
		lower(share(metricOmission, "Omission", "Share of the gold claims that no emitted claim states.", "1 − covered", seed)),
	}
	for i, m := range list {
		switch m.Name {
		case metricGrounded:
			list[i].Judge = eval.JudgeYes
		case metricFabrication:
			list[i].Judge = eval.JudgeNo
		case metricCovered, metricOmission, metricFaithfulness:
			list[i].Judge = eval.JudgeElse
		}
		switch m.Name {
		case metricAtomF1, metricAtomPrecision, metricAtomRecall:
			list[i].Unit = "type"
		case metricEdgeF1, metricEdgePrecision, metricEdgeRecall:
			list[i].Unit = "edge"
		}
		if slices.Contains(pooledMetrics, m.Name) {
			list = append(list, macro(m))
		}
	}
	return append(list,
		count(analysis(pooled(metricEmitted, "Atoms", "Atoms emitted for a case.", "emitted / cases", k3))),

		estimator(metricBalanced, "Balanced accuracy", "Mean of the judge's shares of right verdicts on grounded and on ungrounded claims.", "(sensitivity + specificity) / 2", "Brodersen et al. 2010", 0, balancedAccuracy),
		estimator(metricKappa, "Kappa", "Agreement of the judge with people, corrected for chance.", "(agreement − chance) / (1 − chance)", "Cohen 1960", -1, kappa),
		lower(share(metricJudgeError, "Judge's error", "Share of the claims with human labels on which the judge differs.", "wrong verdicts / claims", k3)),
		analysis(share(metricSensitivity, "Judge's sensitivity", "Share of the grounded claims that the judge finds grounded.", "found grounded / grounded", k3)),
		analysis(share(metricSpecificity, "Judge's specificity", "Share of the ungrounded claims that the judge finds ungrounded.", "found ungrounded / ungrounded", k3)),
		analysis(share(metricStands, "Evidence stands", "Share of the verdicts for a claim whose evidence stands in the source.", "evidence found / verdicts for a claim", k3)),
	)
}

// pooledMetrics are the metrics whose value is one of sums over all cases. Each has a
// macro average beside it.
var pooledMetrics = []string{metricAtomF1, metricAtomPrecision, metricAtomRecall, metricTypes, metricEdgeF1, metricEdgePrecision, metricEdgeRecall, metricEvidence,
	metricValidity, metricConformance, metricFaithfulness, metricGrounded, metricCovered, metricFabrication, metricOmission}

func macroOf(metric string) string { return metric + "_macro" }

// macro is the macro average of a pooled metric: the mean of the cases' own values.
func macro(m eval.Metric) eval.Metric {
	m.Doc = fmt.Sprintf("Mean over cases of %s; cases without one are left out.", m.Name)
	m.Name, m.Title, m.Formula = macroOf(m.Name), m.Title+", macro", "mean of "+m.Formula
	m.Kind, m.Pooling, m.Binary, m.Estimate, m.Judge = eval.Analysis, eval.MeanOfItems, false, nil, eval.NoJudge
	return m
}

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
	n := both + judge + human + neither
	chance := ((both+judge)*(both+human) + (human+neither)*(judge+neither)) / n / n
	return ((both+neither)/n - chance) / (1 - chance)
}

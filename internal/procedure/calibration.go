package procedure

import "github.com/scruple-eval/scruple/stats"

func calibrations() []Procedure {
	return []Procedure{{
		Name: "calibration", Title: "Reliability curve and calibration error",
		Summary: "Whether stated confidences match observed frequencies: reliability curve, expected and maximum calibration error, Brier score.",
		Source:  "Guo et al. (2017); Nixon et al. (2019)",
		Columns: []Role{{Name: "confidence", Doc: "between 0 and 1"}, {Name: "outcome", Doc: "observed outcome", Kind: Binary}},
		Params:  []Param{{"bins", "10", "number of bins"}, {"equal_counts", "false", "bins of equal size instead of equal width"}},
		method:  typed[calibrationParams, confidences]{defaults: calibrationParams{Bins: 10}, answer: calibrated},
	}, {
		Name: "auroc", Title: "Area under the ROC curve",
		Summary: "How well a score separates two classes, with DeLong's interval; with a second score of the same cases, also the difference.",
		Source:  "DeLong et al. (1988); Sun & Xu (2014); R pROC",
		Columns: []Role{{Name: "score", Doc: "higher for the positive class"}, {Name: "positive", Doc: "class of the case", Kind: Binary}, {Name: "other", Doc: "a second score", Optional: true}},
		method:  typed[none, scores]{answer: auroc},
	}}
}

type calibrationParams struct {
	Bins        int  `json:"bins"`
	EqualCounts bool `json:"equal_counts"`
}

type confidences struct {
	Confidence []float64 `json:"confidence"`
	Outcome    []bool    `json:"outcome"`
}

func calibrated(p calibrationParams, in confidences) (any, error) {
	return stats.CalibrationCurve(in.Confidence, in.Outcome, stats.CalibrationOptions{Bins: p.Bins, EqualCounts: p.EqualCounts, Level: 0.95})
}

type scores struct {
	Score    []float64 `json:"score"`
	Positive []bool    `json:"positive"`
	Other    []float64 `json:"other,omitempty"`
}

func auroc(_ none, in scores) (any, error) {
	a, err := stats.ROC(in.Score, in.Positive, 0.95)
	if err != nil {
		return nil, err
	}
	type other struct {
		AUROC float64 `json:"auroc"`
		stats.AUROCDiff
	}
	r := struct {
		stats.AUROC
		Other *other `json:"other,omitempty"`
	}{AUROC: a}
	if in.Other != nil {
		d, err := stats.CompareROC(in.Score, in.Other, in.Positive, 0.95)
		if err != nil {
			return nil, err
		}
		r.Other = &other{d.B.Value, d}
	}
	return explain(r, a.Undefined, a.Warnings...), nil
}

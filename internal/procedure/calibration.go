package procedure

import "github.com/scruple-eval/scruple/stats"

func calibrations() []Procedure {
	return []Procedure{{
		Name: "calibration", Title: "Reliability curve and calibration error",
		Summary: "Whether stated confidences match observed frequencies: reliability curve, expected and maximum calibration error, Brier score. The bootstrap interval of the expected error resamples cases (percentiles); like the error itself it lies too high in small samples.",
		Source:  "Guo et al. (2017); Nixon et al. (2019)",
		Columns: []Role{{Name: "confidence", Doc: "between 0 and 1"}, {Name: "outcome", Doc: "observed outcome", Kind: Binary}},
		Params: append([]Param{{"bins", "10", "number of bins"}, {"equal_counts", "false", "bins of equal size instead of equal width"}, confParam},
			redrawParams...),
		Labels: map[string]string{"ece": "expected calibration error", "mce": "maximum calibration error"},
		method: typed[calibrationParams, confidences]{defaults: calibrationParams{level: level{0.95}, redraw: defaultRedraw, Bins: 10}, answer: calibrated},
	}, {
		Name: "auroc", Title: "Area under the ROC curve",
		Summary: "How well a score separates two classes, with DeLong's interval; with a second score of the same cases, also the difference.",
		Source:  "DeLong et al. (1988); Sun & Xu (2014); R pROC",
		Columns: []Role{{Name: "score", Doc: "higher for the positive class"}, {Name: "positive", Doc: "class of the case", Kind: Binary}, {Name: "other", Doc: "a second score", Optional: true}},
		Params:  []Param{confParam},
		method:  typed[level, scores]{defaults: level{0.95}, answer: auroc},
	}}
}

type calibrationParams struct {
	level
	redraw
	Bins        int  `json:"bins"`
	EqualCounts bool `json:"equal_counts"`
}

type confidences struct {
	Confidence []float64 `json:"confidence"`
	Outcome    []bool    `json:"outcome"`
}

func calibrated(p calibrationParams, in confidences) (Result, error) {
	r, err := stats.CalibrationCurve(in.Confidence, in.Outcome, stats.CalibrationOptions{Bins: p.Bins, EqualCounts: p.EqualCounts, Level: p.Conf})
	if err != nil {
		return nil, err
	}
	drawn, warnings, err := p.redraw.run(p.Conf, "ece", "cases", func(o stats.BootstrapOptions) (stats.Bootstrap, error) {
		return stats.CalibrationBootstrap(in.Confidence, in.Outcome, stats.CalibrationOptions{Bins: p.Bins, EqualCounts: p.EqualCounts}, o)
	}, percentile)
	if err != nil {
		return nil, err
	}
	return explain(r, warnings...).after("brier", drawn...).at(p.Conf), nil
}

type scores struct {
	Score    []float64 `json:"score"`
	Positive []bool    `json:"positive"`
	Other    []float64 `json:"other,omitempty"`
}

func auroc(p level, in scores) (Result, error) {
	a, err := stats.ROC(in.Score, in.Positive, p.Conf)
	if err != nil {
		return nil, err
	}
	r := rowsOf(a)
	if in.Other != nil {
		d, err := stats.CompareROC(in.Score, in.Other, in.Positive, p.Conf)
		if err != nil {
			return nil, err
		}
		r = append(r, Row{"other", append(Result{{"auroc", d.B.Value}, {"direction", "score - other"}}, rowsOf(d)...)})
	}
	return r.explained().at(p.Conf), nil
}

package procedure

import "github.com/scruple-eval/scruple/stats"

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

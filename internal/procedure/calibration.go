package procedure

import "github.com/scruple-eval/scruple/stats"

func calibrations() []Procedure {
	return []Procedure{{
		Name: "calibration", Title: "Reliability curve and calibration error",
		Summary: "Whether stated confidences come true as often as they say: reliability curve, expected and largest calibration error, Brier score.",
		Source:  "Guo et al. (2017); Nixon et al. (2019)",
		Columns: []Role{{Name: "confidence", Doc: "between 0 and 1"}, {Name: "outcome", Doc: "what came true", Kind: Binary}},
		Params:  []Param{{"bins", "10", "steps of the curve"}, {"equal_counts", "false", "bins with equally many, not equally wide"}},
		Run:     runCalibration,
	}, {
		Name: "auroc", Title: "Area under the ROC curve",
		Summary: "How well a score tells two kinds apart, with DeLong's interval; with a second score of the same cases also their difference.",
		Source:  "DeLong et al. (1988); Sun & Xu (2014); R pROC",
		Columns: []Role{{Name: "score", Doc: "higher for the positive kind"}, {Name: "positive", Doc: "kind of the case", Kind: Binary}, {Name: "other", Doc: "a second score", Optional: true}},
		Run:     runROC,
	}}
}

type calibrationResult struct {
	N     int              `json:"n"`
	ECE   Number           `json:"ece"`
	MCE   Number           `json:"mce"`
	Brier Number           `json:"brier"`
	Curve []calibrationBin `json:"curve"`
	undefined
}

type calibrationBin struct {
	Low        Number `json:"low"`
	High       Number `json:"high"`
	N          int    `json:"n"`
	Confidence Number `json:"confidence"`
	Accuracy   Number `json:"accuracy"`
	CI         Limits `json:"accuracy_ci95"`
}

func runCalibration(params, input Object) (any, error) {
	confidence, err := input.Numbers("confidence")
	if err != nil {
		return nil, err
	}
	outcome, err := input.Binaries("outcome")
	if err != nil {
		return nil, err
	}
	bins, err := params.IntIn("bins", 10, 1, 10000)
	if err != nil {
		return nil, err
	}
	equal, err := params.Flag("equal_counts", false)
	if err != nil {
		return nil, err
	}
	c, err := stats.CalibrationCurve(confidence, outcome, bins, equal, 0.95)
	if err != nil {
		return nil, err
	}
	r := calibrationResult{N: c.N, ECE: Number(c.ECE), MCE: Number(c.MCE), Brier: Number(c.Brier), undefined: because("", c.Warnings...)}
	for _, b := range c.Bins {
		r.Curve = append(r.Curve, calibrationBin{Number(b.Low), Number(b.High), b.N, Number(b.Confidence), Number(b.Accuracy), Span(b.CI)})
	}
	return r, nil
}

type rocResult struct {
	Positives int    `json:"n_positive"`
	Negatives int    `json:"n_negative"`
	AUROC     Number `json:"auroc"`
	SE        Number `json:"se"`
	CI        Limits `json:"ci95"`
	Other     *struct {
		AUROC Number `json:"auroc"`
		Diff  Number `json:"diff"`
		SE    Number `json:"se"`
		Z     Number `json:"z"`
		P     Number `json:"p"`
		CI    Limits `json:"ci95"`
	} `json:"other,omitempty"`
	undefined
}

func runROC(_, input Object) (any, error) {
	score, err := input.Numbers("score")
	if err != nil {
		return nil, err
	}
	positive, err := input.Binaries("positive")
	if err != nil {
		return nil, err
	}
	a, err := stats.ROC(score, positive, 0.95)
	if err != nil {
		return nil, err
	}
	r := rocResult{Positives: a.Positives, Negatives: a.Negatives, AUROC: Number(a.Value), SE: Number(a.SE), CI: Span(a.CI), undefined: because(a.Undefined, a.Warnings...)}
	if !input.Has("other") {
		return r, nil
	}
	other, err := input.Numbers("other")
	if err != nil {
		return nil, err
	}
	d, err := stats.CompareROC(score, other, positive, 0.95)
	if err != nil {
		return nil, err
	}
	r.Other = &struct {
		AUROC Number `json:"auroc"`
		Diff  Number `json:"diff"`
		SE    Number `json:"se"`
		Z     Number `json:"z"`
		P     Number `json:"p"`
		CI    Limits `json:"ci95"`
	}{Number(d.B.Value), Number(d.Diff), Number(d.SE), Number(d.Z), Number(d.P), Span(d.CI)}
	return r, nil
}

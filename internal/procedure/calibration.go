package procedure

import (
	"github.com/scruple-eval/scruple/stats"
)

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

func calibrated(p calibrationParams, in confidences) Result {
	options := stats.CalibrationOptions{Bins: p.Bins, EqualCounts: p.EqualCounts, Level: p.Conf}
	r := must(stats.CalibrationCurve(in.Confidence, in.Outcome, options))
	drawn, warnings := p.redraw.run(p.Conf, "ece", "cases", func(o stats.BootstrapOptions) (stats.Bootstrap, error) {
		return stats.CalibrationBootstrap(in.Confidence, in.Outcome, options, o)
	}, percentile)
	return explain(r, warnings...).after("brier", drawn...).at(p.Conf)
}

type scores struct {
	Score    []float64 `json:"score"`
	Positive []bool    `json:"positive"`
}

func auroc(p level, in scores) Result {
	return explain(must(stats.ROC(in.Score, in.Positive, p.Conf))).at(p.Conf)
}

// level is a confidence level as an option.
type level struct {
	Conf float64 `json:"conf"`
}

// check refuses a level in percent, too.
func (l level) check() {
	refuse(!(l.Conf > 0 && l.Conf < 1),
		"params.conf is %v, expected a level between 0 and 1 such as 0.95", l.Conf)
}

type judged struct {
	Judge   gaps     `json:"judge"`
	Human   gaps     `json:"human"`
	Cluster []string `json:"cluster,omitempty"`
}

func poweredMean(p level, in judged) Result {
	p.check()
	return explain(must(stats.PredictionPoweredClusters(in.Judge, in.Human, in.Cluster, p.Conf))).at(p.Conf)
}

type judgedArms struct {
	JudgeA  gaps     `json:"judge_a"`
	JudgeB  gaps     `json:"judge_b"`
	HumanA  gaps     `json:"human_a"`
	HumanB  gaps     `json:"human_b"`
	Cluster []string `json:"cluster,omitempty"`
}

func poweredDifference(p level, in judgedArms) Result {
	p.check()
	r := must(stats.PredictionPoweredDiff(in.JudgeA, in.JudgeB, in.HumanA, in.HumanB, in.Cluster, p.Conf))
	return explain(r).after("n_clusters_labelled", aMinusB).at(p.Conf)
}

package procedure

import (
	"fmt"

	"github.com/scruple-eval/scruple/stats"
)

// level is a confidence level as an option.
type level struct {
	Conf float64 `json:"conf"`
}

// check refuses a level in percent, too.
func (l level) check() error {
	if !(l.Conf > 0 && l.Conf < 1) {
		return fmt.Errorf("params.conf is %v, expected a level between 0 and 1 such as 0.95", l.Conf)
	}
	return nil
}

type judged struct {
	Judge   gaps     `json:"judge"`
	Human   gaps     `json:"human"`
	Cluster []string `json:"cluster,omitempty"`
}

func poweredMean(p level, in judged) (Result, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	r, err := stats.PredictionPoweredClusters(in.Judge, in.Human, in.Cluster, p.Conf)
	return explain(r).at(p.Conf), err
}

type judgedArms struct {
	JudgeA  gaps     `json:"judge_a"`
	JudgeB  gaps     `json:"judge_b"`
	HumanA  gaps     `json:"human_a"`
	HumanB  gaps     `json:"human_b"`
	Cluster []string `json:"cluster,omitempty"`
}

func poweredDifference(p level, in judgedArms) (Result, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	r, err := stats.PredictionPoweredDiff(in.JudgeA, in.JudgeB, in.HumanA, in.HumanB, in.Cluster, p.Conf)
	return explain(r).after("n_clusters_labelled", aMinusB).at(p.Conf), err
}

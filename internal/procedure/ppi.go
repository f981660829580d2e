package procedure

import (
	"fmt"

	"github.com/scruple-eval/scruple/stats"
)

func predictionPowered() []Procedure {
	const source = "Angelopoulos, Duchi & Zrnic (2023), PPI++"
	return []Procedure{{
		Name: "ppi_mean", Title: "Prediction-powered mean",
		Summary: "The mean human label of all items, from a judge's labels of all items and human labels of a random sample. Consistent for any judge; the better the judge, the shorter the interval. Where judge and human disagree on fewer than 20 of the labelled items, or fewer than 20 human labels are exceptions, the interval allows for more of them, with a warning; in simulations with 20 human labels or more of 0 and 1 its coverage is then at least 94 % at a level of 95 %.",
		Source:  source,
		Columns: []Role{{Name: "judge", Doc: "the judge's label"}, {Name: "human", Doc: "the human label, empty if missing", Missing: true},
			{Name: "cluster", Doc: "cluster of each item", Kind: Label, Optional: true}},
		Params: []Param{confParam},
		method: typed[level, judged]{defaults: level{0.95}, answer: poweredMean},
	}, {
		Name: "ppi_difference", Title: "Prediction-powered difference",
		Summary: "The same for the mean difference of two arms on the same items; an item is labelled if both arms are. Rare disagreements are allowed for in the same way.",
		Source:  source,
		Columns: []Role{{Name: "judge_a", Doc: "the judge's label of the first arm"}, {Name: "judge_b", Doc: "of the second"},
			{Name: "human_a", Doc: "the human label of the first arm, empty if missing", Missing: true}, {Name: "human_b", Doc: "of the second", Missing: true},
			{Name: "cluster", Doc: "cluster of each item", Kind: Label, Optional: true}},
		Params: []Param{confParam},
		method: typed[level, judgedArms]{defaults: level{0.95}, answer: poweredDifference},
	}}
}

// level is a confidence level as an option.
type level struct {
	Conf float64 `json:"conf"`
}

var confParam = Param{"conf", "0.95", "confidence level of the intervals"}

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
	r, err := stats.PredictionPoweredClusters(in.Judge, in.Human, clusters(in.Cluster), p.Conf)
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
	r, err := stats.PredictionPoweredDiff(in.JudgeA, in.JudgeB, in.HumanA, in.HumanB, clusters(in.Cluster), p.Conf)
	return explain(r).after("n_clusters_labelled", aMinusB).at(p.Conf), err
}

// clusters converts labels to numbers; nil means no clusters.
func clusters(labels []string) []int {
	if labels == nil {
		return nil
	}
	return numbered(labels)
}

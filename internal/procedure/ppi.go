package procedure

import (
	"math"

	"github.com/scruple-eval/scruple/stats"
)

func predictionPowered() []Procedure {
	const source = "Angelopoulos, Duchi & Zrnic (2023), PPI++"
	return []Procedure{{
		Name: "ppi_mean", Title: "Prediction-powered mean",
		Summary: "The mean human label of all items from a judge's labels of all and people's of a random sample: unbiased however bad the judge, shorter the better it is.",
		Source:  source,
		Columns: []Role{{Name: "judge", Doc: "the judge's label"}, {Name: "human", Doc: "the human label, empty where there is none", Missing: true}},
		Params:  []Param{{"conf", "0.95", "confidence level"}},
		Run: func(params, input Object) (any, error) {
			series, err := gapped(input, "judge", "human")
			if err != nil {
				return nil, err
			}
			return powered(params, func(level float64) (stats.PPI, error) { return stats.PredictionPowered(series[0], series[1], level) })
		},
	}, {
		Name: "ppi_difference", Title: "Prediction-powered difference",
		Summary: "The same for the mean difference of two arms on the same items; an item counts as labelled where both arms are.",
		Source:  source,
		Columns: []Role{{Name: "judge_a", Doc: "the judge's label of the first arm"}, {Name: "judge_b", Doc: "of the second"},
			{Name: "human_a", Doc: "the human label of the first arm, empty where there is none", Missing: true}, {Name: "human_b", Doc: "of the second", Missing: true}},
		Params: []Param{{"conf", "0.95", "confidence level"}},
		Run: func(params, input Object) (any, error) {
			s, err := gapped(input, "judge_a", "judge_b", "human_a", "human_b")
			if err != nil {
				return nil, err
			}
			return powered(params, func(level float64) (stats.PPI, error) {
				return stats.PredictionPoweredDiff(s[0], s[1], s[2], s[3], level)
			})
		},
	}}
}

// gapped reads lists in which null is NaN; the judge's may have none, which
// stats checks.
func gapped(input Object, names ...string) ([][]float64, error) {
	var out [][]float64
	for _, name := range names {
		xs, err := list(input, name, func(path string, v any) (float64, error) {
			if v == nil {
				return math.NaN(), nil
			}
			return number(path, v)
		})
		if err != nil {
			return nil, err
		}
		out = append(out, xs)
	}
	return out, nil
}

type ppiResult struct {
	Labelled    int    `json:"n_labelled"`
	Unlabelled  int    `json:"n_unlabelled"`
	Estimate    Number `json:"estimate"`
	SE          Number `json:"se"`
	CI          Limits `json:"ci"`
	P           Number `json:"p_two_sided"`
	Lambda      Number `json:"lambda"`
	HumanMean   Number `json:"human_mean"`
	HumanCI     Limits `json:"human_ci"`
	JudgeMean   Number `json:"judge_mean"`
	Bias        Number `json:"judge_bias"`
	BiasCI      Limits `json:"judge_bias_ci"`
	Correlation Number `json:"correlation"`
	Effective   Number `json:"effective_labels"`
	undefined
}

func powered(params Object, estimate func(level float64) (stats.PPI, error)) (any, error) {
	level, err := params.Number("conf", 0.95)
	if err != nil {
		return nil, err
	}
	p, err := estimate(level)
	if err != nil {
		return nil, err
	}
	return ppiResult{p.Labelled, p.Unlabelled, Number(p.Estimate), Number(p.SE), Span(p.CI), Number(p.P), Number(p.Lambda), Number(p.HumanMean), Span(p.Human),
		Number(p.JudgeMean), Number(p.Bias), Span(p.BiasCI), Number(p.Correlation), Number(p.EffectiveLabels), because(p.Undefined, p.Warnings...)}, nil
}

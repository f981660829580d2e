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
		Columns: []Role{{Name: "judge", Doc: "the judge's label"}, {Name: "human", Doc: "the human label, empty where there is none", Missing: true},
			{Name: "cluster", Doc: "which items hang together", Kind: Label, Optional: true}},
		Params: []Param{{"conf", "0.95", "confidence level"}},
		Run: func(params, input Object) (any, error) {
			series, err := gapped(input, "judge", "human")
			if err != nil {
				return nil, err
			}
			return powered(params, input, func(cluster []int, level float64) (stats.PPI, error) {
				return stats.PredictionPoweredClusters(series[0], series[1], cluster, level)
			})
		},
	}, {
		Name: "ppi_difference", Title: "Prediction-powered difference",
		Summary: "The same for the mean difference of two arms on the same items; an item counts as labelled where both arms are.",
		Source:  source,
		Columns: []Role{{Name: "judge_a", Doc: "the judge's label of the first arm"}, {Name: "judge_b", Doc: "of the second"},
			{Name: "human_a", Doc: "the human label of the first arm, empty where there is none", Missing: true}, {Name: "human_b", Doc: "of the second", Missing: true},
			{Name: "cluster", Doc: "which items hang together", Kind: Label, Optional: true}},
		Params: []Param{{"conf", "0.95", "confidence level"}},
		Run: func(params, input Object) (any, error) {
			s, err := gapped(input, "judge_a", "judge_b", "human_a", "human_b")
			if err != nil {
				return nil, err
			}
			return powered(params, input, func(cluster []int, level float64) (stats.PPI, error) {
				return stats.PredictionPoweredDiff(s[0], s[1], s[2], s[3], cluster, level)
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

// clusterNumbers gives each label a number, nil where there are no clusters.
func clusterNumbers(input Object) ([]int, error) {
	if !input.Has("cluster") {
		return nil, nil
	}
	labels, err := input.Labels("cluster")
	if err != nil {
		return nil, err
	}
	seen, out := map[string]int{}, []int{}
	for _, l := range labels {
		if _, ok := seen[l]; !ok {
			seen[l] = len(seen)
		}
		out = append(out, seen[l])
	}
	return out, nil
}

type ppiResult struct {
	Labelled    int    `json:"n_labelled"`
	Unlabelled  int    `json:"n_unlabelled"`
	Clusters    int    `json:"n_clusters_labelled"`
	Estimate    Number `json:"estimate"`
	SE          Number `json:"se"`
	CI          Limits `json:"ci"`
	T           Number `json:"t"`
	DF          Number `json:"df"`
	P           Number `json:"p_two_sided"`
	Lambda      Number `json:"lambda"`
	HumanMean   Number `json:"human_mean"`
	HumanCI     Limits `json:"human_ci"`
	JudgeMean   Number `json:"judge_mean"`
	JudgeCI     Limits `json:"judge_ci"`
	Bias        Number `json:"judge_bias"`
	BiasCI      Limits `json:"judge_bias_ci"`
	Correlation Number `json:"correlation"`
	Effective   Number `json:"effective_labels"`
	undefined
}

func powered(params, input Object, estimate func(cluster []int, level float64) (stats.PPI, error)) (any, error) {
	level, err := params.Number("conf", 0.95)
	if err != nil {
		return nil, err
	}
	cluster, err := clusterNumbers(input)
	if err != nil {
		return nil, err
	}
	p, err := estimate(cluster, level)
	if err != nil {
		return nil, err
	}
	return ppiResult{p.Labelled, p.Unlabelled, p.Clusters, Number(p.Estimate), Number(p.SE), Span(p.CI), Number(p.T), Number(p.DF), Number(p.P),
		Number(p.Lambda), Number(p.HumanMean), Span(p.Human), Number(p.JudgeMean), Span(p.Judge), Number(p.Bias), Span(p.BiasCI),
		Number(p.Correlation), Number(p.EffectiveLabels), because(p.Undefined, p.Warnings...)}, nil
}

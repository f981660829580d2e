package procedure

import (
	"fmt"
	"math"

	"github.com/scruple-eval/scruple/stats"
)

func bootstraps() []Procedure {
	roles := []Role{{Name: "diff", Doc: "value of each row: a difference, a score, a numerator"},
		{Name: "cluster", Doc: "which rows hang together", Kind: Label, Optional: true}, {Name: "den", Doc: "denominators, for a ratio of sums", Optional: true}}
	return []Procedure{{
		Name: "cluster_bootstrap_random", Title: "Cluster bootstrap",
		Summary: "Percentile, basic and BCa interval of a pooled mean or a ratio of sums when rows come in clusters, which are drawn whole.",
		Source:  "Efron (1987); scipy.stats.bootstrap",
		Columns: roles,
		Params: []Param{{"resamples", "10000", "resamples drawn"}, {"conf", "0.95", "confidence level"}, {"seed", "1", "of the draws"},
			{"workers", "1", "goroutines; the result does not depend on it"}},
		Run: runBootstrap,
	}, {
		Name: "cluster_bootstrap_fixed_resamples", Title: "Cluster bootstrap with resamples given",
		Summary: "The same with the resamples in params.indices, by the conventions of SciPy and of R's boot.",
		Source:  "scipy.stats.bootstrap; R boot::boot.ci",
		Params:  []Param{{"indices", "", "one list of cluster indices a resample"}, {"indices_base", "0", "number of the first cluster"}, {"conf", "0.95", "confidence level"}},
		Run:     runResampled,
	}}
}

// clusterSums adds up rows by cluster, in order of first appearance.
func clusterSums(input Object) (num, den []float64, rows int, err error) {
	values, err := input.Numbers("diff")
	if err != nil {
		return nil, nil, 0, err
	}
	weights := make([]float64, len(values))
	for i := range weights {
		weights[i] = 1
	}
	if input.Has("den") {
		if weights, err = input.Numbers("den"); err != nil {
			return nil, nil, 0, err
		}
	}
	if len(weights) != len(values) {
		return nil, nil, 0, fmt.Errorf("input.diff and input.den have %d and %d rows", len(values), len(weights))
	}
	if !input.Has("cluster") {
		return values, weights, len(values), nil
	}
	labels, err := input.Labels("cluster")
	if err != nil {
		return nil, nil, 0, err
	}
	if len(labels) != len(values) {
		return nil, nil, 0, fmt.Errorf("input.diff and input.cluster have %d and %d rows", len(values), len(labels))
	}
	at := map[string]int{}
	for i, l := range labels {
		k, ok := at[l]
		if !ok {
			k = len(num)
			at[l] = k
			num, den = append(num, 0), append(den, 0)
		}
		num[k] += values[i]
		den[k] += weights[i]
	}
	return num, den, len(values), nil
}

type bootstrapResult struct {
	Clusters     int          `json:"n_clusters"`
	Rows         int          `json:"n_rows"`
	Resamples    int          `json:"resamples"`
	Estimate     Number       `json:"estimate"`
	Mean         Number       `json:"replicate_mean"`
	SD           Number       `json:"replicate_sd"`
	First        []Number     `json:"replicates_first5"`
	Percentile   Limits       `json:"percentile"`
	Percentile7  Limits       `json:"percentile_type7"`
	Basic        Limits       `json:"basic"`
	BCa          Limits       `json:"bca"`
	Z0           Number       `json:"bca_z0"`
	Acceleration Number       `json:"bca_acceleration"`
	JackknifeSE  Number       `json:"jackknife_se"`
	Degenerate   bool         `json:"degenerate,omitempty"`
	SciPy        *scipyResult `json:"scipy,omitempty"`
	Boot         *bootResult  `json:"r_boot,omitempty"`
	undefined
}

type scipyResult struct {
	Percentile   Limits   `json:"percentile"`
	Basic        Limits   `json:"basic"`
	BCa          Limits   `json:"bca"`
	Z0           Number   `json:"bca_z0"`
	Acceleration Number   `json:"bca_acceleration"`
	Alphas       []Number `json:"bca_alphas"`
	SE           Number   `json:"standard_error"`
}

type bootResult struct {
	Normal       Limits `json:"normal_bias_corrected"`
	Basic        Limits `json:"basic"`
	Percentile   Limits `json:"percentile"`
	BCa          Limits `json:"bca"`
	Acceleration Number `json:"bca_acceleration"`
	Z0           Number `json:"bca_z0"`
}

func bootstrapped(b stats.Bootstrap, rows int) bootstrapResult {
	return bootstrapResult{Clusters: b.Clusters, Rows: rows, Resamples: b.Resamples, Estimate: Number(b.Estimate), Mean: Number(b.Mean), SD: Number(b.SD),
		First: Numbers(b.Replicates[:min(5, len(b.Replicates))]), Percentile: Span(b.Percentile), Percentile7: Span(b.Percentile), Basic: Span(b.Basic),
		BCa: Span(b.BCa), Z0: Number(b.Z0), Acceleration: Number(b.Acceleration), JackknifeSE: Number(b.JackknifeSE), Degenerate: b.Degenerate,
		undefined: because(b.Undefined, b.Warnings...)}
}

func runBootstrap(params, input Object) (any, error) {
	num, den, rows, err := clusterSums(input)
	if err != nil {
		return nil, err
	}
	var o stats.BootstrapOptions
	if o.Resamples, err = params.IntIn("resamples", 10000, 1, maxResamples); err != nil {
		return nil, err
	}
	if o.Level, err = params.Number("conf", 0.95); err != nil {
		return nil, err
	}
	seed, err := params.IntIn("seed", 1, 0, math.MaxInt)
	if err != nil {
		return nil, err
	}
	if o.Workers, err = params.IntIn("workers", 1, 1, 256); err != nil {
		return nil, err
	}
	o.Seed = uint64(seed)
	b, err := stats.ClusterBootstrap(num, den, o)
	if err != nil {
		return nil, err
	}
	return bootstrapped(b, rows), nil
}

func runResampled(params, input Object) (any, error) {
	num, den, rows, err := clusterSums(input)
	if err != nil {
		return nil, err
	}
	base, err := params.Int("indices_base", 0)
	if err != nil {
		return nil, err
	}
	level, err := params.Number("conf", 0.95)
	if err != nil {
		return nil, err
	}
	from := params
	if !params.Has("indices") {
		from = input
	}
	indices, err := from.Counts("indices")
	if err != nil {
		return nil, err
	}
	for _, resample := range indices {
		for i := range resample {
			resample[i] -= base
		}
	}
	b, err := stats.ResampleClusters(num, den, indices, level)
	if err != nil {
		return nil, err
	}
	r := bootstrapped(b, rows)
	ci := b.BootCI()
	r.SciPy = &scipyResult{Span(b.Percentile), Span(b.Basic), Span(b.BCa), Number(b.Z0), Number(b.Acceleration), Numbers(b.Alphas[:]), Number(b.SD)}
	r.Boot = &bootResult{Span(ci.Normal), Span(ci.Basic), Span(ci.Percentile), Span(ci.BCa), Number(ci.Acceleration), Number(ci.Z0)}
	return r, nil
}

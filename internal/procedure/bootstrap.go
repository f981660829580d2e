package procedure

import (
	"errors"
	"fmt"

	"github.com/scruple-eval/scruple/stats"
)

// clustered are rows with clusters; the default of Den is 1.
type clustered struct {
	Diff    []float64 `json:"diff"`
	Den     []float64 `json:"den,omitempty"`
	Cluster []string  `json:"cluster,omitempty"`
}

// sums adds up rows by cluster, in order of first appearance.
func (in clustered) sums() (num, den []float64, err error) {
	if in.Den != nil && len(in.Den) != len(in.Diff) {
		return nil, nil, fmt.Errorf("input.diff and input.den have %d and %d rows", len(in.Diff), len(in.Den))
	}
	if in.Cluster != nil && len(in.Cluster) != len(in.Diff) {
		return nil, nil, fmt.Errorf("input.diff and input.cluster have %d and %d rows", len(in.Diff), len(in.Cluster))
	}
	return stats.SumByCluster(in.Diff, in.Den, in.Cluster)
}

type bootstrapParams struct {
	drawParams
	Conf float64 `json:"conf"`
}

func bootstrapped(p bootstrapParams, in clustered) (Result, error) {
	num, den, err := in.sums()
	if err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	b, err := stats.ClusterBootstrap(num, den, stats.BootstrapOptions{Resamples: p.Resamples, Level: p.Conf, Seed: uint64(p.Seed), Workers: p.Workers})
	return bootstrap(b, len(in.Diff)).at(p.Conf), err
}

// bootstrap adds the number of rows, some replicates, the name that quantiles
// have elsewhere, and other conventions.
func bootstrap(b stats.Bootstrap, rows int, conventions ...Row) Result {
	last := "jackknife_se"
	if b.Degenerate {
		last = "degenerate"
	}
	return explain(b).after("n_clusters", Row{"n_rows", rows}).
		after("replicate_sd", Row{"replicates_first5", b.Replicates[:min(5, len(b.Replicates))]}).
		after("percentile", Row{"percentile_type7", b.Percentile}).after(last, conventions...)
}

type resampleParams struct {
	Indices [][]int `json:"indices"`
	Base    int     `json:"indices_base"`
	Conf    float64 `json:"conf"`
}

type resampledInput struct {
	clustered
	Indices [][]int `json:"indices,omitempty"` // where params has none
}

func resampled(p resampleParams, in resampledInput) (Result, error) {
	num, den, err := in.sums()
	if err != nil {
		return nil, err
	}
	draws := p.Indices
	if draws == nil {
		draws = in.Indices
	}
	if draws == nil {
		return nil, errors.New("params.indices is missing: one list of cluster indices per resample")
	}
	for _, draw := range draws {
		for i := range draw {
			draw[i] -= p.Base
		}
	}
	b, err := stats.ResampleClusters(num, den, draws, p.Conf)
	if err != nil {
		return nil, err
	}
	return bootstrap(b, len(in.Diff),
		Row{"scipy", Result{{"percentile", b.Percentile}, {"basic", b.Basic}, {"bca", b.BCa}, {"bca_z0", b.Z0}, {"bca_acceleration", b.Acceleration},
			{"bca_alphas", b.Alphas}, {"standard_error", b.SD}}},
		Row{"r_boot", b.BootCI()}).at(p.Conf), nil
}

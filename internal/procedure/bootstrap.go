package procedure

import (
	"errors"
	"math"
	"strings"

	"github.com/scruple-eval/scruple/stats"
)

// clustered are rows with clusters; the default of Den is 1.
type clustered struct {
	Diff    []float64 `json:"diff"`
	Den     []float64 `json:"den,omitempty"`
	Cluster []string  `json:"cluster,omitempty"`
}

// sums adds up rows by cluster, in order of first appearance.
func (in clustered) sums() (num, den []float64) {
	n := len(in.Diff)
	refuse(in.Den != nil && len(in.Den) != n,
		"input.diff and input.den have %d and %d rows", n, len(in.Den))
	refuse(in.Cluster != nil && len(in.Cluster) != n,
		"input.diff and input.cluster have %d and %d rows", n, len(in.Cluster))
	num, den, err := stats.SumByCluster(in.Diff, in.Den, in.Cluster)
	fail(err)
	return num, den
}

type bootstrapParams struct {
	drawParams
	Conf float64 `json:"conf"`
}

func bootstrapped(p bootstrapParams, in clustered) Result {
	num, den := in.sums()
	p.check()
	options := stats.BootstrapOptions{Resamples: p.Resamples, Level: p.Conf, Seed: uint64(p.Seed), Workers: p.Workers}
	return bootstrap(must(stats.ClusterBootstrap(num, den, options)), len(in.Diff)).at(p.Conf)
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

func resampled(p resampleParams, in resampledInput) Result {
	num, den := in.sums()
	draws := p.Indices
	if draws == nil {
		draws = in.Indices
	}
	refuse(draws == nil, "params.indices is missing: one list of cluster indices per resample")
	for _, draw := range draws {
		for i := range draw {
			draw[i] -= p.Base
		}
	}
	b := must(stats.ResampleClusters(num, den, draws, p.Conf))
	return bootstrap(b, len(in.Diff),
		Row{"scipy", Result{{"percentile", b.Percentile}, {"basic", b.Basic}, {"bca", b.BCa}, {"bca_z0", b.Z0}, {"bca_acceleration", b.Acceleration},
			{"bca_alphas", b.Alphas}, {"standard_error", b.SD}}},
		Row{"r_boot", b.BootCI()}).at(p.Conf)
}

// redraw are the options of a bootstrap interval that a result has besides others.
type redraw struct {
	Resamples int `json:"resamples"`
	Seed      int `json:"seed"`
}

var defaultRedraw = redraw{Resamples: 2000, Seed: 1}

// percentile and bca choose an interval of a bootstrap.
func percentile(b stats.Bootstrap) (string, stats.Interval) { return "percentile", b.Percentile }

func bca(b stats.Bootstrap) (string, stats.Interval) {
	if math.IsNaN(b.Z0) {
		return "percentile", b.Percentile
	}
	return "BCa", b.BCa
}

// run draws units, and gives the member that describes the bootstrap and its
// warnings. A measure whose bootstrap fails keeps its estimate.
func (d redraw) run(conf float64, what, units string, draw func(stats.BootstrapOptions) (stats.Bootstrap, error),
	choose func(stats.Bootstrap) (string, stats.Interval)) (drawn Result, warnings []string) {
	within("params.resamples", d.Resamples, 0, maxResamples)
	within("params.seed", d.Seed, 0, math.MaxInt)
	if d.Resamples == 0 {
		return nil, nil
	}
	b, err := draw(stats.BootstrapOptions{Resamples: d.Resamples, Level: conf, Seed: uint64(d.Seed), Workers: 4})
	if err == nil && b.Undefined != "" {
		err = errors.New(b.Undefined)
	}
	if err != nil {
		return Result{{"bootstrap", nil}}, []string{"no bootstrap interval of " + what + ": " + strings.TrimPrefix(err.Error(), "stats: ")}
	}
	for _, w := range b.Warnings {
		warnings = append(warnings, "bootstrap: "+strings.ReplaceAll(w, "clusters", units))
	}
	method, ci := choose(b)
	if b.Degenerate {
		method, ci = "none", stats.Interval{Low: math.NaN(), High: math.NaN(), Level: conf}
	}
	return Result{{"bootstrap", Result{{"of", what}, {"n", b.Clusters}, {"method", method}, {"resamples", b.Resamples}, {"seed", d.Seed}, {"se", b.SD}, {"ci95", ci}}}}, warnings
}

package procedure

import (
	"errors"
	"math"
	"strings"

	"github.com/scruple-eval/scruple/stats"
)

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
func (d redraw) run(conf float64, what, units string, draw func(stats.BootstrapOptions) (stats.Bootstrap, error), choose func(stats.Bootstrap) (string, stats.Interval)) (Result, []string, error) {
	if err := within("params.resamples", d.Resamples, 0, maxResamples); err != nil {
		return nil, nil, err
	}
	if err := within("params.seed", d.Seed, 0, math.MaxInt); err != nil {
		return nil, nil, err
	}
	if d.Resamples == 0 {
		return nil, nil, nil
	}
	b, err := draw(stats.BootstrapOptions{Resamples: d.Resamples, Level: conf, Seed: uint64(d.Seed), Workers: 4})
	if err == nil && b.Undefined != "" {
		err = errors.New(b.Undefined)
	}
	if err != nil {
		return Result{{"bootstrap", nil}}, []string{"no bootstrap interval of " + what + ": " + strings.TrimPrefix(err.Error(), "stats: ")}, nil
	}
	var warnings []string
	for _, w := range b.Warnings {
		warnings = append(warnings, "bootstrap: "+strings.ReplaceAll(w, "clusters", units))
	}
	method, ci := choose(b)
	if b.Degenerate {
		method, ci = "none", stats.Interval{Low: math.NaN(), High: math.NaN(), Level: conf}
	}
	return Result{{"bootstrap", Result{{"of", what}, {"n", b.Clusters}, {"method", method}, {"resamples", b.Resamples}, {"seed", d.Seed}, {"se", b.SD}, {"ci95", ci}}}}, warnings, nil
}

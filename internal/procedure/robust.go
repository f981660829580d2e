package procedure

import (
	"errors"

	"github.com/scruple-eval/scruple/stats"
)

type robustOptions struct {
	modelOptions
	Cluster string `json:"cluster"`
}

func (p robustOptions) formula() (stats.Formula, error) {
	f, err := p.modelOptions.formula()
	if err == nil && p.Cluster == "" {
		err = errors.New("params.cluster is missing: the column that says cluster of each row")
	}
	return f, err
}

func (p robustOptions) columns() ([]string, error) {
	f, err := p.formula()
	return columnNames(f, p.Cluster), err
}

func runRobust(p robustOptions, in modelData) (Result, error) {
	f, err := p.formula()
	if err != nil {
		return nil, err
	}
	frame, err := p.frame(f, in, p.Cluster)
	if err != nil {
		return nil, err
	}
	r, err := stats.FitRobust(frame, f, p.Cluster)
	if err != nil {
		return nil, err
	}
	named := func(xs []float64) Result {
		o := Result{}
		for c, name := range r.Names {
			o = append(o, Row{name, xs[c]})
		}
		return o
	}
	var tests []Result
	for c, name := range r.Names {
		tests = append(tests, Result{{"name", name}, {"t", r.T[c]}, {"df", r.DF[c]}, {"p", r.P[c]}})
	}
	out := Result{{"formula", f.String()}, {"n_obs", r.N}, {"n_clusters", r.Clusters}, {"coefficients", named(r.Beta)}, {"se_classical", named(r.Classical)},
		{"se_cr0", named(r.CR0)}, {"se_cr1", named(r.CR1)}, {"se_cr1s", named(r.CR1S)}, {"se_cr2", named(r.CR2)}, {"se_cr3", named(r.CR3)},
		{"vcov_cr2", r.VcovCR2}, {"cr2_satterthwaite", tests}}
	return out.with("dropped_columns", r.Dropped).with(warningsKey, r.Warnings), nil
}

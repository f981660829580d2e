package procedure

import (
	"errors"

	"github.com/scruple-eval/scruple/stats"
)

func robust() []Procedure {
	return []Procedure{{
		Name: "ols_clustered_se", Title: "Regression with clustered standard errors",
		Summary: "How a score depends on fixed effects, by least squares with cluster-robust standard errors: CR0 to CR3, and tests by CR2 with Satterthwaite's degrees of freedom.",
		Source:  "R clubSandwich 0.5.8, sandwich; Bell & McCaffrey (2002)",
		Columns: modelColumns,
		Params: []Param{{"formula", "", "such as score ~ kernel, or score ~ 1 for a mean"}, {"cluster", "", "the column that says cluster of each row"},
			{"factor_levels", "sorted", "levels of each factor, the first is the reference"}, {"factors", "", "numeric columns to treat as factors"}},
		method: typed[robustOptions, modelData]{answer: runRobust,
			uses: func(p robustOptions) ([]string, error) {
				f, err := p.formula()
				return columnNames(f, p.Cluster), err
			}},
	}}
}

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

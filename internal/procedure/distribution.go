package procedure

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/scruple-eval/scruple/stats/dist"
)

func distributions() []Procedure {
	return []Procedure{{
		Name: "distribution_tails", Title: "Tails and quantiles of distributions",
		Summary: "P(X > x), P(X ≤ x) and quantiles of normal (mean, sd), student_t (df), chi_squared (df), f (df1, df2), binomial (n, p), noncentral_t (df, ncp) and beta (a, b); small probabilities keep their relative accuracy.",
		Source:  "R",
		Params:  []Param{{"dist, params, x", "", "of each of input.cases"}, {"dist, params, p", "", "of each of input.quantiles"}},
		Run:     runDistributions,
	}}
}

type distribution interface {
	CDF(x float64) float64
	Survival(x float64) float64
	Quantile(p float64) float64
}

// distributionOf reads a distribution and its parameters.
func distributionOf(o Object) (distribution, Ordered, error) {
	name, err := o.Text("dist", "")
	if err != nil {
		return nil, nil, err
	}
	p, err := o.Numbers("params")
	if err != nil {
		return nil, nil, err
	}
	size := map[string]int{"normal": 2, "student_t": 1, "chi_squared": 1, "f": 2, "binomial": 2, "noncentral_t": 2, "beta": 2}
	n, known := size[name]
	switch {
	case !known:
		return nil, nil, fmt.Errorf("%s: no distribution is called %q; there are normal, student_t, chi_squared, f, binomial, noncentral_t and beta", o.path("dist"), name)
	case len(p) != n:
		return nil, nil, fmt.Errorf("%s: %s takes %d parameters, got %d", o.path("params"), name, n, len(p))
	}
	echo := Ordered{{"dist", name}, {"params", Numbers(p)}}
	switch name {
	case "normal":
		if !(p[1] > 0) {
			return nil, nil, fmt.Errorf("%s: the sd of a normal distribution is above 0, got %v", o.path("params"), p[1])
		}
		return dist.Normal{Mean: p[0], SD: p[1]}, echo, nil
	case "student_t":
		return dist.StudentT{DF: p[0]}, echo, nil
	case "chi_squared":
		return dist.ChiSquared{DF: p[0]}, echo, nil
	case "f":
		return dist.F{DF1: p[0], DF2: p[1]}, echo, nil
	case "noncentral_t":
		return dist.NoncentralT{DF: p[0], NCP: p[1]}, echo, nil
	case "beta":
		return dist.Beta{A: p[0], B: p[1]}, echo, nil
	}
	trials, err := whole(o.path("params"), p[0])
	return dist.Binomial{N: trials, P: p[1]}, echo, err
}

func runDistributions(_, input Object) (any, error) {
	if !input.Has("cases") && !input.Has("quantiles") {
		return nil, errors.New("input has neither cases (tails) nor quantiles")
	}
	tails, err := eachDistribution(input, "cases", "x", func(d distribution, x float64) Ordered {
		return Ordered{{"sf", Number(d.Survival(x))}, {"cdf", Number(d.CDF(x))}}
	})
	if err != nil {
		return nil, err
	}
	quantiles, err := eachDistribution(input, "quantiles", "p", func(d distribution, p float64) Ordered {
		return Ordered{{"quantile", Number(d.Quantile(p))}}
	})
	return Ordered{{"cases", tails}, {"quantiles", quantiles}}, err
}

// eachDistribution answers a list of questions, each a distribution and where
// to look at it.
func eachDistribution(input Object, field, at string, answer func(distribution, float64) Ordered) ([]Ordered, error) {
	if !input.Has(field) {
		return nil, nil
	}
	cases, err := input.Objects(field)
	if err != nil {
		return nil, err
	}
	out := make([]Ordered, len(cases))
	for i, c := range cases {
		d, echo, err := distributionOf(c)
		var x float64
		if err == nil {
			x, err = c.Number(at, math.NaN())
		}
		if err == nil && math.IsNaN(x) {
			err = fmt.Errorf("%s is missing", at)
		}
		if err != nil {
			return nil, fmt.Errorf("input.%s[%d]: %w", field, i, err)
		}
		out[i] = slices.Concat(echo, Ordered{{at, Number(x)}}, answer(d, x))
	}
	return out, nil
}

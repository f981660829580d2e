package procedure

import (
	"fmt"

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
	var tails, quantiles []Ordered
	if input.Has("cases") {
		cases, err := input.Objects("cases")
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			d, echo, err := distributionOf(c)
			if err != nil {
				return nil, err
			}
			x, err := c.Number("x", 0)
			if err != nil {
				return nil, err
			}
			tails = append(tails, append(echo, Entry{"x", Number(x)}, Entry{"sf", Number(d.Survival(x))}, Entry{"cdf", Number(d.CDF(x))}))
		}
	}
	if input.Has("quantiles") {
		cases, err := input.Objects("quantiles")
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			d, echo, err := distributionOf(c)
			if err != nil {
				return nil, err
			}
			inverse, ok := d.(interface{ Quantile(p float64) float64 })
			if !ok {
				return nil, fmt.Errorf("%s: its quantiles are not computed", c.path("dist"))
			}
			p, err := c.Number("p", 0.5)
			if err != nil {
				return nil, err
			}
			quantiles = append(quantiles, append(echo, Entry{"p", Number(p)}, Entry{"quantile", Number(inverse.Quantile(p))}))
		}
	}
	return Ordered{{"cases", tails}, {"quantiles", quantiles}}, nil
}

package procedure

import (
	"math"

	"github.com/scruple-eval/scruple/stats/dist"
)

type distribution interface {
	CDF(x float64) float64
	Survival(x float64) float64
	Quantile(p float64) float64
}

// questions are about distributions: tails at x, quantiles of p.
type questions struct {
	Cases     []question `json:"cases,omitempty"`
	Quantiles []question `json:"quantiles,omitempty"`
}

type question struct {
	Dist   string    `json:"dist"`
	Params []float64 `json:"params"`
	X      *float64  `json:"x,omitempty"`
	P      *float64  `json:"p,omitempty"`
}

// distributions have the number of their parameters.
var distributions = map[string]struct {
	parameters int
	want       string
	of         func(p []float64) distribution
}{
	"normal":       {2, "a mean and an sd above 0", func(p []float64) distribution { return dist.Normal{Mean: p[0], SD: p[1]} }},
	"student_t":    {1, "df above 0", func(p []float64) distribution { return dist.StudentT{DF: p[0]} }},
	"chi_squared":  {1, "df above 0", func(p []float64) distribution { return dist.ChiSquared{DF: p[0]} }},
	"f":            {2, "df1 and df2 above 0", func(p []float64) distribution { return dist.F{DF1: p[0], DF2: p[1]} }},
	"binomial":     {2, "a whole number n of trials from 0 and p from 0 to 1", func(p []float64) distribution { return dist.Binomial{N: int(p[0]), P: p[1]} }},
	"noncentral_t": {2, "df above 0 and ncp", func(p []float64) distribution { return dist.NoncentralT{DF: p[0], NCP: p[1]} }},
	"beta":         {2, "a and b above 0", func(p []float64) distribution { return dist.Beta{A: p[0], B: p[1]} }},
}

// distribution makes a distribution of its name and parameters.
func (q question) distribution() distribution {
	d, known := distributions[q.Dist]
	refuse(!known,
		"unknown distribution %q: want normal, student_t, chi_squared, f, binomial, noncentral_t or beta", q.Dist)
	p := q.Params
	refuse(len(p) != d.parameters, "%s takes %d parameters, got %d", q.Dist, d.parameters, len(p))
	fraction := q.Dist == "binomial" && (p[0] != math.Trunc(p[0]) || math.Abs(p[0]) > 1<<53)
	refuse(fraction || math.IsNaN(d.of(p).CDF(0)), "%s takes %s, got %v", q.Dist, d.want, p)
	return d.of(p)
}

func answers(_ none, in questions) Result {
	refuse(in.Cases == nil && in.Quantiles == nil, "input needs cases (tails) or quantiles")
	tails := each(in.Cases, "input.cases", func(q question) Result {
		d, x := q.distribution(), needed("x", q.X)
		return Result{{"dist", q.Dist}, {"params", q.Params}, {"x", x}, {"sf", d.Survival(x)}, {"cdf", d.CDF(x)}}
	})
	quantiles := each(in.Quantiles, "input.quantiles", func(q question) Result {
		d, p := q.distribution(), needed("p", q.P)
		refuse(p < 0 || p > 1, "p is %v, expected a probability from 0 to 1", p)
		return Result{{"dist", q.Dist}, {"params", q.Params}, {"p", p}, {"quantile", d.Quantile(p)}}
	})
	return Result{{"cases", tails}, {"quantiles", quantiles}}
}

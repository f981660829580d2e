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
	of         func(p []float64) distribution
}{
	"normal":       {2, func(p []float64) distribution { return dist.Normal{Mean: p[0], SD: p[1]} }},
	"student_t":    {1, func(p []float64) distribution { return dist.StudentT{DF: p[0]} }},
	"chi_squared":  {1, func(p []float64) distribution { return dist.ChiSquared{DF: p[0]} }},
	"f":            {2, func(p []float64) distribution { return dist.F{DF1: p[0], DF2: p[1]} }},
	"binomial":     {2, func(p []float64) distribution { return dist.Binomial{N: int(p[0]), P: p[1]} }},
	"noncentral_t": {2, func(p []float64) distribution { return dist.NoncentralT{DF: p[0], NCP: p[1]} }},
	"beta":         {2, func(p []float64) distribution { return dist.Beta{A: p[0], B: p[1]} }},
}

// distribution makes a distribution of its name and parameters.
func (q question) distribution() distribution {
	d, known := distributions[q.Dist]
	refuse(!known,
		"unknown distribution %q: want normal, student_t, chi_squared, f, binomial, noncentral_t or beta", q.Dist)
	p := q.Params
	refuse(len(p) != d.parameters, "%s takes %d parameters, got %d", q.Dist, d.parameters, len(p))
	refuse(q.Dist == "normal" && !(p[1] > 0),
		"the sd of a normal distribution must be above 0, got %v", p[len(p)-1])
	refuse(q.Dist == "binomial" && (p[0] != math.Trunc(p[0]) || math.Abs(p[0]) > 1<<53),
		"the number of trials of a binomial distribution must be a whole number, got %v", p[0])
	return d.of(p)
}

func answers(_ none, in questions) Result {
	refuse(in.Cases == nil && in.Quantiles == nil, "input needs cases (tails) or quantiles")
	tails := each(in.Cases, "input.cases", func(q question) Result {
		d, x := q.distribution(), q.at("x", q.X)
		return Result{{"dist", q.Dist}, {"params", q.Params}, {"x", x}, {"sf", d.Survival(x)}, {"cdf", d.CDF(x)}}
	})
	quantiles := each(in.Quantiles, "input.quantiles", func(q question) Result {
		d, p := q.distribution(), q.at("p", q.P)
		return Result{{"dist", q.Dist}, {"params", q.Params}, {"p", p}, {"quantile", d.Quantile(p)}}
	})
	return Result{{"cases", tails}, {"quantiles", quantiles}}
}

// at is the place that a question asks about, the value of a key.
func (q question) at(key string, value *float64) float64 {
	refuse(value == nil, "%s is missing", key)
	return *value
}

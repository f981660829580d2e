package procedure

import (
	"errors"
	"fmt"
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
func (q question) distribution() (distribution, error) {
	d, known := distributions[q.Dist]
	switch p := q.Params; {
	case !known:
		return nil, fmt.Errorf("unknown distribution %q: want normal, student_t, chi_squared, f, binomial, noncentral_t or beta", q.Dist)
	case len(p) != d.parameters:
		return nil, fmt.Errorf("%s takes %d parameters, got %d", q.Dist, d.parameters, len(p))
	case q.Dist == "normal" && !(p[1] > 0):
		return nil, fmt.Errorf("the sd of a normal distribution must be above 0, got %v", p[1])
	case q.Dist == "binomial" && (p[0] != math.Trunc(p[0]) || math.Abs(p[0]) > 1<<53):
		return nil, fmt.Errorf("the number of trials of a binomial distribution must be a whole number, got %v", p[0])
	}
	return d.of(q.Params), nil
}

func answers(_ none, in questions) (Result, error) {
	if in.Cases == nil && in.Quantiles == nil {
		return nil, errors.New("input needs cases (tails) or quantiles")
	}
	tails, err := each(in.Cases, "input.cases", func(q question) (Result, error) {
		return q.answer("x", q.X, func(d distribution, x float64) Result { return Result{{"sf", d.Survival(x)}, {"cdf", d.CDF(x)}} })
	})
	if err != nil {
		return nil, err
	}
	quantiles, err := each(in.Quantiles, "input.quantiles", func(q question) (Result, error) {
		return q.answer("p", q.P, func(d distribution, p float64) Result { return Result{{"quantile", d.Quantile(p)}} })
	})
	return Result{{"cases", tails}, {"quantiles", quantiles}}, err
}

// answer looks at a distribution in one place, the value of a key.
func (q question) answer(key string, at *float64, look func(distribution, float64) Result) (Result, error) {
	d, err := q.distribution()
	if err != nil {
		return nil, err
	}
	if at == nil {
		return nil, fmt.Errorf("%s is missing", key)
	}
	return append(Result{{"dist", q.Dist}, {"params", q.Params}, {key, *at}}, look(d, *at)...), nil
}

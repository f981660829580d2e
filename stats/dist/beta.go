package dist

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// largeBeta is a parameter from which gonum's continued fraction, which ends after 300
// terms, loses digits.
const largeBeta = 1e4

// regIncBeta is the regularised incomplete beta function of a and b at x = 1 − y.
func regIncBeta(a, b, x, y float64) float64 {
	switch {
	case math.Max(a, b) < largeBeta, x <= 0, y <= 0:
		return mathext.RegIncBeta(a, b, x)
	case math.IsInf(a+b, 1) || math.IsNaN(x+y):
		return math.NaN()
	}
	// The density of t = log(x/y) − log(a/b) is log-concave with its peak at 0.
	t := math.Log(x/y) - math.Log(a/b)
	if t > 0 {
		return 1 - largeTail(b, a, -t)
	}
	return largeTail(a, b, t)
}

// largeTail integrates the density up to t ≤ 0.
func largeTail(a, b, t float64) float64 {
	norm := logPeak(a) + logPeak(b) - logPeak(a+b)
	logf := func(t float64) float64 { // a·log(x/mean) + b·log(y/mean), by the smaller mean, which cancels less
		if a > b {
			return norm - b*t - (a+b)*math.Log1p(b/(a+b)*math.Expm1(-t))
		}
		return norm + a*t - (a+b)*math.Log1p(a/(a+b)*math.Expm1(t))
	}
	top := logf(t)
	if !(top >= -744) { // below the smallest float64, also where t is −Inf
		return 0
	}
	slope := a - a*math.Exp(t)/(1+a/(a+b)*math.Expm1(t))
	step := 1 / (math.Abs(slope) + math.Sqrt(a/(a+b)*b))
	g := func(t float64) float64 { return math.Exp(logf(t) - top) }
	return math.Min(1, panelled(g, edge(logf, t, -step), t)*math.Exp(top))
}

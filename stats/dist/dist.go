// Package dist holds the distributions that tests need, with lower and upper
// tails that both keep their relative accuracy: a p-value of 1e-60 is 1e-60,
// never 0. It rests on the incomplete beta and gamma functions of gonum and
// knows nothing of data.
//
// CDF is P(X ≤ x), Survival is P(X > x), Quantile inverts CDF. Arguments
// outside of a distribution's parameters (negative degrees of freedom, a
// probability above 1) give NaN.
package dist

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/mathext"

	"github.com/scruple-eval/scruple/stats/internal/root"
)

// Normal is the normal distribution.
type Normal struct{ Mean, SD float64 }

func (d Normal) CDF(x float64) float64 { return Normal{-d.Mean, d.SD}.Survival(-x) }

func (d Normal) Survival(x float64) float64 {
	if !(d.SD > 0) {
		return math.NaN()
	}
	return math.Erfc((x-d.Mean)/(d.SD*math.Sqrt2)) / 2
}

// Quantile starts from the inverse error function, which loses digits in the
// lower tail, and corrects by Newton's method on log CDF.
func (d Normal) Quantile(p float64) float64 {
	if !(p >= 0 && p <= 1) || !(d.SD > 0) {
		return math.NaN()
	}
	if p > 0.5 {
		return d.Mean - d.SD*lowerNormal(1-p)
	}
	return d.Mean + d.SD*lowerNormal(p)
}

// UpperQuantile is the x with P(X > x) = p, exact for tiny p.
func (d Normal) UpperQuantile(p float64) float64 {
	return 2*d.Mean - d.Quantile(p)
}

func lowerNormal(p float64) float64 {
	switch p {
	case 0:
		return math.Inf(-1)
	case 0.5:
		return 0
	}
	z := math.Sqrt2 * math.Erfinv(2*p-1)
	if p < 1e-3 {
		l := math.Sqrt(-2 * math.Log(p)) // the tail's leading terms
		z = -(l - (math.Log(l)+0.5*math.Log(2*math.Pi))/l)
	}
	for range 20 {
		cdf := math.Erfc(-z/math.Sqrt2) / 2
		density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
		step := cdf / density * math.Log(cdf/p)
		if math.IsNaN(step) || math.IsInf(step, 0) {
			break // p is so small that they underflow
		}
		z -= step
		if math.Abs(step) <= 1e-16*math.Abs(z) {
			break
		}
	}
	return z
}

// StudentT is Student's t; fractional degrees of freedom are fine.
type StudentT struct{ DF float64 }

func (d StudentT) CDF(x float64) float64 { return d.Survival(-x) }

func (d StudentT) Survival(x float64) float64 {
	switch {
	case !(d.DF > 0) || math.IsNaN(x):
		return math.NaN()
	case math.IsInf(d.DF, 1):
		return Normal{0, 1}.Survival(x)
	case x < 0:
		return 1 - d.Survival(-x)
	case x > 1e150: // its square may overflow: the first term of the series is all there is
		a := d.DF / 2
		at, _ := math.Lgamma(a + 0.5)
		of, _ := math.Lgamma(a + 1)
		return math.Exp(a*(math.Log(d.DF)-2*math.Log(x))+at-of) / (2 * math.SqrtPi)
	}
	// In the middle the complement loses no digits, and the other form's
	// argument would be rounded to 1.
	if x < 1 {
		return 0.5 - 0.5*regIncBeta(0.5, d.DF/2, x*x/(d.DF+x*x), d.DF/(d.DF+x*x))
	}
	return 0.5 * regIncBeta(d.DF/2, 0.5, d.DF/(d.DF+x*x), x*x/(d.DF+x*x))
}

func (d StudentT) Quantile(p float64) float64 {
	if !(p >= 0 && p <= 1) || !(d.DF > 0) {
		return math.NaN()
	}
	if p > 0.5 {
		return d.UpperQuantile(1 - p)
	}
	return -d.UpperQuantile(p)
}

// UpperQuantile is the x with P(X > x) = p, exact for tiny p.
func (d StudentT) UpperQuantile(p float64) float64 {
	switch {
	case !(p >= 0 && p <= 1) || !(d.DF > 0):
		return math.NaN()
	case p > 0.5:
		return -d.UpperQuantile(1 - p)
	case p == 0.5:
		return 0
	}
	return upper(d.Survival, p, Normal{0, 1}.UpperQuantile(p))
}

// ChiSquared is the chi-squared distribution.
type ChiSquared struct{ DF float64 }

func (d ChiSquared) CDF(x float64) float64 {
	if !(d.DF > 0) || math.IsNaN(x) {
		return math.NaN()
	}
	if x <= 0 {
		return 0
	}
	return mathext.GammaIncReg(d.DF/2, x/2)
}

func (d ChiSquared) Survival(x float64) float64 {
	if !(d.DF > 0) || math.IsNaN(x) {
		return math.NaN()
	}
	if x <= 0 {
		return 1
	}
	return mathext.GammaIncRegComp(d.DF/2, x/2)
}

func (d ChiSquared) Quantile(p float64) float64 { return quantile(d, p, d.DF) }

// F is Fisher's F; fractional degrees of freedom are fine.
type F struct{ DF1, DF2 float64 }

func (d F) CDF(x float64) float64 {
	if !(d.DF1 > 0 && d.DF2 > 0) || math.IsNaN(x) {
		return math.NaN()
	}
	if x <= 0 {
		return 0
	}
	if math.IsInf(d.DF2, 1) {
		return ChiSquared{d.DF1}.CDF(d.DF1 * x)
	}
	return regIncBeta(d.DF1/2, d.DF2/2, d.DF1*x/(d.DF1*x+d.DF2), d.DF2/(d.DF1*x+d.DF2))
}

func (d F) Survival(x float64) float64 {
	if !(d.DF1 > 0 && d.DF2 > 0) || math.IsNaN(x) {
		return math.NaN()
	}
	if x <= 0 {
		return 1
	}
	if math.IsInf(d.DF2, 1) {
		return ChiSquared{d.DF1}.Survival(d.DF1 * x)
	}
	return regIncBeta(d.DF2/2, d.DF1/2, d.DF2/(d.DF1*x+d.DF2), d.DF1*x/(d.DF1*x+d.DF2))
}

func (d F) Quantile(p float64) float64 { return quantile(d, p, 1) }

// Beta is the beta distribution on [0, 1].
type Beta struct{ A, B float64 }

func (d Beta) CDF(x float64) float64 {
	if !(d.A > 0 && d.B > 0) || math.IsNaN(x) {
		return math.NaN()
	}
	x = min(max(x, 0), 1)
	return regIncBeta(d.A, d.B, x, 1-x)
}

func (d Beta) Survival(x float64) float64 { return Beta{d.B, d.A}.CDF(1 - x) }

func (d Beta) Quantile(p float64) float64 {
	if !(p >= 0 && p <= 1) || !(d.A > 0 && d.B > 0) {
		return math.NaN()
	}
	switch p {
	case 0:
		return 0
	case 1:
		return 1
	}
	// Searched on the log-odds scale, so that limits near 0 keep their digits; what
	// lies beyond its ends is 0 or 1.
	const end = 700
	f := func(z float64) float64 {
		x, y := 1/(1+math.Exp(-z)), 1/(1+math.Exp(z))
		if p <= 0.5 || x < 1-p { // 1−x would lose more digits than 1−p
			return math.Log(regIncBeta(d.A, d.B, x, y)) - math.Log(p)
		}
		return math.Log1p(-p) - math.Log(regIncBeta(d.B, d.A, y, x))
	}
	switch z, ok := root.Find(f, -end, end); {
	case ok:
		return 1 / (1 + math.Exp(-z))
	case f(-end) > 0:
		return 0
	case f(end) < 0:
		return 1
	}
	return math.NaN()
}

// Binomial is the number of successes of N independent trials.
type Binomial struct {
	N int
	P float64
}

func (d Binomial) CDF(x float64) float64 {
	k := math.Floor(x)
	switch {
	case d.N < 0 || !(d.P >= 0 && d.P <= 1) || math.IsNaN(x):
		return math.NaN()
	case k < 0:
		return 0
	case k >= float64(d.N):
		return 1
	}
	return regIncBeta(float64(d.N)-k, k+1, 1-d.P, d.P)
}

func (d Binomial) Survival(x float64) float64 {
	k := math.Floor(x)
	switch {
	case d.N < 0 || !(d.P >= 0 && d.P <= 1) || math.IsNaN(x):
		return math.NaN()
	case k < 0:
		return 1
	case k >= float64(d.N):
		return 0
	}
	return regIncBeta(k+1, float64(d.N)-k, d.P, 1-d.P)
}

// Quantile is the smallest k with P(X ≤ k) ≥ p.
func (d Binomial) Quantile(p float64) float64 {
	if !(p >= 0 && p <= 1) || math.IsNaN(d.CDF(0)) {
		return math.NaN()
	}
	// A p that is a CDF up to rounding means that one. Above the middle the
	// complement is compared, which has its digits there.
	reaches := func(k int) bool {
		if p > 0.5 {
			return d.Survival(float64(k)) <= (1-p)*(1+1e-13)
		}
		return d.CDF(float64(k)) >= p*(1-1e-13)
	}
	return float64(sort.Search(d.N, reaches))
}

// Prob is P(X = k).
func (d Binomial) Prob(k int) float64 { return math.Exp(d.LogProb(k)) }

// LogProb is log P(X = k).
func (d Binomial) LogProb(k int) float64 {
	if k < 0 || k > d.N {
		return math.Inf(-1)
	}
	switch {
	case d.P == 0 && k == 0, d.P == 1 && k == d.N:
		return 0
	case d.P == 0, d.P == 1:
		return math.Inf(-1)
	}
	return logChoose(d.N, k) + float64(k)*math.Log(d.P) + float64(d.N-k)*math.Log1p(-d.P)
}

func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n) + 1)
	b, _ := math.Lgamma(float64(k) + 1)
	c, _ := math.Lgamma(float64(n-k) + 1)
	return a - b - c
}

// quantile inverts a distribution on [0, ∞) from whichever tail is smaller.
func quantile(d interface {
	CDF(float64) float64
	Survival(float64) float64
}, p, scale float64) float64 {
	if !(p >= 0 && p <= 1) || math.IsNaN(d.CDF(1)) {
		return math.NaN()
	}
	switch p {
	case 0:
		return 0
	case 1:
		return math.Inf(1)
	}
	if p > 0.5 {
		return upper(d.Survival, 1-p, scale)
	}
	lo := scale
	for d.CDF(lo) > p {
		if lo < 1e-300 {
			return 0
		}
		lo /= 8
	}
	hi := max(lo, scale)
	for d.CDF(hi) < p {
		hi *= 2
	}
	x, _ := root.Find(func(x float64) float64 { return math.Log(d.CDF(x)) - math.Log(p) }, lo, hi)
	return x
}

// upper finds the x with survival(x) = p, starting near start.
func upper(survival func(float64) float64, p, start float64) float64 {
	if p == 0 {
		return math.Inf(1)
	}
	hi := max(start, 1e-3)
	for survival(hi) > p && hi < 1e300 {
		hi *= 2
	}
	lo := hi
	for survival(lo) < p && lo > 1e-300 {
		lo /= 2
	}
	x, ok := root.Find(func(x float64) float64 { return math.Log(p) - math.Log(survival(x)) }, lo, hi)
	if !ok {
		return math.NaN()
	}
	return x
}

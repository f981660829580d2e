package dist

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/scruple-eval/scruple/stats/internal/root"
)

// NoncentralT is the non-central t: (Z + NCP) / √(χ²/DF).
type NoncentralT struct{ DF, NCP float64 }

// CDF integrates P(Z ≤ x·s − NCP) over the distribution of s = √(χ²/DF). All
// terms are positive, so that both tails keep their relative accuracy, where
// the usual series lose the far lower one.
func (d NoncentralT) CDF(x float64) float64 {
	return d.integrate(x, func(z float64) float64 { return Normal{0, 1}.CDF(z) })
}

func (d NoncentralT) Survival(x float64) float64 {
	return d.integrate(x, func(z float64) float64 { return Normal{0, 1}.Survival(z) })
}

// Quantile inverts the CDF.
func (d NoncentralT) Quantile(p float64) float64 {
	if !(p > 0 && p < 1) || !(d.DF > 0) {
		return math.NaN()
	}
	tail, target, sign := d.CDF, p, 1.0
	if p > 0.5 {
		tail, target, sign = NoncentralT{d.DF, -d.NCP}.CDF, 1-p, -1
	}
	centre := sign * d.NCP
	lo, hi := centre-1, centre+1
	for step := 1.0; tail(lo) > target && step < 1e300; step *= 2 {
		lo -= step
	}
	for step := 1.0; tail(hi) < target && step < 1e300; step *= 2 {
		hi += step
	}
	x, ok := root.Find(func(x float64) float64 { return math.Log(tail(x)) - math.Log(target) }, lo, hi)
	if !ok {
		return math.NaN()
	}
	return sign * x
}

const nodes = 24

var legendreX, legendreW = legendre()

func legendre() (x, w [nodes]float64) {
	quad.Legendre{}.FixedLocations(x[:], w[:], -1, 1)
	return x, w
}

// integrate is ∫ tail(x·s − NCP) f(s) ds. The integrand is log-concave: its
// mode is found, then where it has fallen by e⁻⁴² on either side.
func (d NoncentralT) integrate(x float64, tail func(float64) float64) float64 {
	if !(d.DF > 0) || math.IsNaN(x) || math.IsNaN(d.NCP) {
		return math.NaN()
	}
	half := d.DF / 2
	norm := math.Ln2 + logPeak(half)
	// In u = log s: the density is log-concave for every DF, down to 1.
	logf := func(u float64) float64 {
		p := tail(x*math.Exp(u) - d.NCP)
		if p == 0 {
			return math.Inf(-1)
		}
		return norm + half*(2*u-math.Expm1(2*u)) + math.Log(p)
	}
	mode, ok := peak(logf)
	if !ok {
		return 0
	}
	top := logf(mode)
	if top < -744 {
		return 0 // below the smallest float64
	}
	step := 1 / math.Sqrt(d.DF+1)
	g := func(u float64) float64 { return math.Exp(logf(u) - top) }
	return math.Min(1, (panelled(g, edge(logf, mode, -step), mode)+panelled(g, mode, edge(logf, mode, step)))*math.Exp(top))
}

// edge is where a log-concave function has fallen by e⁻⁴², in the direction of step.
func edge(logf func(float64) float64, from, step float64) float64 {
	low := logf(from) - 42
	in, out := from, from
	for logf(out) > low {
		out += step
		step *= 1.5
	}
	for range 8 {
		if m := (in + out) / 2; logf(m) > low {
			in = m
		} else {
			out = m
		}
	}
	return out
}

// logPeak is h·log h − h − log Γ(h), the log density of log χ² with 2h degrees
// of freedom at its peak. All three terms grow like h·log h but the result like
// log h: from 50 on it uses Stirling's series, whose next term is below 1e-16.
func logPeak(h float64) float64 {
	if h < 50 {
		lg, _ := math.Lgamma(h)
		return h*math.Log(h) - h - lg
	}
	q := 1 / (h * h)
	return math.Log(h/(2*math.Pi))/2 - (1.0/12-q*(1.0/360-q*(1.0/1260-q/1680)))/h
}

// panelled integrates over equal Gauss-Legendre panels, twice as many until that changes
// nothing: where the tail falls much faster than the density, two are too few.
func panelled(f func(float64) float64, lo, hi float64) float64 {
	before := math.NaN()
	for panels := 2; ; panels *= 2 {
		width := (hi - lo) / float64(panels)
		var total float64
		for i := range panels {
			mid := lo + (float64(i)+0.5)*width
			for k := range nodes {
				total += legendreW[k] * f(mid+legendreX[k]*width/2)
			}
		}
		total *= width / 2
		if math.Abs(total-before) <= 1e-13*total || panels == 256 {
			return total
		}
		before = total
	}
}

// peak finds the maximum of a log-concave function of u = log s by golden
// section; it is not ok where the function underflows everywhere.
func peak(f func(float64) float64) (float64, bool) {
	const g = 0.6180339887498949
	// Grids first: far from its mass the function is −Inf and shows no slope.
	best, at := math.Inf(-1), 0.0
	grid := func(lo, hi, step float64) {
		for u := lo; u <= hi; u += step {
			if v := f(u); v > best {
				best, at = v, u
			}
		}
	}
	grid(-40, 8, 1)
	grid(at-0.75, at+0.75, 0.25)
	if math.IsInf(best, -1) {
		return 0, false
	}
	lo, hi := at-0.25, at+0.25
	a, b := hi-g*(hi-lo), lo+g*(hi-lo)
	fa, fb := f(a), f(b)
	for range 30 {
		if fa > fb {
			hi, b, fb = b, a, fa
			a = hi - g*(hi-lo)
			fa = f(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + g*(hi-lo)
			fb = f(b)
		}
	}
	return (lo + hi) / 2, true
}

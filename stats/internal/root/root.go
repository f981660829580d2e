// Package root finds where a function of one variable crosses zero. It knows
// no statistics.
package root

import "math"

const eps = 2.220446049250313e-16

// Find gives an x in [lo, hi] where f changes sign, to the last bits of x, by
// Brent's method (Algorithms for Minimization without Derivatives, 1973, §4).
// It is not ok where f has the same sign at both ends or is NaN at one.
func Find(f func(float64) float64, lo, hi float64) (x float64, ok bool) {
	a, b := lo, hi
	fa, fb := f(a), f(b)
	switch {
	case fa == 0:
		return a, true
	case fb == 0:
		return b, true
	case !((fa < 0 && fb > 0) || (fa > 0 && fb < 0)):
		return math.NaN(), false
	}
	c, fc := a, fa
	step, last := b-a, b-a
	for range 300 {
		if math.Abs(fc) < math.Abs(fb) {
			a, b, c = b, c, b
			fa, fb, fc = fb, fc, fb
		}
		tol := eps * math.Abs(b)
		mid := (c - b) / 2
		if math.Abs(mid) <= tol || fb == 0 {
			return b, true
		}
		if math.Abs(last) < tol || math.Abs(fa) <= math.Abs(fb) {
			step, last = mid, mid
		} else {
			step, last = interpolate(a, b, c, fa, fb, fc, mid, step, last, tol)
		}
		a, fa = b, fb
		if math.Abs(step) > tol {
			b += step
		} else {
			b += math.Copysign(math.Max(tol, math.SmallestNonzeroFloat64), mid)
		}
		fb = f(b)
		if math.IsNaN(fb) {
			return math.NaN(), false
		}
		if (fb > 0) == (fc > 0) {
			c, fc = a, fa
			step, last = b-a, b-a
		}
	}
	return b, true
}

// interpolate takes the step of the secant or the inverse parabola, or half
// the bracket where those would leave it or slow down.
func interpolate(a, b, c, fa, fb, fc, mid, step, last, tol float64) (float64, float64) {
	var p, q float64
	s := fb / fa
	if a == c {
		p, q = 2*mid*s, 1-s
	} else {
		r, t := fb/fc, fa/fc
		p = s * (2*mid*t*(t-r) - (b-a)*(r-1))
		q = (t - 1) * (r - 1) * (s - 1)
	}
	if p > 0 {
		q = -q
	} else {
		p = -p
	}
	if 2*p < math.Min(3*mid*q-math.Abs(tol*q), math.Abs(last*q)) {
		return p / q, step
	}
	return mid, mid
}

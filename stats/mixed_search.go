package stats

import (
	"errors"
	"math"
	"slices"
)

// smallSystem is the size of the dense remainder up to which a second search
// from another start costs nothing worth saving.
const smallSystem = 200

// search minimises the criterion in θ. It is even in each θₖ, so the search is
// unconstrained and |θ| taken; then each θₖ = 0 is tried, which a search never
// hits exactly. It starts from 1 and from 0.1, or where an evaluation costs
// something from the estimates of moments.
func (m *Mixed) search() ([]float64, error) {
	k := len(m.system.blocks)
	starts := [][]float64{slices.Repeat([]float64{1}, k), slices.Repeat([]float64{0.1}, k)}
	if m.system.m > smallSystem {
		starts = [][]float64{m.moments()}
	}
	var best []float64
	lowest := math.Inf(1)
	for _, start := range starts {
		theta, v := m.descend(start)
		if v < lowest-1e-9*math.Abs(v) || best == nil {
			best, lowest = theta, v
		}
	}
	if math.IsInf(lowest, 0) || math.IsNaN(lowest) || m.exact(best) {
		return nil, errors.New("stats: the mixed model fits the response exactly or its equations are singular: there is no residual variance to estimate")
	}
	clear := m.farFromZero(best)
	for b := range best {
		if best[b] == 0 || clear[b] {
			continue
		}
		try := slices.Clone(best)
		try[b] = 0
		v := m.criterion(try)
		if v > lowest+1 {
			continue // far worse: no search from there ends below
		}
		if try, v = m.descend(try); v <= lowest+1e-10*math.Abs(lowest) {
			best, lowest = try, v
		}
	}
	return best, nil
}

// moments estimates each θ by itself, from the mean squares between and within
// its groups; not below 0.05, where the search could be caught at 0.
func (m *Mixed) moments() []float64 {
	s := m.system
	n := float64(s.n)
	theta := make([]float64, len(s.blocks))
	for b, k := range s.blocks {
		var between, sizes float64
		for j, count := range k.count {
			between += k.zy[j] * k.zy[j] / count
			sizes += count * count
		}
		q := float64(k.levels)
		ratio := (between / (q - 1)) / ((s.yy - between) / (n - q))
		theta[b] = math.Max(0.05, math.Sqrt(math.Max(0, (ratio-1)*(q-1)/(n-sizes/n))))
	}
	return theta
}

// farFromZero says, for systems whose factor costs something, which θₖ lie so
// many standard errors from 0 that the criterion there need not be looked at:
// by its curvature it would be worse by 50.
func (m *Mixed) farFromZero(theta []float64) []bool {
	far := make([]bool, len(theta))
	if m.system.m <= smallSystem {
		return far
	}
	m.criterion(theta)
	information := m.averageInformation()
	for b, t := range theta {
		far[b] = t*t*information[b][b]/2 > 50
	}
	return far
}

// exact reports whether the residual sum of squares at θ is rounding noise.
func (m *Mixed) exact(theta []float64) bool {
	m.criterion(theta)
	return m.system.rss < 1e-12*m.system.yy
}

const (
	maxSteps = 100
	stepSize = 1e-6 // relative to θ: where the search ends
	// lastStep is the size below which a step of a large system is taken without
	// another gradient: the remaining error is a few percent of it.
	lastStep = 1e-4
)

// descend searches from a start: one step of the fixed-point iteration, which
// is the better one from far away, then quasi-Newton steps whose curvature is
// the average information at each place, corrected by what the gradients of
// the last steps showed (BFGS). A θₖ that starts at 0 stays there, the
// criterion being even.
func (m *Mixed) descend(theta []float64) ([]float64, float64) {
	v := m.criterion(theta)
	if math.IsInf(v, 1) {
		return theta, v
	}
	grad, free := m.slope(m.system.rss / m.df())
	var history []secant
	for k := range maxSteps {
		step := fixedPoint(theta, grad, free)
		if k > 0 {
			newton := newtonStep(inverseHessian(m.averageInformation(), history), grad, theta)
			// A slope without a curvature, where the response is fitted
			// exactly, gives no Newton step.
			if relative(newton, theta) >= stepSize || relative(step, theta) < 100*stepSize {
				step = newton
			}
		}
		length := relative(step, theta)
		if length < stepSize {
			break
		}
		next, nv, ok := m.advance(theta, v, grad, step)
		if !ok {
			break
		}
		if length < lastStep && m.system.m > smallSystem {
			theta, v = next, nv
			break
		}
		var ngrad []float64
		ngrad, free = m.slope(m.system.rss / m.df())
		if k > 0 {
			history = append(history, newSecant(theta, next, grad, ngrad))
		}
		theta, v, grad = next, nv, ngrad
	}
	theta = slices.Clone(theta)
	for k := range theta {
		theta[k] = math.Abs(theta[k])
	}
	return theta, v
}

// fixedPoint moves to the θ at which each gradient would be 0 if the random
// effects and their degrees of freedom were constant, θₖ²·|uₖ|²/σ²/freeₖ
// (Harville 1977; Schall 1991). As grad = 2(free − |u|²/σ²)/θ, the ratio is
// 1 − grad·θ/(2·free).
func fixedPoint(theta, grad, free []float64) []float64 {
	step := make([]float64, len(theta))
	for k, t := range theta {
		if t != 0 {
			ratio := math.Max(1-grad[k]*t/(2*free[k]), 1e-4)
			step[k] = t * (math.Sqrt(ratio) - 1)
		}
	}
	return step
}

// averageInformation is the second derivative of the criterion in θ with its
// traces replaced by their estimates (Gilmour, Thompson & Cullis 1995): for the
// price of one solution a term,
//
//	4/(θₖθₗ)·[uₖᵀ(δₖₗI − Cₖₗ)uₗ/σ² − |uₖ|²|uₗ|²/(νσ⁴)].
func (m *Mixed) averageInformation() [][]float64 {
	s := m.system
	variance := s.rss / m.df()
	h := square(len(s.blocks))
	for l, b := range s.blocks {
		if math.Abs(s.theta[l]) < 1e-9 {
			continue
		}
		x := make([]float64, s.q+s.p)
		copy(x[b.offset:], s.effects(l))
		s.solve(x)
		for k, c := range s.blocks {
			if math.Abs(s.theta[k]) < 1e-9 {
				continue
			}
			var v float64
			for j, u := range s.effects(k) {
				v -= u * x[c.offset+j]
			}
			if k == l {
				v += squares(s.effects(k))
			}
			v -= squares(s.effects(k)) * squares(s.effects(l)) / (m.df() * variance)
			h[k][l] = 4 * v / (s.theta[k] * s.theta[l] * variance)
		}
	}
	return h
}

// inverseHessian inverts the curvature, directions without one left out, and
// applies the history.
func inverseHessian(information [][]float64, history []secant) [][]float64 {
	h := pseudoInverse(information)
	for k := range h {
		for l := range h {
			h[k][l] /= 2
		}
	}
	for _, c := range history {
		c.update(h)
	}
	return h
}

// newtonStep is −H·grad, kept within reach.
func newtonStep(h [][]float64, grad, theta []float64) []float64 {
	step := make([]float64, len(theta))
	shrink := 1.0
	for k := range step {
		for l := range grad {
			step[k] -= h[k][l] * grad[l]
		}
		if reach := 2*math.Abs(theta[k]) + 0.2; math.Abs(step[k])*shrink > reach {
			shrink = reach / math.Abs(step[k])
		}
	}
	for k := range step {
		step[k] *= shrink
	}
	return step
}

// relative returns the largest component of a step relative to its start.
func relative(step, theta []float64) float64 {
	var largest float64
	for k := range step {
		largest = math.Max(largest, math.Abs(step[k])/(math.Abs(theta[k])+1e-3))
	}
	return largest
}

// advance goes along the step as far as the criterion falls enough (Armijo),
// rounding allowed for.
func (m *Mixed) advance(theta []float64, v float64, grad, step []float64) ([]float64, float64, bool) {
	var fall float64
	for k := range step {
		fall += step[k] * grad[k]
	}
	next := make([]float64, len(theta))
	for t := 1.0; t > 1e-4; t /= 3 {
		for k := range next {
			next[k] = theta[k] + t*step[k]
		}
		nv := m.criterion(next)
		if nv <= v+1e-4*t*fall+1e-13*math.Abs(v) {
			return next, nv, true
		}
	}
	return nil, v, false
}

// A secant is a step and the change of the gradient along it.
type secant struct{ step, change []float64 }

func newSecant(from, to, gradFrom, gradTo []float64) secant {
	c := secant{make([]float64, len(from)), make([]float64, len(from))}
	for k := range from {
		c.step[k], c.change[k] = to[k]-from[k], gradTo[k]-gradFrom[k]
	}
	return c
}

// update is the BFGS update of an inverse Hessian. A step that does not show
// positive curvature is left out.
func (c secant) update(h [][]float64) {
	n := len(h)
	s, y, hy := c.step, c.change, make([]float64, n)
	var sy, yhy float64
	for k := range n {
		sy += s[k] * y[k]
		for l := range n {
			hy[k] += h[k][l] * y[l]
		}
		yhy += y[k] * hy[k]
	}
	if !(sy > 0) {
		return
	}
	for k := range n {
		for l := range n {
			h[k][l] += (1+yhy/sy)*s[k]*s[l]/sy - (hy[k]*s[l]+s[k]*hy[l])/sy
		}
	}
}

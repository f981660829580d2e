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
// hits exactly. It starts from 1 and from 0.1.
func (m *Mixed) search() ([]float64, error) {
	k := len(m.system.blocks)
	starts := [][]float64{slices.Repeat([]float64{1}, k), slices.Repeat([]float64{0.1}, k)}
	if m.system.m > smallSystem && k > 0 {
		if m.criterion(starts[1]) < m.criterion(starts[0]) {
			starts[0] = starts[1]
		}
		starts = starts[:1]
	}
	var best []float64
	lowest := math.Inf(1)
	for _, start := range starts {
		theta, v := m.descend(start)
		if v < lowest-1e-9*math.Abs(v) || best == nil {
			best, lowest = theta, v
		}
	}
	if math.IsInf(lowest, 0) || math.IsNaN(lowest) {
		return nil, errors.New("stats: the mixed model fits the response exactly or its equations are singular: there is no residual variance to estimate")
	}
	for b := range best {
		if best[b] == 0 {
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

const (
	maxSteps = 100
	stepSize = 1e-7 // relative to θ: where the search ends
)

// descend is a quasi-Newton search (BFGS) whose first curvature is that of a
// balanced one-way layout. A θₖ that starts at 0 stays there, the criterion
// being even.
func (m *Mixed) descend(theta []float64) ([]float64, float64) {
	theta = slices.Clone(theta)
	v := m.criterion(theta)
	if math.IsInf(v, 1) {
		return theta, v
	}
	grad, curve := m.slope(m.system.rss / m.df())
	h := square(len(theta))
	for k := range h {
		h[k][k] = 1 / math.Max(curve[k], 1e-6)
	}
	for range maxSteps {
		step, largest := newtonStep(h, grad, theta)
		if largest < stepSize {
			break
		}
		next, nv, ok := m.advance(theta, v, grad, step)
		if !ok {
			break
		}
		ngrad, ncurve := m.slope(m.system.rss / m.df())
		if !update(h, theta, next, grad, ngrad) {
			for k := range h {
				clear(h[k])
				h[k][k] = 1 / math.Max(ncurve[k], 1e-6)
			}
		}
		theta, v, grad = next, nv, ngrad
	}
	for k := range theta {
		theta[k] = math.Abs(theta[k])
	}
	return theta, v
}

// newtonStep is −H·grad, kept within reach, and its largest relative part.
func newtonStep(h [][]float64, grad, theta []float64) (step []float64, largest float64) {
	step = make([]float64, len(theta))
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
		largest = math.Max(largest, math.Abs(step[k])/(math.Abs(theta[k])+1e-3))
	}
	return step, largest
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

// update is the BFGS update of the inverse Hessian; false where the step does
// not show positive curvature.
func update(h [][]float64, from, to, gradFrom, gradTo []float64) bool {
	n := len(from)
	s, y, hy := make([]float64, n), make([]float64, n), make([]float64, n)
	var sy, yhy float64
	for k := range n {
		s[k], y[k] = to[k]-from[k], gradTo[k]-gradFrom[k]
		sy += s[k] * y[k]
	}
	if !(sy > 0) {
		return false
	}
	for k := range n {
		for l := range n {
			hy[k] += h[k][l] * y[l]
		}
		yhy += y[k] * hy[k]
	}
	for k := range n {
		for l := range n {
			h[k][l] += (1+yhy/sy)*s[k]*s[l]/sy - (hy[k]*s[l]+s[k]*hy[l])/sy
		}
	}
	return true
}

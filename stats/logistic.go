package stats

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"github.com/scruple-eval/scruple/stats/dist"
)

// Logistic is a fitted logistic mixed model with random intercepts,
//
//	logit P(yᵢ = 1) = (Xβ + Σ Zₖbₖ)ᵢ,  bₖ ~ N(0, θₖ²).
//
// Its methods may be called from several goroutines, and do not depend on what a
// caller does to its slices or to the frame.
type Logistic struct {
	Formula   Formula
	N         int
	Names     []string
	Beta, SE  []float64 // log odds ratios
	Z, P      []float64 // Wald tests
	Random    []RandomTerm
	LogLik    float64 // Laplace approximation
	Singular  bool
	Dropped   []string
	Undefined string // why SE, Z and P are NaN
	Warnings  []string

	frame   *Frame
	formula Formula
}

// FitLogistic fits a logistic mixed model by maximum likelihood, the random
// effects integrated out by Laplace's approximation: at each (θ, β) their mode
// is found by penalised iteratively reweighted least squares. The response is
// a column of 0 and 1. Standard errors come from the Hessian in (θ, β).
//
// Where an effect separates passes from fails its estimate runs off to
// infinity; the result then says so and has no tests.
//
// Reference: R lme4 glmer (nAGQ = 1).
func FitLogistic(f *Frame, formula Formula) (*Logistic, error) {
	if len(formula.Random) == 0 {
		return nil, errors.New("stats: a mixed model needs a random term, such as (1|fragment)")
	}
	f, formula = f.snapshot(), formula.clone()
	l, err := newLaplace(f, formula)
	if err != nil {
		return nil, err
	}
	x, v, err := l.search()
	if err != nil {
		return nil, err
	}
	return l.result(x, v, f, formula), nil
}

// Wald is the normal interval of an estimate, such as a log odds ratio; undefined where its standard
// error is.
func Wald(estimate, se, level float64) Interval {
	if math.IsNaN(se) || checkLevel(level) != nil {
		return undefinedInterval(level)
	}
	return zInterval(estimate, se, level)
}

// laplace is the deviance of a logistic mixed model as a function of (θ, β).
type laplace struct {
	y      []float64
	design *scaledDesign
	terms  []Factor
	order  []int
	q      int

	u    []float64 // mode at the place last looked at; the next search starts there
	eta0 []float64 // Xβ
	eta  []float64
}

func newLaplace(f *Frame, formula Formula) (*laplace, error) {
	y, ok := f.numbers[formula.Response]
	if !ok {
		return nil, fmt.Errorf("stats: the response %s is not a numeric column", formula.Response)
	}
	if len(y) == 0 {
		return nil, errEmpty
	}
	var passes int
	for i, v := range y {
		if v != 0 && v != 1 {
			return nil, rowError(i, "has the response %s %v, expected 0 or 1", formula.Response, v)
		}
		passes += int(v)
	}
	if passes == 0 || passes == len(y) {
		return nil, fmt.Errorf("stats: the response %s is %v in every row", formula.Response, y[0])
	}
	design, err := newDesignMatrix(f, formula.Fixed)
	if err != nil {
		return nil, err
	}
	if f.n <= design.columns() {
		return nil, fmt.Errorf("stats: %d rows for %d fixed effects", f.n, design.columns())
	}
	terms, order, err := groupings(f, formula.Random)
	if err != nil {
		return nil, err
	}
	scaled := newScaledDesign(design, y)
	scaled.yMean, scaled.ySD = 0, 1 // log odds have no unit
	l := &laplace{y: y, design: scaled, terms: terms, order: order, eta0: make([]float64, f.n), eta: make([]float64, f.n)}
	for _, t := range terms {
		l.q += len(t.Levels)
	}
	if l.q-len(terms[0].Levels) > maxDense {
		return nil, fmt.Errorf("stats: crossed grouping factors with more than %d connected levels: remove the smaller one", maxDense)
	}
	l.u = make([]float64, l.q)
	return l, nil
}

// noColumns is an X without columns: β is not solved for with the random
// effects.
type noColumns struct{}

func (noColumns) columns() int                 { return 0 }
func (noColumns) each(int, func(int, float64)) {}

// linear sets η = Xβ + ZΛu.
func (l *laplace) linear(theta, u []float64) {
	copy(l.eta, l.eta0)
	at := 0
	for b, t := range l.terms {
		for i, c := range t.Codes {
			l.eta[i] += theta[b] * u[at+int(c)]
		}
		at += len(t.Levels)
	}
}

// penalised is −2 log P(y | u) + |u|².
func (l *laplace) penalised(theta, u []float64) float64 {
	l.linear(theta, u)
	v := squares(u)
	for i, eta := range l.eta {
		if l.y[i] == 0 {
			eta = -eta
		}
		// log(1 + e^−η) without overflow.
		v += 2 * (math.Max(-eta, 0) + math.Log1p(math.Exp(-math.Abs(eta))))
	}
	return v
}

// deviance is −2 log-likelihood at (θ, β); infinite where the mode is not
// found.
func (l *laplace) deviance(x []float64) float64 {
	k := len(l.terms)
	theta, beta := x[:k], x[k:]
	for i := range l.eta0 {
		l.eta0[i] = 0
		l.design.each(i, func(c int, v float64) { l.eta0[i] += beta[c] * v })
	}
	v := l.penalised(theta, l.u)
	for range 200 {
		s, ok := l.equations(theta)
		if !ok {
			return math.Inf(1)
		}
		step := l.score(theta)
		s.solve(step)
		l.u, v = l.along(theta, step, v)
		// The deviance is flat in u at the mode, the determinant is not: what
		// must be small is the step.
		if slices.Max(step) < modeStep && slices.Min(step) > -modeStep {
			s, ok = l.equations(theta)
			if !ok {
				return math.Inf(1)
			}
			return v + s.logDetZ
		}
	}
	return math.Inf(1)
}

// equations factors ΛᵀZᵀWZΛ+I at the current η.
func (l *laplace) equations(theta []float64) (*system, bool) {
	w := make([]float64, len(l.eta))
	for i, eta := range l.eta {
		p := 1 / (1 + math.Exp(-math.Abs(eta)))
		w[i] = p * (1 - p)
	}
	s := newSystem(len(l.y), l.terms, noColumns{}, func(i int) float64 { return w[i] }, func(int) float64 { return 0 })
	s.allocate()
	s.gatherDense()
	return s, s.factorMatrix(theta)
}

// score is ΛᵀZᵀ(y − μ) − u.
func (l *laplace) score(theta []float64) []float64 {
	out := make([]float64, l.q)
	at := 0
	for b, t := range l.terms {
		for i, c := range t.Codes {
			out[at+int(c)] += theta[b] * (l.y[i] - 1/(1+math.Exp(-l.eta[i])))
		}
		at += len(t.Levels)
	}
	for j, u := range l.u {
		out[j] -= u
	}
	return out
}

// modeStep is Newton's step, in units of a random effect's sd, after which the
// mode counts as found.
const modeStep = 1e-8

// along halves the step until the penalised deviance does not rise.
func (l *laplace) along(theta, step []float64, v float64) ([]float64, float64) {
	next := make([]float64, len(l.u))
	for t := 1.0; t > 1e-6; t /= 2 {
		for j := range next {
			next[j] = l.u[j] + t*step[j]
		}
		if nv := l.penalised(theta, next); nv <= v+1e-13*math.Abs(v) {
			return next, nv
		}
	}
	return l.u, l.penalised(theta, l.u)
}

// steep is the slope of the deviance, over the root of the number of rows, from which on
// a place is not a minimum.
const steep = 1e-3

// search minimises the deviance over (θ, β) from θ = 1 and the intercept's log
// odds.
func (l *laplace) search() (x []float64, v float64, err error) {
	k := len(l.terms)
	start := make([]float64, k+l.design.columns())
	for b := range k {
		start[b] = 1
	}
	share := mean(l.y)
	start[k] = math.Log(share / (1 - share))
	problem := optimize.Problem{Func: l.deviance, Grad: func(grad, x []float64) {
		fd.Gradient(grad, l.deviance, x, &fd.Settings{Formula: fd.Central, Step: 1e-4})
	}}
	settings := &optimize.Settings{GradientThreshold: 1e-5, MajorIterations: 200,
		Converger: &optimize.FunctionConverge{Relative: 1e-11, Iterations: 5}}
	r, err := optimize.Minimize(problem, start, settings, &optimize.BFGS{})
	if r == nil || math.IsInf(r.F, 0) || math.IsNaN(r.F) {
		return nil, 0, fmt.Errorf("stats: the logistic mixed model could not be fitted: %w", err)
	}
	// A line search that is down to rounding noise also ends the search: what tells is
	// the slope.
	grad := make([]float64, len(r.X))
	problem.Grad(grad, r.X)
	if slope := floats.Norm(grad, math.Inf(1)); !(slope < steep*math.Sqrt(float64(len(l.y)))) {
		return nil, 0, fmt.Errorf("stats: the search for the logistic mixed model did not converge (an effect may separate passes from fails): %w", cmp.Or(err, errors.New(r.Status.String())))
	}
	x, v = r.X, r.F
	for b := range k {
		x[b] = math.Abs(x[b])
		try := slices.Clone(x)
		try[b] = 0
		if w := l.deviance(try); w <= v+1e-8 {
			x, v = try, w
		}
	}
	return x, l.deviance(x), nil
}

// separated is a log odds ratio, of a level or between the least and the largest number, that
// no sane data give, and vague a standard error of one that goes with it.
const separated, vague = 12, 100

func (l *laplace) result(x []float64, v float64, f *Frame, formula Formula) *Logistic {
	k := len(l.terms)
	r := &Logistic{Formula: formula.clone(), N: f.n, Names: l.design.Names, Beta: l.design.coefficients(x[k:]), LogLik: -v / 2, Dropped: l.design.Dropped, frame: f, formula: formula}
	modes := slices.Clone(l.u)
	offset := make([]int, k+1)
	for b, t := range l.terms {
		offset[b+1] = offset[b] + len(t.Levels)
	}
	for t, name := range formula.Random {
		b := l.order[t]
		term := RandomTerm{Name: name, Levels: slices.Clone(l.terms[b].Levels), Theta: x[b], SD: x[b], Variance: x[b] * x[b]}
		for _, u := range modes[offset[b]:offset[b+1]] {
			term.Modes = append(term.Modes, x[b]*u)
		}
		r.Random = append(r.Random, term)
		if term.Theta < singularTheta {
			r.Singular = true
			r.Warnings = append(r.Warnings, fmt.Sprintf("the variance of %s is estimated as 0 (singular fit)", name))
		}
	}
	for _, name := range r.Dropped {
		r.Warnings = append(r.Warnings, fmt.Sprintf("column %s is a linear combination of earlier ones and was dropped", name))
	}
	p := len(r.Beta)
	r.SE, r.Z, r.P = undefinedNumbers(p), undefinedNumbers(p), undefinedNumbers(p)
	span := slices.Repeat([]float64{1}, p)
	for _, t := range l.design.Terms {
		if c := t.Columns[0]; t.Number != nil && c >= 0 {
			span[c] = floats.Max(t.Number) - floats.Min(t.Number)
		}
	}
	cov, ok := l.covariance(x)
	for c := 1; c < p; c++ {
		if math.Abs(r.Beta[c])*span[c] > separated && !(ok && math.Sqrt(cov[c][c])*span[c] < vague) {
			r.Undefined = "complete separation: the estimate of an effect diverges"
			r.Warnings = append(r.Warnings, r.Undefined)
			return r
		}
	}
	if !ok {
		r.Undefined = "the likelihood has no maximum in some direction"
		return r
	}
	for c := range p {
		r.SE[c] = math.Sqrt(cov[c][c])
		r.Z[c] = r.Beta[c] / r.SE[c]
		r.P[c] = 2 * dist.Normal{Mean: 0, SD: 1}.Survival(math.Abs(r.Z[c]))
	}
	return r
}

func undefinedNumbers(n int) []float64 { return slices.Repeat([]float64{math.NaN()}, n) }

// covariance is the part of β in 2H⁻¹, H the Hessian of the deviance in
// (θ, β) by second differences; θs at 0 are left out.
func (l *laplace) covariance(x []float64) ([][]float64, bool) {
	var free []int
	for j := range x {
		if j >= len(l.terms) || x[j] >= singularTheta {
			free = append(free, j)
		}
	}
	const h = 1e-3
	at := func(a int, da float64, b int, db float64) float64 {
		y := slices.Clone(x)
		y[a] += da
		y[b] += db
		return l.deviance(y)
	}
	n := len(free)
	hessian := mat.NewSymDense(n, nil)
	for i, a := range free {
		for j := i; j < n; j++ {
			b := free[j]
			hessian.SetSym(i, j, (at(a, h, b, h)-at(a, h, b, -h)-at(a, -h, b, h)+at(a, -h, b, -h))/(4*h*h))
		}
	}
	l.deviance(x)
	var chol mat.Cholesky
	if !chol.Factorize(hessian) {
		return nil, false
	}
	var inverse mat.SymDense
	if chol.InverseTo(&inverse) != nil {
		return nil, false
	}
	p := len(x) - len(l.terms)
	inner := square(p)
	for i := range p {
		for j := range p {
			inner[i][j] = inverse.At(n-p+i, n-p+j)
		}
	}
	return sandwich(l.design.back(), inner, 2), true
}

// WithoutFixed refits without a fixed effect and compares by likelihood ratio.
func (l *Logistic) WithoutFixed(name string) (LikelihoodRatio, error) {
	null := l.formula.clone()
	null.Fixed = slices.DeleteFunc(null.Fixed, func(t string) bool { return t == name })
	if len(null.Fixed) == len(l.formula.Fixed) {
		return LikelihoodRatio{}, fmt.Errorf("stats: %s is not a fixed effect of the model", name)
	}
	less, err := FitLogistic(l.frame, null)
	if err != nil {
		return LikelihoodRatio{}, err
	}
	return likelihoodRatio(name, l.LogLik, less.LogLik, len(l.Beta)-len(less.Beta)), nil
}

package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
)

// Mixed is a fitted linear mixed model with random intercepts,
//
//	y = Xβ + Σ Zₖbₖ + ε,  bₖ ~ N(0, (θₖσ)²),  ε ~ N(0, σ²).
//
// Its methods may be called from several goroutines, and do not depend on what a
// caller does to its slices or to the frame.
type Mixed struct {
	Formula     Formula
	REML        bool // else maximum likelihood
	N           int
	Names       []string // of the fixed effects
	Beta, SE    []float64
	Vcov        [][]float64 // of Beta
	Random      []RandomTerm
	Sigma       float64
	Criterion   float64 // −2 log-likelihood, REML's or ML's
	LogLik      float64
	Parameters  int // fixed effects, variances and σ
	AIC, BIC    float64
	Singular    bool     // some variance is estimated as 0
	Dropped     []string // columns of X that are linear combinations of others
	Evaluations int      // of the criterion
	Warnings    []string

	frame   *Frame
	formula Formula // like beta and vcov, the methods' own
	design  *designMatrix
	scaled  *scaledDesign
	system  *system
	beta    []float64
	vcov    [][]float64
	theta   []float64 // by block of system
	value   float64   // of the criterion at the θ last factored
	order   []int     // block of each term of Formula.Random

	// joint is computed when a test first needs it, which a likelihood ratio does
	// not; it is the only thing that uses system after the fit.
	joint func() *jointCovariance
}

// MixedOptions say how a mixed model is fitted.
type MixedOptions struct {
	ML bool // by maximum likelihood, not restricted maximum likelihood (REML)
}

// RandomTerm is one random intercept.
type RandomTerm struct {
	Name         string
	Levels       []string
	Theta        float64   // sd / σ
	SD, Variance float64   // of the random effect
	Modes        []float64 // conditional modes (BLUPs), by level
}

// singularTheta is lme4's bound below which a variance counts as 0.
const singularTheta = 1e-5

// maxDense bounds the dense part of the equations, as columns.
const maxDense = 6000

// FitMixed fits a linear mixed model with random intercepts, crossed, nested
// or both, by restricted maximum likelihood (REML) or, for comparing fixed effects
// by likelihood ratio, by maximum likelihood.
//
// It rejects models without a solution: a grouping factor with one level or as many
// levels as rows, two identical groupings, a constant response, fewer rows than
// columns. It drops columns of X that are linear combinations of earlier ones, with
// a warning. A variance estimated as 0 (Singular) is a result, with a warning.
//
// Reference: R lme4 (Bates et al. 2015, J. Stat. Softw. 67/1) for definitions,
// MixedModels.jl for the blocked Cholesky factorisation, lmerTest for tests.
// The profiled criterion is minimised in θ with its analytic gradient; only
// cross-products are kept, nothing of the size of the data.
func FitMixed(f *Frame, formula Formula, o MixedOptions) (*Mixed, error) {
	if len(formula.Random) == 0 {
		return nil, errors.New("stats: a mixed model needs a random term, such as (1|document)")
	}
	return fitMixed(f.snapshot(), formula.clone(), !o.ML)
}

// fitMixed keeps the frame and the formula.
func fitMixed(f *Frame, formula Formula, reml bool) (*Mixed, error) {
	y, ok := f.numbers[formula.Response]
	if !ok {
		return nil, fmt.Errorf("stats: the response %s is not a numeric column", formula.Response)
	}
	design, err := newDesignMatrix(f, formula.Fixed)
	if err != nil {
		return nil, err
	}
	if f.n <= design.columns() {
		return nil, fmt.Errorf("stats: %d rows for %d fixed effects: too few to estimate a variance", f.n, design.columns())
	}
	terms, order, err := groupings(f, formula.Random)
	if err != nil {
		return nil, err
	}
	scaled := newScaledDesign(design, y)
	if negligible(scaled.ySD, scaled.yMean) {
		return nil, fmt.Errorf("stats: the response %s is constant", formula.Response)
	}
	m := &Mixed{Formula: formula.clone(), REML: reml, N: f.n, Names: slices.Clone(design.Names), Dropped: slices.Clone(design.Dropped),
		frame: f, formula: formula, design: design, scaled: scaled, order: order}
	m.joint = sync.OnceValue(m.jointCovariance)
	m.system = newSystem(f.n, terms, scaled, func(int) float64 { return 1 }, scaled.response(y))
	if m.system.m > maxDense {
		return nil, fmt.Errorf("stats: crossed grouping factors make %d coupled equations, more than %d: aggregate, or remove the smaller one", m.system.m, maxDense)
	}
	m.system.allocate()
	m.system.gatherDense()
	if m.theta, err = m.search(); err != nil {
		return nil, err
	}
	m.finish(terms)
	m.warn()
	return m, nil
}

// groupings gives the grouping factors sorted by levels, most first, and where
// each named one went.
func groupings(f *Frame, names []string) ([]Factor, []int, error) {
	factors, fewer := make([]Factor, len(names)), make([]int, len(names))
	for k, name := range names {
		v, err := f.factor(name)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case len(v.Levels) < 2:
			return nil, nil, fmt.Errorf("stats: grouping factor %s has one level (%s): its variance is not identified; remove it", name, strings.Join(v.Levels, ""))
		case len(v.Levels) >= f.n:
			return nil, nil, fmt.Errorf("stats: grouping factor %s has as many levels as there are rows (%d): its variance and the residual one are confounded", name, f.n)
		}
		for other := range k {
			if len(factors[other].Levels) == len(v.Levels) && len(crossed(factors[other], v).Levels) == len(v.Levels) {
				return nil, nil, fmt.Errorf("stats: grouping factors %s and %s group the rows identically: remove one", names[other], name)
			}
		}
		factors[k], fewer[k] = v, -len(v.Levels)
	}
	sorted, order := make([]Factor, len(names)), make([]int, len(names))
	for b, k := range ascending(fewer) {
		sorted[b], order[k] = factors[k], b
	}
	return sorted, order, nil
}

// A scaledDesign is a design whose numbers are centred and scaled, as is the
// response, which keeps the cross-products well conditioned.
type scaledDesign struct {
	*designMatrix
	mean, scale []float64 // of columns; 0 and 1 for those of factors
	yMean, ySD  float64
}

func newScaledDesign(d *designMatrix, y []float64) *scaledDesign {
	mean, scale := d.moments()
	s := &scaledDesign{designMatrix: d, mean: make([]float64, d.columns()), scale: make([]float64, d.columns())}
	for c := range s.scale {
		s.scale[c] = 1
	}
	for _, t := range d.Terms {
		if c := t.Columns[0]; t.Number != nil && c >= 0 {
			s.mean[c], s.scale[c] = mean[c], scale[c]
		}
	}
	n := float64(len(y))
	s.yMean = sum(y) / n
	s.ySD = math.Sqrt(sumSquares(y, s.yMean) / n)
	return s
}

func (s *scaledDesign) each(i int, visit func(int, float64)) {
	visit(0, 1)
	for k := range s.Terms {
		t := &s.Terms[k]
		if t.Factor == nil {
			if c := t.Columns[0]; c >= 0 {
				visit(c, (t.Number[i]-s.mean[c])/s.scale[c])
			}
		} else if l := t.Factor.Codes[i]; l > 0 && t.Columns[l-1] >= 0 {
			visit(t.Columns[l-1], 1)
		}
	}
}

// response gives the scaled response, row by row.
func (s *scaledDesign) response(y []float64) byRow {
	return func(i int) float64 { return (y[i] - s.yMean) / s.ySD }
}

// back turns coefficients of the scaled problem into those of the data; as a
// matrix it also turns covariances.
func (s *scaledDesign) back() [][]float64 {
	p := s.columns()
	b := square(p)
	for c := range p {
		b[c][c] = s.ySD / s.scale[c]
		b[0][c] -= b[c][c] * s.mean[c]
	}
	return b
}

// coefficients are those of the data.
func (s *scaledDesign) coefficients(scaled []float64) []float64 {
	out := make([]float64, len(scaled))
	for r, row := range s.back() {
		for c, b := range scaled {
			out[r] += row[c] * b
		}
	}
	out[0] += s.yMean
	return out
}

func square(n int) [][]float64 {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
	}
	return m
}

// df is what the residual variance is divided by.
func (m *Mixed) df() float64 {
	if m.REML {
		return float64(m.N - m.system.p)
	}
	return float64(m.N)
}

// criterion is −2 log-likelihood profiled over β and σ; infinite if it cannot be
// computed.
func (m *Mixed) criterion(theta []float64) float64 {
	s := m.system
	if m.Evaluations > 0 && slices.Equal(theta, s.theta) {
		return m.value // factored already
	}
	m.Evaluations++
	m.value = m.evaluate(theta)
	return m.value
}

func (m *Mixed) evaluate(theta []float64) float64 {
	s := m.system
	if !s.factor(theta) {
		return math.Inf(1)
	}
	df := m.df()
	v := s.logDetZ + df*(1+math.Log(2*math.Pi*s.rss*m.scaled.ySD*m.scaled.ySD/df))
	if m.REML {
		v += s.logDetX
		for _, w := range m.scaled.scale {
			v += 2 * math.Log(w)
		}
	}
	return v
}

// slope gives the gradient of the criterion at the θ last factored, for the
// residual variance given, in the units of the scaled problem: with V = I +
// Σ θₖ²ZₖZₖᵀ, ∂log|V|/∂θₖ = 2(qₖ − tr Cₖₖ)/θₖ, where C is the inverse of the
// equations, and ∂rss/∂θₖ = −2|uₖ|²/θₖ. free is qₖ − tr Cₖₖ, the degrees of
// freedom that a term's random effects use.
func (m *Mixed) slope(variance float64) (grad, free []float64) {
	s := m.system
	traces := s.traces(m.REML)
	grad, free = make([]float64, len(traces)), make([]float64, len(traces))
	for b, k := range s.blocks {
		t := s.theta[b]
		if math.Abs(t) < 1e-9 {
			continue // even in θ
		}
		free[b] = float64(k.levels) - traces[b]
		grad[b] = 2 * (free[b] - squares(s.effects(b))/variance) / t
	}
	return grad, free
}

func squares(xs []float64) float64 {
	var v float64
	for _, x := range xs {
		v += x * x
	}
	return v
}

// finish computes the results at the optimum.
func (m *Mixed) finish(terms []Factor) {
	m.Criterion = m.criterion(m.theta)
	s := m.system
	variance := s.rss / m.df()
	m.Sigma = math.Sqrt(variance) * m.scaled.ySD
	m.LogLik = -m.Criterion / 2
	m.Parameters = s.p + len(s.blocks) + 1
	m.AIC = m.Criterion + 2*float64(m.Parameters)
	m.BIC = m.Criterion + math.Log(float64(m.N))*float64(m.Parameters)
	m.beta = m.scaled.coefficients(s.x[s.q:])
	m.Beta = slices.Clone(m.beta)
	for k, name := range m.Formula.Random {
		b := m.order[k]
		theta := m.theta[b]
		sd := theta * m.Sigma
		t := RandomTerm{Name: name, Levels: slices.Clone(terms[b].Levels), Theta: theta, SD: sd, Variance: sd * sd}
		for _, u := range s.effects(b) {
			t.Modes = append(t.Modes, theta*u*m.scaled.ySD)
		}
		m.Random = append(m.Random, t)
		m.Singular = m.Singular || theta < singularTheta
	}
	m.vcov = sandwich(m.scaled.back(), m.fixedInverse(s.fixedColumns()), variance)
	m.SE = make([]float64, s.p)
	for c, row := range m.vcov {
		m.SE[c] = math.Sqrt(row[c])
		m.Vcov = append(m.Vcov, slices.Clone(row))
	}
}

// fixedInverse is (XᵀV⁻¹X)⁻¹ of the scaled problem.
func (m *Mixed) fixedInverse(columns [][]float64) [][]float64 {
	s := m.system
	out := square(s.p)
	for a := range s.p {
		for b := range s.p {
			out[a][b] = (columns[b][s.q+a] + columns[a][s.q+b]) / 2
		}
	}
	return out
}

// sandwich is w·B M Bᵀ.
func sandwich(b, m [][]float64, w float64) [][]float64 {
	n := len(b)
	half, out := square(n), square(n)
	for i := range n {
		for j := range n {
			for k := range n {
				half[i][j] += b[i][k] * m[k][j]
			}
		}
	}
	for i := range n {
		for j := range n {
			for k := range n {
				out[i][j] += w * half[i][k] * b[j][k]
			}
		}
	}
	return out
}

func (m *Mixed) warn() {
	for _, name := range m.Dropped {
		m.Warnings = append(m.Warnings, fmt.Sprintf("column %s is a linear combination of earlier ones and was dropped", name))
	}
	for _, t := range m.Random {
		if t.Theta >= singularTheta {
			continue
		}
		w := fmt.Sprintf("the variance of %s is estimated as 0 (singular fit)", t.Name)
		if len(t.Levels) <= fewLevels {
			w += fmt.Sprintf(": %d levels are few for a variance; consider a fixed effect", len(t.Levels))
		}
		m.Warnings = append(m.Warnings, w)
	}
	if off := m.rounding(); off > 1e-5 {
		m.Warnings = append(m.Warnings, fmt.Sprintf("the residual standard deviation is %.1g of the response's: the random effects explain nearly everything, and −2 log-likelihood has an error of up to %.0g", m.Sigma/m.scaled.ySD, off))
	}
	m.warnReplicated()
}

// rounding bounds the rounding error of the criterion at the θ last factored: the
// residual sum of squares is a difference from the response's, so its relative
// error grows as it shrinks.
func (m *Mixed) rounding() float64 {
	const eps = 0x1p-52
	return 8 * m.df() * eps * m.system.yy / m.system.rss
}

// fewLevels is the number of levels up to which a grouping factor is offered
// as a fixed effect.
const fewLevels = 6

// warnReplicated looks for a fixed factor that varies within the largest
// group with several rows in each combination: without a random effect of the
// combination those count as independent and its standard error is too small.
func (m *Mixed) warnReplicated() {
	if len(m.Formula.Random) == 0 {
		return
	}
	group := m.Formula.Random[slices.Index(m.order, 0)]
	g, err := m.frame.factor(group)
	if err != nil {
		return
	}
	for _, t := range m.design.Terms {
		if t.Factor == nil || slices.ContainsFunc(m.Formula.Random, func(r string) bool {
			return slices.Contains(strings.Split(r, ":"), t.Name)
		}) {
			continue
		}
		cells := len(crossed(g, *t.Factor).Levels)
		if cells > len(g.Levels)*5/4 && m.N > cells*3/2 {
			m.Warnings = append(m.Warnings, fmt.Sprintf("%d rows in %d combinations of %s and %s: without (1|%s:%s) the standard error of %s is too small; add it, or aggregate",
				m.N, cells, group, t.Name, group, t.Name, t.Name))
		}
	}
}

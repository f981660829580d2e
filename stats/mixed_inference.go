package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/scruple-eval/scruple/stats/dist"
)

// Estimate is a fixed effect or a contrast of them with its t-test.
type Estimate struct {
	Name  string   `json:"name"`
	Value float64  `json:"estimate"`
	SE    float64  `json:"se"`
	DF    float64  `json:"df"` // Satterthwaite
	T     float64  `json:"t"`  // of Value = 0
	P     float64  `json:"p"`  // two-sided
	CI    Interval `json:"ci95"`

	Undefined string `json:"undefined_reason,omitzero"`
}

// Interval is the confidence interval of another level.
func (e Estimate) Interval(level float64) Interval {
	if checkLevel(level) != nil || !(e.SE > 0) || !(e.DF > 0) {
		return undefinedInterval(level)
	}
	return tInterval(e.Value, e.SE, e.DF, level)
}

// TermTest is an F test that all columns of a fixed effect are 0.
type TermTest struct {
	Term  string  `json:"term"`
	F     float64 `json:"f"`
	NumDF float64 `json:"num_df"`
	DenDF float64 `json:"den_df"`
	P     float64 `json:"p"`

	Undefined string `json:"undefined_reason,omitzero"`
}

// PairEstimate is the difference of two levels of a factor, a − b.
type PairEstimate struct {
	A, B string
	Estimate
	PHolm, PBonferroni float64 // over all pairs
}

// LikelihoodRatio compares two nested models.
type LikelihoodRatio struct {
	Dropped    string  `json:"dropped_term"`
	LogLikNull float64 `json:"null_log_lik"`
	Chi2       float64 `json:"chi2"`
	DF         float64 `json:"df"`
	P          float64 `json:"p"`

	Undefined string `json:"undefined_reason,omitzero"`
}

// jointCovariance is what Satterthwaite's degrees of freedom need: the
// covariance of (θ, σ) and how that of β changes with them.
type jointCovariance struct {
	cov [][]float64
	jac [][][]float64
}

// Coefficients tests each fixed effect.
func (m *Mixed) Coefficients(level float64) ([]Estimate, error) {
	out := make([]Estimate, len(m.beta))
	for c, name := range m.design.Names {
		w := make([]float64, len(m.beta))
		w[c] = 1
		var err error
		if out[c], err = m.Contrast(name, w, level); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Contrast estimates Σ weightⱼβⱼ with degrees of freedom after Satterthwaite,
// as lmerTest computes them (Kuznetsova et al. 2017, J. Stat. Softw. 82/13):
// 2·var²/(gᵀAg), g the gradient of the contrast's variance in (θ, σ), A their
// asymptotic covariance. Derivatives are taken in θ, the standard-deviation
// scale, so that a θ of 0 contributes none.
func (m *Mixed) Contrast(name string, weights []float64, level float64) (Estimate, error) {
	if err := checkLevel(level); err != nil {
		return Estimate{}, err
	}
	if len(weights) != len(m.beta) {
		return Estimate{}, fmt.Errorf("stats: contrast %s has %d weights for %d fixed effects", name, len(weights), len(m.beta))
	}
	e := Estimate{Name: name, DF: math.NaN(), T: math.NaN(), P: math.NaN(), CI: undefinedInterval(level)}
	for c, w := range weights {
		e.Value += w * m.beta[c]
	}
	variance := quadratic(weights, m.vcov)
	e.SE = math.Sqrt(variance)
	e.DF = m.satterthwaite(weights, variance)
	if !(e.SE > 0) || !(e.DF > 0) {
		e.Undefined = "the contrast has no standard error or no degrees of freedom"
		return e, nil
	}
	e.T = e.Value / e.SE
	e.P = 2 * dist.StudentT{DF: e.DF}.Survival(math.Abs(e.T))
	e.CI = e.Interval(level)
	return e, nil
}

// quadratic is wᵀMw.
func quadratic(w []float64, m [][]float64) float64 {
	var v float64
	for a, x := range w {
		if x == 0 {
			continue
		}
		for b, y := range w {
			v += x * y * m[a][b]
		}
	}
	return v
}

func (m *Mixed) satterthwaite(weights []float64, variance float64) float64 {
	joint := m.joint()
	g := make([]float64, len(joint.jac))
	for k, jac := range joint.jac {
		g[k] = quadratic(weights, jac)
	}
	return 2 * variance * variance / quadratic(g, joint.cov)
}

// jointCovariance takes the Hessian of the criterion in (θ, σ), σ not profiled
// out, by central differences of its analytic gradient in θ and exactly in σ,
// all in the units of the scaled problem. It factors the system anew.
func (m *Mixed) jointCovariance() *jointCovariance {
	s := m.system
	k := len(s.blocks)
	df := m.df()
	s.factor(m.theta)
	variance := s.rss / df
	sigma := math.Sqrt(variance)
	hessian := square(k + 1)
	hessian[k][k] = 4 * df / variance
	for b := range s.blocks {
		hessian[b][k] = 4 * squares(s.effects(b)) / (m.theta[b] * variance * sigma)
		if m.theta[b] < singularTheta {
			hessian[b][k] = 0
		}
		hessian[k][b] = hessian[b][k]
	}
	j := &jointCovariance{jac: m.jacobian(variance)}
	for b := range s.blocks {
		if m.theta[b] < singularTheta {
			continue // even: no slope, nothing in common with the others
		}
		h := 1e-4 * m.theta[b]
		up, down := m.slopeAt(b, h, variance), m.slopeAt(b, -h, variance)
		for c := range k {
			d := (up[c] - down[c]) / (4 * h)
			hessian[b][c] += d
			hessian[c][b] += d
		}
	}
	unit := append(slices.Clone(m.theta), 1)
	rescale := func(matrix [][]float64) {
		for a := range matrix {
			for b := range matrix {
				matrix[a][b] *= math.Max(1, unit[a]) * math.Max(1, unit[b])
			}
		}
	}
	rescale(hessian) // the curvature in a large θ goes as 1/θ²: that in log θ tells whether it is flat
	j.cov = pseudoInverse(hessian)
	rescale(j.cov)
	return j
}

func (m *Mixed) slopeAt(b int, h, variance float64) []float64 {
	theta := slices.Clone(m.theta)
	theta[b] += h
	m.system.factor(theta)
	grad, _ := m.slope(variance)
	return grad
}

// jacobian is the derivative of the covariance of β in each θ and in σ. With C
// the inverse of the equations, ∂(XᵀV⁻¹X)⁻¹/∂θₖ = 2 CₖₓᵀCₖₓ/θₖ.
func (m *Mixed) jacobian(variance float64) [][][]float64 {
	s := m.system
	columns := s.fixedColumns()
	back := m.scaled.back()
	out := make([][][]float64, 0, len(s.blocks)+1)
	for b, k := range s.blocks {
		inner := square(s.p)
		if m.theta[b] >= singularTheta {
			for r := range s.p {
				for c := range s.p {
					for j := k.offset; j < k.offset+k.levels; j++ {
						inner[r][c] += columns[r][j] * columns[c][j]
					}
				}
			}
			out = append(out, sandwich(back, inner, 2*variance/m.theta[b]))
		} else {
			out = append(out, inner)
		}
	}
	return append(out, sandwich(back, m.fixedInverse(columns), 2*math.Sqrt(variance)))
}

// pseudoInverse is 2H⁻¹ without the directions in which the criterion is flat
// or falls, as lmerTest leaves them out.
func pseudoInverse(h [][]float64) [][]float64 {
	n := len(h)
	out := square(n)
	values, vectors := eigen(n, func(a, b int) float64 { return h[a][b] })
	for k, v := range values {
		if v <= 1e-8 {
			continue
		}
		for a := range n {
			for b := range n {
				out[a][b] += 2 / v * vectors.At(a, k) * vectors.At(b, k)
			}
		}
	}
	return out
}

// eigen decomposes a symmetric matrix of which it reads the upper triangle; nil if that fails.
func eigen(n int, at func(a, b int) float64) (values []float64, vectors *mat.Dense) {
	sym := mat.NewSymDense(n, nil)
	for a := range n {
		for b := a; b < n; b++ {
			sym.SetSym(a, b, at(a, b))
		}
	}
	var eig mat.EigenSym
	if !eig.Factorize(sym, true) {
		return nil, nil
	}
	vectors = new(mat.Dense)
	eig.VectorsTo(vectors)
	return eig.Values(nil), vectors
}

// Anova tests each fixed effect by F with denominator degrees of freedom after
// Satterthwaite, each given all others (type III), as lmerTest's anova with ddf =
// "Satterthwaite" (its contestMD, the method of Fai & Cornelius 1996): the
// covariance of the q columns of an effect is split into its eigenvectors, which
// are uncorrelated contrasts, F is the mean of their squared t, and with their
// degrees of freedom νₘ that of the denominator is
//
//	2E/(E − q),  E = Σ νₘ/(νₘ − 2),
//
// at which F has the mean that its parts give it. As there, it is the mean of the νₘ
// where these are equal to within 1e-8, νₘ itself of a single column, and 2, the
// limit, where some νₘ ≤ 2, for which a part has no mean. Eigenvectors whose
// eigenvalue is below 1.5e-8 of the largest are left out of F and of q. The
// eigenvectors, and so the degrees of freedom, depend slightly on which level of a
// factor is the reference; F does not.
func (m *Mixed) Anova() []TermTest {
	var out []TermTest
	for _, t := range m.design.Terms {
		var cols []int
		for _, c := range t.Columns {
			if c >= 0 {
				cols = append(cols, c)
			}
		}
		if len(cols) > 0 {
			out = append(out, m.termTest(t.Name, cols))
		}
	}
	return out
}

func (m *Mixed) termTest(name string, cols []int) TermTest {
	r := TermTest{Term: name, NumDF: float64(len(cols)), F: math.NaN(), DenDF: math.NaN(), P: math.NaN()}
	values, vectors := eigen(len(cols), func(a, b int) float64 { return m.vcov[cols[a]][cols[b]] })
	if values == nil {
		r.Undefined = "the covariance of the effects has no eigenvalues"
		return r
	}
	var f float64
	var dfs []float64
	for k, v := range values {
		if v <= 0x1p-26*values[len(values)-1] {
			continue
		}
		w := make([]float64, len(m.beta))
		var value float64
		for a, c := range cols {
			w[c] = vectors.At(a, k)
			value += w[c] * m.beta[c]
		}
		f += value * value / v
		dfs = append(dfs, m.satterthwaite(w, quadratic(w, m.vcov)))
	}
	r.NumDF = float64(len(dfs))
	r.F = f / r.NumDF
	r.DenDF = jointDF(dfs)
	r.P = dist.F{DF1: r.NumDF, DF2: r.DenDF}.Survival(r.F)
	if math.IsNaN(r.P) {
		r.Undefined = "the effect has no covariance or no degrees of freedom"
	}
	return r
}

// jointDF gives the degrees of freedom of the denominator from those of
// uncorrelated contrasts, in the order of their variances; see [Mixed.Anova].
func jointDF(dfs []float64) float64 {
	same, e := true, 0.0
	for k, v := range dfs {
		same = same && (k == 0 || math.Abs(v-dfs[k-1]) < 1e-8)
		e += v / (v - 2)
	}
	switch {
	case same:
		return mean(dfs)
	case slices.Min(dfs) <= 2:
		return 2
	}
	return 2 * e / (e - float64(len(dfs)))
}

// MarginalMeans estimates the response at each level of a factor, other
// factors averaged over their levels with equal weights, numbers at their
// means (as R emmeans). It is an error where columns were dropped: the means
// may then not be estimable.
func (m *Mixed) MarginalMeans(factor string, level float64) ([]Estimate, error) {
	t, err := m.term(factor)
	if err != nil {
		return nil, err
	}
	out := make([]Estimate, len(t.Factor.Levels))
	for l, name := range t.Factor.Levels {
		if out[l], err = m.Contrast(name, m.gridRow(t, l), level); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Pairwise estimates all differences (level i) − (level j), i < j.
func (m *Mixed) Pairwise(factor string, level float64) ([]PairEstimate, error) {
	t, err := m.term(factor)
	if err != nil {
		return nil, err
	}
	var out []PairEstimate
	var ps []float64
	for a, nameA := range t.Factor.Levels {
		for b := a + 1; b < len(t.Factor.Levels); b++ {
			w := make([]float64, len(m.beta))
			if a > 0 {
				w[t.Columns[a-1]] = 1
			}
			w[t.Columns[b-1]] = -1
			nameB := t.Factor.Levels[b]
			e, err := m.Contrast(nameA+" - "+nameB, w, level)
			if err != nil {
				return nil, err
			}
			out = append(out, PairEstimate{A: nameA, B: nameB, Estimate: e})
			ps = append(ps, e.P)
		}
	}
	holm, bonferroni := Holm(ps), Bonferroni(ps)
	for k := range out {
		out[k].PHolm, out[k].PBonferroni = holm[k], bonferroni[k]
	}
	return out, nil
}

// IsFactor reports whether a fixed effect is a factor.
func (m *Mixed) IsFactor(name string) bool {
	return slices.ContainsFunc(m.design.Terms, func(t designTerm) bool { return t.Name == name && t.Factor != nil })
}

func (m *Mixed) term(factor string) (*designTerm, error) {
	k := slices.IndexFunc(m.design.Terms, func(t designTerm) bool { return t.Name == factor })
	if k < 0 || m.design.Terms[k].Factor == nil {
		return nil, fmt.Errorf("stats: %s is not a factor among the fixed effects", factor)
	}
	if dropped := m.design.Dropped; len(dropped) > 0 {
		return nil, fmt.Errorf("stats: means of %s cannot be estimated: %v linear combinations of other columns", factor, dropped)
	}
	return &m.design.Terms[k], nil
}

// gridRow is the average row of the reference grid at a level of a factor.
func (m *Mixed) gridRow(at *designTerm, level int) []float64 {
	w := make([]float64, len(m.beta))
	w[0] = 1
	for k := range m.design.Terms {
		t := &m.design.Terms[k]
		switch {
		case t.Factor == nil:
			w[t.Columns[0]] = m.scaled.mean[t.Columns[0]]
		case t.Name == at.Name:
			if level > 0 {
				w[t.Columns[level-1]] = 1
			}
		default:
			for _, c := range t.Columns {
				w[c] = 1 / float64(len(t.Factor.Levels))
			}
		}
	}
	return w
}

// WithoutFixed refits without a fixed effect and compares by likelihood ratio,
// both by maximum likelihood: REML criteria of models with different fixed
// effects are not comparable.
func (m *Mixed) WithoutFixed(name string) (LikelihoodRatio, error) {
	full, err := m.refit(m.formula, false)
	if err != nil {
		return LikelihoodRatio{}, err
	}
	null := m.formula.clone()
	null.Fixed = slices.DeleteFunc(null.Fixed, func(t string) bool { return t == name })
	if len(null.Fixed) == len(m.formula.Fixed) {
		return LikelihoodRatio{}, fmt.Errorf("stats: %s is not a fixed effect of the model", name)
	}
	less, err := m.refit(null, false)
	if err != nil {
		return LikelihoodRatio{}, err
	}
	return full.against(less, name), nil
}

// WithoutRandom refits without a random term and compares by likelihood ratio.
// The p-value is that of χ²(1) and too large by up to a factor of two, the
// null lying on the boundary (Self & Liang 1987).
func (m *Mixed) WithoutRandom(name string) (LikelihoodRatio, error) {
	null := m.formula.clone()
	null.Random = slices.DeleteFunc(null.Random, func(t string) bool { return t == name })
	if len(null.Random) == len(m.formula.Random) {
		return LikelihoodRatio{}, fmt.Errorf("stats: (1|%s) is not a random term of the model", name)
	}
	less, err := m.refit(null, m.REML)
	if err != nil {
		return LikelihoodRatio{}, err
	}
	return m.against(less, name), nil
}

func (m *Mixed) refit(formula Formula, reml bool) (*Mixed, error) {
	if reml == m.REML && len(formula.Fixed) == len(m.formula.Fixed) && len(formula.Random) == len(m.formula.Random) {
		return m, nil
	}
	return fitMixed(m.frame, formula, reml)
}

func (m *Mixed) against(null *Mixed, dropped string) LikelihoodRatio {
	return likelihoodRatio(dropped, m.LogLik, null.LogLik, m.Parameters-null.Parameters)
}

func likelihoodRatio(dropped string, full, null float64, parameters int) LikelihoodRatio {
	r := LikelihoodRatio{Dropped: dropped, LogLikNull: null, Chi2: 2 * (full - null), DF: float64(parameters), P: math.NaN()}
	if parameters == 0 {
		r.Undefined = "both models have the same columns"
		return r
	}
	if r.Chi2 < -1e-6-1e-9*math.Abs(full) { // beyond what the searches leave open
		r.Chi2, r.Undefined = math.NaN(), "the larger model fits worse: a search stopped short of the maximum"
		return r
	}
	r.Chi2 = math.Max(0, r.Chi2)
	r.P = dist.ChiSquared{DF: r.DF}.Survival(r.Chi2)
	return r
}

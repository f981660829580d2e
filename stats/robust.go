package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/scruple-eval/scruple/stats/dist"
)

// Robust is a linear regression with standard errors that respect clusters.
type Robust struct {
	N, Clusters                         int
	Names                               []string
	Beta                                []float64
	Classical, CR0, CR1, CR1S, CR2, CR3 []float64 // standard errors
	VcovCR2                             [][]float64
	T, DF, P                            []float64 // CR2, Satterthwaite
	Dropped                             []string
	Warnings                            []string
}

// FitRobust fits a linear model by least squares and estimates its standard
// errors from clusters:
//
//	CR0   no correction
//	CR1   CR0 · G/(G−1)
//	CR1S  CR0 · G(N−1)/((G−1)(N−p))
//	CR2   Bell & McCaffrey (2002) with the identity as working covariance
//	CR3   (I − H)⁻¹, close to the jackknife over clusters
//
// and tests with CR2 and Satterthwaite's degrees of freedom, which hold with
// few clusters where the others are too sure. Everything per cluster is done
// in p×p matrices, so large clusters cost no more than small ones.
//
// References: R clubSandwich, sandwich; Pustejovsky & Tipton (2018). CR0 of an
// intercept alone is the clustered standard error of Miller (2024).
func FitRobust(f *Frame, formula Formula, cluster string) (*Robust, error) {
	if len(formula.Random) > 0 {
		return nil, fmt.Errorf("stats: a regression has no random terms, got (1|%s): fit a mixed model", formula.Random[0])
	}
	y, ok := f.numbers[formula.Response]
	if !ok {
		return nil, fmt.Errorf("stats: the response %s is no column of numbers", formula.Response)
	}
	design, err := NewDesign(f, formula.Fixed)
	if err != nil {
		return nil, err
	}
	groups, err := f.Factor(cluster)
	if err != nil {
		return nil, err
	}
	if len(groups.Levels) < 2 {
		return nil, fmt.Errorf("stats: one cluster (%s) has no spread between clusters", groups.Levels[0])
	}
	if f.n <= design.Columns() {
		return nil, fmt.Errorf("stats: %d rows for %d columns: nothing is left to estimate a variance from", f.n, design.Columns())
	}
	r := regression{design: design, y: y, groups: groups, p: design.Columns()}
	return r.fit()
}

type regression struct {
	design *Design
	y      []float64
	groups Factor
	p      int

	bread *mat.SymDense // (XᵀX)⁻¹
	gram  *mat.SymDense // XᵀX
	beta  []float64
	rss   float64
	cross []*mat.SymDense // XᵍᵀXᵍ
	score []*mat.VecDense // Xᵍᵀeᵍ
}

func (r *regression) fit() (*Robust, error) {
	if err := r.solve(); err != nil {
		return nil, err
	}
	n, g, p := float64(len(r.y)), float64(len(r.groups.Levels)), float64(r.p)
	out := &Robust{N: len(r.y), Clusters: len(r.groups.Levels), Names: r.design.Names, Beta: r.beta, Dropped: r.design.Dropped}
	for c := range r.p {
		out.Classical = append(out.Classical, math.Sqrt(r.rss/(n-p)*r.bread.At(c, c)))
	}
	cr0 := r.sandwich(func(k int) *mat.VecDense { return r.score[k] })
	out.CR0 = roots(cr0, 1)
	out.CR1 = roots(cr0, g/(g-1))
	out.CR1S = roots(cr0, g*(n-1)/((g-1)*(n-p)))
	lower, err := r.rootBread()
	if err != nil {
		return nil, err
	}
	adjustments := make([]adjustment, len(r.cross))
	for k := range adjustments {
		adjustments[k] = r.adjust(k, lower)
	}
	cr2 := r.sandwich(func(k int) *mat.VecDense { return adjustments[k].half })
	out.CR2 = roots(cr2, 1)
	out.CR3 = roots(r.sandwich(func(k int) *mat.VecDense { return adjustments[k].full }), 1)
	out.VcovCR2 = square(r.p)
	for a := range r.p {
		for b := range r.p {
			out.VcovCR2[a][b] = cr2.At(a, b)
		}
	}
	r.tests(out, adjustments)
	for _, name := range out.Dropped {
		out.Warnings = append(out.Warnings, fmt.Sprintf("column %s is made up of earlier ones and was dropped", name))
	}
	if out.Clusters < FewClusters {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d clusters: trust CR2 with its degrees of freedom, not the others", out.Clusters))
	}
	return out, nil
}

// solve fits by the normal equations and adds up each cluster's part of them.
func (r *regression) solve() error {
	p := r.p
	r.gram = mat.NewSymDense(p, nil)
	rhs := mat.NewVecDense(p, nil)
	r.cross = make([]*mat.SymDense, len(r.groups.Levels))
	for k := range r.cross {
		r.cross[k] = mat.NewSymDense(p, nil)
		r.score = append(r.score, mat.NewVecDense(p, nil))
	}
	row := make([]float64, p)
	for i, y := range r.y {
		r.design.Row(i, row)
		cross := r.cross[r.groups.Codes[i]]
		for a, x := range row {
			if x == 0 {
				continue
			}
			rhs.SetVec(a, rhs.AtVec(a)+x*y)
			for b := a; b < p; b++ {
				cross.SetSym(a, b, cross.At(a, b)+x*row[b])
			}
		}
	}
	for _, c := range r.cross {
		r.gram.AddSym(r.gram, c)
	}
	var chol mat.Cholesky
	if !chol.Factorize(r.gram) {
		return fmt.Errorf("stats: the design matrix is singular to working precision")
	}
	r.bread = mat.NewSymDense(p, nil)
	if err := chol.InverseTo(r.bread); err != nil {
		return fmt.Errorf("stats: the design matrix is singular to working precision: %w", err)
	}
	var beta mat.VecDense
	if err := chol.SolveVecTo(&beta, rhs); err != nil {
		return fmt.Errorf("stats: the design matrix is singular to working precision: %w", err)
	}
	r.beta = beta.RawVector().Data
	var yy float64
	for i, y := range r.y {
		r.design.Row(i, row)
		e := y
		for a, x := range row {
			e -= x * r.beta[a]
		}
		score := r.score[r.groups.Codes[i]]
		for a, x := range row {
			score.SetVec(a, score.AtVec(a)+x*e)
		}
		r.rss += e * e
		yy += y * y
	}
	if r.rss <= 1e-24*yy || yy == 0 {
		return fmt.Errorf("stats: the model fits the response exactly: there is no residual variance to estimate")
	}
	return nil
}

// sandwich is bread · Σ vvᵀ · bread.
func (r *regression) sandwich(v func(cluster int) *mat.VecDense) *mat.Dense {
	meat := mat.NewSymDense(r.p, nil)
	for k := range r.cross {
		meat.SymRankOne(meat, 1, v(k))
	}
	var half, out mat.Dense
	half.Mul(r.bread, meat)
	out.Mul(&half, r.bread)
	return &out
}

func roots(m *mat.Dense, factor float64) []float64 {
	n, _ := m.Dims()
	out := make([]float64, n)
	for c := range out {
		out[c] = math.Sqrt(factor * math.Max(0, m.At(c, c)))
	}
	return out
}

// rootBread is L with LLᵀ = (XᵀX)⁻¹.
func (r *regression) rootBread() (*mat.Dense, error) {
	var chol mat.Cholesky
	if !chol.Factorize(r.bread) {
		return nil, fmt.Errorf("stats: the design matrix is singular to working precision")
	}
	var l mat.TriDense
	chol.LTo(&l)
	return mat.DenseCopyOf(&l), nil
}

// An adjustment is a cluster's scores under the corrections, and what the
// degrees of freedom need: with A = (I − H)^(−1/2),
type adjustment struct {
	half *mat.VecDense // Xᵀ A e
	full *mat.VecDense // Xᵀ A² e
	xax  *mat.Dense    // Xᵀ A X
	xa2x *mat.Dense    // Xᵀ A² X
}

// adjust works in p×p: with H = XLLᵀXᵀ and the eigenvalues λ of LᵀXᵀXL,
// Aˢ = I + XL f(λ) LᵀXᵀ, f(λ) = ((1 − λ)^(−s/2) − 1)/λ. Where λ = 1 a cluster
// alone determines a coefficient; the generalised inverse then takes 0.
func (r *regression) adjust(k int, l *mat.Dense) adjustment {
	g := r.cross[k]
	var gl, inner mat.Dense
	gl.Mul(g, l)
	inner.Mul(l.T(), &gl)
	sym := mat.NewSymDense(r.p, nil)
	for a := range r.p {
		for b := a; b < r.p; b++ {
			sym.SetSym(a, b, (inner.At(a, b)+inner.At(b, a))/2)
		}
	}
	var eig mat.EigenSym
	eig.Factorize(sym, true)
	var vectors mat.Dense
	eig.VectorsTo(&vectors)
	values := eig.Values(nil)
	// middle is L V f(λ) Vᵀ Lᵀ.
	middle := func(f func(float64) float64) *mat.Dense {
		d := mat.NewDiagDense(r.p, nil)
		for c, v := range values {
			d.SetDiag(c, f(v))
		}
		var lv, lvd, out mat.Dense
		lv.Mul(l, &vectors)
		lvd.Mul(&lv, d)
		out.Mul(&lvd, lv.T())
		return &out
	}
	power := func(s float64) func(float64) float64 {
		return func(v float64) float64 {
			switch {
			case v < 1e-10:
				return s / 2 // the limit
			case 1-v < 1e-12:
				return -1
			}
			return (math.Pow(1-v, -s/2) - 1) / v
		}
	}
	var out adjustment
	out.half, out.xax = r.applied(g, middle(power(1)), k)
	out.full, out.xa2x = r.applied(g, middle(power(2)), k)
	return out
}

// applied gives Xᵀ(I + X M Xᵀ)e and Xᵀ(I + X M Xᵀ)X.
func (r *regression) applied(g *mat.SymDense, m *mat.Dense, k int) (*mat.VecDense, *mat.Dense) {
	var gm mat.Dense
	gm.Mul(g, m)
	v := mat.NewVecDense(r.p, nil)
	v.MulVec(&gm, r.score[k])
	v.AddVec(v, r.score[k])
	var x mat.Dense
	x.Mul(&gm, g)
	x.Add(&x, g)
	return v, &x
}

// tests are those of CR2 with Satterthwaite's degrees of freedom: with u =
// A X (XᵀX)⁻¹ l and w = Xᵀu by cluster, (Σ(uᵀu − wᵀMw))² / ΣΣ(δ uᵀu − wᵀMw)².
func (r *regression) tests(out *Robust, adjustments []adjustment) {
	for c := range r.p {
		a := mat.NewVecDense(r.p, nil)
		for b := range r.p {
			a.SetVec(b, r.bread.At(b, c))
		}
		sum := mat.NewSymDense(r.p, nil) // Σ wwᵀ
		var trace, squares float64
		for k := range adjustments {
			var w, mw, x mat.VecDense
			w.MulVec(adjustments[k].xax, a)
			x.MulVec(adjustments[k].xa2x, a)
			uu := mat.Dot(a, &x)
			mw.MulVec(r.bread, &w)
			q := mat.Dot(&w, &mw)
			trace += uu - q
			squares += uu*uu - 2*uu*q
			sum.SymRankOne(sum, 1, &w)
		}
		var ms, msms mat.Dense
		ms.Mul(r.bread, sum)
		msms.Mul(&ms, &ms)
		for b := range r.p {
			squares += msms.At(b, b)
		}
		df := trace * trace / squares
		t, p := math.NaN(), math.NaN()
		if !(df > 0) || math.IsInf(df, 0) {
			df = math.NaN()
		}
		if out.CR2[c] > 0 && !math.IsNaN(df) {
			t = r.beta[c] / out.CR2[c]
			p = 2 * dist.StudentT{DF: df}.Survival(math.Abs(t))
		}
		out.T, out.DF, out.P = append(out.T, t), append(out.DF, df), append(out.P, p)
	}
}

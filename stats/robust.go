package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"

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

// Interval is that of a coefficient by CR2 with Satterthwaite's degrees of freedom; undefined where
// its test is.
func (r *Robust) Interval(coefficient int, level float64) Interval {
	if math.IsNaN(r.T[coefficient]) || checkLevel(level) != nil {
		return undefinedInterval(level)
	}
	return tInterval(r.Beta[coefficient], r.CR2[coefficient], r.DF[coefficient], level)
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
		return nil, fmt.Errorf("stats: the response %s is not a numeric column", formula.Response)
	}
	design, err := newDesignMatrix(f, formula.Fixed)
	if err != nil {
		return nil, err
	}
	groups, err := f.factor(cluster)
	if err != nil {
		return nil, err
	}
	if len(groups.Levels) < 2 {
		return nil, fmt.Errorf("stats: all rows are in one cluster (%s): want at least two", groups.Levels[0])
	}
	if f.n <= design.columns() {
		return nil, fmt.Errorf("stats: %d rows for %d columns: too few to estimate a variance", f.n, design.columns())
	}
	r := regression{design: design, y: y, groups: groups, p: design.columns()}
	return r.fit()
}

// A regression is kept in an orthonormal basis of the design's columns, where
// XᵀX = I, the hat matrix is XXᵀ, and a cluster's XᵍᵀXᵍ has eigenvalues between
// 0 and 1. Corrections are powers of I − XᵍᵀXᵍ there, and nothing is lost when
// columns are far from 0 or of very different sizes.
type regression struct {
	design *designMatrix
	y      []float64
	groups Factor
	p      int

	basis  *mat.Dense // q = basis · (centred, scaled row)
	back   *mat.Dense // coefficients = back · those in the basis
	centre []float64
	scale  []float64

	beta  []float64
	rss   float64
	gram  []*mat.SymDense // XᵍᵀXᵍ
	score []*mat.VecDense // Xᵍᵀeᵍ
}

func (r *regression) fit() (*Robust, error) {
	if err := r.orthonormalise(); err != nil {
		return nil, err
	}
	if err := r.solve(); err != nil {
		return nil, err
	}
	n, g, p := float64(len(r.y)), float64(len(r.groups.Levels)), float64(r.p)
	out := &Robust{N: len(r.y), Clusters: len(r.groups.Levels), Names: r.design.Names, Beta: r.beta, Dropped: r.design.Dropped}
	var bread mat.Dense
	bread.Mul(r.back, r.back.T())
	out.Classical = roots(&bread, r.rss/(n-p))
	cr0 := r.sandwich(r.score)
	out.CR0 = roots(cr0, 1)
	out.CR1 = roots(cr0, g/(g-1))
	out.CR1S = roots(cr0, g*(n-1)/((g-1)*(n-p)))
	corrections := make([]correction, len(r.gram))
	half, full := make([]*mat.VecDense, len(r.gram)), make([]*mat.VecDense, len(r.gram))
	for k := range corrections {
		corrections[k] = correct(r.gram[k])
		half[k], full[k] = mat.NewVecDense(r.p, nil), mat.NewVecDense(r.p, nil)
		half[k].MulVec(corrections[k].half, r.score[k])
		full[k].MulVec(corrections[k].full, r.score[k])
	}
	cr2 := r.sandwich(half)
	out.CR2 = roots(cr2, 1)
	out.CR3 = roots(r.sandwich(full), 1)
	out.VcovCR2 = square(r.p)
	for a := range r.p {
		for b := range r.p {
			out.VcovCR2[a][b] = cr2.At(a, b)
		}
	}
	r.tests(out, corrections)
	for _, name := range out.Dropped {
		out.Warnings = append(out.Warnings, fmt.Sprintf("column %s is a linear combination of earlier ones and was dropped", name))
	}
	if out.Clusters < FewClusters {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d clusters: trust CR2 with its degrees of freedom, not the others", out.Clusters))
	}
	return out, nil
}

// orthonormalise finds the basis by two rounds of Cholesky's factorisation of
// the cross-products: the second mends what the first lost to rounding
// (Yamamoto et al. 2015, CholeskyQR2).
func (r *regression) orthonormalise() error {
	r.centre, r.scale = r.design.moments()
	r.centre[0], r.scale[0] = 0, 1 // the intercept
	r.basis = mat.NewDense(r.p, r.p, nil)
	for c := range r.p {
		r.basis.Set(c, c, 1)
	}
	for range 2 {
		gram := mat.NewSymDense(r.p, nil)
		r.rows(func(_ int, q *mat.VecDense) { gram.SymRankOne(gram, 1, q) })
		var chol mat.Cholesky
		if !chol.Factorize(gram) {
			return errors.New("stats: the design matrix is singular to working precision")
		}
		var lower mat.TriDense
		chol.LTo(&lower)
		var next mat.Dense
		if err := next.Solve(&lower, r.basis); err != nil {
			return fmt.Errorf("stats: the design matrix is singular to working precision: %w", err)
		}
		r.basis = &next
	}
	uncentre := mat.NewDense(r.p, r.p, nil)
	for c := range r.p {
		uncentre.Set(c, c, 1/r.scale[c])
		if c > 0 {
			uncentre.Set(0, c, -r.centre[c]/r.scale[c])
		}
	}
	r.back = mat.NewDense(r.p, r.p, nil)
	r.back.Mul(uncentre, r.basis.T())
	return nil
}

// rows visits the rows of the design in the basis.
func (r *regression) rows(visit func(i int, q *mat.VecDense)) {
	row := make([]float64, r.p)
	z, q := mat.NewVecDense(r.p, row), mat.NewVecDense(r.p, nil)
	for i := range r.y {
		r.design.row(i, row)
		for c := range row {
			row[c] = (row[c] - r.centre[c]) / r.scale[c]
		}
		q.MulVec(r.basis, z)
		visit(i, q)
	}
}

// solve fits, and adds up each cluster's cross-products and scores.
func (r *regression) solve() error {
	for range r.groups.Levels {
		r.gram = append(r.gram, mat.NewSymDense(r.p, nil))
		r.score = append(r.score, mat.NewVecDense(r.p, nil))
	}
	// The response is centred, as the columns are.
	offset := mean(r.y)
	inBasis := mat.NewVecDense(r.p, nil)
	r.rows(func(i int, q *mat.VecDense) {
		k := r.groups.Codes[i]
		r.gram[k].SymRankOne(r.gram[k], 1, q)
		inBasis.AddScaledVec(inBasis, r.y[i]-offset, q)
	})
	var centred, plain float64
	r.rows(func(i int, q *mat.VecDense) {
		y := r.y[i] - offset
		e := y - mat.Dot(q, inBasis)
		score := r.score[r.groups.Codes[i]]
		score.AddScaledVec(score, e, q)
		r.rss += e * e
		centred += y * y
		plain += r.y[i] * r.y[i]
	})
	if v := plain + r.rss; math.IsNaN(v) || math.IsInf(v, 0) {
		return errors.New("stats: " + tooLarge)
	}
	if r.rss <= 1e-24*centred || r.rss <= 1e-28*plain {
		return errors.New("stats: the model fits the response exactly: there is no residual variance to estimate")
	}
	var beta mat.VecDense
	beta.MulVec(r.back, inBasis)
	r.beta = slices.Clone(beta.RawVector().Data)
	r.beta[0] += offset
	return nil
}

// sandwich is the covariance matrix of the coefficients, Σ vvᵀ in the basis.
func (r *regression) sandwich(scores []*mat.VecDense) *mat.Dense {
	meat := mat.NewSymDense(r.p, nil)
	for _, v := range scores {
		meat.SymRankOne(meat, 1, v)
	}
	var half, out mat.Dense
	half.Mul(r.back, meat)
	out.Mul(&half, r.back.T())
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

// A correction is the factor of a cluster's residuals e, reduced from rows × rows
// to p × p: with A = (I − H)^(−1/2) on its rows X and
// G = XᵀX, it is XᵀAe = (I − G)^(−1/2) Xᵀe, and so for A².
type correction struct {
	half  *mat.Dense // (I − G)^(−1/2)
	full  *mat.Dense // (I − G)⁻¹
	halfG *mat.Dense // XᵀAX
	fullG *mat.Dense // XᵀA²X
}

// correct decomposes G. Where an eigenvalue is 1 the cluster alone determines
// a coefficient; the generalised inverse takes 0 there, as clubSandwich does.
func correct(gram *mat.SymDense) correction {
	var eig mat.EigenSym
	eig.Factorize(gram, true)
	var vectors mat.Dense
	eig.VectorsTo(&vectors)
	values := eig.Values(nil)
	of := func(power float64, times func(v float64) float64) *mat.Dense {
		d := mat.NewDiagDense(len(values), nil)
		for c, v := range values {
			if 1-v > 1e-12 {
				d.SetDiag(c, math.Pow(1-v, power)*times(v))
			}
		}
		var left, out mat.Dense
		left.Mul(&vectors, d)
		out.Mul(&left, vectors.T())
		return &out
	}
	one, itself := func(float64) float64 { return 1 }, func(v float64) float64 { return v }
	return correction{of(-0.5, one), of(-1, one), of(-0.5, itself), of(-1, itself)}
}

// tests are those of CR2 with Satterthwaite's degrees of freedom: for a
// coefficient lᵀβ, with uᵍ = A Xᵍ a and wᵍ = Xᵍᵀuᵍ by cluster, a being l in the
// basis, they are (Σ(uᵀu − wᵀw))² / Σ_g Σ_h ([g = h] uᵀu − wᵍᵀwʰ)².
func (r *regression) tests(out *Robust, corrections []correction) {
	for c := range r.p {
		a := r.back.RowView(c)
		sum := mat.NewSymDense(r.p, nil) // Σ wwᵀ
		var trace, squares float64
		for _, x := range corrections {
			var w, v mat.VecDense
			w.MulVec(x.halfG, a)
			v.MulVec(x.fullG, a)
			uu, ww := mat.Dot(a, &v), mat.Dot(&w, &w)
			trace += uu - ww
			squares += uu*uu - 2*uu*ww
			sum.SymRankOne(sum, 1, &w)
		}
		norm := mat.Norm(sum, 2) // Frobenius: ΣΣ (wᵍᵀwʰ)²
		squares += norm * norm
		df := trace * trace / squares
		t, p := math.NaN(), math.NaN()
		if !(df > 0) || math.IsInf(df, 0) {
			df = math.NaN()
		}
		// Residuals that cancel leave rounding noise: some 1e-16 of the variance, so 1e-8 of the error.
		if out.CR2[c] > 1e-6*out.Classical[c] && !math.IsNaN(df) {
			t = r.beta[c] / out.CR2[c]
			p = 2 * dist.StudentT{DF: df}.Survival(math.Abs(t))
		}
		if math.IsNaN(t) {
			out.Warnings = append(out.Warnings, fmt.Sprintf("%s has no test: its CR2 standard error or degrees of freedom are 0", out.Names[c]))
		}
		out.T, out.DF, out.P = append(out.T, t), append(out.DF, df), append(out.P, p)
	}
}

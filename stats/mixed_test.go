package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/stats/dist"
)

// A sample is a small data set: some groupings, nested or crossed or sparse, a
// factor, a covariate, and a response.
type sample struct {
	groups map[string][]string
	kernel []string
	age, y []float64
}

func drawSample(t *rapid.T) sample {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	n := rapid.IntRange(20, 60).Draw(t, "rows")
	docs := rapid.IntRange(3, 9).Draw(t, "documents")
	s := sample{groups: map[string][]string{}}
	for i := range n {
		d, k := i%docs, r.IntN(3)
		s.groups["doc"] = append(s.groups["doc"], "d"+strconv.Itoa(d))
		s.groups["type"] = append(s.groups["type"], "t"+strconv.Itoa(d%2))
		s.groups["rater"] = append(s.groups["rater"], "r"+strconv.Itoa(r.IntN(4)))
		s.kernel = append(s.kernel, "k"+strconv.Itoa(k))
		s.age = append(s.age, 100+10*r.NormFloat64())
		s.y = append(s.y, 5+0.3*float64(k)+math.Sin(float64(d))+0.5*r.NormFloat64())
	}
	return s
}

func (s sample) frame(t fataler) *Frame {
	f := NewFrame(len(s.y))
	check(t, f.AddNumbers("y", s.y))
	check(t, f.AddNumbers("age", s.age))
	check(t, f.AddFactor("kernel", s.kernel, nil))
	for _, name := range []string{"doc", "type", "rater"} {
		check(t, f.AddFactor(name, s.groups[name], nil))
	}
	return f
}

type fataler interface{ Fatal(...any) }

func check(t fataler, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func parse(t fataler, text string) Formula {
	f, err := ParseFormula(text)
	check(t, err)
	return f
}

var modelForms = []string{
	"y ~ 1 + (1|doc)",
	"y ~ kernel + age + (1|doc) + (1|rater)",
	"y ~ kernel + (1|doc) + (1|type)",
	"y ~ age + (1|doc:kernel) + (1|doc) + (1|rater)",
	"y ~ kernel + (1|type/doc/kernel)",
}

// denseCriterion is the textbook −2 log-likelihood from n×n matrices.
func denseCriterion(m *Mixed, theta []float64, terms []Factor, y []float64) float64 {
	n, p := m.N, m.design.columns()
	v := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			var c float64
			if i == j {
				c = 1
			}
			for b, t := range terms {
				if t.Codes[i] == t.Codes[j] {
					c += theta[b] * theta[b]
				}
			}
			v.SetSym(i, j, c)
		}
	}
	x := mat.NewDense(n, p, nil)
	row := make([]float64, p)
	for i := range n {
		m.design.row(i, row)
		x.SetRow(i, row)
	}
	var chol mat.Cholesky
	chol.Factorize(v)
	var vx, xvx mat.Dense
	_ = chol.SolveTo(&vx, x)
	xvx.Mul(x.T(), &vx)
	yv := mat.NewVecDense(n, y)
	var vy, xvy, beta, fit, res, vres mat.VecDense
	_ = chol.SolveVecTo(&vy, yv)
	xvy.MulVec(x.T(), &vy)
	_ = beta.SolveVec(&xvx, &xvy)
	fit.MulVec(x, &beta)
	res.SubVec(yv, &fit)
	_ = chol.SolveVecTo(&vres, &res)
	rss := mat.Dot(&res, &vres)
	df := m.df()
	c := chol.LogDet() + df*(1+math.Log(2*math.Pi*rss/df))
	if m.REML {
		d, _ := mat.LogDet(&xvx)
		c += d
	}
	return c
}

// TestMixedCriterion: the blocks give what the definition gives, at any θ, for
// crossed, nested and sparse groupings, up to rounding, which matters where a
// fit leaves no residual: checked there with 60 digits, the definition holds to
// 1e-12 and the blocks are off by up to a third of what m.rounding says.
func TestMixedCriterion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t)
		f := parse(t, rapid.SampledFrom(modelForms).Draw(t, "formula"))
		m, err := FitMixed(s.frame(t), f, MixedOptions{ML: rapid.Bool().Draw(t, "ml")})
		if err != nil {
			t.Skip(err)
		}
		terms, _, err := groupings(m.frame, f.Random)
		check(t, err)
		theta := make([]float64, len(terms))
		for b := range theta {
			theta[b] = rapid.Float64Range(0, 3).Draw(t, "theta")
		}
		for _, at := range [][]float64{theta, m.theta} {
			got, want := m.criterion(at), denseCriterion(m, at, terms, s.y)
			if !(math.Abs(got-want) <= 1e-11*(1+math.Abs(want))+m.rounding()) {
				t.Fatalf("%v at θ %v: criterion %.12g, by definition %.12g", f, at, got, want)
			}
		}
	})
}

// TestMixedNextToNoResidual: where rows of a group are all but equal, the
// result says how far its likelihood is to be trusted, and it is.
func TestMixedNextToNoResidual(t *testing.T) {
	for noise, warned := range map[float64]bool{1e-2: false, 1e-3: false, 1e-5: true, 2e-6: true} {
		f := NewFrame(24)
		var y []float64
		var doc []string
		for i := range f.n {
			y = append(y, math.Sin(float64(i/3))+noise*math.Sin(float64(7*i)))
			doc = append(doc, strconv.Itoa(i/3))
		}
		check(t, f.AddNumbers("y", y))
		check(t, f.AddFactor("doc", doc, nil))
		formula := parse(t, "y ~ 1 + (1|doc)")
		m, err := FitMixed(f, formula, MixedOptions{})
		check(t, err)
		terms, _, err := groupings(f, formula.Random)
		check(t, err)
		off := math.Abs(m.Criterion - denseCriterion(m, m.theta, terms, y))
		says := slices.ContainsFunc(m.Warnings, func(w string) bool { return strings.Contains(w, "explain nearly everything") })
		if off > m.rounding() || says != warned {
			t.Errorf("noise %v: off by %v, up to %v expected; %q", noise, off, m.rounding(), m.Warnings)
		}
	}
}

// TestMixedGradient compares the analytic gradient with differences, with one
// and with several blocks eliminated as diagonals.
func TestMixedGradient(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t)
		f := parse(t, rapid.SampledFrom(modelForms).Draw(t, "formula"))
		m, err := FitMixed(s.frame(t), f, MixedOptions{ML: rapid.Bool().Draw(t, "ml")})
		if err != nil {
			t.Skip(err)
		}
		theta := make([]float64, len(m.theta))
		for b := range theta {
			theta[b] = rapid.Float64Range(0.2, 2).Draw(t, "theta")
		}
		m.criterion(theta)
		grad, _ := m.slope(m.system.rss / m.df())
		for b := range theta {
			up, down := slices.Clone(theta), slices.Clone(theta)
			up[b] += 1e-5
			down[b] -= 1e-5
			want := (m.criterion(up) - m.criterion(down)) / 2e-5
			if !(math.Abs(grad[b]-want) <= 1e-4*(1+math.Abs(want))) {
				t.Fatalf("%v: gradient %v of term %d, by differences %v", f, grad[b], b, want)
			}
		}
	})
}

// TestMixedNestedStaysDiagonal: nested terms are eliminated one after the
// other, so that only what crosses is dense.
func TestMixedNestedStaysDiagonal(t *testing.T) {
	f := NewFrame(40 * 3 * 2)
	var y []float64
	var doc, kernel []string
	for i := range f.n {
		y = append(y, math.Sin(float64(7*i)))
		doc = append(doc, strconv.Itoa(i/6))
		kernel = append(kernel, strconv.Itoa(i/2%3))
	}
	check(t, f.AddNumbers("y", y))
	check(t, f.AddFactor("doc", doc, nil))
	check(t, f.AddFactor("kernel", kernel, nil))
	m, err := FitMixed(f, parse(t, "y ~ kernel + (1|doc) + (1|doc:kernel)"), MixedOptions{})
	check(t, err)
	if m.system.diag != 2 || m.system.m != 3 {
		t.Errorf("%d diagonal blocks and %d dense columns, want 2 and 3", m.system.diag, m.system.m)
	}
}

// TestMixedInvariance: the order of rows, the unit of the response and its
// origin change nothing but the unit and the origin.
func TestMixedInvariance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t)
		f := parse(t, "y ~ kernel + age + (1|doc) + (1|rater)")
		a, err := FitMixed(s.frame(t), f, MixedOptions{})
		if err != nil {
			t.Skip(err)
		}
		order := rapid.Permutation(seq(len(s.y))).Draw(t, "order")
		scale, shift := rapid.Float64Range(0.01, 100).Draw(t, "scale"), rapid.Float64Range(-1e4, 1e4).Draw(t, "shift")
		moved := sample{groups: map[string][]string{}}
		for _, i := range order {
			for name, g := range s.groups {
				moved.groups[name] = append(moved.groups[name], g[i])
			}
			moved.kernel = append(moved.kernel, s.kernel[i])
			moved.age = append(moved.age, s.age[i])
			moved.y = append(moved.y, shift+scale*s.y[i])
		}
		b, err := FitMixed(moved.frame(t), f, MixedOptions{})
		check(t, err)
		for c := range a.Beta {
			want := scale * a.Beta[c]
			if c == 0 {
				want += shift
			}
			if !(math.Abs(b.Beta[c]-want) <= 1e-4*(scale*a.SE[c])) {
				t.Fatalf("%s is %v, want %v", a.Names[c], b.Beta[c], want)
			}
		}
		if !(math.Abs(b.Sigma/a.Sigma-scale) <= 1e-4*scale) {
			t.Fatalf("σ went from %v to %v, scale %v", a.Sigma, b.Sigma, scale)
		}
	})
}

func seq(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func TestMixedIsReproducible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t)
		f := parse(t, "y ~ kernel + (1|doc) + (1|rater)")
		a, errA := FitMixed(s.frame(t), f, MixedOptions{})
		b, errB := FitMixed(s.frame(t), f, MixedOptions{})
		if (errA == nil) != (errB == nil) {
			t.Fatal(errA, errB)
		}
		if errA == nil && (a.Criterion != b.Criterion || !slices.Equal(a.Beta, b.Beta) || !slices.Equal(a.theta, b.theta)) {
			t.Fatal("two fits of the same data differ")
		}
	})
}

func TestMixedRefuses(t *testing.T) {
	frame := func(rows int, doc func(int) string, y func(int) float64) *Frame {
		f := NewFrame(rows)
		var ys []float64
		var docs, twin []string
		for i := range rows {
			ys = append(ys, y(i))
			docs = append(docs, doc(i))
			twin = append(twin, "x"+doc(i))
		}
		check(t, f.AddNumbers("y", ys))
		check(t, f.AddFactor("doc", docs, nil))
		check(t, f.AddFactor("twin", twin, nil))
		return f
	}
	wave := func(i int) float64 { return math.Sin(float64(3 * i)) }
	thirds := func(i int) string { return strconv.Itoa(i / 3) }
	for _, c := range []struct {
		name    string
		frame   *Frame
		formula string
		reason  string
	}{
		{"no random term", frame(12, thirds, wave), "y ~ 1", "needs a random term"},
		{"one level", frame(12, func(int) string { return "a" }, wave), "y ~ 1 + (1|doc)", "has one level"},
		{"a level a row", frame(12, strconv.Itoa, wave), "y ~ 1 + (1|doc)", "as many levels as there are rows"},
		{"twins", frame(12, thirds, wave), "y ~ 1 + (1|doc) + (1|twin)", "group the rows identically"},
		{"constant", frame(12, thirds, func(int) float64 { return 0.3 }), "y ~ 1 + (1|doc)", "constant"},
		{"exact fit", frame(12, thirds, func(i int) float64 { return float64(i / 3) }), "y ~ doc + (1|twin)", "fits the response exactly"},
		{"constant in groups", frame(12, thirds, func(i int) float64 { return math.Sin(float64(i / 3)) }), "y ~ 1 + (1|doc)", "fits the response exactly"},
		{"no such column", frame(12, thirds, wave), "y ~ 1 + (1|nobody)", "no column nobody"},
		{"no such response", frame(12, thirds, wave), "z ~ 1 + (1|doc)", "z is not a numeric column"},
		{"numbers cannot group", frame(12, thirds, wave), "doc ~ 1 + (1|y)", "doc is not a numeric column"},
		{"too few rows", frame(4, func(i int) string { return strconv.Itoa(i % 4) }, wave), "y ~ doc + (1|twin)", "4 rows for 4 fixed effects"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := FitMixed(c.frame, parse(t, c.formula), MixedOptions{})
			if err == nil || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("got %v, want %q", err, c.reason)
			}
		})
	}
}

// TestMixedWarnsOfReplicates: field-level rows without a random effect of
// document and kernel understate the kernel's standard error.
func TestMixedWarnsOfReplicates(t *testing.T) {
	f := NewFrame(20 * 2 * 5)
	var y []float64
	var doc, kernel []string
	for i := range f.n {
		y = append(y, math.Sin(float64(11*i))+math.Cos(float64(i/5)))
		doc = append(doc, strconv.Itoa(i/10))
		kernel = append(kernel, strconv.Itoa(i/5%2))
	}
	check(t, f.AddNumbers("y", y))
	check(t, f.AddFactor("doc", doc, nil))
	check(t, f.AddFactor("kernel", kernel, nil))
	without, err := FitMixed(f, parse(t, "y ~ kernel + (1|doc)"), MixedOptions{})
	check(t, err)
	with, err := FitMixed(f, parse(t, "y ~ kernel + (1|doc) + (1|doc:kernel)"), MixedOptions{})
	check(t, err)
	if !strings.Contains(strings.Join(without.Warnings, "\n"), "(1|doc:kernel)") {
		t.Errorf("no warning: %q", without.Warnings)
	}
	if strings.Contains(strings.Join(with.Warnings, "\n"), "(1|doc:kernel)") {
		t.Errorf("a warning of what is there: %q", with.Warnings)
	}
	if with.SE[1] <= without.SE[1] {
		t.Errorf("standard errors %v with and %v without: the example shows nothing", with.SE[1], without.SE[1])
	}
}

// TestSmallResiduals: the degrees of freedom of a mean over groups are those of the groups,
// however little is left within them.
func TestSmallResiduals(t *testing.T) {
	for _, noise := range []float64{1e-3, 1e-5, 3e-6} { // below, rounding of the criterion shows
		r := rand.New(rand.NewPCG(3, 4))
		f, y, item, groups := NewFrame(60), make([]float64, 60), make([]string, 60), make([]float64, 10)
		for i := range groups {
			groups[i] = r.NormFloat64()
		}
		for i := range y {
			y[i], item[i] = groups[i/6]+noise*r.NormFloat64(), strconv.Itoa(i/6)
		}
		check(t, f.AddNumbers("y", y))
		check(t, f.AddFactor("item", item, nil))
		m, err := FitMixed(f, parse(t, "y ~ 1 + (1|item)"), MixedOptions{})
		check(t, err)
		c, err := m.Coefficients(0.95)
		check(t, err)
		if !(math.Abs(c[0].DF-9) < 0.5) {
			t.Errorf("residuals of %v: %v degrees of freedom of 10 groups", noise, c[0].DF)
		}
	}
}

// TestLogisticSeparated: an effect that separates passes from fails has no
// estimate, and the result says so.
func TestLogisticSeparated(t *testing.T) {
	f := NewFrame(60)
	var y []float64
	var item, arm []string
	for i := range f.n {
		y = append(y, float64(i%2))
		arm = append(arm, strconv.Itoa(i%2))
		item = append(item, strconv.Itoa(i/6))
	}
	check(t, f.AddNumbers("y", y))
	check(t, f.AddFactor("item", item, nil))
	check(t, f.AddFactor("arm", arm, nil))
	l, err := FitLogistic(f, parse(t, "y ~ arm + (1|item)"))
	check(t, err)
	if l.Undefined == "" || !math.IsNaN(l.P[1]) {
		t.Errorf("separated data got p = %v", l.P)
	}
	// Nor has a flag of some rows.
	for _, flagged := range []int{1, 3, 5, 10, 20, 40} {
		r := rand.New(rand.NewPCG(3, 4))
		f, y, flag, item := NewFrame(100), make([]float64, 100), make([]float64, 100), make([]string, 100)
		for i := range y {
			item[i] = strconv.Itoa(i % 25)
			if i < flagged {
				y[i], flag[i] = 1, 1
			} else if r.Float64() < 0.6 {
				y[i] = 1
			}
		}
		check(t, f.AddNumbers("y", y))
		check(t, f.AddNumbers("flag", flag))
		check(t, f.AddFactor("item", item, nil))
		if l, err := FitLogistic(f, parse(t, "y ~ flag + (1|item)")); err != nil || !strings.Contains(l.Undefined, "complete separation") || !math.IsNaN(l.P[1]) {
			t.Errorf("%d flagged rows that all pass: %v, %q, p = %v", flagged, err, l.Undefined, l.P)
		}
	}
	empty := NewFrame(0)
	check(t, empty.AddNumbers("y", nil))
	check(t, empty.AddFactor("item", nil, nil))
	if _, err := FitLogistic(empty, parse(t, "y ~ 1 + (1|item)")); err == nil {
		t.Error("a model of no rows was fitted")
	}
	if _, err := FitLogistic(f, parse(t, "y ~ 1")); err == nil {
		t.Error("a mixed model without a random term was fitted")
	}
}

// TestLogisticUnits: the unit and the origin of a number change neither tests nor the
// likelihood, and only the size of its coefficient.
func TestLogisticUnits(t *testing.T) {
	fit := func(xs, y []float64, arm, item []string) (*Logistic, LikelihoodRatio) {
		f := NewFrame(len(y))
		check(t, f.AddNumbers("y", y))
		check(t, f.AddNumbers("x", xs))
		check(t, f.AddFactor("arm", arm, nil))
		check(t, f.AddFactor("item", item, nil))
		l, err := FitLogistic(f, parse(t, "y ~ x + arm + (1|item)"))
		check(t, err)
		lr, err := l.WithoutFixed("x")
		check(t, err)
		return l, lr
	}
	for seed := range uint64(15) {
		r := rand.New(rand.NewPCG(seed, 1))
		slope := 4*r.Float64() - 2
		var xs, y []float64
		var arm, item []string
		for i := range 60 {
			x := r.NormFloat64()
			xs, y = append(xs, x), append(y, 0)
			if r.Float64() < 1/(1+math.Exp(-slope*x)) {
				y[i] = 1
			}
			arm, item = append(arm, strconv.Itoa(i%2)), append(item, strconv.Itoa(i/6))
		}
		l, lr := fit(xs, y, arm, item)
		for _, c := range []struct{ times, plus float64 }{{1000, 0}, {1, 1e6}} {
			moved := make([]float64, len(xs))
			for i, x := range xs {
				moved[i] = c.times*x + c.plus
			}
			m, mr := fit(moved, y, arm, item)
			same := func(what string, got, want float64) {
				if !(math.Abs(got-want) <= 1e-5*math.Max(math.Abs(want), 1e-3)) && !(math.IsNaN(got) && math.IsNaN(want)) {
					t.Errorf("x times %v plus %v: %s is %v, was %v", c.times, c.plus, what, got, want)
				}
			}
			if m.Undefined != l.Undefined {
				t.Errorf("x times %v plus %v: undefined %q, was %q", c.times, c.plus, m.Undefined, l.Undefined)
			}
			same("log-likelihood", m.LogLik, l.LogLik)
			same("chi2", mr.Chi2, lr.Chi2)
			for k, name := range l.Names[1:] {
				unit := 1.0
				if name == "x" {
					unit = c.times
				}
				same(name, m.Beta[k+1]*unit, l.Beta[k+1])
				same("p of "+name, m.P[k+1], l.P[k+1])
			}
		}
	}
}

// TestLogisticStopsShort: a search that stops where the likelihood still rises is an error.
func TestLogisticStopsShort(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	var xs, y []float64
	var item []string
	for i := range 120 {
		x := math.Exp(6 * r.NormFloat64())
		xs, y, item = append(xs, x), append(y, 0), append(item, strconv.Itoa(i/5))
		if x > 0.1 {
			y[i] = 1
		}
	}
	f := NewFrame(len(y))
	check(t, f.AddNumbers("y", y))
	check(t, f.AddNumbers("x", xs))
	check(t, f.AddFactor("item", item, nil))
	if l, err := FitLogistic(f, parse(t, "y ~ x + (1|item)")); err == nil || !strings.Contains(err.Error(), "did not converge") {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestLikelihoodRatio: a smaller model cannot fit better but for rounding.
func TestLikelihoodRatio(t *testing.T) {
	for _, c := range []struct{ full, null, chi2, p float64 }{
		{-10, -12, 4, dist.ChiSquared{DF: 1}.Survival(4)}, {-10, -10 + 1e-9, 0, 1}, {-10, -9.9, math.NaN(), math.NaN()},
	} {
		r := likelihoodRatio("x", c.full, c.null, 1)
		if fmt.Sprint(r.Chi2, r.P) != fmt.Sprint(c.chi2, c.p) || (r.Undefined != "") != math.IsNaN(c.p) {
			t.Errorf("%v against %v: %+v", c.full, c.null, r)
		}
	}
	if r := likelihoodRatio("x", -10, -10, 0); r.Undefined == "" || !math.IsNaN(r.P) {
		t.Errorf("models with the same columns: %+v", r)
	}
}

// TestJointDF: the rules of lmerTest 3.1-3 (get_Fstat_ddf).
func TestJointDF(t *testing.T) {
	for _, c := range []struct {
		dfs  []float64
		want float64
	}{
		{[]float64{7.5}, 7.5},
		{[]float64{1.5}, 1.5},
		{[]float64{40, 40}, 40},
		{[]float64{40, 40 + 6e-9, 40 + 12e-9}, 40 + 6e-9}, // each equal to the next
		{[]float64{1.9, 10, 20}, 2},
		{[]float64{10, 20, 2}, 2},
		{[]float64{3, 10}, 2 * 4.25 / (4.25 - 2)},                        // 3/1 + 10/8
		{[]float64{4, 6, 12}, 2 * (2 + 1.5 + 1.2) / (2 + 1.5 + 1.2 - 3)}, // 5.529…
		{[]float64{30, 30 + 1e-6}, 30},                                   // by the formula
		{[]float64{2.000001, 5000, 5000}, 2 * 1000003. / (1000003. - 3)}, // the limit is continuous
		{[]float64{1e6, 2e6}, 2 * (1e6/999998. + 2e6/1999998.) / (3e-6)}, // large ones
		{[]float64{math.NaN(), 3}, math.NaN()},                           // no degrees of freedom
	} {
		if got := jointDF(c.dfs); math.Abs(got-c.want) > 1e-5*c.want || math.IsNaN(got) != math.IsNaN(c.want) {
			t.Errorf("%v: %v, want %v", c.dfs, got, c.want)
		}
	}
}

// TestAnovaOfUnbalancedLevels: an effect of four levels that very different numbers
// of rows have, in documents of different sizes. The test is put together from
// tests of single contrasts, the eigenvectors of the covariance, which by another
// way have the degrees of freedom of [Mixed.Contrast].
func TestAnovaOfUnbalancedLevels(t *testing.T) {
	f := NewFrame(60)
	r := rand.New(rand.NewPCG(41, 2))
	var y []float64
	var doc, kernel []string
	for i := range f.n {
		d := i * i % 23 % 7
		k := d % 4
		if i%9 == 0 {
			k = r.IntN(4)
		}
		doc, kernel = append(doc, strconv.Itoa(d)), append(kernel, strconv.Itoa(k))
		y = append(y, 0.4*float64(k)+2*math.Sin(float64(5*d))+r.NormFloat64())
	}
	check(t, f.AddNumbers("y", y))
	check(t, f.AddFactor("doc", doc, nil))
	check(t, f.AddFactor("kernel", kernel, nil))
	m, err := FitMixed(f, parse(t, "y ~ kernel + (1|doc)"), MixedOptions{})
	check(t, err)
	test := m.Anova()[0]
	cov := mat.NewSymDense(3, nil)
	for a := range 3 {
		for b := range 3 {
			cov.SetSym(a, b, m.Vcov[a+1][b+1])
		}
	}
	var eig mat.EigenSym
	eig.Factorize(cov, true)
	var vectors mat.Dense
	eig.VectorsTo(&vectors)
	var squares, e float64
	lowest, highest := math.Inf(1), 0.0
	for k := range 3 {
		c, err := m.Contrast("", []float64{0, vectors.At(0, k), vectors.At(1, k), vectors.At(2, k)}, 0.95)
		check(t, err)
		squares += c.T * c.T
		e += c.DF / (c.DF - 2)
		lowest, highest = min(lowest, c.DF), max(highest, c.DF)
	}
	if !(highest-lowest >= 5) {
		t.Fatalf("degrees of freedom from %v to %v: the data are balanced", lowest, highest)
	}
	if want := 2 * e / (e - 3); test.NumDF != 3 || !(math.Abs(test.DenDF/want-1) <= 1e-9) || !(math.Abs(test.F/(squares/3)-1) <= 1e-9) {
		t.Errorf("F(%v, %v) = %v, want F(3, %v) = %v", test.NumDF, test.DenDF, test.F, want, squares/3)
	}
}

package stats_test

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

	"github.com/scruple-eval/scruple/stats"
)

// regressed is data of y ~ k + x by cluster.
type regressed struct {
	y, x       []float64
	k, cluster []string
}

func (d regressed) fit(t rapid.TB, formula string) (*stats.Robust, error) {
	t.Helper()
	f := stats.NewFrame(len(d.y))
	for _, err := range []error{f.AddNumbers("y", d.y), f.AddNumbers("x", d.x), f.AddFactor("k", slices.Clone(d.k), []string{"a", "b", "c"}),
		f.AddFactor("cluster", slices.Clone(d.cluster), nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := stats.ParseFormula(formula)
	if err != nil {
		t.Fatal(err)
	}
	return stats.FitRobust(f, parsed, "cluster")
}

// simulated has clusters of unequal sizes in random order.
func simulated(r *rand.Rand, rows, clusters int) regressed {
	var d regressed
	effect := make([]float64, clusters)
	for g := range effect {
		effect[g] = r.NormFloat64()
	}
	for i := range rows {
		g := int(float64(clusters) * math.Pow(r.Float64(), 1.5))
		if i < 2*clusters {
			g = i % clusters
		}
		k := i % 3
		x := float64(r.IntN(40))
		d.x, d.k, d.cluster = append(d.x, x), append(d.k, string(rune('a'+k))), append(d.cluster, fmt.Sprint("g", g))
		d.y = append(d.y, effect[g]+0.3*float64(k)+0.02*x+r.NormFloat64())
	}
	return d
}

// TestRobustByDefinition lays out the n×n matrices that FitRobust avoids:
// CR2 and CR3 as Σ B Xᵀ A e eᵀ A X B with A = (I − H)^(−1/2) and (I − H)⁻¹ by
// cluster, and Satterthwaite's degrees of freedom from the n×n quadratic form
// (Bell & McCaffrey 2002): with its rows' Gram matrix Q, (tr Q)²/tr Q².
func TestRobustByDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	d := simulated(r, 60, 7)
	got, err := d.fit(t, "y ~ k + x")
	if err != nil {
		t.Fatal(err)
	}
	n, p := len(d.y), 4
	x, y := mat.NewDense(n, p, nil), mat.NewVecDense(n, d.y)
	groups := map[string][]int{}
	for i := range n {
		x.SetRow(i, []float64{1, 0, 0, d.x[i]})
		if d.k[i] != "a" {
			x.Set(i, int(d.k[i][0]-'a'), 1)
		}
		groups[d.cluster[i]] = append(groups[d.cluster[i]], i)
	}
	var gram, bread, xb, hat, beta, fitted, resid mat.Dense
	gram.Mul(x.T(), x)
	if err := bread.Inverse(&gram); err != nil {
		t.Fatal(err)
	}
	xb.Mul(x, &bread)
	hat.Mul(&xb, x.T())
	beta.Mul(xb.T(), y)
	fitted.Mul(x, &beta)
	resid.Sub(y, &fitted)
	maker := mat.NewDense(n, n, nil) // I − H
	for i := range n {
		maker.Set(i, i, 1)
	}
	maker.Sub(maker, &hat)
	cr2, cr3 := mat.NewDense(p, p, nil), mat.NewDense(p, p, nil)
	var names []string
	for g := range groups {
		names = append(names, g)
	}
	slices.Sort(names)
	forms := make([]*mat.Dense, p) // n × G: column g is (I − H) rows of g times A X B l
	for c := range forms {
		forms[c] = mat.NewDense(n, len(names), nil)
	}
	for g, name := range names {
		rows := groups[name]
		block := mat.NewSymDense(len(rows), nil)
		e, xg := mat.NewDense(len(rows), 1, nil), mat.NewDense(len(rows), p, nil)
		for a, i := range rows {
			e.Set(a, 0, resid.At(i, 0))
			xg.SetRow(a, x.RawRowView(i))
			for b, j := range rows {
				block.SetSym(a, b, maker.At(i, j))
			}
		}
		for power, to := range map[float64]*mat.Dense{-0.5: cr2, -1: cr3} {
			a := symPower(block, power)
			var ax, axb, s, ss mat.Dense
			ax.Mul(a, xg)
			axb.Mul(&ax, &bread)
			s.Mul(axb.T(), e)
			ss.Mul(&s, s.T())
			to.Add(to, &ss)
			if power != -0.5 {
				continue
			}
			for c := range p {
				for i := range n {
					var v float64
					for a, j := range rows {
						v += maker.At(i, j) * axb.At(a, c)
					}
					forms[c].Set(i, g, v)
				}
			}
		}
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-9*math.Abs(want)+1e-13) {
			t.Errorf("%s is %v, by definition %v", what, got, want)
		}
	}
	for c, name := range got.Names {
		near("coefficient of "+name, got.Beta[c], beta.At(c, 0))
		near("CR2 of "+name, got.CR2[c], math.Sqrt(cr2.At(c, c)))
		near("CR3 of "+name, got.CR3[c], math.Sqrt(cr3.At(c, c)))
		for b := range p {
			near("covariance", got.VcovCR2[c][b], cr2.At(c, b))
		}
		var q mat.Dense
		q.Mul(forms[c].T(), forms[c])
		norm := mat.Norm(&q, 2)
		near("degrees of freedom of "+name, got.DF[c], mat.Trace(&q)*mat.Trace(&q)/(norm*norm))
	}
}

func symPower(m *mat.SymDense, power float64) *mat.Dense {
	var eig mat.EigenSym
	eig.Factorize(m, true)
	var v, left, out mat.Dense
	eig.VectorsTo(&v)
	values := eig.Values(nil)
	for c := range values {
		values[c] = math.Pow(values[c], power)
	}
	left.Mul(&v, mat.NewDiagDense(len(values), values))
	out.Mul(&left, v.T())
	return &out
}

// TestRobustInvariance: the order of rows, where a covariate is counted from
// and its unit, and a constant added to the response change no test of a
// slope. Dates in seconds are covariates too.
//
// The response is in units of 2⁻³⁶ and what it is scaled with a power of 2, so
// that the second data are the first ones to the last bit: a date in units of
// 1e-6 would be off by 1e-8 of the covariate's spread before anything is
// fitted. What is left is the rounding of the fit. It acts on a slope by the
// size of its standard error, however close to 0 the slope is.
func TestRobustInvariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		d := simulated(r, rapid.IntRange(20, 80).Draw(t, "rows"), rapid.IntRange(3, 9).Draw(t, "clusters"))
		for i, y := range d.y {
			d.y[i] = math.Ldexp(math.Round(math.Ldexp(y, 36)), -36)
		}
		want, err := d.fit(t, "y ~ k + x")
		if err != nil {
			t.Fatal(err)
		}
		shift := rapid.SampledFrom([]float64{0, -20, 1e5, 1.75e9}).Draw(t, "shift")
		unit := rapid.SampledFrom([]float64{1, math.Ldexp(1, -20), math.Ldexp(1, 20)}).Draw(t, "unit")
		up := rapid.SampledFrom([]float64{0, 5, 1e4}).Draw(t, "up")
		var e regressed
		for _, i := range r.Perm(len(d.y)) {
			e.y, e.x = append(e.y, d.y[i]+up), append(e.x, unit*(d.x[i]+shift))
			e.k, e.cluster = append(e.k, d.k[i]), append(e.cluster, d.cluster[i])
		}
		got, err := e.fit(t, "y ~ k + x")
		if err != nil {
			t.Fatal(err)
		}
		same := func(what string, a, b, scale float64) {
			t.Helper()
			if !(math.Abs(a-b) <= 1e-10*scale) {
				t.Fatalf("%s: %v and %v", what, a, b)
			}
		}
		for c := 1; c < 4; c++ {
			by := 1.0
			if c == 3 {
				by = unit
			}
			same("slope", got.Beta[c]*by, want.Beta[c], math.Abs(want.Beta[c])+want.Classical[c])
			same("CR0", got.CR0[c]*by, want.CR0[c], want.CR0[c])
			same("CR2", got.CR2[c]*by, want.CR2[c], want.CR2[c])
			same("CR3", got.CR3[c]*by, want.CR3[c], want.CR3[c])
			same("classical", got.Classical[c]*by, want.Classical[c], want.Classical[c])
			same("df", got.DF[c], want.DF[c], want.DF[c])
			same("p", got.P[c], want.P[c], 1)
		}
		for c := range got.Names {
			if !(got.CR0[c] <= got.CR1[c] && got.CR1[c] <= got.CR1S[c]) {
				t.Fatalf("corrections out of order: %+v", got)
			}
			if got.DF[c] > float64(got.Clusters)*(1+1e-9) { // by Cauchy and Schwarz
				t.Fatalf("%v degrees of freedom of %d clusters", got.DF[c], got.Clusters)
			}
		}
	})
}

// TestRobustMean: of a mean over clusters of one size, CR1 and CR2 are the
// standard error of the cluster means, with clusters − 1 degrees of freedom.
func TestRobustMean(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	var d regressed
	means := make([]float64, 8)
	for g := range means {
		for range 5 {
			y := r.NormFloat64()
			means[g] += y / 5
			d.y, d.x, d.k, d.cluster = append(d.y, y), append(d.x, 0), append(d.k, "a"), append(d.cluster, fmt.Sprint(g))
		}
	}
	got, err := d.fit(t, "y ~ 1")
	if err != nil {
		t.Fatal(err)
	}
	want, err := stats.PairedT(means, make([]float64, 8), 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if !alike(got.Beta[0], want.MeanDiff) || !alike(got.CR1[0], want.SE) || !alike(got.CR2[0], want.SE) || !alike(got.DF[0], 7) || !alike(got.P[0], want.P) {
		t.Errorf("%+v, of the means %+v", got, want)
	}
}

// TestRobustOddDesigns: columns that repeat others are dropped and named; a
// cluster that alone determines a coefficient leaves the others their numbers.
func TestRobustOddDesigns(t *testing.T) {
	d := simulated(rand.New(rand.NewPCG(3, 3)), 60, 8)
	for i := range d.x { // x = 1 exactly where k is c
		d.x[i] = 0
		if d.k[i] == "c" {
			d.x[i] = 1
		}
	}
	got, err := d.fit(t, "y ~ k + x")
	if err != nil || !slices.Equal(got.Dropped, []string{"x"}) || len(got.Beta) != 3 || len(got.Warnings) == 0 {
		t.Errorf("an aliased column: %+v, %v", got, err)
	}
	for i := range d.y { // every cluster has the same numbers, whose residuals add up to rounding noise
		d.y[i], d.cluster[i] = []float64{0.1, 0.7, 0.4}[i%3], strconv.Itoa(i/3)
	}
	got, err = d.fit(t, "y ~ 1")
	if err != nil || !math.IsNaN(got.P[0]) || len(got.Warnings) == 0 {
		t.Errorf("the same numbers in every cluster: %+v, %v", got, err)
	}
	d = simulated(rand.New(rand.NewPCG(3, 3)), 60, 8)
	for i := range d.x { // x only in the first cluster
		d.x[i] = 0
		if d.cluster[i] == "g0" {
			d.x[i] = 1
		}
	}
	got, err = d.fit(t, "y ~ k + x")
	if err != nil {
		t.Fatal(err)
	}
	for c, name := range got.Names {
		if name != "x" && !(got.CR2[c] > 0 && got.CR3[c] > 0 && got.DF[c] > 1) {
			t.Errorf("%s: CR2 %v, CR3 %v, df %v", name, got.CR2[c], got.CR3[c], got.DF[c])
		}
	}
}

func TestRobustRefuses(t *testing.T) {
	good := func() regressed { return simulated(rand.New(rand.NewPCG(3, 3)), 12, 4) }
	for _, c := range []struct {
		name, formula, reason string
		spoil                 func(d *regressed)
	}{
		{"one cluster", "y ~ k", "one cluster", func(d *regressed) {
			for i := range d.cluster {
				d.cluster[i] = "only"
			}
		}},
		{"a constant response", "y ~ k", "fits the response exactly", func(d *regressed) {
			for i := range d.y {
				d.y[i] = 0.1
			}
		}},
		{"an exact fit", "y ~ x", "fits the response exactly", func(d *regressed) {
			for i := range d.y {
				d.y[i] = 3 + 0.1*d.x[i]
			}
		}},
		{"a response that overflows", "y ~ k", "overflow float64", func(d *regressed) { d.y[0] = 1e200 }},
		{"a random term", "y ~ k + (1|cluster)", "fit a mixed model", func(*regressed) {}},
		{"labels as response", "k ~ x", "not a numeric column", func(*regressed) {}},
		{"too few rows", "y ~ k + x", "too few to estimate", func(d *regressed) {
			*d = regressed{d.y[:4], []float64{1, 2, 3, 5}, []string{"a", "b", "c", "a"}, []string{"u", "u", "v", "v"}}
		}},
	} {
		d := good()
		c.spoil(&d)
		if _, err := d.fit(t, c.formula); err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.reason)
		}
	}
}

// BenchmarkRobust is 2,000 documents of 35 rows, 11 columns.
func BenchmarkRobust(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	f := stats.NewFrame(70_000)
	y, k, field, doc := make([]float64, 70_000), make([]string, 70_000), make([]string, 70_000), make([]string, 70_000)
	for i := range y {
		y[i], k[i], field[i], doc[i] = r.Float64(), fmt.Sprint(i%7), fmt.Sprint(i/7%5), fmt.Sprint(i/35)
	}
	for _, err := range []error{f.AddNumbers("y", y), f.AddFactor("k", k, nil), f.AddFactor("field", field, nil), f.AddFactor("doc", doc, nil)} {
		if err != nil {
			b.Fatal(err)
		}
	}
	formula, err := stats.ParseFormula("y ~ k + field")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := stats.FitRobust(f, formula, "doc"); err != nil {
			b.Fatal(err)
		}
	}
}

// A coefficient that one cluster alone determines has no test: its residuals cancel, and what is left
// of its standard error is rounding noise.
func TestRobustOfOneCluster(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		score := rapid.Float64Range(0, 1)
		var d regressed
		add := func(k, cluster string) {
			d.y, d.x, d.k, d.cluster = append(d.y, score.Draw(t, "y")), append(d.x, 0), append(d.k, k), append(d.cluster, cluster)
		}
		add("a", "one") // a and b are in this cluster alone
		add("b", "one")
		for i := range rapid.IntRange(5, 9).Draw(t, "rest") {
			add("c", strconv.Itoa(i%3))
		}
		r, err := d.fit(t, "y ~ k")
		if err != nil {
			t.Skip("the model fits exactly")
		}
		if b := slices.Index(r.Names, "kb"); !math.IsNaN(r.P[b]) || !math.IsNaN(r.Interval(b, 0.95).Low) {
			t.Errorf("b against a: standard error %g (classical %g), p %g", r.CR2[b], r.Classical[b], r.P[b])
		}
	})
}

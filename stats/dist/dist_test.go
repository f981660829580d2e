package dist_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/stats/dist"
)

type distribution interface {
	CDF(float64) float64
	Survival(float64) float64
}

type inverse interface {
	distribution
	Quantile(float64) float64
}

func named(t *testing.T, name string, p []float64) distribution {
	t.Helper()
	switch name {
	case "normal":
		return dist.Normal{Mean: p[0], SD: p[1]}
	case "student_t":
		return dist.StudentT{DF: p[0]}
	case "chi_squared":
		return dist.ChiSquared{DF: p[0]}
	case "f":
		return dist.F{DF1: p[0], DF2: p[1]}
	case "beta":
		return dist.Beta{A: p[0], B: p[1]}
	case "binomial":
		return dist.Binomial{N: int(p[0]), P: p[1]}
	case "noncentral_t":
		return dist.NoncentralT{DF: p[0], NCP: p[1]}
	}
	t.Fatalf("no distribution %q", name)
	return nil
}

// TestAgreesWithR holds every tail and quantile of the oracle to R 4.2.2's.
func TestAgreesWithR(t *testing.T) {
	b, err := os.ReadFile("../testdata/oracles/distribution_tails.json")
	if err != nil {
		t.Fatal(err)
	}
	var oracle struct {
		Expected struct {
			Cases []struct {
				Dist       string
				Params     []float64
				X, SF, CDF float64
			}
			Quantiles []struct {
				Dist        string
				Params      []float64
				P, Quantile float64
			}
		}
	}
	if err := json.Unmarshal(b, &oracle); err != nil {
		t.Fatal(err)
	}
	for _, c := range oracle.Expected.Cases {
		d := named(t, c.Dist, c.Params)
		rel := 1e-11
		if c.Dist == "noncentral_t" {
			rel = 1e-10 // R's pnt stops its series at an absolute 1e-12
		}
		near(t, c.Dist, d.Survival(c.X), c.SF, rel)
		near(t, c.Dist, d.CDF(c.X), c.CDF, rel)
	}
	for _, c := range oracle.Expected.Quantiles {
		near(t, c.Dist, named(t, c.Dist, c.Params).(inverse).Quantile(c.P), c.Quantile, 1e-11)
	}
}

func near(t *testing.T, what string, got, want, rel float64) {
	t.Helper()
	if !(math.Abs(got-want) <= rel*math.Abs(want)) {
		t.Errorf("%s: got %.16g, want %.16g (off by %.1g)", what, got, want, math.Abs(got/want-1))
	}
}

// TestQuantileInverts goes there and back, from far tails too.
func TestQuantileInverts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		df := math.Exp(rapid.Float64Range(-1, 9).Draw(t, "log df"))
		df2 := math.Exp(rapid.Float64Range(-1, 9).Draw(t, "log df2"))
		p := math.Exp(rapid.Float64Range(-40, -1e-9).Draw(t, "log p"))
		for _, d := range []inverse{dist.Normal{Mean: 0, SD: 1}, dist.StudentT{DF: df}, dist.ChiSquared{DF: df}, dist.F{DF1: df, DF2: df2}, dist.Beta{A: df, B: df2}} {
			x := d.Quantile(p)
			if _, beta := d.(dist.Beta); x == 0 || math.IsInf(x, 0) || (beta && x > 0.999) {
				continue // a float64 so near to 1 cannot say how near
			}
			got := d.CDF(x)
			want := p
			if p > 0.5 {
				got, want = d.Survival(x), 1-p
			}
			if !(math.Abs(got-want) <= 1e-9*want+1e-300) {
				t.Fatalf("%T%v: Quantile(%g) = %g, whose probability is %g", d, d, p, x, got)
			}
		}
	})
}

// TestBetaQuantileNearTheEnds: with A or B of 1 the quantile has a closed form.
func TestBetaQuantileNearTheEnds(t *testing.T) {
	for _, c := range []struct{ shape, p float64 }{
		{1e-4, 0.3}, {1e-4, 0.5}, {1e-4, 0.9}, {1e-3, 0.01}, {1e-3, 0.4}, {1e-3, 0.6}, {1e-3, 0.99}, {0.01, 0.5}, {0.01, 0.7}, {0.5, 0.2}, {3, 0.9}, {400, 0.001},
	} {
		near(t, "x^a", dist.Beta{A: c.shape, B: 1}.Quantile(c.p), math.Pow(c.p, 1/c.shape), 1e-11)
		near(t, "1-(1-x)^b", dist.Beta{A: 1, B: c.shape}.Quantile(c.p), -math.Expm1(math.Log1p(-c.p)/c.shape), 1e-11)
	}
	rapid.Check(t, func(t *rapid.T) {
		logShape := rapid.Float64Range(-30, 7)
		d := dist.Beta{A: math.Exp(logShape.Draw(t, "log a")), B: math.Exp(logShape.Draw(t, "log b"))}
		p, q := rapid.Float64Range(0, 1).Draw(t, "p"), rapid.Float64Range(0, 1).Draw(t, "q")
		low, high := d.Quantile(min(p, q)), d.Quantile(max(p, q))
		if !(0 <= low && low <= high*(1+1e-12) && high <= 1) {
			t.Fatalf("%v: quantiles %v of %v and %v of %v", d, low, min(p, q), high, max(p, q))
		}
	})
}

// TestTailsAddUp: the two tails are two computations of one thing.
func TestTailsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		df := math.Exp(rapid.Float64Range(0, 9).Draw(t, "log df"))
		ncp := rapid.Float64Range(-8, 8).Draw(t, "ncp")
		x := rapid.Float64Range(-20, 20).Draw(t, "x")
		for _, d := range []distribution{dist.Normal{Mean: 0, SD: 1}, dist.StudentT{DF: df}, dist.ChiSquared{DF: df}, dist.NoncentralT{DF: df, NCP: ncp}, dist.Binomial{N: 30, P: 0.3}} {
			if s := d.CDF(x) + d.Survival(x); !(math.Abs(s-1) < 1e-11) {
				t.Fatalf("%T%v at %g: tails add up to %.15g", d, d, x, s)
			}
		}
	})
}

// TestNoncentralReduces: without non-centrality it is Student's t, and the
// quantile goes back.
func TestNoncentralReduces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		df := math.Exp(rapid.Float64Range(0, 8).Draw(t, "log df"))
		x := rapid.Float64Range(-30, 30).Draw(t, "x")
		got, want := dist.NoncentralT{DF: df}.CDF(x), dist.StudentT{DF: df}.CDF(x)
		if want > 1e-280 && !(math.Abs(got-want) <= 1e-10*want) {
			t.Fatalf("df %g, x %g: %g, Student's %g", df, x, got, want)
		}
	})
	for _, ncp := range []float64{-1e6, -190, -104, -54, 46, 190, 1e6} { // where one tail underflows the other is 1
		d := dist.NoncentralT{DF: 9, NCP: ncp}
		if s := d.CDF(-4) + d.Survival(-4); !(math.Abs(s-1) <= 1e-11) {
			t.Errorf("ncp %g: tails add up to %g", ncp, s)
		}
	}
	d := dist.NoncentralT{DF: 7, NCP: 2.5}
	for _, p := range []float64{1e-12, 0.025, 0.5, 0.975, 1 - 1e-9} {
		if got := d.CDF(d.Quantile(p)); !(math.Abs(got-p) <= 1e-11*math.Min(1, p*1e9)) {
			t.Errorf("p %g: %g", p, got)
		}
	}
}

// TestLargeParameters: the density integrated in 40 digits by mpmath 1.3 (quad over 40 parts of
// the 40 standard deviations below x).
func TestLargeParameters(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"binomial of 1e7", dist.Binomial{N: 1e7, P: 0.5}.CDF(5e6), 0.50012615662294709},
		{"binomial of 1e8", dist.Binomial{N: 1e8, P: 0.5}.CDF(5e7), 0.50003989422794041},
		{"binomial of 1e9", dist.Binomial{N: 1e9, P: 0.5}.CDF(5e8), 0.50001261566260695},
		{"its lower tail", dist.Binomial{N: 1e9, P: 0.3}.CDF(3e8 - 5e4), 0.00027993687552326351},
		{"of rare events", dist.Binomial{N: 1e9, P: 1e-6}.CDF(900), 0.00069776356932574841},
		{"F", dist.F{DF1: 1e9, DF2: 1e9}.Survival(1.0001), 0.056932185168149383},
		{"beta", dist.Beta{A: 1e5, B: 2e5}.CDF(0.33), 5.2427818184781204e-5},
		{"uneven beta", dist.Beta{A: 3e7, B: 5}.CDF(0.9999999), 0.81526318597812454},
		{"t", dist.StudentT{DF: 1e9}.Survival(2), 0.022750132083153071},
	} {
		if !(math.Abs(c.got-c.want) <= 1e-10*c.want) {
			t.Errorf("%s: %.17g, want %.17g", c.name, c.got, c.want)
		}
	}
	for _, n := range []float64{1e4, 1e6, 1e9, 1e12, 1 << 53} {
		for _, x := range []float64{0, 1e-300, 1e-9, 0.3, 0.5, 0.7, 1} {
			for _, d := range []distribution{dist.Binomial{N: int(n), P: x}, dist.Beta{A: n, B: 1}, dist.Beta{A: 0.5, B: n}, dist.F{DF1: n, DF2: n}, dist.StudentT{DF: n}} {
				for _, at := range []float64{x, n * x, n/2 + math.Sqrt(n)*x} {
					if low, high := d.CDF(at), d.Survival(at); !(low >= 0 && low <= 1) || !(math.Abs(low+high-1) <= 1e-6) {
						t.Errorf("%#v at %v: %v and %v", d, at, low, high)
					}
				}
			}
		}
		// The density is even about one half.
		if q := (dist.Beta{A: n, B: n}).Quantile(0.5); !(math.Abs(q-0.5) <= 1e-9) {
			t.Errorf("median of beta(%v, %v): %v", n, n, q)
		}
	}
}

// TestFarTails: squares that overflow and densities that underflow leave the tails as they are.
func TestFarTails(t *testing.T) {
	normal := dist.Normal{Mean: 0, SD: 1}
	near(t, "Cauchy", dist.StudentT{DF: 1}.Survival(1e200), 1/(math.Pi*1e200), 1e-12)
	near(t, "t", dist.StudentT{DF: 2.5}.Survival(1e90)/dist.StudentT{DF: 2.5}.Survival(1e91), math.Pow(10, 2.5), 1e-12)
	near(t, "t beyond squares", dist.StudentT{DF: 0.2}.Survival(1e149)/dist.StudentT{DF: 0.2}.Survival(1e159), 100, 1e-12)
	for _, c := range []struct{ df, p float64 }{{0.001, 0.3}, {0.1, 1e-30}, {1, 1e-250}} {
		near(t, "there and back", dist.StudentT{DF: c.df}.Survival(dist.StudentT{DF: c.df}.UpperQuantile(c.p)), c.p, 1e-9)
	}
	if z := normal.Quantile(5e-324); !(z > -38.6 && z < normal.Quantile(1e-320)) {
		t.Errorf("the smallest probability is at %v", z)
	}
	if x := (dist.F{DF1: 0.001, DF2: 5}).Quantile(0.5); x != 0 {
		t.Errorf("a median below the smallest number is %v", x)
	}
}

func TestUndefined(t *testing.T) {
	nan := math.NaN()
	for _, got := range []float64{
		dist.StudentT{DF: 0}.CDF(1), dist.StudentT{DF: -1}.Quantile(0.5), dist.ChiSquared{DF: nan}.Survival(1),
		dist.F{DF1: 1, DF2: -2}.CDF(1), dist.Beta{A: 0, B: 1}.Quantile(0.5), dist.Binomial{N: 3, P: 1.5}.CDF(1),
		dist.Normal{Mean: 0, SD: 1}.Quantile(1.1), dist.NoncentralT{DF: 0, NCP: 1}.CDF(1), dist.StudentT{DF: 3}.CDF(nan),
		dist.Normal{Mean: 0, SD: -1}.CDF(1), dist.Normal{Mean: 0, SD: 0}.Survival(1), dist.Normal{Mean: 0, SD: -1}.Quantile(0.2),
	} {
		if !math.IsNaN(got) {
			t.Errorf("got %v, want NaN", got)
		}
	}
}

package dist_test

import (
	"math"
	"testing"

	"github.com/scruple-eval/scruple/stats/dist"
)

// TestNoncentralTOfManyDegrees: against the normal limit with the first terms
// of Fisher's (1925) expansion, and tails that add up to 1. Samples of millions
// have as many degrees of freedom, and the density's constants cancel there.
func TestNoncentralTOfManyDegrees(t *testing.T) {
	z := dist.Normal{Mean: 0, SD: 1}
	for _, df := range []float64{1e6, 1e8, 1e10} {
		central := dist.NoncentralT{DF: df, NCP: 0}
		for _, x := range []float64{0.5, 1.96, 5} {
			density := math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
			want := z.Survival(x) + density*x*(1+x*x)/(4*df)
			// The next term is φ·x·(3x⁶ − 7x⁴ − 5x² − 3)/(96·df²).
			want += density * x * (3*math.Pow(x, 6) - 7*math.Pow(x, 4) - 5*x*x - 3) / (96 * df * df)
			if got := central.Survival(x); !(math.Abs(got/want-1) <= 1e-10) {
				t.Errorf("df %g: P(T > %v) = %.15g, want %.15g", df, x, got, want)
			}
		}
		d := dist.NoncentralT{DF: df, NCP: 2.5}
		if total := d.CDF(1.9) + d.Survival(1.9); !(math.Abs(total-1) <= 1e-11) {
			t.Errorf("df %g: tails add up to 1 + %g", df, total-1)
		}
	}
}

// TestNoncentralTOfFewDegrees: with a heavy tail and far from the centre the tails still add
// up to 1, though what is integrated falls a hundred times faster on one side.
func TestNoncentralTOfFewDegrees(t *testing.T) {
	for _, c := range []struct{ df, ncp, x float64 }{
		{0.43, 46, 47}, {0.56, 73, 311}, {0.38, -46, -242}, {0.41, 72, 174}, {1, 40, 55}, {2.5, 6, 47},
	} {
		d := dist.NoncentralT{DF: c.df, NCP: c.ncp}
		if total := d.CDF(c.x) + d.Survival(c.x); !(math.Abs(total-1) <= 1e-12) {
			t.Errorf("%+v: tails of %v add up to 1 + %g", d, c.x, total-1)
		}
	}
}

// TestBinomialQuantile against R 4.2.2's qbinom.
func TestBinomialQuantile(t *testing.T) {
	for _, c := range []struct {
		n    int
		prob float64
		p    float64
		want float64
	}{
		{1, 0.3, 0.7, 0}, {1, 0.3, 0.71, 1}, {5, 0.5, 0.5, 2}, {5, 0.5, 0.03125, 0}, {5, 0.5, 0.96875, 4},
		{50, 0.5, 0.5, 25}, {1000, 0.25, 0.975, 277}, {1000, 0.25, 1e-8, 176}, {1000, 0.25, 1 - 1e-8, 329},
		{10, 0, 0.5, 0}, {10, 1, 0.5, 10}, {10, 0.5, 0, 0}, {10, 0.5, 1, 10}, {0, 0.5, 0.5, 0},
	} {
		if got := (dist.Binomial{N: c.n, P: c.prob}).Quantile(c.p); got != c.want {
			t.Errorf("n %d, P %v: quantile of %v is %v, want %v", c.n, c.prob, c.p, got, c.want)
		}
	}
	// qbinom(pbinom(k, …), …) is k, though neither is exact.
	for _, d := range []dist.Binomial{{N: 30, P: 0.3}, {N: 200, P: 0.5}, {N: 90, P: 0.97}} {
		for k := range d.N {
			if p := d.CDF(float64(k)); p > 1e-300 && p < 1-1e-3 && d.Quantile(p) != float64(k) {
				t.Errorf("%+v: the quantile of P(X ≤ %d) is %v", d, k, d.Quantile(p))
			}
		}
	}
	if !math.IsNaN(dist.Binomial{N: 5, P: 2}.Quantile(0.5)) || !math.IsNaN(dist.Binomial{N: 5, P: 0.5}.Quantile(1.5)) {
		t.Error("impossible quantiles are numbers")
	}
}

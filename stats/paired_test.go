package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/stats"
	"github.com/scruple-eval/scruple/stats/dist"
)

// TestPairedInvariance: the same amount added to both arms, another unit and
// another order of pairs change neither t nor d, and scale the rest.
func TestPairedInvariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPairs(t, 12)
		for i := range a { // sixteenths: shifted and scaled they stay exact
			a[i], b[i] = math.Round(16*a[i])/16, math.Round(16*b[i])/16
		}
		shift := float64(rapid.IntRange(-8, 8).Draw(t, "shift"))
		unit := rapid.SampledFrom([]float64{0.25, 1, 8}).Draw(t, "unit")
		order := rapid.Permutation(indices(len(a))).Draw(t, "order")
		a2, b2 := make([]float64, len(a)), make([]float64, len(a))
		for i, k := range order {
			a2[i], b2[i] = unit*(a[k]+shift), unit*(b[k]+shift)
		}
		p, _ := stats.PairedT(a, b, 0.9)
		q, _ := stats.PairedT(a2, b2, 0.9)
		if p.Undefined != q.Undefined || !alike(p.T, q.T) || !alike(p.P, q.P) || !alike(p.DZ, q.DZ) || !alike(p.DAv, q.DAv) ||
			!alike(p.Correlation, q.Correlation) || !alike(unit*p.MeanDiff, q.MeanDiff) || !alike(unit*p.CI.High, q.CI.High) {
			t.Fatalf("t: %+v\n%+v", p, q)
		}
		v, _ := stats.WilcoxonSignedRank(a, b, stats.Greater, 0.9)
		w, _ := stats.WilcoxonSignedRank(a2, b2, stats.Greater, 0.9)
		if v.WPlus != w.WPlus || v.Zeros != w.Zeros || !alike(v.PExact, w.PExact) || !alike(v.PrattZ, w.PrattZ) || !alike(unit*v.HodgesLehmann, w.HodgesLehmann) {
			t.Fatalf("signed ranks: %+v\n%+v", v, w)
		}
	})
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// TestEffectInterval: at its limits the non-central t has the tails the level
// says, both ways round, with few pairs and many, small effects and huge ones.
func TestEffectInterval(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 3, 10, 100, 10_000} {
		for _, effect := range []float64{0, 0.05, -0.5, 3, 50} {
			for _, level := range []float64{0.5, 0.9, 0.95, 0.999} {
				a, zero := normals(n, uint64(n)), make([]float64, n)
				for i := range a {
					a[i] += effect
				}
				p, err := stats.PairedT(a, zero, level)
				if err != nil {
					t.Fatal(err)
				}
				iv, tail := p.EffectInterval(level), (1-level)/2
				if !(iv.Low < p.DZ && p.DZ < iv.High) || iv.Level != level {
					t.Errorf("n %d, effect %v: d %v in %v", n, effect, p.DZ, iv)
				}
				at := func(d float64) dist.NoncentralT {
					return dist.NoncentralT{DF: p.DF, NCP: d * math.Sqrt(float64(n))}
				}
				if up, down := at(iv.Low).Survival(p.T), at(iv.High).CDF(p.T); !(math.Abs(up/tail-1) <= 1e-9) || !(math.Abs(down/tail-1) <= 1e-9) {
					t.Errorf("n %d, effect %v: tails %v and %v, want %v", n, effect, up, down, tail)
				}
			}
		}
	}
}

func normals(n int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]float64, n)
	for i := range out {
		out[i] = r.NormFloat64()
	}
	return out
}

// TestPairedTUndefined: what has no spread says so, in decimal numbers as in
// binary ones, and squares that overflow are not a t of 0.
func TestPairedTUndefined(t *testing.T) {
	for name, c := range map[string]struct{ a, b []float64 }{
		"one pair":    {[]float64{0.3}, []float64{0.1}},
		"decimals":    {[]float64{0.3, 0.4, 0.8}, []float64{0.1, 0.2, 0.6}},
		"all 0":       {[]float64{0.3, 0.3}, []float64{0.3, 0.3}},
		"too large":   {[]float64{1e200, 0, 1}, []float64{0, 1, 0}},
		"both larger": {[]float64{1e200, -1e200, 1}, []float64{1e200, -1e200, 0}},
	} {
		p, err := stats.PairedT(c.a, c.b, 0.95)
		if err != nil || p.Undefined == "" {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		for _, x := range []float64{p.T, p.P, p.PLess, p.PGreater, p.DZ, p.GZ, p.CI.Low, p.Interval(0.9).High, p.EffectInterval(0.9).Low} {
			if !math.IsNaN(x) {
				t.Errorf("%s: a number where there is none: %+v", name, p)
			}
		}
	}
	// A constant arm has no correlation, though three times 0.1 has a mean of
	// 0.10000000000000002.
	p, err := stats.PairedT([]float64{0.1, 0.1, 0.1}, []float64{0.3, 0.2, 0.5}, 0.95)
	if err != nil || p.Undefined != "" || !math.IsNaN(p.Correlation) {
		t.Errorf("correlation with a constant: %+v, %v", p, err)
	}
	for _, b := range [][]float64{{-1e308, 0}, {-1e308, -1e308}} {
		if r, err := stats.PairedT([]float64{1e308, 1e308}, b, 0.95); err == nil {
			t.Errorf("a mean beyond float64: %+v", r)
		}
	}
}

// TestSignedRankByEnumeration of all patterns of signs, ties and zeros
// included, for each alternative; estimate and interval by a list of all
// averages.
func TestSignedRankByEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPairs(t, 10)
		r, err := stats.WilcoxonSignedRank(a, b, stats.TwoSided, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		var diff []float64
		for i := range a {
			if d := math.Round((a[i]-b[i])*1e6) / 1e6; d != 0 {
				diff = append(diff, d)
			}
		}
		if len(diff) == 0 {
			if r.Undefined == "" || !math.IsNaN(r.PExact) {
				t.Fatalf("nothing differs: %+v", r)
			}
			return
		}
		// Twice the rank: the number of smaller absolute values twice, of
		// equal ones once, and one.
		rank := make([]int, len(diff))
		var w int
		for i, x := range diff {
			for _, y := range diff {
				switch {
				case math.Abs(y) < math.Abs(x):
					rank[i] += 2
				case math.Abs(y) == math.Abs(x):
					rank[i]++
				}
			}
			rank[i]++
			if x > 0 {
				w += rank[i]
			}
		}
		var up, down, n float64
		for pattern := range 1 << len(diff) {
			var s int
			for i := range diff {
				if pattern>>i&1 == 1 {
					s += rank[i]
				}
			}
			n++
			if s >= w {
				up++
			}
			if s <= w {
				down++
			}
		}
		greater, _ := stats.WilcoxonSignedRank(a, b, stats.Greater, 0.9)
		less, _ := stats.WilcoxonSignedRank(a, b, stats.Less, 0.9)
		if r.WPlus != float64(w)/2 || !alike(greater.PExact, up/n) || !alike(less.PExact, down/n) || !alike(r.PExact, math.Min(1, 2*math.Min(up, down)/n)) {
			t.Fatalf("%v: %+v, counted W %v, p %v and %v", diff, r, float64(w)/2, up/n, down/n)
		}
		if averages := walshAverages(diff); !alike(r.HodgesLehmann, median(averages)) {
			t.Fatalf("%v: %v, median of all averages %v", diff, r.HodgesLehmann, median(averages))
		}
	})
}

func walshAverages(xs []float64) []float64 {
	var out []float64
	for i := range xs {
		for j := range i + 1 {
			out = append(out, (xs[i]+xs[j])/2)
		}
	}
	slices.Sort(out)
	return out
}

func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// TestHodgesLehmannInterval is where the test stops rejecting: shifted by just
// less than a limit the differences are significant at 1 − level, by just more
// they are not.
func TestHodgesLehmannInterval(t *testing.T) {
	t.Parallel()
	for _, n := range []int{6, 9, 20, 75, 300} {
		for _, level := range []float64{0.8, 0.9, 0.95} {
			d, zero := normals(n, uint64(n)+7), make([]float64, n)
			r, err := stats.WilcoxonSignedRank(d, zero, stats.TwoSided, level)
			if err != nil || math.IsNaN(r.HLCI.Low) || len(r.Warnings) > 0 {
				t.Fatalf("n %d: %+v, %v", n, r, err)
			}
			p := func(shift float64) float64 {
				shifted := make([]float64, n)
				for i := range d {
					shifted[i] = shift
				}
				r, _ := stats.WilcoxonSignedRank(d, shifted, stats.TwoSided, level)
				return r.PExact
			}
			const step = 1e-6
			alpha := (1 - level) * (1 + 1e-12)
			if p(r.HLCI.Low-step) > alpha || p(r.HLCI.High+step) > alpha || p(r.HLCI.Low+step) <= alpha || p(r.HLCI.High-step) <= alpha {
				t.Errorf("n %d, level %v: %v; p outside %v %v, inside %v %v", n, level, r.HLCI,
					p(r.HLCI.Low-step), p(r.HLCI.High+step), p(r.HLCI.Low+step), p(r.HLCI.High-step))
			}
		}
	}
	// Four differences: no rank sum is rarer than 1/16 on either side.
	r, err := stats.WilcoxonSignedRank([]float64{1, 2, 4, 8}, make([]float64, 4), stats.TwoSided, 0.95)
	if err != nil || r.HLCI.Low != 1 || r.HLCI.High != 8 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "a coverage of at most 0.875") {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestSignedRanksOfR: R 4.2.2,
//
//	d <- c(-1:-9, 10:40)/10; wilcox.test(d, exact=TRUE, conf.int=TRUE, conf.level=…)
//	x <- c(1.1, -0.3, 0.8, 2.4, -1.6, 0.2, 3.1, -0.7, 1.9, 0.5, 2.2, -0.1); same, alternative=…
func TestSignedRanksOfR(t *testing.T) {
	var d []float64
	for k := 1; k <= 40; k++ {
		x := float64(k) / 10
		if k < 10 {
			x = -x
		}
		d = append(d, x)
	}
	zero := make([]float64, len(d))
	r, _ := stats.WilcoxonSignedRank(d, zero, stats.TwoSided, 0.99)
	same(t, "p", r.PExact, 3.06299625663087e-08)
	same(t, "estimate", r.HodgesLehmann, 1.85)
	same(t, "low", r.HLCI.Low, 1.15)
	same(t, "high", r.HLCI.High, 2.6)
	x := []float64{1.1, -0.3, 0.8, 2.4, -1.6, 0.2, 3.1, -0.7, 1.9, 0.5, 2.2, -0.1}
	for side, want := range map[stats.Alternative][3]float64{
		stats.TwoSided: {0.09228515625, 0.0843794425939605, 0.0916805301459911},
		stats.Greater:  {0.046142578125, 0.0421897212969802, 0.0458402650729956},
		stats.Less:     {0.96142578125, 0.95781027870302, 0.961221916628167},
	} {
		r, _ := stats.WilcoxonSignedRank(x, make([]float64, len(x)), side, 0.9)
		same(t, "p exact", r.PExact, want[0])
		same(t, "p normal", r.PNormal, want[1])
		same(t, "p normal, corrected", r.PContinuity, want[2])
		same(t, "low", r.HLCI.Low, 0.05)
		same(t, "high", r.HLCI.High, 1.5)
	}
}

// TestSignedRanksHaveNoUnit: differences of 1e-12 are ranked as those of 1 are, and what is
// rounding noise beside the scores is a tie.
func TestSignedRanksHaveNoUnit(t *testing.T) {
	tenth := 0.1
	a, b := []float64{tenth + 0.2, 0.9, 0.7, 0.5, 0.8, 0.4, 1}, []float64{0.3, 0.6, 0.2, 0.1, 0.9, 0.1, 0.3}
	want, err := stats.WilcoxonSignedRank(a, b, stats.TwoSided, 0.9)
	if err != nil || want.Zeros != 1 || !want.Ties {
		t.Fatalf("%+v, %v", want, err)
	}
	for _, unit := range []float64{1e-290, 1e-12, 1e-7, 1e3} {
		x, y := slices.Clone(a), slices.Clone(b)
		for i := range x {
			x[i], y[i] = x[i]*unit, y[i]*unit
		}
		got, err := stats.WilcoxonSignedRank(x, y, stats.TwoSided, 0.9)
		if err != nil || got.PExact != want.PExact || got.Zeros != want.Zeros || got.Ties != want.Ties {
			t.Errorf("times %g: %+v, %v; want %+v", unit, got, err, want)
		}
	}
}

// TestNormalHodgesLehmannInterval of data with ties and a zero: R prints, for
// wilcox.test(extra ~ group, paired = TRUE, conf.int = TRUE) on its data set
// sleep, -2.949921 to -1.050018 and the estimate -1.400031; its root search stops
// within 1e-4 of a Walsh average. Shifted past a limit the test rejects.
func TestNormalHodgesLehmannInterval(t *testing.T) {
	t.Parallel()
	r, err := stats.WilcoxonSignedRank(drug1, drug2, stats.TwoSided, 0.95)
	if err != nil || !math.IsNaN(r.HLCI.Low) {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, c := range []struct{ got, want float64 }{{r.HLNormal.Low, -2.949921}, {r.HLNormal.High, -1.050018}, {r.HodgesLehmann, -1.400031}} {
		if !(math.Abs(c.got-c.want) < 1e-4) {
			t.Errorf("%v, R %v", c.got, c.want)
		}
	}
	same(t, "low", r.HLNormal.Low, -2.95)
	same(t, "high", r.HLNormal.High, -1.05)
	if r, _ := stats.WilcoxonSignedRank([]float64{1, 1, 2}, make([]float64, 3), stats.TwoSided, 0.95); !math.IsNaN(r.HLNormal.Low) {
		t.Errorf("three differences: %v", r.HLNormal)
	}
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SliceOfN(rapid.Float64Range(-3, 3), 8, 40).Draw(t, "differences")
		for i := range d {
			d[i] = math.Round(8*d[i]) / 8 // ties
		}
		d = slices.DeleteFunc(d, func(x float64) bool { return x == 0 })
		level := rapid.SampledFrom([]float64{0.5, 0.8, 0.95}).Draw(t, "level")
		p := func(shift float64) float64 {
			shifted := make([]float64, len(d))
			for i := range d {
				shifted[i] = shift
			}
			r, _ := stats.WilcoxonSignedRank(d, shifted, stats.TwoSided, level)
			return r.PContinuity
		}
		r, err := stats.WilcoxonSignedRank(d, make([]float64, len(d)), stats.TwoSided, level)
		if err != nil || math.IsNaN(r.HLNormal.Low) || r.HLNormal.Low == r.HLNormal.High {
			return
		}
		const step = 1e-6
		if p(r.HLNormal.Low-step) > 1-level || p(r.HLNormal.High+step) > 1-level || p(r.HLNormal.Low+step) <= 1-level || p(r.HLNormal.High-step) <= 1-level {
			t.Errorf("%v: p outside %v %v, inside %v %v", r.HLNormal, p(r.HLNormal.Low-step), p(r.HLNormal.High+step), p(r.HLNormal.Low+step), p(r.HLNormal.High-step))
		}
	})
}

// TestSignedRanksOfMany: beyond what is counted the approximation stands
// alone and says so; the estimate is there for any number.
func TestSignedRanksOfMany(t *testing.T) {
	t.Parallel()
	d := normals(2001, 3)
	few, _ := stats.WilcoxonSignedRank(d[:500], make([]float64, 500), stats.TwoSided, 0.95)
	many, _ := stats.WilcoxonSignedRank(d, make([]float64, 2001), stats.TwoSided, 0.95)
	if !(math.Abs(few.PExact-few.PContinuity) <= 1e-3) || len(few.Warnings) > 0 || !(few.HLCI.Low < few.HodgesLehmann && few.HodgesLehmann < few.HLCI.High) {
		t.Errorf("500: %+v", few)
	}
	if want := median(walshAverages(d)); !math.IsNaN(many.PExact) || math.IsNaN(many.PNormal) || len(many.Warnings) != 1 || !(math.Abs(many.HodgesLehmann-want) <= 1e-10) {
		t.Errorf("2001: %+v, want the Hodges-Lehmann estimate %v", many, want)
	}
}

// TestMostExactRanks is the largest number of differences that are counted,
// which takes seconds.
func TestMostExactRanks(t *testing.T) {
	simulation(t)
	r, err := stats.WilcoxonSignedRank(normals(2000, 3), make([]float64, 2000), stats.TwoSided, 0.95)
	if err != nil || !(math.Abs(r.PExact-r.PContinuity) <= 1e-3) || len(r.Warnings) > 0 || !(r.HLCI.Low < r.HodgesLehmann && r.HodgesLehmann < r.HLCI.High) {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestRanksOfAnyBase: differences that are equal on paper are ties, however large the scores are.
func TestRanksOfAnyBase(t *testing.T) {
	var want stats.SignedRank
	for _, base := range []float64{0, 1e5, 1e6, 1e9, 1e12} {
		var a, b []float64
		for i, d := range []float64{1, 3, -1, 2, 3, -2, 3, 1, 5, -3, 2, 0, -3} {
			x := 10*base + 7*float64(i)
			a, b = append(a, (x+d)/10), append(b, x/10)
		}
		r, err := stats.WilcoxonSignedRank(a, b, stats.TwoSided, 0.95)
		if want.N == 0 {
			want = r
		}
		if err != nil || r.PExact != want.PExact || r.PNormal != want.PNormal || r.WPlus != want.WPlus || r.Zeros != 1 {
			t.Errorf("base %v: %+v, want %+v; %v", base, r, want, err)
		}
	}
	// The largest score does not hide small differences of others.
	if r, _ := stats.WilcoxonSignedRank([]float64{1e9, 0.003, 0.001}, []float64{0, 0.001, 0}, stats.TwoSided, 0.95); r.Used != 3 || r.Ties {
		t.Errorf("small differences beside a large one: %+v", r)
	}
}

// TestSignFlipsAgree: drawn patterns come to the counted p-values within five
// standard errors, and counting takes 40 differences.
func TestSignFlipsAgree(t *testing.T) {
	t.Parallel()
	for seed, n := range []int{1, 2, 5, 12, 25, 40} {
		d := normals(n, uint64(seed))
		for i := range d {
			d[i] = math.Round(10*(d[i]+0.2)) / 10 // ties
		}
		exact, err := stats.SignFlipExact(d)
		if err != nil {
			t.Fatal(err)
		}
		const draws = 20000
		drawn, err := stats.SignFlipRandom(d, draws, 9, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, pair := range [][2]float64{{exact.P, drawn.P}, {exact.PGreater, drawn.PGreater}, {exact.PLess, drawn.PLess}} {
			if se := math.Sqrt(pair[0]*(1-pair[0])/draws) + 1.0/draws; !(math.Abs(pair[0]-pair[1]) <= 5*se) {
				t.Errorf("n %d: counted %v, drawn %v", n, pair[0], pair[1])
			}
		}
		if drawn.P < 1.0/(draws+1) || exact.P < math.Ldexp(1, -n) {
			t.Errorf("n %d: below the smallest p there is: %v, %v", n, exact.P, drawn.P)
		}
	}
	if _, err := stats.SignFlipExact(make([]float64, stats.MaxExactFlips+1)); err == nil {
		t.Error("2^41 patterns were promised")
	}
}

// TestSignFlipsOfAnyScale: p-values do not depend on the unit. Of 6 differences of one sign
// they are 2/2⁶, 1/2⁶ and 1; those of 1.3 − 1 and 1 − 0.7 are equal on paper.
// Differences below 1e-15 are of rounding alone.
func TestSignFlipsOfAnyScale(t *testing.T) {
	noise := make([]float64, 10)
	for i := range noise {
		noise[i] = 5e-17 + 1e-18*float64(i)
	}
	if r, err := stats.SignFlipExact(noise); err != nil || r.P != 1 {
		t.Errorf("rounding: %+v, %v", r, err)
	}
	for _, unit := range []float64{1, 1e-13, 1e-12, 1e12} {
		d := []float64{1.1 * unit, 2 * unit, 3 * unit, 1.7 * unit, 2.2 * unit, 1.3 * unit}
		sizes := []float64{1, 1, 1, 1, 1, 1}
		r, err := stats.SignFlipExact(d)
		interval, _ := stats.SignFlipInterval(d, sizes, 1, 1, 1)
		if err != nil || r.P != 2.0/64 || r.PGreater != 1.0/64 || r.PLess != 1 || interval.P(0) != r.P {
			t.Errorf("unit %v: %+v, %v, %v", unit, r, interval.P(0), err)
		}
		// 2 of the 4 patterns of two equal differences of different sign reach their sum of 0.
		tied := []float64{(1.3 - 1) * unit, (0.7 - 1) * unit}
		tied[0] += 1e-16 * unit
		if r, _ := stats.SignFlipExact(tied); r.P != 1 || r.PGreater != 0.75 {
			t.Errorf("tied, unit %v: %+v", unit, r)
		}
	}
}

// TestOneLimit is non-inferiority: one t-test, and the untested limit has no
// p-value. R: t.test(x, mu = -0.5, alternative = "greater").
func TestOneLimit(t *testing.T) {
	x := []float64{1.1, -0.3, 0.8, 2.4, -1.6, 0.2, 3.1, -0.7, 1.9, 0.5, 2.2, -0.1}
	r, err := stats.PairedTOST(x, make([]float64, len(x)), -0.5, math.Inf(1), 0.05)
	if err != nil || !math.IsNaN(r.PHigh) || r.P != r.PLow || !r.Equivalent {
		t.Errorf("%+v, %v", r, err)
	}
	same(t, "p", r.P, 0.0042735939467319)
	r, err = stats.PairedTOST(x, make([]float64, len(x)), math.Inf(-1), 0.5, 0.05)
	if err != nil || !math.IsNaN(r.PLow) || r.P != r.PHigh || r.Equivalent {
		t.Errorf("%+v, %v", r, err)
	}
	same(t, "p", r.P, 0.757083686019063)
	if r, err := stats.PairedTOST([]float64{1, 2}, []float64{0, 1}, -2, 2, 0.05); err != nil || r.Undefined == "" || !math.IsNaN(r.P) || r.Equivalent {
		t.Errorf("equivalence without a spread: %+v, %v", r, err)
	}
	if _, err := stats.TOST(0, 1, 5, math.Inf(-1), math.Inf(1), 0.05); err == nil {
		t.Error("equivalence within nothing was accepted")
	}
}

func TestBadPairs(t *testing.T) {
	one, two := []float64{1}, []float64{1, 2}
	for name, err := range map[string]error{
		"ranks of nothing":      second(stats.WilcoxonSignedRank(nil, nil, stats.TwoSided, 0.95)),
		"ranks of unequal":      second(stats.WilcoxonSignedRank(one, two, stats.TwoSided, 0.95)),
		"ranks at no level":     second(stats.WilcoxonSignedRank(two, two, stats.TwoSided, 1)),
		"flips of nothing":      second(stats.SignFlipExact(nil)),
		"flips of NaN":          second(stats.SignFlipRandom([]float64{math.NaN()}, 10, 1, 1)),
		"flips without draws":   second(stats.SignFlipRandom(two, 0, 1, 1)),
		"equivalence at 0.5":    second(stats.PairedTOST(two, two, -1, 1, 0.5)),
		"equivalence unequal":   second(stats.PairedTOST(one, two, -1, 1, 0.05)),
		"negative se":           second(stats.TOST(0, -1, 5, -1, 1, 0.05)),
		"no df":                 second(stats.TOST(0, 1, 0, -1, 1, 0.05)),
		"estimate NaN":          second(stats.TOST(math.NaN(), 1, 5, -1, 1, 0.05)),
		"difference overflows":  second(stats.Differences([]float64{1e308}, []float64{-1e308})),
		"ranks of an infinity":  second(stats.WilcoxonSignedRank([]float64{math.Inf(1)}, one, stats.TwoSided, 0.95)),
		"correction by no name": second(stats.Adjust("fdr", one)),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "stats: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/stats"
)

func drawPairs(t *rapid.T, most int) (a, b []float64) {
	n := rapid.IntRange(2, most).Draw(t, "pairs")
	for range n {
		a = append(a, float64(rapid.IntRange(0, 20).Draw(t, "a"))/20)
		b = append(b, float64(rapid.IntRange(0, 20).Draw(t, "b"))/20)
	}
	return a, b
}

func alike(x, y float64) bool {
	return math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= 1e-9*(1+math.Abs(x))
}

// TestPairedSymmetry: swapping the arms turns estimates round and keeps
// two-sided p-values; the order of pairs does not matter.
func TestPairedSymmetry(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPairs(t, 12)
		p, _ := stats.PairedT(a, b, 0.9)
		q, _ := stats.PairedT(b, a, 0.9)
		if !alike(p.T, -q.T) || !alike(p.P, q.P) || !alike(p.CI.Low, -q.CI.High) || !alike(p.EffectInterval(0.9).Low, -q.EffectInterval(0.9).High) {
			t.Fatalf("t: %+v and %+v", p, q)
		}
		w, _ := stats.WilcoxonSignedRank(a, b, stats.TwoSided, 0.9)
		v, _ := stats.WilcoxonSignedRank(b, a, stats.TwoSided, 0.9)
		if !alike(w.PExact, v.PExact) || !alike(w.HodgesLehmann, -v.HodgesLehmann) || w.WPlus != v.WMinus {
			t.Fatalf("signed ranks: %+v and %+v", w, v)
		}
		diff, _ := stats.Differences(a, b)
		f, _ := stats.SignFlipExact(diff)
		slices.Reverse(diff)
		g, _ := stats.SignFlipExact(diff)
		if !alike(f.P, g.P) || !alike(f.PGreater, g.PGreater) {
			t.Fatalf("sign flips: %+v and %+v", f, g)
		}
	})
}

// TestExactByEnumeration counts all patterns of signs one by one.
func TestExactByEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPairs(t, 9)
		diff, _ := stats.Differences(a, b)
		for i := range diff {
			diff[i] = math.Round(diff[i]*1e10) / 1e10
		}
		f, err := stats.SignFlipExact(diff)
		if err != nil {
			t.Fatal(err)
		}
		var observed float64
		for _, d := range diff {
			observed += d
		}
		var two, up, down, n float64
		for pattern := range 1 << len(diff) {
			var s float64
			for i, d := range diff {
				if pattern>>i&1 == 1 {
					d = -d
				}
				s += d
			}
			n++
			if math.Abs(s) >= math.Abs(observed)-1e-9 {
				two++
			}
			if s >= observed-1e-9 {
				up++
			}
			if s <= observed+1e-9 {
				down++
			}
		}
		if !alike(f.P, two/n) || !alike(f.PGreater, up/n) || !alike(f.PLess, down/n) {
			t.Fatalf("%v: %v, counted %v %v %v", diff, f, two/n, up/n, down/n)
		}
	})
}

// TestWorkersDoNotMatter: results are the same to the bit for any number of
// goroutines, and another seed gives others.
func TestWorkersDoNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var num, den []float64
	for range 137 {
		d := float64(1 + r.IntN(5))
		num, den = append(num, d*r.NormFloat64()), append(den, d)
	}
	draw := func(seed uint64, workers int) (stats.Bootstrap, stats.SignFlip) {
		b, err := stats.ClusterBootstrap(num, den, stats.BootstrapOptions{Resamples: 999, Level: 0.9, Seed: seed, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		f, err := stats.SignFlipRandom(num, 999, seed, workers)
		if err != nil {
			t.Fatal(err)
		}
		return b, f
	}
	b, f := draw(3, 1)
	for _, workers := range []int{2, 3, 8, 1000} {
		c, g := draw(3, workers)
		if !slices.Equal(b.Replicates, c.Replicates) || b.BCa != c.BCa || f != g {
			t.Errorf("%d workers give another result", workers)
		}
	}
	if c, _ := draw(4, 1); slices.Equal(b.Replicates, c.Replicates) {
		t.Error("the seed does not matter")
	}
}

// TestBootstrapOfMeans: with one row a cluster the bootstrap's spread is that
// of a mean, and its interval near the t interval.
func TestBootstrapOfMeans(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	xs, ones, zeros := make([]float64, 80), make([]float64, 80), make([]float64, 80)
	for i := range xs {
		xs[i], ones[i] = r.NormFloat64(), 1
	}
	b, err := stats.ClusterBootstrap(xs, ones, stats.BootstrapOptions{Resamples: 20000, Level: 0.95, Seed: 1, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := stats.PairedT(xs, zeros, 0.95)
	se := p.SE * math.Sqrt(79.0/80)
	if !(math.Abs(b.SD/se-1) <= 0.03) || !(math.Abs(b.BCa.Low-p.CI.Low) <= 0.15*se) || !(math.Abs(b.BCa.High-p.CI.High) <= 0.15*se) {
		t.Errorf("spread %.4f, of the mean %.4f; BCa %v, t %v", b.SD, se, b.BCa, p.CI)
	}
	d, err := stats.ClusterBootstrapDiff(xs, ones, xs, ones, stats.BootstrapOptions{Resamples: 100, Level: 0.95, Seed: 1})
	if err != nil || !d.Degenerate || d.Estimate != 0 {
		t.Errorf("an arm against itself: %+v, %v", d, err)
	}
}

func TestBootstrapFallsBack(t *testing.T) {
	for name, c := range map[string]struct {
		num, den  []float64
		undefined bool
	}{
		"one cluster":        {[]float64{1}, []float64{2}, true},
		"nothing to divide":  {[]float64{0, 0}, []float64{0, 0}, true},
		"one has everything": {[]float64{1, 0, 0}, []float64{3, 0, 0}, false},
		"constant":           {[]float64{1, 1, 1}, []float64{2, 2, 2}, false},
	} {
		b, err := stats.ClusterBootstrap(c.num, c.den, stats.BootstrapOptions{Resamples: 200, Level: 0.9, Seed: 1})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if (b.Undefined != "") != c.undefined || (!c.undefined && len(b.Warnings) == 0) {
			t.Errorf("%s: undefined %q, warnings %q", name, b.Undefined, b.Warnings)
		}
		if math.IsInf(b.BCa.Low, 0) || math.IsInf(b.Percentile.High, 0) {
			t.Errorf("%s: infinite limits", name)
		}
	}
}

// TestCorrections: corrected p-values keep the order, do not fall below the
// plain ones, and stand to each other as their definitions say.
func TestCorrections(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 12).Draw(t, "p")
		all := map[string][]float64{}
		for _, method := range []string{"none", "bonferroni", "holm", "hochberg", "bh", "by"} {
			q, err := stats.Adjust(method, p)
			if err != nil {
				t.Fatal(err)
			}
			all[method] = q
			for i := range p {
				if q[i] < p[i]-1e-15 || q[i] > 1 {
					t.Fatalf("%s: %v from %v", method, q[i], p[i])
				}
				for j := range p {
					if p[i] < p[j] && q[i] > q[j]+1e-15 {
						t.Fatalf("%s turns %v and %v round", method, p[i], p[j])
					}
				}
			}
		}
		for i := range p {
			if all["holm"][i] > all["bonferroni"][i]+1e-15 || all["hochberg"][i] > all["holm"][i]+1e-15 || all["bh"][i] > all["hochberg"][i]+1e-15 || all["by"][i] < all["bh"][i]-1e-15 {
				t.Fatalf("%v: %v", p, all)
			}
		}
	})
	q, _ := stats.Adjust("holm", []float64{0.01, math.NaN(), 0.04})
	if q[0] != 0.02 || !math.IsNaN(q[1]) || q[2] != 0.04 {
		t.Errorf("undefined p-values count in the family: %v", q)
	}
	if _, err := stats.Adjust("fdr", nil); err == nil {
		t.Error("an unknown correction was accepted")
	}
}

// TestPowerIsMonotone in the number of pairs and in the effect, and is solved
// for in both directions.
func TestPowerIsMonotone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := float64(rapid.IntRange(3, 200).Draw(t, "n"))
		dz := rapid.Float64Range(0.1, 1).Draw(t, "dz")
		p, one, err := stats.PairedPower(n, dz, 0.05, stats.TwoSided)
		if err != nil {
			t.Fatal(err)
		}
		more, _, _ := stats.PairedPower(n+1, dz, 0.05, stats.TwoSided)
		larger, _, _ := stats.PairedPower(n, dz+0.1, 0.05, stats.TwoSided)
		if more < p-1e-10 || larger < p-1e-10 || one > p {
			t.Fatalf("power %v, with a pair more %v, with a larger effect %v, one tail %v", p, more, larger, one)
		}
		if p > 0.1 && p < 0.999 {
			size, err := stats.PairedSize(dz, p, 0.05, stats.TwoSided)
			if err != nil || !(math.Abs(size-n) <= 1e-5*n) {
				t.Fatalf("size %v for the power of %v pairs, %v", size, n, err)
			}
			effect, err := stats.PairedEffect(n, p, 0.05, stats.TwoSided)
			if err != nil || !(math.Abs(effect-dz) <= 1e-6) {
				t.Fatalf("effect %v, want %v, %v", effect, dz, err)
			}
		}
	})
}

// TestTOSTIsTheInterval: equivalence at α is the interval of level 1 − 2α
// within the limits.
func TestTOSTIsTheInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		estimate := rapid.Float64Range(-1, 1).Draw(t, "estimate")
		se := rapid.Float64Range(0.01, 1).Draw(t, "se")
		df := rapid.Float64Range(2, 200).Draw(t, "df")
		margin := rapid.Float64Range(0.05, 2).Draw(t, "margin")
		r, err := stats.TOST(estimate, se, df, -margin, margin, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		within := r.CI.Low > -margin && r.CI.High < margin
		if r.Equivalent != within && !(math.Abs(r.P-0.05) <= 1e-9) {
			t.Fatalf("%+v", r)
		}
	})
	if _, err := stats.TOST(0, 1, 5, 0.1, -0.1, 0.05); err == nil {
		t.Error("limits the wrong way round were accepted")
	}
}

// TestFisherByEnumeration of all 2×2 tables with the margins.
func TestFisherByEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) int { return rapid.IntRange(0, 7).Draw(t, name) }
		a, b, c, d := draw("a"), draw("b"), draw("c"), draw("d")
		if a+b+c+d == 0 {
			t.Skip()
		}
		got, err := stats.Fisher([][]int{{a, b}, {c, d}})
		if err != nil {
			t.Fatal(err)
		}
		choose := func(n, k int) float64 {
			v := 1.0
			for i := range k {
				v = v * float64(n-i) / float64(i+1)
			}
			return v
		}
		weight := func(x int) float64 { return choose(a+c, x) * choose(b+d, a+b-x) }
		var total, sum float64
		for x := max(0, a+b-(b+d)); x <= min(a+b, a+c); x++ {
			total += weight(x)
			if weight(x) <= weight(a)*(1+1e-7) {
				sum += weight(x)
			}
		}
		if !alike(got, math.Min(1, sum/total)) {
			t.Fatalf("%d %d / %d %d: %v, counted %v", a, b, c, d, got, sum/total)
		}
	})
}

// TestROCByPairs compares with the definition over all pairs of cases, and
// DeLong's variance with its U-statistic form.
func TestROCByPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(4, 25).Draw(t, "cases")
		scores, kind := make([]float64, n), make([]bool, n)
		for i := range scores {
			scores[i], kind[i] = float64(rapid.IntRange(0, 6).Draw(t, "score")), rapid.Bool().Draw(t, "kind")
		}
		kind[0], kind[1], kind[2], kind[3] = true, true, false, false
		got, err := stats.ROC(scores, kind, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		psi := func(x, y float64) float64 {
			switch {
			case x > y:
				return 1
			case x == y:
				return 0.5
			}
			return 0
		}
		placements := func(of bool) []float64 {
			var out []float64
			for i := range scores {
				if kind[i] != of {
					continue
				}
				var s, m float64
				for j := range scores {
					if kind[j] == of {
						continue
					}
					m++
					if of {
						s += psi(scores[i], scores[j])
					} else {
						s += psi(scores[j], scores[i])
					}
				}
				out = append(out, s/m)
			}
			return out
		}
		variance := func(xs []float64) (mean, v float64) {
			for _, x := range xs {
				mean += x / float64(len(xs))
			}
			for _, x := range xs {
				v += (x - mean) * (x - mean) / float64(len(xs)-1) / float64(len(xs))
			}
			return mean, v
		}
		area, v1 := variance(placements(true))
		_, v0 := variance(placements(false))
		if !alike(got.Value, area) || !alike(got.SE, math.Sqrt(v1+v0)) {
			t.Fatalf("%v ± %v, by pairs %v ± %v", got.Value, got.SE, area, math.Sqrt(v1+v0))
		}
	})
}

// TestCalibration on a hand-made curve: a confidence on a boundary is of the lower bin.
func TestCalibration(t *testing.T) {
	confidence := []float64{0.2, 0.2, 0.2, 0.2, 0.9, 0.9, 0.9, 0.9, 1, 0}
	outcome := []bool{true, false, false, false, true, true, true, false, true, false}
	c, err := stats.CalibrationCurve(confidence, outcome, stats.CalibrationOptions{Bins: 5, Level: 0.95})
	if err != nil {
		t.Fatal(err)
	}
	// Bins [0, 0.2]: 1 of 5 at 0.16; (0.8, 1]: 4 of 5 at 0.92.
	if want := (5*0.04 + 5*0.12) / 10; len(c.Bins) != 2 || !alike(c.ECE, want) || !alike(c.MCE, 0.12) {
		t.Errorf("ECE %v, want %v; %+v", c.ECE, want, c.Bins)
	}
	if brier := (0.64 + 3*0.04 + 3*0.01 + 0.81) / 10; !alike(c.Brier, brier) {
		t.Errorf("Brier %v, want %v", c.Brier, brier)
	}
	equal, err := stats.CalibrationCurve(confidence, outcome, stats.CalibrationOptions{Bins: 2, EqualCounts: true, Level: 0.95})
	if err != nil || len(equal.Bins) != 2 || equal.Bins[0].N != 5 {
		t.Errorf("equal counts: %+v, %v", equal.Bins, err)
	}
	if _, err := stats.CalibrationCurve([]float64{1.2}, []bool{true}, stats.CalibrationOptions{Bins: 5, Level: 0.95}); err == nil {
		t.Error("a confidence above 1 was accepted")
	}
}

// BenchmarkBCa is 10,000 resamples of 1,000 clusters on one core.
func BenchmarkBCa(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 7))
	num, den := make([]float64, 1000), make([]float64, 1000)
	for k := range num {
		den[k] = float64(1 + r.IntN(9))
		num[k] = den[k] * r.NormFloat64()
	}
	for b.Loop() {
		if _, err := stats.ClusterBootstrap(num, den, stats.BootstrapOptions{Resamples: 10000, Level: 0.95, Seed: 1, Workers: 1}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSignFlip draws 10,000 patterns of 1,000 differences on one core.
func BenchmarkSignFlip(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 7))
	diff := make([]float64, 1000)
	for i := range diff {
		diff[i] = 0.02 + r.NormFloat64()
	}
	for b.Loop() {
		if _, err := stats.SignFlipRandom(diff, 10000, 1, 1); err != nil {
			b.Fatal(err)
		}
	}
}

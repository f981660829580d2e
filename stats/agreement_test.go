package stats_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/stats"
)

func drawTable(t *rapid.T, rows, cols, most int) [][]int {
	table := make([][]int, rows)
	for i := range table {
		table[i] = rapid.SliceOfN(rapid.IntRange(0, most), cols, cols).Draw(t, "row")
	}
	return table
}

func count(table [][]int) (n int) {
	for _, row := range table {
		for _, x := range row {
			n += x
		}
	}
	return n
}

// kappaExactly is Fleiss, Cohen & Everitt's formula as it is printed, in
// rational numbers: the estimate and both variances times n.
func kappaExactly(table [][]int, weight func(i, j int) *big.Rat) (kappa, variance, null float64) {
	k, n := len(table), big.NewRat(int64(count(table)), 1)
	share := func(x int) *big.Rat { return new(big.Rat).Quo(big.NewRat(int64(x), 1), n) }
	row, col := make([]*big.Rat, k), make([]*big.Rat, k)
	for i := range k {
		var r, c int
		for j := range k {
			r, c = r+table[i][j], c+table[j][i]
		}
		row[i], col[i] = share(r), share(c)
	}
	mul := func(xs ...*big.Rat) *big.Rat {
		p := big.NewRat(1, 1)
		for _, x := range xs {
			p.Mul(p, x)
		}
		return p
	}
	add := func(a, b *big.Rat) *big.Rat { return new(big.Rat).Add(a, b) }
	sub := func(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) }
	one, po, pe := big.NewRat(1, 1), new(big.Rat), new(big.Rat)
	meanRow, meanCol := make([]*big.Rat, k), make([]*big.Rat, k)
	for i := range k {
		meanRow[i], meanCol[i] = new(big.Rat), new(big.Rat)
		for j := range k {
			po.Add(po, mul(weight(i, j), share(table[i][j])))
			pe.Add(pe, mul(weight(i, j), row[i], col[j]))
			meanRow[i].Add(meanRow[i], mul(weight(i, j), col[j]))
			meanCol[i].Add(meanCol[i], mul(weight(j, i), row[j]))
		}
	}
	chance := sub(one, pe)
	if chance.Sign() == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	ka := new(big.Rat).Quo(sub(po, pe), chance)
	v, v0 := new(big.Rat), new(big.Rat)
	for i := range k {
		for j := range k {
			m := add(meanRow[i], meanCol[j])
			x, y := sub(weight(i, j), mul(m, sub(one, ka))), sub(weight(i, j), m)
			v.Add(v, mul(share(table[i][j]), x, x))
			v0.Add(v0, mul(row[i], col[j], y, y))
		}
	}
	centre := sub(ka, mul(pe, sub(one, ka)))
	v, v0 = sub(v, mul(centre, centre)), sub(v0, mul(pe, pe))
	kappa, _ = ka.Float64()
	variance, _ = v.Quo(v, mul(chance, chance)).Float64()
	null, _ = v0.Quo(v0, mul(chance, chance)).Float64()
	return kappa, variance, null
}

func TestKappaByItsFormula(t *testing.T) {
	t.Parallel()
	weights := map[stats.Weights]func(i, j, k int) *big.Rat{
		stats.Unweighted: func(i, j, _ int) *big.Rat {
			if i == j {
				return big.NewRat(1, 1)
			}
			return new(big.Rat)
		},
		stats.LinearWeights: func(i, j, k int) *big.Rat {
			return new(big.Rat).Sub(big.NewRat(1, 1), big.NewRat(int64(max(i-j, j-i)), int64(k-1)))
		},
		stats.QuadraticWeights: func(i, j, k int) *big.Rat {
			return new(big.Rat).Sub(big.NewRat(1, 1), big.NewRat(int64((i-j)*(i-j)), int64((k-1)*(k-1))))
		},
	}
	check := func(t interface{ Fatalf(string, ...any) }, table [][]int) {
		for w, of := range weights {
			kappa, variance, null := kappaExactly(table, func(i, j int) *big.Rat { return of(i, j, len(table)) })
			got, err := stats.CohenKappa(table, w, 0.95)
			if err != nil {
				t.Fatalf("%v: %v", table, err)
			}
			n := math.Sqrt(float64(count(table)))
			for _, x := range [][2]float64{{got.Kappa, kappa}, {got.SE, math.Sqrt(variance) / n}, {got.SENull, math.Sqrt(null) / n}} {
				if math.IsNaN(x[0]) != math.IsNaN(x[1]) || math.Abs(x[0]-x[1]) > 1e-11*math.Abs(x[1])+1e-14 {
					t.Fatalf("%v, weights %d: %v, exactly %v", table, w, x[0], x[1])
				}
			}
			if (got.Undefined != "") != math.IsNaN(got.Kappa) {
				t.Fatalf("%v: κ %v, undefined %q", table, got.Kappa, got.Undefined)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(2, 5).Draw(t, "labels")
		table := drawTable(t, k, k, 12)
		if count(table) == 0 {
			t.Skip()
		}
		check(t, table)
	})
	// Rare labels, where agreement and chance are both nearly 1.
	check(t, [][]int{{999_997, 1}, {1, 1}})
	check(t, [][]int{{99_999_998, 1}, {0, 1}})
	check(t, [][]int{{50_000_000, 2, 0}, {1, 3, 0}, {0, 1, 0}})
}

// TestKappaSymmetry: raters may be swapped and labels turned round; with two
// labels all weights are one; κ does not exceed what the margins allow.
func TestKappaSymmetry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(2, 4).Draw(t, "labels")
		table := drawTable(t, k, k, 9)
		if count(table) == 0 {
			t.Skip()
		}
		swapped, reversed := make([][]int, k), make([][]int, k)
		for i := range k {
			swapped[i], reversed[i] = make([]int, k), make([]int, k)
			for j := range k {
				swapped[i][j], reversed[i][j] = table[j][i], table[k-1-i][k-1-j]
			}
		}
		for _, w := range []stats.Weights{stats.Unweighted, stats.LinearWeights, stats.QuadraticWeights} {
			a, _ := stats.CohenKappa(table, w, 0.9)
			for _, other := range [][][]int{swapped, reversed} {
				b, _ := stats.CohenKappa(other, w, 0.9)
				if !alike(a.Kappa, b.Kappa) || !alike(a.SE, b.SE) || !alike(a.P, b.P) || !alike(a.Max, b.Max) {
					t.Fatalf("%+v and %+v", a, b)
				}
			}
			if u, _ := stats.CohenKappa(table, stats.Unweighted, 0.9); k == 2 && !alike(a.SE, u.SE) || w == stats.Unweighted && a.Kappa > a.Max+1e-12 {
				t.Fatalf("%+v, unweighted %+v", a, u)
			}
		}
	})
}

func drawRatings(t *rapid.T) [][]float64 {
	raters, units := rapid.IntRange(2, 4).Draw(t, "raters"), rapid.IntRange(1, 8).Draw(t, "units")
	ratings := make([][]float64, raters)
	for r := range ratings {
		for range units {
			x := float64(rapid.IntRange(-1, 4).Draw(t, "rating"))
			if x < 0 {
				x = math.NaN()
			}
			ratings[r] = append(ratings[r], x)
		}
	}
	return ratings
}

// alphaByDefinition goes through the coincidence matrix and the distances of
// Krippendorff (2011), steps B and C.
func alphaByDefinition(ratings [][]float64, scale stats.Scale) (alpha, observed, expected float64) {
	const values = 5
	var o [values][values]float64
	for u := range ratings[0] {
		var given []int
		for _, row := range ratings {
			if !math.IsNaN(row[u]) {
				given = append(given, int(row[u]))
			}
		}
		for i, a := range given {
			for j, b := range given {
				if i != j {
					o[a][b] += 1 / float64(len(given)-1)
				}
			}
		}
	}
	var margin [values]float64
	var n float64
	for a := range values {
		for b := range values {
			margin[a] += o[a][b]
		}
		n += margin[a]
	}
	distance := func(a, b int) float64 {
		x, y := float64(min(a, b)), float64(max(a, b))
		switch {
		case a == b:
			return 0
		case scale == stats.Nominal:
			return 1
		case scale == stats.IntervalScale:
			return (y - x) * (y - x)
		case scale == stats.RatioScale:
			return (y - x) * (y - x) / ((x + y) * (x + y))
		}
		s := -(margin[a] + margin[b]) / 2
		for g := min(a, b); g <= max(a, b); g++ {
			s += margin[g]
		}
		return s * s
	}
	for a := range values {
		for b := range values {
			observed += o[a][b] * distance(a, b) / n
			expected += margin[a] * margin[b] * distance(a, b) / (n * (n - 1))
		}
	}
	return 1 - observed/expected, observed, expected
}

func TestAlphaByDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ratings := drawRatings(t)
		for _, scale := range []stats.Scale{stats.Nominal, stats.Ordinal, stats.IntervalScale, stats.RatioScale} {
			got, err := stats.KrippendorffAlpha(ratings, scale)
			if err != nil {
				t.Fatal(err)
			}
			if alpha, observed, expected := alphaByDefinition(ratings, scale); !alike(got.Alpha, alpha) || !alike(got.Observed, observed) || !alike(got.Expected, expected) {
				t.Fatalf("scale %d: %+v, by definition %v, %v of %v", scale, got, alpha, observed, expected)
			}
			if math.IsNaN(got.Alpha) != (got.Undefined != "") {
				t.Fatalf("scale %d: %+v", scale, got)
			}
		}
	})
}

// TestAlphaInvariance: the ordinal scale knows order only, the interval scale
// no origin, the ratio scale no unit; raters may change places.
func TestAlphaInvariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ratings := drawRatings(t)
		for scale, change := range map[stats.Scale]func(x float64) float64{
			stats.Nominal:       func(x float64) float64 { return math.Mod(x*7+3, 11) - 20 },
			stats.Ordinal:       func(x float64) float64 { return math.Exp(3*x) - 9 },
			stats.IntervalScale: func(x float64) float64 { return 1000 - 0.1*x },
			stats.RatioScale:    func(x float64) float64 { return x * 1e200 },
		} {
			changed := make([][]float64, 0, len(ratings))
			for _, row := range ratings {
				out := make([]float64, len(row))
				for u, x := range row {
					out[u] = change(x)
				}
				changed = append([][]float64{out}, changed...)
			}
			a, _ := stats.KrippendorffAlpha(ratings, scale)
			b, err := stats.KrippendorffAlpha(changed, scale)
			if err != nil || math.Abs(a.Alpha-b.Alpha) > 1e-9 || math.IsNaN(a.Alpha) != math.IsNaN(b.Alpha) {
				t.Fatalf("scale %d: %+v, changed %+v, %v", scale, a, b, err)
			}
		}
	})
}

// TestAlphaAndFleiss: without gaps nominal alpha is Fleiss' kappa but for the
// correction of chance for N ratings, 1 − α = (1 − κ)(N − 1)/N.
func TestAlphaAndFleiss(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		subjects, raters := rapid.IntRange(2, 8).Draw(t, "subjects"), rapid.IntRange(2, 5).Draw(t, "raters")
		ratings, counts := make([][]float64, raters), make([][]int, subjects)
		for s := range counts {
			counts[s] = make([]int, 3)
			for r := range ratings {
				x := rapid.IntRange(0, 2).Draw(t, "rating")
				ratings[r] = append(ratings[r], float64(x))
				counts[s][x]++
			}
		}
		f, err := stats.FleissKappa(counts)
		if err != nil {
			t.Fatal(err)
		}
		k, _ := stats.KrippendorffAlpha(ratings, stats.Nominal)
		n := float64(subjects * raters)
		if !alike(1-k.Alpha, (1-f.Kappa)*(n-1)/n) {
			t.Fatalf("α %v, κ %v of %v ratings", k.Alpha, f.Kappa, n)
		}
		if !alike(f.Randolph, (f.PBar-1.0/3)/(2.0/3)) {
			t.Fatalf("Randolph %v of %v", f.Randolph, f.PBar)
		}
		slices.Reverse(counts)
		if g, _ := stats.FleissKappa(counts); !alike(g.Kappa, f.Kappa) || !alike(g.SENull, f.SENull) {
			t.Fatalf("the order of subjects matters: %+v and %+v", f, g)
		}
	})
}

func TestAgreementAtTheEdge(t *testing.T) {
	f, err := stats.FleissKappa([][]int{{4, 0}, {4, 0}})
	if err != nil || f.Undefined == "" || !math.IsNaN(f.Kappa) || f.Randolph != 1 {
		t.Errorf("one category: %+v, %v", f, err) // Randolph's chance is 1/2 all the same
	}
	// 0.1, 0.2 and 0.3 have no exact mean: equal ratings must not look spread.
	same := []float64{0.1, 0.1, 0.1}
	for _, scale := range []stats.Scale{stats.Nominal, stats.Ordinal, stats.IntervalScale, stats.RatioScale} {
		k, err := stats.KrippendorffAlpha([][]float64{same, same, same}, scale)
		if err != nil || k.Undefined == "" || k.Observed != 0 || k.Expected != 0 || !math.IsNaN(k.Alpha) {
			t.Errorf("equal ratings on scale %d: %+v, %v", scale, k, err)
		}
	}
	k, err := stats.KrippendorffAlpha([][]float64{{1e200, 2e200}, {1e200, 3e200}}, stats.IntervalScale)
	if err != nil || k.Undefined == "" || !math.IsNaN(k.Alpha) {
		t.Errorf("squares beyond float64: %+v, %v", k, err)
	}
	distinct := [][]float64{make([]float64, 60_000), make([]float64, 60_000)}
	for i := range 60_000 {
		distinct[0][i], distinct[1][i] = float64(i), float64(i)+0.5
	}
	if _, err := stats.KrippendorffAlpha(distinct, stats.RatioScale); err == nil {
		t.Error("120,000 different ratings on the ratio scale were accepted")
	}
	// Observed 0.25, expected about (60,000²)/6: agreement is all but perfect.
	if k, err := stats.KrippendorffAlpha(distinct, stats.IntervalScale); err != nil || !alike(k.Observed, 0.25) || k.Alpha < 1-1e-9 {
		t.Errorf("120,000 different ratings: %+v, %v", k, err)
	}
	for name, err := range map[string]error{
		"raters of unequal lengths": second(stats.KrippendorffAlpha([][]float64{{1}, {1, 2}}, stats.Nominal)),
		"no raters":                 second(stats.KrippendorffAlpha(nil, stats.Nominal)),
		"an infinite rating":        second(stats.KrippendorffAlpha([][]float64{{math.Inf(1)}, {1}}, stats.Ordinal)),
		"a negative ratio":          second(stats.KrippendorffAlpha([][]float64{{-1}, {1}}, stats.RatioScale)),
		"no counts":                 second(stats.FleissKappa(nil)),
		"unequal raters":            second(stats.FleissKappa([][]int{{1, 2}, {1, 1}})),
		"one rater":                 second(stats.FleissKappa([][]int{{1, 0}})),
		"a negative count":          second(stats.FleissKappa([][]int{{3, -1}})),
		"no square":                 second(stats.CohenKappa([][]int{{1, 2}}, stats.Unweighted, 0.95)),
		"a level of 95":             second(stats.CohenKappa([][]int{{1, 2}, {2, 1}}, stats.Unweighted, 95)),
		"nothing rated":             second(stats.CohenKappa([][]int{{0, 0}, {0, 0}}, stats.Unweighted, 0.95)),
		"a label not listed":        second(stats.KappaTable([]string{"a"}, []string{"b"}, []string{"a"})),
		"a label listed twice":      second(stats.KappaTable([]string{"a"}, []string{"a"}, []string{"a", "a"})),
		"labels of unequal lengths": second(stats.KappaTable([]string{"a"}, nil, []string{"a"})),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

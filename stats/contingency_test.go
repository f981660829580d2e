package stats_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/stats"
)

func near(t *testing.T, what string, got, want, rel float64) {
	t.Helper()
	if !(math.Abs(got-want) <= rel*math.Abs(want)) {
		t.Errorf("%s = %.15g, want %.15g", what, got, want)
	}
}

// TestIntervalsOfManyTrials against R 4.2.2: binom.test, prop.test(correct =
// FALSE), qbeta(x + 1/2, n − x + 1/2).
func TestIntervalsOfManyTrials(t *testing.T) {
	for _, c := range []struct {
		x, n                    int
		exact, wilson, jeffreys [2]float64
	}{
		{17, 20_000, [2]float64{0.000495231820542441, 0.00136058465875979}, [2]float64{0.000530788484842549, 0.0013609211099667}, [2]float64{0.000514314345484853, 0.00132974780357316}},
		{499_378, 1_000_000, [2]float64{0.498397521755063, 0.500358481847885}, [2]float64{0.498398023037658, 0.500357981741099}, [2]float64{0.498398021752397, 0.500357981848114}},
		{3, 4_000_000, [2]float64{1.54668057429816e-07, 2.19181668733427e-06}, [2]float64{2.55067714128792e-07, 2.20529462819958e-06}, [2]float64{2.11233691285373e-07, 2.00159415663537e-06}},
	} {
		for name, iv := range map[string][2]stats.Interval{
			"Clopper-Pearson": {stats.ClopperPearson(c.x, c.n, 0.95), {Low: c.exact[0], High: c.exact[1]}},
			"Wilson":          {stats.Wilson(c.x, c.n, 0.95), {Low: c.wilson[0], High: c.wilson[1]}},
			"Jeffreys":        {stats.Jeffreys(c.x, c.n, 0.95), {Low: c.jeffreys[0], High: c.jeffreys[1]}},
		} {
			near(t, name+" low", iv[0].Low, iv[1].Low, 1e-8)
			near(t, name+" high", iv[0].High, iv[1].High, 1e-8)
		}
	}
}

// TestIntervalsOfProportions: failures are successes turned round, the
// estimate lies within, and a higher level is a wider interval.
func TestIntervalsOfProportions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		level := rapid.Float64Range(0.5, 0.99).Draw(t, "level")
		p := float64(k) / float64(n)
		for name, interval := range map[string]func(k, n int, level float64) stats.Interval{
			"Wilson": stats.Wilson, "Clopper-Pearson": stats.ClopperPearson, "Jeffreys": stats.Jeffreys, "Agresti-Coull": stats.AgrestiCoull,
		} {
			a, b, wider := interval(k, n, level), interval(n-k, n, level), interval(k, n, level+0.005)
			if !alike(a.Low, 1-b.High) || !alike(a.High, 1-b.Low) {
				t.Fatalf("%s of %d of %d: %v, of failures %v", name, k, n, a, b)
			}
			if !(a.Low <= p+1e-12 && a.High >= p-1e-12) || a.Level != level {
				t.Fatalf("%s of %d of %d: %v", name, k, n, a)
			}
			// Agresti and Coull's is not clipped, and its lower limit can rise
			// with the level: that of 0 of 1 is −0.0276 at 99 %, −0.0243 at 99.5 %.
			if name == "Agresti-Coull" {
				continue
			}
			if wider.Low > a.Low || wider.High < a.High || a.Low < 0 || a.High > 1 || (k == 0) != (a.Low == 0) || (k == n) != (a.High == 1) {
				t.Fatalf("%s of %d of %d: %v, wider %v", name, k, n, a, wider)
			}
		}
	})
	for _, iv := range []stats.Interval{stats.Wilson(0, 0, 0.9), stats.ClopperPearson(2, 1, 0.9), stats.Jeffreys(-1, 1, 0.9), stats.AgrestiCoull(0, 1, 1.5)} {
		if !math.IsNaN(iv.Low) || !math.IsNaN(iv.High) {
			t.Errorf("no proportion: %v", iv)
		}
	}
}

// TestNewcombe against the published example 56/70 and 48/80: method 10 gives
// 0.0524 to 0.3339 (Newcombe 1998, table II).
func TestNewcombe(t *testing.T) {
	p, err := stats.CompareProportions(56, 70, 48, 80, 0.95)
	if err != nil || !(math.Abs(p.Newcombe.Low-0.0524) < 5e-5 && math.Abs(p.Newcombe.High-0.3339) < 5e-5) {
		t.Errorf("%v, %v", p.Newcombe, err)
	}
	// All pass: no test, but two perfect records of 20 do not show equality.
	p, err = stats.CompareProportions(20, 20, 20, 20, 0.95)
	if err != nil || p.Undefined == "" || !math.IsNaN(p.Z) || !(p.Newcombe.High > 0.1) || !alike(p.Newcombe.High, -p.Newcombe.Low) {
		t.Errorf("all pass: %+v, %v", p, err)
	}
	// Without pooling: z = 1/0 where one has all and the other none.
	p, err = stats.CompareProportions(5, 5, 0, 5, 0.95)
	if err != nil || p.Undefined != "" || math.IsNaN(p.Z) || !math.IsNaN(p.ZUnpooled) || !math.IsNaN(p.Wald.Low) || len(p.Warnings) != 1 {
		t.Errorf("all and none: %+v, %v", p, err)
	}
}

// TestTwoProportionsIsChiSquared: on a 2×2 table the squared pooled z is χ²,
// with and without Yates' correction.
func TestTwoProportionsIsChiSquared(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) int { return rapid.IntRange(0, 40).Draw(t, name) }
		a, b, c, d := draw("a"), draw("b"), draw("c"), draw("d")
		if a+b == 0 || c+d == 0 {
			t.Skip()
		}
		p, err := stats.CompareProportions(a, a+b, c, c+d, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		plain, _ := stats.ChiSquared([][]int{{a, b}, {c, d}}, stats.ChiSquaredOptions{})
		yates, _ := stats.ChiSquared([][]int{{a, b}, {c, d}}, stats.ChiSquaredOptions{Continuity: true})
		if !alike(p.Z*p.Z, plain.Chi2) || !alike(p.P, plain.P) || !alike(p.PContinuity, yates.P) {
			t.Fatalf("%+v, χ² %v (p %v), corrected p %v", p, plain.Chi2, plain.P, yates.P)
		}
		swapped, _ := stats.CompareProportions(c, c+d, a, a+b, 0.95)
		if !alike(p.Newcombe.Low, -swapped.Newcombe.High) || !alike(p.CohenH, -swapped.CohenH) || !alike(p.P, swapped.P) || !alike(p.ZUnpooled, -swapped.ZUnpooled) {
			t.Fatalf("%+v, swapped %+v", p, swapped)
		}
		if !math.IsNaN(p.ZUnpooled) && (p.PUnpooled < 0.05) != (p.Wald.Low > 0 || p.Wald.High < 0) {
			t.Fatalf("the unpooled test and the Wald interval disagree: %+v", p)
		}
	})
}

// TestMcNemarProperties: swapped arms turn estimates round; Q of two arms is
// McNemar's χ²; the exact p is counted from binomial coefficients.
func TestMcNemarProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) int { return rapid.IntRange(0, 15).Draw(t, name) }
		table := [2][2]int{{draw("a"), draw("b")}, {draw("c"), draw("d")}}
		n := table[0][0] + table[0][1] + table[1][0] + table[1][1]
		if n == 0 {
			t.Skip()
		}
		m, err := stats.McNemarTable(table, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := stats.McNemarTable([2][2]int{{table[0][0], table[1][0]}, {table[0][1], table[1][1]}}, 0.9)
		if !alike(m.P, s.P) || !alike(m.PExact, s.PExact) || !alike(m.PMid, s.PMid) || !alike(m.Diff, -s.Diff) || !alike(m.Wald.Low, -s.Wald.High) ||
			m.OddsRatio != 0 && !math.IsInf(m.OddsRatio, 1) && !alike(m.OddsRatio*s.OddsRatio, m.OddsRatio/m.OddsRatio) ||
			m.OddsExact.Low != 0 && !alike(m.OddsExact.Low*s.OddsExact.High, m.OddsExact.Low/m.OddsExact.Low) {
			t.Fatalf("%+v, swapped %+v", m, s)
		}
		if m.Wald.Low == m.Wald.High {
			t.Fatalf("an interval without width: %+v", m)
		}
		var a, b []bool
		var pass [][]bool
		for i, row := range table {
			for j, count := range row {
				for range count {
					a, b = append(a, i == 0), append(b, j == 0)
					pass = append(pass, []bool{i == 0, j == 0})
				}
			}
		}
		if o, err := stats.McNemarOutcomes(a, b, 0.9); err != nil || o.B != m.B || o.C != m.C || !alike(o.PExact, m.PExact) {
			t.Fatalf("from outcomes %+v, from the table %+v, %v", o, m, err)
		}
		q, err := stats.CochranQ(pass)
		if err != nil || !alike(q.Q, m.Chi2) || !alike(q.P, m.P) {
			t.Fatalf("Q %v, χ² %v, %v", q.Q, m.Chi2, err)
		}
		discordant, ways, tail, term := table[0][1]+table[1][0], 0.0, 0.0, 1.0
		for k := range discordant + 1 {
			ways += term
			if k <= min(table[0][1], table[1][0]) {
				tail += term
			}
			term *= float64(discordant-k) / float64(k+1)
		}
		if !alike(m.PExact, math.Min(1, 2*tail/ways)) {
			t.Fatalf("exact p %v, counted %v", m.PExact, 2*tail/ways)
		}
	})
}

// TestMcNemarOneSided: limits of an odds ratio keep their digits where the
// share is nearly 1. R 4.2.2: 1/(ci/(1 − ci)) of binom.test(3, 4003).
func TestMcNemarOneSided(t *testing.T) {
	m, err := stats.McNemarTable([2][2]int{{0, 4000}, {3, 0}}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "low", m.OddsExact.Low, 455.913429678552, 1e-11)
	near(t, "high", m.OddsExact.High, 6468.19280785608, 1e-11)
}

// TestFisherAgainstR: fisher.test of R 4.2.2.
func TestFisherAgainstR(t *testing.T) {
	for _, c := range []struct {
		table [][]int
		p     float64
	}{
		{[][]int{{3, 1}, {1, 3}}, 0.48571428571428582}, // the lady tasting tea
		{[][]int{{1, 9}, {11, 3}}, 0.0027594561852200836},
		{[][]int{{0, 5}, {0, 7}}, 1},
		{[][]int{{50, 0}, {0, 40}}, 1.6702602693012051e-26},
		{[][]int{{1500, 1380}, {1420, 1610}}, 6.1292848325691495e-05},
		{[][]int{{3000, 2500}, {2300, 3100}}, 8.4474475129287424e-36},
		{[][]int{{20000, 19000}, {30000, 31000}}, 9.3451393758811273e-11},
		{[][]int{{400, 100}, {90, 410}}, 2.0824817084863401e-91},
		{[][]int{{3, 5, 2}, {8, 1, 4}}, 0.11360883025979088},
		{[][]int{{30, 25, 22}, {18, 31, 24}}, 0.17525520830707347},
		{[][]int{{10, 0, 5, 3}, {12, 0, 9, 4}}, 0.91406172184964751},
	} {
		p, err := stats.Fisher(c.table)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "p", p, c.p, 2e-12)
	}
}

// TestFisherOfLargeCounts: what cannot be enumerated is refused and not tried.
func TestFisherOfLargeCounts(t *testing.T) {
	t.Parallel()
	// 7 draws of 9 in 10^12: C(7, 4)·9·8·7·6/10^48 but for 5 or more of them.
	p, err := stats.Fisher([][]int{{1_000_000_000_000, 5}, {3, 4}})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "p", p, 35*9*8*7*6*1e-48, 1e-9)
	const huge = 1 << 52
	for _, table := range [][][]int{{{huge, huge}, {huge, huge}}, {{huge, 5, 6}, {3, 4, huge}}, {{9000, 9000, 9000, 9000}, {9000, 9000, 9000, 9000}}} {
		if p, err := stats.Fisher(table); !errors.Is(err, stats.ErrTooManyTables) || !math.IsNaN(p) {
			t.Errorf("%v: p %v, %v", table, p, err)
		}
	}
	pairs, err := stats.RowPairs([][]int{{huge, huge}, {huge, huge}, {4, 9}})
	if err != nil || len(pairs) != 3 || !math.IsNaN(pairs[0].PFisher) || math.IsNaN(pairs[0].P) {
		t.Errorf("%+v, %v", pairs, err)
	}
}

func TestChiSquaredOfATable(t *testing.T) {
	// R 4.2.2: chisq.test with and without correction; V is of the plain χ².
	c, err := stats.ChiSquared([][]int{{12, 5}, {7, 9}}, stats.ChiSquaredOptions{Continuity: true})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "corrected χ²", c.Chi2, 1.455996378815, 1e-11)
	near(t, "p", c.P, 0.227568214576, 1e-11)
	near(t, "V", c.CramersV, 0.27139234260884, 1e-13)
	perfect, _ := stats.ChiSquared([][]int{{5, 0}, {0, 5}}, stats.ChiSquaredOptions{Continuity: true})
	if perfect.CramersV != 1 || len(perfect.Warnings) == 0 || perfect.Below5 != 4 {
		t.Errorf("all on the diagonal: %+v", perfect)
	}
	empty, err := stats.ChiSquared([][]int{{5, 0}, {4, 0}}, stats.ChiSquaredOptions{})
	if err != nil || empty.Undefined == "" || !math.IsNaN(empty.P) || !math.IsNaN(empty.CramersV) {
		t.Errorf("an empty column: %+v, %v", empty, err)
	}
}

// TestChiSquaredInvariance: rows and columns may change places; the
// standardised residuals of a column pull against each other.
func TestChiSquaredInvariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(2, 4).Draw(t, "rows"), rapid.IntRange(2, 4).Draw(t, "columns")
		table := drawTable(t, rows, cols, 20)
		turned := make([][]int, cols)
		for j := range turned {
			for i := range table {
				turned[j] = append(turned[j], table[i][j])
			}
		}
		a, err := stats.ChiSquared(table, stats.ChiSquaredOptions{})
		b, err2 := stats.ChiSquared(turned, stats.ChiSquaredOptions{})
		if err != nil || err2 != nil || !alike(a.Chi2, b.Chi2) || !alike(a.G, b.G) || !alike(a.CramersV, b.CramersV) || a.Below5 != b.Below5 {
			t.Fatalf("%+v (%v), turned %+v (%v)", a, err, b, err2)
		}
		if a.Undefined != "" {
			return
		}
		if a.CramersV > 1+1e-12 || a.P < 0 || a.P > 1 || a.G < -1e-12 {
			t.Fatalf("%+v", a)
		}
		for i := range table {
			for j := range table[i] {
				if r := a.Residuals[i][j]; r != 0 && math.Signbit(r) != (float64(table[i][j]) < a.Expected[i][j]) || !alike(r, b.Residuals[j][i]) {
					t.Fatalf("residual %v of %d, expected %v", r, table[i][j], a.Expected[i][j])
				}
			}
		}
	})
}

func TestNoTables(t *testing.T) {
	for name, err := range map[string]error{
		"an empty table":          second(stats.ChiSquared(nil, stats.ChiSquaredOptions{})),
		"one row":                 second(stats.ChiSquared([][]int{{1, 2}}, stats.ChiSquaredOptions{})),
		"rows of unequal lengths": second(stats.ChiSquared([][]int{{1, 2}, {1}}, stats.ChiSquaredOptions{})),
		"a negative count":        second(stats.ChiSquared([][]int{{1, 2}, {1, -1}}, stats.ChiSquaredOptions{})),
		"pairs of a bad table":    second(stats.RowPairs([][]int{{1, 2}, {1, -1}})),
		"three rows for Fisher":   second(stats.Fisher([][]int{{1, 2}, {1, 2}, {1, 2}})),
		"no items":                second(stats.McNemarTable([2][2]int{}, 0.95)),
		"a negative cell":         second(stats.McNemarTable([2][2]int{{1, -1}, {0, 0}}, 0.95)),
		"a level of 95":           second(stats.McNemarTable([2][2]int{{1, 1}, {0, 0}}, 95)),
		"unequal outcomes":        second(stats.McNemarOutcomes([]bool{true}, nil, 0.95)),
		"no rows for Q":           second(stats.CochranQ(nil)),
		"one arm for Q":           second(stats.CochranQ([][]bool{{true}})),
		"ragged rows for Q":       second(stats.CochranQ([][]bool{{true, false}, {true}})),
		"more than all":           second(stats.CompareProportions(3, 2, 1, 2, 0.95)),
		"of none":                 second(stats.CompareProportions(0, 0, 1, 2, 0.95)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

package stats_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/stats"
)

// Published intervals of the difference of paired proportions, to the digits
// printed: Fagerland, Lydersen & Laake (2014), Statistics in Medicine 33, 2850–2875
// (Bentur et al. 2009; Cavo et al. 2012), and Newcombe (1998).
func TestPairedProportionsAsPublished(t *testing.T) {
	for _, c := range []struct {
		table           [2][2]int
		tango, newcombe [2]float64
		digits          float64
	}{
		{[2][2]int{{1, 1}, {7, 12}}, [2]float64{-0.517, -0.026}, [2]float64{-0.507, -0.026}, 1e-3},
		{[2][2]int{{59, 6}, {16, 80}}, [2]float64{-0.124, -0.005}, [2]float64{-0.119, -0.005}, 1e-3},
		{[2][2]int{{36, 12}, {2, 0}}, [2]float64{math.NaN(), math.NaN()}, [2]float64{0.0569, 0.3404}, 1e-4},
	} {
		m, err := stats.McNemarTable(c.table, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		for name, pair := range map[string][2]float64{
			"Tango's lower": {m.Tango.Low, c.tango[0]}, "Tango's upper": {m.Tango.High, c.tango[1]},
			"Newcombe's lower": {m.Newcombe.Low, c.newcombe[0]}, "Newcombe's upper": {m.Newcombe.High, c.newcombe[1]},
		} {
			if published := !math.IsNaN(pair[1]); published && !(math.Abs(pair[0]-pair[1]) <= 0.5*c.digits) {
				t.Errorf("%v: %s limit is %.6f, want %v", c.table, name, pair[0], pair[1])
			}
		}
	}
}

// Tango's limits are where the score statistic is z. At 0 it is McNemar's √χ², so
// the interval contains 0 where χ² < z². Without discordant items it is ±z²/(n + z²).
func TestTango(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 500).Draw(t, "n")
		b := rapid.IntRange(0, n).Draw(t, "b")
		c := rapid.IntRange(0, n-b).Draw(t, "c")
		level := rapid.SampledFrom([]float64{0.8, 0.95, 0.99}).Draw(t, "level")
		iv, back := stats.Tango(b, c, n, level), stats.Tango(c, b, n, level)
		diff := float64(b-c) / float64(n)
		if !(iv.Low <= diff && diff <= iv.High && -1 <= iv.Low && iv.High <= 1 && iv.Low < iv.High) {
			t.Fatalf("%v about %v", iv, diff)
		}
		if !(math.Abs(iv.Low+back.High) <= 1e-9) || !(math.Abs(iv.High+back.Low) <= 1e-9) {
			t.Fatalf("%v, of the arms exchanged %v", iv, back)
		}
		m, err := stats.McNemarTable([2][2]int{{n - b - c, b}, {c, 0}}, level)
		if err != nil {
			t.Fatal(err)
		}
		if b+c > 0 && !(math.Abs(m.P-(1-level)) <= 1e-6) && (iv.Low > 0 || iv.High < 0) != (m.P < 1-level) {
			t.Fatalf("%v, but χ² has p = %v", iv, m.P)
		}
		if wide := stats.Tango(b, c, n, (1+level)/2); wide.Low > iv.Low+1e-9 || wide.High < iv.High-1e-9 {
			t.Fatalf("%v at a higher level is %v", iv, wide)
		}
	})
	const z = 1.959963984540054
	for _, n := range []int{1, 3, 20, 380, 381, 1e6} {
		want := z * z / (float64(n) + z*z)
		if iv := stats.Tango(0, 0, n, 0.95); !(math.Abs(iv.Low+want) <= 1e-9) || !(math.Abs(iv.High-want) <= 1e-9) {
			t.Errorf("no discordant item of %d: %v, want ±%v", n, iv, want)
		}
	}
	for _, c := range [][3]int{{0, 0, 0}, {-1, 0, 5}, {3, 3, 5}} {
		if iv := stats.Tango(c[0], c[1], c[2], 0.95); !math.IsNaN(iv.Low) {
			t.Errorf("%v has the interval %v", c, iv)
		}
	}
}

// Without clusters a comparison is McNemar's exact test with Tango's interval; with
// them its p-value is that of enumerating the signs of clusters.
func TestComparePairedProportions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(2, 12).Draw(t, "clusters")
		b, c, n := make([]int, k), make([]int, k), make([]int, k)
		single := rapid.Bool().Draw(t, "single items")
		var diff []float64
		var table [2][2]int
		for i := range n {
			n[i] = rapid.IntRange(1, 6).Draw(t, "n")
			if single {
				n[i] = 1
			}
			b[i] = rapid.IntRange(0, n[i]).Draw(t, "b")
			c[i] = rapid.IntRange(0, n[i]-b[i]).Draw(t, "c")
			diff = append(diff, float64(b[i]-c[i]))
			table[0][1] += b[i]
			table[1][0] += c[i]
			table[0][0] += n[i] - b[i] - c[i]
		}
		r, err := stats.ComparePairedProportions(b, c, n, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		flips, err := stats.SignFlipExact(diff)
		if err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(r.FlipsP()-flips.P) <= 1e-12) {
			t.Fatalf("p = %v, by enumeration %v", r.FlipsP(), flips.P)
		}
		m, err := stats.McNemarTable(table, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		iv := r.Interval(0.95)
		if single && (!(math.Abs(r.FlipsP()-m.PExact) <= 1e-12) || len(n) >= 6 && iv != m.Tango) {
			t.Fatalf("p = %v, %v; McNemar's %v, %v", r.FlipsP(), iv, m.PExact, m.Tango)
		}
	})
	if r, err := stats.ComparePairedProportions([]int{1}, []int{0}, []int{4}, 0.95); err != nil || r.Undefined == "" || !math.IsNaN(r.Interval(0.95).Low) {
		t.Errorf("one cluster: %+v, %v", r, err)
	}
	for name, c := range map[string][3][]int{"lengths": {{1}, {0}, {1, 1}}, "too many": {{2}, {0}, {1}}, "negative": {{-1}, {0}, {1}}, "nothing": {{0}, {0}, {0}}} {
		if r, err := stats.ComparePairedProportions(c[0], c[1], c[2], 0.95); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// Without wins and losses the interval is that of what may still come: Wilson's at the
// number of items over 1 + (2 − 1)·0.3.
func TestPairedProportionsWithoutSpread(t *testing.T) {
	two := []int{2, 2, 2, 2, 2, 2}
	none := make([]int, 6)
	r, err := stats.ComparePairedProportions(none, none, two, 0.95)
	z := 1.959963984540054
	open := z * z / (12/1.3 + z*z)
	if iv := r.Interval(0.95); err != nil || !(math.Abs(iv.Low+open) <= 1e-12) || !(math.Abs(iv.High-open) <= 1e-12) || r.P() != 1 {
		t.Errorf("%+v, %v, %v; want %v", r, iv, err, open)
	}
}

// The t-test of clustered differences is the regression on an intercept alone.
func TestRatioDifferenceIsCR2(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 8))
	var numA, numB, den, diff []float64
	var labels []string
	for k, size := range []int{1, 2, 9, 4, 4, 30, 3} {
		numA, numB, den = append(numA, 0), append(numB, 0), append(den, float64(size))
		for range size {
			a, b := random.NormFloat64()+float64(k%3), random.NormFloat64()
			numA[k] += a
			numB[k] += b
			diff, labels = append(diff, a-b), append(labels, fmt.Sprint("c", k))
		}
	}
	d, err := stats.RatioDifference(numA, den, numB, den, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	f := stats.NewFrame(len(diff))
	if err := f.AddNumbers("d", diff); err != nil {
		t.Fatal(err)
	}
	if err := f.AddFactor("cluster", labels, nil); err != nil {
		t.Fatal(err)
	}
	r, err := stats.FitRobust(f, stats.Formula{Response: "d"}, "cluster")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string][2]float64{"difference": {d.Diff, r.Beta[0]}, "standard error": {d.SE, r.CR2[0]}, "df": {d.DF, r.DF[0]}, "p": {d.P, r.P[0]}} {
		if !(math.Abs(c[0]-c[1]) <= 1e-10*math.Abs(c[1])) {
			t.Errorf("%s = %.15g, by regression %.15g", name, c[0], c[1])
		}
	}
}

// A limit of the interval is where the test of that difference has the level: the
// exact test does not reject just inside and rejects just outside.
func TestSignFlipInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.OneOf(rapid.IntRange(6, 12), rapid.IntRange(17, 20)).Draw(t, "clusters") // listed, or counted by halves
		sums, sizes := make([]float64, k), make([]float64, k)
		for i := range sums {
			sizes[i] = float64(rapid.IntRange(1, 4).Draw(t, "size"))
			sums[i] = rapid.Float64Range(-3, 5).Draw(t, "sum")
		}
		level := rapid.SampledFrom([]float64{0.8, 0.9, 0.95}).Draw(t, "level")
		f, err := stats.SignFlipInterval(sums, sizes, 1000, 1, 2)
		if err != nil || !f.Exact {
			t.Fatal(f, err)
		}
		p := func(delta float64) float64 {
			diff := make([]float64, k)
			for i := range diff {
				diff[i] = sums[i] - delta*sizes[i]
			}
			flips, err := stats.SignFlipExact(diff)
			if err != nil {
				t.Fatal(err)
			}
			return flips.P
		}
		iv := f.Interval(level)
		const near = 1e-7
		for _, limit := range []float64{iv.Low, iv.High} {
			inwards := near
			if limit == iv.High {
				inwards = -near
			}
			if iv.High-iv.Low < 1e-5 {
				t.Skip("no room")
			}
			if in, out := p(limit+inwards), p(limit-inwards); in <= 1-level+1e-9 || out > 1-level+1e-9 {
				t.Fatalf("%v: p inside of %v is %v, outside %v", iv, limit, in, out)
			}
		}
	})
	// Four clusters have 8 patterns, none of them a twentieth.
	f, err := stats.SignFlipInterval([]float64{1, 2, 3, 4}, []float64{1, 1, 1, 1}, 1000, 1, 2)
	if err != nil || !math.IsInf(f.Interval(0.95).Low, -1) || !math.IsInf(f.Interval(0.95).High, 1) || math.IsInf(f.Interval(0.8).Low, -1) {
		t.Errorf("%v, %v", f.Interval(0.95), err)
	}
	// Patterns that are counted by halves give what all of a list do, and drawn ones come close.
	random := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		clusters int
		exact    bool
		within   float64
	}{{16, true, 1e-7}, {24, false, 0.02}} {
		sums, sizes := make([]float64, c.clusters), make([]float64, c.clusters)
		for i := range sums {
			sums[i], sizes[i] = random.NormFloat64(), 1
		}
		exact, _ := stats.SignFlipInterval(sums, sizes, 1, 1, 2)
		other, _ := stats.SignFlipInterval(append(sums, 0), append(sizes, 1e-9), 40000, 1, 2) // a cluster of no weight
		if a, b := exact.Interval(0.95), other.Interval(0.95); other.Exact != c.exact || !(math.Abs(a.Low-b.Low) <= c.within && math.Abs(a.High-b.High) <= c.within) {
			t.Errorf("%d clusters: %v, with one of no weight %v", c.clusters, a, b)
		}
	}
	sums := make([]float64, 16)
	for i := range sums {
		sums[i] = random.NormFloat64()
	}
	// The p-value of drawn patterns is that of the sampled test.
	for i := range sums {
		sums[i] += 0.4
	}
	more, ones := append(slices.Clone(sums), sums...), slices.Repeat([]float64{1}, 32)
	inverted, _ := stats.SignFlipInterval(more, ones, 3000, 7, 3)
	if flips, err := stats.SignFlipRandom(more, 3000, 7, 1); err != nil || inverted.P(0) != flips.P {
		t.Errorf("p = %v by inversion, %v by draws", inverted.P(0), flips.P)
	}
	for name, c := range map[string][2][]float64{"lengths": {{1}, {1, 1}}, "nothing": {}, "size": {{1}, {0}}, "NaN": {{math.NaN()}, {1}}, "overflow": {{1e308, 1e308}, {1, 1}}} {
		if f, err := stats.SignFlipInterval(c[0], c[1], 10, 1, 2); err == nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// Of decimal scores, whose sums are equal on paper and not in binary, the interval excludes a
// difference where its p-value is below 1 − level, and a limit is the number on paper: none is
// beyond a margin that it meets.
func TestSignFlipIntervalOfDecimals(t *testing.T) {
	decimals := rapid.SliceOfN(rapid.Map(rapid.IntRange(-10, 10), func(n int) float64 { return float64(n) / 10 }), 5, 12)
	rapid.Check(t, func(t *rapid.T) {
		sums := decimals.Draw(t, "sums")
		if rapid.Bool().Draw(t, "drawn") {
			sums = slices.Concat(sums, sums, sums)
		}
		f, err := stats.SignFlipInterval(sums, slices.Repeat([]float64{1}, len(sums)), 999, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, level := range []float64{0.5, 0.8, 0.9, 0.95, 0.99} {
			iv := f.Interval(level)
			for n := -10; n <= 10; n++ {
				at := float64(n) / 20
				if p := f.P(at); (iv.Low > at || iv.High < at) != (p < 1-level-1e-12) {
					t.Fatalf("p of %v is %v, the interval %v", at, p, iv)
				}
			}
		}
	})
}

// Below six clusters of several items nothing is shown at 95 %, whatever their numbers of wins: the
// interval is undefined or has 0 in it, and p is not below 0.05.
func TestFewClustersShowNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clusters := rapid.IntRange(1, 5).Draw(t, "clusters")
		n, wins, losses := make([]int, clusters), make([]int, clusters), make([]int, clusters)
		items, passA, passB := make([]float64, clusters), make([]float64, clusters), make([]float64, clusters)
		for k := range n {
			n[k] = rapid.IntRange(2, 12).Draw(t, "items")
			wins[k] = rapid.IntRange(0, n[k]).Draw(t, "wins")
			losses[k] = rapid.SampledFrom([]int{0, 0, 0, n[k] - wins[k]}).Draw(t, "losses")
			items[k], passA[k], passB[k] = float64(n[k]), float64(wins[k]), float64(losses[k])
		}
		pairs, err := stats.ComparePairedProportions(wins, losses, n, 0.95)
		_, rates, errRates := stats.CompareRates(passA, items, passB, items, 0.95)
		_, counts, errCounts := stats.CompareCounts(passA, passB, items, 0.95)
		if err := errors.Join(err, errRates, errCounts); err != nil {
			t.Fatal(err)
		}
		for name, r := range map[string]stats.Reading{"proportions": pairs.Reading(), "rates": rates, "counts": counts} {
			if ci := r.Interval(0.95); ci.Low > 0 || ci.High < 0 || r.P < 0.05 || math.IsNaN(ci.Low) != math.IsNaN(ci.High) {
				t.Errorf("%s: %v, p %v", name, ci, r.P)
			}
		}
	})
}

// Coverage by simulation: two arms pass 70 % and 60 % of items, in clusters whose
// proportions vary by arm. Nominal 0.95; 4,000 trials have a standard error of 0.34
// points. The t interval of the differences is too short with few discordant items.
func TestPairedProportionsCoverage(t *testing.T) {
	simulation(t)
	const trials, level = 4000, 0.95
	for _, c := range []struct {
		clusters, size int
		a, b, same     float64 // same: how often both arms have the same luck
	}{{8, 5, 0.6, 0.7, 0.5}, {30, 2, 0.6, 0.7, 0.5}, {60, 1, 0.65, 0.7, 0.7}, {20, 1, 0.97, 1, 0}, {100, 1, 0.97, 1, 0}, {60, 10, 0.97, 0.99, 0}} {
		random := rand.New(rand.NewPCG(11, uint64(c.clusters)))
		covered, above := 0, 0
		for range trials {
			b, n01, n := make([]int, c.clusters), make([]int, c.clusters), make([]int, c.clusters)
			for k := range n {
				pa, pb := c.a, c.b
				if c.size > 1 {
					pa, pb = clusterProportion(random, pa, 0.2), clusterProportion(random, pb, 0.2)
				}
				for range c.size {
					u := random.Float64()
					v := u
					if random.Float64() >= c.same {
						v = random.Float64()
					}
					n[k]++
					switch {
					case u < pa && v >= pb:
						b[k]++
					case u >= pa && v < pb:
						n01[k]++
					}
				}
			}
			r, err := stats.ComparePairedProportions(b, n01, n, level)
			if err != nil {
				t.Fatal(err)
			}
			iv := r.Interval(level)
			if iv.Low <= c.a-c.b+1e-12 && c.a-c.b <= iv.High {
				covered++
			}
			if iv.Low > c.a-c.b {
				above++
			}
		}
		if share, false_ := float64(covered)/trials, float64(above)/trials; share < 0.935 || false_ > 0.035 {
			t.Errorf("%+v: coverage %.4f, lower limit too high %.4f", c, share, false_)
		}
	}
}

// clusterProportion draws a cluster's proportion, one of two values with mean p and
// variance 0.2·p(1 − p): an intraclass correlation of 0.2.
func clusterProportion(r *rand.Rand, p, icc float64) float64 {
	spread := math.Sqrt(icc)
	if r.Float64() < p {
		return p + spread*(1-p)
	}
	return p - spread*p
}

package stats_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/stats"
)

// TestPairedPowerOfR: R 4.2.2 power.t.test(type = "paired", strict = TRUE,
// tol = 1e-12).
func TestPairedPowerOfR(t *testing.T) {
	power := func(n, dz, alpha float64, side stats.Alternative) float64 {
		p, _, err := stats.PairedPower(n, dz, alpha, side)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	same(t, "n 12", power(12, 0.7, 0.05, stats.TwoSided), 0.598932119267961)
	same(t, "n 12, greater", power(12, 0.7, 0.01, stats.Greater), 0.421891574058771)
	same(t, "n 7.5", power(7.5, 1.1, 0.05, stats.TwoSided), 0.723159112381463)
	size := func(dz float64, side stats.Alternative) float64 {
		n, err := stats.PairedSize(dz, 0.9, 0.05, side)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	same(t, "n for 0.35", size(0.35, stats.TwoSided), 87.7181507343091)
	same(t, "n for 0.35, greater", size(0.35, stats.Greater), 71.2837796754594)
	effect := func(n, power, alpha float64) float64 {
		d, err := stats.PairedEffect(n, power, alpha, stats.TwoSided)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	same(t, "effect in 40", effect(40, 0.8, 0.05/3), 0.531275429504404)
	// R's own non-central t stops at a non-centrality of 37.62 and gives 30.997;
	// its integrate() over the distribution of the standard deviation agrees.
	same(t, "effect in 3", effect(3, 0.95, 0.001), 31.602900121)
}

// TestPowerMirrors: the other direction has the same power, and a test of the
// wrong side has less than alpha.
func TestPowerMirrors(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := float64(rapid.IntRange(2, 60).Draw(t, "n"))
		dz := rapid.Float64Range(0.01, 2).Draw(t, "dz")
		alpha := rapid.Float64Range(0.001, 0.2).Draw(t, "alpha")
		up, _, _ := stats.PairedPower(n, dz, alpha, stats.Greater)
		down, _, _ := stats.PairedPower(n, -dz, alpha, stats.Less)
		two, one, _ := stats.PairedPower(n, dz, alpha, stats.TwoSided)
		back, same, _ := stats.PairedPower(n, -dz, alpha, stats.TwoSided)
		wrong, _, _ := stats.PairedPower(n, -dz, alpha, stats.Greater)
		if !alike(up, down) || !alike(two, back) || !alike(one, same) || wrong > alpha || two > up+1e-13 || two < alpha {
			t.Fatalf("greater %v, less %v, two-sided %v and %v, wrong side %v, alpha %v", up, down, two, back, wrong, alpha)
		}
	})
}

// TestMcNemarPowerByEnumeration of both discordant counts, with the exact
// test's own p-values.
func TestMcNemarPowerByEnumeration(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 25).Draw(t, "n")
		d := stats.McNemarDesign{
			P10:   float64(rapid.IntRange(1, 50).Draw(t, "p10")) / 100,
			P01:   float64(rapid.IntRange(0, 50).Draw(t, "p01")) / 100,
			Alpha: rapid.SampledFrom([]float64{0.01, 0.05, 0.0625, 0.5}).Draw(t, "alpha"), // 0.0625 is a p-value
		}
		got, err := d.ExactPower(n)
		if err != nil {
			t.Fatal(err)
		}
		var want float64
		for b := range n + 1 {
			for c := range n + 1 - b {
				m, err := stats.McNemarTable([2][2]int{{n - b - c, b}, {c, 0}}, 0.95)
				if err != nil {
					t.Fatal(err)
				}
				if m.PExact <= d.Alpha*(1+1e-12) {
					want += multinomial(n, b, c) * math.Pow(d.P10, float64(b)) * math.Pow(d.P01, float64(c)) * math.Pow(1-d.P10-d.P01, float64(n-b-c))
				}
			}
		}
		if !alike(got, want) {
			t.Fatalf("%+v, n %d: %v, enumerated %v", d, n, got, want)
		}
	})
}

// multinomial is n!/(b! c! (n−b−c)!).
func multinomial(n, b, c int) float64 {
	v := 1.0
	for i := range b {
		v *= float64(n-i) / float64(i+1)
	}
	for i := range c {
		v *= float64(n-b-i) / float64(i+1)
	}
	return v
}

// TestMcNemarSizeHasItsPower, grows with the power wanted and does not care
// which arm is called the first; its items detect that difference and none smaller.
func TestMcNemarSizeHasItsPower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := stats.McNemarDesign{P10: rapid.Float64Range(0.11, 0.5).Draw(t, "p10"), P01: rapid.Float64Range(0, 0.1).Draw(t, "p01"), Alpha: 0.05}
		power := rapid.Float64Range(0.1, 0.99).Draw(t, "power")
		n, err := d.Size(power)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := d.Power(n)
		more, _ := d.Size(power + 0.005)
		turned, _ := stats.McNemarDesign{P10: d.P01, P01: d.P10, Alpha: d.Alpha}.Size(power)
		if !(math.Abs(got-power) <= 1e-9) || more <= n || !alike(turned, n) {
			t.Fatalf("%+v: %v items, power %v, want %v; %v for more, %v turned round", d, n, got, power, more, turned)
		}
		half := (d.P10 + d.P01) / 2
		smallest, err := stats.McNemarDesign{P10: half, P01: half, Alpha: d.Alpha}.Detectable(n, power)
		if want := d.P10 - d.P01; err != nil || !(math.Abs(smallest-want) <= 1e-9) {
			t.Fatalf("%+v: %v items detect %v, %v, want %v", d, n, smallest, err, want)
		}
	})
}

// TestClusteredDesign: clusters of one are a paired t-test, an ICC of 1 makes
// more of a cluster worth nothing, and what is solved for comes back.
func TestClusteredDesign(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := stats.ClusteredDesign{
			Clusters: float64(rapid.IntRange(3, 80).Draw(t, "clusters")), Size: float64(rapid.IntRange(1, 20).Draw(t, "size")),
			SD: rapid.Float64Range(0.1, 5).Draw(t, "sd"), ICC: rapid.Float64Range(0, 1).Draw(t, "icc"), Alpha: 0.05,
		}
		smallest, err := d.Detectable(0.8)
		if err != nil {
			t.Fatal(err)
		}
		power, _ := d.Power(smallest)
		clusters, err := d.ClustersFor(smallest, 0.8)
		if err != nil || !(math.Abs(power-0.8) <= 1e-9) || !(math.Abs(clusters-d.Clusters) <= 1e-6*d.Clusters) {
			t.Fatalf("%+v: detectable %v, with power %v, in %v clusters, %v", d, smallest, power, clusters, err)
		}
		single := d
		single.Size = 1
		alone, _ := single.Detectable(0.8)
		effect, _ := stats.PairedEffect(d.Clusters, 0.8, 0.05, stats.TwoSided)
		dependent := d
		dependent.ICC = 1
		no, _ := dependent.Detectable(0.8)
		if !alike(alone, effect*d.SD) || !alike(no, alone) || smallest > alone*(1+1e-12) {
			t.Fatalf("%+v: detectable %v, one a cluster %v, want %v, all the same %v", d, smallest, alone, effect*d.SD, no)
		}
	})
}

// TestClusteredPowerBySimulation: 12 clusters of 5 with an ICC of 0.3.
func TestClusteredPowerBySimulation(t *testing.T) {
	simulation(t)
	const trials = 4000
	d := stats.ClusteredDesign{Clusters: 12, Size: 5, SD: 2, ICC: 0.3, Alpha: 0.05}
	want, err := d.Power(1)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 5))
	found := 0
	means, zero := make([]float64, 12), make([]float64, 12)
	for range trials {
		for k := range means {
			means[k] = 1 + 2*math.Sqrt(0.3)*r.NormFloat64()
			for range 5 {
				means[k] += 2 * math.Sqrt(0.7) * r.NormFloat64() / 5
			}
		}
		if p, err := stats.PairedT(means, zero, 0.95); err != nil {
			t.Fatal(err)
		} else if p.P < 0.05 {
			found++
		}
	}
	if rate := float64(found) / trials; !(math.Abs(rate-want) <= 4*math.Sqrt(want*(1-want)/trials)) {
		t.Errorf("power %v, %v of the simulated studies", want, rate)
	}
}

func TestPowerRefuses(t *testing.T) {
	mcnemar := func(p10, p01 float64) stats.McNemarDesign {
		return stats.McNemarDesign{P10: p10, P01: p01, Alpha: 0.05}
	}
	for name, err := range map[string]error{
		"one pair":             third(stats.PairedPower(1, 0.5, 0.05, stats.TwoSided)),
		"no alpha":             third(stats.PairedPower(10, 0.5, 0, stats.TwoSided)),
		"effect NaN":           third(stats.PairedPower(10, math.NaN(), 0.05, stats.TwoSided)),
		"no effect":            second(stats.PairedSize(0, 0.8, 0.05, stats.TwoSided)),
		"wrong direction":      second(stats.PairedSize(-0.5, 0.8, 0.05, stats.Greater)),
		"other direction":      second(stats.PairedSize(0.5, 0.8, 0.05, stats.Less)),
		"power 1":              second(stats.PairedSize(0.5, 1, 0.05, stats.TwoSided)),
		"power of alpha":       second(stats.PairedEffect(10, 0.05, 0.05, stats.TwoSided)),
		"effect in one pair":   second(stats.PairedEffect(1, 0.8, 0.05, stats.TwoSided)),
		"too few items":        second(mcnemar(0.1, 0.05).Detectable(20, 0.8)),
		"detected by no items": second(mcnemar(0.1, 0.05).Detectable(0, 0.8)),
		"more than all":        second(mcnemar(0.6, 0.5).Size(0.8)),
		"nothing discordant":   second(mcnemar(0, 0).Power(10)),
		"no difference":        second(mcnemar(0.1, 0.1).Size(0.8)),
		"no items":             second(mcnemar(0.2, 0.1).ExactPower(0)),
		"too many to list":     second(mcnemar(0.2, 0.1).ExactPower(1e6)),
		"negative items":       second(mcnemar(0.2, 0.1).Power(-1)),
		"one cluster":          second(stats.ClusteredDesign{Clusters: 1, Size: 5, SD: 1, ICC: 0.1, Alpha: 0.05}.Power(1)),
		"ICC above 1":          second(stats.ClusteredDesign{Clusters: 9, Size: 5, SD: 1, ICC: 1.1, Alpha: 0.05}.Detectable(0.8)),
		"no spread":            second(stats.ClusteredDesign{Clusters: 9, Size: 5, SD: 0, ICC: 0.1, Alpha: 0.05}.ClustersFor(1, 0.8)),
		"clusters for nothing": second(stats.ClusteredDesign{Clusters: 9, Size: 5, SD: 1, ICC: 0.1, Alpha: 0.05}.ClustersFor(0, 0.8)),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "stats: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func third[T, U any](_ T, _ U, err error) error { return err }

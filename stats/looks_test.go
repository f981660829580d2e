package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func equallySpaced(k int) []float64 {
	info := make([]float64, k)
	for i := range info {
		info[i] = float64(i+1) / float64(k)
	}
	return info
}

// TestFalseCrossing: Armitage, McPherson & Rowe (1969), table 2: the chance of |z| > 1.96 at
// one of k equally spaced looks; both sides are rarely crossed in one study, so one side is
// half of it.
func TestFalseCrossing(t *testing.T) {
	for k, want := range map[int]float64{1: 0.05, 2: 0.083, 3: 0.107, 4: 0.126, 5: 0.142, 10: 0.193, 20: 0.248} {
		got, err := FalseCrossing(equallySpaced(k), slices.Repeat([]float64{1.959964}, k))
		if err != nil || !(math.Abs(2*got-want) <= 0.001+0.002*float64(k)/20) {
			t.Errorf("%d looks: %.4f, %v; want %.3f", k, 2*got, err, want)
		}
	}
}

// Looks that add hardly any data add hardly any chance.
func TestFalseCrossingOfNearLooks(t *testing.T) {
	got, err := FalseCrossing([]float64{0.5, 0.999, 0.9995, 1}, slices.Repeat([]float64{1.959964}, 4))
	if err != nil || got < 0.0415 || got > 0.0445 { // 0.0415 with two looks
		t.Errorf("%.4f, %v", got, err)
	}
}

// TestSpendingBounds: R's ldbounds 2.0.2, ldBounds(t = seq(0.2, 1, 0.2), iuse = c(1, 1),
// alpha = c(0.025, 0.025)), and one look, which is the ordinary test.
func TestSpendingBounds(t *testing.T) {
	for _, test := range []struct{ info, want []float64 }{
		{equallySpaced(5), []float64{4.8769, 3.3569, 2.6803, 2.2898, 2.0310}},
		{[]float64{0.5, 1}, []float64{2.9626, 1.9686}},
		{[]float64{1}, []float64{1.959964}},
	} {
		got, err := SpendingBounds(test.info, 0.025)
		if err != nil {
			t.Fatal(err)
		}
		for k := range test.want {
			if !(math.Abs(got[k]-test.want[k]) <= 0.002) {
				t.Errorf("%v: %.4f, want %.4f", test.info, got, test.want)
				break
			}
		}
	}
}

// At any looks, the bounds are crossed with the level that they were made for, if the last
// look has all data.
func TestSpendingBoundsKeepTheLevel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var info []float64
		at := 0.0
		for range rapid.IntRange(0, 5).Draw(t, "looks") {
			at += rapid.Float64Range(0.05, 0.18).Draw(t, "more")
			info = append(info, at)
		}
		info = append(info, 1)
		alpha := rapid.SampledFrom([]float64{0.025, 0.005, 0.05}).Draw(t, "alpha")
		z, err := SpendingBounds(info, alpha)
		if err != nil {
			t.Fatal(err)
		}
		got, err := FalseCrossing(info, z)
		if err != nil || !(math.Abs(got-alpha) <= 0.01*alpha) {
			t.Errorf("%v at %v: %.5f, %v; want %v", z, info, got, err, alpha)
		}
	})
	for _, bad := range [][]float64{{0}, {0.5, 0.5}, {0.5, 0.2}, {math.NaN()}, {math.Inf(1)}} {
		if _, err := SpendingBounds(bad, 0.025); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/stats"
)

// TestSequenceCoverage looks at every interval of many runs, as somebody does
// who watches: not one of them may leave out the truth, but for the stated
// share of runs. Where the truth is 0 that is also who stops as soon as 0 is
// left out. Bounded differences of several shapes; all mass at the ends, and a
// mean close to one of them, are the worst cases.
func TestSequenceCoverage(t *testing.T) {
	simulation(t)
	const runs, length = 300, 250
	for _, c := range []struct {
		name string
		mean float64
		draw func(r *rand.Rand) float64
	}{
		{"none", 0, func(r *rand.Rand) float64 { return 2*r.Float64() - 1 }},
		{"small", 0.1, func(r *rand.Rand) float64 { return 0.1 + 0.2*(r.Float64()-0.5) }},
		{"pass or fail", 0.2, func(r *rand.Rand) float64 { // 1 with 0.4, 0 with 0.4, −1 with 0.2
			switch u := r.Float64(); {
			case u < 0.4:
				return 1
			case u < 0.8:
				return 0
			}
			return -1
		}},
		{"ends", 0, func(r *rand.Rand) float64 { return float64(2*r.IntN(2) - 1) }},
		{"rare", -0.96, func(r *rand.Rand) float64 { return 2*flip(r, 0, 0.02) - 1 }},
	} {
		r := rand.New(rand.NewPCG(5, 9))
		missed, width := 0, 0.0
		for range runs {
			s, err := stats.NewSequence(-1, 1, 0.9)
			if err != nil {
				t.Fatal(err)
			}
			ok := true
			var iv stats.Interval
			for range length {
				if iv, err = s.Add(c.draw(r)); err != nil {
					t.Fatal(err)
				}
				ok = ok && iv.Low <= c.mean && c.mean <= iv.High
			}
			if !ok {
				missed++
			}
			width += (iv.High - iv.Low) / runs
		}
		if rate := float64(missed) / runs; rate > 0.1+0.03 {
			t.Errorf("%s: %.3f of runs left out the truth at some time, stated at most 0.10", c.name, rate)
		}
		if width > 0.6 {
			t.Errorf("%s: after %d observations intervals are still %.2f wide", c.name, length, width)
		}
	}
}

// TestSequenceNarrows: an interval never grows, holds what it should, and the
// two sides are mirror images.
func TestSequenceNarrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(-1, 1), 1, 60).Draw(t, "differences")
		mirrored := make([]float64, len(xs))
		for i, x := range xs {
			mirrored[i] = -x
		}
		a, err := stats.ConfidenceSequence(xs, -1, 1, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		b, err := stats.ConfidenceSequence(mirrored, -1, 1, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		for i := range a {
			if i > 0 && (a[i].Low < a[i-1].Low || a[i].High > a[i-1].High) {
				t.Fatalf("the interval grew from %v to %v", a[i-1], a[i])
			}
			if !(math.Abs(a[i].Low+b[i].High) <= 1e-12) || !(math.Abs(a[i].High+b[i].Low) <= 1e-12) {
				t.Fatalf("%v and its mirror image %v", a[i], b[i])
			}
		}
	})
	if _, err := stats.NewSequence(1, 1, 0.95); err == nil {
		t.Error("a sequence without a range was begun")
	}
	s, _ := stats.NewSequence(0, 1, 0.95)
	for _, x := range []float64{-0.1, 1.1, math.NaN(), math.Inf(1)} {
		if _, err := s.Add(x); err == nil || s.N() != 0 {
			t.Errorf("%v was taken in", x)
		}
	}
}

// TestSequenceByDefinition follows the fortunes that bet against single means
// through all observations, as the paper has it: a mean is in the interval as
// long as neither has reached 1/α.
func TestSequenceByDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	xs := make([]float64, 400)
	for i := range xs {
		xs[i] = math.Pow(r.Float64(), 2) // mean ⅓
	}
	got, err := stats.ConfidenceSequence(xs, 0, 1, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	const alpha = 0.05
	for _, m := range []float64{0.1, 0.2222, 0.29, 0.31, 0.3333, 0.37, 0.4, 0.51, 0.8} {
		up, down, out := math.Log(0.5), math.Log(0.5), false
		sum, squares := 0.5, 0.25
		for i, x := range xs {
			n := float64(i + 1)
			bet := math.Sqrt(2 * math.Log(2/alpha) / (squares * math.Log(n+1)))
			up += math.Log1p(math.Min(bet, 0.5/m) * (x - m))
			down += math.Log1p(-math.Min(bet, 0.5/(1-m)) * (x - m))
			sum += x
			squares += math.Pow(x-sum/(n+1), 2)
			out = out || math.Max(up, down) >= math.Log(1/alpha)
			// The interval ends at means of a grid of 2,000.
			if in := got[i].Low <= m && m <= got[i].High; in == out && math.Min(math.Abs(got[i].Low-m), math.Abs(got[i].High-m)) > 1.0/2000 {
				t.Fatalf("after %d observations %v is left out: %v, interval %v", i+1, m, out, got[i])
			}
		}
	}
}

// TestSequenceFineMeans: means closer together than the grid can tell are no
// contradiction, however long one watches.
func TestSequenceFineMeans(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, mean := range []float64{0.0004, 0.3007, -0.9003} {
		s, err := stats.NewSequence(-1, 1, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		var iv stats.Interval
		for range 40_000 {
			if iv, err = s.Add(mean + 0.0005*(r.Float64()-0.5)); err != nil {
				t.Fatal(err)
			}
		}
		if s.Contradicted() || iv.Low > mean || iv.High < mean || iv.High-iv.Low > 0.005 {
			t.Errorf("mean %v: %v, contradicted %v", mean, iv, s.Contradicted())
		}
	}
}

// TestSequenceContradicted: observations that change their mean on the way end
// in a contradiction that is said.
func TestSequenceContradicted(t *testing.T) {
	s, err := stats.NewSequence(0, 1, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	var last stats.Interval
	for i := range 4000 {
		x := 0.1
		if i >= 1000 {
			x = 0.9
		}
		if last, err = s.Add(x); err != nil {
			t.Fatal(err)
		}
		if i == 999 && s.Contradicted() {
			t.Fatal("contradicted before anything changed")
		}
	}
	if !s.Contradicted() || last.Low > last.High || math.IsNaN(last.Low) {
		t.Errorf("contradicted %v, %v", s.Contradicted(), last)
	}
}

// TestSequenceScales: another unit and origin give the same interval in them.
func TestSequenceScales(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 60).Draw(t, "scores")
		origin := rapid.Float64Range(-5, 5).Draw(t, "origin")
		unit := rapid.Float64Range(0.5, 4).Draw(t, "unit")
		scaled := make([]float64, len(xs))
		for i, x := range xs {
			scaled[i] = math.Min(math.Max(origin+unit*x, origin), origin+unit)
		}
		a, err := stats.ConfidenceSequence(xs, 0, 1, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		b, err := stats.ConfidenceSequence(scaled, origin, origin+unit, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		for i := range a {
			if !(math.Abs(origin+unit*a[i].Low-b[i].Low) <= 1e-9) || !(math.Abs(origin+unit*a[i].High-b[i].High) <= 1e-9) {
				t.Fatalf("%v, scaled %v", a[i], b[i])
			}
		}
	})
}

// BenchmarkSequence is one observation.
func BenchmarkSequence(b *testing.B) {
	s, err := stats.NewSequence(-1, 1, 0.95)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Add(0.1); err != nil {
			b.Fatal(err)
		}
	}
}

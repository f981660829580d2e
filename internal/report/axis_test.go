package report

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/say"
)

func labels(a axis) string {
	var list []string
	for _, t := range a.Ticks {
		list = append(list, t.Label)
	}
	return strings.Join(list, " ")
}

func TestNewAxis(t *testing.T) {
	raw, share := say.Scale{Decimals: 3}, say.Scale{Percent: true, Decimals: 1}
	undefined := analyse.Undefined()
	for _, tc := range []struct {
		name            string
		low, high       float64
		lowest, highest analyse.Number
		s               say.Scale
		reference       bool
		want            string
	}{
		{"differences reach to 0", 0.27, 0.35, undefined, undefined, raw, true, "0 +0.1 +0.2 +0.3 +0.4"},
		{"both sides of 0", -0.12, 0.07, undefined, undefined, raw, true, "−0.15 −0.10 −0.05 0 +0.05 +0.10"},
		{"scores near the top stay in bounds", 0.91, 0.99, 0, 1, raw, false, "0.90 0.92 0.94 0.96 0.98 1.00"},
		{"shares", 0.0, 0.15, 0, 1, share, false, "0 5% 10% 15%"},
		{"small differences of shares", -0.052, 0.01, undefined, undefined, share, true, "−6pp −4pp −2pp 0 +2pp"},
		{"one value", 0.5, 0.5, 0, 1, raw, false, "0.2 0.4 0.6 0.8"},
		{"large", 1374, 2324, 0, undefined, say.Scale{}, false, "1,000 1,500 2,000 2,500"},
	} {
		x := newExtent()
		x.include(analyse.Number(tc.low), analyse.Number(tc.high))
		a := newAxis(x, tc.lowest, tc.highest, tc.s, tc.reference, chartSteps)
		if got := labels(a); got != tc.want {
			t.Errorf("%s: ticks %q, want %q", tc.name, got, tc.want)
		}
	}
	if a := newAxis(newExtent(), 0, 1, raw, true, chartSteps); len(a.Ticks) != 0 || a.HasZero() {
		t.Errorf("an axis of nothing: %+v", a)
	}
}

// All values of a chart are on its axis and in order, and ticks are at their
// numbers.
func TestAxisHoldsItsNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.SliceOfN(rapid.Float64Range(-1000, 1000), 1, 6).Draw(t, "numbers")
		reference := rapid.Bool().Draw(t, "reference")
		x := newExtent()
		for _, n := range ns {
			x.include(analyse.Number(n))
		}
		a := newAxis(x, analyse.Undefined(), analyse.Undefined(), say.Scale{Decimals: 3}, reference, chartSteps)
		for _, n := range ns {
			if n < a.Low || n > a.High {
				t.Fatalf("%v is not on the axis from %v to %v", n, a.Low, a.High)
			}
		}
		if reference && (a.Zero < 0 || a.Zero > 1) {
			t.Fatalf("0 is at %v", a.Zero)
		}
		if len(a.Ticks) < 2 || len(a.Ticks) > 9 {
			t.Fatalf("%d ticks", len(a.Ticks))
		}
		for i, tick := range a.Ticks {
			if tick.At < 0 || tick.At > 1 || i > 0 && (tick.At <= a.Ticks[i-1].At || tick.Label == a.Ticks[i-1].Label) {
				t.Fatalf("ticks out of order or twice: %+v", a.Ticks)
			}
		}
	})
}

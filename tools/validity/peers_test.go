package main

import (
	"math"
	"testing"
)

// TestPeers compares the rules with references: R's t.test and mcnemar.exact, and clustered_ci of
// NeMo Evaluator by hand.
func TestPeers(t *testing.T) {
	near := func(what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-6) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	near("t.test(c(0.1,-0.2,0.3,0,0.05))$conf.int[1]", lowerT([]float64{0.1, -0.2, 0.3, 0, 0.05}), 0.05-2.7764451*0.08062258)
	near("mcnemar exact of 1 and 6", mcNemarP(1, 6), 0.125)
	near("mcnemar exact of 2 and 10", mcNemarP(2, 10), 0.03857422)
	near("mcnemar without pairs", mcNemarP(0, 0), 1)
	// Ten items in two clusters, with differences 0.1 and −0.1: the mean is 0, each cluster sums to
	// ±0.5, so the error is √(2/1 · 0.5/100) = 0.1, and the lower end −0.195996.
	p := pairedScores{}
	for i := range 10 {
		p.arm, p.base, p.clusters = append(p.arm, 0.5+0.1*float64(1-2*(i/5))), append(p.base, 0.5), append(p.clusters, string(rune('a'+i/5)))
	}
	for margin, want := range map[float64]bool{0.19: false, 0.1959: false, 0.196: true} {
		if got := nemoGate(p, margin, nil); got != want {
			t.Errorf("NeMo with a margin of %v: %v", margin, got)
		}
	}
	if p.arm, p.base, p.clusters = p.arm[:9], p.base[:9], p.clusters[:9]; nemoGate(p, 1, nil) {
		t.Error("NeMo decides by nine items")
	}
}

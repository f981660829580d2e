package measure_test

import (
	"math"
	"testing"

	"github.com/scruple-eval/scruple/internal/measure"
)

// TestByChance: ways to do as well, counted by hand, of all ways.
func TestByChance(t *testing.T) {
	for of, want := range map[[4]int][2]float64{
		{3, 3, 3, 3}:   {1.0 / 20, 1.0 / 20},
		{4, 4, 3, 4}:   {1.0 / 14, 1.0 / 70}, // 1 of 4 wrong ones passed: 4/56
		{8, 10, 7, 10}: {(45*120.0 + 10*45 + 10) / 167960, 1.0 / 184756},
		{5, 5, 0, 5}:   {1, 1.0 / 252}, // it passes everything
		{0, 5, 5, 5}:   {1, 1.0 / 252},
		{0, 4, 0, 4}:   {1, 1.0 / 70},
		{9, 10, 0, 0}:  {11.0 / 1024, 1.0 / 1024},
		{0, 0, 5, 5}:   {1.0 / 32, 1.0 / 32},
	} {
		if p, least := measure.ByChance(of[0], of[1], of[2], of[3]); !(math.Abs(p-want[0]) <= 1e-9) || !(math.Abs(least-want[1]) <= 1e-9) {
			t.Errorf("%v: %.8f, %.8f, want %.8f", of, p, least, want)
		}
	}
}

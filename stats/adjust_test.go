package stats_test

import (
	"math"
	"slices"
	"testing"

	"github.com/scruple-eval/scruple/stats"
)

// TestAdjustOfR: R 4.2.2 p.adjust of 25 p-values of one study of diets, which
// its literature uses as an example (García-Arenzana et al. 2014).
func TestAdjustOfR(t *testing.T) {
	p := []float64{0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216, 0.222, 0.251, 0.269, 0.275, 0.34, 0.341,
		0.384, 0.569, 0.594, 0.696, 0.762, 0.94, 0.942, 0.975, 0.986}
	for method, want := range map[string][5]float64{ // of the 1st, 2nd, 5th, 9th and last
		"none":       {0.001, 0.008, 0.042, 0.212, 0.986},
		"bonferroni": {0.025, 0.2, 1, 1, 1},
		"holm":       {0.025, 0.192, 0.902, 1, 1},
		"hochberg":   {0.025, 0.192, 0.882, 0.986, 0.986},
		"bh":         {0.025, 0.1, 0.21, 0.491071428571429, 0.986},
		"by":         {0.0953989544438377, 0.381595817775351, 0.801351217328236, 1, 1},
	} {
		sorted, err := stats.Adjust(method, p)
		if err != nil {
			t.Fatal(err)
		}
		for i, k := range []int{0, 1, 4, 8, 24} {
			same(t, method, sorted[k], want[i])
		}
		// Neither order nor tests that were not made change anything.
		turned := append(slices.Clone(p), math.NaN())
		slices.Reverse(turned)
		q, _ := stats.Adjust(method, turned)
		slices.Reverse(q)
		if !slices.Equal(q[:25], sorted) || !math.IsNaN(q[25]) {
			t.Errorf("%s of the same p-values turned round: %v, want %v", method, q, sorted)
		}
	}
}

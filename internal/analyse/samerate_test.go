package analyse

import (
	"math"
	"testing"
)

// A deterministic arm has the same hits in each of five replicates, so its test is
// that of one. Enumerating the tables with the margins of 9 of 24, 11 of 18 and 11 of 18
// gives p = 0.225268; those of the outcomes, 45 of 120, 55 of 90 and 55 of 90, 0.00032.
func TestSameRateCountsItemsOnce(t *testing.T) {
	test := func(replicates int, more float64) float64 {
		e := func(metric string, hits float64, items int) Estimate {
			return Estimate{Arm: "x", Metric: metric, Num: Number(hits*float64(replicates) + more), Den: Number(items * replicates), Items: items}
		}
		r := results{a: &Analysis{Estimates: []Estimate{e("first", 9, 24), e("middle", 11, 18), e("last", 11, 18)}}}
		return r.SameRate([]string{"x"}, []string{"first", "middle", "last"})[0]
	}
	const want = 0.225268
	for _, tt := range []struct {
		replicates int
		more       float64
	}{{1, 0}, {5, 0}, {5, 2}, {3, -1}} { // a hit in some replicates is rounded
		if p := test(tt.replicates, tt.more); !(math.Abs(p-want) < 5e-7) {
			t.Errorf("%d replicates, %+v hits: p = %v, want %v", tt.replicates, tt.more, p, want)
		}
	}
}

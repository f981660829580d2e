package stats_test

import (
	"math"
	"slices"
	"testing"

	"github.com/scruple-eval/scruple/stats"
)

func TestSumByCluster(t *testing.T) {
	num, den, err := stats.SumByCluster([]float64{1, 2, 3, 4}, []float64{5, 6, 7, 0}, []int{9, -1, 9, 4})
	if err != nil || !slices.Equal(num, []float64{4, 2, 4}) || !slices.Equal(den, []float64{12, 6, 0}) {
		t.Errorf("sums %v of %v, %v", num, den, err)
	}
	rows := []float64{1, 2, 3}
	num, den, err = stats.SumByCluster[string](rows, nil, nil)
	if err != nil || !slices.Equal(num, rows) || !slices.Equal(den, []float64{1, 1, 1}) {
		t.Errorf("rows without clusters: %v of %v, %v", num, den, err)
	}
	num, den, err = stats.SumByCluster(nil, nil, []string{})
	if err != nil || num == nil || len(num)+len(den) > 0 {
		t.Errorf("no rows: %v of %v, %v", num, den, err)
	}
	for name, bad := range map[string]struct {
		num, den []float64
		cluster  []string
	}{
		"denominators too short": {rows, rows[:2], []string{"a", "b", "c"}},
		"clusters too short":     {rows, nil, []string{"a"}},
		"NaN":                    {[]float64{math.NaN()}, nil, []string{"a"}},
		"infinite denominator":   {rows[:1], []float64{math.Inf(1)}, []string{"a"}},
	} {
		if _, _, err := stats.SumByCluster(bad.num, bad.den, bad.cluster); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

package analyse

import (
	"fmt"
	"math"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/stats"
)

// By hand: the judge says yes to 60 of 100 claims; of the known ones it is right on 36 of 40
// that people find grounded and on 8 of 10 others: (0.6 + 0.8 − 1) / (0.9 + 0.8 − 1) = 4/7.
// TestCorrectedRateCovers of package stats has the coverage.
func TestCorrectedByHand(t *testing.T) {
	var judged stats.Judged
	for i := range 100 {
		judged.Add(i, float64(min(1, i/40)), math.NaN())
	}
	var known []eval.LabelledTwice
	add := func(judge, human float64, n int) {
		for range n {
			known = append(known, eval.LabelledTwice{Cluster: fmt.Sprint(len(known)), Judge: judge, Human: human})
		}
	}
	add(1, 1, 36)
	add(0, 1, 4)
	add(1, 0, 2)
	add(0, 0, 8)
	m, ok := correctedByJudge(judged, known, 0.95)
	if !ok || !(math.Abs(float64(m.Value)-4.0/7) <= 1e-12) || !(m.Low < m.Value && m.Value < m.High) || m.Low < 0 || m.High > 1 || m.N != 100 {
		t.Errorf("%+v, %v", m, ok)
	}
	if _, ok := correctedByJudge(judged, known[:40], 0.95); ok {
		t.Error("nothing is known of the judge where people say no, but there is an estimate")
	}
	if _, ok := correctedByJudge(stats.Judged{}, known, 0.95); ok {
		t.Error("an estimate of nothing")
	}
	if _, ok := correctedByJudge(judged, nil, 0.95); ok {
		t.Error("an estimate by nothing")
	}
}

package analyse

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
)

// By hand: the judge says yes to 3 of 4 claims; of the known claims people agree with
// 8 of 10 of its yeses and say yes to 1 of 5 of its noes. 0.75·0.8 + 0.25·0.2 = 0.65.
func TestCorrectedByHand(t *testing.T) {
	var judged []eval.Labelled
	for i, x := range []float64{1, 1, 1, 0} {
		judged = append(judged, eval.Labelled{Cluster: fmt.Sprint(i), Judge: x})
	}
	var known []eval.LabelledTwice
	add := func(judge, human float64, n int) {
		for range n {
			known = append(known, eval.LabelledTwice{Labelled: eval.Labelled{Cluster: fmt.Sprint(len(known)), Judge: judge}, Human: human})
		}
	}
	add(1, 1, 8)
	add(1, 0, 2)
	add(0, 1, 1)
	add(0, 0, 4)
	m, ok := correctedByJudge(judged, known, 0.95)
	if !ok || math.Abs(float64(m.Value)-0.65) > 1e-12 || !(m.Low < m.Value && m.Value < m.High) || m.Low < 0 || m.High > 1 {
		t.Errorf("%+v, %v", m, ok)
	}
	if _, ok := correctedByJudge(judged, known[:10], 0.95); ok {
		t.Error("nothing is known of the judge's noes, but there is an estimate")
	}
	if _, ok := correctedByJudge(nil, known, 0.95); ok {
		t.Error("an estimate of nothing")
	}
	if m, ok := correctedByJudge(judged[:3], known[:8], 0.95); !ok || m.Value != 1 || m.Low >= 1 {
		t.Errorf("unanimity in a small sample is certain: %+v", m)
	}
}

// The intervals cover the true share of a judge with known errors in about 95 % of
// samples, where people agree with its verdicts as they do on the known claims. The
// bound is five standard errors of 1,000 samples below 95 %.
func TestCorrectedCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const samples, truth, right = 1000, 0.7, 0.85
	draw := func(i int) eval.LabelledTwice {
		human := 0.0
		if r.Float64() < truth {
			human = 1
		}
		judge := human
		if r.Float64() > right {
			judge = 1 - human
		}
		return eval.LabelledTwice{Labelled: eval.Labelled{Cluster: fmt.Sprint(i), Judge: judge}, Human: human}
	}
	covered := 0
	for range samples {
		var judged []eval.Labelled
		var known []eval.LabelledTwice
		for i := range 120 {
			judged, known = append(judged, draw(i).Labelled), append(known, draw(i))
		}
		if m, ok := correctedByJudge(judged, known, 0.95); ok && float64(m.Low) <= truth && truth <= float64(m.High) {
			covered++
		}
	}
	if share := float64(covered) / samples; share < 0.95-5*math.Sqrt(0.95*0.05/samples) {
		t.Errorf("intervals of 95 %% cover the truth in %.3f of samples", share)
	}
}

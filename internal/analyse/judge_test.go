package analyse

import (
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A judge that says the same of a right and a wrong answer is right on one of each pair, which
// does not make its accuracy certain.
func TestAccuracyOfAJudge(t *testing.T) {
	var m eval.Measurement
	for i := range 20 {
		m.Right, m.Cases = append(m.Right, 1), append(m.Cases, 2)
		if i == 0 {
			m.Right[0] = 2
		}
	}
	for range 2 {
		j, err := judge(eval.Calibration{Judge: "j", Measurement: m}, 0.95)
		// Wilson's at 40 cases: 0.375 to 0.671. Where all items agree it is undefined as a cluster t.
		if err != nil || !(j.Low <= 0.38 && j.High >= 0.65) {
			t.Errorf("%d of %d: %v to %v, %v", j.Right, j.Cases, j.Low, j.High, err)
		}
		m.Right[0] = 1
	}
}

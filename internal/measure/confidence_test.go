package measure_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/measure"
	"github.com/scruple-eval/scruple/stats"
)

func near(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-12
}

// The measures of confidences equal those of package stats, which has references.
func TestConfidencesAsStats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "cases")
		confidence, right := make([]float64, n), make([]bool, n)
		for i := range n {
			confidence[i] = rapid.SampledFrom([]float64{0, 0.1, 0.29, 0.3, 0.5, 0.635, 0.7, 0.99, 1}).Draw(t, "confidence")
			right[i] = rapid.Bool().Draw(t, "right")
		}
		bins := rapid.SampledFrom([]int{1, 10, 100}).Draw(t, "bins")
		counts := measure.CountStated(confidence, right)
		want, err := stats.CalibrationCurve(confidence, right, stats.CalibrationOptions{Bins: bins, Level: 0.95})
		if err != nil {
			t.Fatal(err)
		}
		if got := measure.CalibrationError(counts, bins); !near(got, want.ECE) {
			t.Fatalf("calibration error %v, want %v", got, want.ECE)
		}
		curve := measure.ReliabilityCurve(counts, bins)
		if len(curve) != len(want.Bins) {
			t.Fatalf("%d bins, want %d", len(curve), len(want.Bins))
		}
		for i, b := range curve {
			if w := want.Bins[i]; b.N != float64(w.N) || !near(b.Confidence, w.Confidence) || !near(b.Accuracy, w.Accuracy) {
				t.Fatalf("bin %+v, want %+v", b, w)
			}
		}
		area, err := stats.ROC(confidence, right, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if got := measure.AUROC(counts); !near(got, area.Value) {
			t.Fatalf("AUROC %v, want %v", got, area.Value)
		}
	})
}

// Any number of different confidences is counted, sorted, and none twice.
func TestCountStated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		different := rapid.IntRange(1, 3000).Draw(t, "different")
		cases := rapid.SliceOfN(rapid.IntRange(0, different-1), 1, 3000).Draw(t, "cases")
		confidence, right := make([]float64, 0, len(cases)+1), make([]bool, 0, len(cases)+1)
		want := map[float64]measure.Stated{}
		for _, k := range cases {
			c := float64(k) / float64(different)
			confidence, right = append(confidence, c), append(right, k%3 > 0)
			s := want[c]
			s.Confidence = c
			if k%3 > 0 {
				s.Right++
			} else {
				s.Wrong++
			}
			want[c] = s
		}
		got := measure.CountStated(append(confidence, math.NaN()), append(right, true))
		for i, s := range got {
			if s != want[s.Confidence] || i > 0 && got[i-1].Confidence >= s.Confidence {
				t.Fatalf("count %d is %+v, want %+v", i, s, want[s.Confidence])
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d confidences, want %d", len(got), len(want))
		}
	})
}

func TestKappaAsStats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SliceOfN(rapid.IntRange(0, 9), 4, 4).Draw(t, "table")
		if n[0]+n[1]+n[2]+n[3] == 0 {
			return
		}
		want, err := stats.CohenKappa([][]int{{n[0], n[1]}, {n[2], n[3]}}, stats.Unweighted, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if got := measure.Kappa(float64(n[0]), float64(n[1]), float64(n[2]), float64(n[3])); !near(got, want.Kappa) {
			t.Fatalf("%v: %v, want %v", n, got, want.Kappa)
		}
	})
}

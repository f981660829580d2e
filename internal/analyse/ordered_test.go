package analyse

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/stats"
)

// An estimate is given its parts in order, each as often as before.
func TestOrdered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) eval.Row {
			return eval.Row{rapid.Float64Range(0, 1).Draw(t, "confidence"), float64(rapid.IntRange(0, 1).Draw(t, "right"))}
		}), 1, 30).Draw(t, "rows")
		rows = append(rows, rows[:len(rows)/2]...)
		clusters := [][]eval.Row{rows[:len(rows)/2], rows[len(rows)/2:]}
		var seen []eval.Counted
		e := newEstimator(eval.Metric{Parts: 2, Estimate: func(parts []eval.Counted) float64 { seen = slices.Clone(parts); return 0 }})
		sum := func(counts [][]stats.Count) map[[2]float64]float64 {
			sums := summed(counts, len(e.kinds))
			e.of(sums, sums)
			of := map[[2]float64]float64{}
			for _, p := range seen {
				of[[2]float64(p.Row)] += p.N
			}
			return of
		}
		counts := e.counted(clusters)
		was := sum(counts)
		e.ordered(counts)
		now := sum(counts)
		if !slices.IsSortedFunc(seen, func(a, b eval.Counted) int { return slices.Compare(a.Row, b.Row) }) {
			t.Fatalf("not in order: %v", seen)
		}
		if len(was) != len(now) {
			t.Fatalf("%v, want %v", now, was)
		}
		for part, n := range was {
			if now[part] != n {
				t.Fatalf("%v occurs %v times, want %v", part, now[part], n)
			}
		}
	})
}

// TestWhole: an estimate that depends on the parts of all the data is given those that a resample
// lacks too.
func TestWhole(t *testing.T) {
	var seen []eval.Counted
	for _, whole := range []bool{false, true} {
		e := newEstimator(eval.Metric{Whole: whole, Estimate: func(parts []eval.Counted) float64 { seen = slices.Clone(parts); return 0 }})
		all := summed(e.counted([][]eval.Row{{{1}, {2}}, {{2}}}), 2)
		if e.of([]float64{0, 4}, all); len(seen) != 1 && !whole || whole && (len(seen) != 2 || seen[0].N != 0 || seen[0].All != 1 || seen[1].All != 2) {
			t.Errorf("whole %v: %v", whole, seen)
		}
	}
}

package stats

import (
	"sync"
	"testing"

	"github.com/scruple-eval/scruple/stats/dist"
)

// A quantile that is kept is the one that was computed, whoever asks at once.
func TestTQuantileIsKept(t *testing.T) {
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for round := range 2 {
				for df := 1; df <= 200; df++ {
					for _, tail := range []float64{0.5, 0.05, 0.025, 1e-9} {
						if got, want := tQuantile(tail, float64(df)), (dist.StudentT{DF: float64(df)}).UpperQuantile(tail); got != want {
							t.Errorf("round %d: t(%d) at %v is %v, want %v", round, df, tail, got, want)
							return
						}
					}
				}
			}
		})
	}
	wait.Wait()
}

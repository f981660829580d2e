package power

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

// Proportions of clusters with the quantiles u³ have a mean of 1/4 and a variance of 1/7 − 1/16. In
// a cluster the covariance of outcomes with the same draw is E(p) − E(p²) = 3/28 where the clusters
// share one too, else E(min(p, q)) − 1/16 = 3/80.
func TestSharedDrawsHaveTheCorrelation(t *testing.T) {
	arm := model{quantile: centred(func(u float64) float64 { return u * u * u }, 0.25)}
	const correlation, icc = 0.4, 0.3
	covariance := correlation * 0.25 * 0.75
	clusters := icc * covariance / (1.0/7 - 1.0/16)
	items := (1 - icc) * covariance / (clusters*3/28 + (1-clusters)*3/80)
	got := sharedDraws(correlation, icc, []model{arm, arm})
	if !(math.Abs(got.clusters-clusters) <= 0.002*clusters) || !(math.Abs(got.items-items) <= 0.002*items) {
		t.Errorf("the shares are %+v, want %.4f of clusters and %.4f of items", got, clusters, items)
	}
}

// Scores without an upper bound, such as counts and costs, have the assumed mean and standard
// deviation, and none is below the least.
func TestUnboundedAreAboveTheirLeast(t *testing.T) {
	for _, of := range []struct{ least, mean, sd float64 }{{0, 0.2, 1}, {0, 5, 1}, {-3, 2, 4}} {
		m, err := newModel(eval.Metric{Min: of.least, Max: math.Inf(1)}, assumed{of.mean, 1}, study.Assumption{SD: of.sd})
		if err != nil {
			t.Fatal(err)
		}
		mean, sd := stat.PopMeanStdDev(m.quantile, nil)
		if least := slices.Min(m.quantile); least < of.least || math.Abs(mean-of.mean) > 1e-9 || math.Abs(sd-of.sd) > 0.01*of.sd {
			t.Errorf("%+v: from %v, mean %v, SD %v", of, least, mean, sd)
		}
	}
	if _, err := newModel(eval.Metric{Max: math.Inf(1)}, assumed{0.001, 1}, study.Assumption{SD: 1}); err == nil {
		t.Error("a standard deviation of 1000 means")
	}
}

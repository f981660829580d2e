package power

import (
	"math"
	"testing"
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

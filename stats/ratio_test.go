package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/stats"
)

// Wilson's interval at the effective number of outcomes. Proportion, standard
// error and degrees of freedom are those of R's survey 4.1-1
// (svydesign(id=~id), svymean, degf) with one row an outcome; the number is
//
//	neff <- min(n, p*(1-p)/vcov * k/(k-1)) * (qt(.025, n-1)/qt(.025, degf))^2
//
// which is svyciprop's (method "beta") with the factor k/(k-1) of k clusters.
func TestProportionOfSumsAgreesWithSurvey(t *testing.T) {
	num := []float64{3, 1, 0, 2, 3, 3, 2, 0, 1, 3, 3, 2, 3, 3, 0, 3, 2, 3, 1, 3, 3, 3}
	den := []float64{3, 3, 2, 3, 3, 4, 3, 1, 3, 3, 3, 2, 3, 3, 2, 3, 3, 3, 3, 3, 4, 3}
	r, err := stats.ProportionOfSums(num, den, 63, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ got, want float64 }{
		"proportion": {r.Value, 0.746031746031746},
		"SE":         {r.SE, 0.0646630431697633},
		"df":         {r.DF, 21},
		"low":        {r.CI.Low, 0.601117017937709},
		"high":       {r.CI.High, 0.851320568715127},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%s = %.15g, want %.15g", name, c.got, c.want)
		}
	}
}

// With one outcome a cluster it is Wilson's interval, at the ends as well.
func TestProportionOfSumsIsWilson(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 200).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		num, den := make([]float64, n), make([]float64, n)
		for i := range n {
			den[i] = 1
			if i < k {
				num[i] = 1
			}
		}
		r, err := stats.ProportionOfSums(num, den, float64(n), 0.95)
		if want := stats.Wilson(k, n, 0.95); err != nil || r.CI != want || len(r.Warnings) > 0 {
			t.Errorf("%d of %d: %+v, %v; want %v", k, n, r, err, want)
		}
	})
}

// Clusters that are all alike tell no more than one outcome each.
func TestProportionOfSumsWithoutSpread(t *testing.T) {
	twos := []float64{2, 2, 2, 2}
	for value, num := range map[float64][]float64{0: {0, 0, 0, 0}, 0.5: {1, 1, 1, 1}, 1: {2, 2, 2, 2}} {
		r, err := stats.ProportionOfSums(num, twos, 8, 0.95)
		if want := stats.Wilson(int(4*value), 4, 0.95); err != nil || r.CI != want || len(r.Warnings) == 0 || r.Undefined != "" {
			t.Errorf("%v: %+v, %v; want %v", value, r, err, want)
		}
	}
	for _, c := range []struct{ num, den, outcomes float64 }{{3, 2, 8}, {-1, 2, 8}, {1, 2, 1}, {1, 2, math.NaN()}, {1, 2, math.Inf(1)}} {
		if r, err := stats.ProportionOfSums([]float64{c.num, c.num}, []float64{c.den, c.den}, c.outcomes, 0.95); err == nil {
			t.Errorf("%+v was taken: %+v", c, r)
		}
	}
}

// Coverage by simulation where the t interval fails: a rate of 3 % in 60
// clusters of 1 to 4 outcomes that hang together.
func TestProportionOfSumsCoverage(t *testing.T) {
	simulation(t)
	const trials, clusters, level = 4000, 60, 0.95
	random := rand.New(rand.NewPCG(3, 5))
	var wilson, linear int
	for range trials {
		num, den, n := make([]float64, clusters), make([]float64, clusters), 0.0
		for c := range clusters {
			p := 0.015
			if random.Float64() < 0.1 {
				p = 0.165 // mean 0.03
			}
			for range 1 + random.IntN(4) {
				den[c]++
				n++
				if random.Float64() < p {
					num[c]++
				}
			}
		}
		const truth = 0.03
		r, err := stats.ProportionOfSums(num, den, n, level)
		if err != nil {
			t.Fatal(err)
		}
		if r.CI.Low <= truth && truth <= r.CI.High {
			wilson++
		}
		if r, _ := stats.RatioOfSums(num, den, level); r.CI.Low <= truth && truth <= r.CI.High {
			linear++
		}
	}
	// Nominal 0.95; Wilson's is not below by more than 3 standard errors of
	// 4,000 trials and half a point, the t interval is far below.
	if w, l := float64(wilson)/trials, float64(linear)/trials; w < 0.935 || w > 0.975 || l > 0.93 {
		t.Errorf("coverage %.4f, want about 0.95; of the t interval %.4f", w, l)
	}
}

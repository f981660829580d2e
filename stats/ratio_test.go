package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/stats"
)

// Wilson's interval at the effective number of outcomes. Proportion, standard
// error and degrees of freedom of the design are those of R's survey 4.1-1
// (svydesign(id=~id), svymean, degf) with one row an outcome. The limits are
//
//	v <- sum((num - p*den)^2 / (1 - den/63))          # CR2
//	own <- v/(63*p*(1-p)) * (qt(.975, 20.00149)/qnorm(.975))^2
//	many <- 1 + (sum(den^2)/63 - 1)*0.3
//	none <- 63/sum(den/(1 + (den - 1)*0.3))
//	prior <- function(t) (4*none^2 + t*many)/(4*none + t)
//	effect <- function(t) max(own, (4*prior(t)^2 + t*own)/(4*prior(t) + t))
//
// of Wilson's interval at 63/effect(t) outcomes: t = 16 for the lower one, and for the
// upper one at least that of t = 47.
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
		"low":        {r.CI.Low, 0.593768934087682},
	} {
		if !(math.Abs(c.got-c.want) <= 1e-12) {
			t.Errorf("%s = %.15g, want %.15g", name, c.got, c.want)
		}
	}
	if least := 0.8550426356687677; r.CI.High < least || r.CI.High > least+0.003 {
		t.Errorf("high = %v, want %v, or a little more", r.CI.High, least)
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

// Residuals of one size have the degrees of freedom of the clusters, however they are
// rounded: the interval gets shorter with every pair of clusters.
func TestProportionOfSumsWithEqualResiduals(t *testing.T) {
	last := 1.0
	for k := 10; k <= 60; k += 2 {
		num, den := make([]float64, k), make([]float64, k)
		for i := range num {
			num[i], den[i] = 1./3+float64(i%2)/3, 1
		}
		r, err := stats.ProportionOfSums(num, den, float64(3*k), 0.95)
		if width := r.CI.High - r.CI.Low; err != nil || width >= last {
			t.Errorf("%d clusters: %v, %v", k, r.CI, err)
		} else {
			last = width
		}
	}
}

// Asking again with the same answers changes nothing: the interval is Wilson's of the
// items. Before, one of 28 items right in all of three replicates had [0.002, 0.389].
func TestProportionOfEqualReplicates(t *testing.T) {
	for right := 1; right < 28; right++ {
		num, den := make([]float64, 28), make([]float64, 28)
		for i := range num {
			den[i] = 3
			if i < right {
				num[i] = 3
			}
		}
		r, err := stats.ProportionOfSums(num, den, 3*28, 0.95)
		want := stats.Wilson(right, 28, 0.95)
		if err != nil || !(math.Abs(r.CI.Low-want.Low) <= 1e-12) || !(math.Abs(r.CI.High-want.High) <= 1e-12) {
			t.Errorf("%d of 28: %v, %v; want %v", right, r.CI, err, want)
		}
	}
}

// The complement of a proportion has the complement of its interval: a precision and the
// error rate of the same outcomes agree.
func TestProportionOfSumsOfTheComplement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var num, rest, den []float64
		all := 0
		for range rapid.IntRange(2, 12).Draw(t, "clusters") {
			m := rapid.IntRange(1, 9).Draw(t, "outcomes")
			k := rapid.IntRange(0, m).Draw(t, "hits")
			num, rest, den, all = append(num, float64(k)), append(rest, float64(m-k)), append(den, float64(m)), all+m
		}
		a, errA := stats.ProportionOfSums(num, den, float64(all), 0.95)
		b, errB := stats.ProportionOfSums(rest, den, float64(all), 0.95)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		for _, d := range []float64{a.Value + b.Value - 1, a.CI.Low + b.CI.High - 1, a.CI.High + b.CI.Low - 1} {
			if !(math.Abs(d) <= 1e-9) {
				t.Fatalf("%+v and %+v of %v in %v", a, b, num, den)
			}
		}
	})
}

// Without an event the interval is Wilson's at the number of outcomes over
// 1 + (2 − 1)·0.3, and says what it assumes.
func TestProportionOfSumsWithoutSpread(t *testing.T) {
	twos := []float64{2, 2, 2, 2}
	z := 1.959963984540054
	open := z * z / (8/1.3 + z*z)
	none, err := stats.ProportionOfSums(make([]float64, 4), twos, 8, 0.95)
	all, _ := stats.ProportionOfSums(twos, twos, 8, 0.95)
	if err != nil || none.CI.Low != 0 || all.CI.High != 1 || !(math.Abs(none.CI.High-open) <= 1e-12) || !(math.Abs(all.CI.Low-(1-open)) <= 1e-12) || len(none.Warnings) != 2 {
		t.Errorf("%+v, %+v, %v; want %v", none, all, err, open)
	}
	for _, c := range []struct{ num, den, outcomes float64 }{{3, 2, 8}, {-1, 2, 8}, {1, 2, 1}, {1, 2, math.NaN()}, {1, 2, math.Inf(1)}} {
		if r, err := stats.ProportionOfSums([]float64{c.num, c.num}, []float64{c.den, c.den}, c.outcomes, 0.95); err == nil {
			t.Errorf("%+v was taken: %+v", c, r)
		}
	}
}

// Coverage by simulation with intraclass correlations of 0.2 to 1. Nominal 0.95, and
// 0.025 for each limit; 4,000 trials have standard errors of 0.34 and 0.25 points.
// The t interval has an upper limit below a rare rate in 6 to 13 % of trials. A result
// without events has the limit of PriorICC, so with a larger correlation it may miss: with
// one of 1 as often as no cluster has events, which is (1 − p)^clusters.
func TestProportionOfSumsCoverage(t *testing.T) {
	simulation(t)
	const trials, level = 4000, 0.95
	for _, c := range []struct {
		clusters, size int // without a size, those of documents: 61, 31, 21 … 1
		p, icc         float64
	}{{100, 0, 0.05, 0.3}, {40, 0, 0.1, 0.3}, {8, 5, 0.2, 0.2}, {30, 2, 0.1, 0.2}, {100, 5, 0.02, 0.2}, {100, 5, 0.1, 0.2}, {60, 10, 0.1, 0.2}, {60, 10, 0.2, 0.2}, {200, 1, 0.05, 0.2},
		{60, 10, 0.1, 0.6}, {60, 3, 0.1, 0.9}, {30, 3, 0.1, 1}, {60, 10, 0.1, 1}, {100, 5, 0.05, 1}} {
		random := rand.New(rand.NewPCG(3, 5))
		var covered, below, linear int
		for range trials {
			num, den, outcomes := make([]float64, c.clusters), make([]float64, c.clusters), 0.0
			for k := range num {
				p := c.p
				size := c.size
				if size == 0 {
					size = 1 + 60/(k+1)
				}
				if size > 1 {
					p = clusterProportion(random, p, c.icc)
				}
				for range size {
					den[k]++
					outcomes++
					if random.Float64() < p {
						num[k]++
					}
				}
			}
			r, err := stats.ProportionOfSums(num, den, outcomes, level)
			if err != nil {
				t.Fatal(err)
			}
			if r.CI.Low <= c.p && c.p <= r.CI.High {
				covered++
			}
			if r.CI.High < c.p {
				below++
			}
			if r, _ := stats.RatioOfSums(num, den, level); r.CI.High < c.p {
				linear++
			}
		}
		share := func(n int) float64 { return float64(n) / trials }
		t.Logf("%+v: coverage %.4f, upper limit below the rate %.4f, of t %.4f", c, share(covered), share(below), share(linear))
		bound := 0.035
		if c.icc == 1 {
			bound = math.Max(bound, math.Pow(1-c.p, float64(c.clusters)))
		}
		if share(covered) < 0.935 || share(below) > bound {
			t.Errorf("%+v: coverage %.4f, upper limit below the rate %.4f", c, share(covered), share(below))
		}
		if c.p >= 0.2 && c.size == 10 && share(covered) > 0.965 {
			t.Errorf("%+v: coverage %.4f: wider than needed", c, share(covered))
		}
		if c.p < 0.1 && share(linear) < 0.05 {
			t.Errorf("%+v: the t interval errs in %.4f: this test compares nothing", c, share(linear))
		}
	}
}

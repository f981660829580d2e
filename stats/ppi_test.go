package stats_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/stats"
)

// TestPPICoverage simulates judges of all qualities: the interval must hold
// the true mean as often as it says, whatever the judge is worth.
func TestPPICoverage(t *testing.T) {
	simulation(t)
	const runs, items, labelled, truth = 6000, 400, 60, 0.3
	for _, c := range []struct {
		name  string
		judge func(r *rand.Rand, y float64) float64
	}{
		{"perfect", func(_ *rand.Rand, y float64) float64 { return y }},
		{"good", func(r *rand.Rand, y float64) float64 { return flip(r, y, 0.1) }},
		{"biased", func(r *rand.Rand, y float64) float64 { return math.Max(y, float64(r.IntN(2))) }},
		{"useless", func(r *rand.Rand, _ float64) float64 { return r.Float64() }},
		{"contrary", func(r *rand.Rand, y float64) float64 { return 1 - flip(r, y, 0.2) }},
		{"constant", func(*rand.Rand, float64) float64 { return 0.9 }},
	} {
		r := rand.New(rand.NewPCG(11, 3))
		covered, width, alone := 0, 0.0, 0.0
		for range runs {
			judge, human := make([]float64, items), make([]float64, items)
			for i := range judge {
				y := 0.0
				if r.Float64() < truth {
					y = 1
				}
				judge[i], human[i] = c.judge(r, y), math.NaN()
				if i < labelled {
					human[i] = y
				}
			}
			p, err := stats.PredictionPowered(judge, human, 0.9)
			if err != nil {
				t.Fatal(err)
			}
			if p.CI.Low <= truth && truth <= p.CI.High {
				covered++
			}
			width += p.CI.High - p.CI.Low
			alone += p.Human.High - p.Human.Low
		}
		// Three Monte Carlo standard errors of 6,000 runs are 0.0116.
		if rate := float64(covered) / runs; rate < 0.9-0.0116 {
			t.Errorf("%s judge: coverage %.3f, stated 0.90", c.name, rate)
		}
		if c.name == "good" && width > 0.8*alone {
			t.Errorf("a good judge makes intervals only %.2f as wide", width/alone)
		}
		if width > 1.03*alone {
			t.Errorf("%s judge: intervals are %.2f as wide as without", c.name, width/alone)
		}
	}
}

// TestPPIRareErrors simulates judges that rarely or never err: on most samples of
// human labels they make no error at all, which must not pass for certainty.
func TestPPIRareErrors(t *testing.T) {
	simulation(t)
	const runs, unlabelled = 1500, 1000
	// Three Monte Carlo standard errors of 1,500 runs are 0.018.
	const least = 0.94 - 0.018
	for _, fields := range []int{1, 5} {
		for _, labelled := range []int{20, 50, 300} {
			t.Run(fmt.Sprintf("%d labelled in clusters of %d", labelled, fields), func(t *testing.T) {
				t.Parallel()
				for _, truth := range []float64{0.5, 0.8, 0.95} {
					for _, rate := range []float64{0, 0.02, 0.1} {
						for _, misses := range []bool{false, true} {
							r := rand.New(rand.NewPCG(29, uint64(labelled)))
							covered, defined := 0, 0
							for range runs {
								n := labelled + unlabelled
								human, wrong, cluster := clustered(r, n, fields, truth), clustered(r, n, fields, rate), make([]int, n)
								judge := make([]float64, n)
								for i, y := range human {
									cluster[i] = i / fields
									if judge[i] = y; wrong[i] == 1 && (y == 1 || !misses) {
										judge[i] = 1 - y
									}
									if i >= labelled {
										human[i] = math.NaN()
									}
								}
								p, err := stats.PredictionPoweredClusters(judge, human, cluster, 0.95)
								if err != nil {
									t.Fatal(err)
								}
								if p.Undefined != "" {
									continue // all human labels are the same
								}
								defined++
								if p.CI.Low <= truth && truth <= p.CI.High {
									covered++
								}
							}
							if share := float64(covered) / float64(defined); share < least {
								t.Errorf("mean %v, errors %v, only misses: %v: coverage %.3f, stated 0.95", truth, rate, misses, share)
							}
						}
					}
				}
			})
		}
	}
}

// clustered draws 0 and 1 with a correlation of 0.3 within clusters.
func clustered(r *rand.Rand, n, size int, rate float64) []float64 {
	shared := math.Sqrt(0.3)
	out := make([]float64, n)
	var common float64
	for i := range out {
		if i%size == 0 {
			common = flip(r, 0, rate)
		}
		if out[i] = common; size == 1 || r.Float64() >= shared {
			out[i] = flip(r, 0, rate)
		}
	}
	return out
}

// TestPPIDifferenceOfRareErrors: two arms whose judge errs on 2 % of the answers of
// each, or only misses good ones of the second.
func TestPPIDifferenceOfRareErrors(t *testing.T) {
	simulation(t)
	const runs, labelled, items, truth = 4000, 50, 1050, 0.85 - 0.8
	for name, rates := range map[string][2][2]float64{ // by arm, of false alarms and misses
		"both arms":        {{0.02, 0.02}, {0.02, 0.02}},
		"misses of an arm": {{0, 0}, {0, 0.02}},
		"no errors":        {},
	} {
		r := rand.New(rand.NewPCG(31, 5))
		covered, defined, narrow := 0, 0, 0
		for range runs {
			var judge, human [2][]float64
			for range items {
				hard := r.Float64()
				for arm, pass := range []float64{0.85, 0.8} {
					y, u := 0.0, hard
					if r.Float64() < 0.3 {
						u = r.Float64()
					}
					if u < pass {
						y = 1
					}
					judge[arm] = append(judge[arm], flip(r, y, rates[arm][int(y)]))
					if len(human[arm]) >= labelled {
						y = math.NaN()
					}
					human[arm] = append(human[arm], y)
				}
			}
			p, err := stats.PredictionPoweredDiff[int](judge[0], judge[1], human[0], human[1], nil, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if p.Undefined != "" {
				continue // all differences are the same
			}
			defined++
			if p.CI.Low <= truth && truth <= p.CI.High {
				covered++
			}
			if p.CI.High-p.CI.Low < p.Human.High-p.Human.Low {
				narrow++
			}
		}
		// Three Monte Carlo standard errors of 4,000 runs are 0.011.
		if rate := float64(covered) / float64(defined); rate < 0.94-0.011 {
			t.Errorf("%s: coverage %.3f, stated 0.95", name, rate)
		}
		if narrow < defined/2 {
			t.Errorf("%s: the judge shortens %d of %d intervals", name, narrow, defined)
		}
	}
}

// TestPPIRareErrorsByHand: 50 human labels, 25 of them 1, and a judge of 1,000 more
// items. What three unseen errors of 1 add to the variance is 3/50² and the weight
// is the one that minimises the sum.
func TestPPIRareErrorsByHand(t *testing.T) {
	p := rarely(t, 50, 25, 0, 1)
	const variance, labelled, rest = 0.5 * 0.5, 50.0, 1000.0
	added := 3 / (labelled * labelled)
	weight := variance / (variance*(1+labelled/rest) + labelled*added)
	// λ² times the variance over clusters of the unlabelled items, (1 − λ)² that of
	// the labelled, on 50 + 1,000 clusters of which 48 degrees of freedom remain.
	observed := 50.0 / 48 * ((1-weight)*(1-weight)*variance/labelled + weight*weight*variance/rest)
	if !alike(p.Lambda, weight) || !alike(p.SE, math.Sqrt(observed+weight*weight*added)) || p.DF != 48 {
		t.Errorf("λ %v, standard error %v", p.Lambda, p.SE)
	}
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "disagree on 0 of 50") || !(p.BiasCI.High > 0.06) || p.Bias != 0 {
		t.Errorf("warnings %q, bias %v %v", p.Warnings, p.Bias, p.BiasCI)
	}
	// Ratings from 1 to 3: an error may be of 2.
	if wide := rarely(t, 50, 25, 0, 2); !alike(wide.Lambda, p.Lambda) || !alike(wide.SE, 2*p.SE) {
		t.Errorf("labels of twice the range: λ %v, standard error %v", wide.Lambda, wide.SE)
	}
}

// TestPPIErrorsDoNotPay: one more error of the judge never makes the interval
// shorter, and from 20 errors on it is that of the plain formula, without warning.
func TestPPIErrorsDoNotPay(t *testing.T) {
	var last stats.PPI
	for errors := range 40 {
		p := rarely(t, 100, 50, errors, 1)
		if width := p.CI.High - p.CI.Low; errors > 0 && width < last.CI.High-last.CI.Low {
			t.Errorf("%d errors: width %v, one less %v", errors, width, last.CI.High-last.CI.Low)
		}
		if few := errors < 20; few != (len(p.Warnings) > 0) {
			t.Errorf("%d errors: warnings %q", errors, p.Warnings)
		}
		last = p
	}
}

// TestPPIRareLabels: with few failures among the human labels their variance is
// increased too, and with none it is that of three.
func TestPPIRareLabels(t *testing.T) {
	p := rarely(t, 100, 3, 0, 1)
	if len(p.Warnings) != 2 || !strings.Contains(p.Warnings[1], "3 of 100 human labels") {
		t.Errorf("warnings %q", p.Warnings)
	}
	if p := rarely(t, 100, 0, 5, 1); p.Undefined != "" || !(math.Abs(p.SE-math.Sqrt(3)/100) <= 1e-12) || !strings.Contains(p.Warnings[0], "0 of 100 human labels") {
		t.Errorf("constant human labels: %+v", p)
	}
}

// rarely labels items of which the first have 1, judged with the given number of
// errors: half of them false alarms, half misses. 1,000 more items are judged, with
// as large a share of 1. All labels are multiplied by the factor.
func rarely(t *testing.T, labelled, ones, errors int, factor float64) stats.PPI {
	t.Helper()
	var judge, human []float64
	for i := range labelled + 1000 {
		y, j := 0.0, 0.0
		if i%labelled < ones {
			y, j = factor, factor
		}
		if i < errors/2 || i >= labelled-(errors+1)/2 && i < labelled {
			j = factor - y
		}
		if i >= labelled {
			y = math.NaN()
		}
		judge, human = append(judge, j), append(human, y)
	}
	p, err := stats.PredictionPowered(judge, human, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func flip(r *rand.Rand, y, rate float64) float64 {
	if r.Float64() < rate {
		return 1 - y
	}
	return y
}

func TestPPIDifference(t *testing.T) {
	nan := math.NaN()
	d, err := stats.PredictionPoweredDiff[int]([]float64{1, 1, 0, 1, 1, 0}, []float64{0, 1, 0, 0, 1, 0}, []float64{1, 1, 0, 1, nan, 0}, []float64{0, 0, 0, nan, 1, 0}, nil, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if d.Labelled != 4 || d.Unlabelled != 2 || !(math.Abs(d.HumanMean-0.5) <= 1e-12) {
		t.Errorf("%+v", d)
	}
	one, err := stats.PredictionPowered([]float64{1, 2, 3}, []float64{1, nan, nan}, 0.95)
	if err != nil || one.Undefined == "" || !math.IsNaN(one.Estimate) {
		t.Errorf("one human label gave %v, %v", one.Estimate, err)
	}
	for _, bad := range [][2][]float64{{{}, {}}, {{1}, {1, 2}}, {{nan}, {1}}, {{1}, {math.Inf(1)}}} {
		if _, err := stats.PredictionPowered(bad[0], bad[1], 0.95); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
	if _, err := stats.PredictionPoweredDiff[int]([]float64{1}, []float64{1}, []float64{math.Inf(1)}, []float64{math.Inf(1)}, nil, 0.95); err == nil {
		t.Error("infinite human labels count as missing")
	}
	if _, err := stats.PredictionPoweredClusters([]float64{1, 2}, []float64{1, nan}, []int{1}, 0.95); err == nil {
		t.Error("an item without a cluster was accepted")
	}
	huge, err := stats.PredictionPowered([]float64{1e300, -1e300, 1e300, 1, 2}, []float64{1e300, -1e300, 1, nan, nan}, 0.95)
	if err != nil || huge.Undefined == "" || !math.IsNaN(huge.Estimate) || math.IsInf(huge.Human.High, 0) {
		t.Errorf("squares that overflow: %+v, %v", huge, err)
	}
}

// TestPPIOfEqualLabels: human labels that are all the same leave what [stats.CorrectedRate] and
// [stats.CorrectedDifference] have, whatever the judge says, with a warning.
func TestPPIOfEqualLabels(t *testing.T) {
	nan := math.NaN()
	fill := func(n int, x float64, rest int) (list []float64) {
		for range n {
			list = append(list, x)
		}
		for range rest {
			list = append(list, nan)
		}
		return list
	}
	near := func(what string, p stats.PPI, value, se float64, ci stats.Interval) {
		t.Helper()
		if p.Undefined != "" || p.Estimate != value || !(math.Abs(p.SE-se) <= 1e-12) || !(math.Abs(p.CI.Clamp(-1, 1).Low-ci.Low) <= 1e-12) || !(math.Abs(p.CI.Clamp(-1, 1).High-ci.High) <= 1e-12) ||
			!slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, "the interval allows for more") }) {
			t.Errorf("%s: %+v, want %v, %v, %v", what, p, value, se, ci)
		}
	}
	for _, yes := range []float64{0, 1} {
		for what, judge := range map[string][]float64{"a judge": append(fill(60, 1, 0), fill(40, 0, 0)...), "a constant one": fill(100, yes, 0)} {
			human := fill(30, yes, 70)
			p, err := stats.PredictionPowered(judge, human, 0.95)
			r, errRate := stats.CorrectedRate(stats.Judged{Judge: judge, Human: human}, stats.Judged{}, 0.95)
			if err != nil || errRate != nil || !(math.Abs(p.SE-math.Sqrt(3)/30) <= 1e-12) || !(math.Abs(p.CI.Clamp(0, 1).High-r.CI.High) <= 1e-12) {
				t.Errorf("%s: %+v, %v", what, r, errors.Join(err, errRate))
			}
			near(what, p, yes, r.SE, p.CI.Clamp(-1, 1))
		}
	}
	judge, alternating := fill(100, 1, 0), fill(30, 0, 70)
	for i := range alternating[:30] {
		alternating[i] = float64(i % 2)
	}
	for what, human := range map[string][2][]float64{"1 against 0": {fill(30, 1, 70), fill(30, 0, 70)}, "0 against 0": {fill(30, 0, 70), fill(30, 0, 70)}, "no difference": {alternating, alternating}} {
		p, err := stats.PredictionPoweredDiff[int](judge, judge, human[0], human[1], nil, 0.95)
		d, errDiff := stats.CorrectedDifference(stats.Judged{Judge: judge, Human: human[0]}, stats.Judged{Judge: judge, Human: human[1]}, 0.95)
		if err != nil || errDiff != nil {
			t.Fatal(err, errDiff)
		}
		near(what, p, d.Diff, d.SE, d.CI)
	}
	// Other labels have no size of an error where none differs.
	p, err := stats.PredictionPowered(fill(9, 3, 0), fill(5, 3, 4), 0.95)
	if err != nil || p.Undefined == "" || !math.IsNaN(p.CI.Low) {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestPPIClusterCoverage: fields of a document hang together, in what people
// say and in where the judge errs. Intervals by document hold; taking items for
// independent does not.
func TestPPIClusterCoverage(t *testing.T) {
	simulation(t)
	const runs, documents, truth = 1500, 100, 0.0
	for name, share := range map[string]func(r *rand.Rand, document int) bool{
		"whole documents labelled": func(_ *rand.Rand, d int) bool { return d < 40 },
		"single fields labelled":   func(r *rand.Rand, _ int) bool { return r.Float64() < 0.4 },
	} {
		r := rand.New(rand.NewPCG(17, 2))
		covered, naive := 0, 0
		for range runs {
			var judge, human []float64
			var cluster []int
			for d := range documents {
				level, error := r.NormFloat64(), r.NormFloat64()
				for range 2 + r.IntN(6) {
					y := level + 0.5*r.NormFloat64()
					judge = append(judge, 0.4+0.8*y+0.5*error+0.3*r.NormFloat64())
					if !share(r, d) {
						y = math.NaN()
					}
					human, cluster = append(human, y), append(cluster, d)
				}
			}
			p, err := stats.PredictionPoweredClusters(judge, human, cluster, 0.9)
			if err != nil {
				t.Fatal(err)
			}
			if p.CI.Low <= truth && truth <= p.CI.High {
				covered++
			}
			if p, _ = stats.PredictionPowered(judge, human, 0.9); p.CI.Low <= truth && truth <= p.CI.High {
				naive++
			}
		}
		// Three Monte Carlo standard errors of 1,500 runs are 0.023.
		if rate := float64(covered) / runs; rate < 0.9-0.023 {
			t.Errorf("%s: coverage %.3f, stated 0.90", name, rate)
		}
		if rate := float64(naive) / runs; rate > 0.8 {
			t.Errorf("%s: items taken for independent cover %.3f: the simulation shows nothing", name, rate)
		}
	}
}

// TestPPIByHand: the formulas in NumPy.
func TestPPIByHand(t *testing.T) {
	nan := math.NaN()
	human := []float64{1, 0, 1, 1, 0, 1, 0, 0}
	judge := []float64{.5, .4, .7, .3, .4, .6, .1, .5, .3, .8, .9, .2, .6, .7, .4, .1, .95, .55, .35, .15}
	for len(human) < len(judge) {
		human = append(human, nan)
	}
	p, err := stats.PredictionPowered(judge, human, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if !alike(p.Lambda, 0.879581151832461) || !alike(p.Estimate, 0.5549738219895288) || !alike(p.SE, 0.19872840280119433) || p.DF != 6 {
		t.Errorf("λ %v, estimate %v ± %v, %v degrees of freedom", p.Lambda, p.Estimate, p.SE, p.DF)
	}
	alone, err := stats.PairedT(human[:8], make([]float64, 8), 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if !alike(p.Human.Low, alone.CI.Low) || !alike(p.HumanMean, 0.5) || !alike(p.Bias, (3.5-4)/8) || !alike(p.EffectiveLabels, 8*alone.SE*alone.SE/(p.SE*p.SE)) {
		t.Errorf("%+v", p)
	}
}

// TestPPIInvariance: the order of items does not matter, clusters may have any
// numbers, a constant added to the judge's labels changes nothing but the bias,
// and one added to both moves the estimate by it. Without unlabelled items, or
// with a judge that always says the same, it is the human mean with its t
// interval.
func TestPPIInvariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n := rapid.IntRange(12, 50).Draw(t, "items")
		up := rapid.Float64Range(-3, 3).Draw(t, "up")
		judge, human, cluster := make([]float64, n), make([]float64, n), make([]int, n)
		for i := range judge {
			cluster[i] = i % 9
			human[i] = float64(r.IntN(5))
			if judge[i] = human[i] + r.NormFloat64(); i >= 9 && r.IntN(2) == 0 {
				human[i] = math.NaN()
			}
		}
		want, err := stats.PredictionPoweredClusters(judge, human, cluster, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		biased, shuffled, lifted := make([]float64, n), [2][]float64{}, make([]float64, n)
		var other []int
		for i := range judge {
			biased[i], lifted[i] = judge[i]+up, human[i]+up
		}
		for _, i := range r.Perm(n) {
			shuffled[0], shuffled[1] = append(shuffled[0], judge[i]), append(shuffled[1], human[i])
			other = append(other, 100-7*cluster[i])
		}
		same := func(what string, judge, human []float64, cluster []int, by float64) {
			got, err := stats.PredictionPoweredClusters(judge, human, cluster, 0.9)
			if err != nil || !(math.Abs(got.Estimate-want.Estimate-by) <= 1e-9) || !(math.Abs(got.SE-want.SE) <= 1e-9) || !(math.Abs(got.Lambda-want.Lambda) <= 1e-9) {
				t.Fatalf("%s: %+v, want %+v, %v", what, got, want, err)
			}
		}
		same("another order", shuffled[0], shuffled[1], other, 0)
		same("a biased judge", biased, human, cluster, 0)
		same("both moved", biased, lifted, cluster, up)
		constant := make([]float64, n)
		p, err := stats.PredictionPowered(constant, human, 0.9)
		if err != nil || p.Lambda != 0 || !alike(p.CI.Low, p.Human.Low) || !alike(p.CI.High, p.Human.High) || p.Estimate != p.HumanMean {
			t.Fatalf("a judge that always says the same: %+v, %v", p, err)
		}
	})
}

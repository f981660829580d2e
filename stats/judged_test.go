package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/scruple-eval/scruple/stats"
)

// judgedCounts is units of a judge's and a person's verdicts, each a cluster of its own.
func judgedCounts(n map[[2]float64]int, from int) (j stats.Judged) {
	for _, of := range [][2]float64{{1, 1}, {1, 0}, {0, 1}, {0, 0}, {1, math.NaN()}, {0, math.NaN()}} {
		for key, k := range n {
			if key[0] == of[0] && (key[1] == of[1] || math.IsNaN(key[1]) && math.IsNaN(of[1])) {
				for range k {
					j.Add(from+len(j.Judge), of[0], of[1])
				}
			}
		}
	}
	return j
}

// By hand: sensitivity 90 of 100, specificity 80 of 100; of 200 judged units 120 are yes, so
// the rate is (0.6 + 0.8 − 1) / (0.9 + 0.8 − 1) = 4/7. The interval by the formula of Lang &
// Reiczigel with z = 1.959964, z² = 3.841459: p = 121.920730/203.841459 = 0.598116,
// se = 91/102, sp = 81/102.
func TestRoganGladenByHand(t *testing.T) {
	nan := math.NaN()
	known := judgedCounts(map[[2]float64]int{{1, 1}: 90, {0, 1}: 10, {1, 0}: 20, {0, 0}: 80}, 0)
	r, err := stats.CorrectedRate(judgedCounts(map[[2]float64]int{{1, nan}: 120, {0, nan}: 80}, 0), known, 0.95)
	if err != nil || !(math.Abs(r.Value-4.0/7) <= 1e-12) || r.Undefined != "" || r.Labelled != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	p, se, sp, z := 121.9207295/203.841459, 91.0/102, 81.0/102, 1.959963985
	vp, vse, vsp := p*(1-p)/203.841459, se*(1-se)/102, sp*(1-sp)/102
	theta := (p + sp - 1) / (se + sp - 1)
	centre := theta + 2*z*z*(theta*vse-(1-theta)*vsp)
	half := z * math.Sqrt(vp+theta*theta*vse+(1-theta)*(1-theta)*vsp) / (se + sp - 1)
	if !(math.Abs(r.CI.Low-(centre-half)) <= 1e-7) || !(math.Abs(r.CI.High-(centre+half)) <= 1e-7) {
		t.Errorf("interval %v, want %v to %v", r.CI, centre-half, centre+half)
	}
	// A judge that says yes to nearly all corrects nothing, nor one that saw only yes.
	for name, known := range map[string]stats.Judged{
		"chance":   judgedCounts(map[[2]float64]int{{1, 1}: 95, {0, 1}: 5, {1, 0}: 94, {0, 0}: 6}, 0),
		"only yes": judgedCounts(map[[2]float64]int{{1, 1}: 95, {0, 1}: 5}, 0),
	} {
		if r, err := stats.CorrectedRate(judgedCounts(map[[2]float64]int{{1, nan}: 120, {0, nan}: 80}, 0), known, 0.95); err != nil || r.Undefined == "" || !math.IsNaN(r.Value) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// unitsOf is units of a judge with this sensitivity and specificity, of which the first
// `labelled` were judged by people, in clusters of size.
type unitsOf struct {
	truth, sensitivity, specificity float64
	n, labelled, size               int
}

func (d unitsOf) draw(r *rand.Rand) (j stats.Judged) {
	yes := 0.0
	for i := range d.n {
		if i%d.size == 0 || r.Float64() > 0.5 { // units of a cluster are alike
			yes = 0
			if r.Float64() < d.truth {
				yes = 1
			}
		}
		judge := yes
		if yes == 1 && r.Float64() > d.sensitivity || yes == 0 && r.Float64() > d.specificity {
			judge = 1 - yes
		}
		human := math.NaN()
		if i < d.labelled {
			human = yes
		}
		j.Add(i/d.size, judge, human)
	}
	return j
}

// The intervals of corrected rates cover the truth in about 95 % of samples, whatever the
// rate of the arm is: 70 % of the 200 known units are yes. The weights by P(human | judge)
// of these covered 81.7, 15.8 and 0.0 % at rates of .60, .90 and .97. The bound is three
// standard errors of the samples below 94 %.
func TestCorrectedRateCovers(t *testing.T) {
	const samples = 500
	for _, size := range []int{1, 3} {
		for _, truth := range []float64{0.3, 0.6, 0.9, 0.97} {
			for _, labelled := range []int{0, 60} {
				r := rand.New(rand.NewPCG(1, uint64(1000*truth)))
				covered, defined, width := 0, 0, 0.0
				for range samples {
					known := unitsOf{0.7, 0.9, 0.9, 200, 200, size}.draw(r)
					units := unitsOf{truth, 0.9, 0.9, 150, labelled, size}.draw(r)
					c, err := stats.CorrectedRate(units, known, 0.95)
					if err != nil {
						t.Fatal(err)
					}
					if c.Undefined != "" {
						continue
					}
					defined++
					width += c.CI.High - c.CI.Low
					if c.CI.Low <= truth && truth <= c.CI.High {
						covered++
					}
				}
				share := float64(covered) / float64(defined)
				t.Logf("clusters of %d, rate %v, %d labels: covered %.3f of %d, width %.3f", size, truth, labelled, share, defined, width/float64(defined))
				if share < 0.94-3*math.Sqrt(0.06*0.94/float64(defined)) {
					t.Errorf("clusters of %d, rate %v, %d labels: intervals of 95 %% cover the truth in %.3f", size, truth, labelled, share)
				}
			}
		}
	}
}

// A judge that favours the wordy arm: true rates are equal, and the judge passes 30 % of its
// wrong answers, 3 % of the other's. By the judge alone the arms differ; corrected they do
// not, and with a true difference of 0.2 the corrected one covers it.
func TestCorrectedDifferenceCovers(t *testing.T) {
	const samples = 500
	for _, both := range []bool{true, false} { // people judged the same items of both arms
		for _, diff := range []float64{0, 0.2} {
			r := rand.New(rand.NewPCG(3, 4))
			covered, wrong, naive := 0, 0, 0
			for range samples {
				a := unitsOf{0.55, 0.97, 0.7, 300, 100, 1}.draw(r)
				b := unitsOf{0.55 - diff, 0.97, 0.97, 300, 100, 1}.draw(r)
				if !both {
					for i := range b.Human { // the last 100 of b
						b.Human[i] = math.NaN()
					}
					tail := unitsOf{0.55 - diff, 0.97, 0.97, 100, 100, 1}.draw(r)
					copy(b.Judge[200:], tail.Judge)
					copy(b.Human[200:], tail.Human)
				}
				d, err := stats.CorrectedDifference(a, b, 0.95)
				if err != nil || d.Undefined != "" {
					t.Fatalf("%+v, %v", d, err)
				}
				if d.CI.Low <= diff && diff <= d.CI.High {
					covered++
				}
				if d.CI.Low > diff {
					wrong++
				}
				if d.A.Judge-d.B.Judge > 0.08+diff {
					naive++
				}
				if (d.P < 0.05) != (d.CI.Low > 0 || d.CI.High < 0) {
					t.Fatalf("p and interval disagree: %+v", d)
				}
			}
			t.Logf("same items %t, difference %v: covered %.3f, above %.3f; by the judge alone above by 8 points in %.3f", both, diff, float64(covered)/samples, float64(wrong)/samples, float64(naive)/samples)
			if share := float64(covered) / samples; share < 0.94-3*math.Sqrt(0.06*0.94/samples) {
				t.Errorf("same items %t, difference %v: covered in %.3f", both, diff, share)
			}
		}
	}
}

// With few labels the intervals cover the difference in no less than 95 %.
func TestCorrectedDifferenceOfFewLabels(t *testing.T) {
	const samples = 500
	for _, labels := range []int{8, 12, 20, 40} {
		for _, accuracy := range []float64{0.7, 0.8, 0.9} {
			r := rand.New(rand.NewPCG(5, 6))
			covered := 0
			for range samples {
				a := unitsOf{0.7, accuracy, 1.5*accuracy - 0.5, 200, labels, 1}.draw(r)
				b := unitsOf{0.5, accuracy, accuracy, 200, labels, 1}.draw(r)
				d, err := stats.CorrectedDifference(a, b, 0.95)
				if err != nil || d.Undefined != "" {
					t.Fatal(d.Undefined, err)
				}
				if d.CI.Low <= 0.2 && 0.2 <= d.CI.High {
					covered++
				}
			}
			share := float64(covered) / samples
			t.Logf("%d labels, accuracy %v: covered %.3f", labels, accuracy, share)
			if share < 0.94-3*math.Sqrt(0.06*0.94/samples) {
				t.Errorf("%d labels, accuracy %v: covered in %.3f", labels, accuracy, share)
			}
		}
	}
}

// On paired items with labels of both arms the difference is that of PredictionPoweredDiff
// where the judge has no weight, and the same by clusters in any order.
func TestCorrectedDifferencePairs(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	a, b := unitsOf{0.6, 0.9, 0.9, 80, 80, 2}.draw(r), unitsOf{0.5, 0.9, 0.9, 80, 80, 2}.draw(r) // all labelled
	d, err := stats.CorrectedDifference(a, b, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	want, err := stats.PredictionPoweredDiff(a.Judge, b.Judge, a.Human, b.Human, a.Cluster, 0.95)
	if err != nil || !(math.Abs(d.Diff-want.Estimate) <= 1e-12) || !(math.Abs(d.SE-want.SE) <= 1e-12) {
		t.Errorf("%+v, want %+v", d, want)
	}
	turned := func(j stats.Judged) (out stats.Judged) {
		for i := len(j.Judge) - 1; i >= 0; i-- {
			out.Add(1000-j.Cluster[i], j.Judge[i], j.Human[i])
		}
		return out
	}
	back, err := stats.CorrectedDifference(turned(a), turned(b), 0.95)
	if err != nil || !(math.Abs(back.SE-d.SE) <= 1e-12) {
		t.Errorf("in another order %v, want %v", back.SE, d.SE)
	}
	reversed, err := stats.CorrectedDifference(b, a, 0.95)
	if err != nil || reversed.Diff != -d.Diff || fmt.Sprintf("%.12f", reversed.SE) != fmt.Sprintf("%.12f", d.SE) {
		t.Errorf("reversed %+v", reversed)
	}
}

// A judge that says yes more often where people looked: the correction is below 0, and the
// rate is not.
func TestCorrectedRateIsAShare(t *testing.T) {
	nan := math.NaN()
	c, err := stats.CorrectedRate(judgedCounts(map[[2]float64]int{{1, 1}: 1, {1, 0}: 10, {0, 0}: 29, {1, nan}: 13, {0, nan}: 247}, 0), stats.Judged{}, 0.95)
	if err != nil || c.Undefined != "" || c.Value < c.CI.Low || c.Value > c.CI.High {
		t.Errorf("%+v, %v", c, err)
	}
}

// Where people say the same of all that they judged, their verdicts count all the same: by hand,
// 0 of 30 is 0 ± 2.045230·√3/30, whatever the judge says.
func TestCorrectedByEqualLabels(t *testing.T) {
	nan := math.NaN()
	no := judgedCounts(map[[2]float64]int{{1, 0}: 28, {0, 0}: 2, {1, nan}: 65, {0, nan}: 5}, 0)
	half := 2.045229642 * math.Sqrt(3) / 30
	r, err := stats.CorrectedRate(no, stats.Judged{}, 0.95)
	if err != nil || r.Undefined != "" || r.Value != 0 || r.CI.Low != 0 || !(math.Abs(r.CI.High-half) <= 1e-8) || len(r.Warnings) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	yes := judgedCounts(map[[2]float64]int{{1, 1}: 28, {0, 1}: 2, {1, nan}: 65, {0, nan}: 5}, 0)
	if r, err = stats.CorrectedRate(yes, stats.Judged{}, 0.95); err != nil || r.Value != 1 || r.CI.High != 1 || !(math.Abs(r.CI.Low-(1-half)) <= 1e-8) {
		t.Errorf("%+v, %v", r, err)
	}
	d, err := stats.CorrectedDifference(yes, no, 0.95)
	if err != nil || d.Undefined != "" || d.Diff != 1 || !(math.Abs(d.SE-math.Sqrt(6)/30) <= 1e-12) {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err = stats.CorrectedDifference(no, no, 0.95); err != nil || d.Undefined != "" || d.Diff != 0 || d.P != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	// One yes fewer raises no rate.
	before := 1.0
	for yes := 30; yes >= 0; yes-- {
		r, err := stats.CorrectedRate(judgedCounts(map[[2]float64]int{{1, 1}: yes, {1, 0}: 30 - yes, {1, nan}: 65, {0, nan}: 5}, 0), stats.Judged{}, 0.95)
		if err != nil || !(r.Value <= before+1e-12) {
			t.Errorf("%d of 30: %+v after %v, %v", yes, r, before, err)
		}
		before = r.Value
	}
	// The answers of two people who judged one cluster say nothing of others.
	for i := range no.Cluster {
		no.Cluster[i] = max(0, i-29)
	}
	if r, err := stats.CorrectedRate(no, stats.Judged{}, 0.95); err != nil || r.Undefined == "" || !math.IsNaN(r.Value) {
		t.Errorf("%+v, %v", r, err)
	}
}

// Two arms on which people say the same of each unit may differ on others: by hand, of 40 units the
// difference is 0 ± 2.022691·√3/40, and one of them that differs makes it no more certain.
func TestCorrectedDifferenceThatNoLabelShows(t *testing.T) {
	var a, b stats.Judged
	for i := range 40 {
		human := float64(min(1, i%3))
		a.Add(i, 1, human)
		b.Add(i, float64(i%2), human)
	}
	half := 2.022690920 * math.Sqrt(3) / 40
	for name, pair := range map[string][2]stats.Judged{"other verdicts": {a, b}, "the same": {a, a}} {
		d, err := stats.CorrectedDifference(pair[0], pair[1], 0.95)
		if err != nil || d.Undefined != "" || d.Diff != 0 || d.P != 1 || !(math.Abs(d.CI.Low+half) <= 1e-8) || !(math.Abs(d.CI.High-half) <= 1e-8) {
			t.Errorf("%s: %v to %v, %q, %v", name, d.CI.Low, d.CI.High, d.Undefined, err)
		}
	}
	a.Human[1] = 0
	if d, err := stats.CorrectedDifference(a, b, 0.95); err != nil || !(d.CI.Low < -half) {
		t.Errorf("%v to %v, %v", d.CI.Low, d.CI.High, err)
	}
}

// Equal rates differ by nothing: 4/7 by people of 5 units and two that need no judge, and of 7 units.
func TestCorrectedDifferenceOfEqualRates(t *testing.T) {
	nan := math.NaN()
	a := judgedCounts(map[[2]float64]int{{0, 1}: 3, {1, 1}: 1, {0, 0}: 1}, 0)
	a.Add(5, nan, 0)
	a.Add(6, nan, 0)
	b := judgedCounts(map[[2]float64]int{{1, 1}: 4, {1, 0}: 1, {0, 0}: 2}, 0)
	for _, pair := range [][2]stats.Judged{{a, b}, {b, a}} {
		if d, err := stats.CorrectedDifference(pair[0], pair[1], 0.95); err != nil || d.Undefined != "" || d.Diff != 0 || d.T != 0 || d.P != 1 {
			t.Errorf("%v, %v", d, err)
		}
	}
}

// Units that need no judge, such as answers that cannot be read, are part of the rate, and
// their share varies from sample to sample.
func TestCorrectedRateWithSureUnits(t *testing.T) {
	const samples, truth = 500, 0.3 + 0.7*0.6*0.5 // 30 % are sure and right, of the others 60 % of half
	r := rand.New(rand.NewPCG(7, 8))
	covered := 0
	for range samples {
		var j stats.Judged
		for i := range 300 {
			switch u := r.Float64(); {
			case u < 0.3:
				j.Add(i, math.NaN(), 1)
			case u < 0.65:
				j.Add(i, math.NaN(), 0)
			default:
				one := unitsOf{0.6, 0.9, 0.8, 1, 1, 1}.draw(r)
				human := one.Human[0]
				if r.Float64() > 0.4 {
					human = math.NaN()
				}
				j.Add(i, one.Judge[0], human)
			}
		}
		c, err := stats.CorrectedRate(j, stats.Judged{}, 0.95)
		if err != nil || c.Undefined != "" {
			t.Fatalf("%+v, %v", c, err)
		}
		if c.CI.Low <= truth && truth <= c.CI.High {
			covered++
		}
		if d, err := stats.CorrectedDifference(j, j, 0.95); err != nil || d.Diff != 0 {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	t.Logf("covered %.3f", float64(covered)/samples)
	if share := float64(covered) / samples; share < 0.94-3*math.Sqrt(0.06*0.94/samples) || share > 0.99 {
		t.Errorf("covered in %.3f", share)
	}
}

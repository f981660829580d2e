package analyse_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
)

// judgedStudy is two arms on n items: the truth of each answer, a judge that passes a share
// of wrong answers of arm v (30 %) and few of arm s (3 %), and people who judged the first
// `people` items of both. Every tenth answer of s cannot be read, so it is wrong without a
// judge. On the first `differ` items people differ, and nobody decided.
func judgedStudy(t *testing.T, metric eval.Metric, n, people int, differ ...int) *analyse.Analysis {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	s := &eval.Suite{Name: "judged", Metrics: []eval.Metric{metric}}
	var items []eval.Item
	for i := range n {
		items = append(items, eval.Item{ID: fmt.Sprintf("q%03d", i)})
	}
	arms := []eval.Arm{{ID: "s", Judges: []string{"j"}}, {ID: "v", Judges: []string{"j"}}}
	c := analyse.NewCollector(s, items, arms, asListed(items))
	ratings := &analyse.Ratings{Judge: "j"}
	for i, it := range items {
		for k, arm := range arms {
			right, passes := r.Float64() < 0.56, 0.03+0.27*float64(k)
			judge := right || r.Float64() < passes
			kind, unreadable := eval.OK, k == 0 && i%10 == 9
			if unreadable {
				kind, right, judge = eval.Malformed, false, false
			} else {
				x := analyse.Rated{Rating: eval.Rating{Trial: eval.Trial{Item: it.ID, Arm: arm.ID, Replicate: 1}, Yes: judge}, Cluster: it.ID}
				if i < append(differ, 0)[0] {
					x.Differ = true
				} else if i < people {
					x.Human = &right
				}
				ratings.Rated = append(ratings.Rated, x)
			}
			num := 0.0
			if judge == (metric.Judge == eval.JudgeYes) {
				num = 1
			}
			c.Add(scored(it.ID, arm.ID, kind, score("", metric.Name, num, 1)))
		}
	}
	q := question()
	q.Run.Items, q.Run.Planned = n, 2*n
	q.Primary, q.Secondary, q.Comparisons, q.Calibration = []string{metric.Name}, nil, []analyse.Pair{{A: "v", B: "s", Primary: true}}, nil
	q.Study.Correction = ""
	from := analyse.Sources{Ratings: ratings}
	if people == 0 {
		from.Ratings = nil
	}
	a, err := c.Analyse(q, from)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestPeopleDiffer: a sample without the answers on which people differ is none at random, and
// estimates, comparisons and the comparison of the judge with people say so.
func TestPeopleDiffer(t *testing.T) {
	m := eval.Metric{Name: "rate", Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems, Binary: true, Judge: eval.JudgeYes}
	for differ, corrected := range map[int]bool{0: true, 20: true, 60: false} {
		a := judgedStudy(t, m, 200, 60, differ)
		e, _ := a.Estimate("v", "rate")
		c, _ := a.Comparison("v", "s", "rate")
		want := fmt.Sprintf("%d of 60 units that people judged are left out, since people differ on them or skipped them", differ)
		if e.Disputed != differ || (e.ByJudge != nil) != corrected || strings.Contains(strings.Join(e.Warnings, "; "), want) != (differ > 0) {
			t.Errorf("%d: %+v", differ, e)
		}
		if of := fmt.Sprintf(" of %d units that people judged are left out", 60+54); strings.Contains(strings.Join(c.Warnings, "; "), of) != (differ > 0) {
			t.Errorf("%d: %q", differ, c.Warnings)
		}
		if j := a.JudgeAndPeople; j == nil || j.Kappa.Defined() != corrected || (len(j.Warnings) > 0) != (differ > 0) {
			t.Errorf("%d: %+v", differ, j)
		}
	}
}

// TestAgreementOfClusters: units of an item are judged alike, so that the interval of the agreement
// is that of items. By hand: Wilson's of 5 of 10 items is 0.237 to 0.763, of 30 of 60 units 0.377 to 0.623.
func TestAgreementOfClusters(t *testing.T) {
	m := eval.Metric{Name: "rate", Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems, Binary: true, Judge: eval.JudgeYes}
	s := &eval.Suite{Name: "judged", Metrics: []eval.Metric{m}, Primary: []string{m.Name}}
	items := make([]eval.Item, 10)
	ratings := &analyse.Ratings{Judge: "j", Beside: 3}
	for i := range items {
		items[i].ID = fmt.Sprintf("i%02d", i)
	}
	arms := []eval.Arm{{ID: "s", Judges: []string{"j"}}}
	c := analyse.NewCollector(s, items, arms, asListed(items))
	for i, it := range items {
		for k := range 6 {
			human := i%2 == 0
			ratings.Rated = append(ratings.Rated, analyse.Rated{Rating: eval.Rating{Trial: eval.Trial{Item: it.ID, Arm: "s", Replicate: 1}, Unit: fmt.Sprint(k), Yes: true}, Cluster: it.ID, Human: &human})
		}
		c.Add(scored(it.ID, "s", eval.OK, score("", m.Name, 6, 6)))
	}
	q := question()
	q.Run.Items, q.Run.Planned = len(items), len(items)
	q.Primary, q.Secondary, q.Comparisons, q.Calibration = []string{m.Name}, nil, nil, nil
	a, err := c.Analyse(q, analyse.Sources{Ratings: ratings})
	if err != nil {
		t.Fatal(err)
	}
	if j := a.JudgeAndPeople; j == nil || j.Agreement != 0.5 || j.Clusters != 10 || j.Beside != 3 || !(j.AgreeLow > 0.19 && j.AgreeLow < 0.24 && j.AgreeHigh > 0.76 && j.AgreeHigh < 0.81) {
		t.Errorf("%+v", j)
	}
}

// TestCorrectedByPeople: estimates and comparisons are those that people's labels correct, so
// that tables, headlines and rules say the same; what the judge says stands beside them.
func TestCorrectedByPeople(t *testing.T) {
	for _, use := range []eval.JudgeUse{eval.JudgeYes, eval.JudgeNo} {
		m := eval.Metric{Name: "rate", Max: 1, HigherIsBetter: use == eval.JudgeYes, Kind: eval.Scoring, Pooling: eval.MeanOfItems, Binary: true, Judge: use}
		sign := 1.0
		if use == eval.JudgeNo {
			sign = -1
		}
		alone := judgedStudy(t, m, 600, 0)
		c, _ := alone.Comparison("v", "s", "rate")
		e, _ := alone.Estimate("v", "rate")
		if float64(c.Diff)*sign < 0.1 || c.ByJudge != nil || !e.JudgeAlone || e.ByJudge != nil {
			t.Fatalf("%s: by the judge alone: %+v %+v", use, c, e)
		}
		a := judgedStudy(t, m, 600, 300)
		c, _ = a.Comparison("v", "s", "rate")
		if c.Wins.Defined() || c.Ties.Defined() || c.Losses.Defined() || c.D.Defined() { // of the judge alone
			t.Errorf("%s: what people did not correct stays: %+v", use, c)
		}
		if c.ByJudge == nil || math.Abs(float64(c.ByJudge.Diff)) < 0.1 || !(math.Abs(float64(c.Diff)-sign*0.056) <= 0.1) || !strings.Contains(c.Method, "prediction-powered") ||
			!(c.Low < c.Diff && c.Diff < c.High) || (float64(c.P) < 0.05) != (c.Low > 0 || c.High < 0) {
			t.Errorf("%s: %+v", use, c)
		}
		v, _ := a.Estimate("v", "rate")
		s, _ := a.Estimate("s", "rate")
		if v.JudgeAlone || v.ByJudge == nil || v.ByJudge.N != 300 || s.ByJudge.N != 270 {
			t.Errorf("%s: %+v", use, v)
		}
		near(t, "the difference of the two figures", c.Diff, float64(v.Value-s.Value))
		near(t, "mean of v", c.MeanA, float64(v.Value))
		back, _ := a.Comparison("s", "v", "rate")
		near(t, "the judge's difference reversed", back.ByJudge.Diff, -float64(c.ByJudge.Diff))
	}
	// A metric that is no share of verdicts is not corrected.
	other := eval.Metric{Name: "rate", Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems, Judge: eval.JudgeElse}
	if e, _ := judgedStudy(t, other, 100, 50).Estimate("v", "rate"); !e.JudgeAlone || e.ByJudge != nil {
		t.Errorf("%+v", e)
	}
}

package gate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
)

// listed has items in the order of their list.
type listed map[string]int

func (l listed) Position(item string) (int, bool) { i, ok := l[item]; return i, ok }
func (l listed) At(position int) int              { return position }

// twoRuns compares two runs on totals from 5 to 25, as [experiment.CompareRuns] does.
func twoRuns(t interface{ Fatal(...any) }, arms int, total func(arm, item int) (was, is float64), items int) *analyse.Analysis {
	suite := &eval.Suite{Name: "toy", Metrics: []eval.Metric{{Name: "total", Title: "Total", Min: 0, Max: 25, HigherIsBetter: true, Kind: eval.Scoring, Judge: eval.JudgeElse}}}
	q := analyse.Question{Study: analyse.Study{Alpha: 0.05, Method: "auto", Correction: "holm"}, Primary: []string{"total"}, Overall: true, NoEffect: true,
		Run: analyse.Run{Items: items, Replicates: 1}, Family: [][3]string{}}
	var list []eval.Item
	order := listed{}
	for i := range items {
		list = append(list, eval.Item{ID: fmt.Sprintf("i%03d", i)})
		order[list[i].ID] = i
	}
	var sides []eval.Arm
	for k := range arms {
		is, was := fmt.Sprintf("is:%d", k), fmt.Sprintf("was:%d", k)
		sides = append(sides, eval.Arm{ID: is}, eval.Arm{ID: was})
		q.Comparisons = append(q.Comparisons, analyse.Pair{A: is, B: was})
		q.Family = append(q.Family, [3]string{is, was, "total"})
	}
	c := analyse.NewCollector(suite, list, sides, order)
	for i, it := range list {
		for k := range arms {
			was, is := total(k, i)
			for side, x := range []float64{is, was} {
				c.Add(eval.Scored{Case: eval.Case{Item: it.ID, Arm: sides[2*k+side].ID}, Scores: []eval.Score{{Metric: "total", Num: x, Den: 1}}})
			}
		}
	}
	a, err := c.Analyse(q, analyse.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func judged(x float64) float64 { return max(5, min(25, math.Round(x))) }

// TestRunsOfOneProgram: of two runs that differ by chance at most 5 % regressed or improved, whatever the
// number of arms and texts and the noise of the judge. The seed is fixed.
func TestRunsOfOneProgram(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	const studies = 1000
	regressed, improved := 0, 0
	for range studies {
		items, arms, noise, mean := 10+r.IntN(60), 1+r.IntN(4), 0.5+3*r.Float64(), 12+12*r.Float64()
		a := twoRuns(t, arms, func(int, int) (was, is float64) {
			text := mean + 3*r.NormFloat64()
			return judged(text + noise*r.NormFloat64()), judged(text + noise*r.NormFloat64())
		}, items)
		switch gate.TrendOf(a).Verdict {
		case gate.Regressed:
			regressed++
		case gate.Improved:
			improved++
		}
	}
	t.Logf("of %d pairs of runs %d regressed and %d improved", studies, regressed, improved)
	if regressed+improved > studies/20 {
		t.Errorf("of %d pairs of runs of one program %d regressed and %d improved", studies, regressed, improved)
	}
}

// TestLoweredScores: a run whose scores are lowered is never improved, and one that is much
// lower regressed; by other judges it is neither.
func TestLoweredScores(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		arms, items := rapid.IntRange(1, 3).Draw(t, "arms"), rapid.IntRange(1, 40).Draw(t, "items")
		total, loss := rapid.IntRange(5, 25), rapid.IntRange(0, 6)
		all := map[[2]int][2]float64{}
		a := twoRuns(t, arms, func(arm, item int) (was, is float64) {
			before := total.Draw(t, "total")
			after := max(5, before-loss.Draw(t, "loss"))
			all[[2]int{arm, item}] = [2]float64{float64(before), float64(after)}
			return float64(before), float64(after)
		}, items)
		if got := gate.TrendOf(a); got.Verdict == gate.Improved {
			t.Errorf("every score is lower or the same: %+v", got)
		}
		for i := range a.Comparisons {
			a.Comparisons[i].JudgesDiffer = "the judges differ (x)"
		}
		if got := gate.TrendOf(a); got.Verdict != gate.NotComputed || got.ExitCode() != 3 {
			t.Errorf("other judges: %+v", got)
		}
	})
	a := twoRuns(t, 1, func(_, item int) (was, is float64) { return 20, 17 - float64(item%2) }, 20)
	if got := gate.TrendOf(a); got.Verdict != gate.Regressed || got.ExitCode() != 1 {
		t.Errorf("3 or 4 lower: %+v", got)
	}
}

// TestTrendOfMissingScores: what has no score is no gain.
func TestTrendOfMissingScores(t *testing.T) {
	t.Parallel()
	better := func(_, item int) (was, is float64) { return 15, 17 + float64(item%2) }
	for _, x := range []struct {
		name    string
		lacking func(a *analyse.Analysis)
		want    string
	}{
		{"nothing", func(*analyse.Analysis) {}, gate.Improved},
		{"few, which could reverse nothing", func(a *analyse.Analysis) {
			least, most := a.Comparisons[0], a.Comparisons[0]
			a.Estimates[0].Unscored, a.Comparisons[0].Least, a.Comparisons[0].Most = 1, &least, &most
		}, gate.Improved},
		{"few, which could", func(a *analyse.Analysis) {
			least, most := a.Comparisons[0], a.Comparisons[0]
			least.P, least.PAdjusted = 1, 1
			a.Estimates[0].Unscored, a.Comparisons[0].Least, a.Comparisons[0].Most = 1, &least, &most
		}, gate.NotComputed},
		{"few, without bounds", func(a *analyse.Analysis) { a.Estimates[0].Unscored = 1 }, gate.NotComputed},
		{"many", func(a *analyse.Analysis) { a.Estimates[1].Unscored, a.Estimates[1].UnscoredShare = 5, 0.25 }, gate.NotComputed},
		{"failed trials", func(a *analyse.Analysis) { a.Arms[1].OK, a.Arms[1].Failed = 10, 10 }, gate.NotComputed},
	} {
		a := twoRuns(t, 1, better, 20)
		if x.lacking(a); gate.TrendOf(a).Verdict != x.want {
			t.Errorf("%s: got %+v, want %s", x.name, gate.TrendOf(a), x.want)
		}
	}
}

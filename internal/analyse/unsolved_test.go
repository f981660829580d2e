package analyse_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
)

// Items that no contestant solved are listed with the most frequent answer; a baseline
// solves none. Scores of a metric with units are added up by them.
func TestUnsolvedAndUnits(t *testing.T) {
	suite := eval.Suite{Name: "toy", Metrics: []eval.Metric{{Name: "right", Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems, Binary: true},
		{Name: "parts", Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.RatioOfSums, Unit: "part"}}}
	arms := []eval.Arm{{ID: "base", Role: eval.RoleBaseline}, {ID: "x"}, {ID: "y"}}
	said := map[string]string{"d2 x 1": "a", "d2 x 2": "b", "d2 y 1": "b"} // d2 is right for no arm but the baseline
	c := analyse.NewCollector(&suite, items, arms, asListed(items))
	var cases []eval.Case
	for _, it := range items {
		for _, arm := range arms {
			s := eval.Scored{Case: eval.Case{Item: it.ID, Arm: arm.ID}}
			for r := range 2 {
				trial := eval.Trial{Item: it.ID, Arm: arm.ID, Replicate: r + 1}
				o := eval.Outcome{Kind: eval.OK}
				if it.ID == "d2" && arm.ID == "y" && r == 1 {
					o = eval.Outcome{Kind: eval.Malformed, Reason: "cut off"}
				}
				s.Trials = append(s.Trials, eval.Judged{Trial: trial, Outcome: o})
				right := eval.Score{Replicate: r + 1, Metric: "right", Den: 1}
				if it.ID != "d2" && (arm.ID == "x") == (r == 0) || arm.ID == "base" {
					right.Num = 1
				}
				s.Scores = append(s.Scores, right, eval.Score{Replicate: r + 1, Metric: "parts", Unit: fmt.Sprint("p", r), Num: float64(r), Den: 2})
			}
			c.Add(s)
			cases = append(cases, s.Case)
		}
	}
	a, err := c.Analyse(analyse.Question{Study: analyse.Study{Alpha: 0.05}, Run: analyse.Run{Items: 4, Replicates: 2, Planned: 24}, Primary: []string{"right"}}, analyse.Sources{
		Cases: func(yield func(eval.Case, error) bool) {
			for _, c := range cases {
				if !yield(c, nil) {
					return
				}
			}
		},
		Show: func(tr eval.Trial) (eval.Exhibit, error) {
			if tr.Item != "d2" {
				t.Errorf("%v is shown", tr)
			}
			return eval.Exhibit{Lead: "why?", Rows: []eval.ExhibitRow{{Unit: "note"}, {Unit: "answer", Gold: "c", Answer: said[fmt.Sprint(tr.Item, " ", tr.Arm, " ", tr.Replicate)]}}}, nil
		},
		Report: func(r eval.Results) ([]eval.Block, error) {
			want := map[string]eval.Fraction{"p0": {Num: 0, Den: 8}, "p1": {Num: 4, Den: 8}}
			if diff := cmp.Diff(want, r.ByUnit("x", "parts")); diff != "" {
				t.Error(diff)
			}
			if got := r.Sum("x", "parts"); got != (eval.Fraction{Num: 4, Den: 16}) {
				t.Errorf("the sum is %v", got)
			}
			if got := r.ByUnit("x", "right"); len(got) > 0 {
				t.Errorf("right has no units, found %v", got)
			}
			return nil, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Tables) != 1 {
		t.Fatalf("%d tables, want that of unsolved items", len(a.Tables))
	}
	want := [][]string{{"d2", "why?", "c", "b", "2"}}
	if diff := cmp.Diff(want, a.Tables[0].Strings()); diff != "" || a.Tables[0].Name != "unsolved" {
		t.Error(diff)
	}
}

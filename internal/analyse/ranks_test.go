package analyse

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRanks: of four arms, a is better than c and d, and b than d; c and d, a and b are not
// told apart. So the ranks of a are 1 to 2, of b 1 to 3, of c 2 to 4, of d 3 to 4.
func TestRanks(t *testing.T) {
	analysis := func(p map[[2]string]float64) *Analysis {
		values := map[string]Number{"a": 0.9, "b": 0.8, "c": 0.5, "d": 0.4}
		a := &Analysis{Metrics: []Metric{{Name: "m", Title: "M", HigherIsBetter: true, Rank: "primary"}}}
		ids := []string{"a", "b", "c", "d"}
		for i, id := range ids {
			a.Arms = append(a.Arms, Arm{ID: id})
			a.Estimates = append(a.Estimates, Estimate{Arm: id, Metric: "m", Bounds: Bounds{Value: values[id]}, Items: 9})
			for _, other := range ids[:i] {
				c := Comparison{A: id, B: other, Metric: "m", Primary: true, Reading: Reading{Diff: values[id] - values[other], P: 0.9}}
				if x, ok := p[[2]string{other, id}]; ok {
					c.P = Number(x)
				}
				a.Comparisons = append(a.Comparisons, c)
			}
		}
		return a
	}
	q := Question{Primary: []string{"m"}, Study: Study{Alpha: 0.05}}
	p := map[[2]string]float64{{"a", "c"}: 0.001, {"a", "d"}: 0.0001, {"b", "d"}: 0.01, {"b", "c"}: 0.04} // 0.04 times 3 is above 0.05
	want := [][]string{{"a", "0.9", "1", "1", "2"}, {"b", "0.8", "2", "1", "3"}, {"c", "0.5", "3", "2", "4"}, {"d", "0.4", "4", "3", "4"}}
	if d := cmp.Diff(want, analysis(p).ranks(q).Strings()); d != "" {
		t.Error(d)
	}
	// A missing score that could turn a difference leaves the rank open.
	a := analysis(p)
	for i := range a.Comparisons {
		if c := &a.Comparisons[i]; c.A == "d" && c.B == "b" {
			c.Least, c.Most = &Comparison{Reading: Reading{Diff: -0.5, P: 0.001}}, &Comparison{Reading: Reading{Diff: 0.1, P: 0.001}}
		}
	}
	if rows := a.ranks(q).Strings(); rows[1][4] != "4" || rows[3][3] != "2" {
		t.Errorf("%v", rows)
	}
	// No verdict, no bound.
	a = analysis(p)
	for i := range a.Comparisons {
		a.Comparisons[i].JudgesDiffer = "other judges"
	}
	for _, row := range a.ranks(q).Strings()[1:] {
		if row[3] != "1" || row[4] != "4" {
			t.Errorf("without a verdict the ranks are bounded: %v", row)
		}
	}
	if a.Comparisons = a.Comparisons[1:]; a.ranks(q) != nil {
		t.Error("not all pairs are compared, and there are ranks")
	}
}

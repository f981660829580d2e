package analyse_test

import (
	"math"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/stats"
)

// TestFigures: a suite gets the results of the analysis, and its figures keep
// undefined values.
func TestFigures(t *testing.T) {
	c := collect(t)
	q := question()
	from := sources()
	from.Report = func(r eval.Results) ([]eval.Block, error) {
		x, ok := r.Estimate("x", "value")
		if !ok || !(math.Abs(float64(x.Value)-0.5) <= 1e-12) {
			t.Errorf("x has %v, %v", x, ok)
		}
		in, ok := r.EstimateIn("x", "value", eval.Level{Name: "type", Value: "contract"})
		if !ok || in.Value == x.Value || in.N != 2 {
			t.Errorf("x has %v in contracts, %v", in, ok)
		}
		if _, ok := r.EstimateIn("x", "value", eval.Level{Name: "type", Value: "letter"}); ok {
			t.Error("an unknown stratum has a value")
		}
		if _, ok := r.Estimate("nobody", "value"); ok {
			t.Error("an unknown arm has a value")
		}
		d, ok := r.Difference("x", "y", "value")
		back, _ := r.Difference("y", "x", "value")
		if !ok || d.Value != -back.Value || d.Low != -back.High {
			t.Errorf("difference %v, inverted %v, %v", d, back, ok)
		}
		if effort, unit := r.Effort("x"); unit != "calls a trial" {
			t.Errorf("effort of x is %v %s beside y, whose price is unknown", effort, unit)
		}
		if effort, unit := r.Effort("y"); !(math.Abs(effort-4.0/3) <= 1e-12) || unit != "calls a trial" {
			t.Errorf("effort of y, whose price is unknown, is %v %s", effort, unit)
		}
		if p := r.SameRate([]string{"x"}, []string{"fabrication"}); !math.IsNaN(p[0]) {
			t.Errorf("one rate was compared with itself: %v", p)
		}
		if p := r.SameRate([]string{"x"}, []string{"fabrication", "value"}); !math.IsNaN(p[0]) {
			t.Errorf("sums that are not counts were tested: %v", p)
		}
		want, _ := stats.Fisher([][]int{{1, 1}, {4, 4}})
		if p := r.SameRate([]string{"x", "nobody"}, []string{"fabrication", "fabrication"}); p[0] != want || !math.IsNaN(p[1]) {
			t.Errorf("p = %v, want %v and NaN for an unknown arm", p, want)
		}
		return []eval.Block{{Figure: &eval.Figure{Name: "f", Joined: true, Series: []eval.Series{{Name: "x", Points: []eval.Point{{X: 1, Measured: x}, {X: 2, Measured: eval.Measured{Value: eval.Undefined()}}}}},
			Rows: []string{"r"}, Columns: []string{"c"}, Cells: [][]eval.Measured{{d}}}}}, nil
	}
	a, err := c.Analyse(q, from)
	if err != nil {
		t.Fatal(err)
	}
	f := a.Figures[0]
	if f.Series[0].Points[0].Value != 0.5 || f.Series[0].Points[1].Value.Defined() || !f.Cells[0][0].Value.Defined() {
		t.Errorf("%+v", f)
	}
}

// Two marks of ten things: 4 have both, 1 only the first, 1 only the second. Lift is
// (4/10) / (5/10 · 5/10); Fisher's p is 2·26/252 (R: fisher.test), McNemar's 1.
func TestAssociate(t *testing.T) {
	from := sources()
	from.Report = func(r eval.Results) ([]eval.Block, error) {
		list := r.(eval.Associator).Associate([][2][2]int{{{4, 1}, {1, 4}}, {{1, 5}, {0, 4}}, {}})
		a := list[0]
		if !(math.Abs(float64(a.Lift)-1.6) <= 1e-12) || !(math.Abs(float64(a.P)-52.0/252) <= 1e-12) || a.Paired != 1 {
			t.Errorf("%+v", a)
		}
		if !(math.Abs(float64(list[1].Paired)-0.0625) <= 1e-12) || !(math.Abs(float64(a.Adjusted)-104.0/252) <= 1e-12) {
			t.Errorf("%+v", list)
		}
		if list[2].Lift.Defined() || list[2].Paired.Defined() {
			t.Errorf("nothing has %+v", list[2])
		}
		return nil, nil
	}
	if _, err := collect(t).Analyse(question(), from); err != nil {
		t.Fatal(err)
	}
}

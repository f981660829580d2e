package rerank

import (
	"encoding/json"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// asAsked returns values that identify the query: the size of the arm, and for a
// difference what is subtracted.
type asAsked struct{ b *bench }

func (r asAsked) Estimate(arm, metric string) (eval.Measured, bool) {
	a := r.b.Arm(arm)
	return eval.Measured{Value: eval.Number(a.size) / 100, N: 60}, metric == hits(1) || metric == metricMRR || metric == hits(3) || strings.HasPrefix(metric, "hits_1_") ||
		metric == metricPromoted && a.injected()
}

func (r asAsked) Difference(a, b, metric string) (eval.Measured, bool) {
	x, y := r.b.Arm(a), r.b.Arm(b)
	ok := y.attack == nil && x.size == y.size && x.defended == y.defended && x.name == y.name && x.Settings == y.Settings && metric == hits(1)
	return eval.Measured{Value: -0.5}, ok
}

func (asAsked) Corrected(_, _ string, _ []eval.LabelledTwice) (eval.Measured, bool) {
	return eval.Measured{}, false
}

func (asAsked) EstimateIn(_, _ string, _ eval.Level) (eval.Measured, bool) {
	return eval.Measured{}, false
}

func (asAsked) SameRate(arms, _ []string) []float64 {
	p := slices.Repeat([]float64{math.NaN()}, len(arms))
	p[0] = 0.03125
	return p
}

func (asAsked) Cases() iter.Seq2[eval.Case, error] { return nil }

func (asAsked) Sum(string, string) (f eval.Fraction)           { return f }
func (asAsked) ByUnit(string, string) map[string]eval.Fraction { return nil }

func (asAsked) Effort(string) (float64, string) { return 2, "calls a trial" }

// TestFigures: each figure has the arms and sizes that its title names.
func TestFigures(t *testing.T) {
	b, err := starter(t, `candidates: {sizes: [10, 20], k: 3}
models: [{id: m, provider: openai, name: x}]
arms: [{name: oracle}, {name: bm25}, {name: cot}]
attacks: {names: [typo_20, inject_hidden], defence: both}
`)
	if err != nil {
		t.Fatal(err)
	}
	figures := map[string]eval.Figure{}
	for _, f := range b.figures(asAsked{b}) {
		figures[f.Name] = f
	}
	points := func(name string) map[string][]float64 {
		xs := map[string][]float64{}
		for _, s := range figures[name].Series {
			for _, p := range s.Points {
				xs[s.Name] = append(xs[s.Name], float64(p.X), float64(p.Value))
			}
		}
		return xs
	}
	all := []string{"oracle", "bm25", "cot@m", "cot@m, defended"}
	for name, want := range map[string][]float64{
		"scaling_hits_1": {10, 0.1, 20, 0.2},
		"scaling_mrr":    {10, 0.1, 20, 0.2},
		"hits":           {1, 0.2, 3, 0.2},         // at the largest N, as far as K
		"position":       {0, 0.1, 1, 0.1, 2, 0.1}, // at the smallest
		"pareto":         {2, 0.2},
	} {
		got := points(name)
		for _, series := range all {
			if name == "pareto" && series == "oracle" {
				if got[series] != nil {
					t.Error("who reads the answer is in the Pareto figure")
				}
				continue
			}
			if !slices.Equal(got[series], want) {
				t.Errorf("%s of %s: %v, want %v", name, series, got[series], want)
			}
		}
		if len(figures[name].Series) != len(all) {
			t.Errorf("%s has %d series: colours would differ between figures", name, len(figures[name].Series))
		}
	}
	if note := figures["position"].Note; !strings.Contains(note, "oracle/n10 p = 0.031") || strings.Contains(note, "NaN") {
		t.Errorf("the note on position is %q", note)
	}
	cost := figures["attacks"]
	if cost.Bad != -0.2 || cost.Good != -0.1 || cost.Words != [3]string{"broken", "between", "robust"} || !cost.Differences {
		t.Errorf("limits %v and %v are called %v", cost.Bad, cost.Good, cost.Words)
	}
	if want := []string{"bm25/n10", "bm25/n20", "cot/n10", "cot/n10/defended", "cot/n20", "cot/n20/defended"}; !slices.Equal(cost.Rows, want) {
		t.Errorf("rows %v, want %v", cost.Rows, want)
	}
	for i, row := range cost.Cells {
		for j, c := range row {
			if c.Value != -0.5 {
				t.Errorf("%s under %s is not compared with itself on clean data", cost.Rows[i], cost.Columns[j])
			}
		}
	}
	if won := figures["attack_success"]; !slices.Equal(won.Columns, []string{"inject_hidden"}) || won.Differences || won.Cells[0][0].Value != 0.1 {
		t.Errorf("%+v", won)
	}
}

// TestAttackSuccess: an injection succeeds if and only if the candidate it
// promotes is ranked first.
func TestAttackSuccess(t *testing.T) {
	for _, c := range []struct {
		name    string
		ranking []int
		kind    eval.OutcomeKind
		promo   int
		want    float64 // -1: not counted
		others  []int   // with its name
	}{
		{"promoted first", []int{3, 1}, eval.OK, 3, 1, nil},
		{"another first", []int{2, 3}, eval.OK, 3, 0, nil},
		{"gold first", []int{1, 3}, eval.OK, 3, 0, nil},
		{"no prediction", nil, eval.Malformed, 3, 0, nil},
		{"nobody promoted", []int{3}, eval.OK, 0, -1, nil},
		{"one of its name first", []int{2}, eval.OK, 3, 1, []int{2}},
		{"gold before one of its name", []int{1, 2}, eval.OK, 3, 0, []int{2}},
	} {
		data, err := json.Marshal(record{Ranking: c.ranking, Candidates: []string{"a", "b", "c"}, Attack: "inject_hidden", Changed: 2, Promoted: c.promo, Namesakes: c.others})
		if err != nil {
			t.Fatal(err)
		}
		got := -1.0
		for _, s := range (&bench{hits: hitsAt(5)}).score(nil, eval.Outcome{Kind: c.kind, Data: data}, &request.Request{Gold: "a"}) {
			if s.Metric == metricPromoted {
				got = s.Num / s.Den
			}
		}
		if got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Hits are scored for every K up to the k of the study, for 1 to 5, and for 10. Those above 10 are
// metrics that a study may name.
func TestHitsAt(t *testing.T) {
	for k, want := range map[int][]int{1: {1, 2, 3, 4, 5, 10}, 5: {1, 2, 3, 4, 5, 10}, 7: {1, 2, 3, 4, 5, 6, 7, 10}, 10: {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 12: {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}} {
		if got := hitsAt(k); !slices.Equal(got, want) {
			t.Errorf("k = %d: %v, want %v", k, got, want)
		}
		more := (&bench{k: k}).moreHits()
		if want := max(0, k-10); len(more) != want || want > 0 && (more[want-1].Name != "hits_12" || !strings.Contains(more[want-1].Doc, "among the first 12 ")) {
			t.Errorf("k = %d offers %+v", k, more)
		}
	}
}

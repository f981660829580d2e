package procedure

import (
	"errors"
	"fmt"
	"math"

	"github.com/scruple-eval/scruple/stats"
)

func adjust() []Procedure {
	return []Procedure{{
		Name: "p_adjust", Title: "Correction for multiple comparisons",
		Summary: "What p-values of a family of tests come to when all of them were asked: Bonferroni, Holm, Hochberg (family-wise error), Benjamini-Hochberg and Benjamini-Yekutieli (false discovery rate).",
		Source:  "R stats::p.adjust",
		Columns: []Role{{Name: "p", Doc: "p-values, one test a row; undefined ones do not count", Missing: true}},
		Params:  []Param{{"alpha", "0.05", "level of rejection"}},
		Run:     runAdjust,
	}}
}

type adjustResult struct {
	P          []Number `json:"p"`
	Bonferroni []Number `json:"bonferroni"`
	Holm       []Number `json:"holm"`
	Hochberg   []Number `json:"hochberg"`
	BH         []Number `json:"bh"`
	BY         []Number `json:"by"`
	Reject     struct {
		Bonferroni []*bool `json:"bonferroni"`
		Holm       []*bool `json:"holm"`
		Hochberg   []*bool `json:"hochberg"`
		BH         []*bool `json:"bh"`
		BY         []*bool `json:"by"`
	} `json:"reject"`
}

func runAdjust(params, input Object) (any, error) {
	p, err := input.NumbersWithGaps("p")
	if err != nil {
		return nil, err
	}
	if len(p) == 0 {
		return nil, errors.New("input.p is empty: there is nothing to correct")
	}
	for i, x := range p {
		if x < 0 || x > 1 {
			return nil, fmt.Errorf("input.p[%d] is %v, a p-value lies between 0 and 1", i, x)
		}
	}
	alpha, err := params.Number("alpha", 0.05)
	if err != nil {
		return nil, err
	}
	if !(alpha > 0 && alpha < 1) {
		return nil, fmt.Errorf("params.alpha is %v, expected a level between 0 and 1", alpha)
	}
	r := adjustResult{P: Numbers(p)}
	for _, c := range []struct {
		correct  func([]float64) []float64
		adjusted *[]Number
		reject   *[]*bool
	}{
		{stats.Bonferroni, &r.Bonferroni, &r.Reject.Bonferroni},
		{stats.Holm, &r.Holm, &r.Reject.Holm},
		{stats.Hochberg, &r.Hochberg, &r.Reject.Hochberg},
		{stats.BH, &r.BH, &r.Reject.BH},
		{stats.BY, &r.BY, &r.Reject.BY},
	} {
		q := c.correct(p)
		*c.adjusted, *c.reject = Numbers(q), rejected(q, alpha)
	}
	return r, nil
}

// rejected holds corrected p-values against a level; an undefined one is
// neither rejected nor not.
func rejected(q []float64, alpha float64) []*bool {
	out := make([]*bool, len(q))
	for i, x := range q {
		if !math.IsNaN(x) {
			below := x <= alpha
			out[i] = &below
		}
	}
	return out
}

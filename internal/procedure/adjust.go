package procedure

import (
	"fmt"

	"github.com/scruple-eval/scruple/stats"
)

func adjust() []Procedure {
	return []Procedure{{
		Name: "p_adjust", Title: "Correction for multiple comparisons",
		Summary: "What p-values of a family of tests come to when all of them were asked: Bonferroni, Holm, Hochberg (family-wise error), Benjamini-Hochberg and Benjamini-Yekutieli (false discovery rate).",
		Source:  "R stats::p.adjust",
		Columns: []Role{{Name: "p", Doc: "p-values, one test a row"}},
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
		Bonferroni []bool `json:"bonferroni"`
		Holm       []bool `json:"holm"`
		Hochberg   []bool `json:"hochberg"`
		BH         []bool `json:"bh"`
		BY         []bool `json:"by"`
	} `json:"reject"`
}

func runAdjust(params, input Object) (any, error) {
	p, err := input.Numbers("p")
	if err != nil {
		return nil, err
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
	reject := func(q []float64) []bool {
		out := make([]bool, len(q))
		for i, x := range q {
			out[i] = x <= alpha
		}
		return out
	}
	bonferroni, holm, hochberg, bh, by := stats.Bonferroni(p), stats.Holm(p), stats.Hochberg(p), stats.BH(p), stats.BY(p)
	r := adjustResult{P: Numbers(p), Bonferroni: Numbers(bonferroni), Holm: Numbers(holm), Hochberg: Numbers(hochberg), BH: Numbers(bh), BY: Numbers(by)}
	r.Reject.Bonferroni, r.Reject.Holm, r.Reject.Hochberg, r.Reject.BH, r.Reject.BY = reject(bonferroni), reject(holm), reject(hochberg), reject(bh), reject(by)
	return r, nil
}

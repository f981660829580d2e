package procedure

import (
	"fmt"
	"math"

	"github.com/scruple-eval/scruple/stats"
)

func proportions() []Procedure {
	return []Procedure{{
		Name: "binomial_interval", Title: "Intervals of a proportion",
		Summary:     "Wilson, Clopper-Pearson (exact), Jeffreys and Agresti-Coull intervals of x of n.",
		Source:      "R prop.test, binom.test; Brown, Cai & DasGupta (2001)",
		Columns:     []Role{{Name: "pass", Doc: "outcomes", Kind: Binary}},
		Params:      []Param{{"conf", "0.95", "confidence level"}},
		Run:         runBinomial,
		FromColumns: binomialInput,
	}, {
		Name: "two_proportion_z", Title: "Two independent proportions",
		Summary:     "Whether two proportions of different items differ: pooled z, Cohen's h, Wald and Newcombe interval. Outcomes on the same items belong to mcnemar.",
		Source:      "R prop.test; Newcombe (1998)",
		Columns:     []Role{{Name: "pass", Doc: "outcomes", Kind: Binary}, {Name: "group", Doc: "which of two groups", Kind: Label}},
		Params:      []Param{{"pooled", "true", "z by the pooled standard error (false: by that of the Wald interval, without a p for continuity)"}},
		Run:         runTwoProportions,
		FromColumns: twoProportionInput,
	}}
}

func binomialInput(t Table, params Object) (Object, error) {
	c, _ := t.Column("pass")
	pass, err := c.Binaries()
	if err != nil {
		return Object{}, err
	}
	conf, err := params.Number("conf", 0.95)
	if err != nil {
		return Object{}, err
	}
	return NewObject("input", map[string]any{"x": passed(pass), "n": len(pass), "conf": conf}), nil
}

func passed(outcomes []bool) (n int) {
	for _, ok := range outcomes {
		if ok {
			n++
		}
	}
	return n
}

type binomialResult struct {
	X              int    `json:"x"`
	N              int    `json:"n"`
	Conf           Number `json:"conf"`
	Proportion     Number `json:"proportion"`
	Wilson         Limits `json:"wilson"`
	ClopperPearson Limits `json:"clopper_pearson"`
	Jeffreys       Limits `json:"jeffreys"`
	AgrestiCoull   Limits `json:"agresti_coull_unclipped"`
	undefined
}

func runBinomial(params, input Object) (any, error) {
	conf, err := params.Number("conf", 0.95)
	if err != nil {
		return nil, err
	}
	if !input.Has("cases") {
		return binomial(input, conf)
	}
	cases, err := input.Objects("cases")
	if err != nil {
		return nil, err
	}
	results := make([]binomialResult, len(cases))
	for i, c := range cases {
		if results[i], err = binomial(c, conf); err != nil {
			return nil, err
		}
	}
	return Ordered{{"cases", results}}, nil
}

func binomial(o Object, conf float64) (binomialResult, error) {
	if !o.Has("x") || !o.Has("n") {
		return binomialResult{}, fmt.Errorf("%s needs x and n", o.name)
	}
	x, err := o.Int("x", 0)
	if err != nil {
		return binomialResult{}, err
	}
	n, err := o.Int("n", 0)
	if err != nil {
		return binomialResult{}, err
	}
	if conf, err = o.Number("conf", conf); err != nil {
		return binomialResult{}, err
	}
	switch {
	case n < 0 || x < 0 || x > n:
		return binomialResult{}, fmt.Errorf("%s: %d of %d is no proportion", o.name, x, n)
	case !(conf > 0 && conf < 1):
		return binomialResult{}, fmt.Errorf("%s is %v, expected a level between 0 and 1", o.path("conf"), conf)
	}
	reason := ""
	if n == 0 {
		reason = "0 of 0 is no proportion"
	}
	return binomialResult{x, n, Number(conf), Number(float64(x) / float64(n)), Span(stats.Wilson(x, n, conf)), Span(stats.ClopperPearson(x, n, conf)),
		Span(stats.Jeffreys(x, n, conf)), Span(stats.AgrestiCoull(x, n, conf)), because(reason)}, nil
}

func twoProportionInput(t Table, _ Object) (Object, error) {
	c, _ := t.Column("pass")
	pass, err := c.Binaries()
	if err != nil {
		return Object{}, err
	}
	g, _ := t.Column("group")
	labels, err := g.Labels()
	if err != nil {
		return Object{}, err
	}
	groups := distinct(labels)
	if len(groups) != 2 {
		return Object{}, fmt.Errorf("column %q has %d groups, expected 2", g.Name, len(groups))
	}
	var x, n [2]float64
	for i, l := range labels {
		k := 0
		if l == groups[1] {
			k = 1
		}
		n[k]++
		if pass[i] {
			x[k]++
		}
	}
	return NewObject("input", map[string]any{"x": x[:], "n": n[:]}), nil
}

type twoProportionResult struct {
	P1          Number `json:"p1"`
	P2          Number `json:"p2"`
	Diff        Number `json:"diff"`
	CohenH      Number `json:"cohen_h"`
	Z           Number `json:"z"`
	P           Number `json:"p_two_sided"`
	PContinuity Number `json:"p_continuity"`
	Wald        Limits `json:"diff_ci95_wald"`
	Newcombe    Limits `json:"diff_ci95_newcombe"`
	undefined
}

func runTwoProportions(params, input Object) (any, error) {
	pooled, err := params.Flag("pooled", true)
	if err != nil {
		return nil, err
	}
	x, err := input.Ints("x")
	if err != nil {
		return nil, err
	}
	n, err := input.Ints("n")
	if err != nil {
		return nil, err
	}
	if len(x) != 2 || len(n) != 2 {
		return nil, fmt.Errorf("input.x and input.n have %d and %d entries, expected 2 each", len(x), len(n))
	}
	r, err := stats.CompareProportions(x[0], n[0], x[1], n[1], 0.95)
	if err != nil {
		return nil, err
	}
	if !pooled {
		r.Z, r.P, r.PContinuity = r.ZUnpooled, r.PUnpooled, math.NaN()
		if r.Undefined == "" && math.IsNaN(r.Z) {
			r.Undefined = "both proportions are 0 or 1: the unpooled standard error is 0"
		}
	}
	return twoProportionResult{Number(r.P1), Number(r.P2), Number(r.Diff), Number(r.CohenH), Number(r.Z), Number(r.P), Number(r.PContinuity),
		Span(r.Wald), Span(r.Newcombe), because(r.Undefined)}, nil
}

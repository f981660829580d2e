package procedure

import (
	"strings"
	"testing"
)

// TestPairedTablesAreCases: a CSV table gives what the same data give as a case.
func TestPairedTablesAreCases(t *testing.T) {
	const scores = "id,a,b,diff,p\n1,0.875,0.625,0.25,0.01\n2,0.5,0.625,-0.125,0.2\n3,0.625,0.625,0,0.03\n4,0.75,0.25,0.5,0.5\n5,0.75,0.5,0.25,0.04\n"
	const ab = `{"a": [0.875, 0.5, 0.625, 0.75, 0.75], "b": [0.625, 0.625, 0.625, 0.25, 0.5]}`
	for _, c := range []struct{ method, cols, params, input string }{
		{"paired_t_test", "a,b", `{}`, ab},
		{"paired_t_test", "b=b,a=a", `{}`, ab},
		{"wilcoxon_signed_rank", "a,b", `{"alternative": "greater"}`, ab},
		{"sign_flip_exact", "diff", `{}`, `{"diff": [0.25, -0.125, 0, 0.5, 0.25]}`},
		{"sign_flip_exact", "diff", `{}`, ab},
		{"sign_flip_montecarlo", "diff", `{"resamples": 500, "seed": 3}`, `{"diff": [0.25, -0.125, 0, 0.5, 0.25]}`},
		{"tost", "a,b", `{"margin": 0.6}`, ab},
		{"p_adjust", "p", `{"alpha": 0.1}`, `{"p": [0.01, 0.2, 0.03, 0.5, 0.04]}`},
	} {
		t.Run(c.method, func(t *testing.T) {
			p, err := Find(c.method)
			if err != nil {
				t.Fatal(err)
			}
			of, err := ReadCase(strings.NewReader(`{"method": "` + c.method + `", "params": ` + c.params + `, "input": ` + c.input + `}`))
			if err != nil {
				t.Fatal(err)
			}
			table, err := tableInput(strings.NewReader(scores), "t.csv", p.Columns, strings.Split(c.cols, ","))
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Run(of.Params, table)
			if err != nil {
				t.Fatal(err)
			}
			if want := answer(t, of); inJSON(t, got) != want {
				t.Errorf("the table gives %s\nthe case %s", got, want)
			}
		})
	}
}

// TestPairedOptions change the answer, and what they leave undefined says why.
func TestPairedOptions(t *testing.T) {
	for _, c := range []struct{ name, text, holds string }{
		// Five positive differences: 1/2⁵ on one side, twice that on two.
		{"two-sided", `{"method": "wilcoxon_signed_rank", "input": {"a": [1, 2, 3, 4, 5], "b": [0, 0, 0, 0, 0]}}`, `"p_exact":0.0625,`},
		{"as R writes it", `{"method": "wilcoxon_signed_rank", "params": {"alternative": "two.sided"}, "input": {"a": [1, 2, 3, 4, 5], "b": [0, 0, 0, 0, 0]}}`, `"p_exact":0.0625,`},
		{"greater", `{"method": "wilcoxon_signed_rank", "params": {"alternative": "greater"}, "input": {"a": [1, 2, 3, 4, 5], "b": [0, 0, 0, 0, 0]}}`, `"p_exact":0.03125,`},
		{"less", `{"method": "wilcoxon_signed_rank", "params": {"alternative": "less"}, "input": {"a": [1, 2, 3, 4, 5], "b": [0, 0, 0, 0, 0]}}`, `"p_exact":1,`},
		// One difference: its exact interval would cover with probability 1 − 2/2 = 0.
		{"interval of one", `{"method": "wilcoxon_signed_rank", "input": {"a": [1], "b": [0]}}`, `"hodges_lehmann_ci95_exact":null`},
		{"interval of one", `{"method": "wilcoxon_signed_rank", "input": {"a": [1], "b": [0]}}`, `"warnings":["no interval: the test rejects no shift of 1 differences at this level"]`},
		{"interval that cannot be", `{"method": "wilcoxon_signed_rank", "input": {"a": [1, 2, 3, 4], "b": [0, 0, 0, 0]}}`, `a coverage of at most 0.875`},
		{"zeros", `{"method": "wilcoxon_signed_rank", "input": {"a": [1, 2, 3, 4, 5, 6, 0], "b": [0, 0, 0, 0, 0, 0, 0]}}`, `"1 of 7 differences are 0: the test, the Hodges-Lehmann estimate and its interval are about the others"`},
		{"ties have an interval", `{"method": "wilcoxon_signed_rank", "input": {"a": [1, 2, 3, 4, 5, 6, 6, 7], "b": [0, 0, 0, 0, 0, 0, 0, 0]}}`, `"hodges_lehmann_ci95_exact":null,"hodges_lehmann_ci95_normal":[2`},
		{"the same differences", `{"method": "tost", "params": {"margin": 1}, "input": {"a": [0.3, 0.4, 0.8], "b": [0.1, 0.2, 0.6]}}`, `"undefined":true,"undefined_reason":"all differences are the same"`},
		// P(T₁₀ > (0.1 + 0.5)/0.2) = 0.0066718.
		{"non-inferior", `{"method": "tost", "params": {"low": -0.5}, "input": {"estimate": 0.1, "se": 0.2, "df": 10}}`, `"high":"Infinity","p_above_lower_limit":0.006671`},
		{"not tested", `{"method": "tost", "params": {"low": -0.5}, "input": {"estimate": 0.1, "se": 0.2, "df": 10}}`, `"p_below_upper_limit":null,"p":0.006671`},
		{"limits apart", `{"method": "tost", "params": {"margin": 1, "high": 0.3}, "input": {"estimate": 0.1, "se": 0.2, "df": 10}}`, `"low":-1,"high":0.3,`},
		{"a p-value missing", `{"method": "p_adjust", "input": {"p": [0.03, null, 0.04]}}`, `"bonferroni":[0.06,null,0.08],"holm":[0.06,null,0.06]`},
		{"not rejected either", `{"method": "p_adjust", "input": {"p": [0.01, null, 0.04]}}`, `"reject":{"bonferroni":[true,null,false]`},
		{"nothing relevant", `{"method": "ir_metrics", "params": {"ks": [1, 2]}, "input": {"queries": [{"ranking": ["a"], "relevance": {"a": 1}}, {"ranking": ["a"], "relevance": {"a": 0}}]}}`, `"warnings":["queries without a relevant document, whose nDCG counts as 0 in the mean: 1 of 2",`},
		{"one power", `{"method": "power_paired_t", "input": {"solve": "power", "n": 20, "dz": 0.5}}`, `"value":0.5645044`},
		{"binomial quantile", `{"method": "distribution_tails", "input": {"quantiles": [{"dist": "binomial", "params": [1000, 0.25], "p": 0.975}]}}`, `"quantile":277`},
		{"what items detect", `{"method": "power_mcnemar", "input": {"p10": 0.15, "p01": 0.05, "n": 155}}`, `"smallest_detectable_difference":0.09`},
		{"too few to detect", `{"method": "power_mcnemar", "input": {"p10": 0.15, "p01": 0.05, "n": 20}}`, `"smallest_detectable_difference":null`},
		{"items without n", `{"method": "power_mcnemar", "input": {"p10": 0.15, "p01": 0.05}}`, `"n_required_ceiling":155}`},
		{"more items than are enumerated", `{"method": "power_mcnemar", "input": {"p10": 0.15, "p01": 0.05, "n": 20001}}`, `"n_required_ceiling":155,"power_at_n":1,"power_at_n_exact_test":null,`},
		{"more items than are enumerated", `{"method": "power_mcnemar", "input": {"p10": 0.15, "p01": 0.05, "n": 20001}}`, `"warnings":["no power_at_n_exact_test: exact power is enumerated for 1 to 20000 items, got 20001"]`},
		{"no difference", `{"method": "power_clustered", "input": {"clusters": 30, "size": 5, "sd": 1, "icc": 0.25, "difference": 0}}`, `"clusters_required":null,"warnings":["no clusters_required: no number of pairs can detect an effect of 0"]`},
		{"equal differences", `{"method": "wilcoxon_signed_rank", "input": {"a": [1, 1, 1, 1, 1, 1], "b": [0, 0, 0, 0, 0, 0]}}`, `"warnings":["most differences are equal: there is no exact interval, and that of the normal approximation has no width"]`},
		{"clusters", `{"method": "power_clustered", "input": {"clusters": 30, "size": 5, "sd": 1, "icc": 0.25, "difference": 0.3}}`, `"design_effect":2,`},
		{"notes on conventions", `{"method": "p_adjust", "params": {"source": "R p.adjust"}, "input": {"p": [0.5]}}`, `"holm":[0.5]`},
		{"documents as numbers", `{"method": "ir_metrics", "params": {"ks": [2]}, "input": {"queries": [{"ranking": [7, 12.0, 3], "gold": 12, "relevance": {"12": 1}}]}}`, `"rank":[2],"mrr":0.5,"hits@2":1`},
	} {
		of, err := ReadCase(strings.NewReader(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := answer(t, of); !strings.Contains(got, c.holds) {
			t.Errorf("%s: %s does not hold %s", c.name, got, c.holds)
		}
	}
}

// TestPairedRefusals name what is wrong and where.
func TestPairedRefusals(t *testing.T) {
	for _, c := range []struct{ text, reason string }{
		{`{"method": "paired_t_test", "input": {"a": [1, 2]}}`, "input.b is missing"},
		{`{"method": "paired_t_test", "input": {"a": [1, 2], "b": [1, 2], "c": [1]}}`, "input.c is unknown; expected a, b"},
		{`{"method": "paired_t_test", "input": {"a": [1, 2], "b": "x"}}`, `input.b is "x", expected a list`},
		{`{"method": "power_paired_t", "input": {"cases": [{"n": 20}, {"effect": 0.5}]}}`, "input.cases[1].effect is unknown"},
		{`{"method": "power_paired_t", "input": {"cases": [{"n": 20, "dz": "large"}]}}`, `input.cases[0].dz is "large", expected a number`},
		{`{"method": "mcnemar", "input": {"table": [[1, 2], null]}}`, "input.table[1] is null, expected a list"},
		{`{"method": "p_adjust", "params": {"alhpa": 0.01}, "input": {"p": [0.1]}}`, `unknown params.alhpa; did you mean "alpha"?`},
		{`{"method": "cohen_kappa", "params": {"labels": "low,high"}, "input": {"rater_a": ["low"], "rater_b": ["high"]}}`, `params.labels is "low,high", expected a list in JSON: ["x", "y"]`},
		{`{"method": "p_adjust", "params": "none", "input": {"p": [0.1]}}`, `params is "none", expected an object`},
		{`{"method": "paired_t_test", "input": {"a": [1, 2], "b": [1]}}`, "equal lengths, got 2 and 1"},
		{`{"method": "paired_t_test", "input": {"a": [1, "x"], "b": [1, 2]}}`, `input.a[1] is "x", expected a number`},
		{`{"method": "wilcoxon_signed_rank", "params": {"alternative": "both"}, "input": {"a": [1], "b": [2]}}`, `params.alternative is "both"`},
		{`{"method": "sign_flip_exact", "input": {"diff": [1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5]}}`, "41 differences have 2^41 patterns"},
		{`{"method": "sign_flip_montecarlo", "params": {"resamples": 0}, "input": {"diff": [1, 2]}}`, "params.resamples is 0"},
		{`{"method": "tost", "input": {"a": [1, 2], "b": [1, 1]}}`, "params.margin is missing"},
		{`{"method": "tost", "params": {"margin": -1}, "input": {"a": [1, 2], "b": [1, 1]}}`, "equivalence limits"},
		{`{"method": "tost", "params": {"margin": 1}, "input": {"estimate": 1, "se": 2}}`, "needs se and df"},
		{`{"method": "tost", "params": {"margin": 1}, "input": {"estimate": 1, "se": -1, "df": 3}}`, "se is -1, expected 0 or more"},
		{`{"method": "tost", "params": {"margin": 1}, "input": {"estimate": 1, "se": 1, "df": 0}}`, "df is 0, expected more than 0"},
		{`{"method": "p_adjust", "input": {"p": [0.1, 1.1]}}`, "row 2 has the p-value 1.1"},
		{`{"method": "p_adjust", "input": {"p": []}}`, "input.p is empty"},
		{`{"method": "p_adjust", "params": {"alpha": 5}, "input": {"p": [0.1]}}`, "params.alpha is 5"},
		{`{"method": "power_paired_t", "input": {"cases": [{"solve": "n", "dz": 0, "power": 0.8}]}}`, "input.cases[0]: stats: no number of pairs"},
		{`{"method": "power_paired_t", "input": {"solve": "power", "n": 20}}`, `expected two of n, dz and power and not what to solve for, got ["n"]`},
		{`{"method": "power_mcnemar", "input": {"p10": 0.1, "p01": 0.1}}`, "no number of items"},
		{`{"method": "power_mcnemar", "input": {"p10": 0.15, "p01": 0.05, "n": 0}}`, "number of items must be above 0"},
		{`{"method": "distribution_tails", "input": {}}`, "needs cases"},
		{`{"method": "distribution_tails", "input": {"cases": [{"dist": "normal", "params": [0, 1]}]}}`, "input.cases[0]: x is missing"},
		{`{"method": "distribution_tails", "input": {"cases": [{"dist": "cauchy", "params": [0, 1], "x": 1}]}}`, `unknown distribution "cauchy"`},
		{`{"method": "distribution_tails", "input": {"cases": [{"dist": "f", "params": [1], "x": 1}]}}`, "f takes 2 parameters, got 1"},
		{`{"method": "ir_metrics", "input": {"queries": []}}`, "input.queries is empty"},
		{`{"method": "ir_metrics", "params": {"ks": [0]}, "input": {"queries": [{"ranking": ["a"], "gold": "a", "relevance": {"a": 1}}]}}`, "want a cut-off of at least 1"},
		{`{"method": "ir_metrics", "input": {"queries": [{"ranking": ["a"], "relevance": {"a": 1}}, {"ranking": ["a"], "relevance": {"a": 1024, "b": 2}}]}}`, "input.queries[1] has a relevance of 1024: the gain 2^relevance"},
		{`{"method": "ir_metrics", "input": {"queries": [{"ranking": ["a", "a"], "gold": "a", "relevance": {"a": 1}}]}}`, `"a" is ranked twice`},
	} {
		of, err := ReadCase(strings.NewReader(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if result, err := of.Run(); err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %v, %v; want %q", c.text, result, err, c.reason)
		}
	}
}

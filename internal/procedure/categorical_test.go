package procedure

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestTablesAreCases: a CSV table gives what the same data give as a case.
func TestTablesAreCases(t *testing.T) {
	const outcomes = "id,a,b,c,group,score,conf\n1,1,0,1,x,3.5,0.9\n2,1,1,1,y,2.5,0.8\n3,0,1,0,x,1,0.2\n4,1,0,0,y,4,0.7\n5,0,0,1,x,2.5,0.4\n6,1,1,1,y,0.5,0.9\n"
	const labels = "first,second,third\nlow,low,low\nhigh,mid,high\nmid,mid,low\nhigh,high,high\nlow,mid,low\n"
	for _, c := range []struct{ name, method, table, cols, params, input string }{
		{"one column of outcomes", "binomial_interval", outcomes, "a", `{"conf": 0.9}`, `{"x": 4, "n": 6}`},
		{"outcomes by group", "two_proportion_z", outcomes, "a,group", `{}`, `{"x": [1, 3], "n": [3, 3], "groups": ["x", "y"]}`},
		{"roles by name", "two_proportion_z", outcomes, "group=group,pass=a", `{"pooled": false}`, `{"x": [1, 3], "n": [3, 3], "groups": ["x", "y"]}`},
		{"two arms", "mcnemar", outcomes, "a,b", `{}`, `{"table": [[2, 2], [1, 1]]}`},
		{"three arms", "cochran_q", outcomes, "a,b,c", `{}`, `{"pass": [[1, 0, 1], [1, 1, 1], [0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 1]], "arms": ["a", "b", "c"]}`},
		{"cross-tabulated", "chi2_independence", outcomes, "group,a", `{}`, `{"table": [[2, 1], [0, 3]], "rows": ["x", "y"], "columns": ["0", "1"]}`},
		{"cross-tabulated exactly", "fisher_exact", outcomes, "group,a", `{}`, `{"table": [[2, 1], [0, 3]], "rows": ["x", "y"], "columns": ["0", "1"]}`},
		{"two raters", "cohen_kappa", labels, "first,second", `{"labels": ["low", "mid", "high"]}`,
			`{"rater_a": ["low", "high", "mid", "high", "low"], "rater_b": ["low", "mid", "mid", "high", "mid"]}`},
		{"a column a rater", "fleiss_kappa", labels, "first,second,third", `{}`, `{"counts": [[0, 3, 0], [2, 0, 1], [0, 1, 2], [3, 0, 0], [0, 2, 1]], "columns": ["high", "low", "mid"]}`},
		{"a column a category", "fleiss_kappa", "u,v,w\n0,3,0\n2,0,1\n", "u,v,w", `{"columns": "categories"}`, `{"counts": [[0, 3, 0], [2, 0, 1]], "columns": ["u", "v", "w"]}`},
		{"the other group first", "two_proportion_z", outcomes, "a,group", `{"first": "y"}`, `{"x": [1, 3], "n": [3, 3], "groups": ["x", "y"]}`},
		{"ratings with gaps, AC1", "gwet_ac1", "r1,r2,r3\n1,1.0,\n2,NA,3\n3,3,3\n,,1\n", "r1,r2,r3", `{}`, `{"ratings": [[1, 2, 3, null], [1, null, 3.0, null], [null, 3, 3, 1]]}`},
		{"ratings with gaps", "krippendorff_alpha", "r1,r2,r3\n1,1,\n2,NA,3\n3,3,3\n,,1\n", "r1,r2,r3", `{"level": "ordinal"}`,
			`{"ratings": [[1, 2, 3, null], [1, null, 3, null], [null, 3, 3, 1]]}`},
		{"labels with gaps", "krippendorff_alpha", "r1,r2\nyes,yes\nno,\nno,yes\nno,no\n", "r1,r2", `{}`,
			`{"ratings": [["yes", "no", "no", "no"], ["yes", null, "yes", "no"]]}`},
		{"score and kind", "auroc", outcomes, "score,b", `{}`, `{"score": [3.5, 2.5, 1, 4, 2.5, 0.5], "positive": [0, 1, 1, 0, 0, 1]}`},
		{"confidence and outcome", "calibration", outcomes, "conf,a", `{"bins": 2, "equal_counts": true}`,
			`{"confidence": [0.9, 0.8, 0.2, 0.7, 0.4, 0.9], "outcome": [true, true, false, true, false, true]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Find(c.method)
			if err != nil {
				t.Fatal(err)
			}
			of, err := ReadCase(strings.NewReader(`{"method": "` + c.method + `", "params": ` + c.params + `, "input": ` + c.input + `}`))
			if err != nil {
				t.Fatal(err)
			}
			table, err := tableInput(strings.NewReader(c.table), "t.csv", p.Columns, strings.Split(c.cols, ","))
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

func answer(t *testing.T, c Case) string {
	t.Helper()
	result, err := c.Run()
	if err != nil {
		t.Fatal(err)
	}
	return inJSON(t, result)
}

// inJSON is a result as JSON.
func inJSON(t *testing.T, r Result) string {
	t.Helper()
	b, err := r.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestOptionsChangeTheAnswer, and what they leave undefined says why.
func TestOptionsChangeTheAnswer(t *testing.T) {
	for _, c := range []struct{ name, text, holds string }{
		// 0.35/√(0.6·0.4/25 + 0.25·0.75/20) = 2.5408.
		{"unpooled z", `{"method": "two_proportion_z", "params": {"pooled": false}, "input": {"x": [15, 5], "n": [25, 20]}}`, `"z":2.5408`},
		{"unpooled z of all and none", `{"method": "two_proportion_z", "params": {"pooled": false}, "input": {"x": [5, 0], "n": [5, 5]}}`, `"undefined":true,"undefined_reason":"both proportions`},
		{"nothing of nothing", `{"method": "binomial_interval", "input": {"x": 0, "n": 0}}`, `"undefined":true,"undefined_reason":"0 of 0`},
		{"too many tables", `{"method": "chi2_independence", "input": {"table": [[1e12, 1e12, 3], [1e12, 1e12, 5]]}}`, `no exact test for 1 of 1 pairs`},
		// χ² is 10 without, 6.4 with the correction; V is 1 either way.
		{"Yates' correction", `{"method": "chi2_independence", "params": {"continuity": true}, "input": {"table": [[5, 0], [0, 5]]}}`, `"chi2":6.4,`},
		{"V has none", `{"method": "chi2_independence", "params": {"continuity": true}, "input": {"table": [[5, 0], [0, 5]]}}`, `"cramers_v":1,`},
		// 2·(P(X ≤ n/2) − P(X = n/2)/2) = 1 for even counts, as P(X < n/2) + P(X = n/2)/2 = 1/2.
		{"McNemar of a billion", `{"method": "mcnemar", "input": {"table": [[5, 5e8], [5e8, 5]]}}`, `"p_exact":1,"p_mid":0.9999999999`},
		// Wilson's 0.49996901024844 less half a success, 1/(2n).
		{"half of a billion", `{"method": "binomial_interval", "input": {"x": 5e8, "n": 1e9}}`, `"clopper_pearson":[0.49996900974`},
		{"kappa of full agreement", `{"method": "cohen_kappa", "input": {"rater_a": ["x", "y", "x"], "rater_b": ["x", "y", "x"]}}`, `"kappa":1,"se":0,"ci95":[1,1]`},
		{"and its note", `{"method": "cohen_kappa", "input": {"rater_a": ["x", "y", "x"], "rater_b": ["x", "y", "x"]}}`, `"warnings":["the interval of kappa has no width`},
		{"kappa of one who always says x", `{"method": "cohen_kappa", "input": {"rater_a": ["x", "y", "x"], "rater_b": ["x", "x", "x"]}}`, `"kappa":0,"se":0,"ci95":[0,0]`},
		{"alpha of text", `{"method": "krippendorff_alpha", "input": {"ratings": [["x", "y"], ["x", "y"]]}}`, `"alpha":1`},
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

// TestSettingsAreKnown: the options of a table come from a command line, where
// one that is unknown is a mistake; every documented one is known.
func TestSettingsAreKnown(t *testing.T) {
	for _, p := range All() {
		if len(p.Columns) == 0 {
			continue
		}
		for _, param := range p.Params {
			_, err := p.Run(jsontext.Value(`{"`+param.Name+`": null, "qqqqqqqq": 1}`), nil)
			if err == nil || !strings.Contains(err.Error(), "unknown params.qqqqqqqq; expected ") || !strings.Contains(err.Error(), param.Name) {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
	}
}

// TestRefusedTables name what is wrong where it stands.
func TestRefusedTables(t *testing.T) {
	for _, c := range []struct{ method, table, cols, reason string }{
		{"two_proportion_z", "a,g\n1,x\n0,y\n1,z\n", "a,g", `input.group has 3 groups, expected 2: ["x" "y" "z"]`},
		{"mcnemar", "a,b\n1,0\n2,1\n", "a,b", `t.csv:3:1: column "a" is "2", expected 0 or 1`},
		{"cohen_kappa", "a,b\nx,y\n,y\n", "a,b", `t.csv:3:1: column "a" is "", expected a label`},
		{"krippendorff_alpha", "a,b\nx,y\n", "a,b", ""},
		{"fleiss_kappa", "a,b\n1,2\n3,1\n", "a,b", ""},
		{"fleiss_kappa", "a,b\n1,2\n3,\n", "a,b", "row 2 lacks rating 2: Fleiss' kappa needs all of them; krippendorff_alpha and gwet_ac1 do not"},
	} {
		p, err := Find(c.method)
		if err != nil {
			t.Fatal(err)
		}
		table, err := tableInput(strings.NewReader(c.table), "t.csv", p.Columns, strings.Split(c.cols, ","))
		if err == nil {
			_, err = p.Run(nil, table)
		}
		if (err != nil) != (c.reason != "") || err != nil && !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %v, want %q", c.method, err, c.reason)
		}
	}
}

package procedure

import (
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/stats"
)

// TestWeightsNeedAnOrder: sorted text is no order of grades.
func TestWeightsNeedAnOrder(t *testing.T) {
	const text = `"input": {"rater_a": ["low", "medium", "high", "low", "high"], "rater_b": ["low", "high", "high", "medium", "high"]}}`
	for _, c := range []struct{ name, text, holds, not string }{
		{"text without labels", `{"method": "cohen_kappa", ` + text, `"linear":null,"quadratic":null,`, `"weights"`},
		{"what to give", `{"method": "cohen_kappa", ` + text, `give it as labels`, ``},
		// Distances |i−j|/2: two halves in 5 observed, 12 in 25 expected from margins
		// of 2, 1, 2 and 1, 1, 3. 1 − 0.2/0.48.
		{"labels in order", `{"method": "cohen_kappa", "params": {"labels": ["low", "medium", "high"]}, ` + text, `"linear":{"kappa":0.58333333`, `"warnings"`},
		{"numbers", `{"method": "cohen_kappa", "input": {"rater_a": [1, 10, 2, 1], "rater_b": [2, 10, 2, 1]}}`, `"labels":["1","2","10"]`, `"linear":null`},
		{"numbers go by rank", `{"method": "cohen_kappa", "input": {"rater_a": [1, 10, 2, 1], "rater_b": [2, 10, 2, 1]}}`, `weights go by the rank of a label`, ``},
		{"even numbers", `{"method": "cohen_kappa", "input": {"rater_a": [1, 3, 2, 1], "rater_b": [2, 3, 2, 1]}}`, `"weights":"by rank in labels"`, `"warnings"`},
		{"two labels", `{"method": "cohen_kappa", "input": {"rater_a": ["no", "yes", "no"], "rater_b": ["no", "yes", "yes"]}}`, `"linear":{"kappa":0.4`, `"warnings"`},
	} {
		of, err := ReadCase(strings.NewReader(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := answer(t, of); !strings.Contains(got, c.holds) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s: %s does not hold %s, or holds %s", c.name, got, c.holds, c.not)
		}
	}
}

// TestOptionsThatAreMeant: a mistyped option is refused wherever it stands, notes
// of a case are not.
func TestOptionsThatAreMeant(t *testing.T) {
	for _, c := range []struct{ method, name, table, note string }{
		{"wilcoxon_signed_rank", "alternatve", `did you mean "alternative"?`, `did you mean "alternative"?`},
		{"wilcoxon_signed_rank", "Alternative", `did you mean "alternative"?`, `did you mean "alternative"?`},
		{"wilcoxon_signed_rank", "tail", `did you mean "alternative"?`, `did you mean "alternative"?`},
		{"wilcoxon_signed_rank", "confidence", `did you mean "conf"?`, `did you mean "conf"?`},
		{"wilcoxon_signed_rank", "Conf-Level", `did you mean "conf"?`, `did you mean "conf"?`},
		{"chi2_independence", "corection", `did you mean "continuity"?`, `did you mean "continuity"?`},
		{"krippendorff_alpha", "n_resample", `did you mean "resamples"?`, `did you mean "resamples"?`},
		{"wilcoxon_signed_rank", "margin", `unknown params.margin; expected conf, alternative`, ""},
		{"wilcoxon_signed_rank", "direction", "unknown params.direction; expected", ""},
		{"wilcoxon_signed_rank", "tie_rule", "unknown params.tie_rule; expected", ""},
	} {
		p := find(t, c.method)
		params := []byte(`{"` + c.name + `": "x"}`)
		if _, err := p.Run(params, nil); err == nil || !strings.Contains(err.Error(), c.table) {
			t.Errorf("%s: %v, want %q", c.name, err, c.table)
		}
		_, err := Case{Method: c.method, Params: params}.Run()
		if err == nil || (c.note != "") != strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%s as a note: %v, want %q", c.name, err, c.note)
		}
	}
}

// TestByProductsFail without the fit: each is null, with a warning that names it.
func TestByProductsFail(t *testing.T) {
	frame := stats.NewFrame(8)
	for name, labels := range map[string]string{"kernel": "abababab", "document": "11223344"} {
		if err := frame.AddFactor(name, strings.Split(labels, ""), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := frame.AddNumbers("score", []float64{3, 1, 4, 1, 5, 9, 2, 6}); err != nil {
		t.Fatal(err)
	}
	formula, err := stats.ParseFormula("score ~ kernel + (1|document)")
	if err != nil {
		t.Fatal(err)
	}
	reml, err := stats.FitMixed(frame, formula, stats.MixedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ml, err := stats.FitMixed(frame, formula, stats.MixedOptions{ML: true})
	if err != nil {
		t.Fatal(err)
	}
	// The models without terms that they do not have cannot be fitted.
	reml.Formula.Random = []string{"document", "nowhere"}
	reml.Formula.Fixed = []string{"elsewhere"}
	var warnings without
	b := inJSON(t, settled(append(Result{}, append(ratios(reml, ml, &warnings), Row{warningsKey, []string(warnings)})...)).(Result))
	for _, holds := range []string{`"lrt_ml":null`, `{"term":"nowhere","log_lik_without":null,"chi2":null,"df":null,"p_naive_chi2":null}`,
		`{"term":"document","log_lik_without":-`, `no lrt_ml (without elsewhere): `, `no random_lrt_reml (without (1|nowhere)): `} {
		if !strings.Contains(b, holds) {
			t.Errorf("%s does not hold %s", b, holds)
		}
	}
	_, err = find(t, "lmm_random_intercepts").Run([]byte(`{"formula": "score ~ kernel + (1|document)", "emmeans_factor": "nowhere"}`),
		[]byte(`{"score": [3, 1, 4, 1, 5, 9], "kernel": ["a", "b", "a", "b", "a", "b"], "document": [1, 1, 2, 2, 3, 3]}`))
	if err == nil || !strings.Contains(err.Error(), `params.emmeans_factor is "nowhere"`) {
		t.Errorf("got %v", err)
	}
}

// TestBootstrapMembers: seeded, with n, and without where it is asked for.
func TestBootstrapMembers(t *testing.T) {
	for _, c := range []struct{ text, holds, not string }{
		{`{"method": "krippendorff_alpha", "params": {"resamples": 0}, "input": {"ratings": [[1, 2, 2], [1, 2, 1]]}}`, `"alpha":`, "bootstrap"},
		{`{"method": "krippendorff_alpha", "params": {"seed": 5}, "input": {"ratings": [[1, 2, 2], [1, 2, 1]]}}`, `"bootstrap":{"of":"alpha","n":3,"method":"BCa","resamples":2000,"seed":5,`, ""},
		{`{"method": "krippendorff_alpha", "input": {"ratings": [[1, 2, 2], [1, 2, 1]]}}`, `only 3 units: below 20`, ""},
		{`{"method": "fleiss_kappa", "input": {"counts": [[2, 0], [0, 2]]}}`, `"ci95":null`, ""},
		{`{"method": "calibration", "input": {"confidence": [0.9, 0.8], "outcome": [1, 0]}}`, `"method":"percentile"`, ""},
		{`{"method": "krippendorff_alpha", "params": {"resamples": 10000000}, "input": {"ratings": [[` + strings.Repeat("1, 2, ", 300) + `1], [` + strings.Repeat("1, 2, ", 300) + `2]]}}`, `no bootstrap interval of alpha: 10000000 resamples of 601 units take too long: draw at most `, ""},
	} {
		of, err := ReadCase(strings.NewReader(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := answer(t, of); !strings.Contains(got, c.holds) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s: %s does not hold %s, or holds %s", c.text, got, c.holds, c.not)
		}
	}
}

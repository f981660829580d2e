package stats_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/scruple-eval/scruple/stats"
)

// Real judgements with what R made of them; testdata/llmbar/SOURCE.md.
type llmbar struct {
	Gold         []string
	Raters       map[string][]string
	Swapped      map[string][]string `json:"raters_swapped"`
	Recipes      []map[string]any
	PairedScores struct{ A, B []float64 } `json:"paired_scores"`
}

type kappaR struct {
	Rater                        string
	N                            int
	Table                        [][]int
	Kappa, ASE, PercentAgreement float64
	Percent                      float64 `json:"percent_agreement"`
}

type expected struct {
	Accuracy map[string]struct {
		K, N   int
		Wilson [2]float64 `json:"wilson95"`
		Exact  [2]float64 `json:"clopper_pearson95"`
	}
	Gold2    map[string]kappaR `json:"cohen_kappa_gold_vs_rater"`
	Orders   []kappaR          `json:"cohen_kappa_order_vs_swapped"`
	McNemars []struct {
		A, B  string
		Table [2][2]int
		Chi2  float64
		P     float64
		CC    float64 `json:"chi2_cc"`
		PCC   float64 `json:"p_cc"`
		Exact float64 `json:"p_exact"`
		Odds  float64 `json:"odds_ratio_paired"`
	} `json:"mcnemar"`
	Chi2 struct {
		Rows             []string
		Table            [][]int
		Statistic, DF, P float64
		V                float64 `json:"cramers_v"`
	} `json:"chi2_independence"`
	TwoProportions []struct {
		A, B       string
		P, Z       float64
		H          float64    `json:"cohens_h"`
		CI         [2]float64 `json:"diff_ci95"`
		Bonferroni float64    `json:"p_bonferroni"`
		Holm       float64    `json:"p_holm"`
	} `json:"two_proportion_pairwise"`
	Paired struct {
		T, DF, Pearson float64
		PT             float64    `json:"p_t"`
		CI             [2]float64 `json:"ci95"`
		V              float64    `json:"wilcoxon_V"`
		PW             float64    `json:"p_wilcoxon_normal_cc"`
		DZ             float64    `json:"cohens_dz"`
	} `json:"paired_scores"`
	Fleiss map[string]struct {
		Raters int     `json:"first_r_raters"`
		Kappa  float64 `json:"fleiss_kappa"`
		PBar   float64 `json:"P_bar"`
		PE     float64 `json:"P_e"`
	} `json:"fleiss_recipes"`
	TextbookFleiss struct {
		Counts [][]int
		Kappa  float64
	} `json:"textbook_fleiss"`
	TextbookCohen struct {
		Table [][]int
		Kappa float64
	} `json:"textbook_cohen"`
}

func readLLMBar(t *testing.T) (in llmbar, want expected) {
	t.Helper()
	for file, into := range map[string]any{"inputs.json": &in, "expected_r.json": &want} {
		b, err := os.ReadFile("testdata/llmbar/" + file)
		if err == nil {
			err = json.Unmarshal(b, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return in, want
}

// same compares with a number printed to eleven digits.
func same(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*math.Abs(want)) {
		t.Errorf("%s = %.12g, R gives %.12g", what, got, want)
	}
}

func right(gold, rater []string) []bool {
	out := make([]bool, len(gold))
	for i := range gold {
		out[i] = gold[i] == rater[i]
	}
	return out
}

func TestLLMBarAccuracy(t *testing.T) {
	in, want := readLLMBar(t)
	for name, w := range want.Accuracy {
		k := 0
		for _, ok := range right(in.Gold, in.Raters[name]) {
			if ok {
				k++
			}
		}
		if k != w.K || len(in.Gold) != w.N {
			t.Errorf("%s: %d of %d, want %d of %d", name, k, len(in.Gold), w.K, w.N)
		}
		wilson, exact := stats.Wilson(k, w.N, 0.95), stats.ClopperPearson(k, w.N, 0.95)
		same(t, name+" Wilson", wilson.Low, w.Wilson[0])
		same(t, name+" Wilson", wilson.High, w.Wilson[1])
		same(t, name+" exact", exact.Low, w.Exact[0])
		same(t, name+" exact", exact.High, w.Exact[1])
	}
}

func TestLLMBarKappa(t *testing.T) {
	in, want := readLLMBar(t)
	check := func(name string, a, b []string, w kappaR) {
		var x, y []string // values other than 1 and 2 are dropped for kappa
		for i := range a {
			if (a[i] == "1" || a[i] == "2") && (b[i] == "1" || b[i] == "2") {
				x, y = append(x, a[i]), append(y, b[i])
			}
		}
		table, err := stats.KappaTable(x, y, []string{"1", "2"})
		if err != nil {
			t.Fatal(err)
		}
		k, err := stats.CohenKappa(table, stats.Unweighted, 0.95)
		if err != nil || k.N != w.N {
			t.Fatalf("%s: n %d, want %d, %v", name, k.N, w.N, err)
		}
		same(t, name+" κ", k.Kappa, w.Kappa)
		same(t, name+" standard error", k.SE, w.ASE)
		same(t, name+" agreement", k.Agreement, w.Percent)
	}
	for name, w := range want.Gold2 {
		check(name, in.Gold, in.Raters[name], w)
	}
	for _, w := range want.Orders {
		check(w.Rater+" swapped", in.Raters[w.Rater], in.Swapped[w.Rater], w)
	}
	textbook, err := stats.CohenKappa(want.TextbookCohen.Table, stats.Unweighted, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "textbook κ", textbook.Kappa, want.TextbookCohen.Kappa)
}

func TestLLMBarPairs(t *testing.T) {
	in, want := readLLMBar(t)
	for _, w := range want.McNemars {
		m, err := stats.McNemarOutcomes(right(in.Gold, in.Raters[w.A]), right(in.Gold, in.Raters[w.B]), 0.95)
		if err != nil {
			t.Fatal(err)
		}
		name := w.A + " and " + w.B
		if got := [2][2]int{{m.A, m.B}, {m.C, m.D}}; got != w.Table {
			t.Errorf("%s: %v, want %v", name, got, w.Table)
		}
		same(t, name+" χ²", m.Chi2, w.Chi2)
		same(t, name+" p", m.P, w.P)
		same(t, name+" χ² corrected", m.Chi2Continuity, w.CC)
		same(t, name+" p corrected", m.PContinuity, w.PCC)
		same(t, name+" exact", m.PExact, w.Exact)
		same(t, name+" odds ratio", m.OddsRatio, w.Odds)
	}
	x, err := stats.ChiSquared(want.Chi2.Table, stats.ChiSquaredOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "χ²", x.Chi2, want.Chi2.Statistic)
	same(t, "p", x.P, want.Chi2.P)
	same(t, "V", x.CramersV, want.Chi2.V)
	var ps []float64
	for _, w := range want.TwoProportions {
		a, b := want.Accuracy[w.A], want.Accuracy[w.B]
		p, err := stats.CompareProportions(a.K, a.N, b.K, b.N, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		same(t, w.A+" z", p.Z, w.Z)
		same(t, w.A+" p", p.P, w.P)
		same(t, w.A+" h", p.CohenH, w.H)
		same(t, w.A+" interval", p.Wald.Low, w.CI[0])
		ps = append(ps, p.P)
	}
	bonferroni, holm := stats.Bonferroni(ps), stats.Holm(ps)
	for i, w := range want.TwoProportions {
		same(t, w.A+" Bonferroni", bonferroni[i], w.Bonferroni)
		same(t, w.A+" Holm", holm[i], w.Holm)
	}
}

func TestLLMBarScores(t *testing.T) {
	in, want := readLLMBar(t)
	w := want.Paired
	p, err := stats.PairedT(in.PairedScores.B, in.PairedScores.A, 0.95) // R took b − a
	if err != nil {
		t.Fatal(err)
	}
	same(t, "t", p.T, w.T)
	same(t, "p", p.P, w.PT)
	same(t, "low", p.CI.Low, w.CI[0])
	same(t, "high", p.CI.High, w.CI[1])
	same(t, "d", p.DZ, w.DZ)
	r, err := stats.WilcoxonSignedRank(in.PairedScores.B, in.PairedScores.A, stats.TwoSided, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if r.WPlus != w.V && r.WMinus != w.V {
		t.Errorf("W+ = %v, W− = %v, R's V is %v", r.WPlus, r.WMinus, w.V)
	}
	same(t, "Wilcoxon p", r.PContinuity, w.PW)
	same(t, "Pearson", p.Correlation, w.Pearson)
}

func TestLLMBarFleiss(t *testing.T) {
	in, want := readLLMBar(t)
	for question, w := range want.Fleiss {
		var counts [][]int
		for _, recipe := range in.Recipes {
			row := make([]int, 6)
			for _, v := range recipe[question].([]any)[:w.Raters] {
				row[int(v.(float64))-1]++
			}
			counts = append(counts, row)
		}
		f, err := stats.FleissKappa(counts)
		if err != nil {
			t.Fatal(err)
		}
		same(t, question+" κ", f.Kappa, w.Kappa)
		same(t, question+" observed", f.PBar, w.PBar)
		same(t, question+" chance", f.PE, w.PE)
	}
	f, err := stats.FleissKappa(want.TextbookFleiss.Counts)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "textbook κ", f.Kappa, want.TextbookFleiss.Kappa)
}

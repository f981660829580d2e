package analyse_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/stats"
)

var passing = eval.Suite{Name: "panel", Metrics: []eval.Metric{
	{Name: "pass", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems, Binary: true},
	{Name: "loose", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems},
}}

// onPanel analyses outcomes by arm and item, NaN for a missing one, and gives the panel
// to a function.
func onPanel(t *testing.T, arms []string, outcomes [][]float64, clusters func(item int) string, f func(p eval.Panel)) {
	t.Helper()
	onPanelAt(t, 0.05, arms, outcomes, clusters, f)
}

// onPanelAt is onPanel at a level of significance.
func onPanelAt(t *testing.T, alpha float64, arms []string, outcomes [][]float64, clusters func(item int) string, f func(p eval.Panel)) {
	t.Helper()
	var items []eval.Item
	for i := range outcomes[0] {
		it := eval.Item{ID: fmt.Sprintf("i%03d", i), Input: 1, Gold: 1}
		if clusters != nil {
			it.Cluster = clusters(i)
		}
		items = append(items, it)
	}
	var list []eval.Arm
	for _, a := range arms {
		list = append(list, eval.Arm{ID: a, Hash: a, Levels: []eval.Level{{Name: "arm", Value: a}}})
	}
	c := analyse.NewCollector(&passing, items, list, asListed(items))
	for a := range arms {
		for i, x := range outcomes[a] {
			if !math.IsNaN(x) {
				c.Add(scored(items[i].ID, arms[a], eval.OK, score("", "pass", x, 1), score("", "loose", x, 1)))
			}
		}
	}
	called := false
	from := analyse.Sources{Report: func(r eval.Results) ([]eval.Block, error) {
		called = true
		f(r.(eval.Panel))
		return nil, nil
	}}
	q := analyse.Question{Study: analyse.Study{Name: "s", Alpha: alpha, Resamples: 2000}, Run: analyse.Run{Seed: 42, Items: len(items), Replicates: 1}, Primary: []string{"pass"}}
	if _, err := c.Analyse(q, from); err != nil || !called {
		t.Fatal(err, called)
	}
}

// oracle reads a reference case of the statistics; its source is in the README beside it.
func oracle(t *testing.T, name string, input, expected any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "stats", "testdata", "oracles", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &struct{ Input, Expected any }{input, expected}); err != nil {
		t.Fatal(err)
	}
}

// TestPanelPairs: McNemar's test as of R, the planned form by the number of discordant
// pairs.
func TestPanelPairs(t *testing.T) {
	var in struct {
		A []float64 `json:"a_pass"`
		B []float64 `json:"b_pass"`
	}
	var want struct {
		P      float64    `json:"p_chi2_continuity"`
		Exact  float64    `json:"p_exact"`
		Odds   float64    `json:"odds_ratio"`
		Wald   [2]float64 `json:"odds_ratio_ci95_wald_log"`
		Clear  [2]float64 `json:"odds_ratio_ci95_exact"`
		Diff   float64    `json:"diff_proportions"`
		Chi2   float64    `json:"chi2_continuity"`
		Number int        `json:"n_discordant"`
	}
	oracle(t, "mcnemar_prompts_150", &in, &want)
	onPanel(t, []string{"a", "b"}, [][]float64{in.A, in.B}, nil, func(p eval.Panel) {
		h, ok := p.Pairs(eval.ArmGroup{Name: "few", Arms: []string{"a"}}, eval.ArmGroup{Name: "zero", Arms: []string{"b"}}, "pass")
		if !ok || len(h.Planned) != 2 || len(h.Respecting) != 1 {
			t.Fatalf("%+v", h)
		}
		chi, exact := h.Planned[0], h.Planned[1] // 30 discordant pairs
		near(t, "p", chi.P, want.P)
		near(t, "exact p", exact.P, want.Exact)
		near(t, "odds ratio", chi.Size.Value, want.Odds)
		near(t, "low", chi.Size.Low, want.Wald[0])
		near(t, "high", chi.Size.High, want.Wald[1])
		if !(math.Abs(float64(exact.Size.Low)-want.Clear[0]) <= 1e-6) {
			t.Errorf("exact limit %v, want %v", exact.Size.Low, want.Clear[0])
		}
		if r := h.Respecting[0]; !(math.Abs(float64(r.Size.Value)-want.Diff) <= 1e-12) || !(float64(r.P) > 0.7) || !(r.Size.Low < 0 && r.Size.High > 0) || h.Disagree != "" {
			t.Errorf("%+v %s", r, h.Disagree)
		}
	})
	// 24 discordant pairs: the exact test is the planned one
	small := func(n int) []float64 {
		x := make([]float64, 30)
		for i := range n {
			x[i] = 1
		}
		return x
	}
	onPanel(t, []string{"a", "b"}, [][]float64{small(24), small(0)}, nil, func(p eval.Panel) {
		h, _ := p.Pairs(eval.ArmGroup{Arms: []string{"a"}}, eval.ArmGroup{Arms: []string{"b"}}, "pass")
		if !strings.HasPrefix(h.Planned[0].Name, "McNemar, exact") || h.Planned[0].P > 1e-6 {
			t.Errorf("%+v", h.Planned[0])
		}
		// No item is better in the other one: the ratio of the reverse has a number and an interval.
		reversed, _ := p.Pairs(eval.ArmGroup{Arms: []string{"b"}}, eval.ArmGroup{Arms: []string{"a"}}, "pass")
		if x, y := h.Planned[0], reversed.Planned[0]; x.Size != y.Size || !y.Size.High.Defined() || x.Effect != "odds ratio, reversed" || y.Effect != "odds ratio" {
			t.Errorf("%+v, and of the reverse %+v", x, y)
		}
	})
}

// TestPanelSeveral: Cochran's Q and chi-squared of six arms as of R.
func TestPanelSeveral(t *testing.T) {
	var in struct{ Pass [][]float64 }
	var want struct{ Q, P, DF float64 }
	oracle(t, "cochran_q_150x6", &in, &want)
	arms := strings.Fields("m1 m2 m3 m4 m5 m6")
	outcomes := make([][]float64, 6)
	table := make([][]int, 6)
	for a := range outcomes {
		table[a] = []int{0, 0}
		for _, row := range in.Pass {
			outcomes[a] = append(outcomes[a], row[a])
			table[a][1-int(row[a])]++
		}
	}
	groups := make([]eval.ArmGroup, 6)
	for a := range arms {
		groups[a] = eval.ArmGroup{Name: arms[a], Arms: []string{arms[a]}}
	}
	chi, err := stats.ChiSquared(table, stats.ChiSquaredOptions{})
	if err != nil {
		t.Fatal(err)
	}
	onPanel(t, arms, outcomes, nil, func(p eval.Panel) {
		h, ok := p.Several(groups, []string{"once"}, "pass")
		if !ok || len(h.Planned) != 16 || len(h.Respecting) != 2 {
			t.Fatalf("%d planned, %d respecting", len(h.Planned), len(h.Respecting))
		}
		near(t, "p of χ²", h.Planned[0].P, chi.P)
		// Corrected as p is: two Wilson intervals of 1 − α/15 (Newcombe).
		two, err := stats.CompareProportions(table[0][0], 150, table[1][0], 150, 1-0.05/15)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "a pair's lower limit", h.Planned[1].Size.Low, two.Newcombe.Low)
		near(t, "p of Q", h.Respecting[0].P, want.P)
		if s := h.Respecting[0].Statistic; s != "Q(5) = 37.44" {
			t.Errorf("Q is %s", s)
		}
		if lr := h.Respecting[1]; !(lr.P < 0.001) || !strings.Contains(lr.Name, "pass ~ group + (1|item)") {
			t.Errorf("%+v", lr)
		}
		r, ok := p.Rate(arms[:1], "pass")
		ci := stats.Wilson(97, 150, 0.95)
		if !ok || r.Hits != 97 || r.Outcomes != 150 || r.N != 150 {
			t.Errorf("%+v", r)
		}
		near(t, "Wilson's limit", r.Low, ci.Low)
		if _, ok := p.Rate(arms, "loose"); ok {
			t.Error("a metric that counts nothing has a rate")
		}
		if _, ok := p.Several(append(groups, eval.ArmGroup{Name: "x", Arms: []string{"nobody"}}), []string{"once"}, "pass"); ok {
			t.Error("an unknown arm was tested")
		}
	})
}

// TestPanelOddsInterval: the interval of the odds ratio of a mixed model has the level of
// the study, as the others. On the log scale its width is that of normal quantiles.
func TestPanelOddsInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	a, b := make([]float64, 200), make([]float64, 200)
	for i := range a {
		easy := r.Float64()
		if r.Float64() < easy {
			a[i] = 1
		}
		if r.Float64() < easy-0.2 {
			b[i] = 1
		}
	}
	width := map[float64]float64{}
	for _, alpha := range []float64{0.05, 0.01} {
		onPanelAt(t, alpha, []string{"a", "b"}, [][]float64{a, b}, nil, func(p eval.Panel) {
			h, ok := p.Several([]eval.ArmGroup{{Name: "a", Arms: []string{"a"}}, {Name: "b", Arms: []string{"b"}}}, []string{"once"}, "pass")
			if !ok {
				t.Fatal("no test")
			}
			size := h.Respecting[len(h.Respecting)-1].Size
			width[alpha] = math.Log(float64(size.High)) - math.Log(float64(size.Low))
		})
	}
	const ratio = 2.5758293035489004 / 1.959963984540054 // R 4.3.3: qnorm(0.995) / qnorm(0.975)
	if got := width[0.01] / width[0.05]; !(math.Abs(got-ratio) < 1e-9) {
		t.Errorf("the interval at 0.01 is %v times as wide as at 0.05, want %v", got, ratio)
	}
}

// TestPanelTwo: two proportions as of R. On the same items, in clusters, the planned test
// finds what the one over whole clusters does not.
func TestPanelTwo(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	a, b := make([]float64, 400), make([]float64, 400)
	for c := range 8 { // clusters alike within themselves
		pa, pb := r.Float64(), r.Float64()
		for i := range 50 {
			if pa > 0.4 {
				a[50*c+i] = 1
			}
			if pb > 0.6 {
				b[50*c+i] = 1
			}
		}
	}
	two, err := stats.CompareProportions(int(sum(a)), 400, int(sum(b)), 400, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	onPanel(t, []string{"a", "b"}, [][]float64{a, b}, func(i int) string { return fmt.Sprint("c", i/50) }, func(p eval.Panel) {
		h, ok := p.Two(eval.ArmGroup{Name: "open", Arms: []string{"a"}}, eval.ArmGroup{Name: "closed", Arms: []string{"b"}}, "pass")
		if !ok {
			t.Fatal("no test")
		}
		near(t, "p of z", h.Planned[0].P, two.P)
		near(t, "low", h.Planned[0].Size.Low, two.Newcombe.Low)
		if !(h.Planned[0].P < 0.001) || !(h.Respecting[0].P > 0.05) || !strings.Contains(h.Disagree, "finds a difference (p < 0.001)") {
			t.Errorf("planned %+v, respecting %+v: %s", h.Planned[0], h.Respecting[0], h.Disagree)
		}
	})
}

func sum(xs []float64) (s float64) {
	for _, x := range xs {
		s += x
	}
	return s
}

// TestPanelInteraction: no difference between equal differences, and the one that was
// planted.
func TestPanelInteraction(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	draw := func(p float64) []float64 {
		x := make([]float64, 300)
		for i := range x {
			if r.Float64() < p {
				x[i] = 1
			}
		}
		return x
	}
	arms := []string{"o1", "o0", "c1", "c0"}
	onPanel(t, arms, [][]float64{draw(0.9), draw(0.4), draw(0.5), draw(0.5)}, nil, func(p eval.Panel) {
		g := func(arm string) eval.ArmGroup { return eval.ArmGroup{Name: arm, Arms: []string{arm}} }
		x, ok := p.Interaction(g("o1"), g("o0"), g("c1"), g("c0"), "pass")
		if !ok || !(x.P < 1e-6) || !(math.Abs(float64(x.Size.Value)-0.5) <= 0.12) {
			t.Errorf("%+v", x)
		}
		x, _ = p.Interaction(g("c1"), g("c0"), g("c1"), g("c0"), "pass")
		if x.Size.Value != 0 || x.P < 0.05 {
			t.Errorf("equal differences: %+v", x)
		}
	})
}

// TestPanelMissing: items without an outcome are left out and said.
func TestPanelMissing(t *testing.T) {
	nan := math.NaN()
	onPanel(t, []string{"a", "b"}, [][]float64{{1, 0, 1, nan, 1}, {0, 0, 1, 1, 1}}, nil, func(p eval.Panel) {
		h, ok := p.Several([]eval.ArmGroup{{Name: "a", Arms: []string{"a"}}, {Name: "b", Arms: []string{"b"}}}, []string{"once"}, "pass")
		if !ok || !strings.Contains(h.Respecting[0].Name, "4 items, 1 incomplete left out") {
			t.Errorf("%+v", h.Respecting)
		}
		r, _ := p.Rate([]string{"a", "b"}, "pass")
		if r.Outcomes != 9 || r.N != 5 {
			t.Errorf("%+v", r)
		}
	})
}

// TestPanelPower: the power of McNemar's exact test at 150 items agrees with a
// simulation of it, and the interval of kappa at 20 items is wide.
func TestPanelPower(t *testing.T) {
	onPanel(t, []string{"a"}, [][]float64{{1, 0}}, nil, func(p eval.Panel) {
		const items, discordant, trials = 150, 0.2, 4000
		last := 0.0
		for _, difference := range []float64{0.05, 0.10, 0.15} {
			r := rand.New(rand.NewPCG(5, uint64(100*difference)))
			rejected := 0
			for range trials {
				var table [2][2]int
				for range items {
					switch u := r.Float64(); {
					case u < (discordant+difference)/2:
						table[0][1]++
					case u < discordant:
						table[1][0]++
					default:
						table[0][0]++
					}
				}
				m, err := stats.McNemarTable(table, 0.95)
				if err != nil {
					t.Fatal(err)
				}
				if m.PExact < 0.05 {
					rejected++
				}
			}
			simulated := float64(rejected) / trials
			power := float64(p.Power(items, discordant, difference))
			if !(math.Abs(power-simulated) <= 4*math.Sqrt(0.25/trials)) || !(power > last) {
				t.Errorf("difference %v: power %v, simulated %v", difference, power, simulated)
			}
			last = power
		}
		k, ok := p.Agreement([2][2]int{{9, 1}, {1, 9}})
		if !ok || !(math.Abs(float64(k.Value)-0.8) <= 1e-12) || !(float64(k.High-k.Low) > 0.5) || k.N != 20 {
			t.Errorf("kappa at 20 items: %+v", k)
		}
	})
}

// TestPanelOfAnything: no outcomes make a test fail, however few or alike they are; what
// cannot be tested says why.
func TestPanelOfAnything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		arms := []string{"a0", "a1", "b0", "b1"}
		values := rapid.SampledFrom([][]float64{{math.NaN()}, {0}, {1}, {0, 1}, {0, 1, math.NaN()}, {1, 1, 1, 0, math.NaN()}})
		n := rapid.IntRange(1, 8).Draw(rt, "items")
		outcomes := make([][]float64, len(arms))
		for a := range outcomes {
			outcomes[a] = rapid.SliceOfN(rapid.SampledFrom(values.Draw(rt, "values")), n, n).Draw(rt, arms[a])
		}
		onPanel(t, arms, outcomes, nil, func(p eval.Panel) {
			a, b := eval.ArmGroup{Name: "a", Arms: arms[:2]}, eval.ArmGroup{Name: "b", Arms: arms[2:]}
			complete := func(tests ...eval.Test) {
				for _, x := range tests {
					if x.Name == "" || !x.P.Defined() && x.Undefined == "" || x.P.Defined() && (x.P < 0 || x.P > 1) {
						t.Errorf("%v: %+v", outcomes, x)
					}
				}
			}
			for _, h := range []func() (eval.Hypothesis, bool){
				func() (eval.Hypothesis, bool) { return p.Pairs(a, b, "pass") },
				func() (eval.Hypothesis, bool) { return p.Two(a, b, "pass") },
				func() (eval.Hypothesis, bool) {
					return p.Several([]eval.ArmGroup{a, b}, []string{"first", "second"}, "pass")
				},
			} {
				if h, ok := h(); ok {
					complete(h.Planned...)
					complete(h.Respecting...)
				}
			}
			if x, ok := p.Interaction(a, b, b, a, "pass"); ok {
				complete(x)
			}
			p.Rate(arms, "pass")
		})
	})
}

package analyse_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

var suite = eval.Suite{Name: "toy", Metrics: []eval.Metric{
	{Name: "value", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems},
	{Name: "fabrication", Min: 0, Max: 1, Kind: eval.Scoring, Pooling: eval.RatioOfSums},
}}

var items = []eval.Item{
	{ID: "d1", Strata: []eval.Level{{Name: "type", Value: "invoice"}}},
	{ID: "d2", Strata: []eval.Level{{Name: "type", Value: "contract"}}},
	{ID: "d3", Strata: []eval.Level{{Name: "type", Value: "invoice"}}},
	{ID: "d4", Strata: []eval.Level{{Name: "type", Value: "contract"}}},
}

var arms = []eval.Arm{{ID: "zero", Role: eval.RoleBaseline}, {ID: "x"}, {ID: "y", Simulated: true}, {ID: "gold", Role: eval.RoleCalibration}}

// asListed is the order of the list.
type asListed []eval.Item

func (o asListed) Position(item string) (int, bool) {
	i := slices.IndexFunc(o, func(it eval.Item) bool { return it.ID == item })
	return i, i >= 0
}

func (asListed) At(position int) int { return position }

func score(unit, metric string, num, den float64) eval.Score {
	return eval.Score{Unit: unit, Metric: metric, Num: num, Den: den}
}

// collect gives arm x the values 1, 0.5, 0.5, 0 and arm y 0.5, 0.5, 0, and a
// failure on d4.
func collect(t *testing.T) *analyse.Collector {
	t.Helper()
	c := analyse.NewCollector(&suite, items, arms, asListed(items))
	add := func(arm, item string, kind eval.OutcomeKind, scores ...eval.Score) {
		c.Add(scored(item, arm, kind, scores...))
	}
	add("x", "d1", eval.OK, score("f", "value", 1, 1), score("g", "value", 1, 1), score("f", "fabrication", 1, 4))
	add("x", "d2", eval.OK, score("f", "value", 1, 1), score("g", "value", 0, 1))
	add("x", "d3", eval.Malformed, score("f", "value", 0.5, 1), score("f", "fabrication", 0, 1))
	add("x", "d4", eval.OK, score("f", "value", 0, 1), eval.Score{Unit: "f", Metric: "fabrication", Unscored: "judge failed"})
	add("y", "d1", eval.OK, score("f", "value", 0.5, 1))
	add("y", "d2", eval.OK, score("f", "value", 0.5, 1))
	add("y", "d3", eval.OK, score("f", "value", 0, 1))
	add("y", "d4", eval.Failed)
	for _, it := range items {
		add("zero", it.ID, eval.OK, score("f", "value", 0, 1))
		add("gold", it.ID, eval.OK, score("f", "value", 1, 1))
	}
	return c
}

func question() analyse.Question {
	return analyse.Question{Study: analyse.Study{Name: "s", Alpha: 0.05, Correction: "holm"},
		Run:     analyse.Run{Items: 4, Replicates: 1, Planned: 16, MaxFailed: 0.05},
		Primary: []string{"value"}, Secondary: []string{"fabrication"},
		Comparisons: []analyse.Pair{{A: "x", B: "y", Primary: true}, {A: "x", B: "zero"}},
		Calibration: &eval.Calibration{Judge: "rule", Measurement: eval.Measurement{Right: []float64{1, 2}, Cases: []float64{2, 2}}, Effect: "left out"}, Samples: 1}
}

func sources() analyse.Sources {
	return analyse.Sources{
		Calls: []eval.ArmCalls{{Arm: "x", Calls: 4, Retried: 2, Input: 40, CostUSD: 0.5},
			{Arm: "y", Calls: 4, CostUSD: 0.1, Unpriced: 1}},
		Versions: []eval.ArmVersion{{Arm: "x", Version: "v1", Calls: 3}, {Arm: "x", Version: "v2", Calls: 1}},
		Show:     func(t eval.Trial) (eval.Exhibit, error) { return eval.Exhibit{Item: t.Item, Arm: t.Arm}, nil },
	}
}

func near(t *testing.T, what string, got analyse.Number, want float64) {
	t.Helper()
	if math.IsNaN(want) != !got.Defined() || got.Defined() && !(math.Abs(float64(got)-want) <= 1e-9) {
		t.Errorf("%s = %v, want %v", what, float64(got), want)
	}
}

func TestAnalyse(t *testing.T) {
	a, err := collect(t).Analyse(question(), sources())
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, arm := range a.Arms {
		order = append(order, arm.ID)
	}
	if !slices.Equal(order, []string{"x", "y", "zero"}) {
		t.Errorf("arms %v: want contestants first and no calibration arm", order)
	}

	// x: item means 1, 0.5, 0.5, 0: mean 0.5, sd 0.408248, se 0.204124, t(0.975, 3) = 3.182446.
	e, _ := a.Estimate("x", "value")
	near(t, "value of x", e.Value, 0.5)
	near(t, "low", e.Low, 0) // 0.5 − 0.6496 is cut off at 0
	if e.Items != 4 || e.Clusters != 4 || len(e.Warnings) == 0 {
		t.Errorf("estimate %+v: four clusters deserve a warning", e)
	}
	// Pooled: 1 fabricated of 5 required, and one entry that could not be scored.
	e, _ = a.Estimate("x", "fabrication")
	near(t, "fabrication of x", e.Value, 0.2)
	if e.Items != 2 || e.Unscored != 1 {
		t.Errorf("fabrication %+v", e)
	}
	e, _ = a.Estimate("y", "fabrication")
	near(t, "fabrication of y, which had no opportunity", e.Value, math.NaN())

	// x − y on d1, d2, d3: 0.5, 0, 0.5: mean 1/3, sd 0.288675, se 1/6, t = 2.
	c, ok := a.Comparison("x", "y", "value")
	if !ok {
		t.Fatal("no comparison")
	}
	near(t, "difference", c.Diff, 1.0/3)
	near(t, "t", c.T, 2)
	near(t, "d", c.D, 2/math.Sqrt(3))
	near(t, "mean of x over the pairs", c.MeanA, 2.0/3)
	near(t, "p", c.P, 0.3876275643042055) // R: 1/4 + 3/4 * 2*pt(-2, 2); 1/4 is the chance that all three lie on one side
	near(t, "adjusted p", c.PAdjusted, float64(c.P))
	if c.Pairs != 3 || c.Unpaired != 1 || c.Wins != 2 || c.Ties != 1 || c.Losses != 0 || c.DF != 2 {
		t.Errorf("comparison %+v", c)
	}
	r, _ := a.Comparison("y", "x", "value")
	near(t, "turned round", r.Diff, -1.0/3)
	near(t, "its low end", r.Low, -float64(c.High))
	if r.Wins != 0 || r.Losses != 2 {
		t.Errorf("inverted %+v", r)
	}
	if z, _ := a.Comparison("x", "zero", "value"); z.PAdjusted.Defined() {
		t.Error("a comparison that is not primary was corrected")
	}

	if arm := a.Arms[0]; arm.Retried != 2 || arm.Malformed != 1 || arm.CostUSD != 0.5 || len(arm.Versions) != 2 {
		t.Errorf("arm x %+v", arm)
	}
	if a.Arms[1].CostUSD.Defined() || a.Arms[1].Failed != 1 {
		t.Errorf("arm y %+v: a call without a price makes the cost unknown", a.Arms[1])
	}
	share, _ := a.WorstFailures()
	near(t, "failed share", analyse.Number(share), 0.25)
	if j := a.Judges[0]; j.Right != 3 || j.Cases != 4 || j.Accuracy != 0.75 {
		t.Errorf("judge %+v", j)
	}
	for _, want := range []string{"say nothing about real models (y)", "1 of 4 trials failed", "2 versions", "fabrication of x: 1 entry"} {
		if !slices.ContainsFunc(a.Warnings, func(w string) bool { return strings.Contains(w, want) }) {
			t.Errorf("no warning says %q: %q", want, a.Warnings)
		}
	}
	if len(a.Samples) != 4 || a.Samples[0].Rank != "best" || a.Samples[0].Show.Item != "d1" || a.Samples[1].Show.Item != "d4" {
		t.Errorf("samples %+v", a.Samples)
	}
	if n := len(a.Run.Strata); n != 2 || a.Run.Strata[0] != (analyse.Count{Name: "type=contract", N: 2}) {
		t.Errorf("strata %+v", a.Run.Strata)
	}
}

func TestAnalysisIsTheSameBytesEveryTime(t *testing.T) {
	t.Parallel()
	var first []byte
	for range 20 {
		a, err := collect(t).Analyse(question(), sources())
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		}
		if string(b) != string(first) {
			t.Fatal("two analyses of the same numbers differ")
		}
	}
	var back analyse.Analysis
	if err := json.Unmarshal(first, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(back)
	if err != nil || string(again) != string(first) {
		t.Errorf("an analysis read back is not the same: %v", err)
	}
}

func TestScoresNobodyDeclaredAreRefused(t *testing.T) {
	for name, s := range map[string]eval.Score{"unknown metric": score("", "other", 1, 1), "no denominator": score("", "value", 1, 0)} {
		c := analyse.NewCollector(&suite, items, arms, asListed(items))
		c.Add(scored("d1", "x", eval.OK, s))
		if _, err := c.Analyse(question(), sources()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestClustersWidenIntervals(t *testing.T) {
	var alone, together []eval.Item
	for i := range 40 {
		it := eval.Item{ID: fmt.Sprint(i)}
		alone = append(alone, it)
		it.Cluster = fmt.Sprint(i / 4) // ten clusters of four identical items
		together = append(together, it)
	}
	width := func(items []eval.Item) float64 {
		c := analyse.NewCollector(&suite, items, arms[1:2], asListed(items))
		for i, it := range items {
			c.Add(scored(it.ID, "x", eval.OK, score("", "value", float64(i/4%2), 1)))
		}
		q := question()
		q.Comparisons, q.Samples = nil, 0
		a, err := c.Analyse(q, analyse.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		e, _ := a.Estimate("x", "value")
		return float64(e.High - e.Low)
	}
	if a, b := width(alone), width(together); b < 1.8*a {
		t.Errorf("width %.3f alone, %.3f in clusters of four that are all alike: want about twice", a, b)
	}
}

func TestPairs(t *testing.T) {
	arm := func(id, kernel, model string) eval.Arm {
		return eval.Arm{ID: id, Model: model, Levels: []eval.Level{{Name: "kernel", Value: kernel}, {Name: "model", Value: model}}}
	}
	arms := []eval.Arm{arm("ctn@a", "ctn", "a"), arm("ctn@b", "ctn", "b"), arm("idiomatic@a", "idiomatic", "a"), arm("idiomatic@b", "idiomatic", "b"), arm("null", "null", "")}
	for _, c := range []struct {
		a, b string
		want string
	}{
		{"ctn", "idiomatic", "ctn@a/idiomatic@a ctn@b/idiomatic@b"},
		{"ctn", "null", "ctn@a/null ctn@b/null"},
		{"ctn@a", "idiomatic@b", "ctn@a/idiomatic@b"},
		{"ctn@a", "ctn@b", "ctn@a/ctn@b"},
		{"ctn", "nul", `comparisons[0].b: unknown arm "nul"; the arms are ctn@a, ctn@b, idiomatic@a, idiomatic@b, null`},
	} {
		pairs, err := analyse.Pairs([]study.Compare{{A: c.a, B: c.b}}, arms)
		var got []string
		for _, p := range pairs {
			got = append(got, p.A+"/"+p.B)
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if g := strings.Join(got, " "); g != c.want {
			t.Errorf("%s against %s: %s, want %s", c.a, c.b, g, c.want)
		}
	}
}

// scored returns a case of one trial.
func scored(item, arm string, kind eval.OutcomeKind, scores ...eval.Score) eval.Scored {
	for i := range scores {
		scores[i].Replicate = 1
	}
	return eval.Scored{Case: eval.CaseOf(eval.Trial{Item: item, Arm: arm, Replicate: 1}, eval.Outcome{Kind: kind}, nil), Scores: scores}
}

// Prompts that a server cut are named by arm, with numbers; those to a judge apart.
func TestCutPrompts(t *testing.T) {
	from := sources()
	from.Cuts = []eval.ArmCuts{{Arm: "x", Stage: eval.StageRun, Cuts: 3, Cut: eval.Cut{Words: 7700, Tokens: 2050}},
		{Arm: "y", Stage: eval.StageJudge, Cuts: 1, Cut: eval.Cut{Words: 900, Tokens: 512}}}
	a, err := collect(t).Analyse(question(), from)
	if err != nil {
		t.Fatal(err)
	}
	warnings := strings.Join(a.Warnings, "\n")
	for _, want := range []string{"x: the server cut 3 prompts: of one with 7700 words it counted 2050 tokens", "y: the server cut 1 prompt to the judge: of one with 900 words it counted 512 tokens", "num_ctx"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("the warnings lack %q:\n%s", want, warnings)
		}
	}
	if got, err := json.Marshal(a.CutPrompts); err != nil || !strings.HasPrefix(string(got), `[{"arm":"x","stage":"run","n":3,"words":7700,"tokens":2050},`) {
		t.Errorf("%s, %v", got, err)
	}
}

// An arm with answers under different settings is warned of.
func TestMixedSettings(t *testing.T) {
	from := sources()
	from.Mixed = []eval.ArmSettings{{Arm: "x", Stage: eval.StageJudge, Adapted: 2, Answers: 3}, {Arm: "x", Stage: eval.StageRun, Adapted: 20, Answers: 30}}
	a, err := collect(t).Analyse(question(), from)
	if err != nil {
		t.Fatal(err)
	}
	warnings := strings.Join(a.Warnings, "\n")
	for _, want := range []string{"x: the settings of its requests to its judge differ, as the server did not take the same from all: 2 of 3 answers",
		"x: the settings of its requests differ, as the server did not take the same from all: 20 of 30 answers"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("the warnings lack %q:\n%s", want, warnings)
		}
	}
}

// The same scores, added up in another order, are a tie.
func TestRoundingIsNoWin(t *testing.T) {
	c := analyse.NewCollector(&suite, items[:2], []eval.Arm{{ID: "x"}, {ID: "y"}}, asListed(items[:2]))
	for _, it := range items[:2] {
		c.Add(scored(it.ID, "x", eval.OK, score("f", "value", 0.1, 1), score("g", "value", 0.2, 1), score("h", "value", 0.3, 1)))
		c.Add(scored(it.ID, "y", eval.OK, score("f", "value", 0.3, 1), score("g", "value", 0.2, 1), score("h", "value", 0.1, 1)))
	}
	a, err := c.Analyse(analyse.Question{Study: analyse.Study{Alpha: 0.05, Method: "auto"}, Run: analyse.Run{Items: 2, Replicates: 1, Planned: 4},
		Primary: []string{"value"}, Comparisons: []analyse.Pair{{A: "x", B: "y"}}}, analyse.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	if k, ok := a.Comparison("x", "y", "value"); !ok || k.Ties != 2 {
		t.Errorf("%v wins, %v ties, %v losses", k.Wins, k.Ties, k.Losses)
	}
}

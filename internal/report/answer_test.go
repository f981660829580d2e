package report

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/say"
)

// comparisonOf builds a comparison on a score, changed by the given function.
func comparisonOf(change func(*analyse.Comparison)) analyse.Comparison {
	undefined := analyse.Undefined()
	c := analyse.Comparison{
		A: "heuristic", B: "null_baseline", Metric: "composite", Primary: true, Pairs: 40,
		Reading: analyse.Reading{Diff: 0.31, Low: 0.27, High: 0.35, P: 0.0000001, PAdjusted: undefined}, Effect: analyse.Effect{D: 1.9, DLow: undefined, DHigh: undefined},
	}
	if change != nil {
		change(&c)
	}
	return c
}

func TestSentence(t *testing.T) {
	undefined := analyse.Undefined()
	for _, tc := range []struct {
		name       string
		correction string
		change     func(*analyse.Comparison)
		want       string
		tone       tone
	}{
		{"better", "none", nil,
			"heuristic beats null_baseline on Composite by +0.310 (95 % CI +0.270 to +0.350, n = 40 pairs, p < 0.001, d = 1.90).", good},
		{"worse", "none", func(c *analyse.Comparison) { c.Diff, c.Low, c.High, c.D = -0.31, -0.35, -0.27, -1.9 },
			"heuristic does worse than null_baseline on Composite: −0.310 (95 % CI −0.350 to −0.270, n = 40 pairs, p < 0.001, d = −1.90).", bad},
		{"no evidence", "none", func(c *analyse.Comparison) { c.Diff, c.Low, c.High, c.P, c.D = 0.012, -0.01, 0.034, 0.281, 0.12 },
			"No evidence of a difference between heuristic and null_baseline on Composite: +0.012 (95 % CI −0.010 to +0.034, n = 40 pairs, p = 0.281, d = 0.12); the interval contains 0.", unsure},
		{"the correction decides", "holm", func(c *analyse.Comparison) { c.Low, c.P, c.PAdjusted, c.Level = -0.01, 0.03, 0.06, 0.975 },
			"No evidence of a difference between heuristic and null_baseline on Composite: +0.310 (simultaneous 95 % CI −0.010 to +0.350, n = 40 pairs, p = 0.060 after Holm correction, d = 1.90); the interval contains 0.", unsure},
		{"p equal to alpha is no evidence", "none", func(c *analyse.Comparison) { c.Low, c.P = -0.01, 0.05 },
			"No evidence of a difference between heuristic and null_baseline on Composite: +0.310 (95 % CI −0.010 to +0.350, n = 40 pairs, p = 0.050, d = 1.90); the interval contains 0.", unsure},
		{"no test was made", "none", func(c *analyse.Comparison) { c.P, c.D = undefined, undefined },
			"Descriptive only: heuristic − null_baseline on Composite is +0.310 (95 % CI +0.270 to +0.350, n = 40 pairs); no test was made.", unsure},
		{"undefined", "none", func(c *analyse.Comparison) { c.Diff, c.Low, c.High, c.Pairs = undefined, undefined, undefined, 0 },
			"heuristic and null_baseline could not be compared on Composite: undefined: no item has a value for both arms.", unsure},
		{"undefined, with the analysis' own reason", "none", func(c *analyse.Comparison) {
			c.Diff, c.Low, c.High, c.Warnings = undefined, undefined, undefined, []string{"every trial failed"}
		}, "heuristic and null_baseline could not be compared on Composite: every trial failed.", unsure},
		{"lower is better", "none", func(c *analyse.Comparison) { c.Metric, c.Diff, c.Low, c.High = "hallucination", -0.031, -0.05, -0.01 },
			"heuristic beats null_baseline on Hallucination by −3.1 pp (95 % CI −5.0 to −1.0 pp, n = 40 pairs, p < 0.001, d = 1.90). Lower is better.", good},
		{"simulated", "none", func(c *analyse.Comparison) { c.A = "sim" },
			"sim beats null_baseline on Composite by +0.310 (95 % CI +0.270 to +0.350, n = 40 pairs, p < 0.001, d = 1.90). [SIMULATED]", unsure},
		{"nothing could be read", "none", func(c *analyse.Comparison) { c.B, c.Diff, c.Low, c.High, c.D = "broken", -0.31, -0.35, -0.27, -1.9 },
			"No answer of broken could be read: 60 malformed answers. As it stands, heuristic does worse than broken on Composite: −0.310 (95 % CI −0.350 to −0.270, n = 40 pairs, p < 0.001, d = −1.90).", unsure},
		{"nothing of either could be read", "none", func(c *analyse.Comparison) {
			c.A, c.B, c.Diff, c.Low, c.High, c.D = "dead", "broken", -0.31, -0.35, -0.27, -1.9
		},
			"No answer of broken could be read: 60 malformed answers. No answer of dead could be read: 8 malformed answers. As it stands, dead does worse than broken on Composite: −0.310 (95 % CI −0.350 to −0.270, n = 40 pairs, p < 0.001, d = −1.90).", unsure},
		{"one pair", "none", func(c *analyse.Comparison) {
			c.Low, c.High, c.P, c.D, c.Pairs = undefined, undefined, undefined, undefined, 1
		}, "Descriptive only: heuristic − null_baseline on Composite is +0.310 (95 % CI –, n = 1 pair); no test was made.", unsure},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := builder{ci: confidence(0.05), a: &analyse.Analysis{
				Study:    analyse.Study{Alpha: 0.05, Correction: tc.correction},
				Arms:     []analyse.Arm{{ID: "heuristic"}, {ID: "null_baseline"}, {ID: "sim", Simulated: true}},
				Troubles: []analyse.Trouble{{Arm: "broken", Kind: "malformed", N: 60, Answers: 60}, {Arm: "dead", Kind: "malformed", N: 8, Answers: 8}, {Arm: "heuristic", Kind: "malformed", N: 59, Answers: 60}},
				Metrics: []analyse.Metric{
					{Name: "composite", Title: "Composite", Min: 0, Max: 1, HigherIsBetter: true, Pooling: eval.MeanOfItems},
					{Name: "hallucination", Title: "Hallucination", Min: 0, Max: 1, Pooling: eval.RatioOfSums},
				},
			}}
			got := b.sentence(comparisonOf(tc.change))
			if text := plainSpaces(tagged(say.PlainLine, got.cell())); text != tc.want {
				t.Errorf("got  %s\nwant %s", text, tc.want)
			}
			if got.Tone != tc.tone {
				t.Errorf("tone %q, want %q", got.Tone, tc.tone)
			}
		})
	}
}

// No report claims a proof or that arms are equal.
func TestReportsClaimNoMoreThanTheyKnow(t *testing.T) {
	for _, f := range Formats() {
		if f.Name == "json" {
			continue
		}
		text := strings.ToLower(render(t, load(t, "study"), f.Render))
		for _, word := range []string{"prove", "proof", "significantly", "are equivalent", "no difference"} {
			if strings.Contains(text, word) {
				t.Errorf("%s says %q", f.Name, word)
			}
		}
	}
}

func TestNoPrimaryComparison(t *testing.T) {
	b := builder{a: &analyse.Analysis{Comparisons: []analyse.Comparison{comparisonOf(func(c *analyse.Comparison) { c.Primary = false })}}}
	if got := b.answers(); len(got) != 1 || !strings.Contains(got[0].Text, "names no primary comparison") {
		t.Errorf("answers: %v", got)
	}
	b.a.Comparisons[0].Primary, b.a.Comparisons[0].Metric = true, "secondary"
	if got := b.answers(); len(got) != 1 || !strings.Contains(got[0].Text, "names no primary comparison on a primary metric") {
		t.Errorf("answers without a primary metric: %v", got)
	}
}

func TestBanner(t *testing.T) {
	a := &analyse.Analysis{Run: analyse.Run{Planned: 10, Done: 7}, Arms: []analyse.Arm{{ID: "a", Simulated: true}, {ID: "b"}, {ID: "c", Simulated: true}}}
	got := strings.Join((&builder{a: a}).banner(), "\n")
	for _, want := range []string{"SIMULATED: the answers of a and c", "UNFINISHED: 7 of 10 trials"} {
		if !strings.Contains(got, want) {
			t.Errorf("banner %q lacks %q", got, want)
		}
	}
	judging := &analyse.Analysis{Run: analyse.Run{Planned: 10, Done: 10, Unjudged: 4}}
	if got := strings.Join((&builder{a: judging}).banner(), "\n"); got != "UNFINISHED: 10 of 10 trials are done. The judge has not judged 4 done trials: these are scored without its verdict. All numbers, p-values included, are interim: run the same command to resume." {
		t.Errorf("banner while the judge is at work: %q", got)
	}
	byJudge := &analyse.Analysis{SimulatedJudges: []string{"j"}, Judges: []analyse.Judge{{Name: "j", Failed: true, Effect: "unscored"}}}
	if got := (&builder{a: byJudge}).banner(); len(got) != 2 || !strings.HasPrefix(got[0], "SIMULATED: the verdicts of the judge j come") || got[1] != "JUDGE FAILED: judge j failed its calibration: unscored." {
		t.Errorf("banner of a judge that is simulated and failed: %q", got)
	}
	clean := &analyse.Analysis{Run: analyse.Run{Planned: 7, Done: 7}, Arms: []analyse.Arm{{ID: "b"}}}
	if got := (&builder{a: clean, v: &gate.Verdict{}}).banner(); got != nil {
		t.Errorf("banner of a real and finished study: %q", got)
	}
	if got := (&builder{a: clean, v: &gate.Verdict{Simulated: true}}).banner(); len(got) != 1 {
		t.Errorf("banner when the gate used simulated answers: %q", got)
	}
}

func TestConditionState(t *testing.T) {
	for _, tc := range []struct {
		c    gate.Condition
		want string
		tone tone
	}{
		{gate.Condition{Kind: "require", State: gate.Pass}, "pass", good},
		{gate.Condition{Kind: "require", State: gate.Fail}, "fail", bad},
		{gate.Condition{Kind: "require", State: gate.Undecided}, "undecided", unsure},
		{gate.Condition{Kind: "outcome", Name: "B", State: gate.Pass}, "applies", ""},
		{gate.Condition{Kind: "outcome", Name: "A", State: gate.Fail}, "does not apply", muted},
		{gate.Condition{Kind: "outcome", Name: "A", State: gate.Undecided}, "undecided", unsure},
	} {
		if got, tone := conditionState(tc.c, "B"); got != tc.want || tone != tc.tone {
			t.Errorf("%+v: %q %q, want %q %q", tc.c, got, tone, tc.want, tc.tone)
		}
	}
}

func TestReasonsForWhatIsUndefined(t *testing.T) {
	u := analyse.Undefined()
	for _, tc := range []struct {
		e    analyse.Estimate
		want string
	}{
		{analyse.Estimate{Bounds: analyse.Bounds{Value: 1, Low: 0, High: 1}, Items: 3}, ""},
		{analyse.Estimate{Bounds: analyse.Bounds{Value: 1, Low: u, High: u}, Items: 3, Den: 3, Clusters: 1}, "at least two clusters"},
		{analyse.Estimate{Bounds: analyse.Bounds{Value: u, Low: u, High: u}}, "no item has this metric"},
		{analyse.Estimate{Bounds: analyse.Bounds{Value: u, Low: u, High: u}, Items: 3, Clusters: 3}, "denominator is 0"},
		{analyse.Estimate{Bounds: analyse.Bounds{Value: u, Low: u, High: u}, Warnings: []string{"as it was"}}, "as it was"},
		{analyse.Estimate{Bounds: analyse.Bounds{Value: u, Low: u, High: u}, Items: 3, Den: 3, Clusters: 3}, "for an unknown reason"},
	} {
		got := strings.Join(estimateReasons(tc.e), "; ")
		if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%+v: %q, want %q", tc.e, got, tc.want)
		}
	}
}

// TestBeside: a test beside what decides is shown, and where it says otherwise.
func TestBeside(t *testing.T) {
	c := comparisonOf(func(c *analyse.Comparison) {
		c.Beside = []analyse.Reading{{Low: c.Low, High: c.High, P: c.P, Method: "its method"}, {Low: -1, High: 1, P: 0.5, Method: "another"}, {Low: analyse.Undefined(), Method: "one that cannot be made"}}
	})
	b := builder{a: &analyse.Analysis{Study: analyse.Study{Alpha: 0.05}}}
	got := b.remarks(c, true)
	for i, want := range []string{"beside it, its method gives", "beside it, another gives", "beside it, one that cannot be made"} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) || strings.Contains(got[i], "it says otherwise than what decides") != (i == 1) {
			t.Errorf("remarks %q, want %q", got, want)
		}
	}
}

// An arm that marks spans in texts without any has worse F1 and loses no item: the other arm has
// nothing to count there.
func TestWinsSayWhatTheyLeaveOut(t *testing.T) {
	t.Parallel()
	r := load(t, "study")
	at := slices.IndexFunc(r.Analysis.Comparisons, func(c analyse.Comparison) bool { return c.Metric == "hallucination_rate" })
	c := &r.Analysis.Comparisons[at]
	say := func() string {
		return render(t, r, func(w io.Writer, r Report) error {
			return Differences{Analysis: r.Analysis}.Terminal(w, TerminalOptions{Width: 300})
		})
	}
	if out := say(); strings.Contains(out, "nothing to count") {
		t.Errorf("all pairs are won, tied or lost:\n%s", out)
	}
	c.Wins, c.Ties, c.Losses, c.Pairs = 6, 54, 0, 140
	if out := say(); !strings.Contains(out, "An item on which one arm has nothing to count is not a win, tie or loss, but counts in n") {
		t.Errorf("n is 140, the record 6/54/0, and nothing says why:\n%s", out)
	}
	for i := range r.Analysis.Metrics {
		r.Analysis.Metrics[i].Pooling = eval.ByEstimator
	}
	if out := say(); strings.Contains(out, "0/0/0") || strings.Contains(out, "nothing to count") {
		t.Errorf("an estimate over all items is not won by items:\n%s", out)
	}
}

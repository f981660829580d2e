package report

import (
	"io"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
)

// TestOutsideResults: reports show what comes from outside of the run, and a summary of
// the suite comes with the answer, before the verdict, on a terminal too.
func TestOutsideResults(t *testing.T) {
	r := load(t, "study")
	metric := r.Analysis.Metrics[0].Name
	r.Analysis.Replications = []analyse.Replication{{Run: "phase1-2", A: "ctn", B: "plain", Metric: metric, Earlier: 0.109, Here: 0.09, Change: -0.019, EquivLow: -0.06, EquivHigh: 0.023, Pairs: [2]int{41, 39}, Least: &analyse.Replication{Change: -0.03}, Most: &analyse.Replication{Change: -0.01}, Unblinded: "TEST ran twice"}}
	r.Analysis.Blind = []analyse.BlindResult{{By: "eve", Data: strings.Repeat("ab", 32), Documents: 61, Comparisons: []analyse.BlindComparison{{A: "ctn", B: "plain", Metric: metric, Diff: 0.05, Low: 0.01, High: 0.09, P: 0.02, Pairs: 60, Unscored: 2, Least: 0.03, Most: 0.06}}}}
	r.Analysis.Agreements = []analyse.Agreement{{Task: "double", Question: "value", Same: 17, N: 20}}
	r.Analysis.Tables = append(r.Analysis.Tables, eval.Table{Name: "s", Title: "Findings in brief", Summary: true, Columns: []string{"question", "finding"}, Rows: [][]eval.Cell{eval.Texts("which?", "this one")}})
	for name, out := range map[string]string{
		"markdown": render(t, r, Markdown),
		"terminal": render(t, r, onTerminal(TerminalOptions{Verbose: true, Width: 200})),
	} {
		out = strings.Join(strings.Fields(strings.NewReplacer("\\", "", "−", "-", "\u00a0", " ").Replace(out)), " ")
		for _, want := range []string{"Replication of run phase1-2", "-0.019", "-0.060 to +0.023", "Its level is 90 % or more", "TEST ran twice", "Blind validations by outsiders", "abababababab", "with missing scores +0.030 to +0.060", "60", "Agreement of two people", "17 of 20", "85.0 %", "41, 39", "with missing scores -0.030 to -0.010"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q", name, want)
			}
		}
		if strings.Contains(out, "ababababababa") {
			t.Errorf("%s shows the whole hash", name)
		}
		if first, gate := strings.Index(out, "Findings in brief"), strings.Index(out, "Gate: "); first < 0 || gate < 0 || first > gate || strings.Count(out, "Findings in brief") != 1 {
			t.Errorf("%s: the summary is at %d, the verdict at %d", name, first, gate)
		}
	}
	for alpha, level := range map[float64]string{0.0125: "97.5 %", 0.001: "99.8 %", 0.025: "95 %"} {
		r.Analysis.Study.Alpha = alpha
		if out := strings.ReplaceAll(render(t, r, Markdown), "\u00a0", " "); !strings.Contains(out, "Its level is "+level+" or more") {
			t.Errorf("α = %v: the level of a change is not %s", alpha, level)
		}
	}
	r.Analysis.Study.Alpha = 0.05
	short := render(t, r, onTerminal(TerminalOptions{}))
	if !strings.Contains(short, "this one") || !strings.Contains(strings.Join(strings.Fields(short), " "), "--verbose shows ") {
		t.Error("the terminal report has no summary, or does not say where the tables are")
	}
}

// A p-value beside a corrected one says that it is not.
func TestReadingsSayWhetherTheyAreCorrected(t *testing.T) {
	r := load(t, "study")
	c := &r.Analysis.Comparisons[0]
	c.Beside = []analyse.Reading{{Diff: c.Diff, Low: c.Low, High: c.High, P: 0.031, PAdjusted: analyse.Undefined(), Method: "bootstrap"}}
	out := strings.NewReplacer("\u00a0", " ").Replace(render(t, r, Markdown))
	for _, want := range []string{"beside it, bootstrap gives", "p = 0.031 before correction"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q", want)
		}
	}
}

// The tests claim a correction only of comparisons that the analysis corrected.
func TestWhatIsCorrected(t *testing.T) {
	for _, c := range []struct {
		name             string
		rules, corrected bool
		want             []string
	}{
		{"alternatives of rules", true, true, []string{"p adjusted |", "p adjusted: Holm correction over the comparisons that are alternatives in the rules (2 tests).", "comparisons: holm, over the comparisons that are alternatives in the rules (2 tests).",
			"the correction covers only the comparisons that are alternatives in the rules", "differences at once: each at 97.5 %."}},
		{"rules that must all hold", true, false, []string{"No p-value is corrected: the Holm correction covers only the comparisons that are alternatives in the rules.", "comparisons: holm, which covers only the comparisons that are alternatives in the rules: none here."}},
		{"no rules", false, true, []string{"p adjusted: Holm correction over the primary comparisons on primary metrics (2 tests).", "for those of the primary comparisons on primary metrics together"}},
	} {
		r := load(t, "study")
		r.Analysis.Study.Correction = "holm"
		if r.Verdict = nil; !c.rules { // compare and view have no verdict, and the rules' correction
			r.Analysis.Study.Family.Of = analyse.OfPrimary
		}
		for i := range r.Analysis.Comparisons {
			if x := &r.Analysis.Comparisons[i]; !c.corrected {
				x.PAdjusted, x.Level, x.Beside = analyse.Undefined(), 0.95, nil
			}
		}
		out := strings.ReplaceAll(render(t, r, Markdown), "\u00a0", " ")
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q", c.name, want)
			}
		}
		short := strings.ReplaceAll(render(t, r, func(w io.Writer, r Report) error { return Differences{Analysis: r.Analysis}.Markdown(w) }), "\u00a0", " ")
		b := newBuilder(r)
		if said := "p adjusted: " + b.correction() + " correction over " + b.coveredAll() + "."; strings.Contains(short, said) != c.corrected {
			t.Errorf("%s: compare says %q: %v", c.name, said, !c.corrected)
		}
		if !c.corrected && (strings.Contains(out, "p adjusted") || strings.Contains(out, "the correction covers")) {
			t.Errorf("%s: claims a correction", c.name)
		}
	}
}

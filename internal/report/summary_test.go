package report

import (
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func inBrief(opt TerminalOptions) func(io.Writer, Report) error {
	return func(w io.Writer, r Report) error {
		return Summary(w, r, opt, Ending{Decides: true, Files: []string{"out/report.md", "out/report.json", "out/report.html"}, Report: "scruple report s.yaml", Worst: "scruple show s.yaml --worst 10"})
	}
}

// A summary is as safe as a report, and no line of it is too wide, for any data.
func TestSummaryIsSafeAndFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		opt := TerminalOptions{Width: rapid.IntRange(80, 160).Draw(rt, "width"), Color: rapid.Bool().Draw(rt, "colour")}
		checkScreen(rt, render(t, hostile(rt, t), inBrief(opt)), opt)
	})
}

func TestSummary(t *testing.T) {
	for _, name := range fixtures() {
		golden(t, name+".summary.txt", render(t, load(t, name), inBrief(TerminalOptions{})))
	}
}

// Nothing is cut.
func TestSummaryIsWhole(t *testing.T) {
	r := crowded(t)
	r.Analysis.Warnings = []string{strings.Repeat("a warning as long as a page ", 100) + "that ends"}
	var out strings.Builder
	if err := Summary(&out, r, TerminalOptions{}, Ending{Report: "scruple report s.yaml"}); err != nil {
		t.Fatal(err)
	}
	flat := strings.Join(strings.Fields(out.String()), " ")
	for _, c := range r.Analysis.Comparisons {
		if c.Primary && !strings.Contains(flat, c.A+" ") {
			t.Errorf("the comparison of %s is missing", c.A)
		}
	}
	for _, c := range r.Verdict.Conditions {
		if !strings.Contains(flat, c.Name) {
			t.Errorf("rule %q is missing", c.Name)
		}
	}
	if !strings.Contains(flat, "that ends") || strings.Contains(flat, "... and") {
		t.Errorf("it is cut:\n%s", out.String())
	}
}

// Without a primary comparison the arms are listed.
func TestSummaryWithoutComparison(t *testing.T) {
	r := crowded(t)
	r.Analysis.Comparisons = nil
	out := render(t, r, inBrief(TerminalOptions{}))
	if !strings.Contains(out, "names no primary comparison") || !strings.Contains(out, "\nArm ") {
		t.Errorf("the arms are not listed:\n%s", out)
	}
}

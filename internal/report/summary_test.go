package report

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/analyse"
)

func inBrief(opt TerminalOptions) func(io.Writer, Report) error {
	return func(w io.Writer, r Report) error {
		opt.Short = true
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

// With many comparisons the best come first and the others are counted.
func TestSummaryOfManyArms(t *testing.T) {
	r := load(t, "study")
	var c analyse.Comparison
	for _, x := range r.Analysis.Comparisons {
		if x.Primary && x.Stratum == nil && x.Found(true, 0.05) == analyse.Better {
			c = x
		}
	}
	r.Analysis.Comparisons = nil
	for i := range 42 {
		x := c
		x.A = fmt.Sprintf("arm%02d", i)
		x.Diff = analyse.Number(0.01 * float64(i-10))
		if x.PAdjusted = 0.001; i == 12 {
			x.PAdjusted, x.P = 0.5, 0.5
		}
		r.Analysis.Comparisons = append(r.Analysis.Comparisons, x)
	}
	out := render(t, r, inBrief(TerminalOptions{}))
	if rows := strings.Count(out, "\n"); rows > 40 {
		t.Errorf("%d rows:\n%s", rows, out)
	}
	if !strings.Contains(out, "\narm41 beats ") || strings.Contains(out, "arm01") {
		t.Errorf("the best comparison is not first:\n%s", out)
	}
	if !strings.Contains(out, "more: ") || !strings.Contains(out, "1 no evidence of a difference") || !strings.Contains(out, " worse") {
		t.Errorf("the other comparisons are not counted:\n%s", out)
	}
	if !strings.Contains(out, "Gate: ") || !strings.Contains(out, "Warnings: 6\n  ! ") || !strings.Contains(out, "scruple report s.yaml") {
		t.Errorf("a part is missing:\n%s", out)
	}
}

// Where there is no terminal, as in the log of a CI job, nothing is cut.
func TestSummaryWithoutTerminalIsWhole(t *testing.T) {
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

// Without a primary comparison the arms are listed, the best first.
func TestSummaryWithoutComparison(t *testing.T) {
	r := crowded(t)
	r.Analysis.Comparisons = nil
	out := render(t, r, inBrief(TerminalOptions{}))
	if !strings.Contains(out, "names no primary comparison") || !strings.Contains(out, "more arms") {
		t.Errorf("the arms are not listed:\n%s", out)
	}
}

package report

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"charm.land/lipgloss/v2"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/say"
)

// A terminal gets only text, line breaks and our own colours, and no line is too
// wide, for any data and width.
func TestTerminalIsSafeAndFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		opt := TerminalOptions{
			Width:   rapid.IntRange(40, 160).Draw(rt, "width"),
			Color:   rapid.Bool().Draw(rt, "colour"),
			Verbose: rapid.Bool().Draw(rt, "verbose"),
		}
		checkScreen(rt, render(t, hostile(rt, t), onTerminal(opt)), opt)
	})
}

func TestTerminalFitsFixtures(t *testing.T) {
	t.Parallel()
	for _, name := range fixtures() {
		r := load(t, name)
		for width := 40; width <= 140; width++ {
			opt := TerminalOptions{Width: width, Verbose: true}
			checkScreen(t, render(t, r, onTerminal(opt)), opt)
		}
	}
}

func checkScreen(t fataler, out string, opt TerminalOptions) {
	if opt.Color {
		out = regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(out, "")
	}
	for line := range strings.SplitSeq(out, "\n") {
		for _, r := range line {
			if unicode.IsControl(r) || say.Reorders(r) {
				t.Fatalf("%U reaches the terminal in %q", r, line)
			}
		}
		if got := lipgloss.Width(line); got > opt.Width {
			t.Fatalf("a line of %d columns on a terminal of %d: %q", got, opt.Width, line)
		}
		if strings.HasSuffix(line, " ") {
			t.Fatalf("blanks at the end of %q", line)
		}
	}
}

// Without colour our own symbols are ASCII, for logs and old terminals.
func TestTerminalWithoutColourIsASCII(t *testing.T) {
	out := render(t, load(t, "study"), onTerminal(TerminalOptions{Verbose: true}))
	for i, r := range out {
		if r > unicode.MaxASCII {
			t.Fatalf("%q in %q", r, out[max(0, i-30):i+4])
		}
	}
}

// Every number of a table is shown at any width.
func TestTerminalLosesNoColumn(t *testing.T) {
	out := render(t, load(t, "study"), onTerminal(TerminalOptions{Width: 40, Verbose: true}))
	for _, want := range []string{"118,420", "$0.8084", "$0.0421", "24/6/9", "-1.35", "df = 37", "0.002", "0.003"} {
		if !strings.Contains(out, want) {
			t.Errorf("on 40 columns %s is lost", want)
		}
	}
}

func TestTerminalSections(t *testing.T) {
	for _, tc := range []struct {
		verbose bool
		want    string
		there   bool
	}{
		{false, "ANSWER", true}, {false, "ARMS", true}, {false, "COMPARISONS", true},
		{false, "BREAKDOWN", false}, {true, "BREAKDOWN", true}, {true, "METHODS", false}, {true, "SAMPLES", false},
	} {
		out := render(t, load(t, "study"), onTerminal(TerminalOptions{Verbose: tc.verbose}))
		if got := strings.Contains(out, tc.want+"\n"); got != tc.there {
			t.Errorf("verbose %v: section %s there: %v, want %v", tc.verbose, tc.want, got, tc.there)
		}
	}
}

// Where people differ on all that they judged, the table of judge and people says so.
func TestPeopleDifferOnAll(t *testing.T) {
	r, none := load(t, "study"), analyse.Undefined()
	a := *r.Analysis
	r.Analysis = &a
	a.JudgeAndPeople = &analyse.JudgeAndPeople{Judge: "j", Units: 60, Beside: 7, Agreement: none, AgreeLow: none, AgreeHigh: none, Kappa: none, Low: none, High: none, Warnings: []string{"all left out"}}
	out := render(t, r, onTerminal(TerminalOptions{Verbose: true, Width: 200}))
	for _, want := range []string{"all left out", "not both labels were given", "People judged 0 of the 60 units", "People also judged 7 units that the judge did not"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// Who wins an item is known of the judge alone, not of a difference that people correct.
func TestWinsOfTheJudge(t *testing.T) {
	r := load(t, "study")
	a := *r.Analysis
	r.Analysis, a.Comparisons = &a, slices.Clone(a.Comparisons)
	was := render(t, r, onTerminal(TerminalOptions{Width: 200}))
	for i := range a.Comparisons {
		c := &a.Comparisons[i]
		c.Wins, c.Ties, c.Losses = analyse.Undefined(), analyse.Undefined(), analyse.Undefined()
	}
	won := regexp.MustCompile(` \d+/\d+/\d+\b`)
	is := render(t, r, onTerminal(TerminalOptions{Width: 200}))
	if !won.MatchString(was) || won.MatchString(is) || !strings.Contains(is, "Of a difference that people correct they are not known.") {
		t.Errorf("wins %q in\n%s", won.FindString(is), is)
	}
}

// The output of gate and compare is as safe as a whole report.
func TestParts(t *testing.T) {
	opt := TerminalOptions{Width: 60}
	for _, name := range fixtures() {
		r := load(t, name)
		verdict := render(t, r, func(w io.Writer, r Report) error { return Gate(w, r.Verdict, opt) })
		comparisons := render(t, r, func(w io.Writer, r Report) error { return Differences{Analysis: r.Analysis}.Terminal(w, opt) })
		checkScreen(t, verdict, opt)
		checkScreen(t, comparisons, opt)
		checkTables(t, render(t, r, func(w io.Writer, r Report) error { return Differences{Analysis: r.Analysis}.Markdown(w) }))
		if !strings.HasPrefix(verdict, "Gate: ") || !strings.HasPrefix(comparisons, "COMPARISONS\n") {
			t.Errorf("%s: the parts begin %.20q and %.20q", name, verdict, comparisons)
		}
	}
}

// A table that is split repeats the metric with the arms, or rows of several metrics
// look alike.
func TestSplitTableNamesItsRows(t *testing.T) {
	t.Parallel()
	out := render(t, load(t, "study"), onTerminal(TerminalOptions{Width: 80, Verbose: true}))
	_, tests, _ := strings.Cut(out, "\nDifferences\n")
	tests, _, _ = strings.Cut(tests, "W/T/L: items")
	blocks := 0
	for line := range strings.SplitSeq(tests, "\n") {
		if strings.Contains(line, "A - B") {
			blocks++
			if !strings.Contains(line, "Metric") {
				t.Errorf("a part of the table has no metric: %q", line)
			}
		}
	}
	if blocks < 2 {
		t.Errorf("the table has %d parts; the test wants several: %s", blocks, tests)
	}
}

// DEV has no intervals, so its charts have no column for them.
func TestDevHasNoIntervalColumn(t *testing.T) {
	t.Parallel()
	r := load(t, "study")
	for i := range r.Analysis.Comparisons {
		c := &r.Analysis.Comparisons[i]
		c.Low, c.High = analyse.Undefined(), analyse.Undefined()
	}
	r.Analysis.Run.Split = "dev"
	out := render(t, r, onTerminal(TerminalOptions{Width: 100, Verbose: true}))
	for line := range strings.SplitSeq(out, "\n") {
		if strings.Contains(line, "Difference ") && strings.Contains(line, " CI ") {
			t.Errorf("a column of intervals: %q", line)
		}
	}
	if !strings.Contains(out, "Difference ") {
		t.Error("no differences are shown")
	}
}

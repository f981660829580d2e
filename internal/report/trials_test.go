package report

import (
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
)

// TestTrials: every format shows requested trials whole and nothing else.
func TestTrials(t *testing.T) {
	r := load(t, "study")
	r.Trials = true
	var kept []analyse.Sample
	for _, x := range r.Analysis.Samples {
		if len(x.Show.Steps) > 0 {
			kept = append(kept, analyse.Sample{Show: x.Show})
		}
	}
	if len(kept) != 1 {
		t.Fatalf("%d samples with steps", len(kept))
	}
	r.Analysis.Samples = kept
	x := kept[0].Show
	for _, f := range Formats() {
		got := render(t, r, f.Render)
		for _, want := range []string{x.Item, "Zum Anker", "gold", x.Steps[0].Name, "conditions", x.Steps[1].Text, "free WiFi"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q:\n%.2000s", f.Name, want, got)
			}
		}
		for _, not := range []string{"Trial outcomes", "best and worst trials", "0.000"} {
			if strings.Contains(got, not) {
				t.Errorf("%s has %q", f.Name, not)
			}
		}
	}
	narrow := TerminalOptions{Width: 40}
	checkScreen(t, render(t, r, onTerminal(narrow)), narrow)
}

// TestPromptsAreVerbatim: terminal and Markdown keep the white space of prompts and answers
// and the terminal breaks long lines only after a space.
func TestPromptsAreVerbatim(t *testing.T) {
	r := load(t, "study")
	r.Trials = true
	prompt := "Rules:\n  - one   two\n\n\tindented\n    {\n      \"a\":  1\n    }\r\n" + strings.Repeat("word  ", 12) + "\nend"
	x := analyse.Sample{Show: r.Analysis.Samples[0].Show}
	x.Show.Steps = []eval.ExhibitStep{{Name: "asked", Text: prompt}}
	x.Show.Raw = "a   b"
	r.Analysis.Samples = []analyse.Sample{x}
	got := render(t, r, onTerminal(TerminalOptions{Width: 40}))
	want := "asked\n  Rules:\n    - one   two\n\n      indented\n      {\n        \"a\":  1\n      }\n" +
		"  word  word  word  word  word  word\n  word  word  word  word  word  word\n  end\n\nRaw answer\n  a   b\n"
	if !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := render(t, r, Markdown); !strings.Contains(got, "Rules:\n  - one   two\n\n    indented\n    {\n      \"a\":  1\n    }\nword  word") {
		t.Errorf("Markdown has\n%s", got)
	}
}

// TestLargeTrial: a page shows a requested trial however large it is.
func TestLargeTrial(t *testing.T) {
	r := load(t, "study")
	r.Trials = true
	x := analyse.Sample{Show: r.Analysis.Samples[0].Show}
	x.Show.Raw = "begin " + strings.Repeat("long ", maxHTML/5) + "end of the answer"
	r.Analysis.Samples = []analyse.Sample{x}
	if got := render(t, r, HTML); !strings.Contains(got, "end of the answer") || strings.Contains(got, "left out") {
		t.Errorf("a trial of %d bytes is left out of the page", len(x.Show.Raw))
	}
}

package report

import (
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
)

// What was registered before a TEST run is a list: one line for each fact.
func TestRecordIsAList(t *testing.T) {
	t.Parallel()
	r := load(t, "study")
	r.Analysis.Run.Split = "test"
	cycles := 3.0
	r.Analysis.Discipline = &analyse.Discipline{
		Registration: &analyse.Registration{Date: "2026-11-22", By: "ann", SHA256: strings.Repeat("ab", 32), Entry: 4, Test: "paired_ttest at alpha 0.05", Times: 1},
		Revisions:    []analyse.Revision{{Date: "2026-11-20", Hypothesis: "totals are missed", Change: "name the currency"}},
		Budget:       []analyse.Used{{Name: "revision cycles", Used: 1, Allowed: &cycles}},
	}
	for what, c := range map[string]struct{ text, before, between string }{
		"terminal": {render(t, r, onTerminal(TerminalOptions{})), "\n  - ", ": "},
		"Markdown": {render(t, r, Markdown), "\n- ", ": "},
		"HTML":     {render(t, r, HTML), "<div><dt>", "</dt><dd><bdi>"},
	} {
		for _, f := range []string{"Registered|2026-11-22 by ann", "Planned test|paired", "Revision cycles|1 / 3", "Revision 1|2026-11-20: totals are missed"} {
			name, value, _ := strings.Cut(f, "|")
			if line := c.before + name + c.between + value; !strings.Contains(c.text, line) {
				t.Errorf("%s: no line %q:\n%s", what, line, c.text[:3000])
			}
		}
		if !strings.Contains(c.text, "TEST") || strings.Contains(c.text, "Registered: 2026-11-22 by ann; ") {
			t.Errorf("%s: the split is missing, or the record is in one paragraph", what)
		}
	}
}

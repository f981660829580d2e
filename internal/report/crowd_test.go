package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
)

// crowded is the fixture with many copies of its first arm, one of them worse.
func crowded(t *testing.T) Report {
	r := load(t, "study")
	a := r.Analysis
	first := a.Arms[0]
	estimates := slices.DeleteFunc(slices.Clone(a.Estimates), func(e analyse.Estimate) bool { return e.Arm != first.ID })
	for i := range Crowd {
		arm := first
		arm.ID = fmt.Sprintf("twin%02d", i)
		if i == 3 {
			arm.Malformed += 7
			arm.OK -= 7
		}
		arm.Simulated = i >= 8
		a.Arms = append(a.Arms, arm)
		for _, e := range estimates {
			e.Arm = arm.ID
			a.Estimates = append(a.Estimates, e)
		}
	}
	return r
}

// TestCrowd: equal rows of many arms are merged, and no arm is lost.
func TestCrowd(t *testing.T) {
	r := crowded(t)
	b := builder{a: r.Analysis, ci: "95 % CI"}
	table := b.merged(b.outcomeTable())
	if len(table.Rows) >= len(r.Analysis.Arms)-5 {
		t.Errorf("%d rows of %d arms: nothing was put together", len(table.Rows), len(r.Analysis.Arms))
	}
	var text strings.Builder
	for _, row := range table.Rows {
		text.WriteString(row.Cells[0].Text + " " + strings.Join(row.Cells[0].Detail, " ") + "\n")
	}
	for _, arm := range r.Analysis.Arms {
		if !strings.Contains(text.String(), arm.ID) {
			t.Errorf("what came of %s is not told:\n%s", arm.ID, &text)
		}
	}
	if i := slices.IndexFunc(table.Rows, func(r row) bool { return r.Cells[0].Text == "twin03" }); i < 0 {
		t.Errorf("the arm that did worse is not a row of its own:\n%s", &text)
	}
	for _, row := range table.Rows {
		if row.Cells[0].Detail != nil && slices.Contains(row.Cells[0].Tags, tagSimulated) != strings.Contains(row.Cells[0].Detail[0], "twin08") {
			t.Errorf("the tags of %q are %q: only twins from 08 are simulated", row.Cells[0].Detail, row.Cells[0].Tags)
		}
	}
	for _, f := range Formats() {
		render(t, r, f.Render)
	}
	brief := render(t, r, onTerminal(TerminalOptions{}))
	full := render(t, r, onTerminal(TerminalOptions{Verbose: true}))
	if strings.Count(brief, "\n")*2 > strings.Count(full, "\n") {
		t.Errorf("%d lines are not brief beside %d", strings.Count(brief, "\n"), strings.Count(full, "\n"))
	}
}

// TestStrataTable: the table has every arm and level.
func TestStrataTable(t *testing.T) {
	r := crowded(t)
	b := builder{a: r.Analysis, ci: "95 % CI"}
	m := b.ranked("primary")[0]
	levels := 0
	for _, table := range b.strata(m) {
		levels += len(table.Columns) - 2
		if len(table.Rows) != len(b.contestants()) {
			t.Errorf("%s has %d rows for %d arms", table.Caption, len(table.Rows), len(b.contestants()))
		}
		for _, row := range table.Rows {
			if len(row.Cells) != len(table.Columns) {
				t.Errorf("%s: %d cells in %d columns", row.Cells[0].Text, len(row.Cells), len(table.Columns))
			}
		}
	}
	seen := map[eval.Level]bool{}
	for _, e := range r.Analysis.Estimates {
		if e.Metric == m.Name && e.Stratum != nil {
			seen[*e.Stratum] = true
		}
	}
	if levels != len(seen) || levels == 0 {
		t.Errorf("%d columns for %d levels", levels, len(seen))
	}
}

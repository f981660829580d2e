package report

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// cellsOf splits a row of a table at unescaped pipes.
func cellsOf(row string) []string {
	row = strings.TrimSuffix(strings.TrimPrefix(row, "|"), "|")
	var cells []string
	start, escaped := 0, false
	for i, r := range row {
		switch {
		case escaped:
			escaped = false
		case r == '\\':
			escaped = true
		case r == '|':
			cells = append(cells, row[start:i])
			start = i + 1
		}
	}
	return append(cells, row[start:])
}

// tables collects the runs of lines that start with a pipe, outside fences.
func tables(t fataler, text string) [][]string {
	var all [][]string
	var table []string
	fence := ""
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case fence != "":
			if line == fence {
				fence = ""
			}
			continue
		case strings.HasPrefix(line, "```"):
			fence = strings.TrimSuffix(line, "text")
			continue
		case strings.HasPrefix(line, "|"):
			table = append(table, line)
			continue
		}
		if len(table) > 0 {
			all = append(all, table)
			table = nil
		}
	}
	if fence != "" {
		t.Fatalf("a fence is not closed")
	}
	return all
}

func checkTables(t fataler, text string) (shape []int) {
	rule := regexp.MustCompile(`^ (---|---:) $`)
	for _, table := range tables(t, text) {
		if len(table) < 2 {
			t.Fatalf("a table of one line: %q", table)
		}
		columns := len(cellsOf(table[0]))
		for i, row := range table {
			if got := len(cellsOf(row)); got != columns {
				t.Fatalf("a row of %d cells in a table of %d columns: %q", got, columns, row)
			}
			if i == 1 {
				for _, c := range cellsOf(row) {
					if !rule.MatchString(c) {
						t.Fatalf("the second line of a table: %q", row)
					}
				}
			}
		}
		shape = append(shape, columns, len(table))
	}
	return shape
}

// Tables have the same rows and columns for any texts in the data.
func TestMarkdownTableShape(t *testing.T) {
	t.Parallel()
	want := checkTables(t, render(t, benign(t), Markdown))
	if len(want) == 0 {
		t.Fatal("there are no tables")
	}
	rapid.Check(t, func(rt *rapid.T) {
		got := checkTables(rt, render(t, hostile(rt, t), Markdown))
		if len(got) != len(want) {
			rt.Fatalf("%d tables, want %d", len(got)/2, len(want)/2)
		}
		for i := range want {
			if got[i] != want[i] {
				rt.Fatalf("table %d has another shape", i/2)
			}
		}
	})
}

func TestInline(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"a|b", `a\|b`},
		{"`code`", "\\`code\\`"},
		{"<b>", "&lt;b&gt;"},
		{"a & b", "a &amp; b"},
		{"two\nlines", "two lines"},
		{"null_baseline", "null_baseline"},
		{"_emphasis_", `\_emphasis\_`},
		{"*x* [y](z) ~~w~~", `\*x\* \[y\](z) \~\~w\~\~`},
		{"$0.12 and $0.50", `\$0.12 and \$0.50`},
		{`back\slash`, `back\\slash`},
		{"https://evil.example www.evil.example", "https&#58;//evil.example www&#46;evil.example"},
		{"\x1b[31mred\x1b[0m\x00", "red"},
	} {
		if got := inline(tc.in); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestAtStart(t *testing.T) {
	for in, want := range map[string]string{
		"# x": `\# x`, "- x": `\- x`, "+ x": `\+ x`, "=== x": `\=== x`, "1. x": `1\. x`, "12) x": `12\) x`,
		"1 of 4": "1 of 4", "> x": "&gt; x", "": "", "2024": "2024",
	} {
		if got := atStart(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Every character that could start markup is escaped.
func TestInlineLeavesNoMarkup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		got := inline(strings.Join(rapid.SliceOf(rapid.SampledFrom(nasty())).Draw(t, "text"), ""))
		checkInline(t, got)
	})
}

func checkInline(t fataler, got string) {
	escaped := false
	for i, r := range got {
		switch {
		case escaped:
			escaped = false
		case r == '\\':
			escaped = true
		case strings.ContainsRune("`*[]|~$<>", r), r < ' ', r == '_' && !insideWord(got, i):
			t.Fatalf("%q stands bare in %q", r, got)
		}
	}
	if escaped {
		t.Fatalf("%q ends in an escape", got)
	}
	if strings.Contains(got, "://") || strings.Contains(got, "www.") {
		t.Fatalf("%q has an address that becomes a link", got)
	}
}

func FuzzInline(f *testing.F) {
	for _, s := range nasty() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkInline(t, inline(s)) })
}

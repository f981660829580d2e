package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/effort"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/procedure"
	"github.com/scruple-eval/scruple/internal/suites"
)

// The table of metrics in each suite's document is generated from the metrics;
// -update rewrites it.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	for _, entry := range suites.All() {
		generated(t, entry.Name+".md", "metrics", metricsTable(entry.Metrics))
	}
	of := eval.Metric{Name: "correct", Title: "the first primary metric", Binary: true, HigherIsBetter: true}
	generated(t, "statistics.md", "metrics", metricsTable(effort.Offered(of, 2)))
}

// The list of methods in docs/statistics.md is generated from the procedures.
func TestProceduresAreDocumented(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, p := range procedure.All() {
		fmt.Fprintf(&b, "### `%s`\n\n%s. %s\n\nSource: %s.\n\n", p.Name, p.Title, p.Summary, p.Source)
		if len(p.Columns) > 0 {
			b.WriteString("Columns: ")
			for i, r := range p.Columns {
				if i > 0 {
					b.WriteString("; ")
				}
				fmt.Fprintf(&b, "`%s` %s", r.Usage(), r.Doc)
			}
			b.WriteString(".\n\n")
		}
		for _, o := range p.Params {
			fmt.Fprintf(&b, "- `%s`", o.Name)
			if o.Default != "" {
				fmt.Fprintf(&b, " (default %s)", o.Default)
			}
			fmt.Fprintf(&b, ": %s\n", o.Doc)
		}
		if len(p.Params) > 0 {
			b.WriteString("\n")
		}
	}
	generated(t, "statistics.md", "procedures", b.String())
}

// generated compares a marked part of a document with its generated text.
func generated(t *testing.T, file, mark, text string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", file)
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+mark+" -->\n", "<!-- /"+mark+" -->"
	before, rest, ok1 := strings.Cut(string(doc), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the %s", path, mark)
	}
	want := before + begin + text + end + after
	if updating() {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(doc) != want {
		t.Errorf("the %s in %s are out of date: run `make update`", mark, path)
	}
}

func metricsTable(metrics []eval.Metric) string {
	var b strings.Builder
	for _, kind := range []eval.Kind{eval.Scoring, eval.Analysis} {
		fmt.Fprintf(&b, "| %s metric | what it is | formula | pooled as |\n|---|---|---|---|\n", kind)
		for _, m := range metrics {
			if m.Kind == kind {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Name, m.Doc, strings.ReplaceAll(m.Formula, "|", "\\|"), m.Pooling)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
)

// The table of metrics in docs/extraction.md is made from the metrics
// themselves; -update writes it anew.
func TestMetricsAreDocumented(t *testing.T) {
	entry, err := suiteCalled("extraction")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "docs", "extraction.md")
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- metrics -->\n", "<!-- /metrics -->"
	before, rest, ok1 := strings.Cut(string(doc), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the metrics", path)
	}
	want := before + begin + metricsTable(entry.Suite.Metrics) + end + after
	if updating() {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(doc) != want {
		t.Errorf("the metrics in %s are out of date: run `make update`", path)
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

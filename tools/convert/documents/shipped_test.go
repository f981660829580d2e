package documents

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/text"
)

var update = flag.Bool("update", false, "write examples/contracts/data/contracts.jsonl from testdata")

const example = "../../../examples/contracts"

// shipped converts the raw records of the example.
func shipped(t *testing.T) ([]byte, Report) {
	t.Helper()
	out, report, err := CUAD("testdata/cuad.jsonl.gz", Options{MaxText: 15_000, Limit: 40})
	if err != nil {
		t.Fatal(err)
	}
	return out, report
}

func shippedDocuments(t *testing.T) []Document {
	t.Helper()
	data, _ := shipped(t)
	var docs []Document
	for line := range bytes.Lines(data) {
		var d Document
		if err := json.Unmarshal(line, &d); err != nil {
			t.Fatal(err)
		}
		docs = append(docs, d)
	}
	return docs
}

// The example's data are what the converter makes of the raw records, to the
// byte: neither can change without the other.
func TestExampleIsConverted(t *testing.T) {
	path := filepath.Join(example, "data", "contracts.jsonl")
	got, _ := shipped(t)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wantLines, gotLines := slices.Collect(bytes.Lines(want)), slices.Collect(bytes.Lines(got))
	if len(wantLines) != len(gotLines) {
		t.Fatalf("%d documents, %s has %d", len(gotLines), path, len(wantLines))
	}
	for i := range wantLines {
		if !bytes.Equal(wantLines[i], gotLines[i]) {
			t.Errorf("%s:%d differs from what the converter makes; look at the change, then run go test -update", path, i+1)
		}
	}
}

// The counts in the example's README are those of the conversion.
func TestExampleCountsAreDocumented(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(example, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, report := shipped(t)
	if table := report.Markdown(); !strings.Contains(string(readme), table) {
		t.Errorf("README.md does not hold the table of counts:\n%s", table)
	}
	for _, rule := range Rules() {
		if report.Total(rule) > 0 && !strings.Contains(string(readme), rule.Doc) {
			t.Errorf("README.md does not explain the rule %q: %s", rule.Name, rule.Doc)
		}
	}
}

// The example's schema has the fields the converter can make gold of.
func TestExampleSchema(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(example, "schemas", "cuad.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Name   string
		Fields []struct{ Name, Type, Description string }
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	var inSchema []string
	for _, f := range schema.Fields {
		inSchema = append(inSchema, f.Name)
		isDate := strings.HasSuffix(f.Name, "_date")
		if isDate != (f.Type == string(text.Date)) || f.Description == "" {
			t.Errorf("field %s has type %q and description %q", f.Name, f.Type, f.Description)
		}
	}
	_, report := shipped(t)
	var inGold []string
	for _, f := range report.Fields {
		if report.Count(f, Set) == 0 {
			inGold = append(inGold, f)
		}
	}
	slices.Sort(inSchema)
	slices.Sort(inGold)
	if schema.Name != "cuad" || !slices.Equal(inSchema, inGold) {
		t.Errorf("schema %q has %v, gold has %v", schema.Name, inSchema, inGold)
	}
}

// What gold of the extraction suite must be (shared/spec X1.3): seen on the
// text itself, page by page, not by the index the converter used.
func TestGoldStandsInTheText(t *testing.T) {
	for _, d := range shippedDocuments(t) {
		pages := make(map[int]string) // from each page to the end, for quotes over a page break
		for i, rest := 1, d.Text; ; i++ {
			_, after, ok := strings.Cut(rest, fmt.Sprintf("---PAGE %d---\n", i))
			if !ok {
				break
			}
			rest = after
			pages[i] = text.Minimal(withoutMarkers(after))
		}
		for _, g := range d.Truth {
			if err := check(g, pages); err != nil {
				t.Errorf("%s %s: %v", d.ID, g.Field, err)
			}
		}
	}
}

func withoutMarkers(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if !strings.HasPrefix(line, "---PAGE") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func check(g Truth, pages map[int]string) error {
	switch {
	case !g.Exists:
		if g.Ambiguous || g.Correct != "" || g.Acceptable != nil || g.Candidates != nil || g.Quote != "" || g.MustContain != "" || g.Page != 0 {
			return fmt.Errorf("missing, but with a value or evidence: %+v", g)
		}
		return nil
	case g.Ambiguous:
		if len(g.Candidates) < 2 || g.Correct != "" || g.Note == "" {
			return fmt.Errorf("ambiguous, but not so: %+v", g)
		}
		return nil
	case g.Correct == "" || g.Acceptable[0] != g.Correct || g.Candidates != nil:
		return fmt.Errorf("present, but not so: %+v", g)
	case !strings.Contains(pages[g.Page], g.Quote):
		return fmt.Errorf("quote %q is not on page %d", g.Quote, g.Page)
	}
	page := pages[g.Page]
	if at := strings.Index(page, g.Quote); g.Page < len(pages) && len(page)-at <= len(pages[g.Page+1]) {
		return fmt.Errorf("quote %q starts on a later page than %d", g.Quote, g.Page)
	}
	t := text.String
	if strings.HasSuffix(g.Field, "_date") {
		t = text.Date
	}
	if !slices.ContainsFunc(g.Acceptable, func(v string) bool { return strings.Contains(g.Quote, v) || text.Contains(t, g.Quote, v) }) {
		return fmt.Errorf("quote %q holds none of %q", g.Quote, g.Acceptable)
	}
	return nil
}

// No stratum is too small to report on, and no document is there twice.
func TestExampleIsBalanced(t *testing.T) {
	docs := shippedDocuments(t)
	types, ids := make(map[string]int), make(map[string]bool)
	for _, d := range docs {
		types[d.DocType]++
		if ids[d.ID] {
			t.Errorf("%s is there twice", d.ID)
		}
		ids[d.ID] = true
		if len(d.Text) > 15_000 || d.Cluster == "" {
			t.Errorf("%s: %d bytes of text, cluster %q", d.ID, len(d.Text), d.Cluster)
		}
	}
	if len(docs) != 40 {
		t.Errorf("%d documents, want 40", len(docs))
	}
	for name, n := range types {
		if n < 5 {
			t.Errorf("%d documents of type %s, want at least 5", n, name)
		}
	}
}

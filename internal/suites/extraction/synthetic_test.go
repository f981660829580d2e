package extraction

import (
	"fmt"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/table"
)

const syntheticStudy = "name: t\nsuite: extraction\ndata: {source: synthetic, %}\narms: [{name: heuristic}]\n"

func syntheticFilesOf(keys string) map[string]string {
	return map[string]string{"study.yaml": strings.Replace(syntheticStudy, "%", keys, 1)}
}

// Synthetic documents are valid without a warning, and answers from gold score 1.
func TestSyntheticSource(t *testing.T) {
	for keys, want := range map[string]int{
		"seed: 7":                               200,
		"split: dev, locale: en-US, pages: 2":   100,
		"split: test, locale: en-GB, tables: 1": 100,
		"split: dev, locale: de-DE, pages: 5, tables: 0.5, difficulty: {hard: 2, adversarial: 1}": 100,
		"split: test, locale: fr-FR, pages: 3, types: [invoice, receipt]":                         100,
		"split: test, types: {invoice: 3, receipt: 1}":                                            100,
	} {
		b := mustOpen(t, syntheticFilesOf(keys))
		if len(b.Items()) != want || len(b.Warnings()) > 0 {
			t.Fatalf("%s: %d documents, warnings %q", keys, len(b.Items()), b.Warnings())
		}
		for _, it := range b.Items() {
			d, err := b.document(it.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range d.ready().assess(d.perfect(), trustedJudge, deterministic) {
				if c := b.weights.Composite(r.Components); c < 0.97 {
					t.Errorf("%s: %s: gold of %s scores %.3f: %s", keys, it.ID, r.field.Name, c, r.note())
				}
			}
		}
	}
	of := map[string]int{} // count draws every type in proportion to 25, 20, 20, 20 and 15
	for _, it := range mustOpen(t, syntheticFilesOf("split: test, count: 20")).Items() {
		of[strings.Split(it.ID, "-")[1]]++
	}
	if got := fmt.Sprint(of); got != "map[contract:4 invoice:5 medical:4 receipt:4 resume:3]" {
		t.Errorf("20 documents of 100: %s", got)
	}
}

func TestSyntheticErrors(t *testing.T) {
	for keys, want := range map[string]string{
		"path: x":    "source synthetic has no path",
		"count: 201": "count is 201, but synthetic has 200 documents",
	} {
		dir := t.TempDir()
		write(t, dir, syntheticFilesOf(keys))
		if _, err := openIn(t, dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", keys, err, want)
		}
	}
	dir := t.TempDir()
	files := studyOf("  - {name: heuristic}\n")
	files["study.yaml"] = strings.Replace(files["study.yaml"], "path: docs.jsonl", "path: docs.jsonl, split: dev", 1)
	write(t, dir, files)
	if _, err := openIn(t, dir); err == nil || !strings.Contains(err.Error(), "seed and split need source: synthetic") {
		t.Errorf("split of a file: %v", err)
	}
}

const checklistHead = "document_id,type,difficulty,values_correct,quotes_verbatim,missing_absent,ambiguous_valid,pages_correct,note\n"

func TestReadChecklist(t *testing.T) {
	got, err := readChecklist(table.Parse("v.csv", "", []byte("\ufeff"+checklistHead+"a,invoice,easy,yes,No,,Y,n,\"fine, mostly\"\nb,invoice,easy,,,,,,\n")))
	if err != nil || got["a"] != (verification{'y', 'n', 0, 'y', 'n'}) || got["b"] != (verification{}) {
		t.Errorf("%v, %v", got, err)
	}
	got, err = readChecklist(table.Parse("v.csv", "", []byte("item,arm,by,values_correct,quotes_verbatim,missing_absent,ambiguous_valid,pages_correct\na,,anna,yes,yes,no,yes,yes\n")))
	if err != nil || got["a"] != (verification{'y', 'y', 'n', 'y', 'y'}) {
		t.Errorf("an export of answers: %v, %v", got, err)
	}
	for content, want := range map[string]string{
		"":                                       "v.csv is empty: want a header with the names of the columns",
		"a,b\n":                                  "v.csv:1: the columns are",
		checklistHead + "a,i,e,maybe,,,,,\n":     "v.csv:2: values_correct is \"maybe\": write yes or no",
		checklistHead + "a,,,,,,,,\na,,,,,,,,\n": "v.csv:3: duplicate document \"a\"",
		checklistHead + "a,b\n":                  "v.csv:2: the record has 2 fields, the header 9",
	} {
		if _, err := readChecklist(table.Parse("v.csv", "", []byte(content))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", content, err, want)
		}
	}
}

func FuzzReadChecklist(f *testing.F) {
	f.Add([]byte(checklistHead + "a,i,e,yes,no,,,,\n"))
	f.Fuzz(func(_ *testing.T, s []byte) { readChecklist(table.Parse("v.csv", "", s)) })
}

// The confirmed points are a metric that rules can read, and a filled-in checklist
// changes the gold of its documents.
func TestVerification(t *testing.T) {
	files := syntheticFilesOf("verification: v.csv")
	files["v.csv"] = checklistHead + "dev-invoice-01,,,yes,no,yes,,,\ndev-invoice-02,,,,,,,,\n"
	b := mustOpen(t, files)
	before := mustOpen(t, syntheticFilesOf("seed: 42"))
	if b.Items()[0].Gold == before.Items()[0].Gold || b.Items()[5].Gold != before.Items()[5].Gold {
		t.Error("gold of exactly the verified documents must change")
	}
	for id, want := range map[string]float64{"dev-invoice-01": 2, "dev-invoice-02": -1} {
		o, err := b.Perform(t.Context(), trial(id, nullBaseline), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := -1.0
		for _, s := range b.Score(nil, eval.CaseOf(trial(id, nullBaseline), o, nil)) {
			if s.Metric == metricGoldVerified {
				got = s.Num
			}
		}
		if got != want {
			t.Errorf("%s: %g points confirmed, want %g", id, got, want)
		}
	}
	table := b.verifiedTable()
	if rows := table.Strings(); len(rows) != 6 || strings.Join(rows[5], " ") != "all points 3 2 66.7 %" {
		t.Errorf("table %v", rows)
	}
	dir := t.TempDir()
	files["v.csv"] += "stranger,,,,,,,,\n"
	write(t, dir, files)
	if _, err := openIn(t, dir); err == nil || !strings.Contains(err.Error(), `row for "stranger"`) {
		t.Errorf("unknown document: %v", err)
	}
}

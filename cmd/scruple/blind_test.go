package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A blind validation from the kit to the result: the data are committed before the run,
// the run happens once, and nothing of a single document stays except what only the
// outsider can read.
func TestKit(t *testing.T) {
	t.Chdir(t.TempDir())
	do := commands(t)
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.FromSlash(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	do(0, "init", "extraction", "mine")
	study, err := os.ReadFile("mine/study.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// An outsider's documents have other strata than those across which a study compares.
	across := regexp.MustCompile(`(?m)^( *- \{a: .*primary: true)`).ReplaceAllString(string(study), "$1, across: [doc_type]")
	if across == string(study) {
		t.Fatal("the starter has no primary comparison")
	}
	put("mine/study.yaml", across)
	do(0, "blind", "build", "mine/study.yaml", "--out", "kit")
	if out := do(2, "blind", "build", "mine/study.yaml", "--out", "kit"); !strings.Contains(out, "is not empty") {
		t.Error(out)
	}
	schema, err := os.ReadFile("kit/templates/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	put("kit/schemas/memo.json", string(schema))
	for i := range 6 {
		put(fmt.Sprintf("kit/documents/memo-%d.txt", i), fmt.Sprintf("---PAGE 1---\nNumber: SECRET-%d\n", i))
		put(fmt.Sprintf("kit/documents/memo-%d.json", i), fmt.Sprintf(`{"schema": "memo", "split": "dev", "ground_truth": [{"field": "number", "exists_in_document": true, "is_ambiguous": false,
			"correct_value": "SECRET-%d", "evidence_quote": "Number: SECRET-%d", "page": 1}, {"field": "date", "exists_in_document": false, "is_ambiguous": false}]}`, i, i))
	}
	if out := do(3, "blind", "run", "kit"); !strings.Contains(out, "the data are not committed") {
		t.Error(out)
	}
	if out := do(2, "report", "kit/study.yaml"); !strings.Contains(out, "scruple blind run kit") {
		t.Error(out)
	}
	committed := do(0, "blind", "commit", "kit", "--by", "a group")
	hash := regexp.MustCompile(`[0-9a-f]{64}`).FindString(committed)

	// Other data, other prompts and other comparisons are refused.
	before, err := os.ReadFile("kit/documents/memo-3.txt")
	if err != nil {
		t.Fatal(err)
	}
	put("kit/documents/memo-3.txt", string(before)+"\n")
	if out := do(3, "blind", "run", "kit"); !strings.Contains(out, "the data changed after they were committed") {
		t.Error(out)
	}
	put("kit/documents/memo-3.txt", string(before))
	study, err = os.ReadFile("kit/study.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(study, []byte("across")) || !bytes.Contains(study, []byte("null_baseline")) {
		t.Errorf("the kit's study has the strata of ours, or lacks the comparison:\n%s", study)
	}
	put("kit/study.yaml", strings.Replace(string(study), "alpha: 0.05", "alpha: 0.2", 1))
	if out := do(3, "blind", "run", "kit"); !strings.Contains(out, "statistics is not that of the kit") {
		t.Error(out)
	}
	put("kit/study.yaml", string(study))
	// So are other data than those that the hash covers.
	for _, folder := range []string{"documents", "schemas"} {
		if err := os.CopyFS("other-"+folder, os.DirFS("kit/"+folder)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ old, new, want string }{
		{"(?m)^  path: documents$", "  path: ../other-documents", "the data of a kit are in documents and schemas"},
		{"(?m)^  path: documents$", "  path: documents\n  count: 5", "the data of a kit are in "},
		{"(?m)^schemas: schemas$", "schemas: ../other-schemas", "the data of a kit are in "},
		{"(?m)^schemas: schemas$", "schemas: schemas\nsplit: dev", "a kit runs on all committed data: remove split"},
	} {
		changed := regexp.MustCompile(tt.old).ReplaceAllString(string(study), tt.new)
		if changed == string(study) {
			t.Fatalf("the study has no %s:\n%s", tt.old, study)
		}
		put("kit/study.yaml", changed)
		for _, args := range [][]string{{"commit", "kit", "--by", "a group"}, {"run", "kit"}} {
			if out := do(3, append([]string{"blind"}, args...)...); !strings.Contains(out, tt.want) {
				t.Errorf("kit %v with %q: %s", args, tt.new, out)
			}
		}
	}
	put("kit/study.yaml", string(study))
	prompt, err := os.ReadFile("kit/kernels/idiomatic.txt")
	if err != nil {
		t.Fatal(err)
	}
	put("kit/kernels/idiomatic.txt", string(prompt)+"!")
	if out := do(3, "blind", "run", "kit"); !strings.Contains(out, "idiomatic.txt is not that of the kit") {
		t.Error(out)
	}
	put("kit/kernels/idiomatic.txt", string(prompt))
	if out := do(0, "blind", "run", "kit"); !strings.Contains(out, "heuristic − null_baseline, composite (higher is better)") || !strings.Contains(out, ", p = ") || !strings.Contains(out, ", primary: ") || strings.Contains(out, "SECRET") || strings.Contains(out, "memo-") {
		t.Errorf("the run says\n%s", out)
	}
	var result struct {
		Format, By  string
		Data        string `json:"data_sha256"`
		Comparisons []struct {
			A, B, Metric string
			Diff         *float64
			Pairs        int
		}
	}
	data, err := os.ReadFile("kit/blind-result.json")
	if err == nil {
		err = json.Unmarshal(data, &result)
	}
	if err != nil {
		t.Fatal(err)
	}
	if result.Format != "scruple-blind/4" || result.By != "a group" || result.Data != hash || len(result.Comparisons) == 0 || result.Comparisons[0].Pairs != 6 || result.Comparisons[0].Diff == nil {
		t.Errorf("the result is %+v, the committed hash %s", result, hash)
	}
	left := ""
	err = filepath.WalkDir("kit", func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(p, "documents") {
			return err
		}
		text, err := os.ReadFile(p)
		if bytes.Contains(text, []byte("SECRET")) || strings.HasSuffix(p, ".db") {
			left += " " + p
		}
		return err
	})
	if err != nil || left != "" {
		t.Errorf("%v; files that tell of documents are left:%s", err, left)
	}

	// As after a crash before the answers were deleted.
	put("kit/.scruple/kit.db", "SECRET")
	for _, args := range [][]string{{"blind", "run", "kit"}, {"blind", "commit", "kit", "--by", "a group"}} {
		if out := do(3, args...); !strings.Contains(out, "a kit runs once") && !strings.Contains(out, "cannot be committed again") {
			t.Errorf("%v again: %s", args, out)
		}
	}
	if _, err := os.Stat("kit/.scruple/kit.db"); !os.IsNotExist(err) {
		t.Errorf("the answers are still there: %v", err)
	}
	// They are deleted even if the kit cannot be opened any more.
	put("kit/.scruple/kit.db", "SECRET")
	if err := os.RemoveAll("kit/documents"); err != nil {
		t.Fatal(err)
	}
	do(2, "blind", "run", "kit")
	if _, err := os.Stat("kit/.scruple/kit.db"); !os.IsNotExist(err) {
		t.Errorf("the answers are still there without documents: %v", err)
	}
}

//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The rules of the README's study pass for an arm without a mistake once there are as
// many documents as it says. With fewer, plan says so and the gate does not call it a
// failure.
func TestReadmeRules(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	rules := regexp.MustCompile("(?ms)^decide:.*?^```").Find(readme)
	needs := regexp.MustCompile(`the second one needs (\d+) documents`).FindSubmatch(readme)
	if rules == nil || needs == nil {
		t.Fatal("the README has no rules, or does not say what the second one needs")
	}
	enough, err := strconv.Atoi(string(needs[1]))
	if err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprintf("few fabricated quotes (require): holds with %d items if nothing goes wrong, with one opportunity for fabrication each; fewer items with more opportunities, and items without one do not count\n", enough)
	for _, tc := range []struct {
		documents, code int
		plan            string
	}{
		{25, exitNotAllowed, said},
		{122, exitNotAllowed, said}, // two values each, of which 1.54 count: 2/(1 + 0.3)
		{123, exitOK, said},
	} {
		dir := t.TempDir()
		path := invoices(t, dir, "", tc.documents, "{}")
		var ours, other strings.Builder
		for i := range tc.documents {
			right := fmt.Sprintf(`{"extractions": [{"field": "number", "value": "M-%04[1]d", "evidence": {"quote": "Number: M-%04[1]d", "page": 1}, "status": "ok", "confidence": "high", "candidates": []},
				{"field": "amount", "value": "%[1]d.50", "evidence": {"quote": "Amount: %[1]d.50", "page": 1}, "status": "ok", "confidence": "high", "candidates": []}]}`, i)
			writeAnswer(t, &ours, i, right)
			if i%2 == 1 {
				right = `{"extractions": []}`
			}
			writeAnswer(t, &other, i, right)
		}
		writeTestFile(t, filepath.Join(dir, "ours.jsonl"), ours.String())
		writeTestFile(t, filepath.Join(dir, "other.jsonl"), other.String())
		writeTestFile(t, path, `name: rules
suite: extraction
data: {source: jsonl, path: memos.jsonl}
arms: [{name: ours, outputs: ours.jsonl}, {name: ctn, outputs: other.jsonl}]
comparisons: [{a: ours, b: ctn, primary: true}]
`+strings.ReplaceAll(strings.TrimSuffix(string(rules), "```"), "ctn@sonnet", "ctn"))
		var out, errs bytes.Buffer
		if code := execute(t.Context(), []string{"plan", path}, nil, &out, &errs); code != exitOK || !strings.Contains(out.String(), tc.plan) {
			t.Errorf("%d documents: plan exits %d and prints\n%s%s", tc.documents, code, out.String(), errs.String())
		}
		out.Reset()
		if code := execute(t.Context(), []string{"run", path, "--gate"}, nil, &out, &errs); code != tc.code {
			t.Errorf("%d documents: run --gate exits %d, want %d\n%s%s", tc.documents, code, tc.code, out.String(), errs.String())
		}
	}
}

func writeAnswer(t *testing.T, into *strings.Builder, document int, answer string) {
	t.Helper()
	line, err := json.Marshal(map[string]string{"item": fmt.Sprintf("memo-%04d", document), "output": answer})
	if err != nil {
		t.Fatal(err)
	}
	into.Write(append(line, '\n'))
}

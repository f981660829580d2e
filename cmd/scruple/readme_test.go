package main

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

// The sessions of the README are executed verbatim in an empty folder. A line with
// only … matches any number of lines.
func TestReadmeSessions(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	sessions := regexp.MustCompile("(?ms)^```console\n(.*?)^```").FindAllSubmatch(readme, -1)
	if len(sessions) == 0 {
		t.Fatal("the README shows no session")
	}
	for _, s := range sessions {
		for _, step := range strings.Split("\n"+string(s[1]), "\n$ ")[1:] {
			command, want, _ := strings.Cut(step, "\n")
			args := strings.Fields(command)
			if args[0] != "scruple" {
				t.Fatalf("the README runs %q", args[0])
			}
			var out, errs bytes.Buffer
			if code := execute(t.Context(), args[1:], strings.NewReader(""), &out, &errs, func(string) string { return "" }); code != exitOK {
				t.Fatalf("%s: exit code %d\n%s", command, code, errs.String())
			}
			if !matches(strings.Split(strings.TrimSpace(want), "\n"), strings.Split(strings.TrimSpace(out.String()), "\n")) {
				t.Errorf("%s prints\n%s\nand the README says\n%s", command, out.String(), want)
			}
		}
	}
}

// The rules of the README's study pass for an arm without a mistake once there are as
// many documents as it says. With fewer, plan says so and the gate does not call it a
// failure.
func TestReadmeRules(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
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
		if code := execute(t.Context(), []string{"plan", path}, nil, &out, &errs, os.Getenv); code != exitOK || !strings.Contains(out.String(), tc.plan) {
			t.Errorf("%d documents: plan exits %d and prints\n%s%s", tc.documents, code, out.String(), errs.String())
		}
		out.Reset()
		if code := execute(t.Context(), []string{"run", path, "--gate"}, nil, &out, &errs, os.Getenv); code != tc.code {
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

// matches compares lines; … in want matches any number of lines.
func matches(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if want[0] == "…" {
		for skip := 0; skip <= len(got); skip++ {
			if matches(want[1:], got[skip:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && strings.TrimRight(got[0], " ") == want[0] && matches(want[1:], got[1:])
}

//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A week with one study: documents, models and prompts are added and changed. The
// server is never sent the same request twice.
func TestWeek(t *testing.T) {
	t.Parallel()
	scruple, fake := findScruple(t), findFake(t)
	url, stop, err := startFake(fake)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	dir := t.TempDir()
	const documents = 60
	path := invoices(t, dir, url, documents, "{concurrency: 8}")
	data := filepath.Join(dir, "memos.jsonl")
	all, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(all), "\n")
	replace(t, path, "arms: .*", "arms: [{name: k, path: kernel.txt}, {name: short, path: short.txt}]")
	writeTestFile(t, filepath.Join(dir, "short.txt"), "List the fields.\n{{SCHEMA}}\n{{OUTPUT_FORMAT}}\n")

	// The server answers with plain values, without evidence.
	replace(t, path, "$", "metrics: {primary: [value]}\n")

	sent := 0
	for _, day := range []struct {
		name   string
		change func()
		args   []string
		asks   int // requests that the day adds
		says   string
	}{
		{"smoke test", func() {}, []string{"--limit", "5"}, 2 * 5, "running a part: 45 trials stay pending"},
		{"20 documents", func() {}, nil, 2*20 - 2*5, ""},
		{"again", func() {}, nil, 0, ""},
		{"another model", func() {
			replace(t, path, "models: .*", fmt.Sprintf("models: [{id: fake, provider: openai, name: any, base_url: %q, temperature: 0, max_tokens: 256}, {id: other, provider: openai, name: other, base_url: %q, temperature: 0, max_tokens: 256}]", url+"/v1", url+"/v1"))
		}, nil, 2 * 20, "arm k is now k@fake"},
		{"40 more documents", func() { writeTestFile(t, data, string(all)) }, nil, 4 * 40, "40 items added"},
		{"another prompt, as a new run", func() {
			writeTestFile(t, filepath.Join(dir, "short.txt"), "List every field.\n{{SCHEMA}}\n{{OUTPUT_FORMAT}}\n")
		}, []string{"--new"}, 2 * documents, "120 answers of memos-1"},
		{"a model fewer", func() {
			replace(t, path, "models: .*", fmt.Sprintf("models: [{id: other, provider: openai, name: other, base_url: %q, temperature: 0, max_tokens: 256}]", url+"/v1"))
		}, nil, 0, "arms k@fake, short@fake removed; arm k@other is now k; arm short@other is now short"},
	} {
		if day.name == "smoke test" {
			writeTestFile(t, data, strings.Join(lines[:20], ""))
		}
		day.change()
		out := output(t, scruple, append([]string{"run", path}, day.args...)...) + output(t, scruple, "status", path)
		sent += day.asks
		if got := statsOf(t, url); got.Requests != sent || got.Distinct != sent {
			t.Fatalf("%s: the server was sent %d requests, %d of them distinct; want %d", day.name, got.Requests, got.Distinct, sent)
		}
		if flat := strings.Join(strings.Fields(out), " "); !strings.Contains(flat, day.says) {
			t.Errorf("%s: want %q in\n%s", day.name, day.says, out)
		}
	}
	out := output(t, scruple, "compare", "memos-1:k@other", "memos-2:k", "--store", filepath.Join(dir, ".scruple", "scruple.db"))
	replace(t, path, "$", "decide: {require: [{name: right values, that: \"value('k', 'value') < 0.5\"}]}\n")
	worst := output(t, scruple, "show", path, "--worst", "10", "--arm", "k")
	if strings.Count(worst, "scruple show ") != 10 {
		t.Errorf("the ten worst items:\n%s", worst)
	}
	code, verdict := attempt(t, scruple, "gate", path, "--format", "markdown")
	if code != exitFail || !strings.Contains(verdict, `**Gate: FAIL (exit code 1) \[RULES CHANGED AFTER RESULTS\]**`) || !strings.Contains(verdict, "| right values | fail |") {
		t.Errorf("the gate in CI, exit code %d:\n%s", code, verdict)
	}
	if !strings.Contains(out, "memos-2 against memos-1") || !strings.Contains(out, "memos-2:k - memos-1:k@other") {
		t.Errorf("the comparison of two weeks:\n%s", out)
	}
}

// replace replaces the first match in a file.
func replace(t *testing.T, path, pattern, text string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(pattern).FindIndex(content)
	if at == nil {
		t.Fatalf("%s has no %s", path, pattern)
	}
	writeTestFile(t, path, string(content[:at[0]])+text+string(content[at[1]:]))
}

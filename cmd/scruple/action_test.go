package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestActionIsSafe: no value of an input is part of a script, where it could be a command, and
// every script parses.
func TestActionIsSafe(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "action")
	data, err := os.ReadFile(filepath.Join(dir, "action.yml"))
	must(t, err)
	var action struct {
		Inputs map[string]any `yaml:"inputs"`
		Runs   struct {
			Steps []struct {
				Uses string         `yaml:"uses"`
				Run  string         `yaml:"run"`
				With map[string]any `yaml:"with"`
			} `yaml:"steps"`
		} `yaml:"runs"`
	}
	must(t, yaml.Unmarshal(data, &action))
	scripts := 0
	for i, s := range action.Runs.Steps {
		if strings.Contains(s.Run, "${{") {
			t.Errorf("step %d has an expression in its script: %s", i, s.Run)
		}
		if path, ok := s.With["path"].(string); ok && strings.Contains(s.Uses, "cache") && (strings.Contains(path, ".scruple\n") || !strings.Contains(path, "!**/.scruple/ledger.jsonl*")) {
			t.Errorf("step %d puts ledgers of the repository in a cache: %s", i, path)
		}
		if strings.Contains(s.Run, ".sh") {
			scripts++
		}
	}
	for _, m := range regexp.MustCompile(`inputs\.([a-z]+)`).FindAllStringSubmatch(string(data), -1) {
		if action.Inputs[m[1]] == nil {
			t.Errorf("there is no input %s", m[1])
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.sh"))
	must(t, err)
	if len(files) != 3 || scripts != 3 {
		t.Errorf("%d scripts, %d steps with one", len(files), scripts)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	for _, f := range files {
		if out, err := exec.Command(bash, "-n", f).CombinedOutput(); err != nil {
			t.Errorf("%s: %s", f, out)
		}
	}
}

// TestCommentIsDocumented: the comment of docs/ci.md is that of a study whose prompt was made
// worse.
func TestCommentIsDocumented(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) { must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)) }
	words := strings.Fields("two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty")
	questions := "id,question,answer\n"
	for i, w := range words {
		questions += fmt.Sprintf("q%02d,How many is 1 and %d?,%s\n", i+1, i+1, w)
	}
	put("questions.csv", questions)
	study := func(prompt, skill string) {
		put("study.yaml", `name: sums
suite: qa
data: {path: questions.csv}
arms: [{name: agent, prompt: "`+prompt+` {{QUESTION}}"}]
models: [{id: m, provider: simulated, name: m, price: {input: 3, output: 15}, skill: {`+skill+`}}]
metrics: {secondary: [cost]}
comparisons: [{a: agent, b: most_common, primary: true}]
decide: {require: [{name: right most of the time, that: "low('agent', 'correct') > 0.7"}]}
`)
	}
	run := commands(t)
	file, zip, comment := filepath.Join(dir, "study.yaml"), filepath.Join(dir, "main.zip"), filepath.Join(dir, "comment.md")
	study("Answer with one word.", "")
	run(exitOK, "run", file)
	run(exitOK, "bundle", file, "--out", zip)
	study("Think, then answer.", "wrong: 0.7")
	run(exitOK, "run", file)
	run(exitFail, "gate", file, "--baseline", zip, "--comment", comment)
	text, err := os.ReadFile(comment)
	must(t, err)
	shown, marked := strings.CutPrefix(string(text), "<!-- scruple: "+file+" -->\n")
	if !marked {
		t.Errorf("no mark: %.60s", text)
	}
	generated(t, "ci.md", "comment", "\n"+shown+"\n")
}

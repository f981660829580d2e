package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefusedStudies: whatever run refuses before its first call, validate and plan
// refuse with the same words, and none leaves a store behind.
func TestRefusedStudies(t *testing.T) {
	t.Parallel()
	const data = `{"id": "p", "question": "1 + 1", "answer": "2"}` + "\n" + `{"id": "q", "question": "2 + 2", "answer": "4"}` + "\n"
	for _, test := range []struct {
		name, study string
		want        string // in the error
	}{
		{"unknown provider", "models: [{id: m, provider: opnai, name: x}]\narms: [{name: a, prompt: '{{QUESTION}}'}]", `study.yaml:4:10: models[0]: unknown provider "opnai": did you mean openai?`},
		{"model without a name", "models: [{id: m, provider: ollama}]\narms: [{name: a, prompt: '{{QUESTION}}'}]", "model m has no name"},
		{"cassette that does not exist", "models: [{id: m, provider: recorded, name: x, cassette: gone.yaml}]\narms: [{name: a, prompt: '{{QUESTION}}'}]", "gone.yaml"},
		{"recorded without a cassette", "models: [{id: m, provider: recorded, name: x}]\narms: [{name: a, prompt: '{{QUESTION}}'}]", "has no cassette"},
		{"program that does not exist", "arms: [{name: a, exec: ./gone}]", `study.yaml: arm a: command "./gone": program "./gone"`},
		{"program that is not on the PATH", "arms: [{name: a, exec: no-such-program-at-all}]", `program "no-such-program-at-all"`},
		{"script that does not exist", "arms: [{name: a, exec: python3 answer.py --fast}]", `study.yaml: arm a: command "python3 answer.py --fast": script "answer.py" does not exist`},
		{"command for a shell", "arms: [{name: a, exec: 'python3 answer.py | head'}]", "needs a shell"},
		{"file of answers that does not exist", "arms: [{name: a, outputs: gone.jsonl}]", "gone.jsonl"},
		{"answers to other items", "arms: [{name: a, outputs: other.jsonl}]", "has no answer for any item"},
		{"file without answers", "arms: [{name: a, outputs: empty.jsonl}]", "empty.jsonl is empty, or has no answer"},
		{"run that does not exist", "arms: [{name: a, run: 'gone-1:a'}]", "study.yaml: arm a: answers of run gone-1:a"},
		{"budget without a price", "models: [{id: m, provider: openai, name: x, base_url: 'http://127.0.0.1:1/v1'}]\narms: [{name: a, prompt: '{{QUESTION}}'}]\nexecution: {max_cost: 1}", "the price of model m"},
		{"judge that judges nothing", "models: [{id: m, provider: simulated, name: x}]\njudge_model: m\narms: [{name: a, prompt: '{{QUESTION}}', models: [m]}]", "remove judge_model"},
		{"two mistakes", "models: [{id: m, provider: ollama}, {id: n, provider: opnai, name: x}]\narms: [{name: a, prompt: '{{QUESTION}}'}]", "unknown provider"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(name, text string) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			write("study.yaml", "name: s\nsuite: qa\ndata: {path: q.jsonl, match: numeric}\n"+test.study+"\n")
			write("q.jsonl", data)
			write("empty.jsonl", "")
			write("other.jsonl", `{"item": "another", "output": "2"}`+"\n")
			said := map[string]string{}
			for _, verb := range []string{"run", "validate", "plan"} {
				var out, errs bytes.Buffer
				code := execute(t.Context(), []string{verb, filepath.Join(dir, "study.yaml")}, nil, &out, &errs, func(string) string { return "" })
				if code != exitUsage {
					t.Errorf("%s: exit code %d, want %d\n%s%s", verb, code, exitUsage, &out, &errs)
				}
				_, said[verb], _ = strings.Cut(errs.String(), "scruple: ") // without warnings
				if !strings.Contains(said[verb], test.want) {
					t.Errorf("%s says %q, want %q", verb, said[verb], test.want)
				}
				if said[verb] != said["run"] {
					t.Errorf("%s says %q, but run says %q", verb, said[verb], said["run"])
				}
			}
			if _, err := os.Stat(filepath.Join(dir, ".scruple")); err == nil {
				t.Error("a store was created")
			}
		})
	}
}

// A key that is not set does not make a study invalid: validate and plan name it, run
// refuses.
func TestMissingKeyIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "study.yaml")
	study := "name: s\nsuite: qa\ndata: {path: q.jsonl, match: numeric}\nmodels: [{id: m, provider: anthropic, name: claude-x, max_tokens: 100}]\narms: [{name: a, prompt: '{{QUESTION}}'}]\n"
	for name, text := range map[string]string{"study.yaml": study, "q.jsonl": `{"question": "1 + 1", "answer": "2"}` + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for verb, want := range map[string]int{"validate": exitOK, "plan": exitOK, "run": exitUsage} {
		var out, errs bytes.Buffer
		code := execute(t.Context(), []string{verb, path}, nil, &out, &errs, func(string) string { return "" })
		if said := out.String() + errs.String(); code != want || !strings.Contains(said, "ANTHROPIC_API_KEY is not set") {
			t.Errorf("%s: exit code %d, want %d, and the name of the key:\n%s", verb, code, want, said)
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/model/wiretest"
)

// withCall returns a recorded answer that has text beside a tool call, with another
// call in the place of the recorded one. No recording of Google's format has both, so
// text is added to one.
func withCall(t *testing.T, format, tool, arguments string) string {
	t.Helper()
	var object any
	if err := json.Unmarshal([]byte(arguments), &object); err != nil {
		t.Fatal(err)
	}
	type m = map[string]any
	for _, e := range wiretest.Answers(t, format) {
		var body m
		if err := json.Unmarshal([]byte(e.Body), &body); err != nil {
			continue
		}
		text, call := false, false
		// parts visits a list of parts, each told apart by its type.
		parts := func(list any) {
			parts, _ := list.([]any)
			for _, p := range parts {
				part, _ := p.(m)
				switch part["type"] {
				case "text":
					text = part["text"] != ""
				case "message":
					text = true
				case "tool_use":
					part["name"], part["input"], call = tool, object, true
				case "function_call":
					part["name"], part["arguments"], call = tool, arguments, true
				}
			}
		}
		switch format {
		case "anthropic":
			parts(body["content"])
		case "openai_responses":
			parts(body["output"])
		case "openai":
			choices, _ := body["choices"].([]any)
			if len(choices) == 0 {
				continue
			}
			message, _ := choices[0].(m)["message"].(m)
			text = message["content"] != nil && message["content"] != ""
			if calls, _ := message["tool_calls"].([]any); len(calls) > 0 {
				calls[0].(m)["function"], call = m{"name": tool, "arguments": arguments}, true
			}
		case "google":
			candidates, _ := body["candidates"].([]any)
			if len(candidates) == 0 {
				continue
			}
			content, _ := candidates[0].(m)["content"].(m)
			list, _ := content["parts"].([]any)
			for _, p := range list {
				if f, ok := p.(m)["functionCall"].(m); ok {
					f["name"], f["args"], call = tool, object, true
				}
			}
			content["parts"], text = slices.Insert(list, 0, any(m{"text": "I will report the fields."})), true
		}
		if text && call {
			b, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
	}
	t.Fatalf("%s: no recorded answer with a tool call", format)
	return ""
}

// TestToolAnswersBesideText: a model with structured: tool that writes a sentence
// before its call is scored on the call, in every format.
func TestToolAnswersBesideText(t *testing.T) {
	t.Parallel()
	const answer = `{"extractions":[{"field":"total_amount","value":"12.50","evidence":{"quote":"Total 12.50","page":1},"status":"ok","confidence":"high","candidates":[]}]}`
	answers := map[string]string{}
	formats := []string{"anthropic", "openai", "openai_responses", "google"}
	for _, f := range formats {
		answers[f] = withCall(t, f, "report_extractions", answer)
	}
	server := wiretest.NewServer(t)
	server.Handle(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch path := r.URL.Path; {
		case strings.HasSuffix(path, "/messages"):
			fmt.Fprint(w, answers["anthropic"])
		case strings.HasSuffix(path, "/chat/completions"):
			fmt.Fprint(w, answers["openai"])
		case strings.HasSuffix(path, "/responses"):
			fmt.Fprint(w, answers["openai_responses"])
		default:
			fmt.Fprint(w, answers["google"])
		}
	})
	dir := t.TempDir()
	study := "name: tools\nsuite: extraction\ndata: {source: jsonl, path: docs.jsonl}\narms: [{name: k, builtin: idiomatic}]\nmodels:\n"
	for _, f := range formats {
		suffix := ""
		if strings.HasPrefix(f, "openai") {
			suffix = "/v1"
		}
		study += fmt.Sprintf("  - {id: %s, provider: %s, name: m, structured: tool, max_tokens: 500, api_key_env: KEY, base_url: %q}\n", f, f, server.URL+suffix)
	}
	for name, content := range map[string]string{"study.yaml": study,
		"docs.jsonl": `{"document_id":"d","text":"Total 12.50","schema":"invoice","ground_truth":[{"field":"total_amount","exists_in_document":true,"correct_value":"12.50","evidence_quote":"Total 12.50"}]}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	if code := execute(t.Context(), []string{"run", filepath.Join(dir, "study.yaml")}, nil, &out, &errs, env("KEY", "k")); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	data, err := os.ReadFile(filepath.Join(dir, "results", "tools", "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Analysis struct {
			Arms []struct {
				ID string
				OK int
			}
			Estimates []struct {
				Arm, Metric string
				Value       float64
			}
		}
	}
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatal(err)
	}
	for _, f := range formats {
		right := 0
		for _, arm := range report.Analysis.Arms {
			if arm.ID == "k@"+f && arm.OK == 1 {
				right++
			}
		}
		for _, e := range report.Analysis.Estimates {
			if e.Arm == "k@"+f && e.Metric == "composite" && e.Value == 1 {
				right++
			}
		}
		if right != 2 {
			t.Errorf("%s: the answer is not ok with a composite of 1", f)
		}
	}
}

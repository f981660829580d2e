package study

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compiled is the schema as an editor would have it: from its bytes alone.
func compiled(t *testing.T, v any) *jsonschema.Schema {
	t.Helper()
	const id = "https://example.org/schema/contracts.json"
	data, err := Schema(v, id, "Contracts")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(id, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// editorReads decodes YAML without this package, as an editor does.
func editorReads(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return doc
}

// What the schema accepts the loader accepts, and the other way round.
func TestSchemaAgreesWithLoad(t *testing.T) {
	s := compiled(t, contracts{})
	good := []string{
		"",
		"version: '1.10'\ndescription: |\n  long\n  text\n",
		"models: []",
		"models: [{id: a, provider: openai, temperature: 0, top_p: 1, seed: -3, max_tokens: 5, structured: tool}]",
		"models: [{id: a, provider: p, temperature: 2, reasoning: {effort: low, budget: 8, allowance: 3}}]",
		"models: [{id: a, provider: p, price: {input: 0, output: 0.25, cached: 0}, limits: {requests_per_minute: 0.5}}]",
		"models: [{id: a, provider: p, skill: {miss: 0, wrong: 1, invent: 0.5}}]",
		"models: [{id: qwen2.5-7b_a, provider: p, base_url: 'https://h.example:8443/v1/', api_key_env: MY_KEY_2}]",
		"execution: {concurrency: 1, timeout: 0, delay: 1h30m, retries: [1, 2.5, 500ms, 1m30s], seed: 0}",
		"execution: {max_cost: 0.5, max_calls: 0, max_tokens: 1, max_failed: 1}",
		"execution: {concurrency: 8.0}",
		"comparisons: [{a: x, b: y, primary: true, metrics: [m]}]",
		"metrics: {primary: [a], secondary: [], composite_weights: {value: 1}}",
		"statistics: {alpha: 0.001, method: auto, correction: bonferroni}",
		"decide: {require: [{name: n, that: x}], outcomes: [{name: o, verdict: undecided, advice: wait}]}",
		"output: {results_dir: out, save_raw: true, generate_report: false}",
		"documents: {source: mixed, parts: [{source: jsonl, path: a}, {source: directory}]}",
		"kernels: [{name: k, enabled: false, models: [a]}]",
	}
	bad := []string{
		"models: [{id: a}]",
		"models: [{id: '', provider: p}]",
		"models: [{id: a/b, provider: p}]",
		"models: [{id: -a, provider: p}]",
		"models: [{id: a, provider: p, temperature: -0.1}]",
		"models: [{id: a, provider: p, top_p: 1.1}]",
		"models: [{id: a, provider: p, seed: 1.5}]",
		"models: [{id: a, provider: p, max_tokens: -1}]",
		"models: [{id: a, provider: p, structured: json}]",
		"models: [{id: a, provider: p, base_url: 'localhost:80'}]",
		"models: [{id: a, provider: p, base_url: 'http://u:p@h/'}]",
		"models: [{id: a, provider: p, api_key_env: lower}]",
		"models: [{id: a, provider: p, api_key_env: " + strings.Repeat("A", 65) + "}]",
		"models: [{id: a, provider: p, price: {output: 1}}]",
		"models: [{id: a, provider: p, skill: {malformed: 1.01}}]",
		"models: [{id: a, provider: p, limits: {concurrency: -1}}]",
		"models: [{id: a, provider: p, reasoning: {effort: 3}}]",
		"execution: {concurrency: 0}", "execution: {replicates: 0}", "execution: {timeout: -1}", "execution: {timeout: 30 s}",
		"execution: {timeout: ''}", "execution: {timeout: 1s1h}", "execution: {timeout: 1d}", "execution: {timeout: 2e9}",
		"execution: {timeout: [1]}", "execution: {retries: 10s}", "execution: {max_cost: -1}", "execution: {max_failed: 1.5}",
		"execution:", "execution: {seed: '1'}",
		"comparisons: [{a: x}]", "comparisons: [{a: x, b: ''}]", "comparisons: [x]",
		"metrics: {composite_weights: {value: -1, page: 2}}", "metrics: {composite_weights: {value: high}}", "metrics: {primary: [1]}",
		"statistics: {alpha: 0}", "statistics: {alpha: 1}", "statistics: {method: x}", "statistics: {correction: x}", "statistics: {cluster_by: x}",
		"decide: {outcomes: [{name: o, verdict: maybe}]}", "decide: {require: [{name: n}]}", "decide: {require: [{name: n, that: ''}]}",
		"output: {results_dir: ''}", "output: {save_raw: 'yes'}",
		"documents: {source: mixed, parts: [{path: a}]}", "documents: {source: x}",
		"kernels: [{name: k, extra: 1}]", "kernels: [{name: k, models: []}]", "kernels: [{name: k, models: [a, a]}]", "extra: 1", "version: 1.10", "version:",
	}
	for want, studies := range map[bool][]string{true: good, false: bad} {
		for _, more := range studies {
			text := minimal(more)
			if err := s.Validate(editorReads(t, text)); (err == nil) != want {
				t.Errorf("%s: the schema says %v, valid should be %v", more, err, want)
			}
			if _, _, err := loadText(text); (err == nil) != want {
				t.Errorf("%s: the loader says %v, valid should be %v", more, err, want)
			}
		}
	}
	if err := s.Validate(editorReads(t, contractsYAML)); err != nil {
		t.Errorf("the schema refuses the example: %v", err)
	}
}

func TestSchemaDocument(t *testing.T) {
	data, err := Schema(&contracts{}, "https://example.org/c.json", "Contracts")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Schema     string `json:"$schema"`
		ID         string `json:"$id"`
		Title      string
		Required   []string
		Additional *bool `json:"additionalProperties"`
		Properties map[string]map[string]any
		Defs       map[string]struct {
			Properties map[string]map[string]any
		} `json:"$defs"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != "https://json-schema.org/draft/2020-12/schema" || doc.ID != "https://example.org/c.json" || doc.Title != "Contracts" {
		t.Errorf("got $schema %s, $id %s, title %s", doc.Schema, doc.ID, doc.Title)
	}
	if doc.Additional == nil || *doc.Additional || strings.Join(doc.Required, " ") != "name suite" {
		t.Errorf("additionalProperties %v, required %v; want false, [name suite]", doc.Additional, doc.Required)
	}
	for _, key := range []string{"name", "models", "execution", "documents", "kernels"} {
		if doc.Properties[key] == nil {
			t.Errorf("no property %s: the common part is not inline", key)
		}
	}
	execution := doc.Defs["study.Execution"].Properties
	for key, want := range map[string]any{"concurrency": 16.0, "seed": 42.0, "timeout": "1m0s", "max_failed": 0.05} {
		if got := execution[key]["default"]; got != want {
			t.Errorf("default of %s is %v, want %v", key, got, want)
		}
	}
	// A comma that ends a description early would go unseen.
	if got, want := doc.Properties["version"]["description"], "Version of the study file, for your own records"; got != want {
		t.Errorf("description of version is %q, want %q", got, want)
	}
	again, _ := Schema(contracts{}, "https://example.org/c.json", "Contracts")
	if !bytes.Equal(data, again) {
		t.Error("two calls give two schemas")
	}
}

package extraction

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
)

// with adds a file.
func with(files map[string]string, name, content string) map[string]string {
	files[name] = content
	return files
}

// studyOf is a study of one valid document with these kernels and more.
func studyOf(kernels string, more ...string) map[string]string {
	return map[string]string{
		"study.yaml": "name: test\nsuite: extraction\ndata: {source: jsonl, path: docs.jsonl}\n" +
			"models:\n  - {id: a, provider: openai, name: x}\n  - {id: b, provider: openai, name: y}\n" + strings.Join(more, "") +
			"arms:\n" + kernels,
		"docs.jsonl":    invoiceLine("1", 100),
		"kernel.txt":    "Extract.\n{{SCHEMA}}\n{{OUTPUT_FORMAT}}\n",
		"answers.jsonl": `{"document_id":"doc-1","output":"{}"}` + "\n",
	}
}

func TestArms(t *testing.T) {
	tests := []struct {
		name, kernels, more string
		want                []string // id role model pipeline
	}{
		{"a prompt runs on all models", "  - {name: k, path: kernel.txt}\n", "",
			[]string{"k@a  a ", "k@b  b ", "null_baseline baseline  "}},
		{"on one model it keeps its name", "  - {name: k, path: kernel.txt, models: [b]}\n", "",
			[]string{"k  b ", "null_baseline baseline  "}},
		{"without models a kernel runs on all, the judge too", "  - {name: k, path: kernel.txt}\n  - {name: l, builtin: idiomatic, models: [b]}\n", "judge_model: b\n",
			[]string{"k@a  a ", "k@b  b ", "l  b ", "null_baseline baseline  ", "calibration:gold calibration  "}},
		{"a renamed null baseline", "  - {name: floor, builtin: null_baseline}\n", "",
			[]string{"floor baseline  "}},
		{"the null baseline cannot be disabled", "  - {name: null_baseline, builtin: null_baseline, enabled: false}\n  - {name: h, builtin: heuristic}\n", "",
			[]string{"h   ", "null_baseline baseline  "}},
		{"pipelines use no model of the study", "  - {name: o, outputs: answers.jsonl}\n  - {name: e, exec: \"cat -\"}\n  - {name: w, http: \"http://127.0.0.1:1/\"}\n", "",
			[]string{"o  arm:o outputs", "e  arm:e exec cat -", "w  arm:w http http://127.0.0.1:1/", "null_baseline baseline  "}},
		{"an ablation of a disabled kernel", "  - {name: full, builtin: ctn_extraction, enabled: false}\n  - {name: no-v1, of: full, remove: [v1], models: [a]}\n", "",
			[]string{"no-v1  a ", "null_baseline baseline  "}},
		{"an ablation of a shipped kernel", "  - {name: no-v1, of: ctn_extraction, remove: [v₁], models: [a]}\n", "",
			[]string{"no-v1  a ", "null_baseline baseline  "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := mustOpen(t, studyOf(tt.kernels, tt.more))
			var got []string
			hashes := map[string]bool{}
			for _, a := range b.Arms() {
				line := strings.Join([]string{a.ID, string(a.Role), a.Model, ""}, " ")
				for _, p := range b.Pipelines() {
					if p.Model == a.Model {
						line += p.Kind
						if p.Kind != "outputs" {
							line += " " + p.Target
						} else if !filepath.IsAbs(p.Target) {
							t.Errorf("target %q is not resolved", p.Target)
						}
					}
				}
				if a.Hash == "" || hashes[a.Hash] {
					t.Errorf("%s has no unique hash", a.ID)
				}
				hashes[a.Hash] = true
				got = append(got, line)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// The ablations that ship run by name, and each prompt in kernels/ that the study
// does not name is an arm.
func TestKernelsWithoutALine(t *testing.T) {
	const prompt = "Extract.\n{{SCHEMA}}\n{{OUTPUT_FORMAT}}\n"
	dropped := map[string]string{"kernels/dropped.txt": prompt, "kernels/mine.txt": prompt + "\n", "kernels/off.txt": prompt, "kernels/notes.md": "not a prompt"}
	tests := []struct {
		name, kernels string
		more          map[string]string
		want          string
		facts         int
	}{
		{"shipped ablations", "  - {name: minimal, models: [a]}\n  - {name: v7-gone, builtin: no-v7, models: [a]}\n", nil, "minimal v7-gone null_baseline", 0},
		{"dropped prompts", "  - {name: listed, path: kernels/mine.txt, models: [a]}\n  - {name: off, enabled: false}\n", dropped, "listed dropped@a dropped@b null_baseline", 0},
		{"an ablation of a dropped prompt", "  - {name: less, of: ctn, remove: [v1], models: [a]}\n",
			map[string]string{"kernels/ctn.txt": shippedKernel(ablated)}, "less ctn@a ctn@b null_baseline", 0},
		{"only dropped prompts", "", map[string]string{"kernels/a.txt": prompt, "study.yaml": strings.Replace(studyOf("")["study.yaml"], "arms:\n", "", 1)}, "a@a a@b null_baseline", 0},
		{"without a model they wait", "", map[string]string{"kernels/a.txt": prompt,
			"study.yaml": "name: t\nsuite: extraction\ndata: {source: jsonl, path: docs.jsonl}\narms: [{name: heuristic}]\n"}, "heuristic null_baseline", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := studyOf(tt.kernels)
			maps.Copy(files, tt.more)
			b := mustOpen(t, files)
			var ids []string
			for _, a := range b.Arms() {
				ids = append(ids, a.ID)
			}
			if got := strings.Join(ids, " "); got != tt.want {
				t.Errorf("arms %q, want %q", got, tt.want)
			}
			n := 0
			for _, f := range b.Facts() {
				n += f.N
			}
			if n != tt.facts {
				t.Errorf("%d prompts wait for a model, want %d", n, tt.facts)
			}
		})
	}
	b := mustOpen(t, studyOf("  - {name: no-v5, models: [a]}\n  - {name: same, of: ctn_extraction, remove: [v5], models: [a]}\n"))
	if b.Arm("no-v5").kernel != b.Arm("same").kernel {
		t.Error("no-v5 is not ctn_extraction without v5")
	}
}

// Open reports all errors at once, each with its position.
func TestOpenErrors(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"a dropped prompt", with(studyOf("  - {name: heuristic}\n"), "kernels/my prompt.txt", "x"), []string{"kernels/my prompt.txt: the name of the file names the arm"}},
		{"a dropped prompt without placeholders", with(studyOf("  - {name: heuristic}\n"), "kernels/p.txt", "x"), []string{"arms[1].path: the kernel has no {{SCHEMA}}"}},
		{"no kernels", map[string]string{"docs.jsonl": invoiceLine("1", 100), "study.yaml": "name: t\nsuite: extraction\ndata: {source: jsonl, path: docs.jsonl}\n"}, []string{"the study compares nothing: list a kernel"}},
		{"kernels", studyOf(`  - {name: k}
  - {name: k, path: kernel.txt, exec: cat}
  - {name: "a b", path: nothere.txt}
  - {name: l, path: kernel.txt, models: [c, a, a]}
  - {name: m, builtin: heuristic, models: [a]}
  - {name: n, of: ctn_extractoin, remove: [v1]}
  - {name: o, of: ctn_extraction}
  - {name: p, path: kernel.txt, remove: [v1]}
  - {name: q, of: ctn_extraction, remove: [v9]}
  - {name: r, outputs: nothere.jsonl}
  - {name: s, path: docs.jsonl}
`), []string{
			`study.yaml:8:5: arms[0]: kernel "k" has no source: kernels/k.txt does not exist`,
			`arms[1].name: duplicate kernel name "k"`,
			`arms[1]: kernel "k" has path and exec: want exactly one`,
			`arms[2].name: kernel name "a b": want letters`,
			`arms[2].path: reading the kernel:`,
			`arms[3].models[0]: the study has no model "c"`,
			`arms[3].models[2]: duplicate model "a"`,
			`arms[4].models: kernel "m" uses no model`,
			`arms[5].of: no kernel "ctn_extractoin" with a prompt: did you mean "ctn_extraction"?`,
			`arms[6].remove: of needs remove`,
			`arms[7].remove: remove needs of`,
			`arms[8].remove: no tensor block "v9"`,
			`arms[9].outputs: reading answers:`,
			`arms[10].path: the kernel has no {{SCHEMA}}`,
			`arms[10].path: the kernel has no {{OUTPUT_FORMAT}}`,
		}},
		{"no model", map[string]string{
			"study.yaml": "name: t\nsuite: extraction\ndata: {source: jsonl, path: docs.jsonl}\narms: [{name: k, builtin: idiomatic}]\n",
			"docs.jsonl": invoiceLine("1", 100)},
			[]string{`kernel "k" needs a model, but the study has none`}},
		{"weights", studyOf("  - {name: h, builtin: heuristic}\n", "metrics: {composite_weights: {value: 0.5, evidnce: 0.5}}\n"),
			[]string{`the composite has no component "evidnce": did you mean "evidence"?`}},
		{"weights that sum to less", studyOf("  - {name: h, builtin: heuristic}\n", "metrics: {composite_weights: {value: 0.6, page: 0.3}}\n"),
			[]string{`metrics.composite_weights: the weights sum to 0.9, want 1`}},
		{"weights just off", studyOf("  - {name: h, builtin: heuristic}\n", "metrics: {composite_weights: {value: 0.6, page: 0.40000001}}\n"),
			[]string{`the weights sum to 1.00000001, want 1`}},
		{"no file", map[string]string{"study.yaml": "name: t\nsuite: extraction\ndata: {source: jsonl, path: x.jsonl}\narms: [{name: h, builtin: heuristic}]\n"},
			[]string{"does not exist", "paths are relative to the study file"}},
		{"documents", map[string]string{
			"study.yaml":       "name: t\nsuite: extraction\ndata: {source: jsonl, path: docs.jsonl}\narms: [{name: h, builtin: heuristic}]\n",
			"schemas/bad.json": `{"name":"bda","fields":[{"name":"a b","type":"mony","description":""},{"name":"x","type":"date"},{"name":"x","type":"date"}]}`,
			"docs.jsonl": invoiceLine("1", 100) + "\n" + invoiceLine("1", 100) +
				`{"document_id":"d3","text":"x","schema":"invioce","ground_truth":[]}` + "\n" +
				`{"document_id":"d4","text":"x","schema":"bad","ground_truth":[]}` + "\n" +
				`{"document_id":"d5","text":"x","schema":"bad","ground_truth":[]}` + "\n" +
				`{"text":"","schema":"invoice","ground_truth":[{"field":"due_date","exists_in_document":true},{"field":"due","exists_in_document":false}]}` + "\n" +
				"{\n"},
			[]string{
				`docs.jsonl:3: duplicate document_id "doc-1": also in `,
				`docs.jsonl:1
`,
				`docs.jsonl:4: document "d3": schema "invioce": `,
				`did you mean "invoice"?`,
				`schemas/bad.json: name is "bda"`,
				`schemas/bad.json: fields[0].name is "a b"`,
				`fields[0].type is "mony": want one of string, number, money, date, enum, id`, `did you mean "money"?`,
				`fields[2].name: duplicate field "x"`,
				`docs.jsonl:7: document_id is missing`,
				`docs.jsonl:7: document "": text is empty`,
				`docs.jsonl:7: document "": field "due_date": exists in the document but has no correct_value`,
				`docs.jsonl:7: document "": field "due": schema invoice has no such field`,
				`docs.jsonl:8`,
			}},
		{"a record of a folder", map[string]string{
			"study.yaml": "name: t\nsuite: extraction\ndata: {source: directory, path: docs}\narms: [{name: h, builtin: heuristic}]\n",
			"docs/a.txt": "x", "docs/a.json": "{\"schema\": \"invoice\",\n \"ground_thruth\": []}\n"},
			[]string{`docs/a.json: unknown key "ground_thruth": did you mean "ground_truth"?`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, tt.files)
			_, err := openIn(t, dir)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("not found: %s", want)
				}
			}
			if t.Failed() {
				t.Logf("found:\n%v", err)
			}
		})
	}
}

// A mistake in a schema is reported once, under the name of the schema's file.
func TestSchemaErrorsNameTheirFile(t *testing.T) {
	const document = `{"document_id":"d%d","text":"x","schema":"own","ground_truth":[]}` + "\n"
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"study.yaml":       "name: t\nsuite: extraction\ndata: {source: jsonl, path: docs.jsonl}\narms: [{name: h, builtin: heuristic}]\n",
		"schemas/own.json": "{\n  \"name\": \"own\",\n  \"fields\": [\n    {\"name\": \"é\", \"typ\": \"date\"}\n  ]\n}\n",
		"docs.jsonl":       fmt.Sprintf(document, 1) + fmt.Sprintf(document, 2)})
	_, err := openIn(t, dir)
	if want := filepath.Join(dir, "schemas", "own.json") + `:4:19: unknown key "typ" in fields[0]: did you mean "type"?`; err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// A file with a thousand invalid lines gives fewer errors.
func TestErrorsAreLimited(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"study.yaml": invoiceStudy, "docs.jsonl": strings.Repeat("{}\n", 1000)})
	_, err := openIn(t, dir)
	if err == nil || strings.Count(err.Error(), "\n") > 100 {
		t.Errorf("%d lines", strings.Count(err.Error(), "\n")+1)
	}
}

func TestSources(t *testing.T) {
	record := func(id string) string { // without text
		var m map[string]any
		if err := json.Unmarshal([]byte(invoiceLine(id, 100)), &m); err != nil {
			t.Fatal(err)
		}
		delete(m, "text")
		if id != "named" {
			delete(m, "document_id")
		}
		b, _ := json.Marshal(m)
		return string(b)
	}
	body := func(id string) string {
		var d Document
		if err := dataset.DecodeStrict([]byte(strings.TrimSpace(invoiceLine(id, 100))), &d); err != nil {
			t.Fatal(err)
		}
		return d.Text
	}
	files := map[string]string{
		"study.yaml": `name: t
suite: extraction
data:
  source: mixed
  parts:
    - {source: jsonl, path: docs.jsonl, count: 2}
    - {source: directory, path: folder, name: own}
arms: [{name: h, builtin: heuristic}]
`,
		"docs.jsonl":     invoices(3, 100),
		"folder/b.txt":   body("b"),
		"folder/b.json":  record("b"),
		"folder/a.txt":   "\ufeff" + body("named"),
		"folder/a.json":  "\ufeff" + record("named"), // Windows editors begin files with a byte order mark
		"folder/read.me": "not a document",
	}
	b := mustOpen(t, files)
	var got []string
	for _, it := range b.Items() {
		got = append(got, it.ID+" "+eval.LevelOf(it.Strata, "source")+" "+eval.LevelOf(it.Strata, "doc_type")+" "+eval.LevelOf(it.Strata, "difficulty"))
	}
	want := []string{"doc-000000 docs invoice easy", "doc-000002 docs invoice easy", "doc-named own invoice easy", "b own invoice easy"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	for _, it := range b.Items() {
		o, err := b.Perform(t.Context(), trial(it.ID, "h"), nil)
		if err != nil || o.Kind != eval.OK {
			t.Errorf("%s: %v %v", it.ID, o.Kind, err)
		}
	}

	for _, tt := range []struct{ want, file, old, new string }{
		{"folder/b.txt: its gold, b.json, does not exist", "folder/b.json", "", ""},
		{"folder/b.json: its document, b.txt or b.pdf, does not exist", "folder/b.txt", "", ""},
		{"text is set", "folder/b.json", "{", `{"text":"x",`},
		{"is not UTF-8", "folder/b.txt", body("b"), "\xff"},
		{"count is 5, but docs.jsonl has 3 documents", "study.yaml", "count: 2", "count: 5"},
		{"write source: jsonl", "study.yaml", "path: folder", "path: docs.jsonl"},
		{"write source: directory", "study.yaml", "path: docs.jsonl", "path: folder"},
		{"has no documents", "docs.jsonl", files["docs.jsonl"], "\n"},
		{"path, count, seed and split of a mixed source", "study.yaml", "source: mixed", "source: mixed\n  path: x"},
		{"parts need source: mixed", "study.yaml", "source: mixed", "source: jsonl\n  path: docs.jsonl"},
		{"source jsonl needs a path", "study.yaml", "path: docs.jsonl, ", ""},
		{"data.parts[1]: source synthetic has no path", "study.yaml", "source: directory", "source: synthetic"},
	} {
		changed := maps.Clone(files)
		changed[tt.file] = strings.Replace(files[tt.file], tt.old, tt.new, 1)
		if tt.old == "" {
			delete(changed, tt.file)
		}
		dir := t.TempDir()
		write(t, dir, changed)
		if _, err := openIn(t, dir); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

// What arms send: the kernel as system prompt, the document byte for byte, and
// the model's settings; pipelines get the document and its fields.
func TestRequests(t *testing.T) {
	files := studyOf(`  - {name: k, path: kernel.txt, models: [a]}
  - {name: e, exec: "cat -"}
  - {name: o, outputs: answers.jsonl}
`)
	files["study.yaml"] = strings.Replace(files["study.yaml"], "{id: a, provider: openai, name: x}",
		`{id: a, provider: openai, name: x, base_url: "http://127.0.0.1:9/v1", temperature: 0, top_p: 0.5, seed: 3, max_tokens: 99, structured: schema, reasoning: {effort: low, budget: 7, allowance: 8}}`, 1)
	b := mustOpen(t, files)
	ask := says(extractions())
	for _, arm := range []string{"k", "e", "o"} {
		if _, err := b.Perform(t.Context(), trial("doc-1", arm), ask); err != nil {
			t.Fatal(err)
		}
	}
	var d Document
	if err := dataset.DecodeStrict([]byte(strings.TrimSpace(files["docs.jsonl"])), &d); err != nil {
		t.Fatal(err)
	}
	k, e, o := ask.asked[0], ask.asked[1], ask.asked[2]
	zero, half, three := 0.0, 0.5, int64(3)
	s, _ := newSchemas("").get("invoice")
	want := eval.Request{Model: "a", Provider: "openai", Endpoint: "http://127.0.0.1:9/v1", Name: "x", Item: "doc-1",
		System:   render(files["kernel.txt"], s, false),
		Messages: []eval.Message{{Role: "user", Content: d.Text}},
		Schema:   &eval.Schema{Name: "extractions", Strict: true, JSON: s.answerSchema(false)},
		Sampling: eval.Sampling{Temperature: &zero, TopP: &half, Seed: &three}, MaxTokens: 99, Allowance: 8,
		Reasoning: eval.Reasoning{Effort: "low", Budget: 7}}
	if d := cmp.Diff(want, k); d != "" {
		t.Errorf("to the model (-want +got)\n%s", d)
	}
	var p payload
	if err := json.Unmarshal(e.Payload, &p); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(payload{"doc-1", d.Text, "invoice", s.Fields, nil}, p); d != "" {
		t.Errorf("to the pipeline (-want +got)\n%s", d)
	}
	if e.Model != "arm:e" || e.Provider != "exec" || e.Endpoint != "cat -" || e.Item != "doc-1" || e.Messages != nil {
		t.Errorf("to the pipeline: %+v", e)
	}
	if o.Model != "arm:o" || o.Provider != "outputs" || o.Endpoint != "answers.jsonl" || o.Item != "doc-1" || o.Payload != nil {
		t.Errorf("to the file of answers: %+v", o)
	}
	if !slices.Equal(ask.steps, []string{"extract", "extract", "extract"}) {
		t.Errorf("steps %v", ask.steps)
	}
}

func TestToolRequest(t *testing.T) {
	files := studyOf("  - {name: k, path: kernel.txt, models: [a]}\n")
	files["study.yaml"] = strings.Replace(files["study.yaml"], "name: x}", "name: x, structured: tool}", 1)
	b := mustOpen(t, files)
	ask := &fake{answer: func(string, eval.Request) (eval.Response, error) {
		return eval.Response{Stop: eval.StopTool, ToolCalls: []eval.ToolCall{{Name: toolName, Arguments: json.RawMessage(extractions())}}}, nil
	}}
	o, err := b.Perform(t.Context(), trial("doc-1", "k"), ask)
	if err != nil || o.Kind != eval.OK || string(o.Data) != extractions() {
		t.Errorf("%+v, %v", o, err)
	}
	r := ask.asked[0]
	if r.Schema != nil || r.Force != toolName || len(r.Tools) != 1 || r.Tools[0].Name != toolName || !json.Valid(r.Tools[0].Parameters) {
		t.Errorf("asked %+v", r)
	}
}

// Text beside the call of the forced tool is comment, whatever it holds.
func TestToolAnswers(t *testing.T) {
	files := studyOf("  - {name: k, path: kernel.txt, models: [a]}\n")
	files["study.yaml"] = strings.Replace(files["study.yaml"], "name: x}", "name: x, structured: tool}", 1)
	b := mustOpen(t, files)
	call := func(name, arguments string) eval.ToolCall {
		return eval.ToolCall{Name: name, Arguments: json.RawMessage(arguments)}
	}
	for _, test := range []struct {
		name  string
		text  string
		calls []eval.ToolCall
	}{
		{"prose", "I read the document first.", []eval.ToolCall{call(toolName, extractions())}},
		{"another object", `{"extractions":[{"field":"x"}]}`, []eval.ToolCall{call(toolName, extractions())}},
		{"another tool first", "I search first.", []eval.ToolCall{call("search", `{"q":"total"}`), call(toolName, extractions())}},
		{"the answer in the text", extractions(), []eval.ToolCall{call("search", `{"q":"total"}`)}},
		{"a misspelt name", "", []eval.ToolCall{call("report", extractions())}},
	} {
		ask := &fake{answer: func(string, eval.Request) (eval.Response, error) {
			return eval.Response{Text: test.text, Stop: eval.StopTool, ToolCalls: test.calls}, nil
		}}
		o, err := b.Perform(t.Context(), trial("doc-1", "k"), ask)
		if err != nil || o.Kind != eval.OK || string(o.Data) != extractions() {
			t.Errorf("%s: %+v, %v", test.name, o, err)
		}
	}
}

func TestRefusalIsAnOutcome(t *testing.T) {
	b := mustOpen(t, studyOf("  - {name: k, path: kernel.txt, models: [a]}\n"))
	ask := &fake{answer: func(string, eval.Request) (eval.Response, error) {
		return eval.Response{Stop: eval.StopRefused, Refusal: "I can't help with that."}, nil
	}}
	o, err := b.Perform(t.Context(), trial("doc-1", "k"), ask)
	if err != nil || o.Kind != eval.Refused || o.Detail != "I can't help with that." || o.Reason == "" {
		t.Errorf("%+v, %v", o, err)
	}
}

// A schema in the study's folder is used instead of a shipped one of its name.
func TestOwnSchemaFirst(t *testing.T) {
	files := studyOf("  - {name: h, builtin: heuristic}\n")
	files["schemas/invoice.json"] = `{"name":"invoice","fields":[{"name":"other","type":"string","description":""}]}`
	dir := t.TempDir()
	write(t, dir, files)
	if _, err := openIn(t, dir); err == nil || !strings.Contains(err.Error(), `field "total_amount": schema invoice has no such field`) {
		t.Errorf("%v", err)
	}
	if err := os.Remove(filepath.Join(dir, "schemas/invoice.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := openIn(t, dir); err != nil {
		t.Errorf("%v", err)
	}
}

// The starter study is valid, and Init never overwrites files.
func TestInit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my study")
	suite := Suite()
	files, err := suite.Init(dir)
	if err != nil {
		t.Fatal(err)
	}
	if files[0] != filepath.Join(dir, "study.yaml") || !slices.Contains(files, filepath.Join(dir, "kernels", "ctn_extraction.txt")) {
		t.Errorf("wrote %v", files)
	}
	b, err := openIn(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(b.Items()); n < 15 || b.study.Name != "my-study" {
		t.Errorf("study %q of %d documents", b.study.Name, n)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := suite.Init(dir); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("existing files overwritten: %v", err)
	}
	if _, err := os.Stat(files[0]); err == nil {
		t.Error("written in part")
	}
}

// The starter study's documents are part of the shipped example, which opens.
func TestShippedExample(t *testing.T) {
	example := filepath.Join("..", "..", "..", "examples", "contracts")
	all, err := os.ReadFile(filepath.Join(example, "data", "contracts.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	starter, err := template.ReadFile("template/data/contracts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.SplitAfter(string(starter), "\n") {
		if !strings.Contains(string(all), line) {
			t.Errorf("line %d of the starter's documents is not in the example's", i+1)
		}
	}
	schema, err := os.ReadFile(filepath.Join(example, "schemas", "cuad.json"))
	if err != nil {
		t.Fatal(err)
	}
	b := mustOpen(t, map[string]string{
		"study.yaml":        "name: t\nsuite: extraction\ndata: {source: jsonl, path: contracts.jsonl}\narms: [{name: h, builtin: heuristic}]\n",
		"contracts.jsonl":   string(all),
		"schemas/cuad.json": string(schema)})
	if len(b.Items()) != 40 {
		t.Errorf("%d contracts, want 40", len(b.Items()))
	}
}

// TestDraw: a count draws every type, difficulty and split in proportion; a larger one keeps
// what a smaller one drew.
func TestDraw(t *testing.T) {
	seed := uint64(43)
	src, err := openSynthetic(Synthetic{Seed: &seed, Split: "test"})
	if err != nil {
		t.Fatal(err)
	}
	var before []int
	for _, count := range []int{10, 50, 80} {
		used, err := draw(src, count, 42)
		if err != nil || len(used) != count {
			t.Fatalf("%d documents of %d, %v", len(used), count, err)
		}
		all, have := map[string]int{}, map[string]int{}
		for i := range src.Len() {
			d, err := src.read(i, true)
			if err != nil {
				t.Fatal(err)
			}
			key := d.DocType + d.Schema + d.Difficulty
			all[key]++
			if slices.Contains(used, i) {
				have[key]++
			}
		}
		for key, n := range all {
			if share := float64(n*count) / float64(src.Len()); !(math.Abs(float64(have[key])-share) <= 1) {
				t.Errorf("count %d: %d of %s, want about %.1f of %d", count, have[key], key, share, n)
			}
		}
		for _, i := range before {
			if !slices.Contains(used, i) {
				t.Errorf("count %d does not have document %d of the smaller draw", count, i)
			}
		}
		before = used
	}
	if other, _ := draw(src, 80, 7); slices.Equal(other, before) {
		t.Error("the seed has no effect")
	}
}

package study

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
)

// A contracts study is what a suite makes of [Study]: keys of its own beside
// the common ones, with a recursive section.
type contracts struct {
	Study
	Documents documents `json:"documents,omitzero"`
	Schemas   string    `json:"schemas" jsonschema:"default=schemas"`
	Kernels   []kernel  `json:"kernels,omitempty"`
	Metrics   metrics   `json:"metrics,omitempty"`
}

// metrics is a section that the suite has added a key to.
type metrics struct {
	Metrics
	CompositeWeights map[string]float64 `json:"composite_weights,omitempty"`
}

func (c *contracts) Common() *Study {
	c.Study.Metrics = c.Metrics.Metrics
	return &c.Study
}

func (metrics) JSONSchemaExtend(s *jsonschema.Schema) {
	if p, ok := s.Properties.Get("composite_weights"); ok {
		p.AdditionalProperties = &jsonschema.Schema{Type: "number", Minimum: "0"}
	}
}

type documents struct {
	Source string      `json:"source" jsonschema:"required,enum=jsonl,enum=directory,enum=mixed"`
	Path   string      `json:"path,omitempty"`
	Parts  []documents `json:"parts,omitempty"`
}

type kernel struct {
	Name    string   `json:"name" jsonschema:"required,minLength=1"`
	Path    string   `json:"path,omitempty"`
	Builtin string   `json:"builtin,omitempty"`
	Models  []string `json:"models,omitempty" jsonschema:"minItems=1,maxItems=3,uniqueItems=true"`
	Enabled *bool    `json:"enabled,omitempty"`
}

const contractsYAML = `name: contracts
suite: extraction
models: [{id: fake, provider: openai, name: any-name, base_url: "http://127.0.0.1:8099/v1", temperature: 0, max_tokens: 256}]
execution: {concurrency: 64, retries: [10s, 30s, 90s], timeout: 60s, delay: 0s, replicates: 1, seed: 42}
documents: {source: jsonl, path: data/contracts.jsonl}     # the suite's own keys
schemas: schemas
kernels: [{name: ctn, path: kernels/ctn.txt, models: [fake]}, {name: h, builtin: heuristic}]
comparisons: [{a: ctn, b: h, primary: true}]
metrics: {primary: [composite], composite_weights: {value: 0.3, evidence: 0.3, page: 0.1, status: 0.2, schema: 0.1}}
statistics: {method: auto, alpha: 0.05, correction: none}
decide: {require: [{name: better, that: "diff('ctn', 'h', 'composite') >= 0.05"}], outcomes: [{name: A, when: "p < 0.05", verdict: pass}, {name: B, verdict: fail}]}
`

// loadText loads a study from text, as if it stood in study.yaml.
func loadText(yaml string, overrides ...string) (*contracts, *File, error) {
	var c contracts
	f, err := load("study.yaml", []byte(yaml), overrides, &c)
	return &c, f, err
}

// minimal is a study with nothing but what must be there, and more.
func minimal(more string) string { return "name: n\nsuite: s\n" + more }

func TestLoadReadsAStudy(t *testing.T) {
	c, _, err := loadText(contractsYAML)
	if err != nil {
		t.Fatal(err)
	}
	zero, yes, tolerated := 0.0, true, 0.05
	want := &contracts{
		Study: Study{
			Name: "contracts", Suite: "extraction",
			Models: []Model{{ID: "fake", Provider: "openai", Name: "any-name", BaseURL: "http://127.0.0.1:8099/v1", Temperature: &zero, MaxTokens: 256}},
			Execution: Execution{Concurrency: 64, Retries: []Duration{Duration(10 * time.Second), Duration(30 * time.Second), Duration(90 * time.Second)},
				Timeout: Duration(time.Minute), Replicates: 1, Seed: 42, MaxFailed: &tolerated},
			Comparisons: []Compare{{A: "ctn", B: "h", Primary: true}},
			Metrics:     Metrics{Primary: []string{"composite"}},
			Statistics:  Statistics{Method: "auto", Alpha: 0.05, Correction: "none", Resamples: 10000, Intervals: "analytic"},
			Decide: Decide{Require: []Condition{{Name: "better", That: "diff('ctn', 'h', 'composite') >= 0.05"}},
				Outcomes: []Class{{Name: "A", When: "p < 0.05", Verdict: "pass"}, {Name: "B", Verdict: "fail"}}},
			Output: Output{ResultsDir: "results", GenerateReport: &yes},
		},
		Documents: documents{Source: "jsonl", Path: "data/contracts.jsonl"},
		Schemas:   "schemas",
		Kernels:   []kernel{{Name: "ctn", Path: "kernels/ctn.txt", Models: []string{"fake"}}, {Name: "h", Builtin: "heuristic"}},
		Metrics: metrics{Metrics{Primary: []string{"composite"}},
			map[string]float64{"value": 0.3, "evidence": 0.3, "page": 0.1, "status": 0.2, "schema": 0.1}},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("study differs (-want +got):\n%s", diff)
	}
}

// What is absent has a default; what is written stays, be it nothing.
func TestDefaults(t *testing.T) {
	yes, no, tolerated, none := true, false, 0.05, 0.0
	standard := Study{
		Name: "n", Suite: "s",
		Execution: Execution{Concurrency: 16, Retries: []Duration{Duration(10 * time.Second), Duration(30 * time.Second), Duration(90 * time.Second)},
			Timeout: Duration(time.Minute), Replicates: 1, Seed: 42, MaxFailed: &tolerated},
		Statistics: Statistics{Method: "auto", Alpha: 0.05, Correction: "holm", Resamples: 10000, Intervals: "analytic"},
		Output:     Output{ResultsDir: "results", GenerateReport: &yes},
	}
	tests := []struct {
		yaml   string
		change func(*Study)
	}{
		{"", func(*Study) {}},
		{"execution: {}\nstatistics: {}\noutput: {}\n", func(*Study) {}},
		{"execution: {seed: 0}", func(s *Study) { s.Execution.Seed = 0 }},
		{"execution: {seed: -7}", func(s *Study) { s.Execution.Seed = -7 }},
		{"execution: {retries: []}", func(s *Study) { s.Execution.Retries = []Duration{} }},
		{"execution: {max_failed: 0}", func(s *Study) { s.Execution.MaxFailed = &none }},
		{"execution: {timeout: 0}", func(s *Study) { s.Execution.Timeout = 0 }},
		{"execution: {timeout: 1.5, delay: 250ms}", func(s *Study) {
			s.Execution.Timeout, s.Execution.Delay = Duration(1500*time.Millisecond), Duration(250*time.Millisecond)
		}},
		{"output: {generate_report: false}", func(s *Study) { s.Output.GenerateReport = &no }},
		{"statistics: {alpha: 0.1, correction: holm}", func(s *Study) { s.Statistics.Alpha, s.Statistics.Correction = 0.1, "holm" }},
		// Metrics are the suite's to choose.
		{"metrics: {}", func(s *Study) { s.Metrics.Primary = nil }},
	}
	for _, tt := range tests {
		want := standard
		tt.change(&want)
		c, _, err := loadText(minimal(tt.yaml))
		if err != nil {
			t.Errorf("%s: %v", tt.yaml, err)
			continue
		}
		if diff := cmp.Diff(want, c.Study); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.yaml, diff)
		}
	}
}

// A suite's own sections and lists get the defaults of their tags, but for an
// absent section in which something is required.
func TestDefaultsOfASuite(t *testing.T) {
	type part struct {
		Size int    `json:"size" jsonschema:"default=3"`
		Name string `json:"name,omitempty"`
	}
	type strict struct {
		Key  string `json:"key" jsonschema:"required"`
		Size int    `json:"size" jsonschema:"default=4"`
	}
	type suite struct {
		Study
		Part   part    `json:"part"`
		Parts  []part  `json:"parts"`
		Strict *strict `json:"strict,omitempty"`
	}
	var s suite
	if _, err := load("study.yaml", []byte(minimal("parts: [{name: a}, {size: 0}]")), nil, &s); err != nil {
		t.Fatal(err)
	}
	if s.Part.Size != 3 || s.Parts[0].Size != 3 || s.Parts[1].Size != 0 || s.Strict != nil {
		t.Errorf("got %+v, %+v, %+v; want size 3, sizes 3 and 0, and no strict section", s.Part, s.Parts, s.Strict)
	}
	if _, err := load("study.yaml", []byte(minimal("strict: {key: k}")), nil, &s); err != nil || s.Strict.Size != 4 {
		t.Errorf("strict section given: got %+v, %v; want size 4", s.Strict, err)
	}
}

// One study written in many ways is one canonical study; another is another.
func TestCanonical(t *testing.T) {
	canonical := func(yaml string, overrides ...string) string {
		t.Helper()
		_, f, err := loadText(yaml, overrides...)
		if err != nil {
			t.Fatalf("%s: %v", yaml, err)
		}
		return string(f.Canonical())
	}
	want := `{"decide":{},"execution":{"concurrency":8,"max_failed":0.05,"replicates":1,"retries":["10s","30s","1m30s"],"seed":42,"timeout":"1m0s"},` +
		`"metrics":{},"name":"n","output":{"generate_report":true,"results_dir":"results"},"schemas":"<a&b>",` +
		`"statistics":{"alpha":0.05,"correction":"holm","intervals":"analytic","method":"auto","resamples":10000},"suite":"s"}`
	for _, yaml := range []string{
		"name: n\nsuite: s\nschemas: <a&b>\nexecution: {concurrency: 8}\n",
		"suite: 's'\nschemas: \"<a&b>\"\nexecution:\n  timeout: 60\n  concurrency: 8.0\n  seed: 0x2a\nname: n\n",
		"name: n\r\nsuite: s\r\nschemas: <a&b>\r\nexecution:\r\n  concurrency: 8\r\n  max_cost: 0\r\n",
		"\ufeffname: n\nsuite: s\nschemas: <a&b>\nexecution: {concurrency: 8, retries: [10, 30s, 1m30s]}\nmodels: []\n",
	} {
		if got := canonical(yaml); got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", yaml, got, want)
		}
	}
	if got := canonical(minimal("schemas: <a&b>"), "execution.concurrency=8"); got != want {
		t.Errorf("by override:\ngot  %s\nwant %s", got, want)
	}
	if canonical(minimal("execution: {seed: 0}")) == canonical(minimal("")) {
		t.Error("seed 0 and the default seed are the same study")
	}
	if canonical(minimal("execution: {retries: []}")) == canonical(minimal("")) {
		t.Error("no retries and the default retries are the same study")
	}
	_, f, _ := loadText(minimal(""))
	f.Canonical()[0] = 'x'
	if f.Canonical()[0] != '{' {
		t.Error("a caller can change the canonical form")
	}
}

func TestSuiteAndName(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(yaml string) {
		t.Helper()
		if err := os.WriteFile("study.yaml", []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# no more is needed\nsuite: extraction\nkernals: 3\nname: n\n")
	if _, got, err := Suite("study.yaml", nil); got != "extraction" || err != nil {
		t.Errorf("Suite: got %q, %v", got, err)
	}
	if _, got, err := Suite("study.yaml", []string{"suite=atoms"}); got != "atoms" || err != nil {
		t.Errorf("Suite with override: got %q, %v", got, err)
	}
	if got, split, err := Name("study.yaml", []string{"split=dev"}); got != "n" || split != "dev" || err != nil {
		t.Errorf("Name: got %q, %q, %v", got, split, err)
	}
	for _, tt := range []struct{ yaml, want string }{
		{"\n# a comment\nname: n\n", `study.yaml:3:1: "suite" is missing: name the suite, as in suite: NAME`},
		{"suite:\n", `study.yaml:1:1: suite: missing value: set one or remove the key`},
		{"suite: ''\n", `study.yaml:1:1: suite: empty value: name the suite, as in suite: NAME`},
		{"name: n\nsuite: [a]\n", `study.yaml:2:1: suite: want text, got a list`},
		{"", `study.yaml: the file has no study: it needs at least the keys name and suite`},
	} {
		write(tt.yaml)
		_, _, err := Suite("study.yaml", nil)
		wantError(t, tt.yaml, err, tt.want)
	}
	_, _, err := Suite("nowhere.yaml", nil)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: got %v", err)
	}
	_, err = Load(".", nil, new(Study))
	wantError(t, "a folder", err, "reading the study: . is a folder: give the path of a file in it")
}

// wantError compares the whole text of an error.
func wantError(t *testing.T, about string, err error, want string) {
	t.Helper()
	got := "no error"
	if err != nil {
		got = err.Error()
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", about, diff)
	}
}

func TestLoadFromDisk(t *testing.T) {
	dir := t.TempDir()
	path := dir + "/contracts.yaml"
	if err := os.WriteFile(path, []byte(contractsYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	var c contracts
	f, err := Load(path, []string{"name=other"}, &c)
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "other" || f.Path != path || f.Dir != dir {
		t.Errorf("got name %q, path %s, dir %s", c.Name, f.Path, f.Dir)
	}
	for rel, want := range map[string]string{"kernels/a.txt": dir + "/kernels/a.txt", "../x": dir[:strings.LastIndex(dir, "/")] + "/x", "/etc/x": "/etc/x", "": dir} {
		if got := f.Resolve(rel); got != want {
			t.Errorf("Resolve(%q) = %q, want %q", rel, got, want)
		}
	}
}

func load(path string, data []byte, overrides []string, into Any) (*File, error) {
	f, err := parse(path, data, overrides)
	if err != nil {
		return nil, err
	}
	return f, f.load(into)
}

package extraction

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "write golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		write(t, "testdata", map[string]string{name: got})
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got), go test -update rewrites it:\n%s", path, d)
	}
}

// The complete system prompts of the shipped kernels and ablations (X2.3).
func TestPrompts(t *testing.T) {
	s, err := newSchemas("").get("invoice")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range shippedKernelNames {
		golden(t, name+".prompt.txt", render(shippedKernel(name), s, false))
	}
	for name, remove := range ablations {
		kernel, err := ablate(shippedKernel(ablated), remove)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "ctn-"+name+".prompt.txt", render(kernel, s, false))
	}
}

// An ablation is the full kernel without the lines of one block.
func TestAblate(t *testing.T) {
	full := shippedKernel("ctn_extraction")
	for _, v := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		got, err := ablate(full, []string{"v" + v})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(got, "\n\n\n") || strings.HasPrefix(got, "\n") {
			t.Errorf("without v%s the kernel has a gap:\n%s", v, got)
		}
		kept := strings.Split(got, "\n")
		for _, line := range strings.Split(full, "\n") {
			if len(kept) > 0 && line == kept[0] {
				kept = kept[1:]
			}
		}
		if len(kept) > 0 {
			t.Errorf("without v%s there is a new line: %q", v, kept[0])
		}
		if n := len(regexp.MustCompile(`(?m)^ *v[₁-₇] =`).FindAllString(got, -1)); n != 6 {
			t.Errorf("without v%s there are %d tensors, want 6", v, n)
		}
	}
	for _, name := range []string{"v₁", " v1 "} {
		got, err := ablate(full, []string{name})
		want, _ := ablate(full, []string{"v1"})
		if err != nil || got != want {
			t.Errorf("%q is not v1: %v", name, err)
		}
	}
	flat := "Rules:\nv1 = { a }\n# about v1\n  and more\nv2 = { b }\n# about v2\nEnd\n"
	for remove, want := range map[string]string{
		"v1": "Rules:\nv2 = { b }\n# about v2\nEnd\n",
		"v2": "Rules:\nv1 = { a }\n# about v1\n  and more\nEnd\n",
	} {
		if got, err := ablate(flat, []string{remove}); err != nil || got != want {
			t.Errorf("without %s: %v\n%s", remove, err, got)
		}
	}
	for remove, want := range map[string]string{
		"v8":    `no tensor block "v8" to remove: the kernel has v1, v2, v3, v4, v5, v6, v7`,
		"v1,v₁": `duplicate tensor block "v₁"`,
		"":      `no tensor block ""`,
	} {
		if _, err := ablate(full, strings.Split(remove, ",")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("removing %q: %v, want %s", remove, err, want)
		}
	}
	if _, err := ablate(shippedKernel("idiomatic"), []string{"v1"}); err == nil || !strings.Contains(err.Error(), "the kernel has none") {
		t.Errorf("idiomatic has no blocks, but: %v", err)
	}
}

func TestCheckKernel(t *testing.T) {
	for _, name := range shippedKernelNames {
		if err := checkKernel(shippedKernel(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for kernel, want := range map[string]string{
		"Extract. {{SCHEMA}}":                         "the kernel has no {{OUTPUT_FORMAT}}",
		"Extract. {{OUTPUT_FORMAT}}":                  "the kernel has no {{SCHEMA}}",
		"{{SCHEMA}}\n{{OUTPUT_FORMAT}}\n{{DOCUMENT}}": "line 3 of the kernel has the unknown placeholder {{DOCUMENT}}",
		"{{schema}} {{OUTPUT_FORMAT}}":                "unknown placeholder {{schema}}",
	} {
		if err := checkKernel(kernel); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", kernel, err, want)
		}
	}
}

// Placeholders in the schema's text are not replaced.
func TestRenderFillsInOnce(t *testing.T) {
	s := &Schema{Name: "s", Fields: []Field{{Name: "f", Type: "string", Description: "write {{OUTPUT_FORMAT}} here"}}}
	got := render("{{SCHEMA}}|{{OUTPUT_FORMAT}}|{{SCHEMA}}", s, false)
	if strings.Count(got, "write {{OUTPUT_FORMAT}} here") != 2 || strings.Count(got, "Answer with one valid JSON object") != 1 {
		t.Errorf("rendered to\n%s", got)
	}
}

// The policies on missing, ambiguous, guessing and evidence are the same in
// all full kernels (X2.2), and so is what follows them.
func TestKernelsHaveTheSamePolicies(t *testing.T) {
	policies := map[string][]string{
		"missing":   {`(?i)missing`},
		"ambiguous": {`(?i)ambiguous`, `(?i)candidate`},
		"guessing":  {`(?i)guess`},
		"evidence":  {`(?i)quote`, `(?i)verbatim|word for word|exactly`},
		"invention": {`(?i)make up|no quotes that the document does not hold`},
		"only":      {`(?i)only`},
	}
	for _, name := range shippedKernelNames {
		kernel := shippedKernel(name)
		if name == "placebo_math" { // has no policies: it is the control for notation
			continue
		}
		for policy, forms := range policies {
			for _, form := range forms {
				if !regexp.MustCompile(form).MatchString(kernel) {
					t.Errorf("%s says nothing on %s (%s)", name, policy, form)
				}
			}
		}
		if !strings.HasSuffix(kernel, "\n\n{{SCHEMA}}\n\n{{OUTPUT_FORMAT}}\n") {
			t.Errorf("%s does not end in schema and output format", name)
		}
	}
}

// The JSON Schema of the answer accepts an entry if and only if the reader finds
// no fault, as far as a schema can express it.
func TestAnswerSchema(t *testing.T) {
	s := &Schema{Name: "s", Fields: []Field{{Name: "f", Type: "string"}}}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(s.answerSchema(false))))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("answer.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("answer.json")
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]bool{
		extractions(ok("v", "q", "1"), missing(), ambiguous(candidate("a", "q", "1"), candidate("b", "q", "2"))): true,
		extractions():                                  true,
		extractions(ok("v", "q", `"1"`)):               false,
		extractions(entryJSON("v", "q", "1", "found")): false,
		extractions(named(missing(), "g")):             false,
		`{}`:                                           false,
		extractions(`{"field":"f","value":null,"evidence":null,"status":"missing"}`): false,
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(answer))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); (err == nil) != want {
			t.Errorf("%s: %v, valid should be %v", answer, err, want)
		}
	}
}

// The shipped schemas have the fields of the plan's §3.7: 5, 6, 7, 6 and 5,
// and 580 in a set of 25 + 20 + 20 + 20 + 15 documents.
func TestShippedSchemas(t *testing.T) {
	fields := map[string]int{"invoice": 5, "contract": 6, "medical": 7, "receipt": 6, "resume": 5}
	documents := map[string]int{"invoice": 25, "contract": 20, "medical": 20, "receipt": 20, "resume": 15}
	found, total := newSchemas("no such folder"), 0
	for _, name := range shippedSchemaNames() {
		s, err := found.get(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Fields) != fields[name] {
			t.Errorf("%s has %d fields, want %d", name, len(s.Fields), fields[name])
		}
		for _, f := range s.Fields {
			if f.Description == "" {
				t.Errorf("%s.%s has no description", name, f.Name)
			}
		}
		total += len(s.Fields) * documents[name]
	}
	if total != 580 {
		t.Errorf("%d fields in a set, want 580", total)
	}
}

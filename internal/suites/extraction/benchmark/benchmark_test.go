package benchmark

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/suites/kit"
)

var update = flag.Bool("update", false, "rewrite the golden studies")

// TestGolden: what each benchmark becomes, with what the import says.
func TestGolden(t *testing.T) {
	for name, of := range map[string]kit.Import{"docubench": Imports()[1], "extractbench": Imports()[0], "older": Imports()[0]} {
		t.Run(name, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "study")
			said, err := of.Folder([]string{filepath.Join("testdata", name)}, to)
			if err != nil {
				t.Fatal(err)
			}
			var all strings.Builder
			all.WriteString(filepath.ToSlash(strings.ReplaceAll(fmt.Sprint(said), to, "study")))
			err = walk(to, func(path string) error {
				data, err := os.ReadFile(path)
				inside, _ := filepath.Rel(to, path)
				if !strings.HasPrefix(inside, "schemas") {
					fmt.Fprintf(&all, "-- %s --\n%s", filepath.ToSlash(inside), data)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(all.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), all.String()); d != "" {
				t.Errorf("(-golden +now)\n%s", d)
			}
		})
	}
}

// The published scores of DocuBench, to 1e-6, and one counted by hand: the number agrees, as do
// "Blue pen" and half of "Red pen"; three items of two leaves and one leaf outside weigh 7.
func TestDocuBenchScores(t *testing.T) {
	for _, c := range []struct {
		path string
		want float64
	}{
		{"extend/69Ny1DwE", 0.9193548387096774},
		{"reducto/69Ny1DwE", 0.5161290322580645},
		{"extend/made", (1 + (1+0.5)/3*6) / 7},
		{"reducto/made", 0},
	} {
		var result struct {
			Data jsontext.Value `json:"data"`
		}
		id := filepath.Base(c.path)
		if err := into("testdata/docubench/results/"+c.path+".json", &result); err != nil {
			t.Fatal(err)
		}
		schema, err := readJSON("testdata/docubench/schemas/" + id + ".json")
		if err != nil {
			t.Fatal(err)
		}
		label, err := readJSON("testdata/docubench/labels/" + id + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := docuBenchScore(result.Data, schema, label); err != nil || math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %v, %v, want %v", c.path, got, err, c.want)
		}
	}
}

// What is not the benchmark, or damaged, is refused with its place, and nothing is written.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name, format string
		files        map[string]string
		want         string
	}{
		{"another folder", "docubench", map[string]string{"x": ""}, "is not DocuBench"},
		{"another folder", "extractbench", map[string]string{"x": ""}, "is not ExtractBench"},
		{"no documents", "docubench", map[string]string{"labels/a.json": "{}"}, "no documents with gold"},
		{"a broken schema", "docubench", map[string]string{"labels/a.json": "{}", "schemas/a.json": "{"}, "schemas/a.json: not valid JSON"},
		{"a broken label", "docubench", map[string]string{"labels/a.json": "{", "schemas/a.json": "{}"}, "labels/a.json: not valid JSON"},
		{"a result", "docubench", map[string]string{"labels/a.json": "{}", "schemas/a.json": "{}", "results/s/a.json": "[]"}, "results/s/a.json: "},
		{"another result", "docubench", map[string]string{"labels/a.json": "{}", "schemas/a.json": "{}", "results/s/a.json": `{"answer": {}}`}, "want an object under data"},
		{"a test case", "extractbench", map[string]string{"a.test.json": "{"}, "a.test.json: not valid JSON"},
		{"a result of a pipeline", "extractbench", map[string]string{"d/a.test.json": `{"data_schema": {}, "expected_output": {}}`, "o/a.result.json": "{}"}, "unknown version of a result"},
		{"a name that leaves the folder", "extractbench", map[string]string{"d/a.test.json": `{"data_schema": {}, "expected_output": {}}`, "o/a.result.json": `{"request": {"example_id": "d/a"}, "pipeline_name": "../../x", "output": {"data": {}}}`}, `the system "../../x": want letters`},
		{"a name for another file", "docubench", map[string]string{"labels/a.json": "{}", "schemas/a.json": "{}", "results/a: b/a.json": `{"data": {}}`}, `the system "a: b": want letters`},
		{"the same name twice", "extractbench", map[string]string{"x/t-schema.json": "{}", "x/pdf+gold/a.gold.json": "{}", "y/u-schema.json": "{}", "y/pdf+gold/a.gold.json": "{}"}, `duplicate document "a"`},
	} {
		t.Run(c.format+" "+c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range c.files {
				path := filepath.Join(dir, "b", filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			of := Imports()[0]
			if c.format == "docubench" {
				of = Imports()[1]
			}
			_, err := of.Folder([]string{filepath.Join(dir, "b")}, filepath.Join(dir, "to"))
			if err == nil || !strings.Contains(filepath.ToSlash(err.Error()), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "to", "*")); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

// A link that leaves the folder is refused.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"labels", "schemas"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "labels", "a.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "schemas", "a.json")); err != nil {
		t.Skip(err)
	}
	if _, err := docuBench(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
}

// FuzzDocuBenchScore: no answer makes the score fail but with an error, and it is from 0 to 1.
func FuzzDocuBenchScore(f *testing.F) {
	f.Add(`{"a": [{"b": 1}], "c": "x"}`, `{"type": "object", "properties": {"a": {"type": "array"}, "c": {"type": "string"}}}`, `{"a": [{"b": 2}]}`)
	f.Fuzz(func(t *testing.T, answer, schema, label string) {
		for _, s := range []string{answer, schema, label} {
			var v any
			if jsonv2.Unmarshal([]byte(s), &v) != nil {
				return
			}
		}
		if got, err := docuBenchScore([]byte(answer), []byte(schema), []byte(label)); err == nil && !(got >= 0 && got <= 1+1e-9) {
			t.Errorf("score %v", got)
		}
	})
}

package benchmark

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
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
			err = filepath.WalkDir(to, func(path string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return err
				}
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
		if got, err := docuBenchScore(result.Data, schema, label); err != nil || !(math.Abs(got-c.want) <= 1e-6) {
			t.Errorf("%s: %v, %v, want %v", c.path, got, err, c.want)
		}
	}
}

// Cases of scorer.py at 27ce5be4, counted by hand.
func TestDocuBenchRules(t *testing.T) {
	const nullable = `{"type": "object", "properties": {"o": {"type": ["object", "null"], "properties": {"n": {"type": "string"}, "l": {"type": "array"}}}}}`
	for _, c := range []struct {
		name, schema, label, answer string
		want                        float64
	}{
		{"true is 1", `{"type": "object", "properties": {"b": {"type": "boolean"}, "c": {"type": "boolean"}}}`, `{"b": true, "c": false}`, `{"b": 1, "c": 0}`, 1},
		{"true is not yes", `{"type": "object", "properties": {"b": {"type": "boolean"}}}`, `{"b": true}`, `{"b": "true"}`, 0},
		{"a list in a nullable object, which is a leaf besides", nullable, `{"o": {"n": "x", "l": [1, 2]}}`, `{"o": {"n": "x", "l": [2, 1]}}`, 2.0 / 3},
		{"a nullable object of lists alone is no leaf", `{"type": "object", "properties": {"o": {"type": ["object", "null"], "properties": {"l": {"type": "array"}}}}}`, `{"o": {"l": [1, 2]}}`, `{"o": {"l": [2, 1]}}`, 1},
		{"an object without members is no leaf", `{"type": "object", "properties": {"o": {"type": "object"}, "n": {"type": "string"}}}`, `{"o": {"x": 1}, "n": "a"}`, `{"o": {"x": 2}, "n": "a"}`, 1},
	} {
		if got, err := docuBenchScore(jsontext.Value(c.answer), jsontext.Value(c.schema), jsontext.Value(c.label)); err != nil || !(math.Abs(got-c.want) <= 1e-12) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
	}
	long := `{"l": [1` + strings.Repeat(", 1", 10_000) + `]}`
	if _, err := docuBenchScore(jsontext.Value(long), jsontext.Value(`{"type": "object", "properties": {"l": {"type": "array"}}}`), jsontext.Value(long)); !errors.Is(err, errTooLong) {
		t.Error(err)
	}
}

// The folder of a group is named from inside of it too.
func TestFolderOfAGroup(t *testing.T) {
	t.Chdir("testdata/extractbench/data/short")
	c, err := extractBench(".")
	if err != nil || len(c.documents) != 2 || c.documents[0].id != "short/bill" || c.documents[0].extra["length"] != "short" {
		t.Errorf("%+v, %v", c, err)
	}
}

// The file of a document can have its extension in capitals. Documents without a text stay apart.
func TestFileOfADocument(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.TXT", "a.json", "ab.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text of "+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := &corpus{documents: []document{{id: "a", gold: jsontext.Value("{}"), file: beside(dir, "a")}, {id: "b", gold: jsontext.Value("{}"), file: beside(dir, "b")}}}
	var b strings.Builder
	if err := c.writeDocuments(&b); err != nil || !strings.Contains(b.String(), `"text of a.TXT"`) || !strings.Contains(b.String(), `"text":"[b]"`) {
		t.Errorf("%s, %v", b.String(), err)
	}
}

// The unified value F1 counts cells as llama-extract-bench 1.0.0 on PyPI does, whose code gave the
// numbers of these cases, written by hand: each is of the rule that its source has.
func TestUnifiedValueF1(t *testing.T) {
	var cases []struct {
		Name, Source string
		Case         testCase
		Output       struct {
			Data  jsontext.Value `json:"extracted_data"`
			Cited []citation     `json:"field_citations"`
		}
		Right, Answered, Expected int
	}
	data, err := os.ReadFile("testdata/unified.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := jsonv2.Unmarshal(data, &cases, jsonv2.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			answer, err := decode(c.Output.Data)
			if err != nil {
				t.Fatal(err)
			}
			want := counts{c.Right, c.Answered, c.Expected}
			if got, err := unifiedCounts(c.Case, answer, c.Output.Cited); err != nil || got != want {
				t.Errorf("%+v, %v, want %+v (%s)", got, err, want, c.Source)
			}
		})
	}
	if got := (counts{4, 8, 6}).f1(); !(math.Abs(got-4.0/7) <= 1e-15) { // 2 · 4 of 8 and 6 cells
		t.Errorf("F1 %v", got)
	}
}

// Claims under payments and beside them are the same (evaluators/extract.py, _normalize_eob_layouts).
func TestClaims(t *testing.T) {
	for _, c := range [][4]string{
		{`{"payment_details": {"no": 1}}`, `{"payment_details": [{"no": 1}]}`, `{"payment_details":[{"no":1}]}`, `{"payment_details":[{"no":1}]}`},
		{`{"claims": [1]}`, `{"payment_details": [{"no": 1, "claims": [1, 2]}, {"no": 2}]}`, `{"claims":[1]}`, `{"claims":[1,2],"payment_details":[{"no":1},{"no":2}]}`},
		{`{"payment_details": [{"claims": [1]}], "claims": []}`, `{"claims": [1]}`, `{"claims":[1],"payment_details":[{}]}`, `{"claims":[1]}`},
		{`{"claims": [1]}`, `{"claims": [2], "payment_details": [{"claims": [1]}]}`, `{"claims":[1]}`, `{"claims":[2],"payment_details":[{"claims":[1]}]}`},
	} {
		a, _ := decode(jsontext.Value(c[0]))
		g, _ := decode(jsontext.Value(c[1]))
		a, g = sameClaims(a, g)
		answer, _ := json.Marshal(a)
		gold, _ := json.Marshal(g)
		if string(answer) != c[2] || string(gold) != c[3] {
			t.Errorf("%s and %s", answer, gold)
		}
	}
}

// Texts as dateutil 2.9 reads them after the patterns of normalize_date_string, in 2026, but that
// a time of day has a colon, am or pm.
func TestISODates(t *testing.T) {
	for text, want := range map[string]string{
		"2024-01-05":                          "2024-01-05",
		"13/02/2024":                          "2024-02-13",
		"02/13/2024":                          "2024-02-13",
		"31/31/2024":                          "31/31/2024",
		"12/31/75":                            "2075-12-31",
		"12/31/76":                            "1976-12-31",
		"1-2-03":                              "2003-01-02",
		"Sept 5 2024":                         "2024-09-05",
		"Sept. 5, 2024":                       "Sept. 5, 2024",
		"Sep 5,2024":                          "2024-09-05",
		"March 27 ,1956":                      "1956-03-27",
		"Monday, March 5, 2024":               "2024-03-05",
		"Mon. Mar 5 2024":                     "2024-03-05",
		"5 March 2024":                        "2024-03-05",
		"5-Mar-24 5 March 2024":               "5-Mar-24 5 March 2024",
		"2024-01-05T10:30:00Z":                "2024-01-05",
		"01/05/2024 10:30 PM":                 "2024-01-05",
		"01/05/2024 25:30":                    "01/05/2024 25:30",
		"01/05/2024 13 PM":                    "01/05/2024 13 PM",
		"2024-01-05 10:30:15.250 +05:30":      "2024-01-05",
		"2024-01-15-03":                       "2024-01-15-03",
		"2024-01-15-003":                      "2024-01-15-003",
		"10-11-12":                            "2012-10-11",
		"12-34-56":                            "12-34-56",
		"123-45-6789":                         "123-45-6789",
		"2024-02-30":                          "2024-02-30",
		"Invoice 2024-01-05":                  "Invoice 2024-01-05",
		"(2024-01-05)":                        "(2024-01-05)",
		"1/5/2024 - 1/6/2024":                 "1/5/2024 - 1/6/2024",
		"May 5 2101":                          "May 5 2101",
		"at 5 March 2024":                     "2024-03-05",
		"January of 5, 2024":                  "January of 5, 2024",
		"2024-01-05 EST 10:00":                "2024-01-05 EST 10:00",
		"January 15, 2024 at 10:00 a.m.":      "2024-01-15",
		"on Monday, January 15, 2024, Monday": "2024-01-15",
		"15 Jan 2024 10:00:00 GMT+2":          "2024-01-15",
		"5/1/2024 1030":                       "5/1/2024 1030",
		"Dec 5, 2024 5 h":                     "Dec 5, 2024 5 h",
	} {
		if got := isoDate(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// A schema whose references write each other out without end is refused.
func TestSchemaBomb(t *testing.T) {
	defs := `"d0": {"type": "string"}`
	for i := range 30 {
		defs += fmt.Sprintf(`, "d%d": {"properties": {"a": {"$ref": "#/$defs/d%d"}, "b": {"$ref": "#/$defs/d%d"}}}`, i+1, i, i)
	}
	_, err := unifiedCounts(testCase{Schema: jsontext.Value(`{"$ref": "#/$defs/d30", "$defs": {` + defs + `}}`), Expected: jsontext.Value(`{}`)}, map[string]any{}, nil)
	if err == nil || !strings.Contains(err.Error(), "references written out") {
		t.Error(err)
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
		{"two results about a document", "extractbench", map[string]string{"d/a.test.json": `{"data_schema": {}, "expected_output": {}}`, "o/a.result.json": `{"request": {"example_id": "d/a"}, "pipeline_name": "x"}`, "p/a.result.json": `{"request": {"example_id": "d/a"}, "pipeline_name": "x"}`}, `p/a.result.json: pipeline "x" has a result about d/a already`},
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

// The answer of a result is output.extracted_data, the only member that ExtractOutput has for it
// (parse_bench/schemas/extract_output.py, which extract_bench/schemas/extract_output.py re-exports).
func TestExtractBenchAnswer(t *testing.T) {
	for output, want := range map[string]string{
		`{"extracted_data": {"a": 1}}`: `{"a":1}`,
		`{"extracted_data": null}`:     `""`, // empty, so that a run scores it
		`{"data": {"a": 1}}`:           `""`,
		`{"result": {"a": 1}}`:         `""`,
	} {
		path := filepath.Join(t.TempDir(), "a.result.json")
		if err := os.WriteFile(path, []byte(`{"request": {"example_id": "d/a"}, "pipeline_name": "p", "output": `+output+`}`), 0o644); err != nil {
			t.Fatal(err)
		}
		c, systems := &corpus{}, map[string]*system{}
		cases := map[string]testCase{"d/a": {Schema: jsontext.Value(`{"properties": {"a": {}}}`), Expected: jsontext.Value(`{"a": 1}`)}}
		if err := c.extractBenchAnswer(systems, path, cases); err != nil {
			t.Fatal(err)
		}
		s := systems["p"]
		if got := string(s.answers["d/a"]); got != want || (s.scores["d/a"] == 1) != (want != `""`) || (want == `""`) != (c.left["an answer without output.extracted_data, which is empty here and scores 0"] == 1) {
			t.Errorf("%s: answer %s, score %v, left out %v", output, got, s.scores["d/a"], c.left)
		}
	}
}

// Numbers of gold keep all their digits.
func TestLargeNumbers(t *testing.T) {
	rules := map[string]fieldRule{}
	if err := json.Unmarshal([]byte(`{"b": {"evidence": [{"value": 9007199254740993}, {"value": 9007199254740994}]}}`), &rules); err != nil {
		t.Fatal(err)
	}
	got, err := withOthers(testCase{Expected: jsontext.Value(`{"a": 12345678901234567890, "b": 9007199254740993, "c": "<x>"}`), Rules: rules})
	const want = `{"a":12345678901234567890,"b":{"acceptable_values":[9007199254740993,9007199254740994],"correct_value":9007199254740993,"exists_in_document":true},"c":"<x>"}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
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

package procedure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// spoiled are values that belong in no place of a case.
var spoiled = []any{nil, "text", json.Number("-1"), json.Number("0"), json.Number("1e308"), json.Number("1e999"), json.Number("0.5"), true,
	json.Number("1000000000000"), []any{json.Number("1000000000000"), json.Number("1000000000000")},
	[]any{}, []any{nil}, []any{json.Number("1")}, []any{"a"}, []any{[]any{}}, []any{[]any{json.Number("1")}}, map[string]any{}, map[string]any{"x": nil}}

// TestHostileCases breaks every field of every reference case in every way: the
// method refuses or gives a result that is JSON, and never panics.
func TestHostileCases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(oracles, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]bool{} // one case a method is enough
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c, err := ReadCase(strings.NewReader(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		if done[c.Method] || len(b) > 60_000 {
			continue
		}
		done[c.Method] = true
		t.Run(c.Method, func(t *testing.T) {
			t.Parallel()
			input, params := fields(t, c.Input), fields(t, c.Params)
			if p := find(t, c.Method); params["resamples"] == nil && slices.ContainsFunc(p.Params, func(o Param) bool { return o.Name == "resamples" }) {
				params["resamples"] = json.Number("20")
				c.Params = object(t, params)
			}
			if c.Method == "logistic_glmm_laplace" {
				// A fit of all rows takes a second, and there are hundreds.
				for name, column := range input {
					input[name] = column.([]any)[:90]
				}
				if _, err := (Case{c.Method, c.Params, object(t, input)}).Run(); err != nil {
					t.Fatal(err)
				}
			}
			for name := range input {
				for _, v := range spoiled {
					run(t, Case{c.Method, c.Params, with(t, input, name, v)}, name, v)
				}
				if list, ok := input[name].([]any); ok && len(list) > 0 {
					for _, v := range spoiled {
						for _, i := range []int{0, len(list) - 1} {
							run(t, Case{c.Method, c.Params, with(t, input, name, replaced(list, i, v))}, name, v)
						}
					}
					run(t, Case{c.Method, c.Params, with(t, input, name, list[:1])}, name, "one")
					run(t, Case{c.Method, c.Params, with(t, input, name, list[:len(list)-1])}, name, "one less")
				}
			}
			for name := range params {
				for _, v := range spoiled {
					run(t, Case{c.Method, with(t, params, name, v), object(t, input)}, name, v)
				}
			}
			run(t, Case{Method: c.Method}, "everything", nil)
		})
	}
}

func fields(t *testing.T, object []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	var fields map[string]any
	if err := d.Decode(&fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// with is an object with one field set to a value.
func with(t *testing.T, fields map[string]any, field string, v any) jsontext.Value {
	t.Helper()
	changed := maps.Clone(fields)
	changed[field] = v
	return object(t, changed)
}

func object(t *testing.T, fields map[string]any) jsontext.Value {
	t.Helper()
	b, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func replaced(list []any, i int, v any) []any {
	out := slices.Clone(list)
	out[i] = v
	return out
}

func run(t *testing.T, c Case, what string, v any) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s = %v: panic: %v", what, v, p)
		}
	}()
	result, err := c.Run()
	if err != nil {
		if err.Error() == "" {
			t.Errorf("%s = %v: refused without a reason", what, v)
		}
		return
	}
	if !json.Valid([]byte(inJSON(t, result))) {
		t.Errorf("%s = %v: the result is no JSON: %s", what, v, result)
		return
	}
	if p, _ := Find(c.Method); Render(&strings.Builder{}, p, result) != nil {
		t.Errorf("%s = %v: the result cannot be shown: %s", what, v, result)
	}
}

// FuzzCase: whatever stands in a case file is read or refused.
func FuzzCase(f *testing.F) {
	for _, p := range All() {
		f.Add(fmt.Sprintf(`{"method": %q, "params": {}, "input": {"a": [1, 2, 3], "b": [2, 2, 5]}}`, p.Name))
	}
	f.Add(`{"method": "paired_t_test", "input": {"a": [1e400], "b": [null]}}`)
	f.Add(`{"method": "lmm_random_intercepts", "params": {"formula": "y ~ x + (1|g)"}, "input": {"y": [1, 2, 1, 4], "x": ["a", "b", "a", "b"], "g": [1, 1, 2, 2]}}`)
	f.Fuzz(func(t *testing.T, file string) {
		c, err := ReadCase(strings.NewReader(file))
		if err != nil {
			return
		}
		var p drawParams
		if json.Unmarshal(c.Params, &p) == nil && p.Resamples > 1e5 {
			return
		}
		run(t, c, "case", file)
	})
}

// FuzzTable: whatever stands in a CSV file is read or refused, by every
// procedure that takes tables.
func FuzzTable(f *testing.F) {
	f.Add("a,b\n1,2\n3,4\n", "a,b")
	f.Add("\ufeffa;b\n\"1,2", "a")
	f.Add("a,a\n1,1\n", "a=a")
	f.Add("x,g\n1,u\n,v\nNA,v\n", "x,g")
	f.Add("\ufeff\"a\";\"b\"\n1;2\n3;4,5\n", "a,b=b")
	f.Add("a\tb,c\n1.0\t2\n", "a")
	f.Add("\xff\xfea\x00,\x00b\x00\n\x001\x00,\x002\x00\n\x00", "a,b")
	f.Add("\xfe\xff\x00a\x00\n\x001\xd8\x00", "a")
	f.Add("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", "a")
	f.Fuzz(func(t *testing.T, file, cols string) {
		for _, p := range All() {
			if len(p.Columns) == 0 {
				continue
			}
			var params jsontext.Value
			if slices.ContainsFunc(p.Params, func(o Param) bool { return o.Name == "resamples" }) {
				params = jsontext.Value(`{"resamples": 20}`)
			}
			result, err := p.RunTable(strings.NewReader(file), "fuzz.csv", strings.Split(cols, ","), params)
			if err != nil {
				continue
			}
			if !json.Valid([]byte(inJSON(t, result))) {
				t.Errorf("%s: the result is no JSON: %s", p.Name, result)
			}
			if err := Render(&strings.Builder{}, p, result); err != nil {
				t.Errorf("%s: the result cannot be shown: %v", p.Name, err)
			}
		}
	})
}

func TestReadTableMistakes(t *testing.T) {
	roles := []Role{{Name: "a", Doc: "first"}, {Name: "b", Doc: "second", Optional: true}}
	for _, c := range []struct{ text, cols, reason string }{
		{"", "a", "x.csv is empty"},
		{"a,b\n", "a", "no rows under the header"},
		{"a,a\n1,2\n", "a", `duplicate column "a"`},
		{"a,b\n1,2,3\n", "a", "the record has 3 fields, the header 2"},
		{"a,b\n\"1,2\n", "a", "extraneous or missing"},
		{"a,b\n1,2\n", "c", `no column "c"; the columns are ["a" "b"]`},
		{"a,b\n1,2\n", "c=a", `unknown role "c": the method takes a,[b]`},
		{"a,b\n1,2\n", "a,b,a", "unexpected column"},
		{"a,b\n1,2\n", "b=b", `missing column for "a"`},
		{"a,b\n1,2\n", "a=a,a=b", "two columns for"},
		{"a,b\n\xff,2\n", "a", "x.csv:2: the text is not UTF-8"},
		{"a,b\n" + strings.Repeat("a", 39) + "äb,2\n", "a", `is "` + strings.Repeat("a", 39) + `…", expected a number`},
	} {
		_, err := tableInput(strings.NewReader(c.text), "x.csv", roles, strings.Split(c.cols, ","))
		if err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%q with %s: got %v, want %q", c.text, c.cols, err, c.reason)
		}
	}
	if _, err := tableInput(strings.NewReader("a\n1\n\n\"2\n\"\nx\nInf\n"), "x.csv", roles[:1], []string{"a"}); err == nil || !strings.Contains(err.Error(), `x.csv:6:1: column "a" is "x", expected a number`) {
		t.Errorf("got %v", err)
	}
}

// TestPrintedLabels: labels cannot move the cursor, also by the control characters above ASCII.
func TestPrintedLabels(t *testing.T) {
	for label, want := range map[string]string{"a\tb": "a b", "a\x1b[2Jb": "ab", "a\u009b2Jb": "ab", "a\u202eb": "ab", "a  b": "a  b"} {
		if got := printed(label); got != want {
			t.Errorf("%q is printed as %q, want %q", label, got, want)
		}
	}
}

package study

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// readYAML parses a document and gives it back as plain JSON values.
func readYAML(yaml string) (any, error) {
	n, err := parseYAML([]byte(yaml), func(line, column int) Position { return Position{File: "f", Line: line, Column: column} })
	if err != nil || n == nil {
		return nil, err
	}
	return n.plain(), nil
}

// Plain scalars follow the core schema of YAML 1.2.2, section 10.3.2, which
// is what editors check with; quoted ones are text.
func TestPlainScalars(t *testing.T) {
	tests := map[string]string{
		"0": "0", "-0": "0", "12": "12", "+12": "12", "-12": "-12", "0o17": "15", "0x1F": "31",
		"0.": "0", ".5": "0.5", "1.50": "1.5", "1e3": "1000", "1E-2": "0.01", "12e03": "12000", "-1.25e1": "-12.5",
		"8.0": "8", "1e20": "1e+20", "9223372036854775807": "9223372036854775807",
		"true": "true", "True": "true", "FALSE": "false",
		"null": "null", "~": "null", "Null": "null", "": "null",
		// Not numbers, switches or dates in YAML 1.2.
		"yes": `"yes"`, "no": `"no"`, "on": `"on"`, "tRUE": `"tRUE"`, "nULL": `"nULL"`, "1_000": `"1_000"`, "0b11": `"0b11"`,
		"1:30": `"1:30"`, "30s": `"30s"`, "2024-01-31": `"2024-01-31"`, "0x": `"0x"`, ".": `"."`, "1.2.3": `"1.2.3"`, "e3": `"e3"`,
		`"12"`: `"12"`, `'true'`: `"true"`, `""`: `""`, `'~'`: `"~"`, `"\u00e9\x41\/\t"`: `"éA/\t"`, `'it''s'`: `"it's"`,
		"a b  # comment": `"a b"`, "a#b": `"a#b"`, "über": `"über"`,
	}
	for in, want := range tests {
		v, err := readYAML("k: " + in + "\n")
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got, err := CanonicalJSON(v.(map[string]any)["k"]); string(got) != want {
			t.Errorf("k: %s is %s (%v), want %s", in, got, err, want)
		}
	}
}

// Whatever text is written in double quotes comes back as it was.
func TestTextSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Filter(func(s string) bool { return printable(s) == nil }).Draw(t, "text")
		quoted, _ := json.Marshal(want)
		v, err := readYAML("k: " + string(quoted))
		if len(findSecrets(string(quoted))) > 0 {
			t.Skip("looks like a key")
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := v.(map[string]any)["k"]; got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestBlocksAnchorsAndMerges(t *testing.T) {
	tests := []struct{ name, yaml, want string }{
		{"literal and folded text", "a: |\n  x\n    y\n\n  z\nb: >-\n  x\n  y\n", `{"a":"x\n  y\n\nz\n","b":"x y"}`},
		{"a long line in a block", "a: >-\n  " + strings.Repeat("x", 1000) + "\nb: 1\n", `{"a":"` + strings.Repeat("x", 1000) + `","b":1}`},
		{"a list at its key's column", "a:\n- x\n- - y\n  - z\n-\n  k: v\n", `{"a":["x",["y","z"],{"k":"v"}]}`},
		{"an anchor and its alias", "a: &x {k: [1, 2]}\nb: *x\nc: [*x]\n", `{"a":{"k":[1,2]},"b":{"k":[1,2]},"c":[{"k":[1,2]}]}`},
		{"an anchor on text", "a: &x text\nb: *x\n", `{"a":"text","b":"text"}`},
		{"an anchor named again", "a: &x 1\nb: *x\nc: &x 2\nd: *x\n", `{"a":1,"b":1,"c":2,"d":2}`},
		{"a merge", "- &m {id: a, t: 0}\n- <<: *m\n  id: b\n", `[{"id":"a","t":0},{"id":"b","t":0}]`},
		{"a merge after the key it must not change", "- &m {id: a, t: 0}\n- id: b\n  <<: *m\n", `[{"id":"a","t":0},{"id":"b","t":0}]`},
		{"the first of several merges wins", "- &m {x: 1}\n- &n {x: 2, y: 2}\n- <<: [*m, *n]\n", `[{"x":1},{"x":2,"y":2},{"x":1,"y":2}]`},
		{"a quoted << is a key like any other", "\"<<\": 1\n", `{"<<":1}`},
		{"keys that look like values", "1: a\ntrue: b\nnull: c\n", `{"1":"a","null":"c","true":"b"}`},
		{"an explicit key", "? a\n: 1\n", `{"a":1}`},
		{"flow over several lines", "a: [1,\n  2, # two\n  {b: c}]\n", `{"a":[1,2,{"b":"c"}]}`},
		{"document marks", "---\na: 1\n...\n", `{"a":1}`},
		{"nothing but a comment", "# nothing\n", `null`},
	}
	for _, tt := range tests {
		v, err := readYAML(tt.yaml)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got, _ := CanonicalJSON(v); string(got) != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestUnreadable(t *testing.T) {
	many := func(s string) string { return strings.Repeat(s, 1000) }
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x, x]\n")
	for i := 1; i < 40; i++ { // 2⁴⁰ values
		fmt.Fprintf(&bomb, "a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	tests := []struct{ name, yaml, want string }{
		{"a tab for indentation", "a:\n\tb: 1\n", "f:2:1: YAML cannot be indented with tabs: use spaces"},
		{"two documents", "a: 1\n---\nb: 1\n", "f:2:1: a second document starts here: a study is one document; move it to another file or remove ---"},
		{"a directive", "%YAML 1.2\n---\na: 1\n", "f:1:1: YAML directives are not supported: remove the line with %"},
		{"a tag", "a: !!str 1\n", `f:1:4: tag "!!str" is not supported: remove it and quote text`},
		{"an open bracket", "a: [1, 2\n", "f:1:4: sequence end token ']' not found"},
		{"an open quote", "a: \"x\n", "f:1:4: could not find end character of double-quoted text"},
		{"a colon in plain text", "a: b: c\n", "f:1:4: this text contains a colon, or the next line is indented further than its key: put the text in quotes, or indent the lines alike"},
		{"a key further to the right", "a: b\n c: d\n", "f:1:4: this text contains a colon, or the next line is indented further than its key: put the text in quotes, or indent the lines alike"},
		{"an entry further to the left", "a:\n   - {b: 1}\n  - {b: 2}\n", "f:3:3: the line is not indented like the lines above that it belongs to: indent all entries of a list, and all keys of a section, alike"},
		{"an entry further to the right", "a:\n  - {b: 1}\n   - {b: 2}\n", "f:3:4: the line is not indented like the lines above that it belongs to: indent all entries of a list, and all keys of a section, alike"},
		{"a key further to the left", "a:\n   b: 1\n  c: 1\n", "f:3:3: the line is not indented like the lines above that it belongs to: indent all entries of a list, and all keys of a section, alike"},
		{"text after a value", "a: \"b\" c\n", "f:1:8: a value ended before this: remove what follows, or put all of it in quotes"},
		{"an alias to nothing", "a: &model 1\nb: *modle\n", `f:2:4: undefined alias: no anchor &modle before *modle: did you mean "model"?`},
		{"an alias to what holds it", "a: &x [*x]\n", "f:1:8: undefined alias: no anchor &x before *x: none are defined"},
		{"a merge of text", "a: &x text\nb: {<<: *x}\n", "f:2:5: << merges sections: name one by its *anchor, or several in [ ]"},
		{"bytes of Latin-1", "a: 1\nb: Stra\xdfe\n", "f:2:8: byte 0xdf is not UTF-8: save the file as UTF-8"},
		{"a compressed file", "\x1f\x8b\x08", "f: a compressed file is not a study: make a study of another program's file with `scruple import`, as `scruple import snapshot` does of snapshots of spans"},
		{"UTF-16", "\xff\xfea\x00", "f:1:1: byte 0xff is not UTF-8: save the file as UTF-8"},
		{"a control character", "a: x\x00\n", "f:1:5: control character U+0000 is not valid in YAML: remove it"},
		{"an escaped control character", `a: "x\e"`, "f:1:4: the text contains the control character U+001B: remove it"},
		{"half a surrogate pair", `a: "\ud800"`, "f:1:5: not enough length for escaped UTF-16 surrogate pair"},
		{"a key with a line break", "\"a\\nb\": 1\n", "f:1:1: a key must be text on one line"},
		{"brackets in brackets", "a: " + many("["), "f:1:68: nested too deeply: at most 64 levels and 512 columns of indentation"},
		{"lists in lists", many("- "), "f:1:129: nested too deeply: at most 64 levels and 512 columns of indentation"},
		{"a line far to the right", "a:\n" + many(" ") + "b: 1\n", "f:2:1002: nested too deeply: at most 64 levels and 512 columns of indentation"},
		{"empty lines", "a: |\n" + many("\n") + "\n", "f:1002:1: more than 1000 empty lines in a row: remove some"},
		{"too many bytes", "a: " + strings.Repeat("x", maxBytes), "f: the study is too large: 262147 bytes, limit 262144; keep data in separate files, and make a study of another program's file with `scruple import`, as `scruple import snapshot` does of snapshots of spans"},
		{"aliases of aliases", bomb.String(), "f:15:18: more than 100000 values after expanding aliases"},
	}
	for _, tt := range tests {
		_, err := readYAML(tt.yaml)
		wantError(t, tt.name, err, tt.want)
	}
}

// Positions are those of the file as an editor counts them: keys for what has
// one, counted in characters, whatever the line ends and marks before it.
func TestPositions(t *testing.T) {
	const yaml = `# a comment
name: n
suite: s
models:
  - &m
    id: a
    provider: p   # another
    limits: {tokens_per_minute: 3, concurrency: 2}
  - <<: *m
    id: b

kernels:
- name: ctn
  models: [a, b]
- {name: "ü", models: [a]}
decide:
  require:
    -
      name: x
      that: |
        diff(1)
        > 2
    - name: y
      that: ok
`
	want := map[string]string{
		"":                             "study.yaml:2:1",
		"name":                         "study.yaml:2:1",
		"models":                       "study.yaml:4:1",
		"models[0]":                    "study.yaml:5:5",
		"models[0].id":                 "study.yaml:6:5",
		"models[a].id":                 "study.yaml:6:5",
		"models[0].limits":             "study.yaml:8:5",
		"models[0].limits.concurrency": "study.yaml:8:36",
		"models[1]":                    "study.yaml:9:5",
		"models[1].id":                 "study.yaml:10:5",
		"models[b].id":                 "study.yaml:10:5",
		"models[1].provider":           "study.yaml:7:5", // merged: where it is written
		"models[1].nowhere.deeper":     "study.yaml:9:5", // absent: the nearest that is there
		"models[7].id":                 "study.yaml:4:1",
		"kernels[0].models[1]":         "study.yaml:14:15",
		"kernels[ctn].models":          "study.yaml:14:3",
		"kernels[1]":                   "study.yaml:15:3",
		"kernels[1].models[0]":         "study.yaml:15:24",
		"kernels[ü].models":            "study.yaml:15:15",
		"decide.require[0].that":       "study.yaml:20:7",
		"decide.require[1].that":       "study.yaml:24:7",
		"execution.timeout":            "study.yaml:2:1",
		"not a path]":                  "study.yaml:2:1",
	}
	for name, text := range map[string]string{
		"as it is":   yaml,
		"CRLF":       strings.ReplaceAll(yaml, "\n", "\r\n"),
		"CR":         strings.ReplaceAll(yaml, "\n", "\r"),
		"with a BOM": "\ufeff" + yaml,
	} {
		_, f, err := loadText(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := map[string]string{}
		for path := range want {
			got[path] = f.Pos(path).String()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestErrorfWrapsAndPlaces(t *testing.T) {
	_, f, err := loadText(contractsYAML, "kernels[1].path=x")
	if err != nil {
		t.Fatal(err)
	}
	cause := fmt.Errorf("no such file")
	wantError(t, "in the file", f.Errorf("kernels[0].path", "opening: %w", cause), "study.yaml:7:23: kernels[0].path: opening: no such file")
	wantError(t, "of an override", f.Errorf("kernels[1].path", "opening: %w", cause), "-o kernels[1].path=x: kernels[1].path: opening: no such file")
	wantError(t, "of a default", f.Errorf("output.results_dir", "no"), "study.yaml:1:1: output.results_dir: no")
	wantError(t, "of the whole", f.Errorf("", "no"), "study.yaml:1:1: no")

	var errs Errors
	errs.Add(nil)
	if errs.Err() != nil {
		t.Error("no findings are an error")
	}
	errs.Add(f.Errorf("kernels[1].path", "third"))
	errs.Add(Errors{f.Errorf("kernels[0].path", "second"), f.Errorf("models", "first")})
	wantError(t, "a list", errs.Err(), "study.yaml:3:1: models: first\nstudy.yaml:7:23: kernels[0].path: second\n-o kernels[1].path=x: kernels[1].path: third")
}

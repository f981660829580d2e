package catalog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/kit"
	"pgregory.net/rapid"
)

func TestEqualIsTyped(t *testing.T) {
	one, flags := float64(1), map[string]any{"a": true, "b": "X"}
	tests := []struct {
		a, b any
		want bool
	}{
		{"Free", "fREE", true},
		{"1", "10", false},
		{"1", one, false},
		{true, one, false},
		{true, "true", false},
		{float64(1), float64(1.0), true},
		{nil, nil, true},
		{nil, "", false},
		{nil, false, false},
		{[]any{one, "A"}, []any{one, "a"}, true},
		{[]any{one, "A"}, []any{"A", one}, false},
		{[]any{}, []any{}, true},
		{flags, map[string]any{"b": "x", "a": true}, true},
		{flags, map[string]any{"a": true}, false},
		{flags, map[string]any{"A": true, "b": "X"}, false},
		{"ΣΊΣΥΦΟΣ", "σίσυφος", true},
	}
	for _, tt := range tests {
		if got := Equal(tt.a, tt.b); got != tt.want {
			t.Errorf("%v = %v: %v", tt.a, tt.b, got)
		}
		if Equal(tt.a, tt.b) != Equal(tt.b, tt.a) {
			t.Errorf("%v, %v: equality has a direction", tt.a, tt.b)
		}
	}
}

func TestAt(t *testing.T) {
	v := map[string]any{"x": map[string]any{"y.z": 7.0}, "a.b": "dots"}
	for path, want := range map[string]string{"x.y.z": "7", "a.b": "dots", "a": "", "x.y": "", "": "", "x.y.z.w": ""} {
		if got := Text(At(v, path)); got != want {
			t.Errorf("At(%q) is %q, want %q", path, got, want)
		}
	}
}

// anyValue draws values of every kind, nested.
func anyValue() *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any { return drawValue(t, 3) })
}

func drawValue(t *rapid.T, depth int) any {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return float64(rapid.Float64().Draw(t, "number"))
	case 3:
		return rapid.String().Draw(t, "text")
	case 4:
		var list []any
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, drawValue(t, depth-1))
		}
		return append([]any{}, list...)
	case 5:
		m := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "size") {
			m[rapid.String().Draw(t, "key")] = drawValue(t, depth-1)
		}
		return m
	}
	return nil
}

// python writes a value as Python's repr does.
func python(v any) string {
	var parts []string
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return strings.ToUpper(Text(v)[:1]) + Text(v)[1:]
	case string:
		return pythonString(v)
	case []any:
		for _, e := range v {
			parts = append(parts, python(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		for _, key := range Keys(v) {
			parts = append(parts, pythonString(key)+": "+python(v[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return Text(v)
}

func pythonString(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ':
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return "'" + b.String() + "'"
}

func TestLiteralRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue().Draw(t, "value")
		back, err := ParseLiteral(python(v))
		if err != nil || Text(back) != Text(v) || Kind(back) != Kind(v) {
			t.Fatalf("%s becomes %s (%v)", python(v), back, err)
		}
	})
}

// Expected values are those of Python 3's ast.literal_eval, in JSON.
func TestParseLiteral(t *testing.T) {
	for in, want := range map[string]string{
		`None`: `null`, `True`: `true`, `False`: `false`, `2`: `2`, `-1.5e3`: `-1500`, ` 7 `: `7`, `0`: `0`,
		`u'free'`: `"free"`, `'quiet'`: `"quiet"`, `"it's"`: `"it's"`, `'it\'s'`: `"it's"`, `U"x"`: `"x"`, `'say "x"'`: `"say \"x\""`,
		`'\x41\u00e9\n\\x41'`: `"Aé\n\\x41"`, `'True, None'`: `"True, None"`, `''`: `""`, `'1'`: `"1"`,
		`{'romantic': False, 'hipster': True}`: `{"hipster":true,"romantic":false}`, `{}`: `{}`, `{u'a': u'b'}`: `{"a":"b"}`,
		`[1, 'a', None]`: `[1,"a",null]`, `[]`: `[]`, `{'a': {'b': [True]}}`: `{"a":{"b":[true]}}`,
	} {
		v, err := ParseLiteral(in)
		b := kit.JSON(v)
		if err != nil || string(b) != want {
			t.Errorf("%s is %s (%v), want %s", in, b, err, want)
		}
	}
}

func TestParseLiteralRefuses(t *testing.T) {
	for _, in := range []string{
		``, `free`, `true`, `null`, `{'a': true}`, `007`, `01234`, `1_000`, `0x10`, `1e999`, `nan`, `set()`, `(1, 2)`, `b'x'`, `bu'x'`, `'a' 'b'`, `'a', 'b'`,
		`'a`, "'a\nb'", `u'a"`, `'\ud800'`, `{'a': True`, `{'a' True}`, `{'a': }`, `[1 2]`, `{1: 2}`, `{'a', 'b'}`, `{'a': 1, 'a': 2}`, `[1]]`, `1],[2`, `[1,,2]`,
		`'\x4`, `'\x4'`, `'\xzz'`, `'\q'`, `'\`, `__import__('os')`, `1 + 1`, strings.Repeat("[", 10_100),
	} {
		if v, err := ParseLiteral(in); err == nil || !strings.Contains(err.Error(), "want None, True, False") {
			t.Errorf("%s is %s (%v)", in, v, err)
		}
	}
}

// What is read is read again from how it is written, whatever the input.
func FuzzParseLiteral(f *testing.F) {
	for _, s := range []string{"u'free'", "{'a': [True, None, 1.5], u'b': {}}", `"\x41\N"`, "[[[[1]]]]", "'x''"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseLiteral(s)
		if err != nil || strings.ContainsRune(Text(v), '\uFFFD') {
			return
		}
		back, err := ParseLiteral(python(v))
		if err != nil || Text(back) != Text(v) {
			t.Fatalf("%q is %s, and that written %q is %s (%v)", s, v, python(v), back, err)
		}
	})
}

func TestTypedAttributes(t *testing.T) {
	tests := []struct {
		in        string
		yelp      bool
		kind      string
		malformed bool
		doubt     bool
	}{
		{in: "u'free'", yelp: true, kind: "text"}, {in: "True", yelp: true, kind: "bool"}, {in: "2", yelp: true, kind: "number"}, {in: "None", yelp: true}, {in: "{'a': True}", yelp: true, kind: "map"},
		{in: "free", yelp: true, malformed: true}, {in: "{'a': True", yelp: true, malformed: true}, {in: "", yelp: true, malformed: true}, {in: "(cash only)", yelp: true, malformed: true},
		{in: "free", kind: "text"}, {in: "beer and wine", kind: "text"}, {in: "", kind: "text"}, {in: "True", kind: "bool"}, {in: "O'Neil (bar)", kind: "text"},
		{in: "68159", kind: "number"}, {in: "01234", kind: "text"}, {in: "0x1g", kind: "text"}, {in: "1e999", kind: "text"},
		{in: "{'a': True", malformed: true}, {in: "u'free", malformed: true}, {in: `u"free`, malformed: true}, {in: "[1, 2", malformed: true}, {in: " [closed]", malformed: true},
		{in: "(cash only)", kind: "text", doubt: true}, {in: "'Round the corner", kind: "text", doubt: true}, {in: `"Best" of town`, kind: "text", doubt: true},
		{in: "dict(a=1)", kind: "text", doubt: true}, {in: "R'n'B", kind: "text", doubt: true}, {in: "B'wine", kind: "text", doubt: true}, {in: "U'wine", kind: "text", doubt: true},
	}
	for _, tt := range tests {
		v, doubt, err := typed(tt.in, tt.yelp)
		if (err != nil) != tt.malformed || (doubt != nil) != tt.doubt || (err == nil && tt.kind != "" && Kind(v) != tt.kind) {
			t.Errorf("%q (Yelp %v) is a %v, %v, %v", tt.in, tt.yelp, Kind(v), doubt, err)
		}
	}
}

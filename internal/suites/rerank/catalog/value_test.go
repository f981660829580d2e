package catalog

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEqualIsTyped(t *testing.T) {
	one, flags := NumberValue(1), MapValue(map[string]Value{"a": BoolValue(true), "b": TextValue("X")})
	tests := []struct {
		a, b Value
		want bool
	}{
		{TextValue("Free"), TextValue("fREE"), true},
		{TextValue("1"), TextValue("10"), false},
		{TextValue("1"), one, false},
		{BoolValue(true), one, false},
		{BoolValue(true), TextValue("true"), false},
		{NumberValue(1), NumberValue(1.0), true},
		{Value{}, Value{}, true},
		{Value{}, TextValue(""), false},
		{Value{}, BoolValue(false), false},
		{ListValue(one, TextValue("A")), ListValue(one, TextValue("a")), true},
		{ListValue(one, TextValue("A")), ListValue(TextValue("A"), one), false},
		{ListValue(), ListValue(), true},
		{flags, MapValue(map[string]Value{"b": TextValue("x"), "a": BoolValue(true)}), true},
		{flags, MapValue(map[string]Value{"a": BoolValue(true)}), false},
		{flags, MapValue(map[string]Value{"A": BoolValue(true), "b": TextValue("X")}), false},
		{TextValue("ΣΊΣΥΦΟΣ"), TextValue("σίσυφος"), true},
	}
	for _, tt := range tests {
		if got := tt.a.Equal(tt.b); got != tt.want {
			t.Errorf("%v = %v: %v", tt.a, tt.b, got)
		}
		if tt.a.Equal(tt.b) != tt.b.Equal(tt.a) {
			t.Errorf("%v, %v: equality has a direction", tt.a, tt.b)
		}
	}
}

func TestAccessors(t *testing.T) {
	v := MapValue(map[string]Value{"x": MapValue(map[string]Value{"y.z": NumberValue(7)}), "a.b": TextValue("dots")})
	for path, want := range map[string]string{"x.y.z": "7", "a.b": "dots", "a": "", "x.y": "", "": v.String(), "x.y.z.w": ""} {
		if got := v.At(path).String(); got != want {
			t.Errorf("At(%q) is %q, want %q", path, got, want)
		}
	}
	if !NumberValue(math.NaN()).IsZero() || !NumberValue(math.Inf(1)).IsZero() {
		t.Error("a number that is none is a value")
	}
	text := TextValue("true")
	if text.Bool() || text.Number() != 0 || text.List() != nil || text.Keys() != nil || !text.Get("x").IsZero() {
		t.Error("a text is something else too")
	}
}

// anyValue draws values of every kind, nested.
func anyValue() *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value { return drawValue(t, 3) })
}

func drawValue(t *rapid.T, depth int) Value {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 1:
		return BoolValue(rapid.Bool().Draw(t, "bool"))
	case 2:
		return NumberValue(rapid.Float64().Draw(t, "number"))
	case 3:
		return TextValue(rapid.String().Draw(t, "text"))
	case 4:
		var list []Value
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, drawValue(t, depth-1))
		}
		return ListValue(list...)
	case 5:
		m := map[string]Value{}
		for range rapid.IntRange(0, 3).Draw(t, "size") {
			m[rapid.String().Draw(t, "key")] = drawValue(t, depth-1)
		}
		return MapValue(m)
	}
	return Value{}
}

func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue().Draw(t, "value")
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var back Value
		if err := json.Unmarshal(b, &back); err != nil || !back.Equal(v) || back.String() != v.String() {
			t.Fatalf("%s becomes %s (%v)", v, back, err)
		}
	})
}

// python writes a value as Python's repr does.
func python(v Value) string {
	switch v.Kind() {
	case Missing:
		return "None"
	case Bool:
		if v.Bool() {
			return "True"
		}
		return "False"
	case Text:
		return pythonString(v.Text())
	case List:
		var parts []string
		for _, e := range v.List() {
			parts = append(parts, python(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case Map:
		var parts []string
		for _, key := range v.Keys() {
			parts = append(parts, pythonString(key)+": "+python(v.Get(key)))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return v.String()
}

func pythonString(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\r", `\r`, "\x00", `\x00`).Replace(s) + "'"
}

func TestLiteralRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue().Draw(t, "value")
		back, err := ParseLiteral(python(v))
		if err != nil || back.String() != v.String() || back.Kind() != v.Kind() {
			t.Fatalf("%s becomes %s (%v)", python(v), back, err)
		}
	})
}

// Expected values are those of Python 3's ast.literal_eval, in JSON.
func TestParseLiteral(t *testing.T) {
	for in, want := range map[string]string{
		`None`: `null`, `True`: `true`, `False`: `false`, `2`: `2`, `-1.5e3`: `-1500`, `.5`: `0.5`, `5.`: `5`, ` 7 `: `7`, `0`: `0`,
		`u'free'`: `"free"`, `'quiet'`: `"quiet"`, `"it's"`: `"it's"`, `'it\'s'`: `"it's"`, `U"x"`: `"x"`,
		`'\x41\u00e9\101\n\q'`: `"AéA\n\\q"`, `'\U0001F600'`: `"😀"`, `''`: `""`, `'1'`: `"1"`,
		`{'romantic': False, 'hipster': True}`: `{"hipster":true,"romantic":false}`, `{}`: `{}`, `{u'a': u'b',}`: `{"a":"b"}`,
		`{'a': 1, 'a': 2}`: `{"a":2}`, `[1, 'a', None,]`: `[1,"a",null]`, `[]`: `[]`, `{'a': {'b': [True]}}`: `{"a":{"b":[true]}}`,
	} {
		v, err := ParseLiteral(in)
		b, _ := v.MarshalJSON()
		if err != nil || string(b) != want {
			t.Errorf("%s is %s (%v), want %s", in, b, err, want)
		}
	}
}

func TestParseLiteralRefuses(t *testing.T) {
	for in, want := range map[string]string{
		``: "column 1", `free`: "not a Python literal", `true`: "not a Python literal", `007`: "not a Python literal", `01234`: "not a Python literal", `1_000`: "not a Python literal", `0x10`: "not a Python literal", `1e999`: "not a Python literal", `nan`: "not a Python literal",
		`set()`: "not a Python literal", `(1, 2)`: "not a Python literal", `b'x'`: "not a Python literal", `'a' 'b'`: "follows the literal",
		`'a`: "unterminated string", "'a\nb'": "unterminated string", `u'a"`: "unterminated string", `'\ud83d\ude00'`: "invalid escape",
		`{'a': True`: "want a comma", `{'a' True}`: "want a colon", `{'a': }`: "not a Python literal", `[1 2]`: "want a comma", `{1: 2}`: "want a key", `{'a', 'b'}`: "want a colon", `[1]]`: "follows the literal", `[1,,2]`: "not a Python literal",
		`'\x4`: "invalid escape", `'\x4'`: "invalid escape", `'\xzz'`: "invalid escape", `'\ud800'`: "invalid escape", `'\0'`: "invalid escape", `'\`: "unterminated string", `__import__('os')`: "not a Python literal", `1 + 1`: "follows the literal",
		strings.Repeat("[", 100): "nested more than",
	} {
		if v, err := ParseLiteral(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %s (%v), want …%s", in, v, err, want)
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
		if err != nil || strings.ContainsRune(v.String(), '\uFFFD') {
			return
		}
		back, err := ParseLiteral(python(v))
		if err != nil || back.String() != v.String() {
			t.Fatalf("%q is %s, and that written %q is %s (%v)", s, v, python(v), back, err)
		}
	})
}

func TestTypedAttributes(t *testing.T) {
	tests := []struct {
		in        string
		yelp      bool
		kind      Kind
		malformed bool
		doubt     bool
	}{
		{in: "u'free'", yelp: true, kind: Text}, {in: "True", yelp: true, kind: Bool}, {in: "2", yelp: true, kind: Number}, {in: "None", yelp: true}, {in: "{'a': True}", yelp: true, kind: Map},
		{in: "free", yelp: true, malformed: true}, {in: "{'a': True", yelp: true, malformed: true}, {in: "", yelp: true, malformed: true}, {in: "(cash only)", yelp: true, malformed: true},
		{in: "free", kind: Text}, {in: "beer and wine", kind: Text}, {in: "", kind: Text}, {in: "True", kind: Bool}, {in: "O'Neil (bar)", kind: Text},
		{in: "68159", kind: Number}, {in: "01234", kind: Text}, {in: "0x1g", kind: Text}, {in: "1e999", kind: Text},
		{in: "{'a': True", malformed: true}, {in: "u'free", malformed: true}, {in: `u"free`, malformed: true}, {in: "[1, 2", malformed: true}, {in: " [closed]", malformed: true},
		{in: "(cash only)", kind: Text, doubt: true}, {in: "'Round the corner", kind: Text, doubt: true}, {in: `"Best" of town`, kind: Text, doubt: true},
		{in: "dict(a=1)", kind: Text, doubt: true}, {in: "R'n'B", kind: Text, doubt: true}, {in: "B'wine", kind: Text, doubt: true}, {in: "U'wine", kind: Text, doubt: true},
	}
	for _, tt := range tests {
		v, doubt, err := typed(tt.in, tt.yelp)
		if (err != nil) != tt.malformed || (doubt != nil) != tt.doubt || (err == nil && v.Kind() != tt.kind) {
			t.Errorf("%q (Yelp %v) is a %v, %v, %v", tt.in, tt.yelp, v.Kind(), doubt, err)
		}
	}
}

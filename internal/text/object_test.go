package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"
)

func TestReadObject(t *testing.T) {
	tests := []struct {
		name, in, want string
		flags          string // of "repaired", "cut"
	}{
		{"plain", `{"a":1}`, `{"a":1}`, ""},
		{"white space around it", "\n {\"a\": 1}\n", `{"a": 1}`, ""},
		{"empty", `{}`, `{}`, ""},
		{"nested, braces in strings", `{"a":{"b":"}{\"}"},"c":[{}]}`, `{"a":{"b":"}{\"}"},"c":[{}]}`, ""},
		{"byte order mark", "\ufeff{\"a\":1}", `{"a":1}`, ""},

		{"code fence", "```json\n{\"a\":1}\n```", `{"a":1}`, ""},
		{"code fence and prose", "Here it is:\n```json\n{\"a\":1}\n```\nI hope this helps.", `{"a":1}`, ""},
		{"prose before", `The result is {"a":1}`, `{"a":1}`, ""},
		{"prose after", `{"a":1} is the result`, `{"a":1}`, ""},
		{"braces in prose", `I filled in {field} and {{SCHEMA}}: {"a":1}`, `{"a":1}`, ""},
		{"an open brace in prose", `A set starts with { and here is mine: {"a":1}`, `{"a":1}`, ""},
		{"quotation mark in prose", `The 5" one: {"a":1}`, `{"a":1}`, ""},
		{"two objects: the first", `{"a":1} {"b":2}`, `{"a":1}`, ""},
		{"an empty one first", `I start from {} and get {"a":1}`, `{"a":1}`, ""},
		{"only empty ones", `either {} or { }`, `{}`, ""},
		{"a broken one first", `{"a":} or rather {"a":1}`, `{"a":1}`, ""},
		{"reasoning before", "<think>maybe {\"a\":2}?</think>\n{\"a\":1}", `{"a":1}`, ""},
		{"the tag in a string is no reasoning", `{"a":"<think>"}`, `{"a":"<think>"}`, ""},
		{"an array of numbers before", `[1] says {"a":1}`, `{"a":1}`, ""},

		{"trailing comma", `{"a":[1,2,],}`, `{"a":[1,2]}`, "repaired"},
		{"trailing comma in a fence", "```\n{\"a\":1,}\n```\nDone.", `{"a":1}`, "repaired"},
		{"part of a broken object is not the answer", `{"list":[{"a":1},{"a":2}],}`, `{"list":[{"a":1},{"a":2}]}`, "repaired"},
		{"single quotes, Python words", `{'a': None, 'b': True}`, `{"a": null, "b": true}`, "repaired"},
		{"missing comma", `{"a":1 "b":2}`, `{"a":1, "b":2}`, "repaired"},
		{"line break in a string", "{\"a\":\"x\ny\"}", `{"a":"x\ny"}`, "repaired"},
		{"comment", "{\n// the total\n\"a\":1}", "{\n\n\"a\":1}", "repaired"},
		{"not a number", `{"a":NaN}`, `{"a":"NaN"}`, "repaired"},

		{"cut in a string", `{"a":"on`, `{"a":"on"}`, "repaired cut"},
		{"cut in a list", `{"list":[{"a":1},{"a":2}`, `{"list":[{"a":1},{"a":2}]}`, "repaired cut"},
		{"cut after a colon", `{"a":`, `{"a":null}`, "repaired cut"},
		{"cut in a fence", "Here:\n```json\n{\"a\":1,", `{"a":1}`, "repaired cut"},
		{"closed fence, open object", "```json\n{\"a\":[1\n```", `{"a":[1]}`, "repaired"},
		{"a quotation mark too many", `{"a":"5" wide"}`, `{"a":"5\" wide"}`, "repaired"},

		// What stands in a well-formed string comes through a repair unchanged.
		{"escaped quotation marks", `{"q":"the \"Company\") and \"due\": $4","p":1,}`, `{"q":"the \"Company\") and \"due\": $4","p":1}`, "repaired"},
		{"escapes", `{"q":"a\nb \u00e9 \\ C:\\new\/",}`, `{"q":"a\nb \u00e9 \\ C:\\new\/"}`, "repaired"},
		{"a comma at the end of a string", `{"q":["hello, world,"],}`, `{"q":["hello, world,"]}`, "repaired"},
		{"a line break and a quotation mark", "{\"q\":\"a\n\\\"b\\\"\",\"p\":1}", `{"q":"a\n\"b\"","p":1}`, "repaired"},
		{"a tab", "{\"q\":\"a\tb\"}", `{"q":"a\u0009b"}`, "repaired"},
		{"an escape JSON does not know", `{"q":"it\'s \$4"}`, `{"q":"it's $4"}`, "repaired"},
		{"cut after a comma in a string", `{"q":"one, two: {`, `{"q":"one, two: {"}`, "repaired cut"},
		{"cut in an escape", `{"q":"a\u00e`, `{"q":"a"}`, "repaired cut"},
		{"cut after a backslash", `{"q":"a\\\`, `{"q":"a\\"}`, "repaired cut"},
		{"the word that keeps strings", `{"kept":"kept0.","k":["keptx1."],}`, `{"kept":"kept0.","k":["keptx1."]}`, "repaired"},
		{"no comma between strings", `{"a":"x" "b":"y"}`, `{"a":"x", "b":"y"}`, "repaired"},
		{"quotation marks that are not escaped", `{"q":"the "Company" shall","p":"x"}`, `{"q":"the \"Company\" shall","p":"x"}`, "repaired"},

		{"equal keys stay", `{"a":1,"a":2}`, `{"a":1,"a":2}`, ""},
		{"lone surrogate stays", `{"a":"\ud800"}`, `{"a":"\ud800"}`, ""},
		{"not UTF-8 stays", "{\"a\":\"\xff\"}", "{\"a\":\"\xff\"}", ""},
	}
	for _, tt := range tests {
		r, err := ReadObject(tt.in)
		if err != nil {
			t.Errorf("%s: ReadObject(%q): %v", tt.name, tt.in, err)
			continue
		}
		if string(r.JSON) != tt.want || flagsOf(r) != tt.flags {
			t.Errorf("%s: ReadObject(%q) = %s [%s], want %s [%s]", tt.name, tt.in, r.JSON, flagsOf(r), tt.want, tt.flags)
		}
	}
}

func flagsOf(r Reading) string {
	var flags []string
	if r.Repaired {
		flags = append(flags, "repaired")
	}
	if r.Cut {
		flags = append(flags, "cut")
	}
	return strings.Join(flags, " ")
}

func TestReadObjectErrors(t *testing.T) {
	tests := []struct {
		name, in string
		want     error
	}{
		{"nothing", "", ErrNoObject},
		{"prose", "I cannot help with that.", ErrNoObject},
		{"braces in prose", "the {field} is missing", ErrNoObject},
		{"other JSON", "null", ErrNoObject},
		{"a broken object that cannot be saved", `{"a":1, %%%: [}`, ErrNoObject},
		{"a list of numbers", "[1, 2]", ErrNoObject},
		{"a list of objects", `[{"a":1},{"a":2}]`, ErrArray},
		{"a list of objects in a fence", "```json\n[\n {\"a\":1}\n]\n```", ErrArray},
		{"a cut list of objects", `[{"a":1},{"a":2`, ErrArray},
		{"only reasoning", `<think>{"a":1}</think>`, ErrNoObject},
		{"too long", strings.Repeat(" ", maxAnswer+1), ErrTooLong},
		{"too long to repair", `{"a":"` + strings.Repeat("x", maxRepair), ErrTooLong},
		{"too deep", `{"a":` + strings.Repeat("[", 1<<20), ErrTooLong},
		{"too deep to repair", `{"a":` + strings.Repeat("[", maxRepairDepth), ErrTooDeep},
		{"deep objects", strings.Repeat(`{"a":`, maxRepairDepth+1), ErrTooDeep},
		{"deep and closed, in prose", "x" + strings.Repeat(`{"a":`, 10001) + "1" + strings.Repeat("}", 10001), ErrTooDeep},
	}
	for _, tt := range tests {
		r, err := ReadObject(tt.in)
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: ReadObject(%q) = %q, %v, want %v", tt.name, clip(tt.in), r.JSON, err, tt.want)
		}
	}
}

// TestReadObjectPrefixes cuts an answer at every byte: whatever comes of it is
// an error or a valid object, marked as cut once it is one.
func TestReadObjectPrefixes(t *testing.T) {
	const answer = `{"extractions":[{"field":"total","value":"$4.11","evidence":{"quote":"Total \"due\": $4.11","page":1},"status":"ok"},{"field":"é","value":null}]}`
	for n := range len(answer) {
		r, err := ReadObject(answer[:n])
		if err != nil {
			if n > len(`{"`) {
				t.Errorf("cut after %d bytes: %v", n, err)
			}
			continue
		}
		if !json.Valid(r.JSON) || !r.Repaired || !r.Cut {
			t.Errorf("cut after %d bytes: %s [%s]", n, r.JSON, flagsOf(r))
		}
	}
	if r, err := ReadObject(answer); err != nil || r.Repaired || string(r.JSON) != answer {
		t.Errorf("whole: %s, %v", r.JSON, err)
	}
}

func FuzzReadObject(f *testing.F) {
	for _, s := range []string{
		`{"a":{"b":"}\""},"c":[{}]}`, "Sure:\n```json\n{\"a\":1,}\n```\n", `{'a': None}`, `{"a":"\ud800\xff`, `[{"a":1}]`,
		`<think>{</think>{"a":NaN}`, `{"a":"5" x"}`, `{ "C:\path": /* x */ 'y' + "z" ... }`, "{\"a\":\"\xff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ReadObject(s)
		again, errAgain := ReadObject(s)
		if string(r.JSON) != string(again.JSON) || (err == nil) != (errAgain == nil) {
			t.Errorf("ReadObject(%q) is %q, then %q", s, r.JSON, again.JSON)
		}
		if err != nil {
			return
		}
		var object map[string]any
		if err := json.Unmarshal(r.JSON, &object); err != nil {
			t.Fatalf("ReadObject(%q) = %q: %v", s, r.JSON, err)
		}
		if !r.Repaired && !strings.Contains(s, string(r.JSON)) {
			t.Errorf("ReadObject(%q) = %q, which is not part of it", s, r.JSON)
		}
		// What was read is plain.
		if plain, err := ReadObject(string(r.JSON)); err != nil || plain.Repaired || plain.Cut || string(plain.JSON) != string(r.JSON) {
			t.Errorf("ReadObject(%q) = %q, which reads as %+v, %v", s, r.JSON, plain, err)
		}
	})
}

// Members and elements are those that encoding/json reads.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{}`, `[]`, `{"a":1,"b":[1,{"x":"]}"}],"a":"\\"\\ud800é"}`, `{"a":"`, `{":[`, `{"a\\`, ` { "a" : null , "\u0062":-1.5e3}`, `[[],{},"," , true]`, `"x"`, `7`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if data = bytes.TrimSpace(data); !json.Valid(data) {
			for range Members(data) { // must not panic
			}
			return
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(data, &object) == nil && object != nil {
			got := map[string]json.RawMessage{}
			for name, v := range Members(data) {
				got[name] = v
			}
			if !reflect.DeepEqual(got, object) {
				t.Errorf("%s has %s, want %s", data, got, object)
			}
		}
		var array []json.RawMessage
		if json.Unmarshal(data, &array) == nil && array != nil {
			got := []json.RawMessage{}
			for _, v := range Elements(data) {
				got = append(got, v)
			}
			if !reflect.DeepEqual(got, array) {
				t.Errorf("%s has %s, want %s", data, got, array)
			}
		}
	})
}

func BenchmarkReadObject(b *testing.B) {
	entry := `{"field":"total_amount","value":"$4.11","evidence":{"quote":"TOTAL AMOUNT DUE $4.11","page":1},"status":"ok","confidence":"high","candidates":[]}`
	answer := `{"extractions":[` + strings.Repeat(entry+",\n", 6) + entry + `]}`
	b.SetBytes(int64(len(answer)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadObject(answer); err != nil {
			b.Fatal(err)
		}
	}
}

// What is asked for is found behind an object that only looks like it.
func TestReadObjectWithPrefersTheKey(t *testing.T) {
	const right = `{"extractions": [{"field": "f"}]}`
	for _, before := range []string{"", `I will use {"field": "f"} entries.` + "\n", `{"name": "mix"}` + "\n", `Fields: [{"name": "f"}]` + "\n", `{"note": "no \"extractions\" here"} `} {
		r, err := ReadObjectWith(before+right, "extractions")
		if err != nil || string(r.JSON) != right {
			t.Errorf("after %q: %s, %v", before, r.JSON, err)
		}
	}
	const other = `{"extractions": []}`
	for after, want := range map[string]string{"": "", " or " + right: "", ` as {"field": "f"}`: "", " or " + other: other, ` or {"answer": ` + other + `} {} ` + right + other: other + other,
		` or {"answer": ` + right + `}`: ""} {
		if r, err := ReadObjectWith("So: "+right+after, "extractions"); err != nil || string(r.JSON) != right || string(bytes.Join(r.Others, nil)) != want {
			t.Errorf("before %q: %s, others %s, %v", after, r.JSON, r.Others, err)
		}
	}
	// A decoder takes the last of equal keys: that the first says another thing is not silent.
	for answer, want := range map[string]string{`{"k": 1, "k": 1}`: "", `{"k": {"a": 1}, "k": {"a" :1}}`: "", `{"k": 1, "b": [], "k": 2}`: `{"k":1,"b":[]}`,
		`{"k": [0, {"\u0061": 1, "a": 2}], "b": "\ud800"}`: `{"k":[0,{"a":1}],"b":"\ud800"}`, `So: {"answer": {"k": 1, "k": 2}}`: `{"k":1}`, `{"k": 1, "k": 2,}`: `{"k":1}`} {
		if r, err := ReadObjectWith(answer, "k"); err != nil || string(bytes.Join(r.Others, nil)) != want {
			t.Errorf("%s: others %s, %v; want %s", answer, r.Others, err, want)
		}
	}
	if r, err := ReadObjectWith(`so: {"a": 1}, {"a":1}, {} and {"b": 2}`, "extractions"); err != nil || string(r.JSON) != `{"a": 1}` || string(bytes.Join(r.Others, nil)) != `{"b": 2}` {
		t.Errorf("without the key: %s, others %s, %v; want the first object", r.JSON, r.Others, err)
	}
	for after, want := range map[string]bool{"": true, ` {"k": 1, "why": "else"}`: true, ` {"k": 1, "why": "else"} {"k": 2}`: false} {
		r, err := ReadObjectWith(`So: {"k": 1, "why": ""}`+after, "k")
		if got := r.Agrees(func(o []byte) string { return string(maps.Collect(Members(o))["k"]) }); err != nil || got != want {
			t.Errorf("before %q: agrees is %v, %v", after, got, err)
		}
	}
}

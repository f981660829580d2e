package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A gold record shaped like those suites read.
type gold struct {
	ID     string         `json:"document_id"`
	Text   string         `json:"text"`
	Truth  []truth        `json:"ground_truth"`
	Extra  map[string]any `json:"extra"`
	Weight float64        `json:"weight"`
	Left   *truth         `json:"left"`
	Shout  shout          `json:"shout"`
	hidden string         //lint:ignore U1000 keys are those of exported fields
	Never  string         `json:"-"`
	common
}

type common struct {
	Split string `json:"split"`
}

type truth struct {
	Field  string `json:"field"`
	Exists bool   `json:"exists_in_document"`
	Page   int    `json:"page"`
}

// shout decodes itself, strictly.
type shout struct {
	Loud string `json:"loud"`
}

func (s *shout) UnmarshalJSON(data []byte) error {
	var v struct {
		Loud string `json:"loud"`
	}
	if err := DecodeStrict(data, &v); err != nil {
		return err
	}
	s.Loud = strings.ToUpper(v.Loud)
	return nil
}

func TestDecodeStrict(t *testing.T) {
	tests := []struct {
		name, data string
		want       gold
	}{
		{"every kind of value",
			`{"document_id":"a","text":"x\ny","ground_truth":[{"field":"f","exists_in_document":true,"page":2}],"weight":0.5,"split":"dev"}`,
			gold{ID: "a", Text: "x\ny", Truth: []truth{{"f", true, 2}}, Weight: 0.5, common: common{"dev"}}},
		{"white space around", " \t{\"document_id\":\"a\"}\r\n ", gold{ID: "a"}},
		{"null leaves a value alone", `{"document_id":"a","left":null,"ground_truth":null}`, gold{ID: "a"}},
		{"a map takes any key", `{"extra":{"any":{"thing":1}}}`, gold{Extra: map[string]any{"any": map[string]any{"thing": 1.0}}}},
		{"keys that only look alike", `{"extra":{"a":1,"A":1,"a ":1}}`, gold{Extra: map[string]any{"a": 1.0, "A": 1.0, "a ": 1.0}}},
		{"one key in two objects", `{"ground_truth":[{"field":"f"},{"field":"f"}],"left":{"field":"f"}}`,
			gold{Truth: []truth{{Field: "f"}, {Field: "f"}}, Left: &truth{Field: "f"}}},
		{"values that look like keys", `{"document_id":"text","text":"document_id"}`, gold{ID: "text", Text: "document_id"}},
		{"a type that decodes itself", `{"shout":{"loud":"hey"}}`, gold{Shout: shout{"HEY"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got gold
			if err := DecodeStrict([]byte(tt.data), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(gold{}, common{})); diff != "" {
				t.Errorf("decoded differently (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeStrictRefuses(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"misspelt key", `{"document_id":"a","txet":"b"}`,
			`column 20: unknown key "txet": did you mean "text"?`},
		{"misspelt key deep inside", `{"ground_truth":[{"field":"a"},{"field":"b","exists_in_documnet":true}]}`,
			`column 45: unknown key "exists_in_documnet" in ground_truth[1]: did you mean "exists_in_document"?`},
		{"misspelt key behind a pointer", `{"left":{"pgae":1}}`,
			`column 10: unknown key "pgae" in left: did you mean "page"?`},
		{"key like no other", `{"ground_truth":[{"colour":1}]}`,
			`column 19: unknown key "colour" in ground_truth[0]: known keys are exists_in_document, field, page`},
		{"columns count characters", `{"text":"déjà vu","txet":1}`,
			`column 19: unknown key "txet": did you mean "text"?`},
		{"a field without a key", `{"hidden":"x"}`,
			`column 2: unknown key "hidden": known keys are document_id, extra, ground_truth, left, shout, split, text, weight`},
		{"a field left out of JSON", `{"-":"x"}`,
			`column 2: unknown key "-": known keys are document_id, extra, ground_truth, left, shout, split, text, weight`},
		{"unknown key in a type that decodes itself", `{"shout":{"lout":1}}`,
			`unknown key "lout": did you mean "loud"?`},
		{"string for a list", `{"ground_truth":"none"}`,
			`column 17: ground_truth: want a list, got a string`},
		{"list for a string", `{"text": ["a"]}`,
			`column 10: text: want a string, got a list`},
		{"string for a whole number", `{"ground_truth":[{"field":"a","page":"2"}]}`,
			`column 38: ground_truth[0].page: want a whole number, got a string`},
		{"fraction for a whole number", `{"left":{"page":1.5}}`,
			`column 17: left.page: want a whole number, got 1.5`},
		{"string for a truth value", `{"left":{"exists_in_document":"yes"}}`,
			`column 31: left.exists_in_document: want true or false, got a string`},
		{"number too large", `{"weight":1e999}`,
			`column 11: weight: want a number, got 1e999`},
		{"a key in another case", `{"Text":"a"}`, `column 2: unknown key "Text": did you mean "text"?`},
		{"half a surrogate pair", `{"text":"\ud83d!"}`, `column 10: reading JSON: invalid surrogate pair ` + "`\\ud83d!\"}`" + ` in string`},
		{"list for an object", `[1]`, `column 1: want an object, got a list`},
		{"null for an object", ` null`, `column 2: want an object, got null`},
		{"nothing", ``, `column 1: want an object, got an empty line`},
		{"cut off", `{"document_id":"a"`, `column 19: unexpected end of JSON: the value is cut off; of JSON Lines each line must hold a whole one`},
		{"two values", `{"document_id":"a"} {"document_id":"b"}`,
			`column 21: invalid character '{' after top-level value: want one value per line`},
		{"a comma after the value", `{"document_id":"a"},`,
			`column 20: invalid character ',' after top-level value: want one value per line`},
		{"Python's words", `{"left":None}`, `column 9: reading JSON: invalid character 'N' at start of value`},
		{"single quotes", `{'text':1}`, `column 2: reading JSON: invalid character '\'' at start of value`},
		{"a key twice", `{"text":"a","document_id":"x","text":"b"}`,
			`column 31: duplicate key "text"`},
		{"a key twice, once in disguise", `{"text":"a","t\u0065xt":"b"}`,
			`column 13: duplicate key "text"`},
		{"a key twice deep inside", `{"extra":{"list":[{"a":"}","a":1}]}}`,
			`column 28: duplicate key "a" in extra.list[0]`},
		{"a key twice after a string with quotes", `{"text":"say \"text\", \\","text":"b"}`,
			`column 28: duplicate key "text"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := DecodeStrict([]byte(tt.data), new(gold))
			if err == nil || err.Error() != tt.want {
				t.Fatalf("got  %v\nwant %s", err, tt.want)
			}
			if !errors.As(err, new(*DecodeError)) {
				t.Errorf("%T is not a *DecodeError", err)
			}
		})
	}
}

// What the strict decoder accepts, encoding/json reads the same way, and what
// encoding/json wrote, the strict decoder accepts.
func TestStrictAgreesWithJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.MapOf(rapid.String(), rapid.OneOf(
			rapid.Map(rapid.String(), func(s string) any { return s }),
			rapid.Map(rapid.Float64(), func(f float64) any { return f }),
			rapid.Map(rapid.SliceOf(rapid.MapOf(rapid.String(), rapid.Bool())), func(l []map[string]bool) any { return l }),
		)).Draw(t, "value")
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var strict, plain map[string]any
		if err := DecodeStrict(data, &strict); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if err := json.Unmarshal(data, &plain); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain, strict); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzDecodeStrict(f *testing.F) {
	for _, seed := range []string{
		`{"document_id":"a","ground_truth":[{"field":"b","page":1}]}`, `{"a":"\\\"","a":1}`, `[[[[`, `{"left":{"left":1}}`,
		"null", "", `{"shout":{"loud":1}}`, "{\"\xff\":1}", `{"extra":{"\ud800":1,"\ud801":1}}`, `{"text":1} x`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := DecodeStrict(data, new(gold))
		if err != nil {
			var d *DecodeError
			if !errors.As(err, &d) || d.Column > len(data)+1 || err.Error() == "" {
				t.Fatalf("%q: odd error %#v", data, err)
			}
			return
		}
		if err := json.Unmarshal(data, new(gold)); err != nil {
			t.Fatalf("%q: accepted, but encoding/json says %v", data, err)
		}
		if !bytes.HasPrefix(bytes.TrimLeft(data, space), []byte("{")) {
			t.Fatalf("%q: accepted, but it is no object", data)
		}
	})
}

func BenchmarkDecodeStrict(b *testing.B) {
	data, _ := json.Marshal(gold{ID: "doc-00001", Text: strings.Repeat("The quick brown fox. \n", 40), Truth: []truth{
		{"invoice_number", true, 1}, {"invoice_date", true, 1}, {"due_date", false, 0}, {"total_amount", true, 1}, {"vendor_name", true, 1}}})
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		var g gold
		if err := DecodeStrict(data, &g); err != nil {
			b.Fatal(err)
		}
	}
}

// A record that is wrong in any way leaves nothing behind: a part of one was taken for a
// whole, and its raw values were empty.
func TestNoHalfRecords(t *testing.T) {
	for _, text := range []string{`{"id": "a", "answer": "b`, `{"id": "a", "x": "\t`, "{\"id\": \"a\tb\"}", `{"id": "a", "x": "\ud800"}`, `{"id": "a"} x`, `{"id": "a", "id": "b"}`, `{"id": "a", "n": {"deep": [}`, "null"} {
		values := map[string]jsontext.Value{}
		record := struct {
			ID string `json:"id"`
		}{"old"}
		for _, decode := range []func(data []byte, into any) error{func(data []byte, into any) error { return DecodeStrict(data, into) }, DecodeLoose} {
			if err := decode([]byte(text), &values); err == nil || values != nil {
				t.Errorf("%s: %v left %v", text, err, values)
			}
			if err := decode([]byte(text), &record); err == nil || record.ID != "" {
				t.Errorf("%s: %v left %v", text, err, record)
			}
		}
	}
}

// An id is the same however a number is written; a text stays as it is.
func TestIDs(t *testing.T) {
	for data, want := range map[string]ID{`7`: "7", `7.0`: "7", `70e-1`: "7", `-0.0`: "0", `7.5`: "7.5", `12345678901234567890`: "12345678901234567890",
		`"7.0"`: "7.0", `"a\u00e9"`: "aé", `null`: ""} {
		var r struct {
			ID ID `json:"id"`
		}
		if err := DecodeStrict([]byte(`{"id": `+data+`}`), &r); err != nil || r.ID != want {
			t.Errorf("%s: got %q, %v; want %q", data, r.ID, err, want)
		}
	}
	for _, data := range []string{`true`, `[7]`, `{}`} {
		var r struct {
			ID ID `json:"id"`
		}
		if err := DecodeStrict([]byte(`{"id": `+data+`}`), &r); err == nil {
			t.Errorf("%s was read as %q", data, r.ID)
		}
	}
}

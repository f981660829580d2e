package process

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// asked is a request as a pipeline reads it.
type asked struct {
	ID        string          `json:"id"`
	Item      string          `json:"item"`
	Replicate int             `json:"replicate"`
	Input     json.RawMessage `json:"input"`
}

func ask(item string) *eval.Request {
	return &eval.Request{Model: "arm:mine", Provider: "exec", Item: item, Replicate: 1, Payload: json.RawMessage(`{"text": "a b"}`)}
}

func failureOf(t *testing.T, err error) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("got error %v, want a *model.Error", err)
	}
	return e
}

// secret is a key that no error and no answer shows.
const secret = "the-key-of-2026"

// failure asserts that an error is of a kind and says certain things.
func failure(t *testing.T, err error, kind eval.ErrorKind, says ...string) *model.Error {
	t.Helper()
	e := failureOf(t, err)
	if e.Kind != kind {
		t.Errorf("kind %q, want %q: %v", e.Kind, kind, e)
	}
	for _, text := range says {
		if !strings.Contains(e.Error()+" → "+e.Remedy, text) {
			t.Errorf("the error does not say %q: %v → %s", text, e, e.Remedy)
		}
	}
	if strings.Contains(e.Error()+e.Remedy, secret) {
		t.Errorf("the error shows the key: %v → %s", e, e.Remedy)
	}
	if strings.ContainsAny(e.Error(), "\n\x1b") {
		t.Errorf("the error is not one plain line: %q", e.Error())
	}
	return e
}

func TestEncode(t *testing.T) {
	r := &eval.Request{Model: "arm:mine", Item: "a <b> \"c\"\u2028\n", Replicate: 3, Payload: json.RawMessage("{\n  \"n\": 1.50,\n  \"s\": \"<\\u00e9>\"\n}")}
	id, body, err := encode(r)
	if err != nil {
		t.Fatal(err)
	}
	if id != r.Key() {
		t.Errorf("id %q, want the request's key %q", id, r.Key())
	}
	// As documented in the package comment, on one line, numbers and escapes of
	// the input as they were written. U+2028 is escaped in strings we write.
	want := `{"id":"` + id + `","item":"a <b> \"c\"\u2028\n","replicate":3,"input":{"n":1.50,"s":"<\u00e9>"}}`
	if string(body) != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
}

// TestEncodeIsOneLine: whatever is asked, the request is one line of JSON that
// says the same.
func TestEncodeIsOneLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payload := map[string]string{rapid.String().Draw(t, "key"): rapid.String().Draw(t, "value")}
		indented, err := json.MarshalIndent(payload, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		r := &eval.Request{Item: rapid.String().Draw(t, "item"), Replicate: rapid.IntRange(1, 9).Draw(t, "replicate"), Payload: indented}
		_, body, err := encode(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(string(body), "\r\n") {
			t.Fatalf("the request has a line break: %q", body)
		}
		var got struct {
			Item      string
			Replicate int
			Input     map[string]string
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		if got.Item != r.Item || got.Replicate != r.Replicate {
			t.Fatalf("got %+v, want %+v", got, r)
		}
		for k, v := range payload {
			if got.Input[k] != v {
				t.Fatalf("input %q, want %q", got.Input, payload)
			}
		}
	})
}

// TestUsage: tokens and a cost that an answer does not say, or not as numbers from 0, are unknown.
func TestUsage(t *testing.T) {
	for usage, want := range map[string]struct {
		counted bool
		cost    float64
	}{
		`null`: {false, -1}, `[1]`: {false, -1}, `{}`: {false, -1},
		`{"input_tokens":8}`:                                      {false, -1},
		`{"input_tokens":-1,"output_tokens":1}`:                   {false, -1},
		`{"input_tokens":"many","output_tokens":1,"cost_usd":-1}`: {false, -1},
		`{"input_tokens":8,"output_tokens":"9"}`:                  {true, -1},
		`{"input_tokens":0,"output_tokens":0,"cost_usd":0}`:       {true, 0},
		`{"cost_usd":0.0012}`:                                     {false, 0.0012},
	} {
		a, err := decode([]byte(`{"id":"a","output":"x","usage":` + usage + `}`))
		if err != nil {
			t.Fatal(err)
		}
		r, _ := a.response()
		cost := -1.0
		if r.Usage.CostUSD != nil {
			cost = *r.Usage.CostUSD
		}
		if r.Usage.Uncounted == want.counted || cost != want.cost {
			t.Errorf("%s: %+v with cost %v, want counted %v, cost %v", usage, r.Usage, cost, want.counted, want.cost)
		}
	}
}

// FuzzDecode: whatever a pipeline writes, reading it gives an answer or an
// error that fits on one line.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"id":"a","output":"x","usage":{"input_tokens":1,"output_tokens":2},"model":"m"}`,
		`{"id":"a","output":{"a":[1,{"b":null}]}}`, `{"id":"a","error":"no"}`, `{"error":{"a":1}}`, `{"id":1,"output":null}`,
		`{"output":"\ud800"}`, "\ufeff{\"output\":\"x\"}", `{"output":1,"output":2}`, `[`, "", " ", "null", "\xff", `{"usage":{"input_tokens":-5e300},"output":""}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := decode(data)
		var response eval.Response
		if err == nil {
			response, err = a.response()
		}
		if err != nil {
			e := failureOf(t, err)
			if e.Message == "" || strings.ContainsAny(e.Message, "\r\n\x1b") || !utf8.ValidString(e.Message) {
				t.Errorf("error %q is not one plain line", e.Message)
			}
			return
		}
		if !utf8.ValidString(response.Text) {
			t.Errorf("text %q is not UTF-8", response.Text)
		}
		if response.Usage.Input < 0 || response.Usage.Output < 0 {
			t.Errorf("usage %+v", response.Usage)
		}
	})
}

func TestTailKeepsTheLastBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 20).Draw(t, "most")
		kept := tail{most: most}
		all := ""
		for _, p := range rapid.SliceOfN(rapid.StringN(0, 30, 60), 0, 8).Draw(t, "writes") {
			if n, err := kept.Write([]byte(p)); n != len(p) || err != nil {
				t.Fatalf("Write(%q) = %d, %v", p, n, err)
			}
			all += p
		}
		if want := all[max(0, len(all)-most):]; kept.String() != want {
			t.Fatalf("kept %q, want %q", kept.String(), want)
		}
	})
}

package sdk_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/model/wiretest"
)

const key = "test-key-1234567"

// A format is one of our clients and the official SDK beside it.
type format struct {
	name    string // as wiretest.Answers has it
	path    string // what the endpoint's base URL ends with
	model   string
	answer  string   // a body that both can read
	headers []string // that must be equal
	// broken names the recordings that cannot be read, with the reason.
	broken map[string]string
	open   func(model.Endpoint) (*model.Caller, error)
	// send has the SDK send the request.
	send func(t *testing.T, baseURL string, r *eval.Request)
	// read has the SDK read the body of an answer.
	read func(body string) (eval.Response, error)
	want tally // of the recorded answers
}

// A tally counts answers that were compared, so that none is passed over.
type tally struct {
	answers, calls, refused int
	apart                   int // whose output does not include the thinking
}

func (n *tally) add(r eval.Response) {
	n.answers++
	n.calls += len(r.ToolCalls)
	if r.Stop == eval.StopRefused {
		n.refused++
	}
	if !r.Usage.ReasoningInOutput {
		n.apart++
	}
}

func formats() []format {
	return []format{anthropicFormat(), chatFormat(), responsesFormat(), googleFormat()}
}

// TestRequests compares what our clients send with what the official SDKs send
// for the same request: method, path, credentials, and the body by meaning.
func TestRequests(t *testing.T) {
	for _, f := range formats() {
		server := wiretest.NewServer(t)
		server.Answer(http.StatusOK, f.answer, nil)
		client, err := f.open(model.Endpoint{BaseURL: server.URL + f.path, APIKey: key})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range wiretest.Cases(f.model) {
			t.Run(f.name+"/"+c.Name, func(t *testing.T) {
				r := c.Request
				if _, err := client.Complete(t.Context(), &r); err != nil {
					t.Fatal(err)
				}
				f.send(t, server.URL+f.path, &r)
				sent := server.Requests()
				if len(sent) != 2 {
					t.Fatalf("%d requests, want ours and the SDK's", len(sent))
				}
				ours, theirs := sent[0], sent[1]
				if ours.Method != theirs.Method || ours.Path != theirs.Path || ours.Query != theirs.Query {
					t.Errorf("sent %s %s?%s, the SDK %s %s?%s", ours.Method, ours.Path, ours.Query, theirs.Method, theirs.Path, theirs.Query)
				}
				for _, name := range append(f.headers, "Content-Type") {
					a, b := ours.Header.Get(name), theirs.Header.Get(name)
					if a == "" || a != b {
						t.Errorf("header %s is %q, the SDK's %q", name, a, b)
					}
				}
				if diff := cmp.Diff(meaning(t, theirs.Body), meaning(t, ours.Body)); diff != "" {
					t.Errorf("body (-SDK +ours):\n%s", diff)
				}
			})
		}
	}
}

// meaning is a request body as a tree, with values that mean the same made the
// same.
func meaning(t *testing.T, body string) any {
	t.Helper()
	var v any
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	walk(v, func(m map[string]any) {
		for name, value := range m {
			switch value := value.(type) {
			case json.Number: // 0.0 and 0
				if f, err := value.Float64(); err == nil {
					m[name] = float64(float32(f)) // genai has float32
				}
			case string:
				if name == "thinkingLevel" || name == "mode" { // Google reads enums in either case
					m[name] = strings.ToUpper(value)
				}
			case bool:
				if name == "strict" && !value { // false is the default
					delete(m, name)
				}
			case map[string]any:
				if name == "systemInstruction" { // it has no turn, so its role means nothing
					delete(value, "role")
				}
				if len(value) == 0 {
					delete(m, name)
				}
			case []any:
				// A list of one text part is that text.
				if len(value) == 1 && (name == "content" || name == "system") {
					if part, ok := value[0].(map[string]any); ok && part["type"] == "text" {
						m[name] = part["text"]
					}
				}
			}
		}
	})
	return v
}

func walk(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(v)
		for _, child := range v {
			walk(child, visit)
		}
	case []any:
		for _, child := range v {
			walk(child, visit)
		}
	}
}

// TestRecordings reads every recorded answer with our client and with the
// official SDK's types, and compares all that a response holds. Arguments of
// tool calls must be as the model wrote them.
func TestRecordings(t *testing.T) {
	for _, f := range formats() {
		t.Run(f.name, func(t *testing.T) {
			server := wiretest.NewServer(t)
			client, err := f.open(model.Endpoint{BaseURL: server.URL + f.path})
			if err != nil {
				t.Fatal(err)
			}
			var got tally
			for _, e := range wiretest.Answers(t, f.name) {
				server.Play(e)
				r := eval.Request{Model: "m", Name: f.model, MaxTokens: 100, Messages: []eval.Message{{Role: "user", Content: "Hello"}}}
				ours, err := client.Complete(t.Context(), &r)
				if reason, ok := f.broken[e.ID]; ok {
					if k := model.FromTransport(t.Context(), err).Kind; k != eval.ErrMalformed {
						t.Errorf("%s: kind %s, want malformed (%s)", e.ID, k, reason)
					}
					continue
				}
				if err != nil && strings.Contains(e.ID, "background_mode") {
					continue // queued or in progress: no answer yet
				}
				if err != nil {
					t.Errorf("%s: %v", e.ID, err)
					continue
				}
				theirs, err := f.read(e.Body)
				if err != nil {
					t.Errorf("%s: the SDK: %v", e.ID, err)
					continue
				}
				if !ours.Usage.ReasoningInOutput { // known from the total alone, which the SDK's reader leaves out
					theirs.Usage.Reasoning, theirs.Usage.ReasoningInOutput = ours.Usage.Reasoning, false
				}
				if diff := cmp.Diff(theirs, ours, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s (-SDK +ours):\n%s", e.ID, diff)
				}
				got.add(ours)
			}
			if got != f.want {
				t.Errorf("compared %+v, want %+v", got, f.want)
			}
		})
	}
}

func object(t *testing.T, raw json.RawMessage) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

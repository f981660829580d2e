package model

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
)

// failed is the error of an answer with an error status.
func failed(status int, body, keyEnv string) *Error {
	c := readComplaint([]byte(body))
	return c.failure(&Exchange{Status: status, Header: http.Header{}}, keyEnv, "m")
}

// Each provider's own words for an input that exceeds the context, from their
// documentation and from bug reports.
func TestTooLong(t *testing.T) {
	tests := []struct {
		who    string
		status int
		body   string
	}{
		{"OpenAI", 400, `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`},
		{"OpenAI Responses", 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","code":"context_length_exceeded","param":"input"}}`},
		{"Anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`},
		{"Anthropic, both limits", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and ` + "`max_tokens`" + ` exceed context limit: 199000 + 8192 > 200000"}}`},
		{"Anthropic, bytes", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`},
		{"Gemini", 400, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`},
		{"DeepSeek", 400, `{"error":{"message":"This model's maximum context length is 131072 tokens. However, you requested 140000 tokens","type":"invalid_request_error"}}`},
		{"vLLM", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","param":null,"code":400}`},
		{"llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}`},
		{"Mistral", 400, `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt"}`},
		{"xAI", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 200000 tokens."}`},
		{"Groq", 400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`},
		{"Moonshot", 400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 8192","type":"invalid_request_error"}}`},
		{"Z.AI", 400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`},
		{"a proxy", 413, `<html>413 Request Entity Too Large</html>`},
	}
	for _, test := range tests {
		e := failed(test.status, test.body, "KEY")
		if e.Kind != eval.ErrBadRequest || !e.TooLong || e.Remedy == "" {
			t.Errorf("%s: got %s, too long %v, remedy %q; want a bad request that is too long", test.who, e.Kind, e.TooLong, e.Remedy)
		}
	}
	for _, body := range []string{
		`{"error":{"message":"max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for this model"}}`,
		`{"error":{"message":"max_tokens is too large: 5000. This model supports at most 4096 completion tokens"}}`,
	} {
		if e := failed(400, body, "KEY"); e.TooLong {
			t.Errorf("%s: is about the study, not about the item", body)
		}
	}
}

// An empty account stops a run as a wrong key does, whatever the status; a
// limit that passes does not.
func TestBilling(t *testing.T) {
	tests := []struct {
		who    string
		status int
		body   string
		want   eval.ErrorKind
	}{
		{"OpenAI", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`, eval.ErrAuth},
		{"Anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, eval.ErrAuth},
		{"DeepSeek", 402, `{"error":{"message":"Insufficient Balance"}}`, eval.ErrAuth},
		{"OpenRouter", 402, `{"error":{"code":402,"message":"This request requires more credits"}}`, eval.ErrAuth},
		{"Moonshot", 429, `{"error":{"message":"Your account is not active","type":"exceeded_current_quota_error"}}`, eval.ErrAuth},
		{"Z.AI", 429, `{"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}}`, eval.ErrAuth},
		{"Gemini, a limit per minute", 429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}`, eval.ErrRateLimited},
	}
	for _, test := range tests {
		e := failed(test.status, test.body, "SOME_KEY")
		if e.Kind != test.want {
			t.Errorf("%s: got %s, want %s", test.who, e.Kind, test.want)
		}
		if paid := strings.Contains(e.Remedy, "credit"); paid != (test.want == eval.ErrAuth) {
			t.Errorf("%s: remedy %q", test.who, e.Remedy)
		}
	}
}

func TestComplaintForms(t *testing.T) {
	tests := []struct {
		name, body string
		want       complaint
	}{
		{"Gemini, wrong key", `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`,
			complaint{code: "API_KEY_INVALID", kind: "INVALID_ARGUMENT", message: "API key not valid."}},
		{"Gemini, wait", `{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`,
			complaint{code: "429", kind: "RESOURCE_EXHAUSTED", message: "quota", wait: 34500 * 1e6}},
		{"Gemini's OpenAI endpoint", `[{"error":{"code":404,"message":"models/x is not found","status":"NOT_FOUND"}}]`,
			complaint{code: "404", kind: "NOT_FOUND", message: "models/x is not found"}},
		{"Anthropic", `{"type":"error","error":{"type":"not_found_error","message":"model: x"},"request_id":"req_1"}`,
			complaint{kind: "not_found_error", message: "model: x", id: "req_1"}},
		{"FastAPI", `{"detail":[{"loc":["body"],"msg":"field required"}]}`, complaint{message: `[{"loc":["body"],"msg":"field required"}]`}},
		{"xAI", `{"code":"invalid","error":"wrong"}`, complaint{code: "invalid", message: "wrong"}},
		{"text", "upstream\n  connect error", complaint{message: "upstream connect error"}},
		{"nothing", "", complaint{}},
	}
	for _, test := range tests {
		if got := readComplaint([]byte(test.body)); got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
}

// Google says in the body how long to wait.
func TestWaitInTheBody(t *testing.T) {
	c := readComplaint([]byte(`{"error":{"code":429,"message":"quota","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`))
	if e := c.failure(&Exchange{Status: 429, Header: http.Header{}}, "", "m"); e.RetryAfter != 34500*time.Millisecond {
		t.Errorf("wait %v, want 34.5s", e.RetryAfter)
	}
	if e := c.failure(&Exchange{Status: 429, Header: http.Header{"Retry-After": {"3"}}}, "", "m"); e.RetryAfter != 3*time.Second {
		t.Errorf("wait %v, want the header's 3s", e.RetryAfter)
	}
}

func TestKindsOfKeyTroubles(t *testing.T) {
	e := failed(400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`, "GEMINI_API_KEY")
	if e.Kind != eval.ErrAuth || !strings.Contains(e.Remedy, "GEMINI_API_KEY") {
		t.Errorf("got %s, remedy %q; want auth and the variable", e.Kind, e.Remedy)
	}
	if e := failed(401, `{"error":{"message":"no key"}}`, ""); !strings.Contains(e.Remedy, "api_key_env") {
		t.Errorf("remedy %q does not say where the key is named", e.Remedy)
	}
}

func TestScrub(t *testing.T) {
	tests := []struct{ key, text, want string }{
		{"k-123456789", "wrong key k-123456789!", "wrong key [key]!"},
		{"abc", "abc is not abcd", "[key] is not abcd"},
		{"", "Authorization: Bearer abcdef0123456789.x-y", "Authorization: [key]"},
		{"", "bearer token missing", "bearer token missing"},
		{"", "Incorrect API key provided: sk-proj-AbC***************1234. See", "Incorrect API key provided: [key] See"},
		{"", "key AIzaSyA-0123456789abcdefghij refused", "key [key] refused"},
		{"", `Post "https://x/v1?key=s3cret&alt=json": EOF`, `Post "https://x/v1?[key]&alt=json": EOF`},
		{"", "the risk-free task-force of max_tokens", "the risk-free task-force of max_tokens"},
	}
	for _, test := range tests {
		if got := scrub(test.text, test.key); got != test.want {
			t.Errorf("scrub(%q, %q) = %q, want %q", test.text, test.key, got, test.want)
		}
	}
}

// Whatever a server says, the key never shows.
func TestNoKeyShows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[A-Za-z0-9_-]{8,40}`).Draw(t, "key")
		text := rapid.String().Draw(t, "before") + key + rapid.String().Draw(t, "after")
		body, err := json.Marshal(map[string]any{"error": map[string]string{"message": text}})
		if err != nil {
			t.Fatal(err)
		}
		said := readComplaint(body)
		c := Caller{key: key}
		if e := c.clean(said.failure(&Exchange{Status: 401}, "VAR", "m")); strings.Contains(e.Error(), key) {
			t.Fatalf("the key shows in %q", e.Error())
		}
	})
}

func FuzzComplaint(f *testing.F) {
	for _, seed := range []string{`{"error":{"message":"x","code":1,"metadata":{"raw":"y"},"details":[{"retryDelay":"1s"}]}}`, `{"error":"x"}`, `[{"error":{}}]`, `{"detail":[]}`, "<html>", ""} {
		f.Add([]byte(seed), 400)
	}
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		c := readComplaint(body)
		e := c.failure(&Exchange{Status: status, Header: http.Header{}}, "VAR", "m")
		if e.Kind == "" || e.RetryAfter < 0 {
			t.Errorf("got %+v", e)
		}
		if !utf8.ValidString(e.Message) {
			t.Errorf("message %q is not UTF-8", e.Message)
		}
		if c.refused(^Refused(0)) != 0 && c.message == "" {
			t.Error("something refused without a word")
		}
	})
}

func TestTolerantFields(t *testing.T) {
	var v struct {
		Counts []Count     `json:"counts"`
		Words  []Word      `json:"words"`
		Args   []Arguments `json:"args"`
	}
	err := json.Unmarshal([]byte(`{"counts":[3,3.0,"4",null,{},"x",-1,1e3],"words":["a\"b",5,null,{},true],"args":["{\"a\":1}",{"b": 2},null,""]}`), &v)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := v.Counts, []Count{3, 3, 4, 0, 0, 0, -1, 1000}; !slices.Equal(got, want) {
		t.Errorf("counts %v, want %v", got, want)
	}
	if got, want := v.Words, []Word{`a"b`, "5", "", "", ""}; !slices.Equal(got, want) {
		t.Errorf("words %q, want %q", got, want)
	}
	for i, want := range []string{`{"a":1}`, `{"b": 2}`, "", ""} {
		if string(v.Args[i]) != want {
			t.Errorf("arguments %d: %s, want %s", i, v.Args[i], want)
		}
	}
}

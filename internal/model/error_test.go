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
		{"Anthropic, spending limit", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-02-01 at 00:00 UTC."}}`, eval.ErrAuth},
		{"OpenRouter, limit of a key", 403, `{"error":{"code":403,"message":"Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys"}}`, eval.ErrAuth},
		{"xAI, no credits", 403, `{"code":"The caller does not have permission to execute the specified operation","error":"Your newly created team doesn't have any credits yet."}`, eval.ErrAuth},
		{"xAI, spending limit", 429, `{"code":"Some resource has been exhausted","error":"Your team has either used all available credits or reached its monthly spending limit."}`, eval.ErrAuth},
		{"vLLM, repeating a document", 400, `{"error":{"message":"[{'type': 'string_too_long', 'loc': ('body', 'messages', 0, 'content'), 'msg': 'String should have at most 4096 characters', 'input': 'Your card has a monthly spending limit. Key limit exceeded'}]","type":"BadRequestError","code":400}}`, eval.ErrBadRequest},
		{"LiteLLM", 400, `{"error":{"message":"litellm.BadRequestError: AnthropicException - {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"Your credit balance is too low to access the Anthropic API.\"}}","type":null,"param":null,"code":"400"}}`, eval.ErrAuth},
		{"LiteLLM, of Python", 400, `{"error":{"message":"litellm.BadRequestError: AnthropicException - {'type': 'error', 'error': {'type': 'invalid_request_error', 'message': 'Your credit balance is too low to access the Anthropic API.'}}","code":"400"}}`, eval.ErrAuth},
		{"OpenRouter, of Anthropic", 400, `{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"Your credit balance is too low to access the Anthropic API.\"}}","provider_name":"Anthropic"}}}`, eval.ErrAuth},
		{"a gateway", 403, `{"error":{"message":"You have run out of credits"}}`, eval.ErrAuth},
		{"Gemini, a limit per minute", 429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}`, eval.ErrRateLimited},
	}
	for _, test := range tests {
		e := failed(test.status, test.body, "SOME_KEY")
		if e.Kind != test.want {
			t.Errorf("%s: got %s, want %s", test.who, e.Kind, test.want)
		}
		if e.Rejected() != (test.want == eval.ErrBadRequest) {
			t.Errorf("%s: counts as a fault of its item: %v", test.who, e.Rejected())
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
	// A date counts from when the server answered by its own clock, whatever this machine's says.
	server := time.Now().Add(-11 * time.Minute).UTC().Truncate(time.Second)
	dates := http.Header{"Date": {server.Format(http.TimeFormat)}, "Retry-After": {server.Add(2 * time.Second).Format(http.TimeFormat)}}
	if wait := RetryAfter(dates, time.Now()); wait != 2*time.Second {
		t.Errorf("wait %v, want 2s", wait)
	}
	// A server that rounds down says 0 of less than a second: that is said, and no server says it of no time.
	for name, header := range map[string]http.Header{
		"0":           {"Retry-After": {"0"}},
		"0 ms":        {"Retry-After-Ms": {"0"}},
		"its own now": {"Date": {server.Format(http.TimeFormat)}, "Retry-After": {server.Format(http.TimeFormat)}},
	} {
		if wait := RetryAfter(header, time.Now()); wait != time.Second {
			t.Errorf("%s: wait %v, want 1s", name, wait)
		}
	}
	for _, nothing := range []string{"", "-1", "soon", "nan"} {
		if wait := RetryAfter(http.Header{"Retry-After": {nothing}}, time.Now()); wait != 0 {
			t.Errorf("%q: wait %v, want 0, since it says nothing", nothing, wait)
		}
	}
	for _, long := range []string{"1e11", "inf"} {
		for _, name := range []string{"Retry-After", "Retry-After-Ms"} {
			if wait := RetryAfter(http.Header{name: {long}}, time.Now()); wait < 1000*24*time.Hour {
				t.Errorf("%s: %s: wait %v, want what is longer than any call waits", name, long, wait)
			}
		}
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

// xAI rejects a wrong key with 400. The bodies are from reports of users:
// github.com/continuedev/continue/issues/10778 and
// github.com/i-am-bee/beeai-framework/issues/447.
func TestXAIKey(t *testing.T) {
	for body, want := range map[string]eval.ErrorKind{
		`{"code":"Client specified an invalid argument","error":"Incorrect API key provided: na***ys. You can obtain an API key from https://console.x.ai."}`:     eval.ErrAuth,
		`{"code":"Client specified an invalid argument","error":"Incorrect%20API%20key%20provided:%20ba***na.%20You%20can%20obtain%20an%20API%20key%20from%20x"}`: eval.ErrAuth,
		`{"code":"Client specified an invalid argument","error":"Cannot parse the message \"Incorrect API key provided\""}`:                                       eval.ErrBadRequest,
		`{"code":"Client specified an invalid argument","error":"The model grok-9 does not exist or your team does not have access to it."}`:                      eval.ErrBadRequest,
	} {
		e := failed(400, body, "XAI_API_KEY")
		if e.Kind != want || want == eval.ErrAuth && !strings.Contains(e.Remedy, "XAI_API_KEY") {
			t.Errorf("%s: got %s, remedy %q; want %s", body, e.Kind, e.Remedy, want)
		}
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
		if got := NewKeys(test.key).scrub(test.text); got != test.want {
			t.Errorf("scrub(%q, %q) = %q, want %q", test.text, test.key, got, test.want)
		}
	}
}

// What a study passes to commands is mostly no secret.
func TestHoldsKey(t *testing.T) {
	for variable, want := range map[string]bool{
		"GEMINI_API_KEY=x": true, "hf_token=x": true, "COMPANY_LLM=sk-proj-0123456789": true, "DATABASE_URL=postgres://me:pw@host/db": true,
		"PGPASSWORD=x": true, "API_KEY_2=x": true, "AWS_SECRET_ACCESS_KEY=x": true, "CREDENTIALS=x": true, "PROXY_AUTH=x": true,
		"TOKENIZER=bert-base-uncased": false, "PASSAGES_FILE=data/passages.jsonl": false, "KEYWORDS=a=b": false, "AUTHORS=x": false, "X=my_key=": false,
		"PASSCODE=x": true, "AUTHENTICATION_HEADER=x": true, "apiKeyProd=x": true, "SECRETVALUE=x": true, "TOKENVALUE=x": true, "AUTHORIZATION=x": true,
		"MYSQL_PWD=x": true, "TOKENIZER_KEY=x": true, "PWD=/home/me/study": false, "OLDPWD=/home/me": false, "AUTHOR=x": false,
		"PYTHONPATH=/home/me/lib": false, "CUDA_VISIBLE_DEVICES=0,1": false, "MODEL=gemini-2.5-flash": false, "BASE=http://host:8080/a@b": false,
	} {
		name, value, _ := strings.Cut(variable, "=")
		if got := HoldsKey(name, value); got != want {
			t.Errorf("HoldsKey(%s) = %v", variable, got)
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
		c := Caller{keys: NewKeys(key)}
		if e := c.keys.Clean(said.failure(&Exchange{Status: 401}, "VAR", "m")); strings.Contains(e.Error(), key) {
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

package recorded_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/dnaeon/go-vcr.v4/pkg/cassette"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/model/anthropic"
	"github.com/scruple-eval/scruple/internal/model/google"
	"github.com/scruple-eval/scruple/internal/model/openai"
	"github.com/scruple-eval/scruple/internal/model/recorded"
	"github.com/scruple-eval/scruple/internal/model/wiretest"
)

const secret = "sk-secret-0123456789"

var formats = []struct {
	name, suffix string
	open         func(model.Endpoint) (model.Client, error)
}{
	{"anthropic", "", func(e model.Endpoint) (model.Client, error) { return anthropic.New(e) }},
	{"openai", "/v1", func(e model.Endpoint) (model.Client, error) { return openai.NewChat(e) }},
	{"openai_responses", "/v1", func(e model.Endpoint) (model.Client, error) { return openai.NewResponses(e) }},
	{"google", "/v1beta", func(e model.Endpoint) (model.Client, error) { return google.New(e) }},
}

func request(question string) *eval.Request {
	return &eval.Request{Model: "reader", Name: "some-model", Item: "doc-1", MaxTokens: 64, System: "Key " + secret,
		Messages: []eval.Message{{Role: "user", Content: question}}}
}

// Real answers of each provider are recorded through a client, and replayed
// without the server.
func TestRecordAndReplay(t *testing.T) {
	for _, f := range formats {
		t.Run(f.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "study.yaml")
			server := wiretest.NewServer(t)
			tape := recorded.NewRecorder(http.DefaultTransport, secret)
			if err := tape.Start(file, false); err != nil {
				t.Fatal(err)
			}
			live, err := f.open(model.Endpoint{BaseURL: server.URL + f.suffix, APIKey: secret, HTTP: &http.Client{Transport: tape}})
			if err != nil {
				t.Fatal(err)
			}
			var want []eval.Response
			for n, e := range wiretest.Answers(t, f.name)[:10] {
				e.Header["set-cookie"], e.Header["openai-organization"], e.Header["x-request-id"] = "session="+secret, "org-private", fmt.Sprint("req-", n)
				server.Play(e)
				r, err := live.Complete(t.Context(), request(fmt.Sprint("question ", n)))
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, r)
			}
			if err := tape.Close(); err != nil {
				t.Fatal(err)
			}
			checkClean(t, file)
			server.Answer(500, "nobody may ask", nil)
			server.Requests()

			played, err := recorded.Open(file, "some-model")
			if err != nil {
				t.Fatal(err)
			}
			if played.Format() != f.name || !strings.HasPrefix(played.BaseURL(), server.URL) {
				t.Errorf("format %s at %s, want %s at %s", played.Format(), played.BaseURL(), f.name, server.URL)
			}
			offline, err := f.open(model.Endpoint{BaseURL: played.BaseURL(), APIKey: "another key", HTTP: &http.Client{Transport: played}})
			if err != nil {
				t.Fatal(err)
			}
			client := recorded.NewClient(offline)
			for n := len(want) - 1; n >= 0; n-- { // in another order than they were recorded in
				r := request(fmt.Sprint("question ", n))
				r.System = "Key [key]" // what the secret became
				got, err := client.Complete(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want[n], got); diff != "" {
					t.Errorf("question %d (-recorded +replayed):\n%s", n, diff)
				}
			}
			if n := len(server.Requests()); n > 0 {
				t.Errorf("%d requests went out", n)
			}
		})
	}
}

// checkClean looks for what must not be in a cassette, and reads it as anyone
// with go-vcr would.
func checkClean(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{secret, "org-private", "session=", "Bearer", "X-Api-Key", "X-Goog-Api-Key", "Authorization"} {
		if strings.Contains(strings.ToLower(string(text)), strings.ToLower(s)) {
			t.Errorf("the cassette holds %q", s)
		}
	}
	c, err := cassette.Load(strings.TrimSuffix(file, ".yaml"))
	if err != nil || len(c.Interactions) != 10 {
		t.Errorf("go-vcr reads %v, %v; want 10 exchanges", c, err)
	}
}

func replay(t *testing.T, file string) model.Client {
	t.Helper()
	c, err := recorded.Open(file, "some-model")
	if err != nil {
		t.Fatal(err)
	}
	inner, err := openai.NewChat(model.Endpoint{BaseURL: c.BaseURL(), HTTP: &http.Client{Transport: c}})
	if err != nil {
		t.Fatal(err)
	}
	return recorded.NewClient(inner)
}

// exchange is one entry of a cassette, as short as go-vcr reads it.
func exchange(url, body string, code int, answer string) string {
	return fmt.Sprintf("- id: 0\n  request: {url: %q, method: POST, body: %q}\n  response: {code: %d, body: %q, headers: {Content-Type: [application/json], Retry-After: ['2']}}\n", url, body, code, answer)
}

func write(t *testing.T, exchanges ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.cassette") // any name will do
	if err := os.WriteFile(file, []byte("---\nversion: 2\ninteractions:\n"+strings.Join(exchanges, "")), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

const (
	chatURL  = "https://api.example.com/v1/chat/completions"
	chatBody = `{"messages":[{"content":"q","role":"user"}],  "model":"some-model","max_tokens":64}` // another order than it is sent in
)

func answer(text string) string {
	return `{"choices":[{"message":{"content":"` + text + `"},"finish_reason":"stop"}]}`
}

func simple() *eval.Request {
	return &eval.Request{Model: "reader", Name: "some-model", Item: "doc-1", MaxTokens: 64, Messages: []eval.Message{{Role: "user", Content: "q"}}}
}

// The same request recorded several times is replayed in order, each once.
func TestReplicatesAndRetries(t *testing.T) {
	client := replay(t, write(t,
		exchange(chatURL, chatBody, 429, `{"error":{"message":"slow down"}}`),
		exchange(chatURL, chatBody, 200, answer("first")),
		exchange(chatURL, chatBody, 200, answer("second"))))
	var e *model.Error
	if _, err := client.Complete(t.Context(), simple()); !errors.As(err, &e) || e.Kind != eval.ErrRateLimited || e.RetryAfter.Seconds() != 2 {
		t.Errorf("got %v, want the recorded rate limit", err)
	}
	for _, want := range []string{"first", "second"} {
		if r, err := client.Complete(t.Context(), simple()); err != nil || r.Text != want {
			t.Errorf("got %q, %v; want %q", r.Text, err, want)
		}
	}
	r := simple()
	r.Replicate = 2
	_, err := client.Complete(t.Context(), r)
	if !errors.As(err, &e) || e.Kind != eval.ErrBadRequest || !strings.Contains(e.Message, "only 3 times") || !strings.Contains(e.Message, "replicate 2") {
		t.Errorf("got %v, want a bad request that counts", err)
	}
}

// Each model of a study takes its endpoint and exchanges from the recording of all.
func TestRecordingsOfSeveralModels(t *testing.T) {
	file := write(t,
		exchange("https://api.anthropic.com/v1/messages", `{"model":"judge","messages":[]}`, 200, ""),
		exchange(chatURL, chatBody, 200, answer("first")),
		exchange("https://generativelanguage.googleapis.com/v1beta/models/gemini:generateContent", `{}`, 200, ""),
		exchange("https://generativelanguage.googleapis.com/v1beta/tunedModels/mine:generateContent", `{}`, 200, ""))
	for name, format := range map[string]string{"judge": "anthropic", "some-model": "openai", "gemini": "google", "models/gemini": "google", "tunedModels/mine": "google"} {
		if c, err := recorded.Open(file, name); err != nil || c.Format() != format {
			t.Errorf("%s: got %v, want format %s", name, err, format)
		}
	}
	if r, err := replay(t, file).Complete(t.Context(), simple()); err != nil || r.Text != "first" {
		t.Errorf("got %q, %v", r.Text, err)
	}
}

func TestNotRecorded(t *testing.T) {
	file := write(t, exchange(chatURL, chatBody, 200, answer("first")))
	r := simple()
	r.Messages[0].Content = "another question"
	_, err := replay(t, file).Complete(t.Context(), r)
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *model.Error", err)
	}
	for _, want := range []string{"reader", "some-model", "doc-1", "replicate 0", file} {
		if !strings.Contains(e.Message, want) {
			t.Errorf("message %q does not name %q", e.Message, want)
		}
	}
	if e.Kind != eval.ErrBadRequest || !strings.Contains(e.Remedy, "--record") {
		t.Errorf("kind %s, remedy %q; want a bad request and how to record", e.Kind, e.Remedy)
	}
}

func TestCassettesThatCannotBeUsed(t *testing.T) {
	tests := []struct{ name, file, want string }{
		{"missing", filepath.Join(t.TempDir(), "none.yaml"), "none.yaml"},
		{"empty", write(t), "no exchanges"},
		{"two formats", write(t, exchange(chatURL, chatBody, 200, ""), exchange("https://api.example.com/v1/messages", "{}", 200, "")), "exchange 1"},
		{"another model", write(t, exchange(chatURL, `{"model":"other"}`, 200, "")), `no exchanges with model "some-model"`},
		{"no completion", write(t, exchange("https://api.example.com/v1/embeddings", "{}", 200, "")), "/v1/embeddings"},
		{"no host", write(t, exchange("/v1/messages", "{}", 200, "")), "has no host"},
		{"no YAML", write(t, "\t- {"), "a.cassette"},
	}
	for _, test := range tests {
		if _, err := recorded.Open(test.file, "some-model"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want an error with %q", test.name, err, test.want)
		}
	}
	file := write(t, exchange(chatURL, chatBody, 200, ""))
	if err := recorded.NewRecorder(http.DefaultTransport).Start(file, false); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("recording over a file: got %v, want an error that names it", err)
	}
}

func TestKeysInURLs(t *testing.T) {
	server := wiretest.NewServer(t)
	server.Answer(200, "{}", nil)
	file := filepath.Join(t.TempDir(), "x.yaml")
	tape := recorded.NewRecorder(http.DefaultTransport)
	if err := tape.Start(file, false); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, server.URL+"/v1/messages?key="+secret+"&alt=json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: tape}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if err := tape.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), secret) || !strings.Contains(string(text), "alt=json") {
		t.Errorf("cassette: %s, %v", text, err)
	}
}

// A request without a body is passed on without one, else it would be sent in chunks.
func TestNoBody(t *testing.T) {
	var passed *http.Request
	tape := recorded.NewRecorder(transport(func(r *http.Request) (*http.Response, error) {
		passed = r
		return nil, errors.New("no answer")
	}))
	if err := tape.Start(filepath.Join(t.TempDir(), "x.yaml"), false); err != nil {
		t.Fatal(err)
	}
	if _, err := (&http.Client{Transport: tape}).Post("http://127.0.0.1/v1/messages", "", nil); err == nil || passed == nil || passed.Body != nil {
		t.Errorf("passed on %+v, %v", passed, err)
	}
	if err := tape.Close(); err != nil {
		t.Fatal(err)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

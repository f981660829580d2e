package main

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model/wiretest"
	"github.com/scruple-eval/scruple/internal/study"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// Every preset uses its own address, key and wire format.
func TestPresets(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ wire, url, key string }{
		"anthropic":        {"anthropic", "https://api.anthropic.com/v1/messages", "X-Api-Key"},
		"openai":           {"openai", "https://api.openai.com/v1/chat/completions", "Authorization"},
		"openai_responses": {"openai_responses", "https://api.openai.com/v1/responses", "Authorization"},
		"google":           {"google", "https://generativelanguage.googleapis.com/v1beta/models/m-1:generateContent", "X-Goog-Api-Key"},
		"gemini":           {"google", "https://generativelanguage.googleapis.com/v1beta/models/m-1:generateContent", "X-Goog-Api-Key"},
		"deepseek":         {"openai", "https://api.deepseek.com/chat/completions", "Authorization"},
		"moonshot":         {"openai", "https://api.moonshot.ai/v1/chat/completions", "Authorization"},
		"zai":              {"openai", "https://api.z.ai/api/paas/v4/chat/completions", "Authorization"},
		"openrouter":       {"openai", "https://openrouter.ai/api/v1/chat/completions", "Authorization"},
		"ollama":           {"openai", "http://127.0.0.1:11434/v1/chat/completions", ""},
		"vllm":             {"openai", "http://127.0.0.1:8000/v1/chat/completions", ""},
		"llamacpp":         {"openai", "http://127.0.0.1:8080/v1/chat/completions", ""},
	}
	for _, p := range presets() {
		want, ok := tests[p.name]
		if !ok {
			t.Errorf("preset %s is not tested", p.name)
			continue
		}
		var sent *http.Request
		client, wire, err := newClient(study.Model{ID: "a", Provider: p.name, Name: "m-1"}, func(string) string { return " the-secret-key\n" },
			transportFunc(func(r *http.Request) (*http.Response, error) { sent = r; return nil, http.ErrServerClosed }))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Complete(t.Context(), &eval.Request{Name: "m-1"}); err == nil {
			t.Errorf("%s: no error from a transport that fails", p.name)
		}
		if wire != want.wire || sent == nil || sent.URL.String() != want.url {
			t.Errorf("%s: format %s, asked %v; want %s, %s", p.name, wire, sent.URL, want.wire, want.url)
		}
		for _, header := range []string{"X-Api-Key", "Authorization", "X-Goog-Api-Key"} {
			got := strings.TrimPrefix(sent.Header.Get(header), "Bearer ")
			if (got == "the-secret-key") != (header == want.key) || got != "" && header != want.key {
				t.Errorf("%s: %s is %q", p.name, header, got)
			}
		}
	}
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestKeys(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		model study.Model
		env   func(string) string
		want  string // in the error; "" for no error
	}{
		{"the preset's variable", study.Model{Provider: "openai"}, env("OPENAI_API_KEY", "k"), ""},
		{"not set", study.Model{Provider: "openai"}, env(), "OPENAI_API_KEY"},
		{"the study's variable", study.Model{Provider: "openai", APIKeyEnv: "MINE"}, env("MINE", "k"), ""},
		{"the study's variable is not set, the preset's is", study.Model{Provider: "openai", APIKeyEnv: "MINE"}, env("OPENAI_API_KEY", "k"), "MINE"},
		{"blank", study.Model{Provider: "anthropic"}, env("ANTHROPIC_API_KEY", "  "), "ANTHROPIC_API_KEY"},
		{"loopback, address", study.Model{Provider: "openai", BaseURL: "http://127.0.0.1:8099/v1"}, env(), ""},
		{"loopback, name", study.Model{Provider: "anthropic", BaseURL: "http://localhost:8099"}, env(), ""},
		{"loopback, IPv6", study.Model{Provider: "google", BaseURL: "http://[::1]:8099"}, env(), ""},
		{"not loopback, though it begins so", study.Model{Provider: "openai", BaseURL: "http://127.0.0.1.example.com/v1"}, env(), "OPENAI_API_KEY"},
		{"a local server elsewhere needs none", study.Model{Provider: "vllm", BaseURL: "http://gpu.lan:8000/v1"}, env(), ""},
		{"unless the study says so", study.Model{Provider: "vllm", BaseURL: "http://gpu.lan:8000/v1", APIKeyEnv: "VLLM_KEY"}, env(), "VLLM_KEY"},
	}
	for _, test := range tests {
		test.model.ID, test.model.Name = "a", "m"
		_, _, err := newClient(test.model, test.env, http.DefaultTransport)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want an error with %q", test.name, err, test.want)
		}
	}
}

func TestProvidersThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		model study.Model
		want  string
	}{
		{study.Model{Provider: "antropic", Name: "m"}, "anthropic"},
		{study.Model{Provider: "OpenAI", Name: "m"}, "did you mean openai?"},
		{study.Model{Provider: "openrouterr", Name: "m"}, "openrouter"},
		{study.Model{Provider: "simulate", Name: "m"}, "simulated"},
		{study.Model{Provider: "openai", BaseURL: "http://127.0.0.1/v1"}, "name"},
		{study.Model{Provider: "openai", Name: "m", BaseURL: "localhost:8080"}, "localhost:8080"},
		{study.Model{Provider: "simulated", Skill: &study.Skill{Miss: 2}}, "miss"},
		{study.Model{Provider: "recorded", Name: "m"}, "cassette"},
		{study.Model{Provider: "recorded", Name: "m", Cassette: "nowhere.yaml"}, "nowhere.yaml"},
	}
	for _, test := range tests {
		if _, _, err := newClient(test.model, env("OPENAI_API_KEY", "k"), http.DefaultTransport); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v, want an error with %q", test.model, err, test.want)
		}
	}
}

func TestSimulatedProvider(t *testing.T) {
	t.Parallel()
	for _, skill := range []*study.Skill{nil, {Miss: 0.1}} {
		if c, wire, err := newClient(study.Model{ID: "a", Provider: "simulated", Skill: skill}, env(), nil); err != nil || wire != "simulated" || c == nil {
			t.Errorf("skill %+v: format %q, %v", skill, wire, err)
		}
	}
}

// A recorded model answers in the format of its cassette without network access.
func TestRecordedProvider(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.yaml")
	body := `{"model":"claude-x","max_tokens":9,"messages":[{"role":"user","content":"q"}]}`
	text := "version: 2\ninteractions:\n- request: {url: 'https://api.anthropic.com/v1/messages', method: POST, body: '" + body + "'}\n" +
		"  response: {code: 200, headers: {Content-Type: [application/json]}, body: '{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"stop_reason\":\"end_turn\"}'}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	client, wire, err := newClient(study.Model{ID: "a", Provider: "recorded", Name: "claude-x", Cassette: file}, env(),
		transportFunc(func(*http.Request) (*http.Response, error) {
			t.Error("a request went out")
			return nil, http.ErrServerClosed
		}))
	if err != nil || wire != "anthropic" {
		t.Fatalf("format %q, %v", wire, err)
	}
	r, err := client.Complete(t.Context(), &eval.Request{Name: "claude-x", MaxTokens: 9, Messages: []eval.Message{{Role: "user", Content: "q"}}})
	if err != nil || r.Text != "hi" {
		t.Errorf("got %q, %v", r.Text, err)
	}
}

// Base URLs as in study files.
func TestBaseURLs(t *testing.T) {
	t.Parallel()
	server := wiretest.NewServer(t)
	server.Answer(500, "", nil)
	for _, test := range []struct{ provider, suffix, want string }{
		{"openai", "/v1", "/v1/chat/completions"}, {"openai_responses", "/v1", "/v1/responses"},
		{"anthropic", "", "/v1/messages"}, {"anthropic", "/v1", "/v1/messages"},
		{"google", "", "/v1beta/models/m:generateContent"}, {"gemini", "/v1beta", "/v1beta/models/m:generateContent"},
	} {
		client, _, err := newClient(study.Model{ID: "a", Provider: test.provider, Name: "m", BaseURL: server.URL + test.suffix}, env(), http.DefaultTransport)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Complete(t.Context(), &eval.Request{Name: "m"}); err == nil {
			t.Error("no error for a 500")
		}
		if sent := server.Requests(); len(sent) != 1 || sent[0].Path != test.want {
			t.Errorf("%s at …%s: sent %v, want one to %s", test.provider, test.suffix, sent, test.want)
		}
	}
}

// A study of a stranger may send any key anywhere: validate and plan say which and where.
func TestKeysSent(t *testing.T) {
	got := keysSent([]study.Model{{ID: "a", Provider: "openai"}, {ID: "b", Provider: "openai"}, {ID: "s", Provider: "simulated"},
		{ID: "c", Provider: "openai", BaseURL: "https://evil.example/v1", APIKeyEnv: "AWS_SECRET_ACCESS_KEY"}, {ID: "d", Provider: "google"}},
		func(name string) string { return strings.TrimPrefix(name, "GEMINI_API_KEY") })
	if want := []string{"OPENAI_API_KEY to api.openai.com", "AWS_SECRET_ACCESS_KEY to evil.example", "GEMINI_API_KEY to generativelanguage.googleapis.com (not set here: nothing is sent)"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

package model_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/model/wiretest"
)

// A request goes to the base URL and the format's path, exactly.
func TestEndpoints(t *testing.T) {
	tests := []struct {
		format string
		suffix string // of the base URL in the study
		want   string
	}{
		{"openai", "/v1", "/v1/chat/completions"},
		{"openai", "/v1/", "/v1/chat/completions"},
		{"openai", "", "/chat/completions"},
		{"openai", "/api/coding/paas/v4", "/api/coding/paas/v4/chat/completions"},
		{"openai", "/v1/chat/completions", "/v1/chat/completions"},
		{"openai_responses", "/v1", "/v1/responses"},
		{"openai_responses", "/openai/v1", "/openai/v1/responses"},
		{"anthropic", "", "/v1/messages"},
		{"anthropic", "/", "/v1/messages"},
		{"anthropic", "/v1", "/v1/messages"},
		{"anthropic", "/v1/", "/v1/messages"},
		{"anthropic", "/anthropic", "/anthropic/v1/messages"},
		{"google", "", "/v1beta/models/some-model:generateContent"},
		{"google", "/v1beta", "/v1beta/models/some-model:generateContent"},
		{"google", "/v1beta/", "/v1beta/models/some-model:generateContent"},
		{"google", "/v1", "/v1/models/some-model:generateContent"},
		{"google", "/proxy/gemini", "/proxy/gemini/v1beta/models/some-model:generateContent"},
	}
	server := wiretest.NewServer(t)
	for _, test := range tests {
		f := formats[slices.IndexFunc(formats, func(f formatOf) bool { return f.name == test.format })]
		client, err := f.open(model.Endpoint{BaseURL: server.URL + test.suffix, APIKey: secret})
		if err != nil {
			t.Fatal(err)
		}
		server.Answer(200, f.answer, nil)
		if _, err := client.Complete(t.Context(), request()); err != nil {
			t.Fatal(err)
		}
		sent := server.Requests()
		if len(sent) != 1 || sent[0].Path != test.want || sent[0].Query != "" || sent[0].Method != http.MethodPost {
			t.Errorf("%s with base URL …%s: sent %v, want POST %s", test.format, test.suffix, sent, test.want)
		}
	}
}

func TestBaseURLsThatAreNone(t *testing.T) {
	for _, f := range formats {
		for _, base := range []string{"127.0.0.1:8099", "localhost", "ftp://host/v1", "http://", "http://host/v1?key=x", "http://host/v1#top", "://"} {
			if _, err := f.open(model.Endpoint{BaseURL: base}); err == nil || !strings.Contains(err.Error(), base) {
				t.Errorf("%s: base URL %q: got error %v, want one that names it", f.name, base, err)
			}
		}
	}
}

// Official SDKs read endpoints, keys, organisations and headers from the
// environment by themselves. None of that may reach a request.
func TestEnvironmentIsNotRead(t *testing.T) {
	trap, server := wiretest.NewServer(t), wiretest.NewServer(t)
	trap.Answer(500, "trapped", nil)
	for _, name := range []string{"OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL"} {
		t.Setenv(name, trap.URL)
	}
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_WEBHOOK_SECRET",
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_WEBHOOK_SIGNING_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY",
		"GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"} {
		t.Setenv(name, "from-the-environment")
	}
	t.Setenv("ANTHROPIC_PROFILE", "from-the-environment")
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
	t.Setenv("GOOGLE_GENAI_USE_ENTERPRISE", "true")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: from-the-environment")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Custom: from-the-environment")

	keyHeaders := map[string]string{"anthropic": "X-Api-Key", "openai": "Authorization", "openai_responses": "Authorization", "google": "X-Goog-Api-Key"}
	for i, f := range formats {
		for _, key := range []string{secret, ""} {
			client, err := f.open(model.Endpoint{BaseURL: base(f.name, server.URL), APIKey: key})
			if err != nil {
				t.Fatal(err)
			}
			server.Answer(200, formats[i].answer, nil)
			if _, err := client.Complete(t.Context(), request()); err != nil {
				t.Fatalf("%s: %v", f.name, err)
			}
			sent := server.Requests()[0]
			if got := strings.TrimPrefix(sent.Header.Get(keyHeaders[f.name]), "Bearer "); got != key {
				t.Errorf("%s: sent key %q, want %q", f.name, got, key)
			}
			for name, values := range sent.Header {
				if strings.Contains(strings.Join(values, " "), "from-the-environment") {
					t.Errorf("%s: header %s holds %q", f.name, name, values)
				}
			}
			if sent.Path != f.path {
				t.Errorf("%s: sent to %s, want %s", f.name, sent.Path, f.path)
			}
		}
	}
	if got := trap.Requests(); len(got) > 0 {
		t.Errorf("%d requests went to the environment's endpoint", len(got))
	}
}

// The provider's own endpoint is used where the study names none, whatever the
// environment says.
func TestOwnEndpoints(t *testing.T) {
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1")
	want := map[string]string{
		"anthropic":        "https://api.anthropic.com/v1/messages",
		"openai":           "https://api.openai.com/v1/chat/completions",
		"openai_responses": "https://api.openai.com/v1/responses",
		"google":           "https://generativelanguage.googleapis.com/v1beta/models/some-model:generateContent",
	}
	for _, f := range formats {
		var got string
		client, err := f.open(model.Endpoint{APIKey: secret, HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			got = r.URL.String()
			return nil, http.ErrServerClosed
		})}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Complete(t.Context(), request())
		failure(t, err)
		if got != want[f.name] {
			t.Errorf("%s: asked %s, want %s", f.name, got, want[f.name])
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A redirect is not followed: the key and the study's items go to the endpoint
// or nowhere.
func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere, server := wiretest.NewServer(t), wiretest.NewServer(t)
	for i, f := range formats {
		elsewhere.Answer(200, f.answer, nil)
		for _, status := range []int{301, 302, 307, 308} {
			server.Answer(status, "", map[string]string{"Location": elsewhere.URL + "/v1"})
			_, err := open(t, i, server.URL).Complete(t.Context(), request())
			if e := failure(t, err); !strings.Contains(e.Remedy, elsewhere.URL) {
				t.Errorf("%s, %d: remedy %q does not name the address", f.name, status, e.Remedy)
			}
		}
	}
	if n := len(elsewhere.Requests()); n > 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

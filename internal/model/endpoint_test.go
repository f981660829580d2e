package model_test

import (
	"fmt"
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

// A request goes to the provider's own endpoint where the study names none, and
// holds the given key or none. Official SDKs read endpoints, keys, organisations
// and headers from the environment by themselves; none of that may reach it.
func TestEnvironmentIsNotRead(t *testing.T) {
	const trap = "http://from-the-environment"
	for _, name := range strings.Fields(`OPENAI_BASE_URL ANTHROPIC_BASE_URL GOOGLE_GEMINI_BASE_URL GOOGLE_VERTEX_BASE_URL
		OPENAI_API_KEY OPENAI_ADMIN_KEY OPENAI_ORG_ID OPENAI_PROJECT_ID OPENAI_WEBHOOK_SECRET
		ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_WEBHOOK_SIGNING_KEY ANTHROPIC_PROFILE
		GOOGLE_API_KEY GEMINI_API_KEY GOOGLE_CLOUD_PROJECT GOOGLE_CLOUD_LOCATION`) {
		t.Setenv(name, trap)
	}
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
	t.Setenv("GOOGLE_GENAI_USE_ENTERPRISE", "true")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: "+trap)
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Custom: "+trap)

	expected := map[string]struct{ host, keyHeader string }{
		"anthropic":        {"https://api.anthropic.com", "X-Api-Key"},
		"openai":           {"https://api.openai.com", "Authorization"},
		"openai_responses": {"https://api.openai.com", "Authorization"},
		"google":           {"https://generativelanguage.googleapis.com", "X-Goog-Api-Key"},
	}
	for _, f := range formats {
		const given = "http://192.0.2.1"
		want := expected[f.name]
		for baseURL, host := range map[string]string{"": want.host, base(f.name, given): given} {
			for _, key := range []string{secret, ""} {
				var sent *http.Request
				transport := roundTrip(func(r *http.Request) (*http.Response, error) { sent = r; return nil, http.ErrServerClosed })
				client, err := f.open(model.Endpoint{BaseURL: baseURL, APIKey: key, HTTP: &http.Client{Transport: transport}})
				if err != nil {
					t.Fatal(err)
				}
				_, err = client.Complete(t.Context(), request())
				failure(t, err)
				if got := sent.URL.String(); got != host+f.path {
					t.Errorf("%s: asked %s, want %s", f.name, got, host+f.path)
				}
				if got := strings.TrimPrefix(sent.Header.Get(want.keyHeader), "Bearer "); got != key {
					t.Errorf("%s: sent key %q, want %q", f.name, got, key)
				}
				if strings.Contains(fmt.Sprint(sent.Header), trap) {
					t.Errorf("%s: headers %v hold what the environment says", f.name, sent.Header)
				}
			}
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
		for _, status := range []int{301, 302, 303, 307, 308} {
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

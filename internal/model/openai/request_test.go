package openai_test

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/model/openai"
	"github.com/scruple-eval/scruple/internal/model/wiretest"
)

// elsewhere sends a host's requests to the test's server.
type elsewhere struct{ to string }

func (e elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	u, err := url.Parse(e.to)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.Host = u.Scheme, u.Host, u.Host
	return http.DefaultTransport.RoundTrip(r)
}

// A replicate never shares the cache of prompts with another where a key of the format tells them
// apart. Nobody else is sent one.
func TestReplicatesHaveCacheKeys(t *testing.T) {
	server := wiretest.NewServer(t)
	for answer, connect := range map[string]func(model.Endpoint) (*model.Caller, error){
		`{"choices":[{"message":{},"finish_reason":"stop"}]}`: openai.NewChat,
		`{"status":"completed","output":[]}`:                  openai.NewResponses,
	} {
		for _, test := range []struct {
			base      string
			replicate int
			want      string
		}{
			{"https://api.openai.com/v1", 1, ""}, {"https://api.openai.com/v1", 2, `"prompt_cache_key":"replicate-2"`},
			{"https://api.openai.com/v1", 3, `"prompt_cache_key":"replicate-3"`}, {"https://openrouter.ai/api/v1", 2, ""},
			{"https://x.openai.azure.com/openai/v1", 2, `"prompt_cache_key":"replicate-2"`}, {"https://evil-openai.azure.com.example/v1", 2, ""},
			{"https://api.x.ai/v1", 2, map[bool]string{true: `"prompt_cache_key":"replicate-2"`}[strings.Contains(answer, "status")]},
		} {
			server.Answer(200, answer, nil)
			client, err := connect(model.Endpoint{BaseURL: test.base, HTTP: &http.Client{Transport: elsewhere{server.URL}}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.Complete(t.Context(), &eval.Request{Name: "some-model", Replicate: test.replicate}); err != nil {
				t.Fatal(err)
			}
			body := server.Requests()[0].Body
			if strings.Contains(body, "prompt_cache_key") != (test.want != "") || !strings.Contains(body, test.want) {
				t.Errorf("%s, replicate %d: sent %s, want %s", test.base, test.replicate, body, test.want)
			}
			server.Handle(func(w http.ResponseWriter, r *http.Request) { // an older version of a service
				w.Header().Set("Content-Type", "application/json")
				if strings.Contains(wiretest.BodyOf(r), "prompt_cache_key") {
					http.Error(w, `{"error":{"message":"Unrecognized request argument supplied: prompt_cache_key"}}`, http.StatusBadRequest)
					return
				}
				_, _ = io.WriteString(w, answer)
			})
			got, err := client.Complete(t.Context(), &eval.Request{Name: "some-model", Replicate: test.replicate})
			if err != nil || slices.Contains(got.Adapted, "prompt_cache_key dropped") != (test.want != "") {
				t.Errorf("%s, replicate %d: refused the key: %v, %v", test.base, test.replicate, got, err)
			}
			server.Requests()
		}
	}
}

// The few things in which services differ on the way out are decided by host.
func TestRequestsByHost(t *testing.T) {
	server := wiretest.NewServer(t)
	server.Answer(200, `{"choices":[{"message":{},"finish_reason":"stop"}]}`, nil)
	tests := []struct {
		base      string
		reasoning eval.Reasoning
		has, not  string
	}{
		{"https://api.openai.com/v1", eval.Reasoning{}, `"max_completion_tokens":100`, `"max_tokens"`},
		{"https://x.openai.azure.com/openai/v1", eval.Reasoning{}, `"max_completion_tokens":100`, `"max_tokens"`},
		{"https://api.deepseek.com", eval.Reasoning{Effort: "disabled"}, `"max_tokens":100,"thinking":{"type":"disabled"}`, "reasoning_effort"},
		{"https://api.x.ai/v1", eval.Reasoning{Effort: "low"}, `"reasoning_effort":"low"`, `"reasoning":`},
		{"https://openrouter.ai/api/v1", eval.Reasoning{Effort: "low"}, `"reasoning":{"effort":"low"}`, "reasoning_effort"},
		{"https://openrouter.ai/api/v1", eval.Reasoning{Budget: 512}, `"reasoning":{"max_tokens":512}`, "reasoning_effort"},
	}
	for _, test := range tests {
		client, err := openai.NewChat(model.Endpoint{BaseURL: test.base, HTTP: &http.Client{Transport: elsewhere{server.URL}}})
		if err != nil {
			t.Fatal(err)
		}
		r := &eval.Request{Name: "some-model", MaxTokens: 100, Reasoning: test.reasoning}
		if _, err := client.Complete(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		body := server.Requests()[0].Body
		if !strings.Contains(body, test.has) || strings.Contains(body, test.not) {
			t.Errorf("%s, %+v: sent %s; want %s in it and not %s", test.base, test.reasoning, body, test.has, test.not)
		}
	}
}

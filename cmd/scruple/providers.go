package main

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/model/anthropic"
	"github.com/scruple-eval/scruple/internal/model/google"
	"github.com/scruple-eval/scruple/internal/model/openai"
	"github.com/scruple-eval/scruple/internal/model/recorded"
	"github.com/scruple-eval/scruple/internal/model/simulated"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// A preset is the default configuration of a provider.
type preset struct {
	name    string
	wire    string // wire format
	baseURL string // default; the study may override it
	keyEnv  string // default; "" needs no key
}

// presets are the HTTP providers.
func presets() []preset {
	return []preset{
		{"anthropic", "anthropic", anthropic.BaseURL, "ANTHROPIC_API_KEY"},             // Anthropic's Messages API
		{"openai", "openai", openai.BaseURL, "OPENAI_API_KEY"},                         // OpenAI's Chat Completions API, or a compatible server at base_url
		{"openai_responses", "openai_responses", openai.BaseURL, "OPENAI_API_KEY"},     // OpenAI's Responses API
		{"google", "google", google.BaseURL, "GEMINI_API_KEY"},                         // Google's Gemini API
		{"gemini", "google", google.BaseURL, "GEMINI_API_KEY"},                         // alias of google
		{"deepseek", "openai", "https://api.deepseek.com", "DEEPSEEK_API_KEY"},         // DeepSeek
		{"moonshot", "openai", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"},       // Moonshot AI (Kimi)
		{"zai", "openai", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY"},               // Z.AI (GLM)
		{"openrouter", "openai", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"}, // OpenRouter, which routes to many providers
		{"ollama", "openai", "http://127.0.0.1:11434/v1", ""},                          // a local Ollama server
		{"vllm", "openai", "http://127.0.0.1:8000/v1", ""},                             // a local vLLM server
		{"llamacpp", "openai", "http://127.0.0.1:8080/v1", ""},                         // a local llama.cpp server
	}
}

// newClient returns the client of one of the study's models and its wire format.
// Keys come only from getenv, by the name in the study or the preset.
func newClient(m study.Model, getenv func(string) string, transport http.RoundTripper) (model.Client, string, error) {
	switch m.Provider {
	case "recorded":
		return newRecorded(m)
	case "simulated":
		c, err := newSimulated(m)
		return c, "simulated", err
	}
	p, ok := findPreset(m.Provider)
	if !ok {
		return nil, "", unknownProvider(m.Provider)
	}
	if m.Name == "" {
		return nil, "", fmt.Errorf("model %s has no name: give the model name of provider %s", m.ID, m.Provider)
	}
	e, noKey := p.endpoint(m, getenv)
	e.HTTP = &http.Client{Transport: transport}
	c, err := openWire(p.wire, e)
	return c, p.wire, cmp.Or(err, noKey)
}

// A noKeyError is a model whose key is not in the environment. A study is valid
// without it: the machine that validates it may not be the one that runs it.
type noKeyError struct{ model, url, env string }

func (e *noKeyError) Error() string {
	return fmt.Sprintf("model %s needs a key for %s, and %s is not set: export it, or put it in .env beside the study", e.model, e.url, e.env)
}

// endpoint returns the base URL and the key for requests.
func (p preset) endpoint(m study.Model, getenv func(string) string) (model.Endpoint, error) {
	e := model.Endpoint{BaseURL: cmp.Or(m.BaseURL, p.baseURL), KeyEnv: cmp.Or(m.APIKeyEnv, p.keyEnv)}
	if e.KeyEnv == "" {
		return e, nil
	}
	if e.APIKey = strings.TrimSpace(getenv(e.KeyEnv)); e.APIKey == "" && !onLoopback(e.BaseURL) {
		return e, &noKeyError{m.ID, e.BaseURL, e.KeyEnv}
	}
	return e, nil
}

// keysSent says which variable's key is sent to which host when a study runs: a study may
// come from somebody else. A key that is not set here is not sent from here.
func keysSent(list []study.Model, getenv func(string) string) (said []string) {
	for _, m := range list {
		p, ok := findPreset(m.Provider)
		if !ok {
			continue
		}
		e, _ := p.endpoint(m, func(string) string { return "set" })
		to, err := url.Parse(e.BaseURL)
		if e.KeyEnv == "" || err != nil || to.Host == "" {
			continue
		}
		text := fmt.Sprintf("%s to %s", e.KeyEnv, to.Host)
		if keyOf(e.KeyEnv, getenv) == "" {
			text += " (not set here: nothing is sent)"
		}
		if !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	return said
}

// openWire makes a client for a wire format.
func openWire(wire string, e model.Endpoint) (model.Client, error) {
	switch wire {
	case "anthropic":
		return anthropic.New(e)
	case "openai":
		return openai.NewChat(e)
	case "openai_responses":
		return openai.NewResponses(e)
	case "google":
		return google.New(e)
	}
	return nil, fmt.Errorf("unknown wire format %q", wire)
}

// newRecorded makes a client that answers from the model's cassette in the
// recorded wire format.
func newRecorded(m study.Model) (model.Client, string, error) {
	if m.Cassette == "" {
		return nil, "", fmt.Errorf("model %s is recorded but has no cassette: give the file of recordings as cassette", m.ID)
	}
	cassette, err := recorded.Open(m.Cassette, m.Name)
	if err != nil {
		return nil, "", err
	}
	inner, err := openWire(cassette.Format(), model.Endpoint{BaseURL: cassette.BaseURL(), HTTP: &http.Client{Transport: cassette}})
	if err != nil {
		return nil, "", err
	}
	return recorded.NewClient(inner), cassette.Format(), nil
}

// newSimulated makes a fake model with the skill given in the study.
func newSimulated(m study.Model) (model.Client, error) {
	var skill simulated.Skill
	if m.Skill != nil {
		skill = *m.Skill
	}
	if err := simulated.Check(skill); err != nil {
		return nil, fmt.Errorf("model %s: %w", m.ID, err)
	}
	seed := int64(42)
	if m.Seed != nil {
		seed = *m.Seed
	}
	return simulated.New(skill, seed), nil
}

func findPreset(name string) (preset, bool) {
	for _, p := range presets() {
		if p.name == name {
			return p, true
		}
	}
	return preset{}, false
}

// unknownProvider suggests the closest provider name, or lists all.
func unknownProvider(name string) error {
	known := append([]string{"recorded", "simulated"}, mapped(presets(), func(p preset) string { return p.name })...)
	hint := "want one of " + strings.Join(known, ", ")
	if nearest, ok := text.Nearest(name, known); ok {
		hint = "did you mean " + nearest + "?"
	}
	return fmt.Errorf("unknown provider %q: %s (for an OpenAI-compatible server use openai with a base_url)", name, hint)
}

// onLoopback reports whether a base URL refers to this machine.
func onLoopback(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

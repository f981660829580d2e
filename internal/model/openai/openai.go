// Package openai calls models with OpenAI's two formats, Chat Completions and
// Responses. Most other services and local servers also use Chat Completions, with
// deviations, so the parser is more tolerant than OpenAI requires. Only this package
// knows these formats: the endpoint and unsupported parameters are in this file, requests
// and responses in chat.go and responses.go. tools/sdk tests it against the official SDK.
//
// The package must not know any other format, nor who asks or why.
package openai

import (
	"cmp"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// BaseURL is OpenAI's own endpoint.
const BaseURL = "https://api.openai.com/v1"

// NewChat returns a client that speaks Chat Completions. The endpoint is given
// up to the API's version, as in https://host/v1.
func NewChat(e model.Endpoint) (*model.Caller, error) {
	return open(e, "/chat/completions", func(a model.Address, host string) model.Wire { return chatWire{a, host} })
}

// NewResponses returns a client that speaks the Responses API. Otherwise it is
// as NewChat.
func NewResponses(e model.Endpoint) (*model.Caller, error) {
	return open(e, "/responses", func(a model.Address, host string) model.Wire { return responsesWire{a, host} })
}

// open returns a client for a path below an endpoint, whose format may depend on the
// host, in lower case.
func open(e model.Endpoint, path string, wire func(a model.Address, host string) model.Wire) (*model.Caller, error) {
	base, err := e.Base(BaseURL, path)
	if err != nil {
		return nil, err
	}
	u, _ := url.Parse(base) // Base has read it, and cuts a URL at a slash only
	header := http.Header{}
	if e.APIKey != "" {
		header.Set("Authorization", "Bearer "+e.APIKey)
	}
	return model.NewCaller(wire(model.Address(base+path), strings.ToLower(u.Hostname())), e, header), nil
}

// cacheKey keeps a service that caches prompts unasked from answering a replicate with the cache
// of another, where its host documents the key. Other services may reject it.
func cacheKey(host string, a adaptation, more ...string) string {
	documented := host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com") || slices.Contains(more, host)
	if !documented || a.r.Replicate < 2 || a.Drops(model.CacheKey, "prompt_cache_key") {
		return ""
	}
	return "replicate-" + strconv.Itoa(a.r.Replicate)
}

// Reasoning models by name. Routers prefix the vendor: openai/o3-mini.
var (
	oSeries = regexp.MustCompile(`^(?:openai/)?o[1-9][0-9]*(?:-|$)`)
	gpt5    = regexp.MustCompile(`^(?:openai/)?gpt-(?:[5-9]|[1-9][0-9])(?:\.([0-9]+))?(?:-|$)`)
)

// traits are the properties of a model known from its name. Others are learnt from
// the server's errors.
type traits struct {
	reasons bool // thinking counts in the limit, which is max_completion_tokens
	refused model.Refused
}

const sampling = model.Temperature | model.TopP

// traitsOf reads a model's name. Sources: OpenAI's reasoning guide (o-series
// and gpt-5 take no sampling parameters; from gpt-5.1 on they are taken with
// effort none, which is the default of some) and the recorded refusals of
// o1-mini.
func traitsOf(name, effort string) traits {
	name = strings.ToLower(name)
	switch {
	case oSeries.MatchString(name):
		if strings.Contains(name, "o1-mini") || strings.Contains(name, "o1-preview") {
			return traits{true, sampling | model.SystemRole}
		}
		return traits{true, sampling}
	case strings.Contains(name, "-chat"):
		return traits{}
	}
	m := gpt5.FindStringSubmatch(name)
	if m == nil {
		return traits{}
	}
	if strings.Contains(name, "-pro") || strings.Contains(name, "-codex") || effort != "" && effort != "none" ||
		m[1] == "" && strings.Contains(name, "gpt-5") {
		return traits{true, sampling}
	}
	return traits{reasons: true}
}

// An adaptation also knows the model's traits.
type adaptation struct {
	*model.Adaptation
	r      *eval.Request
	traits traits
}

// adapt adapts a request to what the model was found to refuse, and to its
// traits.
func adapt(r *eval.Request, refused model.Refused) adaptation {
	t := traitsOf(r.Name, r.Reasoning.Effort)
	return adaptation{model.Adapt(r, refused|t.refused), r, t}
}

// limit is the token limit to send: every OpenAI format counts thinking in it.
func (a adaptation) limit() int {
	if a.r.MaxTokens == 0 {
		return 0
	}
	return a.r.MaxTokens + a.r.Allowance
}

// schemaForm says how a schema is sent: json_schema, json_object or not at all
// (""). Servers take json_object only where the prompt speaks of JSON.
func (a adaptation) schemaForm() string {
	switch {
	case a.r.Schema == nil:
		return ""
	case !a.Refuses(model.JSONSchema):
		return "json_schema"
	case a.speaksOfJSON():
		a.Note("json schema sent as json_object")
		return "json_object"
	}
	a.Note("json schema dropped")
	return ""
}

func (a adaptation) speaksOfJSON() bool {
	speaks := func(text string) bool { return strings.Contains(strings.ToLower(text), "json") }
	return speaks(a.r.System) || slices.ContainsFunc(a.r.Messages, func(m eval.Message) bool { return speaks(m.Content) })
}

// schemaName returns the name of a schema, which the format requires.
func schemaName(s *eval.Schema) string { return cmp.Or(s.Name, "answer") }

// Package openai calls models with OpenAI's two formats, Chat Completions and
// Responses. Most other services and local servers also use Chat Completions, with
// deviations, so the parser is more tolerant than OpenAI requires. Only this package
// knows these formats: the endpoint is in this file, requests and responses are in
// chat_request.go, chat_response.go and responses.go, unsupported parameters in
// adapt.go. tools/sdk tests it against the official SDK.
//
// The package must not know any other format, nor who asks or why.
package openai

import (
	"net/http"
	"net/url"
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
	address, host, err := locate(e, "/chat/completions")
	if err != nil {
		return nil, err
	}
	return model.NewCaller(chatWire{address, host}, e, authorization(e)), nil
}

// NewResponses returns a client that speaks the Responses API. Otherwise it is
// as NewChat.
func NewResponses(e model.Endpoint) (*model.Caller, error) {
	address, host, err := locate(e, "/responses")
	if err != nil {
		return nil, err
	}
	return model.NewCaller(responsesWire{address, host}, e, authorization(e)), nil
}

// locate is the address of a path below the endpoint, and its host in lower
// case.
func locate(e model.Endpoint, path string) (address, host string, err error) {
	base, err := e.Base(BaseURL, path)
	if err != nil {
		return "", "", err
	}
	u, err := url.Parse(base)
	if err != nil {
		return "", "", err
	}
	return base + path, strings.ToLower(u.Hostname()), nil
}

// cacheKey keeps OpenAI, which caches prompts unasked, from answering a replicate with the
// cache of another. Other services may reject the key.
func cacheKey(host string, r *eval.Request) string {
	if host != "api.openai.com" || r.Replicate < 2 {
		return ""
	}
	return "replicate-" + strconv.Itoa(r.Replicate)
}

func authorization(e model.Endpoint) http.Header {
	header := http.Header{}
	if e.APIKey != "" {
		header.Set("Authorization", "Bearer "+e.APIKey)
	}
	return header
}

// URL implements [model.Wire].
func (w chatWire) URL(*eval.Request) (string, error) { return w.url, nil }

// URL implements [model.Wire].
func (w responsesWire) URL(*eval.Request) (string, error) { return w.url, nil }

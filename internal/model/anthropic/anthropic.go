// Package anthropic asks models over Anthropic's Messages format. Its files are
// the one place that knows this format: the endpoint here, request.go for what
// is sent, response.go for what comes back. The official SDK is its oracle in
// tools/sdk.
//
// The package must not know any other provider, nor who asks or why.
package anthropic

import (
	"net/http"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// BaseURL is Anthropic's own endpoint.
const BaseURL = "https://api.anthropic.com"

// apiVersion is the value of the anthropic-version header that the API requires.
const apiVersion = "2023-06-01"

// New returns a client for an endpoint, given with or without its /v1.
func New(e model.Endpoint) (*model.Caller, error) {
	base, err := e.Base(BaseURL, "/v1/messages", "/v1")
	if err != nil {
		return nil, err
	}
	header := http.Header{"Anthropic-Version": {apiVersion}}
	if e.APIKey != "" {
		header.Set("X-Api-Key", e.APIKey)
	}
	return model.NewCaller(wire{base + "/v1/messages"}, e, header), nil
}

// wire is the Messages format.
type wire struct{ url string }

// URL implements [model.Wire].
func (w wire) URL(*eval.Request) (string, error) { return w.url, nil }

// Package openai asks models over OpenAI's two formats, Chat Completions and
// Responses, through the official SDK. Chat Completions is also what most
// other services and local servers speak, each with deviations of its own;
// bodies are therefore written and read here, from the raw bytes, and read
// with more tolerance than OpenAI alone would need.
//
// The package must not know any other format, nor who asks or why.
package openai

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// BaseURL is OpenAI's own endpoint.
const BaseURL = "https://api.openai.com/v1"

// A Client asks one endpoint. It implements [model.Client].
type Client struct{ caller *model.Caller }

var _ model.Client = (*Client)(nil)

// NewChat returns a client that speaks Chat Completions. The endpoint is given
// up to the API's version, as in https://host/v1. Nothing is read from the
// environment.
func NewChat(e model.Endpoint) (*Client, error) {
	const path = "chat/completions"
	p, err := newPoster(e, path)
	if err != nil {
		return nil, err
	}
	return &Client{model.NewCaller(chatWire{p, hostOf(p.base)}, e)}, nil
}

// NewResponses returns a client that speaks the Responses API. Otherwise it is
// as NewChat.
func NewResponses(e model.Endpoint) (*Client, error) {
	p, err := newPoster(e, "responses")
	if err != nil {
		return nil, err
	}
	return &Client{model.NewCaller(responsesWire{p}, e)}, nil
}

// Complete implements [model.Client].
func (c *Client) Complete(ctx context.Context, r *eval.Request) (eval.Response, error) {
	return c.caller.Complete(ctx, r)
}

// A poster has the SDK send bodies to one path.
type poster struct {
	client sdk.Client
	base   string
	path   string
}

func newPoster(e model.Endpoint, path string) (poster, error) {
	base, err := e.Base(BaseURL, "/"+path)
	if err != nil {
		return poster{}, err
	}
	options := []option.RequestOption{
		option.WithBaseURL(base),
		option.WithHTTPClient(e.Client()),
		option.WithMaxRetries(0), // retries are the engine's
	}
	if e.APIKey != "" {
		options = append(options, option.WithAPIKey(e.APIKey))
	}
	// NewClient would read OPENAI_BASE_URL, keys, organisations and headers
	// from the environment; a client of options alone reads nothing.
	return poster{sdk.Client{Options: options}, base, path}, nil
}

func (p poster) Post(ctx context.Context, _ *eval.Request, body []byte) error {
	return p.client.Execute(ctx, http.MethodPost, p.path, body, nil)
}

func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

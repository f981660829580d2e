// Package anthropic asks models over Anthropic's Messages format, through the
// official SDK. It writes request bodies and reads answers itself, from the
// raw bytes: a research log needs every field as it was sent.
//
// The package must not know any other provider, nor who asks or why.
package anthropic

import (
	"context"
	"net/http"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// BaseURL is Anthropic's own endpoint.
const BaseURL = "https://api.anthropic.com"

// A Client asks one endpoint. It implements [model.Client].
type Client struct{ caller *model.Caller }

var _ model.Client = (*Client)(nil)

// New returns a client for an endpoint, given with or without its /v1. Nothing
// is read from the environment.
func New(e model.Endpoint) (*Client, error) {
	base, err := e.Base(BaseURL, "/v1/messages", "/v1")
	if err != nil {
		return nil, err
	}
	options := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithBaseURL(base),
		option.WithHTTPClient(e.Client()),
		option.WithMaxRetries(0), // retries are the engine's
	}
	if e.APIKey != "" {
		options = append(options, option.WithAPIKey(e.APIKey))
	}
	return &Client{model.NewCaller(wire{sdk.NewClient(options...)}, e)}, nil
}

// Complete implements [model.Client].
func (c *Client) Complete(ctx context.Context, r *eval.Request) (eval.Response, error) {
	return c.caller.Complete(ctx, r)
}

// wire is the Messages format.
type wire struct{ client sdk.Client }

func (w wire) Post(ctx context.Context, _ *eval.Request, body []byte) error {
	return w.client.Execute(ctx, http.MethodPost, "v1/messages", body, nil)
}

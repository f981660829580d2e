// Package google asks Gemini models over generateContent, through the official
// SDK. It writes request bodies and reads answers itself, from the raw bytes:
// the SDK would sort a schema's properties, whose order matters to the model,
// and drops fields it does not know.
//
// The package must not know any other provider, nor who asks or why.
package google

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/genai"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// BaseURL is Google's own endpoint.
const BaseURL = "https://generativelanguage.googleapis.com"

// A Client asks one endpoint. It implements [model.Client].
type Client struct{ caller *model.Caller }

var _ model.Client = (*Client)(nil)

// noKey stands in for a key where there is none: the SDK would take one from
// the environment instead. It is never sent.
const noKey = "none"

// New returns a client for an endpoint, given with or without its /v1beta.
func New(e model.Endpoint) (*Client, error) {
	base, err := e.Base(BaseURL)
	if err != nil {
		return nil, err
	}
	version := "v1beta"
	for _, v := range []string{"v1beta", "v1alpha", "v1"} {
		if short, ok := strings.CutSuffix(base, "/"+v); ok {
			base, version = short, v
			break
		}
	}
	client := e.Client()
	key := e.APIKey
	if key == "" {
		key = noKey
		client.Transport = keyless{client.Transport}
	}
	// Backend, key and base URL are all given, so the SDK's own reading of the
	// environment decides nothing.
	c, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: key, HTTPClient: client,
		HTTPOptions: genai.HTTPOptions{BaseURL: base + "/", APIVersion: version},
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the Gemini client for %s: %w", base, err)
	}
	return &Client{model.NewCaller(wire{c}, e)}, nil
}

// Complete implements [model.Client].
func (c *Client) Complete(ctx context.Context, r *eval.Request) (eval.Response, error) {
	return c.caller.Complete(ctx, r)
}

// keyless takes the stand-in key out of requests.
type keyless struct{ next http.RoundTripper }

func (k keyless) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Del("X-Goog-Api-Key")
	return k.next.RoundTrip(req)
}

// wire is the generateContent format.
type wire struct{ client *genai.Client }

// Post gives the SDK the body part by part, as it takes no bytes.
func (w wire) Post(ctx context.Context, r *eval.Request, body []byte) error {
	once := false
	_, err := w.client.Models.GenerateContent(ctx, r.Name, nil, &genai.GenerateContentConfig{
		AutomaticContinuation: &once,
		HTTPOptions: &genai.HTTPOptions{ExtrasRequestProvider: func(map[string]any) map[string]any {
			return parts(body)
		}},
	})
	return err
}

func parts(body []byte) map[string]any {
	var raw map[string]json.RawMessage
	_ = json.Unmarshal(body, &raw) // it is our own
	out := make(map[string]any, len(raw))
	for name, value := range raw {
		out[name] = value
	}
	return out
}

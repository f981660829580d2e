package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/scruple-eval/scruple/internal/embed"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// Embeddings is a client that embeds the messages of a request. The text of a response
// is that of [embed.EncodeBatch]. The request's payload may have "dimensions".
type Embeddings struct{ caller *model.Caller }

// NewEmbeddings returns a client for the path /embeddings of an endpoint.
func NewEmbeddings(e model.Endpoint) (*Embeddings, error) {
	caller, err := open(e, "/embeddings", func(a model.Address, _ string) model.Wire { return embeddingsWire{a} })
	return &Embeddings{caller}, err
}

// Complete implements [model.Client].
func (c *Embeddings) Complete(ctx context.Context, r *eval.Request) (eval.Response, error) {
	response, err := c.caller.Complete(ctx, r)
	if err != nil {
		return response, err
	}
	stated := eval.Response{Usage: response.Usage}
	var encoded []string
	if err := json.Unmarshal([]byte(response.Text), &encoded); err != nil || len(encoded) != len(r.Messages) {
		return stated, model.Malformed("%d embeddings for %d texts", len(encoded), len(r.Messages))
	}
	texts, vectors := make([]string, len(encoded)), make([][]float32, len(encoded))
	for i, m := range r.Messages {
		texts[i] = m.Content
		if vectors[i], err = embed.Decode(encoded[i]); err != nil {
			return stated, model.Malformed("embedding %d: %v", i, err)
		}
	}
	var asked options
	if err := asked.read(r.Payload); err != nil {
		return stated, err
	}
	if n := len(vectors[0]); asked.Dimensions != 0 && n != asked.Dimensions {
		return stated, &model.Error{Kind: eval.ErrBadRequest, Message: fmt.Sprintf("the embeddings have %d components, although dimensions is %d: the server or model cannot shorten them, so remove dimensions", n, asked.Dimensions)}
	}
	response.Text = embed.EncodeBatch(texts, vectors)
	return response, nil
}

// options are what a payload may have.
type options struct {
	Dimensions int `json:"dimensions,omitempty"`
}

func (o *options) read(payload json.RawMessage) error {
	if payload == nil {
		return nil
	}
	return json.Unmarshal(payload, o)
}

// embeddingsWire is the format of embeddings.
type embeddingsWire struct{ model.Address }

// Encode implements [model.Wire].
func (w embeddingsWire) Encode(r *eval.Request, _ model.Refused) ([]byte, []string, error) {
	out := struct {
		Model  string   `json:"model"`
		Input  []string `json:"input"`
		Format string   `json:"encoding_format"`
		options
	}{Model: r.Name, Format: "float"} // servers that know one form know this one
	if err := out.read(r.Payload); err != nil {
		return nil, nil, err
	}
	for _, m := range r.Messages {
		out.Input = append(out.Input, m.Content)
	}
	body, err := json.Marshal(out)
	return body, nil, err
}

// Decode implements [model.Wire].
func (w embeddingsWire) Decode(body []byte) (eval.Response, error) {
	var in struct {
		Model string          `json:"model"`
		Error json.RawMessage `json:"error"`
		Data  []struct {
			Index     int             `json:"index"`
			Embedding json.RawMessage `json:"embedding"`
		} `json:"data"`
		Usage model.Loose[chatUsage] `json:"usage"`
	}
	err := json.Unmarshal(body, &in)
	r := eval.Response{Stop: eval.StopEnd, ModelVersion: in.Model, Usage: eval.Usage{Input: int(max(in.Usage.Value.Prompt, in.Usage.Value.Total))}}
	if err != nil {
		return r, model.Malformed("the embeddings are not JSON: %v", err)
	}
	if model.Present(in.Error) {
		return r, model.InBody(in.Error)
	}
	vectors, encoded := make([][]float32, len(in.Data)), make([]string, len(in.Data))
	for _, d := range in.Data {
		if d.Index < 0 || d.Index >= len(vectors) || vectors[d.Index] != nil {
			return r, model.Malformed("the embeddings are numbered wrongly: index %d of %d", d.Index, len(vectors))
		}
		v, err := readVector(d.Embedding)
		if err != nil {
			return r, model.Malformed("embedding %d: %v", d.Index, err)
		}
		vectors[d.Index], encoded[d.Index] = v, embed.Encode(v)
	}
	if slices.ContainsFunc(vectors, func(v []float32) bool { return len(v) != len(vectors[0]) }) {
		return r, model.Malformed("the embeddings have several lengths")
	}
	list, err := json.Marshal(encoded)
	if err != nil {
		return r, err
	}
	r.Text = string(list)
	return r, nil
}

// readVector reads a list of numbers, or base64.
func readVector(data json.RawMessage) ([]float32, error) {
	var encoded string
	if json.Unmarshal(data, &encoded) == nil {
		return embed.Decode(encoded)
	}
	var v []float32
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	if len(v) == 0 {
		return nil, errors.New("it is empty")
	}
	if bytes.Contains(data, []byte("null")) { // which Unmarshal reads as 0
		return nil, errors.New("a component is null")
	}
	return v, nil
}

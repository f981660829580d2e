package model

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"mime"
	"net/http"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A Wire is one provider's format: where a request goes, how it is written, and
// how an answer is read.
type Wire interface {
	// URL is the address a request is posted to. An error means that the
	// request cannot be sent, such as one with an invalid model name.
	URL(r *eval.Request) (string, error)
	// Encode encodes the body of a request without the parameters that the model
	// is known to refuse, and describes the changes.
	Encode(r *eval.Request, refused Refused) (body []byte, adapted []string, err error)
	// Decode reads the body of a success. Its errors are [Malformed] or
	// [InBody].
	Decode(body []byte) (eval.Response, error)
}

// A Caller completes requests over a wire. The clients of the providers share
// it: it sends requests, classifies errors and refusals, keeps keys out of
// texts, and learns which parameters a model does not take.
type Caller struct {
	wire   Wire
	http   *http.Client
	header http.Header
	key    string
	keyEnv string
	learnt memory
}

// NewCaller returns a caller for one endpoint. header holds what the provider
// wants with every request, such as the key.
func NewCaller(w Wire, e Endpoint, header http.Header) *Caller {
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json")
	header.Set("User-Agent", "scruple")
	return &Caller{wire: w, http: e.client(), header: header, key: e.APIKey, keyEnv: e.KeyEnv}
}

// Complete sends the request once. This is the one place where a client may
// send again: if the server reports that the model does not support a parameter
// (temperature, top_p, the name of the token limit, a system prompt, stop, seed, a
// schema), the request is sent again without it, once per parameter. The client
// remembers it, so later requests are sent once, and every answer lists the
// changes in Adapted. See [WithResend].
func (c *Caller) Complete(ctx context.Context, r *eval.Request) (eval.Response, error) {
	refused := c.learnt.add(r.Name, 0)
	for {
		response, complaint, err := c.once(ctx, r, refused)
		if complaint == nil || err == nil {
			return response, err
		}
		more := complaint.refused(sentIn(r)) &^ refused
		if more == 0 {
			return response, err
		}
		refused |= c.learnt.add(r.Name, more)
		if err := Resend(ctx); err != nil {
			return eval.Response{}, err
		}
	}
}

type resendKey struct{}

// WithResend returns a context with a function that a client calls before it sends a
// request again, so that this one is counted too. If the function fails, the client sends
// nothing and returns its error.
func WithResend(ctx context.Context, again func() error) context.Context {
	return context.WithValue(ctx, resendKey{}, again)
}

// Resend calls the function of [WithResend], if the context has one.
func Resend(ctx context.Context) error {
	if again, ok := ctx.Value(resendKey{}).(func() error); ok {
		return again()
	}
	return nil
}

// once sends the request. It returns the server's complaint where that may be
// about a parameter.
func (c *Caller) once(ctx context.Context, r *eval.Request, refused Refused) (eval.Response, *complaint, error) {
	body, adapted, err := c.wire.Encode(r, refused)
	if err != nil {
		return eval.Response{}, nil, &Error{Kind: eval.ErrBadRequest, Message: "writing the request: " + err.Error(), Err: err,
			Remedy: "check the schema and the tools: they must be valid JSON"}
	}
	address, err := c.wire.URL(r)
	if err != nil {
		return eval.Response{}, nil, &Error{Kind: eval.ErrBadRequest, Message: err.Error(), Err: err}
	}
	x := Post(ctx, c.http, address, c.header, body, MaxBody)
	defer x.Close()
	if x.Err != nil {
		return eval.Response{}, nil, c.clean(incomplete(ctx, x))
	}
	if x.Status < 200 || x.Status > 299 {
		return c.failed(x, x.Body, r.Name, adapted)
	}
	response, err := c.read(x)
	var inside *inBody
	switch {
	case errors.As(err, &inside):
		return c.failed(x, wrapError(inside.raw), r.Name, adapted)
	case err != nil:
		e := FromTransport(ctx, err)
		e.Status, e.RequestID = x.Status, x.RequestID()
		return eval.Response{}, nil, c.clean(e)
	}
	response.Adapted = adapted
	noteCut(r, &response)
	if id := x.RequestID(); id != "" {
		response.RequestID = id
	}
	withoutKey(&response, c.key)
	return response, nil, nil
}

func wrapError(raw []byte) []byte {
	return bytes.Join([][]byte{[]byte(`{"error":`), raw, []byte(`}`)}, nil)
}

// failed reads an error answer: a refusal by a safety system is a response.
func (c *Caller) failed(x *Exchange, body []byte, name string, adapted []string) (eval.Response, *complaint, error) {
	said := readComplaint(body)
	e := said.failure(x, c.keyEnv, name)
	if refusable(x.Status) && said.refusal() {
		reason := cmp.Or(said.code, said.kind)
		return eval.Response{Stop: eval.StopRefused, StopReason: scrub(reason, c.key), Refusal: scrub(said.message, c.key), RequestID: scrub(e.RequestID, c.key), Adapted: adapted}, nil, nil
	}
	if e.Kind != eval.ErrBadRequest {
		return eval.Response{}, nil, c.clean(e)
	}
	return eval.Response{}, &said, c.clean(e)
}

func refusable(status int) bool {
	switch status {
	case http.StatusOK, http.StatusBadRequest, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusUnavailableForLegalReasons:
		return true
	}
	return false
}

// read decodes a success.
func (c *Caller) read(x *Exchange) (eval.Response, error) {
	kind, _, _ := mime.ParseMediaType(x.Header.Get("Content-Type"))
	body := bytes.TrimPrefix(x.Body, []byte("\ufeff"))
	switch {
	case kind == "text/event-stream":
		return eval.Response{}, Malformed("the server sent an event stream, which was not requested")
	case kind == "text/html" || strings.HasSuffix(kind, "xml"):
		e := Malformed("the answer is %s, not JSON: %s", kind, plainText(body))
		e.Remedy = "check that base_url is the URL of a model's API"
		return eval.Response{}, e
	case x.Header.Get("Content-Encoding") != "":
		return eval.Response{}, Malformed("the answer is encoded as %s, which was not requested", x.Header.Get("Content-Encoding"))
	case len(bytes.TrimSpace(body)) == 0:
		return eval.Response{}, Malformed("the answer is empty")
	}
	return c.wire.Decode(body)
}

// clean makes sure that no key shows in an error.
func (c *Caller) clean(e *Error) *Error {
	e.Message, e.Remedy, e.RequestID = scrub(e.Message, c.key), scrub(e.Remedy, c.key), scrub(e.RequestID, c.key)
	if e.Err != nil {
		e.Err = &scrubbed{text: scrub(e.Err.Error(), c.key), err: e.Err}
	}
	return e
}

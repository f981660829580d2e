package model

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
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
	// Decode reads the body of a success. Its errors are [Malformed], [InBody] or
	// of [End], beside the usage that the body states all the same.
	Decode(body []byte) (eval.Response, error)
}

// A Caller completes requests over a wire. The clients of the providers share
// it: it sends requests, classifies errors and refusals, keeps keys out of
// texts, and learns which parameters a model does not take.
type Caller struct {
	wire   Wire
	http   *http.Client
	header http.Header
	keys   Keys
	keyEnv string
	learnt memory
}

// NewCaller returns a caller for one endpoint. header holds what the provider
// wants with every request, such as the key.
func NewCaller(w Wire, e Endpoint, header http.Header) *Caller {
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json")
	header.Set("User-Agent", "scruple")
	return &Caller{wire: w, http: NoRedirect(e.HTTP), header: header, keys: NewKeys(e.APIKey), keyEnv: e.KeyEnv}
}

// Complete sends the request once. This is the one place where a client may
// send again: if the server reports that the model does not support a parameter
// (temperature, top_p, the name of the token limit, a system prompt, stop, seed, a
// schema), the request is sent again without it, once per parameter. If the server no
// longer complains of it, the client remembers it, so later requests are sent once, and
// every answer lists the changes in Adapted. See [WithResend].
func (c *Caller) Complete(ctx context.Context, r *eval.Request) (eval.Response, error) {
	var refused, left Refused // left out of this request for the first time
	for {
		refused |= c.learnt.add(r.Name, 0)
		response, complaint, err := c.once(ctx, r, refused)
		var named Refused
		if complaint != nil {
			named = complaint.refused(sentIn(r))
		}
		if err == nil || complaint != nil {
			c.learnt.add(r.Name, left&^named)
		}
		if left = named &^ refused; left == 0 {
			return response, err
		}
		refused |= left
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
	c.keys.ScrubExchange(x)
	if x.Err != nil && !x.Failed() {
		return eval.Response{}, nil, c.keys.Clean(incomplete(ctx, x))
	}
	response, err := c.read(x)
	failed, complains := x.Status < 200 || x.Status > 299, x.Body
	if inside, ok := errors.AsType[*inBody](err); ok && !failed {
		failed, complains = true, []byte(`{"error":`+string(inside.raw)+`}`)
	}
	switch {
	case failed:
		refusal, said, err := c.failed(x, complains, r.Name, adapted)
		refusal.Usage = response.Usage // what the error states that it took
		return refusal, said, err
	case err != nil:
		e := FromTransport(ctx, err)
		e.Status, e.RequestID = x.Status, x.RequestID()
		return eval.Response{Usage: response.Usage}, nil, c.keys.Clean(e)
	}
	response.Adapted = adapted
	noteCut(r, &response)
	if id := x.RequestID(); id != "" {
		response.RequestID = id
	}
	c.keys.CleanAnswer(&response)
	return response, nil, nil
}

// failed reads an error answer. A refusal by a safety system is a response, and so is what
// the model wrote if the service rejects it as invalid JSON or an invalid call.
func (c *Caller) failed(x *Exchange, body []byte, name string, adapted []string) (eval.Response, *complaint, error) {
	said := readComplaint(body)
	e := c.keys.Clean(said.failure(x, c.keyEnv, name))
	e.Message = text.Shorten(e.Message, longestMessage)
	if slices.Contains(refusing, x.Status) && said.refusal() {
		reason := cmp.Or(said.code, said.kind)
		return eval.Response{Stop: eval.StopRefused, StopReason: c.keys.scrub(reason), Refusal: e.Message, RequestID: e.RequestID, Adapted: adapted}, nil, nil
	}
	if e.Kind == eval.ErrBadRequest && said.wrote != "" {
		response, err := said.generation()
		response.RequestID, response.Adapted = e.RequestID, adapted
		c.keys.CleanAnswer(&response)
		return response, nil, err
	}
	if e.Kind != eval.ErrBadRequest {
		return eval.Response{}, nil, e
	}
	return eval.Response{}, &said, e
}

// longestMessage is the most characters of a server's message that are kept: some servers quote the request.
const longestMessage = 1000

// refusing are the statuses of refusals.
var refusing = []int{http.StatusOK, http.StatusBadRequest, http.StatusForbidden, http.StatusUnprocessableEntity,
	http.StatusUnavailableForLegalReasons}

// read decodes a success.
func (c *Caller) read(x *Exchange) (eval.Response, error) {
	kind, _, _ := mime.ParseMediaType(x.Header.Get("Content-Type"))
	body := bytes.TrimPrefix(x.Body, []byte("\ufeff"))
	switch {
	case kind == "text/event-stream":
		if raw := errorEvent(body); raw != nil {
			return eval.Response{}, InBody(raw)
		}
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

// An Address is the part of a [Wire] whose requests all go to one URL.
type Address string

// URL implements [Wire].
func (a Address) URL(*eval.Request) (string, error) { return string(a), nil }

const (
	// leastPerWord is the number of tokens per word below which a prompt counts as cut.
	// Tokenizers end tokens at the border of words, so they need at least one token per
	// word. Those of OpenAI (o200k, cl100k, r50k) take 1.26 or more for each of 315
	// contracts, filings and receipts, 1.4 for contracts and 2.5 for receipts on average.
	// Tokenizers with tokens of several words (SuperBPE) save up to a third of that,
	// which leaves 0.84. Below 0.75, no tokenizer explains the count: of English prose
	// two fifths or more were lost, of tables and other languages more.
	leastPerWord = 0.75
	// shortestCut is the number of words below which a prompt does not count as cut. No
	// server has so small a context, and the counts of short prompts vary most.
	shortestCut = 300
)

// noteCut notes in the response that the server cut the prompt without an error, as
// Ollama and other local servers do beyond their context length. The part that is
// lost may hold the instructions or the answer.
func noteCut(r *eval.Request, response *eval.Response) {
	// A provider may count cached tokens within the input or apart from it. The sum is
	// never less than what it read.
	u := response.Usage
	counted := u.Input + u.Cached + u.CacheWrite
	if counted <= 0 {
		return // not counted
	}
	words := text.Pieces(r.System)
	for _, m := range r.Messages {
		words += text.Pieces(m.Content)
	}
	if words >= shortestCut && float64(counted) < leastPerWord*float64(words) {
		response.Adapted = append(response.Adapted, eval.Cut{Words: words, Tokens: counted}.String())
	}
}

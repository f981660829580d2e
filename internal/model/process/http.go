package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/say"
)

// HTTP asks a service. It implements [model.Client].
type HTTP struct {
	address   string
	client    *http.Client
	header    http.Header
	keys      model.Keys
	maxAnswer int64
}

// NewHTTP returns a client for a service. Requests are sent as [model.NoRedirect] of the
// given client does. The keys are not shown in what the service says.
func NewHTTP(address string, client *http.Client, keys ...string) (*HTTP, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("invalid URL %q: want one such as http://127.0.0.1:8080/extract", withoutUser(address))
	case u.User != nil:
		return nil, fmt.Errorf("URL %q: a user or password in a URL would be recorded: let a local proxy add it", u.Redacted())
	case keyParameter(u) != "":
		return nil, fmt.Errorf("URL of %s: the value of %s would be recorded: let a local proxy add it", u.Host, keyParameter(u))
	case u.Fragment != "":
		return nil, fmt.Errorf("URL %q: the fragment after # would not be sent: remove it", address)
	}
	return &HTTP{address: address, client: model.NoRedirect(client), keys: model.NewKeys(keys...), maxAnswer: maxAnswer,
		header: http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}, "User-Agent": {"scruple"}}}, nil
}

// keyParameter is the query parameter that looks like a key, "" if none does.
func keyParameter(u *url.URL) string {
	for _, name := range slices.Sorted(maps.Keys(u.Query())) {
		switch strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name)) {
		case "key", "apikey", "xapikey", "accesskey", "secretkey", "subscriptionkey", "token", "apitoken", "authtoken", "accesstoken",
			"secret", "clientsecret", "password", "auth", "sig", "signature", "code":
			return name
		}
	}
	return ""
}

// withoutUser hides a possible password in an invalid URL.
func withoutUser(address string) string {
	if at := strings.LastIndexByte(address, '@'); at >= 0 {
		return "…" + address[at:]
	}
	return address
}

// Complete asks the service once.
func (h *HTTP) Complete(ctx context.Context, r *eval.Request) (eval.Response, error) {
	id, body, err := encode(r)
	if err != nil {
		return eval.Response{}, err
	}
	x := model.Post(ctx, h.client, h.address, h.header, body, h.maxAnswer)
	defer x.Close()
	h.keys.ScrubExchange(x)
	switch {
	case errors.Is(x.Err, model.ErrTooLarge):
		return eval.Response{}, h.failed(x, model.Malformed("the answer is longer than %d MB: %s", h.maxAnswer>>20, shorten(x.Body)))
	case x.Err != nil && !x.Failed():
		return eval.Response{}, h.failed(x, unanswered(ctx, h.address, x.Err))
	case x.Status < 200 || x.Status > 299:
		return eval.Response{}, h.failed(x, rejected(x))
	}
	response, err := readBody(x.Body, id)
	if err != nil {
		return response, h.failed(x, err)
	}
	response.RequestID = x.Header.Get("X-Request-Id")
	h.keys.CleanAnswer(&response)
	return response, nil
}

// readBody parses the body of a successful response. The id is optional, since the
// connection identifies the request.
func readBody(data []byte, id string) (eval.Response, error) {
	a, err := decode(data)
	if err != nil {
		return eval.Response{}, err
	}
	if a.ID != "" && string(a.ID) != id {
		return eval.Response{}, otherID(a.ID, id, data)
	}
	return a.response()
}

// failed completes an error with what the response's head says.
func (h *HTTP) failed(x *model.Exchange, err error) error {
	failure := asFailure(err)
	failure.Status, failure.RequestID = x.Status, x.Header.Get("X-Request-Id")
	if failure.Kind == eval.ErrMalformed && failure.Remedy == "" {
		failure.Remedy = `the service must answer with one JSON object that has the key "output"`
	}
	return h.keys.Clean(failure)
}

// unanswered is the error of a request without a complete answer. Of the address
// it names the host only, since a query may hold a key.
func unanswered(ctx context.Context, address string, err error) *model.Error {
	host := ""
	if u, e := url.Parse(address); e == nil {
		host = u.Host
	}
	failure := model.FromTransport(ctx, err)
	if failure.Message == "" && failure.Err != nil {
		failure.Message = fmt.Sprintf("asking %s: %v", host, failure.Err)
	}
	return failure
}

// rejected returns the error of a response with a failure status.
func rejected(x *model.Exchange) *model.Error {
	status := x.Status
	failure := &model.Error{Kind: model.KindOfStatus(status), RetryAfter: model.RetryAfter(x.Header, time.Now()), Message: shorten(x.Body)}
	if a, err := decode(x.Body); err == nil && a.complaint() != "" {
		failure.Message = say.PlainLine(a.complaint())
	}
	failure.Message = cmp.Or(failure.Message, strings.ToLower(http.StatusText(status)))
	switch {
	case status >= 300 && status < 400: // waiting does not mend a wrong address
		failure.Kind = eval.ErrBadRequest
		failure.Remedy = "the service redirects to " + strconv.Quote(x.Header.Get("Location")) + ": use the final URL"
	case status == http.StatusRequestEntityTooLarge:
		failure.Remedy = "raise the service's limit on request size"
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		failure.Remedy = "check the URL: it must accept POST"
	case failure.Kind == eval.ErrAuth:
		failure.Remedy = "the service requires credentials, but none are sent: let it accept local requests, or use a proxy"
	case failure.Kind == eval.ErrRateLimited:
		failure.Remedy = "lower execution.concurrency"
	}
	return failure
}

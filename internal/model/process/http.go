package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// HTTP asks a service. It implements [model.Client].
type HTTP struct {
	address   string
	client    http.Client
	maxAnswer int64
}

var _ model.Client = (*HTTP)(nil)

// NewHTTP returns a client for a service. Requests are sent with the given
// client, or when it is nil with the default transport; redirects are not
// followed, so that a request goes to its address or nowhere.
func NewHTTP(address string, client *http.Client) (*HTTP, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("address %q: want a URL such as http://127.0.0.1:8080/extract", withoutUser(address))
	case u.User != nil:
		return nil, fmt.Errorf("address %q: a user or password in an address ends up in records: have a proxy on this machine add it", u.Redacted())
	case keyParameter(u) != "":
		return nil, fmt.Errorf("address of %s: what is given as %s ends up in records: have a proxy on this machine add it", u.Host, keyParameter(u))
	case u.Fragment != "":
		return nil, fmt.Errorf("address %q: what follows the # would not be sent: leave it out", address)
	}
	h := &HTTP{address: address, maxAnswer: maxAnswer}
	if client != nil {
		h.client = *client
	}
	h.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return h, nil
}

// keyParameter is the query parameter that looks like a key, "" if none does.
func keyParameter(u *url.URL) string {
	for _, name := range slices.Sorted(maps.Keys(u.Query())) {
		switch strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name)) {
		case "key", "apikey", "token", "accesstoken", "secret", "password", "auth", "sig", "signature":
			return name
		}
	}
	return ""
}

// withoutUser hides what could be a password in an address that is no URL.
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
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.address, bytes.NewReader(body))
	if err != nil {
		return eval.Response{}, &model.Error{Kind: eval.ErrBadRequest, Err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "scruple")
	resp, err := h.client.Do(req)
	if err != nil {
		return eval.Response{}, unanswered(ctx, req.URL.Host, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, h.maxAnswer+1))
	switch {
	case err != nil:
		return eval.Response{}, withStatus(resp, unanswered(ctx, req.URL.Host, err))
	case int64(len(data)) > h.maxAnswer:
		return eval.Response{}, withStatus(resp, model.Malformed("the answer is longer than %d MB: %s", h.maxAnswer>>20, shorten(data)))
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return eval.Response{}, withStatus(resp, rejected(resp, data))
	}
	response, err := readBody(data, id)
	if err != nil {
		return eval.Response{}, withStatus(resp, err)
	}
	response.RequestID = resp.Header.Get("X-Request-Id")
	return response, nil
}

// readBody reads the body of a success. Its id may be left out, since the
// connection says already what it answers.
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

// withStatus completes an error with what the response's head says.
func withStatus(resp *http.Response, err error) error {
	var failure *model.Error
	if !errors.As(err, &failure) {
		failure = &model.Error{Kind: eval.ErrMalformed, Err: err}
	}
	failure.Status, failure.RequestID = resp.StatusCode, resp.Header.Get("X-Request-Id")
	if failure.Kind == eval.ErrMalformed && failure.Remedy == "" {
		failure.Remedy = `the service must answer with one JSON object that has the key "output"`
	}
	return failure
}

// unanswered is the error of a request for which there is no whole answer. The
// address is left out of it but for the host, since a query may hold a key.
func unanswered(ctx context.Context, host string, err error) *model.Error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	failure := model.FromTransport(ctx, err)
	if failure.Message == "" && failure.Err != nil {
		failure.Message = fmt.Sprintf("asking %s: %v", host, failure.Err)
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		failure.Remedy = "check that the service is running and that the address is right"
	}
	return failure
}

// rejected is the error of an answer whose status is no success.
func rejected(resp *http.Response, body []byte) *model.Error {
	status := resp.StatusCode
	failure := &model.Error{Kind: model.KindOfStatus(status), RetryAfter: model.RetryAfter(resp.Header, time.Now()), Message: shorten(body)}
	if a, err := decode(body); err == nil && a.complaint() != "" {
		failure.Message = oneLine(a.complaint())
	}
	if failure.Message == "" {
		failure.Message = strings.ToLower(http.StatusText(status))
	}
	switch {
	case status >= 300 && status < 400: // waiting does not mend a wrong address
		failure.Kind = eval.ErrBadRequest
		failure.Remedy = "the service redirects to " + strconv.Quote(resp.Header.Get("Location")) + ": give the final address"
	case status == http.StatusRequestEntityTooLarge: // about this item, not about the study
		failure.TooLong = true
		failure.Remedy = "raise the service's limit on the size of requests"
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		failure.Remedy = "check the address: it must accept POST"
	case failure.Kind == eval.ErrAuth:
		failure.Remedy = "the service wants credentials, and none are sent: have it accept requests from this machine, or put a proxy before it"
	case failure.Kind == eval.ErrRateLimited:
		failure.Remedy = "lower execution.concurrency"
	}
	return failure
}

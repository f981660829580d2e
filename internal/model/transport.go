package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxBody is the most that is read of one answer. The longest real answers are
// a few hundred kilobytes; what is longer is no answer of a model.
const maxBody = 32 << 20

// NewTransport returns the transport that all clients of a run share: many
// calls at once to few hosts. concurrency is the most calls in flight; as many
// idle connections are kept for each host, so that none is opened twice.
// Answers are not compressed: they are small, and inflating costs more than
// reading. Proxies are taken from the environment.
func NewTransport(concurrency int) *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: max(concurrency, 2),
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 15 * time.Second,
		DisableCompression:  true,
		WriteBufferSize:     8 << 10,
	}
}

// An Endpoint is where a client sends its requests.
type Endpoint struct {
	BaseURL string // "" is the provider's own
	APIKey  string // "" sends none: servers on loopback need none
	KeyEnv  string // the variable the key comes from, for remedies
	// HTTP is the client to send with. Nil makes one.
	HTTP *http.Client
}

// Base is the endpoint's base URL, checked, without a slash or any of the
// given path endings at its end; own is used where the endpoint names none.
func (e *Endpoint) Base(own string, endings ...string) (string, error) {
	base := e.BaseURL
	if base == "" {
		base = own
	}
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return "", fmt.Errorf("base_url %q: not an http or https URL, such as %s", base, own)
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("base_url %q: a query or fragment would be lost; give the address up to the API's version, such as %s", base, own)
	}
	base = strings.TrimRight(base, "/")
	for _, ending := range endings {
		if short, ok := strings.CutSuffix(base, ending); ok {
			return short, nil
		}
	}
	return base, nil
}

// Client is the HTTP client to give to an SDK. It keeps what comes back in the
// [Exchange] of the request's context, redirects included: they are not
// followed, so that a request goes to its endpoint or nowhere.
func (e *Endpoint) Client() *http.Client {
	c := http.Client{}
	if e.HTTP != nil {
		c = *e.HTTP
	}
	if c.Transport == nil {
		c.Transport = NewTransport(64)
	}
	c.Transport = &tap{next: c.Transport}
	return &c
}

// An Exchange is what one HTTP request came back with, read to its end. SDKs
// hide parts of it (headers, raw fields, the body of an error), and a research
// log needs them.
type Exchange struct {
	Status int // 0 where there was no answer
	Header http.Header
	Body   []byte
	Err    error // why there is no whole answer
}

type exchangeKey struct{}

// Observe returns a context in which a request's answer is kept.
func Observe(ctx context.Context) (context.Context, *Exchange) {
	x := new(Exchange)
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// A tap reads answers in an SDK's stead. The SDK is given an empty success, so
// it neither spends time on decoding nor fails over a deviating body.
type tap struct{ next http.RoundTripper }

var errTooLarge = errors.New("the answer is larger than 32 MiB")

func (t *tap) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	x, ok := req.Context().Value(exchangeKey{}).(*Exchange)
	if !ok {
		return resp, err
	}
	if err != nil {
		x.Err = err
		return nil, err
	}
	x.Status, x.Header = resp.StatusCode, resp.Header
	if x.Body, x.Err = readBody(resp); x.Err != nil {
		return nil, x.Err
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK,
		Proto: resp.Proto, ProtoMajor: resp.ProtoMajor, ProtoMinor: resp.ProtoMinor,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(strings.NewReader("{}")),
		ContentLength: 2,
		Request:       req,
	}, nil
}

func readBody(resp *http.Response) ([]byte, error) {
	defer resp.Body.Close()
	var b bytes.Buffer
	if n := resp.ContentLength; n > 0 && n <= maxBody {
		b.Grow(int(n) + bytes.MinRead) // the reader asks for room once more to see the end
	}
	_, err := b.ReadFrom(io.LimitReader(resp.Body, maxBody+1))
	if err == nil && b.Len() > maxBody {
		err = errTooLarge
	}
	return b.Bytes(), err
}

// RequestID is the provider's name for the request, as the headers give it.
func (x *Exchange) RequestID() string {
	for _, name := range []string{"X-Request-Id", "Request-Id"} {
		if id := x.Header.Get(name); id != "" {
			return id
		}
	}
	return ""
}

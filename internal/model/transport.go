package model

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// NewTransport returns the transport that all clients of a run share: many
// calls at once to few hosts. concurrency is the most calls in flight; as many
// idle connections are kept for each host, so that none is opened twice.
// Answers are not compressed: they are small, and inflating costs more than
// reading. Proxies are taken from the environment. An HTTP/2 connection without a sign
// of life, as after a computer's sleep, is given up: all requests would go on it.
func NewTransport(concurrency int) *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		OnProxyConnectResponse: answeredConnect,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
		MaxIdleConnsPerHost:    max(concurrency, 2),
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    15 * time.Second,
		DisableCompression:     true,
		WriteBufferSize:        8 << 10,
	}
}

// A proxyError is the answer of a proxy that makes no connection.
type proxyError struct{ proxy, status string }

func (e *proxyError) Error() string { return "the proxy " + e.proxy + " answered " + e.status }

// lasts reports whether the proxy would answer the same again: not if it, or what is behind it, is
// overloaded or away.
func (e *proxyError) lasts() bool {
	return !strings.HasPrefix(e.status, "5") && !strings.HasPrefix(e.status, "429")
}

func answeredConnect(_ context.Context, proxy *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	return &proxyError{proxy.Host, answer.Status}
}

// unsent is the error of a request for which there was no connection.
type unsent struct {
	error
	handshake bool // of TLS, which failed
}

func (e *unsent) Unwrap() error { return e.error }

// connecting follows the connection for a request. net/http gets another one if the first was
// closed before it was used.
type connecting struct{ waiting, handshake atomic.Bool }

func (c *connecting) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:          func(string) { c.waiting.Store(true) },
		GotConn:          func(httptrace.GotConnInfo) { c.waiting.Store(false) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) { c.handshake.Store(err != nil) },
	})
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
	base := cmp.Or(e.BaseURL, own)
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return "", fmt.Errorf("base_url %q: not an http or https URL, such as %s", base, own)
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("base_url %q: a query or fragment would be lost; use the URL up to the API version, such as %s", base, own)
	}
	base = strings.TrimRight(base, "/")
	for _, ending := range endings {
		if short, ok := strings.CutSuffix(base, ending); ok {
			return short, nil
		}
	}
	return base, nil
}

// NoRedirect returns a copy of a client that follows no redirect: a request and its key go to
// its address or nowhere. Nil, or one without a transport, gets a transport of its own.
func NoRedirect(c *http.Client) *http.Client {
	own := http.Client{}
	if c != nil {
		own = *c
	}
	if own.Transport == nil {
		own.Transport = NewTransport(64)
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// MaxBody is the limit for answers of models. The longest real ones have a few
// hundred kilobytes.
const MaxBody = 32 << 20

// ErrTooLarge is the error of an answer above the limit.
var ErrTooLarge = errors.New("the answer is too large")

// Ordinary is the size above which an answer needs a [Place].
const Ordinary = 1 << 20

var places = make(chan struct{}, 4)

// A Place is the right to read a large answer. Few answers exceed a megabyte, and a
// server or process that sends nothing else must not fill the memory: of larger ones,
// as many are read at a time as there are places. The others wait in the network, or in
// the pipe of their process. Leave the place when the answer has been decoded.
type Place struct{ taken bool }

// Take waits for a place.
func (p *Place) Take(ctx context.Context) error {
	if p.taken {
		return nil
	}
	select {
	case places <- struct{}{}:
		p.taken = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Leave frees the place, if one was taken.
func (p *Place) Leave() {
	if p.taken {
		p.taken = false
		<-places
	}
}

// An Exchange is the answer to one HTTP request, read to its end.
type Exchange struct {
	Status int // 0 if there was no answer
	Header http.Header
	Body   []byte // of an answer above the limit, its beginning
	Err    error  // why there is no complete answer

	place Place // if it is large
}

// beginning is how much is kept of an answer above the limit, for messages.
const beginning = 1 << 10

// Close gives up the body.
func (x *Exchange) Close() {
	x.place.Leave()
	x.Body = nil
}

// Post sends body to address once and reads the whole answer, of at most limit
// bytes. Close the exchange when the answer has been decoded. Post sends nothing twice: net/http repeats a POST only if no byte of it
// has left.
//
// header is not modified, so that requests can share it. An error has no URL
// in its text, since a URL may hold a key.
func Post(ctx context.Context, client *http.Client, address string, header http.Header, body []byte, limit int64) *Exchange {
	var c connecting
	req, err := http.NewRequestWithContext(c.trace(ctx), http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return &Exchange{Err: withoutURL(err)}
	}
	req.Header = header
	resp, err := client.Do(req)
	switch {
	case err != nil && c.waiting.Load():
		return &Exchange{Err: &unsent{withoutURL(err), c.handshake.Load()}}
	case err != nil:
		return &Exchange{Err: withoutURL(err)}
	}
	defer resp.Body.Close()
	x := &Exchange{Status: resp.StatusCode, Header: resp.Header}
	if x.Err = x.read(ctx, resp, limit); x.Err != nil {
		x.place.Leave()
	}
	return x
}

// withoutURL unwraps what net/http puts around an error.
func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

func (x *Exchange) read(ctx context.Context, resp *http.Response, limit int64) error {
	var b bytes.Buffer
	size := resp.ContentLength
	if size > limit {
		_, err := b.ReadFrom(io.LimitReader(resp.Body, beginning))
		x.Body = b.Bytes()
		return cmp.Or(err, ErrTooLarge)
	}
	if 0 < size && size <= Ordinary {
		b.Grow(int(size) + bytes.MinRead) // the last read, which finds the end, needs room too
	}
	_, err := b.ReadFrom(io.LimitReader(resp.Body, min(Ordinary, limit)+1))
	if err == nil && b.Len() > Ordinary {
		if err := x.place.Take(ctx); err != nil {
			return err
		}
		if size > 0 {
			b.Grow(int(size) - b.Len() + bytes.MinRead)
		}
		_, err = b.ReadFrom(io.LimitReader(resp.Body, limit+1-int64(b.Len())))
	}
	if err == nil && int64(b.Len()) > limit {
		x.Body = bytes.Clone(b.Bytes()[:min(beginning, b.Len())])
		return ErrTooLarge
	}
	x.Body = b.Bytes()
	return err
}

// Failed reports whether the status is that of an error. It holds without the end of the body.
func (x *Exchange) Failed() bool { return x.Status >= 400 && !errors.Is(x.Err, ErrTooLarge) }

// RequestID is the provider's id of the request, from the headers.
func (x *Exchange) RequestID() string {
	return cmp.Or(x.Header.Get("X-Request-Id"), x.Header.Get("Request-Id"))
}

// Servers that speak a provider's format deviate in small things: numbers with
// a point, ids that are numbers, null for nothing. These types read such fields
// without failing; fields that hold the answer itself are read strictly, so
// that a strange body is an error and never an empty answer.

// A Word is a short string field. A number reads as it is written; null and
// anything else reads as "".
type Word string

// UnmarshalJSON implements [json.Unmarshaler]. It never fails.
func (w *Word) UnmarshalJSON(b []byte) error {
	*w = Word(wordOf(b))
	return nil
}

func wordOf(b []byte) string {
	switch {
	case len(b) >= 2 && b[0] == '"':
		if bytes.IndexByte(b, '\\') < 0 && utf8.Valid(b) {
			return string(b[1 : len(b)-1])
		}
		var s string
		_ = json.Unmarshal(b, &s) // the decoder has checked the syntax
		return s
	case len(b) > 0 && (b[0] == '-' || '0' <= b[0] && b[0] <= '9'):
		return string(b)
	}
	return ""
}

// A Count is a number of tokens. An invalid number decodes as 0.
type Count int

// UnmarshalJSON implements [json.Unmarshaler]. It never fails.
func (c *Count) UnmarshalJSON(b []byte) error {
	*c = 0
	s := wordOf(b)
	if n, err := strconv.Atoi(s); err == nil {
		*c = Count(n)
	} else if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < 1<<53 {
		*c = Count(f)
	}
	return nil
}

// Arguments are those of a tool call, as the model wrote them: most services
// send a string that holds JSON (or should), some the object itself.
type Arguments json.RawMessage

// UnmarshalJSON implements [json.Unmarshaler]. It never fails.
func (a *Arguments) UnmarshalJSON(b []byte) error {
	switch {
	case bytes.Equal(b, []byte("null")):
		*a = nil
	case len(b) > 0 && b[0] == '"':
		var s string
		_ = json.Unmarshal(b, &s)
		*a = Arguments(s)
	default:
		*a = Arguments(bytes.Clone(b))
	}
	return nil
}

// A Loose field reads as much of a value as can be read. What is not needed for an answer, such as
// counts, must not lose it.
type Loose[T any] struct{ Value T }

// UnmarshalJSON implements [json.Unmarshaler]. It never fails.
func (l *Loose[T]) UnmarshalJSON(b []byte) error {
	*l = Loose[T]{}
	_ = json.Unmarshal(b, &l.Value)
	return nil
}

// Present reports whether a raw field holds something other than null.
func Present(raw json.RawMessage) bool {
	return len(raw) > 0 && !bytes.Equal(raw, []byte("null"))
}

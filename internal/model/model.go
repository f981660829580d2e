// Package model defines the interface to models: the [Client] that providers' APIs,
// local servers, external pipelines, recordings and simulations implement, and the
// typed [Error] that they return. The implementations are sub-packages.
//
// A client sends each request once. Package run handles retries, limits, timeouts
// and budgets, and package store the journal; a client must not know these or any
// suite.
package model

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/errno"
	"github.com/scruple-eval/scruple/internal/eval"
)

// A Client sends a request to an endpoint once and returns the response. It is safe
// for concurrent use. Every error is an [*Error], which may wrap the context's
// cause. A refusal by the model or by a safety system is a response with Stop
// refused, not an error. Beside an error, the response has the usage that the endpoint
// states, if it does.
type Client interface {
	Complete(ctx context.Context, r *eval.Request) (eval.Response, error)
}

// An Error is a failed call, classified so that the engine knows whether to wait, to
// retry or to stop.
type Error struct {
	Kind       eval.ErrorKind
	Status     int           // HTTP status, 0 if there was none
	RetryAfter time.Duration // requested by the server, 0 if not
	RequestID  string
	Message    string // from the server, without keys
	Remedy     string // what the user can do, or ""
	// Unreachable means that nobody received the request, and nobody will receive
	// another one before someone acts: connection refused, also by a proxy, unknown host,
	// invalid certificate.
	Unreachable bool
	// Unanswered means that the request may have been received, and is paid if it was: the
	// connection was lost, the time was over, or the service did not finish the answer.
	Unanswered bool
	// Final means that the same request will fail again, whatever its kind; if Unreachable,
	// every other one too.
	Final bool
	// Exited means that the process of a pipeline exited before its first answer.
	Exited bool
	// Unpaid means that the account has no money left, or has reached a limit of it.
	Unpaid bool
	Err    error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(string(e.Kind), "_", " "))
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	} else if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Rejected reports whether the provider read the request and rejected it, for
// what the study asks or for what the item contains. Gateways send a 403 for the
// latter, too.
func (e *Error) Rejected() bool {
	return e.Kind == eval.ErrBadRequest || e.Status == http.StatusForbidden && !e.Unpaid
}

// KindOfStatus classes an HTTP status that is not a success.
func KindOfStatus(status int) eval.ErrorKind {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return eval.ErrAuth
	case status == http.StatusTooManyRequests:
		return eval.ErrRateLimited
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout, status == 522, status == 524: // Cloudflare's
		return eval.ErrTimeout
	case status == http.StatusTooEarly, // to be sent again, says RFC 8470
		status == http.StatusConflict,         // a lock; the clients of OpenAI and Anthropic send it again
		status == http.StatusFailedDependency: // the generation failed (Hugging Face, Bedrock)
		return eval.ErrUnavailable
	case status == 529:
		return eval.ErrOverloaded
	case status >= 500:
		return eval.ErrUnavailable
	case status >= 400:
		return eval.ErrBadRequest
	}
	return eval.ErrMalformed
}

// FromTransport classes an error that came instead of an HTTP answer: a time
// limit, a lost or refused connection, a body cut off or unreadable.
func FromTransport(ctx context.Context, err error) *Error {
	if already, ok := errors.AsType[*Error](err); ok {
		return already
	}
	remedy, unreachable := unreachable(err)
	before, _ := errors.AsType[*unsent](err)
	var netErr net.Error
	switch {
	case unreachable && (ctx.Err() == nil || before != nil && ctx.Err() == context.DeadlineExceeded): // before time limits: that of a connection is not that of an answer
		return &Error{Kind: eval.ErrUnavailable, Err: err, Unreachable: true, Remedy: remedy}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return &Error{Kind: eval.ErrTimeout, Err: err, Unanswered: true, Message: "no answer within the time limit",
			Remedy: "raise execution.timeout if the model needs longer"}
	case ctx.Err() != nil:
		return &Error{Kind: eval.ErrUnavailable, Err: context.Cause(ctx)}
	}
	return &Error{Kind: eval.ErrUnavailable, Err: err, Unanswered: before == nil}
}

// unreachable reports whether an error means that nobody receives requests, and
// what the user can do.
func unreachable(err error) (remedy string, ok bool) {
	var lookup *net.DNSError
	var certificate *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	var connecting *net.OpError
	var refused *proxyError
	var before *unsent
	switch {
	case errors.As(err, &refused) && refused.lasts():
		return "check the proxy in HTTPS_PROXY, its user and password, and whether it allows the host in the URL (base_url)", true
	case errors.As(err, &connecting) && connecting.Op == "proxyconnect" && errno.Refused.Of(err):
		return "check that the proxy in HTTPS_PROXY or HTTP_PROXY is running, and its address", true
	case errno.Refused.Of(err):
		return "check that the server is running and that its URL (base_url) is correct", true
	case errno.Unreachable.Of(err):
		return "check the network and the URL (base_url)", true
	case errors.As(err, &lookup):
		return "check the host in the URL (base_url) and the network", true
	case errors.As(err, &connecting) && (connecting.Op == "dial" || connecting.Op == "proxyconnect") && connecting.Timeout(),
		errors.As(err, &before) && errors.Is(err, context.DeadlineExceeded),
		strings.HasSuffix(err.Error(), "TLS handshake timeout"):
		return "no connection was made in time: check the network, its firewall or proxy, and the URL (base_url)", true
	case errors.As(err, &certificate):
		return "check the host in the URL (base_url) and the server's certificate, or add its authority to those of the system (SSL_CERT_FILE)", true
	case errors.As(err, &header), errors.Is(err, http.ErrSchemeMismatch):
		return "the server does not use TLS: write http:// instead of https:// in the URL (base_url)", true
	case errors.As(err, &before) && before.handshake && errors.As(err, &connecting) && strings.HasSuffix(connecting.Op, " error"): // an alert; a connection that was cut may be better the next time
		return "the TLS handshake failed: check the URL (base_url), and proxies and TLS versions on the way to it", true
	}
	return "", false
}

// RetryAfter reads how long a server asks to wait: retry-after-ms, or
// Retry-After in seconds or as a date, from the time of the answer by the server's clock, or else
// from now. 0 means it did not say; a server that says 0 may have rounded up to a second down.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	const longest = 1 << 62 // beyond a Duration, the conversion differs by machine
	said := func(x float64, unit time.Duration) time.Duration {
		return cmp.Or(time.Duration(min(x*float64(unit), longest)), time.Second)
	}
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 {
		return said(ms, time.Millisecond)
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s >= 0 {
		return said(s, time.Second)
	}
	if sent, err := http.ParseTime(h.Get("Date")); err == nil {
		now = sent
	}
	if at, err := http.ParseTime(v); err == nil {
		return said(max(0, at.Sub(now).Seconds()), time.Second)
	}
	return 0
}

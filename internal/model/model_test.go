package model_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/scruple-eval/scruple/internal/errno"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// handshakeTimeout is an error of net/http, which does not export it.
type handshakeTimeout struct{}

func (handshakeTimeout) Error() string { return "net/http: TLS handshake timeout" }
func (handshakeTimeout) Timeout() bool { return true }

// TestUnreachable: which errors of net/http mean that nobody receives requests.
func TestUnreachable(t *testing.T) {
	dial := func(err error) error {
		return &url.Error{Op: "Post", URL: "http://h", Err: &net.OpError{Op: "dial", Net: "tcp", Err: err}}
	}
	for _, test := range []struct {
		err    error
		remedy string // "" means that a retry may help
	}{
		{dial(os.NewSyscallError("connect", errno.Refused[0])), "server is running"},
		{dial(os.NewSyscallError("connect", errno.Unreachable[0])), "check the network"},
		{dial(&net.DNSError{Err: "no such host", Name: "h", IsNotFound: true}), "check the host"},
		{dial(&net.DNSError{Err: "server misbehaving", Name: "h", IsTemporary: true}), "check the host"},
		{dial(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), "certificate"},
		{fmt.Errorf("asking: %w", http.ErrSchemeMismatch), "http://"},
		{dial(os.NewSyscallError("read", syscall.ECONNRESET)), ""},
		{dial(&net.DNSError{Err: "i/o timeout", Name: "h", IsTimeout: true}), "check the host"},
		{dial(os.ErrDeadlineExceeded), "firewall"},
		{&url.Error{Op: "Post", URL: "https://h", Err: &net.OpError{Op: "proxyconnect", Net: "tcp", Err: dial(os.ErrDeadlineExceeded)}}, "firewall"},
		{&url.Error{Op: "Post", URL: "https://h", Err: handshakeTimeout{}}, "firewall"},
		{&net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}, ""},
		{io.ErrUnexpectedEOF, ""},
		{errors.New("http2: server sent GOAWAY"), ""},
	} {
		e := model.FromTransport(context.Background(), test.err)
		if e.Unreachable && (e.Unanswered || e.Kind != eval.ErrUnavailable) {
			t.Errorf("%v: %s, may be paid: %v; nothing was sent", test.err, e.Kind, e.Unanswered)
		}
		if e.Unreachable != (test.remedy != "") || !strings.Contains(e.Remedy, test.remedy) {
			t.Errorf("%v: unreachable %v, %q", test.err, e.Unreachable, e.Remedy)
		}
	}
}

package model_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// post sends a body to a handler's server with a transport of its own.
func post(t *testing.T, handler http.HandlerFunc) *model.Exchange {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return model.Post(t.Context(), &http.Client{Transport: model.NewTransport(4)}, server.URL, http.Header{"X-Test": {"yes"}}, []byte(`{"a":1}`), 1<<20)
}

func TestPost(t *testing.T) {
	x := post(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Request-Id", "r1")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s %d", r.Method, r.Header.Get("X-Test"), body, r.ContentLength)
	})
	if x.Err != nil || x.Status != http.StatusTeapot || string(x.Body) != `POST yes {"a":1} 7` || x.RequestID() != "r1" {
		t.Errorf("%+v, body %s", x, x.Body)
	}
}

// Answers of exactly the limit are read, longer ones are an error, whether or
// not the server says how long they are.
func TestPostLimitsTheBody(t *testing.T) {
	const limit = 1 << 20
	for _, test := range []struct {
		size     int
		announce bool
		ok       bool
	}{{limit, true, true}, {limit, false, true}, {limit + 1, true, false}, {limit + 1, false, false}} {
		x := post(t, func(w http.ResponseWriter, _ *http.Request) {
			if test.announce {
				w.Header().Set("Content-Length", fmt.Sprint(test.size))
			}
			_, _ = io.Copy(w, io.LimitReader(zeros{}, int64(test.size)))
		})
		if ok := x.Err == nil && len(x.Body) == test.size; ok != test.ok || !ok && !errors.Is(x.Err, model.ErrTooLarge) {
			t.Errorf("%+v: %d bytes, error %v", test, len(x.Body), x.Err)
		}
	}
}

// Of large answers a few are in memory at a time, however many calls are in
// flight. Small ones do not wait for them.
func TestLargeAnswersWaitForEachOther(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := int64(2 << 20)
		if r.URL.Path == "/small" {
			size = 100
		}
		_, _ = io.Copy(w, io.LimitReader(zeros{}, size))
	}))
	defer server.Close()
	get := func(path string, limit time.Duration) *model.Exchange {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		return model.Post(ctx, server.Client(), server.URL+path, http.Header{}, nil, model.MaxBody)
	}
	var held []*model.Exchange
	for range 4 {
		x := get("/large", time.Minute)
		if x.Err != nil || len(x.Body) != 2<<20 {
			t.Fatalf("%d bytes, %v", len(x.Body), x.Err)
		}
		held = append(held, x)
	}
	if x := get("/large", 20*time.Millisecond); !errors.Is(x.Err, context.DeadlineExceeded) {
		t.Errorf("a fifth large answer was read: %v", x.Err)
	}
	if x := get("/small", time.Minute); x.Err != nil || len(x.Body) != 100 {
		t.Errorf("a small answer waits: %v", x.Err)
	}
	for _, x := range held {
		x.Close()
	}
	for range 5 {
		x := get("/large", time.Minute)
		if x.Err != nil {
			t.Error(x.Err)
		}
		x.Close()
	}
}

// The length that a server announces is believed, and the body not read.
func TestAnAnnouncedGigabyteIsNotRead(t *testing.T) {
	sent := make(chan int64, 1)
	x := post(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(1<<30))
		n, _ := io.Copy(w, io.LimitReader(zeros{}, 1<<30))
		sent <- n
	})
	if !errors.Is(x.Err, model.ErrTooLarge) {
		t.Errorf("error %v", x.Err)
	}
	if n := <-sent; n > 64<<20 {
		t.Errorf("%d bytes left the server", n)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Connections are used again, after errors too. net/http may open one that a
// returned connection then makes unnecessary, so their number can exceed the
// calls in flight a little; without reuse it would be 160.
func TestConnectionsAreReused(t *testing.T) {
	const concurrency, rounds = 8, 20
	var opened atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "error") { // bodies of errors are read too
			w.WriteHeader(500)
		}
		fmt.Fprint(w, strings.Repeat("x", 100_000))
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	client := &http.Client{Transport: model.NewTransport(concurrency)}
	var wg sync.WaitGroup
	for range concurrency {
		wg.Go(func() {
			for i := range rounds {
				x := model.Post(t.Context(), client, server.URL+[]string{"/", "/error"}[i%2], http.Header{}, []byte("{}"), 1<<20)
				if x.Err != nil || len(x.Body) != 100_000 {
					t.Errorf("%d bytes, %v", len(x.Body), x.Err)
				}
			}
		})
	}
	wg.Wait()
	if n := opened.Load(); n > 2*concurrency {
		t.Errorf("opened %d connections for %d calls in flight", n, concurrency)
	}
}

func TestPostToAnInvalidAddress(t *testing.T) {
	x := model.Post(t.Context(), http.DefaultClient, "http://[::1", http.Header{}, nil, 1)
	if x.Err == nil || x.Status != 0 {
		t.Errorf("%+v", x)
	}
}

// Nothing was sent of a request for which there was no connection: it is not paid, and the run
// ends with what to do, unless the next one may have a connection. After it, a lost request may be paid.
func TestNothingIsSentWithoutAConnection(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) }))
	defer proxy.Close()
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	defer busy.Close()
	overloaded := model.NewTransport(1)
	overloaded.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(busy.URL) }
	through := model.NewTransport(1)
	through.Proxy = func(*http.Request) (*url.URL, error) {
		return url.Parse(strings.Replace(proxy.URL, "http://", "http://user:s3cretpw@", 1))
	}
	gone := model.NewTransport(1)
	gone.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse("http://127.0.0.1:1") }
	alert, hangs := listen(t, func(c net.Conn) { _, _ = c.Write([]byte("\x15\x03\x03\x00\x02\x02\x28")); c.Close() }), listen(t, func(net.Conn) {})
	closes := listen(t, func(c net.Conn) { c.Close() })
	reads := listen(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 10)); c.Close() })
	for name, test := range map[string]struct {
		transport *http.Transport
		address   string
		remedy    string // "" if the same may succeed
		says      string
	}{
		"proxy is overloaded":      {overloaded, "https://api.example.com", "", "502 Bad Gateway"},
		"proxy refuses":            {through, "https://api.example.com", "proxy in HTTPS_PROXY, its user", "407 Proxy Authentication Required"},
		"no proxy":                 {gone, "https://api.example.com", "proxy in HTTPS_PROXY or", "refused"},
		"alert in the handshake":   {nil, "https://" + alert, "TLS handshake failed", "handshake failure"},
		"closed in the handshake":  {nil, "https://" + closes, "", ""},
		"hangs in the handshake":   {nil, "https://" + hangs, "no connection was made in time", ""},
		"closed after the request": {nil, "http://" + reads, "", ""},
	} {
		if test.transport == nil {
			test.transport = model.NewTransport(1)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		x := model.Post(ctx, &http.Client{Transport: test.transport}, test.address, http.Header{}, []byte("{}"), 1<<20)
		e := model.FromTransport(ctx, x.Err)
		cancel()
		if passes := test.remedy == ""; e.Unreachable == passes || e.Unanswered != (name == "closed after the request") || e.Kind != eval.ErrUnavailable ||
			!strings.Contains(e.Remedy, test.remedy) || !strings.Contains(e.Error(), test.says) || strings.Contains(e.Error(), "s3cretpw") {
			t.Errorf("%s: %v (%s), unreachable %t, may be paid %t", name, e, e.Remedy, e.Unreachable, e.Unanswered)
		}
	}
	fake := roundTrip(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }) // nobody knows what it sent
	if x := model.Post(t.Context(), &http.Client{Transport: fake}, "http://h", http.Header{}, nil, 1); !model.FromTransport(t.Context(), x.Err).Unanswered {
		t.Errorf("%v counts as not sent", x.Err)
	}
}

// listen returns the address of a server that does this with each connection.
func listen(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go do(c)
		}
	}()
	return l.Addr().String()
}

// A connection whose other end is gone without a word, as after a laptop's sleep.
type silent struct {
	net.Conn
	dead *atomic.Bool
}

func (c silent) Write(b []byte) (int, error) {
	if c.dead.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// A dead HTTP/2 connection fails the requests on it; the next one opens another.
func TestDeadConnectionsAreGivenUp(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	transport := model.NewTransport(4)
	defer transport.CloseIdleConnections()
	transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
	if c := transport.HTTP2; c == nil || c.SendPingTimeout <= 0 || c.PingTimeout <= 0 || c.SendPingTimeout+c.PingTimeout >= time.Minute {
		t.Fatalf("HTTP/2 without a check that is faster than a request's time limit: %+v", c)
	}
	transport.HTTP2.SendPingTimeout, transport.HTTP2.PingTimeout = 20*time.Millisecond, 500*time.Millisecond
	var first atomic.Bool // connection is dead
	var opened atomic.Int32
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if opened.Add(1) == 1 {
			conn = silent{conn, &first}
		}
		return conn, err
	}
	send := func() *model.Exchange {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		return model.Post(ctx, &http.Client{Transport: transport}, server.URL, http.Header{}, []byte("{}"), 1<<20)
	}
	if x := send(); x.Err != nil || x.Status != 200 {
		t.Fatal(x.Err)
	}
	first.Store(true)
	if x := send(); x.Err == nil || errors.Is(x.Err, context.DeadlineExceeded) {
		t.Errorf("a request on the dead connection: %v, want an error before the time limit", x.Err)
	}
	if x := send(); x.Err != nil || opened.Load() != 2 {
		t.Errorf("the next request: %v, %d connections opened; want another one", x.Err, opened.Load())
	}
}

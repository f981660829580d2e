package model_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/model"
)

// post sends a body to a handler's server with a transport of its own.
func post(t *testing.T, ctx context.Context, handler http.HandlerFunc) *model.Exchange {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client := &http.Client{Transport: model.NewTransport(4), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return model.Post(ctx, client, server.URL, http.Header{"X-Test": {"yes"}}, []byte(`{"a":1}`), 1<<20)
}

func TestPost(t *testing.T) {
	x := post(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Request-Id", "r1")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s %d", r.Method, r.Header.Get("X-Test"), body, r.ContentLength)
	})
	if x.Err != nil || x.Status != http.StatusTeapot || string(x.Body) != `POST yes {"a":1} 7` || x.RequestID() != "r1" {
		t.Errorf("%+v, body %s", x, x.Body)
	}
}

func TestPostWithoutACompleteAnswer(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server sees a client leave only after the body
		<-r.Context().Done()
	}
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		status  int
		is      error
	}{
		"no answer in time": {hang, 0, context.DeadlineExceeded},
		"no end in time": {func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "{")
			w.(http.Flusher).Flush()
			hang(w, r)
		}, 200, context.DeadlineExceeded},
		"body cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5000")
			fmt.Fprint(w, "{}")
		}, 200, io.ErrUnexpectedEOF},
		"connection dropped": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			x := post(t, ctx, test.handler)
			if x.Status != test.status || !errors.Is(x.Err, test.is) {
				t.Errorf("status %d, error %v; want %d, %v", x.Status, x.Err, test.status, test.is)
			}
			if x.Err != nil && strings.Contains(x.Err.Error(), "http://") {
				t.Errorf("the error holds the URL: %v", x.Err)
			}
		})
	}
}

func TestPostFollowsNoRedirect(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		x := post(t, t.Context(), func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, status) })
		if x.Err != nil || x.Status != status || x.Header.Get("Location") != other.URL {
			t.Errorf("status %d: got %d, %v, location %q", status, x.Status, x.Err, x.Header.Get("Location"))
		}
	}
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("%d requests went to the redirect's target", n)
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
		x := post(t, t.Context(), func(w http.ResponseWriter, _ *http.Request) {
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

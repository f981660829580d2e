package process

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// service starts a server on loopback and a client for it.
func service(t *testing.T, answer http.HandlerFunc) *HTTP {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	h, err := NewHTTP(server.URL+"/extract?tenant=secret", server.Client(), secret)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHTTPAsks(t *testing.T) {
	r := ask("doc <1>")
	h := service(t, func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		want := `{"id":"` + r.Key() + `","item":"doc <1>","replicate":1,"input":{"text":"a b"}}`
		if string(body) != want {
			t.Errorf("body %s, want %s", body, want)
		}
		if got := req.Method + " " + req.URL.String() + " " + req.Header.Get("Content-Type"); got != "POST /extract?tenant=secret application/json" {
			t.Errorf("request %q", got)
		}
		w.Header().Set("X-Request-Id", "req-7")
		w.WriteHeader(http.StatusCreated) // any 2xx
		io.WriteString(w, `{"output": {"a": "`+secret+`"}, "model": "mine 1.4", "usage": {"input_tokens": 8, "output_tokens": 9}}`)
	})
	got, err := h.Complete(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want := eval.Response{Text: `{"a":"[key]"}`, Stop: eval.StopEnd, ModelVersion: "mine 1.4", RequestID: "req-7", Usage: eval.Usage{Input: 8, Output: 9}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestHTTPErrors(t *testing.T) {
	tests := []struct {
		name   string
		status int
		header http.Header
		body   string
		want   model.Error
		says   []string
	}{
		{"rate limited", 429, http.Header{"Retry-After": {"7"}}, `{"error":"slow down"}`,
			model.Error{Kind: eval.ErrRateLimited, RetryAfter: 7 * time.Second, Message: "slow down"}, []string{"execution.concurrency"}},
		{"milliseconds", 503, http.Header{"Retry-After-Ms": {"250"}}, "", model.Error{Kind: eval.ErrUnavailable, RetryAfter: 250 * time.Millisecond, Message: "service unavailable"}, nil},
		{"overloaded", 529, nil, "busy", model.Error{Kind: eval.ErrOverloaded, Message: "busy"}, nil},
		{"server error", 500, nil, "<html>\n<b>Traceback</b>", model.Error{Kind: eval.ErrUnavailable, Message: "<html> <b>Traceback</b>"}, nil},
		{"gateway time-out", 504, nil, "", model.Error{Kind: eval.ErrTimeout, Message: "gateway timeout"}, nil},
		{"bad request", 422, nil, `{"detail":"no text"}`, model.Error{Kind: eval.ErrBadRequest, Message: `{"detail":"no text"}`}, nil},
		{"too large", 413, nil, "", model.Error{Kind: eval.ErrBadRequest, Message: "request entity too large"}, []string{"limit on request size"}},
		{"not found", 404, nil, "404 page not found", model.Error{Kind: eval.ErrBadRequest, Message: "404 page not found"}, []string{"must accept POST"}},
		{"credentials", 401, nil, "", model.Error{Kind: eval.ErrAuth, Message: "unauthorized"}, []string{"credentials"}},
		{"moved", 307, http.Header{"Location": {"/elsewhere"}}, "", model.Error{Kind: eval.ErrBadRequest, Message: "temporary redirect"}, []string{`"/elsewhere"`}},
		{"no output", 200, nil, `{"extractions": []}`, model.Error{Kind: eval.ErrMalformed, Message: `the answer has no "output": {"extractions": []}`}, []string{`key "output"`}},
		{"prose", 200, nil, "Hello", model.Error{Kind: eval.ErrMalformed, Message: "the answer is not JSON: Hello"}, nil},
		{"nothing", 204, nil, "", model.Error{Kind: eval.ErrMalformed, Message: "the answer is empty"}, nil},
		{"two values", 200, nil, `{"output":"x"}{"output":"y"}`, model.Error{Kind: eval.ErrMalformed, Message: `the answer is not JSON: {"output":"x"}{"output":"y"}`}, nil},
		{"its key", 500, nil, "sent " + secret, model.Error{Kind: eval.ErrUnavailable, Message: "sent [key]"}, nil},
		{"its key where it is cut", 500, nil, strings.Repeat("x ", 95) + secret, model.Error{Kind: eval.ErrUnavailable, Message: strings.Repeat("x ", 95) + "[key]"}, nil},
		{"its own error", 200, nil, `{"error":"no text","usage":{"input_tokens":7}}`, model.Error{Kind: eval.ErrUnavailable, Message: "the pipeline reported: no text"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := service(t, func(w http.ResponseWriter, _ *http.Request) {
				for k, v := range tt.header {
					w.Header()[k] = v
				}
				w.Header().Set("X-Request-Id", "req-8")
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			})
			response, err := h.Complete(t.Context(), ask("doc"))
			if strings.Contains(tt.body, "usage") && response.Usage.Input != 7 {
				t.Errorf("usage %+v, want that of the answer", response.Usage)
			}
			got := *failure(t, err, tt.want.Kind, tt.says...)
			got.Remedy, got.Err = "", nil
			tt.want.Status, tt.want.RequestID = tt.status, "req-8"
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHTTPRefusesAnotherId(t *testing.T) {
	h := service(t, func(w http.ResponseWriter, req *http.Request) {
		var a asked
		if err := json.NewDecoder(req.Body).Decode(&a); err != nil {
			t.Error(err)
		}
		id := a.ID
		if a.Item == "mixed up" {
			id = "7"
		}
		json.NewEncoder(w).Encode(map[string]string{"id": id, "output": a.Item})
	})
	if got, err := h.Complete(t.Context(), ask("doc")); err != nil || got.Text != "doc" {
		t.Errorf("got %q, %v", got.Text, err)
	}
	_, err := h.Complete(t.Context(), ask("mixed up"))
	failure(t, err, eval.ErrMalformed, `the answer has the "id" "7"`)
}

func TestHTTPLimitsTheAnswer(t *testing.T) {
	h := service(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"output":"`+strings.Repeat("x", 2<<20)+`"}`)
	})
	h.maxAnswer = 1 << 20
	_, err := h.Complete(t.Context(), ask("doc"))
	failure(t, err, eval.ErrMalformed, "longer than 1 MB", `{"output":"xxx`)
	h.maxAnswer = 4 << 20
	if got, err := h.Complete(t.Context(), ask("doc")); err != nil || len(got.Text) != 2<<20 {
		t.Errorf("got %d bytes, %v", len(got.Text), err)
	}
}

func TestHTTPWithoutAnAnswer(t *testing.T) {
	stop := make(chan struct{})
	hanging := service(t, func(_ http.ResponseWriter, req *http.Request) {
		select {
		case <-req.Context().Done():
		case <-stop:
		}
	})
	defer close(stop)
	cut := service(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, `{"output":`)
	})
	dropped := service(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := hanging.Complete(ctx, ask("doc"))
	failure(t, err, eval.ErrTimeout, "no answer within the time limit")

	stopped, stopping := context.WithCancelCause(t.Context())
	stopping(errors.New("the run was stopped"))
	_, err = hanging.Complete(stopped, ask("doc"))
	failure(t, err, eval.ErrUnavailable, "the run was stopped")

	_, err = cut.Complete(t.Context(), ask("doc"))
	failure(t, err, eval.ErrUnavailable, "unexpected EOF")
	_, err = dropped.Complete(t.Context(), ask("doc"))
	e := failure(t, err, eval.ErrUnavailable, "EOF")
	if strings.Contains(e.Error(), "secret") {
		t.Errorf("the error repeats the address's query: %v", e)
	}
}

func TestHTTPNamesAServiceThatIsNotThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	h, err := NewHTTP("http://"+address+"/x", &http.Client{Transport: model.NewTransport(1)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Complete(t.Context(), ask("doc"))
	failure(t, err, eval.ErrUnavailable, "asking "+address, "connection refused", "check that the server is running")
}

func TestNewHTTPChecksTheAddress(t *testing.T) {
	for address, says := range map[string]string{
		"":                           "invalid URL",
		"localhost:8080/x":           "invalid URL",
		"ftp://host/x":               "invalid URL",
		"http://":                    "invalid URL",
		"http://user:pass@host/x":    "user or password",
		"http://host/x#part":         "#",
		"http://user:secret@host:x/": "invalid URL",
	} {
		_, err := NewHTTP(address, nil)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("NewHTTP(%q): got %v, want an error that says %q", address, err, says)
		}
		if err != nil && (strings.Contains(err.Error(), "pass@") || strings.Contains(err.Error(), "secret")) {
			t.Errorf("NewHTTP(%q) repeats a password: %v", address, err)
		}
	}
	if _, err := NewHTTP("https://host/x?y=1", nil); err != nil {
		t.Error(err)
	}
}

// A key in an address would be kept with every request.
func TestHTTPRefusesKeysInAddresses(t *testing.T) {
	for _, address := range []string{"http://host/x?api_key=SECRET", "http://host/?a=1&Access-Token=SECRET", "https://host/x?key=SECRET",
		"https://host/x?x-api-key=SECRET", "https://host/api/f?code=SECRET", "https://host/x?Subscription-Key=SECRET", "https://host/x?client_secret=SECRET", "https://host/x?api_token=SECRET"} {
		if _, err := NewHTTP(address, nil); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := NewHTTP("http://host/x?lang=en&author=me&monkey=1&passage=2&max_tokens=3&lang_code=en&sort_key=id", nil); err != nil {
		t.Error(err)
	}
}

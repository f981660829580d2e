// Package wiretest helps to test the clients of providers: it holds real
// exchanges that others recorded, and serves answers over loopback HTTP.
//
// The package is for tests only and must not know any client.
package wiretest

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
)

//go:embed testdata/recordings.jsonl.gz
var recordings []byte

// An Exchange is one recorded request and its answer.
type Exchange struct {
	ID     string            `json:"id"`
	Method string            `json:"method"`
	URL    string            `json:"url"`
	Model  string            `json:"model"`
	Status int               `json:"status"`
	Header map[string]string `json:"header"`
	Body   string            `json:"body"`
}

// Recordings are all exchanges, in the order of the file.
func Recordings(t testing.TB) []Exchange {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(recordings))
	if err != nil {
		t.Fatal(err)
	}
	var all []Exchange
	for d := json.NewDecoder(z); d.More(); {
		var e Exchange
		if err := d.Decode(&e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// formats tells what is recorded by the path of its URL. The first rule that
// matches decides; a format "" is not a completion, and every one of those is
// listed here.
var formats = []struct {
	path   *regexp.Regexp
	format string
}{
	{regexp.MustCompile(`/chat/completions$`), "openai"},
	{regexp.MustCompile(`/responses(/resp_[^/]+)?$`), "openai_responses"},
	{regexp.MustCompile(`/messages$`), "anthropic"},
	{regexp.MustCompile(`/model/[^/]*anthropic[^/]*/invoke$`), "anthropic"},   // Bedrock
	{regexp.MustCompile(`/publishers/anthropic/.*:rawPredict$`), "anthropic"}, // Vertex AI
	{regexp.MustCompile(`:generateContent$`), "google"},

	{regexp.MustCompile(`^/v1/(conversations|vector_stores)`), ""},
	{regexp.MustCompile(`^/v1/responses/(compact|input_tokens)$`), ""},
	{regexp.MustCompile(`^(/upload)?/v1beta/(fileSearchStores|cachedContents)`), ""},
	{regexp.MustCompile(`/embeddings$|/v2/embed$|:batchEmbedContents$`), ""},
	{regexp.MustCompile(`/count_tokens$|/count-tokens$|:countTokens$`), ""},
	{regexp.MustCompile(`^/v2/chat$`), ""},                // Cohere's own format
	{regexp.MustCompile(`/converse(-stream)?$`), ""},      // Bedrock's own format
	{regexp.MustCompile(`^/api/models/[^/]+/[^/]+$`), ""}, // Hugging Face's catalogue
}

// Format returns the wire format of an exchange, "" if it is not a completion. An
// exchange without a rule is an error.
func (e *Exchange) Format() (string, error) {
	u, err := url.Parse(e.URL)
	if err != nil {
		return "", err
	}
	for _, f := range formats {
		if f.path.MatchString(u.Path) {
			return f.format, nil
		}
	}
	return "", fmt.Errorf("%s: no rule for %s", e.ID, u.Path)
}

// Answers are the recorded successes in one format.
func Answers(t testing.TB, format string) []Exchange {
	t.Helper()
	var out []Exchange
	for _, e := range Recordings(t) {
		f, err := e.Format()
		if err != nil {
			t.Fatal(err)
		}
		if f == format && e.Status < 300 {
			out = append(out, e)
		}
	}
	return out
}

// A Request is what a client sent.
type Request struct {
	Method, Path, Query string
	Header              http.Header
	Body                string
}

// A Server answers every request with what it was last told to, and keeps the
// requests.
type Server struct {
	URL string

	mu      sync.Mutex
	handler http.HandlerFunc
	got     []Request
}

type bodyKey struct{}

// BodyOf is the body of a request that a handler is given: the server has read
// it before.
func BodyOf(r *http.Request) string {
	body, _ := r.Context().Value(bodyKey{}).(string)
	return body
}

// NewServer starts a server on loopback for the length of a test.
func NewServer(t testing.TB) *Server {
	s := new(Server)
	h := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(h.Close)
	s.URL = h.URL
	return s
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client gave up
	}
	s.mu.Lock()
	s.got = append(s.got, Request{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Clone(), string(body)})
	handler := s.handler
	s.mu.Unlock()
	handler(w, r.WithContext(context.WithValue(r.Context(), bodyKey{}, string(body))))
}

// Play answers with a recorded exchange from now on.
func (s *Server) Play(e Exchange) {
	s.Answer(e.Status, e.Body, e.Header)
}

// Answer answers with a status, a body and headers from now on. The content
// type is JSON where none is given.
func (s *Server) Answer(status int, body string, header map[string]string) {
	s.Handle(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for name, value := range header {
			if !strings.EqualFold(name, "transfer-encoding") {
				w.Header().Set(name, value)
			}
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// Handle answers with a handler from now on.
func (s *Server) Handle(h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = h
}

// Requests are those received since the last call.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.got
	s.got = nil
	return got
}

package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/model/anthropic"
	"github.com/scruple-eval/scruple/internal/model/google"
	"github.com/scruple-eval/scruple/internal/model/openai"
	"github.com/scruple-eval/scruple/internal/model/wiretest"
)

const secret = "sk-test-0123456789abcdef"

type formatOf struct {
	name   string
	path   string // of a request, below the server's address
	answer string
	models []string // whose requests are kept in golden files
	open   func(model.Endpoint) (model.Client, error)
}

// formats are the four wire formats, with an answer that each can read.
var formats = []formatOf{
	{"anthropic", "/v1/messages", `{"type":"message","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}`,
		[]string{"claude-3-haiku-20240307", "claude-sonnet-4-5", "claude-opus-5-5"},
		func(e model.Endpoint) (model.Client, error) { return anthropic.New(e) }},
	{"openai", "/v1/chat/completions", `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`,
		[]string{"gpt-4.1", "gpt-5-mini"},
		func(e model.Endpoint) (model.Client, error) { return openai.NewChat(e) }},
	{"openai_responses", "/v1/responses", `{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}]}`,
		[]string{"gpt-4.1", "gpt-5-mini"},
		func(e model.Endpoint) (model.Client, error) { return openai.NewResponses(e) }},
	{"google", "/v1beta/models/some-model:generateContent", `{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}`,
		[]string{"gemini-2.5-flash"},
		func(e model.Endpoint) (model.Client, error) { return google.New(e) }},
}

// base is the server's address as a study file would give it.
func base(format, url string) string {
	if strings.HasPrefix(format, "openai") {
		return url + "/v1"
	}
	return url
}

func open(t testing.TB, i int, url string) model.Client {
	t.Helper()
	c, err := formats[i].open(model.Endpoint{BaseURL: base(formats[i].name, url), APIKey: secret, KeyEnv: "SOME_API_KEY"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func request() *eval.Request {
	return &eval.Request{Model: "m", Name: "some-model", MaxTokens: 64, Messages: []eval.Message{{Role: "user", Content: "Hello"}}}
}

// failure is the typed error of a call that must fail.
func failure(t *testing.T, err error) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("got error %v, want a *model.Error", err)
	}
	if strings.Contains(fmt.Sprintf("%v %+v %s %s", e, errors.Unwrap(e), e.Message, e.Remedy), secret) {
		t.Errorf("the key shows in %v", e)
	}
	return e
}

func TestFaults(t *testing.T) {
	date := time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)
	tests := []struct {
		name   string
		status int
		body   string
		header map[string]string
		want   model.Error
		wait   time.Duration
	}{
		{name: "rate limit, seconds", status: 429, body: `{"error":{"message":"slow down"}}`, header: map[string]string{"Retry-After": "7"},
			want: model.Error{Kind: eval.ErrRateLimited, Message: "slow down"}, wait: 7 * time.Second},
		{name: "rate limit, milliseconds", status: 429, body: `{"error":{"message":"slow down"}}`, header: map[string]string{"Retry-After-Ms": "1500", "Retry-After": "2"},
			want: model.Error{Kind: eval.ErrRateLimited, Message: "slow down"}, wait: 1500 * time.Millisecond},
		{name: "rate limit, date", status: 429, body: `{"error":{"message":"slow down"}}`, header: map[string]string{"Retry-After": date},
			want: model.Error{Kind: eval.ErrRateLimited, Message: "slow down"}, wait: 90 * time.Second},
		{name: "rate limit without a wait", status: 429, body: `{"error":{"message":"slow down"}}`,
			want: model.Error{Kind: eval.ErrRateLimited, Message: "slow down"}},
		{name: "server error", status: 500, body: `{"error":{"message":"boom"}}`, want: model.Error{Kind: eval.ErrUnavailable, Message: "boom"}},
		{name: "server error without a body", status: 502, want: model.Error{Kind: eval.ErrUnavailable, Message: "bad gateway"}},
		{name: "too early", status: 425, body: `{"error":{"message":"Too Early"}}`, want: model.Error{Kind: eval.ErrUnavailable, Message: "Too Early"}},
		{name: "overloaded, 529", status: 529, body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, want: model.Error{Kind: eval.ErrOverloaded, Message: "Overloaded"}},
		{name: "overloaded, 503 in words", status: 503, body: `{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`,
			want: model.Error{Kind: eval.ErrOverloaded, Message: "The model is overloaded. Please try again later."}},
		{name: "unavailable, 503", status: 503, body: `{"error":{"message":"maintenance"}}`, want: model.Error{Kind: eval.ErrUnavailable, Message: "maintenance"}},
		{name: "conflict, such as a lock", status: 409, body: `{"error":{"message":"lock timeout"}}`, want: model.Error{Kind: eval.ErrUnavailable, Message: "lock timeout"}},
		{name: "generation failed (Hugging Face, Bedrock)", status: 424, body: `{"error":"Request failed during generation","error_type":"generation"}`,
			want: model.Error{Kind: eval.ErrUnavailable, Message: "Request failed during generation"}},
		{name: "Cloudflare, connection time-out", status: 522, body: `error code: 522`, want: model.Error{Kind: eval.ErrTimeout, Message: "error code: 522"}},
		{name: "Cloudflare, time-out", status: 524, body: `error code: 524`, want: model.Error{Kind: eval.ErrTimeout, Message: "error code: 524"}},
		{name: "rate limit, cut off", status: 429, body: `{"error":{"message":"too fast, sk-test-012345678`, header: map[string]string{"Retry-After": "2", "Content-Length": "500"},
			want: model.Error{Kind: eval.ErrRateLimited, Message: `{"error":{"messa`}, wait: 2 * time.Second},
		{name: "gateway time-out", status: 504, body: `upstream timed out`, want: model.Error{Kind: eval.ErrTimeout, Message: "upstream timed out"}},
		{name: "wrong key", status: 401, body: `{"error":{"message":"Incorrect API key provided: ` + secret + `."}}`, want: model.Error{Kind: eval.ErrAuth, Message: "Incorrect API key provided: [key]."}},
		{name: "forbidden", status: 403, body: `{"error":{"message":"no access"}}`, want: model.Error{Kind: eval.ErrAuth, Message: "no access"}},
		{name: "not found", status: 404, body: `{"error":{"message":"no such model"}}`, want: model.Error{Kind: eval.ErrBadRequest, Message: "no such model"}},
		{name: "redirect", status: 302, header: map[string]string{"Location": "https://elsewhere.example/"}, want: model.Error{Kind: eval.ErrBadRequest, Message: "found"}},
		{name: "HTML instead of JSON", status: 200, body: "<html><body>Please log in</body></html>", header: map[string]string{"Content-Type": "text/html; charset=utf-8"},
			want: model.Error{Kind: eval.ErrMalformed, Message: "the answer is text/html, not JSON: <html><body>Please log in</body></html>"}},
		{name: "JSON that calls itself HTML", status: 200, body: `{}`, header: map[string]string{"Content-Type": "text/html"},
			want: model.Error{Kind: eval.ErrMalformed, Message: "the answer is text/html, not JSON: {}"}},
		{name: "event stream though none was asked for", status: 200, body: "data: {}\n\n", header: map[string]string{"Content-Type": "text/event-stream"},
			want: model.Error{Kind: eval.ErrMalformed, Message: "the server sent an event stream, which was not requested"}},
		{name: "error in an event stream", status: 200, body: ": ping\n\nevent: message_start\ndata: {\"type\":\"message_start\"}\n\nevent: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
			header: map[string]string{"Content-Type": "text/event-stream; charset=utf-8"}, want: model.Error{Kind: eval.ErrOverloaded, Message: "Overloaded"}},
		{name: "error in an event stream, with CRLF", status: 200, body: "data:{\"error\":{\"message\":\"slow down\",\"code\":429}}\r\n\r\ndata: [DONE]\r\n\r\n", header: map[string]string{"Content-Type": "text/event-stream"},
			want: model.Error{Kind: eval.ErrRateLimited, Message: "slow down"}},
		{name: "error in an event stream, as an event of Responses", status: 200, body: "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"Something broke\"}\n\n", header: map[string]string{"Content-Type": "text/event-stream"},
			want: model.Error{Kind: eval.ErrUnavailable, Message: "Something broke"}},
		{name: "failed response in an event stream", status: 200, body: "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_error\",\"message\":\"Something broke\"}}}\n\n", header: map[string]string{"Content-Type": "text/event-stream"},
			want: model.Error{Kind: eval.ErrUnavailable, Message: "Something broke"}},
		{name: "empty body", status: 200, want: model.Error{Kind: eval.ErrMalformed, Message: "the answer is empty"}},
		{name: "blank body", status: 200, body: " \n\n ", want: model.Error{Kind: eval.ErrMalformed, Message: "the answer is empty"}},
		{name: "error in a success, by code", status: 200, body: `{"error":{"message":"Provider returned error","code":429}}`, want: model.Error{Kind: eval.ErrRateLimited, Message: "Provider returned error"}},
		{name: "error in a success, by word", status: 200, body: `{"error":{"message":"try later","type":"overloaded_error"}}`, want: model.Error{Kind: eval.ErrOverloaded, Message: "try later"}},
		{name: "error in a success, unknown", status: 200, body: `{"error":"something broke"}`, want: model.Error{Kind: eval.ErrUnavailable, Message: "something broke"}},
	}
	for i, f := range formats {
		server := wiretest.NewServer(t)
		client := open(t, i, server.URL)
		for _, test := range tests {
			t.Run(f.name+"/"+test.name, func(t *testing.T) {
				header := map[string]string{"X-Request-Id": "req-1"}
				for name, value := range test.header {
					header[name] = value
				}
				server.Answer(test.status, test.body, header)
				_, err := client.Complete(t.Context(), request())
				e := failure(t, err)
				if e.Kind != test.want.Kind || e.Message != test.want.Message || e.Status != test.status || e.RequestID != "req-1" {
					t.Errorf("got %s %d %q (request %q), want %s %d %q (request req-1)", e.Kind, e.Status, e.Message, e.RequestID, test.want.Kind, test.status, test.want.Message)
				}
				if d := e.RetryAfter - test.wait; d > 0 || d < -2*time.Second {
					t.Errorf("asked to wait %v, want %v", e.RetryAfter, test.wait)
				}
				if n := len(server.Requests()); n != 1 {
					t.Errorf("sent %d requests, want 1", n)
				}
			})
		}
	}
}

// Malformed successes of every format, none of which may pass for an empty
// answer.
func TestUnreadableAnswers(t *testing.T) {
	for i, f := range formats {
		server := wiretest.NewServer(t)
		client := open(t, i, server.URL)
		bodies := []string{"not json", "[]", `"hi"`, "null", "{}", `{"choices":[],"candidates":[]}`, `{"content":"x","choices":"x","output":"x","candidates":"x"}`,
			`{"choices":[{"message":{"content":{"a":1}}}],"content":[1],"output":[1],"candidates":[1]}`, `{"choices":[null]}`}
		for cut := range []byte(f.answer) {
			if cut > 0 {
				bodies = append(bodies, f.answer[:cut])
			}
		}
		for _, body := range bodies {
			server.Answer(200, body, nil)
			r, err := client.Complete(t.Context(), request())
			if err == nil {
				t.Errorf("%s: body %q was read as %+v", f.name, body, r)
			} else if e := failure(t, err); e.Kind != eval.ErrMalformed || e.Status != 200 {
				t.Errorf("%s: body %q: got %s %d, want malformed 200", f.name, body, e.Kind, e.Status)
			}
		}
		server.Answer(200, "\n\n  "+f.answer+"\n", nil) // white space round a body is no fault
		if r, err := client.Complete(t.Context(), request()); err != nil || r.Text != "hi" {
			t.Errorf("%s: got %q, %v; want hi", f.name, r.Text, err)
		}
	}
}

// An answer that is an error, or cannot be read, may state what it took: that was paid.
func TestFailuresStateTheirUsage(t *testing.T) {
	const usage = `"usage":{"prompt_tokens":100,"completion_tokens":50,"input_tokens":100,"output_tokens":50},"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":50}}`
	bodies := []string{`{"error":{"code":502,"message":"upstream broke"},` + usage, `{` + usage, `{"content":{},"choices":{},"output":{},"candidates":{},` + usage}
	more := map[string][]string{
		"openai": {`{"choices":[{"message":{"content":"On"},"finish_reason":"error"}],` + usage, `{"choices":[{"error":{"code":502}}],` + usage,
			`{"choices":[{"finish_reason":"stop"}],` + usage, `{"choices":[{"message":{"content":{"a":1}},"finish_reason":"stop"}],` + usage},
		"openai_responses": {`{"status":"failed","error":null,"output":[],` + usage, `{"status":"in_progress","output":[],` + usage,
			`{"status":"completed","output":[{"type":"message","content":[1]}],` + usage},
	}
	for i, f := range formats {
		server := wiretest.NewServer(t)
		client := open(t, i, server.URL)
		for _, body := range append(more[f.name], bodies...) {
			server.Answer(200, body, nil)
			r, err := client.Complete(t.Context(), request())
			if failure(t, err); r.Usage.Input != 100 || r.Usage.Output != 50 {
				t.Errorf("%s: body %q: usage %+v, want that of the body", f.name, body, r.Usage)
			}
		}
		server.Answer(200, `{"error":{"code":"content_filter","message":"no"},`+usage, nil)
		if r, err := client.Complete(t.Context(), request()); err != nil || r.Stop != eval.StopRefused || r.Usage.Input != 100 {
			t.Errorf("%s: a refusal: %+v, %v", f.name, r, err)
		}
		server.Answer(502, bodies[0], nil)
		r, err := client.Complete(t.Context(), request())
		if failure(t, err); r.Usage.Input != 100 || r.Usage.Output != 50 {
			t.Errorf("%s: an HTTP error: usage %+v, want that of the body", f.name, r.Usage)
		}
		server.Answer(400, `{"error":{"code":"content_filter","message":"no"},`+usage, nil)
		if r, err := client.Complete(t.Context(), request()); err != nil || r.Stop != eval.StopRefused || r.Usage.Input != 100 {
			t.Errorf("%s: a refusal with an HTTP error: %+v, %v", f.name, r, err)
		}
	}
}

// Why an answer ended, and whether an empty one, or its text, is an answer: one rule for all formats.
func TestEnds(t *testing.T) {
	bodies := map[string]string{
		"anthropic":        `{"content":[{"type":"text","text":%q}],"stop_reason":%s,"usage":{"input_tokens":9}}`,
		"openai":           `{"choices":[{"message":{"content":%q},"finish_reason":%s}],"usage":{"prompt_tokens":9}}`,
		"openai_responses": `{"status":"incomplete","output":[{"type":"message","content":[{"type":"output_text","text":%q}]}],"incomplete_details":{"reason":%s},"usage":{"input_tokens":9}}`,
		"google":           `{"candidates":[{"content":{"parts":[{"text":%q}]},"finishReason":%s}],"usageMetadata":{"promptTokenCount":9}}`,
	}
	const failed = eval.Stop("failed")
	tests := []struct {
		format      string // "" is all
		reasons     string
		empty, text eval.Stop
	}{
		{"anthropic", "end_turn stop_sequence", eval.StopEnd, eval.StopEnd},
		{"anthropic", "max_tokens model_context_window_exceeded", eval.StopLength, eval.StopLength},
		{"anthropic", "refusal", eval.StopRefused, eval.StopRefused},
		{"anthropic", "tool_use", eval.StopTool, eval.StopTool},
		{"anthropic", "pause_turn", failed, failed},
		{"openai", "stop eos eos_token COMPLETE", eval.StopEnd, eval.StopEnd},
		{"openai", "length model_length MAX_TOKENS", eval.StopLength, eval.StopLength},
		{"openai", "content_filter sensitive SAFETY", eval.StopRefused, eval.StopRefused},
		{"openai", "error network_error abort insufficient_system_resource", failed, failed},
		{"openai_responses", "max_output_tokens", eval.StopLength, eval.StopLength},
		{"openai_responses", "content_filter", eval.StopRefused, eval.StopRefused},
		{"openai_responses", "null", failed, failed},
		{"google", "STOP", eval.StopEnd, eval.StopEnd},
		{"google", "MAX_TOKENS", eval.StopLength, eval.StopLength},
		{"google", "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR IMAGE_SAFETY", eval.StopRefused, eval.StopRefused},
		{"google", "MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL", eval.StopTool, eval.StopTool},
		{"", "OTHER FINISH_REASON_UNSPECIFIED something_new", failed, eval.StopOther},
	}
	for i, f := range formats {
		server := wiretest.NewServer(t)
		client := open(t, i, server.URL)
		check := func(reason, text string, want eval.Stop) {
			quoted := `"` + reason + `"`
			if reason == "null" {
				quoted, reason = reason, ""
			}
			server.Answer(200, fmt.Sprintf(bodies[f.name], text, quoted), nil)
			r, err := client.Complete(t.Context(), request())
			switch {
			case r.Usage.Input != 9:
				t.Errorf("%s: %q with text %q: the usage is lost: %+v", f.name, reason, text, r.Usage)
			case want != failed:
				if err != nil || r.Stop != want || r.StopReason != reason || r.Text != text {
					t.Errorf("%s: %q with text %q: got %+v, %v; want %s", f.name, reason, text, r, err, want)
				}
			default:
				kind := eval.ErrUnavailable
				if reason == "insufficient_system_resource" {
					kind = eval.ErrOverloaded
				}
				if e := failure(t, err); e.Kind != kind || e.Status != 200 || !strings.Contains(e.Message, reason) {
					t.Errorf("%s: %q with text %q: got %v, want %s and the reason", f.name, reason, text, e, kind)
				}
			}
		}
		for _, test := range tests {
			if test.format == "" || test.format == f.name {
				for reason := range strings.FieldsSeq(test.reasons) {
					check(reason, "", test.empty)
					check(reason, "On", test.text)
				}
			}
		}
		check("OTHER", " ", failed)
		if f.name != "openai_responses" {
			check("null", "", failed)
			check("null", "On", eval.StopOther)
		}
	}
}

// Of an error message that quotes a document the beginning is kept, and decisions are made on all of it.
func TestLongMessagesAreCut(t *testing.T) {
	for i, f := range formats {
		server := wiretest.NewServer(t)
		client := open(t, i, server.URL)
		server.Answer(500, `{"error":{"message":"boo `+strings.Repeat("z", 200_000)+`"}}`, nil)
		_, err := client.Complete(t.Context(), request())
		if e := failure(t, err); len(e.Message) > 1010 || !strings.HasPrefix(e.Message, "boo zzz") || !strings.HasSuffix(e.Message, "…") {
			t.Errorf("%s: %d bytes, %.20s", f.name, len(e.Message), e.Message)
		}
		server.Answer(400, `{"error":{"message":"`+strings.Repeat("z ", 2000)+secret+` was considered high risk"}}`, nil)
		if r, err := client.Complete(t.Context(), request()); err != nil || r.Stop != eval.StopRefused || len(r.Refusal) > 1010 {
			t.Errorf("%s: %+v, %v", f.name, r, err)
		}
	}
}

// A call without a complete answer is classed by what became of it, and nothing
// is sent twice.
func TestIncompleteAnswers(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	tests := []struct {
		name    string
		handler func(answer string) http.HandlerFunc
		want    model.Error
		is      error // found in the error
	}{
		{"no answer in time", func(string) http.HandlerFunc { return hang }, model.Error{Kind: eval.ErrTimeout}, context.DeadlineExceeded},
		{"no end in time", func(answer string) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprint(w, answer[:10])
				w.(http.Flusher).Flush()
				hang(w, r)
			}
		}, model.Error{Kind: eval.ErrTimeout, Status: 200}, context.DeadlineExceeded},
		{"body cut off", func(answer string) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Content-Length", "5000")
				fmt.Fprint(w, answer) // a whole JSON text, and still not what was promised
			}
		}, model.Error{Kind: eval.ErrUnavailable, Status: 200}, io.ErrUnexpectedEOF},
		{"connection dropped", func(string) http.HandlerFunc {
			return func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
		}, model.Error{Kind: eval.ErrUnavailable}, io.EOF},
	}
	for i, f := range formats {
		for _, test := range tests {
			t.Run(f.name+"/"+test.name, func(t *testing.T) {
				t.Parallel()
				server := wiretest.NewServer(t)
				server.Handle(test.handler(f.answer))
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				_, err := open(t, i, server.URL).Complete(ctx, request())
				e := failure(t, err)
				if e.Kind != test.want.Kind || e.Status != test.want.Status || !errors.Is(e, test.is) {
					t.Errorf("got %s %d (%v), want %s %d (%v)", e.Kind, e.Status, e, test.want.Kind, test.want.Status, test.is)
				}
				if strings.Contains(e.Error(), "http://") {
					t.Errorf("the error holds the URL: %v", e)
				}
				if n := len(server.Requests()); n != 1 {
					t.Errorf("sent %d requests, want 1", n)
				}
			})
		}
	}
}

func TestNobodyListens(t *testing.T) {
	for i, f := range formats {
		_, err := open(t, i, "http://127.0.0.1:1").Complete(t.Context(), request())
		if e := failure(t, err); e.Kind != eval.ErrUnavailable || !strings.Contains(e.Remedy, "base_url") {
			t.Errorf("%s: got %s, remedy %q; want unavailable and a word on base_url", f.name, e.Kind, e.Remedy)
		}
	}
}

func TestCancelled(t *testing.T) {
	cause := errors.New("the user pressed a key")
	for i, f := range formats {
		server := wiretest.NewServer(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		server.Handle(func(_ http.ResponseWriter, r *http.Request) {
			cancel(cause)
			<-r.Context().Done()
		})
		_, err := open(t, i, server.URL).Complete(ctx, request())
		if e := failure(t, err); !errors.Is(e, cause) {
			t.Errorf("%s: got %v, want the context's cause in it", f.name, e)
		}
	}
}

func TestTooLargeBody(t *testing.T) {
	server := wiretest.NewServer(t)
	server.Handle(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, io.LimitReader(zeros{}, 33<<20)) })
	_, err := open(t, 1, server.URL).Complete(t.Context(), request())
	if e := failure(t, err); e.Kind != eval.ErrMalformed || !strings.Contains(e.Message, "32 MiB") {
		t.Errorf("got %s (%s), want malformed and the limit", e.Kind, e.Message)
	}
}

// Every recorded error, served to a client of its format (those of other
// services to the OpenAI client, which reads the widest range of forms).
func TestRecordedErrors(t *testing.T) {
	server := wiretest.NewServer(t)
	clients := map[string]model.Client{}
	for i, f := range formats {
		clients[f.name] = open(t, i, server.URL)
	}
	kinds, answered := map[eval.ErrorKind]int{}, 0
	for _, e := range wiretest.Recordings(t) {
		if e.Status < 400 {
			continue
		}
		format, err := e.Format()
		if err != nil {
			t.Fatal(err)
		}
		if format == "" {
			format = "openai"
		}
		server.Play(e)
		r, err := clients[format].Complete(t.Context(), request())
		if strings.Contains(e.Body, `"failed_generation"`) {
			if answered++; err != nil || r.Stop != eval.StopTool || r.Answer("get_something_by_name") == "" {
				t.Errorf("%s: got %+v, %v; want what the model wrote", e.ID, r, err)
			}
			continue
		}
		got := failure(t, err)
		want := map[int]eval.ErrorKind{400: eval.ErrBadRequest, 404: eval.ErrBadRequest, 429: eval.ErrRateLimited}[e.Status]
		var said struct {
			Message string
			Error   struct{ Message string }
		}
		if err := json.Unmarshal([]byte(e.Body), &said); err != nil {
			t.Fatal(err)
		}
		message := said.Error.Message + said.Message
		if got.Kind != want || got.Status != e.Status || message == "" || !strings.HasPrefix(got.Message, message) {
			t.Errorf("%s: got %s %d, %q; want %s %d, %q", e.ID, got.Kind, got.Status, got.Message, want, e.Status, message)
		}
		if e.Status == 404 && !strings.Contains(got.Remedy, `"some-model"`) {
			t.Errorf("%s: remedy %q does not name the model", e.ID, got.Remedy)
		}
		kinds[got.Kind]++
	}
	if kinds[eval.ErrBadRequest] != 37 || kinds[eval.ErrRateLimited] != 3 || len(kinds) != 2 || answered != 2 {
		t.Errorf("kinds of the 42 errors: %v, and %d answers; want 37 bad requests, 3 rate limits and 2 answers", kinds, answered)
	}
	if n := len(server.Requests()); n != 42 {
		t.Errorf("sent %d requests for 42 errors", n)
	}
}

// The answer to a request that forced a tool is the call of that tool, in every
// recorded answer of every format, with or without text beside the call.
func TestRecordedToolAnswers(t *testing.T) {
	server := wiretest.NewServer(t)
	for i, test := range []struct{ calls, withText int }{{70, 22}, {95, 8}, {40, 1}, {45, 0}} { // counted in the bodies
		calls, withText := 0, 0
		for _, e := range wiretest.Answers(t, formats[i].name) {
			server.Play(e)
			r, err := open(t, i, server.URL).Complete(t.Context(), request())
			if err != nil || len(r.ToolCalls) == 0 || len(r.ToolCalls[0].Arguments) == 0 {
				continue // one recorded call is without arguments
			}
			calls++
			if r.Text != "" {
				withText++
			}
			last := r.ToolCalls[len(r.ToolCalls)-1]
			for _, text := range []string{r.Text, "", "I read the document first.", `{"answer": 1}`} {
				with := r
				with.Text = text
				first := slices.IndexFunc(r.ToolCalls, func(c eval.ToolCall) bool { return c.Name == last.Name })
				if got, want := with.Answer(last.Name), string(r.ToolCalls[first].Arguments); got != want {
					t.Errorf("%s: the answer beside %q is %q, want %q", e.ID, text, got, want)
				}
				if text != "" && (with.Answer("") != text || with.Answer("another tool") != text) {
					t.Errorf("%s: without a call of the forced tool the answer is not the text", e.ID)
				}
			}
		}
		if calls != test.calls || withText != test.withText {
			t.Errorf("%s: %d answers with a tool call, %d of them with text; want %d, %d", formats[i].name, calls, withText, test.calls, test.withText)
		}
	}
}

// A prompt counts as cut if the server counted fewer tokens than any tokenizer makes
// of it, cached ones included wherever a provider counts them.
func TestCutPrompts(t *testing.T) {
	openAI := func(usage string) string {
		return `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":` + usage + `}`
	}
	anthropic := func(usage string) string {
		return `{"content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":` + usage + `}`
	}
	responses := func(usage string) string {
		return `{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}],"usage":` + usage + `}`
	}
	google := func(usage string) string {
		return `{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}],"usageMetadata":` + usage + `}`
	}
	for _, test := range []struct {
		name   string
		format int
		words  int
		answer string
		want   string
	}{
		{"Ollama's context of 2,048", 1, 7700, openAI(`{"prompt_tokens":2050,"completion_tokens":9}`), "prompt cut: 7700 words sent, 2050 tokens counted"},
		{"the whole prompt", 1, 7700, openAI(`{"prompt_tokens":9702}`), ""},
		{"one token per word", 1, 7700, openAI(`{"prompt_tokens":7700}`), ""},
		{"tokens of several words", 1, 1000, openAI(`{"prompt_tokens":840}`), ""},
		{"three quarters", 1, 1000, openAI(`{"prompt_tokens":750}`), ""},
		{"fewer", 1, 1000, openAI(`{"prompt_tokens":749}`), "prompt cut: 1000 words sent, 749 tokens counted"},
		{"not counted", 1, 7700, openAI(`null`), ""},
		{"a short prompt", 1, 299, openAI(`{"prompt_tokens":10}`), ""},
		{"cached within the input", 1, 5000, openAI(`{"prompt_tokens":6000,"prompt_tokens_details":{"cached_tokens":5900}}`), ""},
		{"cached apart, as proxies report it", 1, 5000, openAI(`{"prompt_tokens":1500,"cache_read_input_tokens":4500}`), ""},
		{"Anthropic's cache, read", 0, 5000, anthropic(`{"input_tokens":12,"cache_read_input_tokens":6000,"output_tokens":2}`), ""},
		{"Anthropic's cache, written", 0, 5000, anthropic(`{"input_tokens":12,"cache_creation_input_tokens":6000,"output_tokens":2}`), ""},
		{"Anthropic's format, cut", 0, 5000, anthropic(`{"input_tokens":2048,"output_tokens":2}`), "prompt cut: 5000 words sent, 2048 tokens counted"},
		{"responses", 2, 5000, responses(`{"input_tokens":2048,"output_tokens":2}`), "prompt cut: 5000 words sent, 2048 tokens counted"},
		{"Gemini's cache", 3, 5000, google(`{"promptTokenCount":6000,"cachedContentTokenCount":5000}`), ""},
		{"Gemini's format, cut", 3, 5000, google(`{"promptTokenCount":2048}`), "prompt cut: 5000 words sent, 2048 tokens counted"},
	} {
		server := wiretest.NewServer(t)
		server.Answer(200, test.answer, nil)
		r := request()
		r.System = "Read this."
		r.Messages = []eval.Message{{Role: "user", Content: strings.Repeat("word ", test.words-2)}}
		got, err := open(t, test.format, server.URL).Complete(t.Context(), r)
		if noted := strings.Join(got.Adapted, "; "); err != nil || noted != test.want {
			t.Errorf("%s: noted %q, %v; want %q", test.name, noted, err, test.want)
		}
	}
}

// What is sent for a request of every kind, byte for byte.
func TestRequests(t *testing.T) {
	for i, f := range formats {
		server := wiretest.NewServer(t)
		server.Answer(200, f.answer, nil)
		client := open(t, i, server.URL)
		for _, name := range f.models {
			for _, c := range wiretest.Cases(name) {
				r, err := client.Complete(t.Context(), &c.Request)
				if err != nil {
					t.Fatal(err)
				}
				wiretest.Golden(t, f.name+"/"+name+" "+c.Name, server.Requests()[0], r.Adapted)
			}
		}
	}
}

// A request that cannot be written is an error of the study.
func TestRefusedBeforeSending(t *testing.T) {
	server := wiretest.NewServer(t)
	r := request()
	r.Name = "../files"
	_, err := open(t, 3, server.URL).Complete(t.Context(), r)
	if e := failure(t, err); e.Kind != eval.ErrBadRequest || len(server.Requests()) != 0 {
		t.Errorf("got %s (%v), want a bad request and nothing sent", e.Kind, e)
	}
	for i, f := range formats {
		r := request()
		r.Schema = &eval.Schema{Name: "answer", JSON: []byte("{")}
		_, err := open(t, i, server.URL).Complete(t.Context(), r)
		if e := failure(t, err); e.Kind != eval.ErrBadRequest || e.Remedy == "" || len(server.Requests()) != 0 {
			t.Errorf("%s: got %s (%v), want a bad request and nothing sent", f.name, e.Kind, e)
		}
	}
}

// A server that repeats the key, in an answer or in the id of the request, does
// not get it into the store, exports or reports.
func TestARepeatedKeyIsRemovedFromAnswers(t *testing.T) {
	for i, f := range formats {
		t.Run(f.name, func(t *testing.T) {
			server := wiretest.NewServer(t)
			header := map[string]string{"Content-Type": "application/json", "X-Request-Id": "req-" + secret}
			for _, status := range []int{200, 400, 500} {
				server.Answer(status, strings.Replace(f.answer, "hi", "your key is "+secret+".", 1), header)
				r, err := open(t, i, server.URL).Complete(t.Context(), request())
				if status == 200 && (err != nil || r.Text != "your key is [key]." || r.RequestID != "req-[key]") {
					t.Errorf("%+v, %v", r, err)
				}
				var e *model.Error
				if status != 200 && (!errors.As(err, &e) || e.RequestID != "req-[key]") {
					t.Errorf("%+v", err)
				}
			}
		})
	}
}

// A word that serves as the key of a local server stays in answers.
// A key that stands where a message is cut, or has white space, does not show in part.
func TestAKeyIsRemovedBeforeAMessageIsCut(t *testing.T) {
	for i, f := range formats {
		server := wiretest.NewServer(t)
		server.Answer(502, "<html>"+strings.Repeat("x ", 139)+secret+"</html>", nil)
		_, err := open(t, i, server.URL).Complete(t.Context(), request())
		if e := failure(t, err); strings.Contains(e.Message, secret[:12]) || !strings.Contains(e.Message, "[key]") {
			t.Errorf("%s: a part of the key shows in %q", f.name, e.Message)
		}
	}
}

func TestAWordIsNoKey(t *testing.T) {
	server := wiretest.NewServer(t)
	server.Answer(200, `{"choices":[{"message":{"content":"anything goes"},"finish_reason":"stop"}]}`, nil)
	c, err := openai.NewChat(model.Endpoint{BaseURL: server.URL + "/v1", APIKey: "anything"})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := c.Complete(t.Context(), request()); err != nil || r.Text != "anything goes" {
		t.Errorf("%q, %v", r.Text, err)
	}
}

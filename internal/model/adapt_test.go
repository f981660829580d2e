package model_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/model/wiretest"
)

func ptr[T any](v T) *T { return &v }

// full is a request that holds everything a model may refuse.
func full() *eval.Request {
	r := request()
	r.System = "Answer in JSON."
	r.Sampling = eval.Sampling{Temperature: ptr(0.2), TopP: ptr(0.9), Seed: ptr(int64(7)), Stop: []string{"END"}}
	r.Schema = &eval.Schema{Name: "answer", JSON: []byte(`{"type":"object"}`)}
	return r
}

// Servers' own words, as found in the recordings, in their documentation and
// in bug reports.
var complaints = []struct {
	format  string
	body    string
	has     string // what the first request holds and the second does not
	gets    string // what the second request holds instead
	adapted string
}{
	{"openai", `{"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.","param":"temperature","code":"unsupported_value"}}`,
		`"temperature"`, `"top_p"`, "temperature dropped"},
	{"openai", `{"error":{"message":"Unsupported parameter: 'top_p' is not supported with this model.","param":"top_p","code":"unsupported_parameter"}}`,
		`"top_p"`, `"temperature"`, "top_p dropped"},
	{"openai", `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}`,
		`"max_tokens"`, `"max_completion_tokens":64`, "max_tokens sent as max_completion_tokens"},
	// Recorded: o1-mini.
	{"openai", `{"error": {"code": "unsupported_value", "message": "Unsupported value: 'messages[0].role' does not support 'system' with this model.", "param": "messages[0].role", "type": "invalid_request_error"}}`,
		`"role":"system"`, `"content":"Answer in JSON.\n\nHello"`, "system prompt sent in the first message"},
	{"openai", `{"error":{"message":"Unsupported parameter: 'stop' is not supported with this model.","param":"stop","code":"unsupported_parameter"}}`,
		`"stop"`, `"seed"`, "stop dropped"},
	{"openai", `{"detail":"Unrecognized request argument supplied: seed"}`, `"seed"`, `"stop"`, "seed dropped"},
	{"openai", `{"error":{"message":"This response_format type is unavailable now","type":"invalid_request_error"}}`, // DeepSeek
		`"json_schema"`, `"response_format":{"type":"json_object"}`, "json schema sent as json_object"},
	{"openai", `{"error":{"message":"This model does not support response format ` + "`json_schema`" + `.","type":"invalid_request_error"}}`, // Groq
		`"json_schema"`, `"response_format":{"type":"json_object"}`, "json schema sent as json_object"},
	{"openai_responses", `{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model.","param":"temperature"}}`,
		`"temperature"`, `"top_p"`, "temperature dropped"},
	{"openai_responses", `{"error":{"message":"Invalid parameter: 'text.format' of type 'json_schema' is not supported with this model.","param":"text.format"}}`,
		`"json_schema"`, `"text":{"format":{"type":"json_object"}}`, "json schema sent as json_object"},
	{"anthropic", `{"type":"error","error":{"type":"invalid_request_error","message":"` + "`temperature`" + ` is deprecated for this model."}}`,
		`"temperature"`, `"top_p"`, "temperature dropped"},
	{"anthropic", `{"type":"error","error":{"type":"invalid_request_error","message":"` + "`temperature` and `top_p`" + ` cannot both be specified for this model. Please use only one."}}`,
		`"top_p"`, `"temperature"`, "top_p dropped"},
	{"anthropic", `{"type":"error","error":{"type":"invalid_request_error","message":"output_config.format: Extra inputs are not permitted"}}`,
		`"output_config"`, `"system"`, "json schema dropped"},
	{"google", `{"error":{"code":400,"message":"Developer instruction is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}`,
		`"systemInstruction"`, `"text":"Answer in JSON.\n\nHello"`, "system prompt sent in the first message"},
	{"google", `{"error":{"code":400,"message":"JSON mode is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}`,
		`"responseJsonSchema"`, `"systemInstruction"`, "json schema dropped"},
}

func TestLearnsWhatAModelRefuses(t *testing.T) {
	for _, c := range complaints {
		t.Run(c.format+"/"+c.adapted, func(t *testing.T) {
			i := slices.IndexFunc(formats, func(f formatOf) bool { return f.name == c.format })
			server := wiretest.NewServer(t)
			client := open(t, i, server.URL)
			refuse(server, c.has, c.body, formats[i].answer)
			for call := range 2 {
				r, err := client.Complete(t.Context(), full())
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(r.Adapted, c.adapted) {
					t.Errorf("call %d: adapted %q, want %q among it", call, r.Adapted, c.adapted)
				}
				sent := server.Requests()
				if want := 2 - call; len(sent) != want { // learnt the first time, remembered the second
					t.Errorf("call %d: sent %d requests, want %d", call, len(sent), want)
				}
				last := sent[len(sent)-1].Body
				if strings.Contains(last, c.has) || !strings.Contains(last, c.gets) {
					t.Errorf("call %d: sent %s, want it without %s and with %s", call, last, c.has, c.gets)
				}
			}
		})
	}
}

// refuse answers with a complaint as long as requests hold what it is about.
func refuse(s *wiretest.Server, has, complaint, answer string) {
	s.Handle(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if body := wiretest.BodyOf(r); strings.Contains(body, has) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, complaint)
			return
		}
		_, _ = io.WriteString(w, answer)
	})
}

// A model that refuses several parameters, one complaint at a time, as
// OpenAI's reasoning models do.
func TestLearnsOneParameterAfterAnother(t *testing.T) {
	server := wiretest.NewServer(t)
	server.Handle(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for _, name := range []string{"temperature", "top_p", "stop"} {
			if strings.Contains(wiretest.BodyOf(r), `"`+name+`"`) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"error":{"message":"Unsupported parameter: '`+name+`' is not supported with this model.","param":"`+name+`"}}`)
				return
			}
		}
		_, _ = io.WriteString(w, formats[1].answer)
	})
	again := 0
	counted := model.WithResend(t.Context(), func() error {
		again++
		return nil
	})
	r, err := open(t, 1, server.URL).Complete(counted, full())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"temperature dropped", "top_p dropped", "stop dropped"}; !slices.Equal(r.Adapted, want) {
		t.Errorf("adapted %q, want %q", r.Adapted, want)
	}
	if n := len(server.Requests()); n != 4 || again != 3 {
		t.Errorf("sent %d requests, want 4; %d of them after the first were counted, want 3", n, again)
	}
	spent := errors.New("the budget is exhausted")
	_, err = open(t, 1, server.URL).Complete(model.WithResend(t.Context(), func() error { return spent }), full())
	if n := len(server.Requests()); n != 1 || err != spent {
		t.Errorf("sent %d requests, want 1; %v, want %v", n, err, spent)
	}
}

// What is the study's mistake, or is not about a parameter that was sent, is
// an error and not adapted to.
func TestDoesNotAdaptToMistakes(t *testing.T) {
	tests := []struct{ name, body string }{
		// Recorded.
		{"a value out of range", `{"error": {"code": "decimal_below_min_value", "message": "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -1 instead.", "param": "temperature", "type": "invalid_request_error"}}`},
		{"a parameter that was not sent", `{"error": {"code": null, "message": "Web search options not supported with this model.", "param": "web_search_options", "type": "invalid_request_error"}}`},
		{"an effort", `{"error": {"message": "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.", "type": "invalid_request_error"}, "type": "error"}`},
		{"a schema that is wrong", `{"error":{"message":"Invalid schema for response_format 'answer': In context=(), 'oneOf' is not permitted.","param":"response_format","code":"invalid_json_schema"}}`},
		{"a keyword of the schema", `{"type":"error","error":{"type":"invalid_request_error","message":"output_config.format.schema: For 'array' type, property 'maxItems' is not supported"}}`},
		{"a limit that is too high", `{"error":{"message":"max_tokens is too large: 100000. This model supports at most 16384 completion tokens","param":"max_tokens"}}`},
		{"a word that contains a name", `{"error":{"message":"temperature_schedule is not supported"}}`},
	}
	server := wiretest.NewServer(t)
	client := open(t, 1, server.URL)
	for _, test := range tests {
		server.Answer(400, test.body, nil)
		_, err := client.Complete(t.Context(), full())
		if e := failure(t, err); e.Kind != eval.ErrBadRequest {
			t.Errorf("%s: got %s, want bad request", test.name, e.Kind)
		}
		if n := len(server.Requests()); n != 1 {
			t.Errorf("%s: sent %d requests, want 1", test.name, n)
		}
	}
}

// The same complaint again, though the parameter is gone: two requests and an
// error, not an endless loop.
func TestStopsWhenNothingIsLearnt(t *testing.T) {
	server := wiretest.NewServer(t)
	server.Answer(400, complaints[0].body, nil)
	_, err := open(t, 1, server.URL).Complete(t.Context(), full())
	if e := failure(t, err); e.Kind != eval.ErrBadRequest {
		t.Errorf("got %s, want bad request", e.Kind)
	}
	if n := len(server.Requests()); n != 2 {
		t.Errorf("sent %d requests, want 2", n)
	}
}

// A safety system that answers with an error status is a refusal, an outcome.
func TestRefusalsByStatus(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		reason string
	}{
		{"Azure", 400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","code":"content_filter","status":400}}`, "content_filter"},
		{"OpenAI", 400, `{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","type":"invalid_request_error","code":"invalid_prompt"}}`, "invalid_prompt"},
		{"Anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`, "invalid_request_error"},
		{"DeepSeek", 400, `{"error":{"message":"Content Exists Risk","type":"invalid_request_error","code":"invalid_request_error"}}`, "invalid_request_error"},
		{"OpenRouter", 403, `{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged","metadata":{"reasons":["violence"],"flagged_input":"…"}}}`, "403"},
		{"Z.AI", 400, `{"error":{"code":"1301","message":"unsafe or sensitive content"}}`, "1301"},
		// Texts of users' reports: UKGovernmentBEIS/inspect_ai#2267, microsoft/PyRIT#1463.
		{"xAI", 403, `{"code":"The caller does not have permission to execute the specified operation","error":"Content violates usage guidelines. Team: 1234, API key ID: 5678, Model: grok-4-0709, Failed check: SAFETY_CHECK_TYPE_BIO"}`,
			"The caller does not have permission to execute the specified operation"},
		{"OpenAI, biology", 400, `{"error":{"message":"Invalid prompt: we've limited access to this content for safety reasons.","type":"invalid_request_error","code":"invalid_prompt"}}`, "invalid_prompt"},
		{"OpenAI, moderation", 400, `{"error":{"message":"Your request was rejected as a result of our safety system.","type":"user_error","code":"moderation_blocked"}}`, "moderation_blocked"},
		{"in a success", 200, `{"error":{"code":"content_filter","message":"filtered"}}`, "content_filter"},
	}
	for i, f := range formats {
		server := wiretest.NewServer(t)
		client := open(t, i, server.URL)
		for _, test := range tests {
			server.Answer(test.status, test.body, nil)
			r, err := client.Complete(t.Context(), request())
			if err != nil || r.Stop != eval.StopRefused || r.StopReason != test.reason || r.Refusal == "" {
				t.Errorf("%s, %s: got %+v, %v; want refused with reason %q", f.name, test.name, r, err, test.reason)
			}
		}
	}
}

// Groq rejects with 400 what a model wrote: the answer of the model, not an invalid request.
func TestRejectedGenerations(t *testing.T) {
	const rejected = `{"error":{"message":"Failed to generate JSON. Please adjust your prompt. See 'failed_generation' for more details.","type":"invalid_request_error","code":%q,"failed_generation":%q}}`
	const full = "max completion tokens reached before generating a valid document"
	tests := []struct {
		code, wrote        string
		stop               eval.Stop
		wantReason, answer string
	}{
		{"json_validate_failed", `{"answer": a1`, eval.StopOther, "json_validate_failed", `{"answer": a1`},
		{"tool_use_failed", `<function=f>{"a": 1}`, eval.StopTool, "tool_use_failed", `<function=f>{"a": 1}`},
		{"tool_use_failed", `{"name": "f", "arguments": {"b": 1}}`, eval.StopTool, "tool_use_failed", `{"b": 1}`},
		{"json_validate_failed", full, eval.StopLength, full, ""},
	}
	for i, f := range formats {
		server := wiretest.NewServer(t)
		client := open(t, i, server.URL)
		for _, test := range tests {
			body := fmt.Sprintf(rejected, test.code, test.wrote)
			router, _ := json.Marshal(map[string]any{"error": map[string]any{"code": 400, "message": "Provider returned error", "metadata": map[string]string{"raw": body, "provider_name": "Groq"}}})
			for _, body := range []string{body, string(router)} {
				server.Answer(400, body, nil)
				r, err := client.Complete(t.Context(), request())
				if err != nil || r.Stop != test.stop || r.StopReason != test.wantReason || r.Answer("f") != test.answer {
					t.Errorf("%s, %s: got %+v, %v", f.name, body, r, err)
				}
			}
		}
		server.Answer(400, fmt.Sprintf(rejected, "json_validate_failed", ""), nil)
		_, err := client.Complete(t.Context(), request()) // nobody knows what the model wrote
		if e := failure(t, err); e.Kind != eval.ErrBadRequest {
			t.Errorf("%s: got %s, want a bad request", f.name, e.Kind)
		}
	}
}

// Many calls at once, all of which learn the same.
func TestLearnsConcurrently(t *testing.T) {
	server := wiretest.NewServer(t)
	client := open(t, 1, server.URL)
	refuse(server, `"temperature"`, complaints[0].body, formats[1].answer)
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			if r, err := client.Complete(t.Context(), full()); err != nil || !slices.Contains(r.Adapted, "temperature dropped") {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
	group.Wait()
	if n := len(server.Requests()); n < 33 || n > 64 {
		t.Errorf("sent %d requests for 32 calls, want at most two each", n)
	}
	if _, err := client.Complete(t.Context(), full()); err != nil || len(server.Requests()) != 1 {
		t.Errorf("after learning: %v, want one request", err)
	}
}

// A complaint that stays without the parameter was about something else, such as an item that a
// gateway quotes, and so may one be whose request did not come through. Later items keep the parameter.
func TestLearnsOnlyWhatHelped(t *testing.T) {
	const quotes = `{"error":{"message":"the value of messages[0].content \"Please keep the temperature and stop\" is not supported by this endpoint"}}`
	server := wiretest.NewServer(t)
	client := open(t, 1, server.URL)
	server.Answer(400, quotes, nil)
	_, err := client.Complete(t.Context(), full())
	if e := failure(t, err); e.Kind != eval.ErrBadRequest || len(server.Requests()) != 2 {
		t.Errorf("got %v", e)
	}
	sent := 0
	server.Handle(func(w http.ResponseWriter, _ *http.Request) {
		if sent++; sent == 1 {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, quotes)
			return
		}
		w.WriteHeader(http.StatusTooManyRequests)
	})
	_, err = client.Complete(t.Context(), full())
	if e := failure(t, err); e.Kind != eval.ErrRateLimited || sent != 2 {
		t.Errorf("got %v after %d requests", e, sent)
	}
	server.Answer(200, formats[1].answer, map[string]string{"Content-Type": "application/json"})
	if r, err := client.Complete(t.Context(), full()); err != nil || len(r.Adapted) != 0 {
		t.Errorf("adapted %q, %v; want nothing", r.Adapted, err)
	}
}

// What is learnt of one model is not held against another.
func TestLearnsPerModel(t *testing.T) {
	server := wiretest.NewServer(t)
	client := open(t, 1, server.URL)
	refuse(server, `"some-model"`, complaints[0].body, formats[1].answer)
	_, err := client.Complete(t.Context(), full())
	failure(t, err)
	other := full()
	other.Name = "another-model"
	r, err := client.Complete(t.Context(), other)
	if err != nil || len(r.Adapted) != 0 {
		t.Errorf("adapted %q, %v; want nothing", r.Adapted, err)
	}
}

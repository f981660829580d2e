package openai

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/model/wiretest"
)

// What services do that the recordings do not show; sources are their API
// references and bug reports.
func TestDeviationsOfChat(t *testing.T) {
	usage := eval.Usage{CachedInInput: true, ReasoningInOutput: true}
	counted := func(change func(*eval.Usage)) eval.Usage { u := usage; change(&u); return u }
	tests := []struct {
		name, body string
		want       eval.Response
	}{
		{"no usage", `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`,
			eval.Response{Text: "a", Stop: eval.StopEnd, StopReason: "stop", Usage: usage}},
		{"usage null, id a number, white space", "\n\n\t" + `{"id":7,"model":null,"usage":null,"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}` + "\n",
			eval.Response{Text: "a", Stop: eval.StopEnd, StopReason: "stop", RequestID: "7", Usage: usage}},
		{"content in parts, thinking among them (Mistral)", `{"choices":[{"message":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"},{"type":"text","text":"b"}]},"finish_reason":"stop"}]}`,
			eval.Response{Text: "ab", Stop: eval.StopEnd, StopReason: "stop", Usage: usage}},
		{"thinking beside the content (DeepSeek)", `{"choices":[{"message":{"content":"","reasoning_content":"hm"},"finish_reason":"length"}]}`,
			eval.Response{Stop: eval.StopLength, StopReason: "length", Usage: usage}},
		{"no finish reason", `{"choices":[{"message":{"content":"a"},"finish_reason":null}]}`,
			eval.Response{Text: "a", Stop: eval.StopOther, Usage: usage}},
		{"refusal field", `{"choices":[{"message":{"content":null,"refusal":"I cannot."},"finish_reason":"stop"}]}`,
			eval.Response{Refusal: "I cannot.", Stop: eval.StopRefused, StopReason: "stop", Usage: usage}},
		{"refusal part", `{"choices":[{"message":{"content":[{"type":"refusal","refusal":"I cannot."}]},"finish_reason":"stop"}]}`,
			eval.Response{Refusal: "I cannot.", Stop: eval.StopRefused, StopReason: "stop", Usage: usage}},
		{"content filter", `{"choices":[{"message":{"content":"Once"},"finish_reason":"content_filter"}]}`,
			eval.Response{Text: "Once", Stop: eval.StopRefused, StopReason: "content_filter", Usage: usage}},
		{"forced call that ends with stop (OpenAI)", `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}]},"finish_reason":"stop"}]}`,
			eval.Response{Stop: eval.StopTool, StopReason: "stop", ToolCalls: []eval.ToolCall{{ID: "c", Name: "f", Arguments: json.RawMessage(`{"a": 1}`)}}, Usage: usage}},
		{"arguments as an object (Ollama, vLLM templates)", `{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"a": 1}}}]},"finish_reason":"tool_calls"}]}`,
			eval.Response{Stop: eval.StopTool, StopReason: "tool_calls", ToolCalls: []eval.ToolCall{{Name: "f", Arguments: json.RawMessage(`{"a": 1}`)}}, Usage: usage}},
		{"arguments that are no JSON", `{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":"{\"a\": "}}]},"finish_reason":"length"}]}`,
			eval.Response{Stop: eval.StopLength, StopReason: "length", ToolCalls: []eval.ToolCall{{Name: "f", Arguments: json.RawMessage(`{"a": `)}}, Usage: usage}},
		{"function_call, as it was before tools", `{"choices":[{"message":{"content":null,"function_call":{"name":"f","arguments":"{}"}},"finish_reason":"function_call"}]}`,
			eval.Response{Stop: eval.StopTool, StopReason: "function_call", ToolCalls: []eval.ToolCall{{Name: "f", Arguments: json.RawMessage(`{}`)}}, Usage: usage}},
		{"cache counts of DeepSeek", `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":5,"total_tokens":105,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}}`,
			eval.Response{Text: "a", Stop: eval.StopEnd, StopReason: "stop", Usage: counted(func(u *eval.Usage) { u.Input, u.Output, u.Cached = 100, 5, 64 })}},
		{"cache counts of Moonshot", `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":5,"cached_tokens":64}}`,
			eval.Response{Text: "a", Stop: eval.StopEnd, StopReason: "stop", Usage: counted(func(u *eval.Usage) { u.Input, u.Output, u.Cached = 100, 5, 64 })}},
		{"a proxy that counts Anthropic's cache apart", `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"cache_read_input_tokens":64,"cache_creation_input_tokens":8}}`,
			eval.Response{Text: "a", Stop: eval.StopEnd, StopReason: "stop", Usage: eval.Usage{Input: 10, Output: 5, Cached: 64, CacheWrite: 8, ReasoningInOutput: true}}},
		{"thinking apart (xAI)", `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":50,"total_tokens":80,"completion_tokens_details":{"reasoning_tokens":20}}}`,
			eval.Response{Text: "a", Stop: eval.StopEnd, StopReason: "stop", Usage: eval.Usage{Input: 10, Output: 50, Reasoning: 20, CachedInInput: true}}},
		{"thinking in the total only (gateways before Gemini)", `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":198,"total_tokens":623}}`,
			eval.Response{Text: "a", Stop: eval.StopEnd, StopReason: "stop", Usage: eval.Usage{Input: 20, Output: 198, Reasoning: 405, CachedInInput: true}}},
		{"cache apart in the total, less than the prompt", `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5000,"completion_tokens":100,"total_tokens":8100,"cache_read_input_tokens":3000}}`,
			eval.Response{Text: "a", Stop: eval.StopEnd, StopReason: "stop", Usage: eval.Usage{Input: 5000, Output: 100, Cached: 3000, ReasoningInOutput: true}}},
		{"thinking apart, as much as is cached (xAI)", `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":50,"total_tokens":214,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":64}}}`,
			eval.Response{Text: "a", Stop: eval.StopEnd, StopReason: "stop", Usage: eval.Usage{Input: 100, Output: 50, Cached: 64, Reasoning: 64, CachedInInput: true}}},
		{"cache apart in the total", `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":87,"cache_read_input_tokens":64,"cache_creation_input_tokens":8}}`,
			eval.Response{Text: "a", Stop: eval.StopEnd, StopReason: "stop", Usage: eval.Usage{Input: 10, Output: 5, Cached: 64, CacheWrite: 8, ReasoningInOutput: true}}},
	}
	for _, test := range tests {
		got, err := chatWire{}.Decode([]byte(test.body))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestEndsOfResponses(t *testing.T) {
	tests := []struct {
		name, body string
		stop       eval.Stop
		reason     string
		text       string
		refusal    string
	}{
		{"cut off", `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"message","content":[{"type":"output_text","text":"On"}]}]}`,
			eval.StopLength, "max_output_tokens", "On", ""},
		{"cut off while thinking", `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"reasoning","summary":[]}]}`,
			eval.StopLength, "max_output_tokens", "", ""},
		{"filtered", `{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}`, eval.StopRefused, "content_filter", "", ""},
		{"refused", `{"status":"completed","output":[{"type":"message","content":[{"type":"refusal","refusal":"No."}]}]}`, eval.StopRefused, "completed", "", "No."},
		{"two messages, reasoning between", `{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"a"}]},{"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}]},{"type":"message","content":[{"type":"output_text","text":"b"}]}]}`,
			eval.StopEnd, "completed", "a\n\nb", ""},
		{"commentary before the answer", `{"status":"completed","output":[{"type":"message","phase":"commentary","content":[{"type":"output_text","text":"I look it up. Answer: zz"}]},{"type":"message","phase":"final_answer","content":[{"type":"output_text","text":"Answer: a"}]}]}`,
			eval.StopEnd, "completed", "Answer: a", ""},
		{"commentary alone", `{"status":"completed","output":[{"type":"message","phase":"commentary","content":[{"type":"output_text","text":"Answer: a"}]}]}`,
			eval.StopEnd, "completed", "Answer: a", ""},
	}
	for _, test := range tests {
		r, err := responsesWire{}.Decode([]byte(test.body))
		if err != nil || r.Stop != test.stop || r.StopReason != test.reason || r.Text != test.text || r.Refusal != test.refusal {
			t.Errorf("%s: got %+v, %v", test.name, r, err)
		}
	}
	for _, body := range []string{`{"status":"failed","error":{"code":"server_error","message":"x"},"output":[]}`, `{"status":"failed","error":null,"output":[]}`,
		`{"status":"cancelled","output":[]}`, `{"status":"queued","output":[]}`, `{"status":"in_progress","output":[]}`,
		`{"status":"error","message":"upstream unavailable"}`, `{"status":503,"title":"Service Unavailable"}`, `{"status":"completed"}`} {
		if _, err := (responsesWire{}).Decode([]byte(body)); err == nil {
			t.Errorf("%s was read as an answer", body)
		}
	}
}

// A service that breaks off in the middle may say so beside the text: a failure, not an
// answer of the model. For what its finish reasons mean, see model's TestEnds.
func TestBrokenOff(t *testing.T) {
	for _, body := range []string{
		`{"choices":[{"message":{"content":"On"},"finish_reason":"error","error":{"code":502,"message":"Upstream broke"}}]}`,
		`{"choices":[{"error":{"code":502}}]}`,
	} {
		r, err := chatWire{}.Decode([]byte(body))
		var typed *model.Error
		if err == nil || errors.As(err, &typed) {
			t.Errorf("%s: got %+v, %v; want the error in the body", body, r, err)
		}
	}
}

// A part whose text is no string is an error: an empty answer would be the model's fault.
func TestStrangePart(t *testing.T) {
	for _, part := range []string{`{"type":"text","text":{"value":"Bern"}}`, `{"type":"refusal","refusal":[1]}`} {
		if r, err := (chatWire{}).Decode([]byte(`{"choices":[{"message":{"content":[` + part + `]},"finish_reason":"stop"}]}`)); err == nil {
			t.Errorf("%s: got %+v, want an error", part, r)
		}
		if r, err := (responsesWire{}).Decode([]byte(`{"status":"completed","output":[{"type":"message","content":[` + part + `]}]}`)); err == nil {
			t.Errorf("%s: got %+v, want an error", part, r)
		}
	}
}

func TestTraits(t *testing.T) {
	tests := []struct {
		name, effort string
		want         traits
	}{
		{"o1-mini", "", traits{true, sampling | model.SystemRole}},
		{"o3", "", traits{true, sampling}},
		{"o4-mini-2025-04-16", "", traits{true, sampling}},
		{"openai/o3-mini", "", traits{true, sampling}},
		{"gpt-5", "", traits{true, sampling}},
		{"gpt-5-mini-2025-08-07", "", traits{true, sampling}},
		{"openai/gpt-5-nano", "", traits{true, sampling}},
		{"gpt-5", "minimal", traits{true, sampling}},
		{"gpt-5.2", "none", traits{true, 0}},
		{"gpt-5.2", "", traits{true, 0}}, // its default effort is none; where it is not, that is learnt
		{"gpt-5.2", "high", traits{true, sampling}},
		{"gpt-5.2-pro", "", traits{true, sampling}},
		{"gpt-5.6-sol", "low", traits{true, sampling}},
		{"gpt-5-chat-latest", "", traits{}},
		{"gpt-5.1-chat-latest", "", traits{}},
		{"gpt-4o", "", traits{}},
		{"gpt-4.1-mini", "high", traits{}},
		{"gpt-oss-120b", "", traits{}},
		{"o-llama", "", traits{}},
		{"other/o3-mini-like", "", traits{}},
		{"phi-o1-mini", "", traits{}},
	}
	for _, test := range tests {
		if got := traitsOf(test.name, test.effort); got != test.want {
			t.Errorf("%s, effort %q: %+v, want %+v", test.name, test.effort, got, test.want)
		}
	}
}

func FuzzDecodeChat(f *testing.F) {
	wiretest.Fuzz(f, chatWire{}.Decode,
		`{"id":1,"model":null,"choices":[{"message":{"content":[{"type":"thinking"},{"type":"text","text":"a"},"b"],"tool_calls":[{"id":"c","function":{"name":"f","arguments":{"a":1}}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":"3"}}`,
		`{"choices":[{"message":{"content":null,"refusal":"no"},"finish_reason":null}],"usage":null}`,
		`{"choices":[{"error":{"code":502},"finish_reason":"error"}]}`, `{"choices":[{"message":{"content":{}}}]}`, `{"error":"x"}`,
		`{"choices":[{"message":{"function_call":{"name":"f","arguments":"{"}},"finish_reason":"function_call"}]}`,
	)
}

func FuzzDecodeResponse(f *testing.F) {
	wiretest.Fuzz(f, responsesWire{}.Decode,
		`{"id":"r","status":"completed","output":[{"type":"reasoning"},{"type":"message","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"no"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}],"usage":{"input_tokens":1}}`,
		`{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}`,
		`{"status":"failed","error":{"code":"server_error","message":"x"}}`, `{"status":"failed","error":null}`, `{"output":[{"type":"message","content":"a"}]}`,
	)
}

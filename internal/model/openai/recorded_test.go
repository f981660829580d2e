package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/model/openai"
	"github.com/scruple-eval/scruple/internal/model/wiretest"
)

const testKey = "test-key-1234567"

func newChat(t testing.TB, base string) *model.Caller {
	t.Helper()
	c, err := openai.NewChat(model.Endpoint{BaseURL: base + "/v1", APIKey: testKey, KeyEnv: "OPENAI_API_KEY"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newResponses(t testing.TB, base string) *model.Caller {
	t.Helper()
	c, err := openai.NewResponses(model.Endpoint{BaseURL: base + "/v1", APIKey: testKey, KeyEnv: "OPENAI_API_KEY"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ask(name string) *eval.Request {
	return &eval.Request{Model: "m", Provider: "openai", Name: name, MaxTokens: 100, Messages: []eval.Message{{Role: "user", Content: "Hello"}}}
}

// wantChat reads a recorded completion with nothing of the client's own code.
func wantChat(t *testing.T, body string) eval.Response {
	v := wiretest.Parse(t, body)
	message := wiretest.Dig(v, "choices", 0, "message")
	r := eval.Response{
		Text: wiretest.Text(message, "content"), Refusal: wiretest.Text(message, "refusal"),
		StopReason: wiretest.Text(v, "choices", 0, "finish_reason"), ModelVersion: wiretest.Text(v, "model"), RequestID: wiretest.Text(v, "id"),
		Stop: map[string]eval.Stop{"stop": "end", "tool_calls": "tool"}[wiretest.Text(v, "choices", 0, "finish_reason")],
	}
	for _, c := range wiretest.List(message, "tool_calls") {
		call := eval.ToolCall{ID: wiretest.Text(c, "id"), Name: wiretest.Text(c, "function", "name")}
		if s, ok := wiretest.Dig(c, "function", "arguments").(string); ok {
			call.Arguments = json.RawMessage(s)
		}
		r.ToolCalls = append(r.ToolCalls, call)
	}
	u := wiretest.Dig(v, "usage")
	prompt, completion, total := wiretest.Int(u, "prompt_tokens"), wiretest.Int(u, "completion_tokens"), wiretest.Int(u, "total_tokens")
	reasoning := wiretest.Int(u, "completion_tokens_details", "reasoning_tokens")
	cached := wiretest.Int(u, "prompt_tokens_details", "cached_tokens")
	if hit, ok := wiretest.Dig(u, "prompt_cache_hit_tokens").(json.Number); ok && hit.String() != "0" {
		cached = wiretest.Int(u, "prompt_cache_hit_tokens")
	}
	if cached == 0 {
		cached = wiretest.Int(u, "num_cached_tokens")
	}
	r.Usage = eval.Usage{
		Input: prompt, Output: completion, Cached: cached, Reasoning: reasoning,
		CacheWrite:    wiretest.Int(u, "prompt_tokens_details", "cache_write_tokens"),
		CachedInInput: true,
		// xAI's total adds the thinking to the output; Vercel's gateway
		// reports more thinking than output for Gemini.
		ReasoningInOutput: reasoning <= completion && (reasoning == 0 || prompt+completion+reasoning != total),
	}
	return r
}

func TestRecordedCompletions(t *testing.T) {
	server := wiretest.NewServer(t)
	client := newChat(t, server.URL)
	compared, calls, apart := 0, 0, 0
	for _, e := range wiretest.Answers(t, "openai") {
		server.Play(e)
		got, err := client.Complete(t.Context(), ask(e.Model))
		if err != nil {
			t.Errorf("%s: %v", e.ID, err)
			continue
		}
		if diff := cmp.Diff(wantChat(t, e.Body), got); diff != "" {
			t.Errorf("%s (-recorded +read):\n%s", e.ID, diff)
		}
		compared++
		calls += len(got.ToolCalls)
		if !got.Usage.ReasoningInOutput {
			apart++
		}
	}
	// Thinking is counted apart in 16 answers of xAI and 9 of Vercel's gateway.
	if compared != 244 || calls != 118 || apart != 25 {
		t.Errorf("compared %d completions with %d tool calls, %d with thinking apart; want 244 with 118 and 25", compared, calls, apart)
	}
}

// wantResponse reads a recorded response with nothing of the client's own code.
func wantResponse(t *testing.T, body string) eval.Response {
	v := wiretest.Parse(t, body)
	status := wiretest.Text(v, "status")
	r := eval.Response{StopReason: status, ModelVersion: wiretest.Text(v, "model"), RequestID: wiretest.Text(v, "id")}
	for _, item := range wiretest.List(v, "output") {
		switch wiretest.Text(item, "type") {
		case "message":
			for _, c := range wiretest.List(item, "content") {
				r.Text += wiretest.Text(c, "text")
			}
		case "function_call":
			r.ToolCalls = append(r.ToolCalls, eval.ToolCall{ID: wiretest.Text(item, "call_id"), Name: wiretest.Text(item, "name"),
				Arguments: json.RawMessage(wiretest.Text(item, "arguments"))})
		}
	}
	switch {
	case status == "queued" || status == "in_progress": // asked to run in the background, which Scruple never does
		r.Stop = eval.StopOther
	case len(r.ToolCalls) > 0:
		r.Stop = eval.StopTool
	default:
		r.Stop = eval.StopEnd
	}
	u := wiretest.Dig(v, "usage")
	r.Usage = eval.Usage{
		Input: wiretest.Int(u, "input_tokens"), Output: wiretest.Int(u, "output_tokens"),
		Cached:        wiretest.Int(u, "input_tokens_details", "cached_tokens"),
		CacheWrite:    wiretest.Int(u, "input_tokens_details", "cache_write_tokens"),
		Reasoning:     wiretest.Int(u, "output_tokens_details", "reasoning_tokens"),
		CachedInInput: true, ReasoningInOutput: true,
	}
	return r
}

func TestRecordedResponses(t *testing.T) {
	server := wiretest.NewServer(t)
	client := newResponses(t, server.URL)
	compared, calls := 0, 0
	for _, e := range wiretest.Answers(t, "openai_responses") {
		server.Play(e)
		got, err := client.Complete(t.Context(), ask(e.Model))
		if err != nil {
			t.Errorf("%s: %v", e.ID, err)
			continue
		}
		if diff := cmp.Diff(wantResponse(t, e.Body), got); diff != "" {
			t.Errorf("%s (-recorded +read):\n%s", e.ID, diff)
		}
		compared++
		calls += len(got.ToolCalls)
	}
	if compared != 184 || calls != 44 {
		t.Errorf("compared %d responses with %d function calls, want 184 with 44", compared, calls)
	}
}

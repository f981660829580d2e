package anthropic_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/model/anthropic"
	"github.com/scruple-eval/scruple/internal/model/wiretest"
)

func newClient(t testing.TB, base string) *model.Caller {
	t.Helper()
	c, err := anthropic.New(model.Endpoint{BaseURL: base, APIKey: "test-key-1234567", KeyEnv: "ANTHROPIC_API_KEY"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ask(name string) *eval.Request {
	return &eval.Request{Model: "m", Provider: "anthropic", Name: name, MaxTokens: 100, Messages: []eval.Message{{Role: "user", Content: "Hello"}}}
}

// brokenInRecording is the one recording whose JSON the collection broke; see
// wiretest/testdata/SOURCE.md.
const brokenInRecording = "pydantic-ai:tests/models/cassettes/test_anthropic/test_anthropic_web_fetch_tool.yaml#0"

// want reads a recorded message with nothing of the client's own code.
func want(t *testing.T, body string) eval.Response {
	v := wiretest.Parse(t, body)
	r := eval.Response{
		StopReason: wiretest.Text(v, "stop_reason"), ModelVersion: wiretest.Text(v, "model"), RequestID: wiretest.Text(v, "id"),
		Stop: map[string]eval.Stop{"end_turn": "end", "stop_sequence": "end", "tool_use": "tool"}[wiretest.Text(v, "stop_reason")],
		Usage: eval.Usage{
			Input: wiretest.Int(v, "usage", "input_tokens"), Output: wiretest.Int(v, "usage", "output_tokens"),
			Cached: wiretest.Int(v, "usage", "cache_read_input_tokens"), CacheWrite: wiretest.Int(v, "usage", "cache_creation_input_tokens"),
			Reasoning: wiretest.Int(v, "usage", "output_tokens_details", "thinking_tokens"), ReasoningInOutput: true,
		},
	}
	for _, b := range wiretest.List(v, "content") {
		switch wiretest.Text(b, "type") {
		case "text":
			r.Text += wiretest.Text(b, "text")
		case "tool_use":
			r.ToolCalls = append(r.ToolCalls, eval.ToolCall{ID: wiretest.Text(b, "id"), Name: wiretest.Text(b, "name")})
		}
	}
	return r
}

func TestRecordedAnswers(t *testing.T) {
	server := wiretest.NewServer(t)
	client := newClient(t, server.URL)
	compared, calls := 0, 0
	for _, e := range wiretest.Answers(t, "anthropic") {
		server.Play(e)
		got, err := client.Complete(t.Context(), ask(e.Model))
		if e.ID == brokenInRecording {
			if k := model.FromTransport(t.Context(), err).Kind; k != eval.ErrMalformed {
				t.Errorf("%s: kind %s, want malformed", e.ID, k)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", e.ID, err)
			continue
		}
		calls += compareCalls(t, e, got.ToolCalls)
		for i := range got.ToolCalls {
			got.ToolCalls[i].Arguments = nil
		}
		if diff := cmp.Diff(want(t, e.Body), got); diff != "" {
			t.Errorf("%s (-recorded +read):\n%s", e.ID, diff)
		}
		compared++
	}
	if compared != 168 || calls != 79 {
		t.Errorf("compared %d answers with %d tool calls, want 168 with 79", compared, calls)
	}
}

// compareCalls checks that arguments mean what the body says, and that they
// stand in it as they were read.
func compareCalls(t *testing.T, e wiretest.Exchange, got []eval.ToolCall) int {
	n := 0
	for _, b := range wiretest.List(wiretest.Parse(t, e.Body), "content") {
		if wiretest.Text(b, "type") != "tool_use" || n >= len(got) {
			continue
		}
		if diff := cmp.Diff(wiretest.Dig(b, "input"), wiretest.Parse(t, string(got[n].Arguments))); diff != "" {
			t.Errorf("%s, call %d (-recorded +read):\n%s", e.ID, n, diff)
		}
		if !strings.Contains(e.Body, string(got[n].Arguments)) {
			t.Errorf("%s, call %d: arguments are not as they were written: %s", e.ID, n, got[n].Arguments)
		}
		n++
	}
	return n
}

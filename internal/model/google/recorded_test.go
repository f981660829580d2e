package google_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/model/google"
	"github.com/scruple-eval/scruple/internal/model/wiretest"
)

func newClient(t testing.TB, base string) *model.Caller {
	t.Helper()
	c, err := google.New(model.Endpoint{BaseURL: base, APIKey: "test-key-1234567", KeyEnv: "GEMINI_API_KEY"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ask(name string) *eval.Request {
	return &eval.Request{Model: "m", Provider: "google", Name: name, MaxTokens: 100, Messages: []eval.Message{{Role: "user", Content: "Hello"}}}
}

// want reads a recorded answer with nothing of the client's own code.
func want(t *testing.T, body string) eval.Response {
	v := wiretest.Parse(t, body)
	u := wiretest.Dig(v, "usageMetadata")
	r := eval.Response{
		StopReason: wiretest.Text(v, "candidates", 0, "finishReason"), ModelVersion: wiretest.Text(v, "modelVersion"), RequestID: wiretest.Text(v, "responseId"),
		Usage: eval.Usage{
			Input: wiretest.Int(u, "promptTokenCount"), Output: wiretest.Int(u, "candidatesTokenCount"),
			Cached: wiretest.Int(u, "cachedContentTokenCount"), Reasoning: wiretest.Int(u, "thoughtsTokenCount"), CachedInInput: true,
		},
	}
	for _, p := range wiretest.List(v, "candidates", 0, "content", "parts") {
		if wiretest.Dig(p, "thought") != true {
			r.Text += wiretest.Text(p, "text")
		}
		if wiretest.Dig(p, "functionCall") != nil {
			r.ToolCalls = append(r.ToolCalls, eval.ToolCall{ID: wiretest.Text(p, "functionCall", "id"), Name: wiretest.Text(p, "functionCall", "name")})
		}
	}
	switch r.StopReason {
	case "STOP":
		r.Stop = eval.StopEnd
		if len(r.ToolCalls) > 0 {
			r.Stop = eval.StopTool
		}
	case "MAX_TOKENS":
		r.Stop = eval.StopLength
	case "SAFETY", "MODEL_ARMOR":
		r.Stop, r.Refusal = eval.StopRefused, wiretest.Text(v, "candidates", 0, "finishMessage")
	case "": // the prompt was blocked
		r.Stop, r.StopReason = eval.StopRefused, wiretest.Text(v, "promptFeedback", "blockReason")
		r.Refusal = wiretest.Text(v, "promptFeedback", "blockReasonMessage")
	}
	return r
}

func TestRecordedAnswers(t *testing.T) {
	server := wiretest.NewServer(t)
	client := newClient(t, server.URL)
	compared, calls, refused := 0, 0, 0
	for _, e := range wiretest.Answers(t, "google") {
		server.Play(e)
		got, err := client.Complete(t.Context(), ask("gemini-2.5-flash"))
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
		if got.Stop == eval.StopRefused {
			refused++
		}
	}
	// Refused: a blocked prompt, and answers ended by SAFETY and MODEL_ARMOR.
	if compared != 167 || calls != 52 || refused != 3 {
		t.Errorf("compared %d answers with %d calls, %d refused; want 167 with 52 and 3", compared, calls, refused)
	}
}

// compareCalls checks that arguments mean what the body says, and that they
// stand in it as they were read.
func compareCalls(t *testing.T, e wiretest.Exchange, got []eval.ToolCall) int {
	n := 0
	for _, p := range wiretest.List(wiretest.Parse(t, e.Body), "candidates", 0, "content", "parts") {
		args := wiretest.Dig(p, "functionCall", "args")
		if wiretest.Dig(p, "functionCall") == nil || n >= len(got) {
			continue
		}
		if args != nil {
			if diff := cmp.Diff(args, wiretest.Parse(t, string(got[n].Arguments))); diff != "" {
				t.Errorf("%s, call %d (-recorded +read):\n%s", e.ID, n, diff)
			}
		}
		if !strings.Contains(e.Body, string(got[n].Arguments)) {
			t.Errorf("%s, call %d: arguments are not as they were written: %s", e.ID, n, got[n].Arguments)
		}
		n++
	}
	return n
}

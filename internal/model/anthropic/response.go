package anthropic

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

type answer struct {
	Type        model.Word      `json:"type"`
	ID          model.Word      `json:"id"`
	Model       model.Word      `json:"model"`
	Content     []block         `json:"content"`
	StopReason  model.Word      `json:"stop_reason"`
	StopDetails json.RawMessage `json:"stop_details"`
	Usage       json.RawMessage `json:"usage"`
	Error       json.RawMessage `json:"error"`
}

type block struct {
	Type  string          `json:"type"`
	Text  string          `json:"text"`
	ID    model.Word      `json:"id"`
	Name  string          `json:"name"`
	Input model.Arguments `json:"input"`
}

type usage struct {
	Input         model.Count `json:"input_tokens"`
	Output        model.Count `json:"output_tokens"`
	CacheRead     model.Count `json:"cache_read_input_tokens"`
	CacheWrite    model.Count `json:"cache_creation_input_tokens"`
	OutputDetails struct {
		Thinking model.Count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// Decode reads a message. Thinking is not part of its text, and tools that ran
// on the server are not calls.
func (wire) Decode(body []byte) (eval.Response, error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return eval.Response{}, model.Malformed("reading the message: %v", err)
	}
	switch {
	case model.Present(a.Error):
		return eval.Response{}, model.InBody(a.Error)
	case a.Content == nil:
		return eval.Response{}, model.Malformed("the answer has no content")
	}
	r := eval.Response{
		StopReason: string(a.StopReason), ModelVersion: string(a.Model), RequestID: string(a.ID),
		Usage: readUsage(a.Usage),
	}
	var text strings.Builder
	for _, b := range a.Content {
		switch b.Type {
		case "text":
			text.WriteString(b.Text)
		case "tool_use":
			r.ToolCalls = append(r.ToolCalls, eval.ToolCall{ID: string(b.ID), Name: b.Name, Arguments: json.RawMessage(b.Input)})
		}
	}
	r.Text = text.String()
	r.Stop = stopOf(r.StopReason)
	switch {
	case r.Stop == eval.StopRefused:
		r.Refusal = explanation(a.StopDetails)
	case r.Stop == eval.StopEnd && len(r.ToolCalls) > 0:
		r.Stop = eval.StopTool
	}
	return r, nil
}

func stopOf(reason string) eval.Stop {
	switch reason {
	case "end_turn", "stop_sequence":
		return eval.StopEnd
	case "max_tokens", "model_context_window_exceeded":
		return eval.StopLength
	case "tool_use":
		return eval.StopTool
	case "refusal":
		return eval.StopRefused
	}
	return eval.StopOther
}

func explanation(raw json.RawMessage) string {
	var d struct {
		Explanation model.Word `json:"explanation"`
		Category    model.Word `json:"category"`
	}
	if json.Unmarshal(raw, &d) != nil {
		return ""
	}
	return string(cmp.Or(d.Explanation, d.Category))
}

// readUsage reads token counts. Anthropic counts cached tokens apart from the
// input and thinking within the output.
func readUsage(raw json.RawMessage) eval.Usage {
	var u usage
	_ = json.Unmarshal(raw, &u) // invalid counts must not lose the answer
	return eval.Usage{
		Input: int(u.Input), Output: int(u.Output), Cached: int(u.CacheRead), CacheWrite: int(u.CacheWrite),
		Reasoning: int(u.OutputDetails.Thinking), ReasoningInOutput: true,
	}
}

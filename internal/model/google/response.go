package google

import (
	"encoding/json"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

type answer struct {
	Candidates     []candidate     `json:"candidates"`
	PromptFeedback json.RawMessage `json:"promptFeedback"`
	Usage          json.RawMessage `json:"usageMetadata"`
	ModelVersion   model.Word      `json:"modelVersion"`
	ResponseID     model.Word      `json:"responseId"`
	Error          json.RawMessage `json:"error"`
}

type candidate struct {
	Content struct {
		Parts []part `json:"parts"`
	} `json:"content"`
	FinishReason  model.Word `json:"finishReason"`
	FinishMessage model.Word `json:"finishMessage"`
}

type part struct {
	Text         string        `json:"text"`
	Thought      bool          `json:"thought"`
	FunctionCall *functionCall `json:"functionCall"`
}

type functionCall struct {
	ID   model.Word      `json:"id"`
	Name string          `json:"name"`
	Args model.Arguments `json:"args"`
}

// Decode reads an answer: the text and function calls of its first candidate,
// without its thoughts. A prompt that was blocked has no candidate; it is a
// refusal.
func (wire) Decode(body []byte) (eval.Response, error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return eval.Response{}, model.Malformed("reading the answer: %v", err)
	}
	if model.Present(a.Error) {
		return eval.Response{}, model.InBody(a.Error)
	}
	r := eval.Response{ModelVersion: string(a.ModelVersion), RequestID: string(a.ResponseID), Usage: readUsage(a.Usage)}
	if len(a.Candidates) == 0 {
		return blocked(r, a.PromptFeedback)
	}
	c := a.Candidates[0]
	var text strings.Builder
	for _, p := range c.Content.Parts {
		if !p.Thought {
			text.WriteString(p.Text)
		}
		if f := p.FunctionCall; f != nil {
			r.ToolCalls = append(r.ToolCalls, eval.ToolCall{ID: string(f.ID), Name: f.Name, Arguments: json.RawMessage(f.Args)})
		}
	}
	r.Text, r.StopReason = text.String(), string(c.FinishReason)
	r.Stop = stopOf(r.StopReason)
	switch {
	case r.Stop == eval.StopRefused:
		r.Refusal = string(c.FinishMessage)
	case r.Stop == eval.StopEnd && len(r.ToolCalls) > 0:
		r.Stop = eval.StopTool // Gemini has no stop reason for tool calls
	}
	return r, nil
}

func blocked(r eval.Response, feedback json.RawMessage) (eval.Response, error) {
	var f struct {
		BlockReason  model.Word `json:"blockReason"`
		BlockMessage model.Word `json:"blockReasonMessage"`
	}
	if !model.Present(feedback) || json.Unmarshal(feedback, &f) != nil || f.BlockReason == "" {
		return eval.Response{}, model.Malformed("the answer has no candidates")
	}
	r.Stop, r.StopReason, r.Refusal = eval.StopRefused, string(f.BlockReason), string(f.BlockMessage)
	return r, nil
}

func stopOf(reason string) eval.Stop {
	switch reason {
	case "STOP":
		return eval.StopEnd
	case "MAX_TOKENS":
		return eval.StopLength
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return eval.StopRefused
	}
	return eval.StopOther
}

type usage struct {
	Prompt     model.Count `json:"promptTokenCount"`
	Candidates model.Count `json:"candidatesTokenCount"`
	Cached     model.Count `json:"cachedContentTokenCount"`
	Thoughts   model.Count `json:"thoughtsTokenCount"`
	Tools      model.Count `json:"toolUsePromptTokenCount"` // results of the provider's own tools
}

// readUsage reads token counts. Gemini counts cached tokens within the prompt, and apart
// from each other the prompt, what its own tools added to it, candidates and thoughts.
func readUsage(raw json.RawMessage) eval.Usage {
	var u usage
	_ = json.Unmarshal(raw, &u) // invalid counts must not lose the answer
	return eval.Usage{
		Input: int(u.Prompt) + int(u.Tools), Output: int(u.Candidates), Cached: int(u.Cached), Reasoning: int(u.Thoughts),
		CachedInInput: true,
	}
}

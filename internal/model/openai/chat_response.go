package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

type chatAnswer struct {
	ID      model.Word      `json:"id"`
	Model   model.Word      `json:"model"`
	Choices []chatOption    `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type chatOption struct {
	Message      *chatMessage    `json:"message"`
	FinishReason model.Word      `json:"finish_reason"`
	Error        json.RawMessage `json:"error"` // OpenRouter: the service behind it broke off
}

type chatMessage struct {
	Content   json.RawMessage `json:"content"`
	Refusal   model.Word      `json:"refusal"`
	ToolCalls []chatCall      `json:"tool_calls"`
	Function  *calledFunction `json:"function_call"` // what tool_calls was before
}

type chatCall struct {
	ID       model.Word     `json:"id"`
	Function calledFunction `json:"function"`
}

type calledFunction struct {
	Name      string          `json:"name"`
	Arguments model.Arguments `json:"arguments"`
}

// Decode reads a completion: its first choice, as only one is ever asked for.
func (chatWire) Decode(body []byte) (eval.Response, error) {
	var a chatAnswer
	if err := json.Unmarshal(body, &a); err != nil {
		return eval.Response{}, model.Malformed("reading the completion: %v", err)
	}
	switch {
	case model.Present(a.Error):
		return eval.Response{}, model.InBody(a.Error)
	case len(a.Choices) == 0:
		return eval.Response{}, model.Malformed("the answer has no choices")
	case model.Present(a.Choices[0].Error):
		return eval.Response{}, model.InBody(a.Choices[0].Error)
	case a.Choices[0].Message == nil:
		return eval.Response{}, model.Malformed("the answer's choice has no message")
	}
	choice := a.Choices[0]
	if raw, broken := brokenOff(string(choice.FinishReason)); broken {
		return eval.Response{}, model.InBody(raw)
	}
	text, refusal, err := contentOf(choice.Message.Content)
	if err != nil {
		return eval.Response{}, model.Malformed("reading the completion's content: %v", err)
	}
	r := eval.Response{
		Text: text, Refusal: string(choice.Message.Refusal) + refusal, ToolCalls: callsOf(choice.Message),
		StopReason: string(choice.FinishReason), ModelVersion: string(a.Model), RequestID: string(a.ID),
		Usage: readChatUsage(a.Usage),
	}
	r.Stop = stopOfChat(&r)
	return r, nil
}

func callsOf(m *chatMessage) []eval.ToolCall {
	var calls []eval.ToolCall
	for _, c := range m.ToolCalls {
		calls = append(calls, eval.ToolCall{ID: string(c.ID), Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments)})
	}
	if len(calls) == 0 && m.Function != nil && m.Function.Name != "" {
		calls = append(calls, eval.ToolCall{Name: m.Function.Name, Arguments: json.RawMessage(m.Function.Arguments)})
	}
	return calls
}

// brokenOff tells finish reasons that mean the service failed in the middle.
func brokenOff(reason string) (json.RawMessage, bool) {
	switch reason {
	case "error", "network_error": // OpenRouter, Z.AI
		return json.RawMessage(`{"code":"server_error","message":"the service aborted the answer with an error"}`), true
	case "insufficient_system_resource": // DeepSeek
		return json.RawMessage(`{"code":"overloaded_error","message":"the service aborted the answer for lack of resources"}`), true
	}
	return nil, false
}

// contentOf reads a message's content: a string, null, or a list of parts of
// which some may be thinking.
func contentOf(raw json.RawMessage) (text, refusal string, err error) {
	if !model.Present(raw) {
		return "", "", nil
	}
	if raw[0] != '[' {
		err = json.Unmarshal(raw, &text)
		return text, "", err
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", "", err
	}
	var b strings.Builder
	for _, raw := range parts {
		if len(raw) > 0 && raw[0] == '"' {
			var s string
			_ = json.Unmarshal(raw, &s)
			b.WriteString(s)
			continue
		}
		var p struct {
			Type    model.Word `json:"type"`
			Text    model.Word `json:"text"`
			Refusal model.Word `json:"refusal"`
		}
		if err := json.Unmarshal(raw, &p); err != nil {
			return "", "", err
		}
		switch p.Type {
		case "text", "output_text", "":
			b.WriteString(string(p.Text))
		case "refusal":
			refusal += string(p.Refusal)
		}
	}
	return b.String(), refusal, nil
}

func stopOfChat(r *eval.Response) eval.Stop {
	if r.Refusal != "" {
		return eval.StopRefused
	}
	switch r.StopReason {
	case "stop", "end_turn", "eos", "stop_sequence":
		if len(r.ToolCalls) > 0 {
			return eval.StopTool // a forced call ends with "stop"
		}
		return eval.StopEnd
	case "length", "max_tokens", "model_length", "model_context_window_exceeded":
		return eval.StopLength
	case "tool_calls", "function_call", "tool_use":
		return eval.StopTool
	case "content_filter", "sensitive", "safety", "refusal":
		return eval.StopRefused
	}
	return eval.StopOther
}

type chatUsage struct {
	Prompt     model.Count `json:"prompt_tokens"`
	Completion model.Count `json:"completion_tokens"`
	Total      model.Count `json:"total_tokens"`

	PromptDetails struct {
		Cached     model.Count `json:"cached_tokens"`
		CacheWrite model.Count `json:"cache_write_tokens"` // OpenRouter
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning model.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`

	CacheHit      model.Count `json:"prompt_cache_hit_tokens"`     // DeepSeek
	Cached        model.Count `json:"cached_tokens"`               // Moonshot
	NumCached     model.Count `json:"num_cached_tokens"`           // Mistral
	CacheRead     model.Count `json:"cache_read_input_tokens"`     // proxies before Anthropic
	CacheCreation model.Count `json:"cache_creation_input_tokens"` // the same
}

func readChatUsage(raw json.RawMessage) eval.Usage {
	var u chatUsage
	_ = json.Unmarshal(raw, &u) // invalid counts must not lose the answer
	out := eval.Usage{
		Input: int(u.Prompt), Output: int(u.Completion),
		Cached:     int(cmp.Or(u.PromptDetails.Cached, u.CacheHit, u.Cached, u.NumCached, u.CacheRead)),
		CacheWrite: int(cmp.Or(u.PromptDetails.CacheWrite, u.CacheCreation)),
		Reasoning:  int(u.CompletionDetails.Reasoning),
	}
	countIn(&out, int(u.Total))
	return out
}

// countIn decides whether thinking and cached tokens are included in the output
// and input counts of the service. OpenAI includes them; xAI counts thinking
// separately, as the total shows, and so do some gateways, whose thinking exceeds
// their output.
func countIn(u *eval.Usage, total int) {
	u.CachedInInput = u.Cached+u.CacheWrite <= u.Input
	apart := u.Reasoning > u.Output || u.Reasoning > 0 && total == u.Input+u.Output+u.Reasoning
	u.ReasoningInOutput = !apart
}

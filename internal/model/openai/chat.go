package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// chatWire is the Chat Completions format. The host decides the few things in
// which services differ on the way out.
type chatWire struct {
	model.Address
	host string
}

type chatRequest struct {
	Model               string            `json:"model"`
	Messages            []model.Turn      `json:"messages"`
	MaxTokens           int               `json:"max_tokens,omitempty"`
	MaxCompletionTokens int               `json:"max_completion_tokens,omitempty"`
	Temperature         *float64          `json:"temperature,omitempty"`
	TopP                *float64          `json:"top_p,omitempty"`
	Seed                *int64            `json:"seed,omitempty"`
	Stop                []string          `json:"stop,omitempty"`
	ReasoningEffort     string            `json:"reasoning_effort,omitempty"`
	Reasoning           *chatReasoning    `json:"reasoning,omitempty"` // OpenRouter
	Thinking            map[string]string `json:"thinking,omitempty"`  // DeepSeek, Moonshot, Z.AI
	ResponseFormat      *chatFormat       `json:"response_format,omitempty"`
	Tools               []chatTool        `json:"tools,omitempty"`
	ToolChoice          *chatTool         `json:"tool_choice,omitempty"`
	PromptCacheKey      string            `json:"prompt_cache_key,omitempty"`
}

type chatReasoning struct {
	Effort    string `json:"effort,omitempty"`
	MaxTokens int    `json:"max_tokens,omitempty"`
}

type chatFormat struct {
	Type       string      `json:"type"`
	JSONSchema *chatSchema `json:"json_schema,omitempty"`
}

type chatSchema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict,omitempty"`
	Schema json.RawMessage `json:"schema"`
}

type chatTool struct {
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// Encode implements [model.Wire].
func (w chatWire) Encode(r *eval.Request, refused model.Refused) ([]byte, []string, error) {
	a := adapt(r, refused)
	s := a.Sampling()
	out := chatRequest{Model: r.Name, Temperature: s.Temperature, TopP: s.TopP, Seed: s.Seed, Stop: s.Stop, PromptCacheKey: cacheKey(w.host, a)}
	system, turns := a.Turns()
	if system != "" {
		turns = append([]model.Turn{{Role: "system", Content: system}}, turns...)
	}
	out.Messages = turns
	w.limit(&out, a)
	w.reasoning(&out, a)
	switch form := a.schemaForm(); form {
	case "json_schema":
		out.ResponseFormat = &chatFormat{Type: form, JSONSchema: &chatSchema{schemaName(r.Schema), r.Schema.Strict, r.Schema.JSON}}
	case "json_object":
		out.ResponseFormat = &chatFormat{Type: form}
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, chatTool{"function", chatFunction{t.Name, t.Description, t.Parameters}})
	}
	if r.Force != "" {
		out.ToolChoice = &chatTool{"function", chatFunction{Name: r.Force}}
	}
	body, err := eval.EncodeJSON(&out)
	return body, a.Notes, err
}

// limit sends the token limit under the name the endpoint knows: OpenAI itself
// has renamed it, most others have not.
func (w chatWire) limit(out *chatRequest, a adaptation) {
	n := a.limit()
	if n == 0 {
		return
	}
	renamed := a.traits.reasons || w.host == "api.openai.com" || strings.HasSuffix(w.host, ".azure.com")
	if a.Refuses(model.MaxTokens) {
		renamed = !renamed
		if renamed {
			a.Note("max_tokens sent as max_completion_tokens")
		} else {
			a.Note("max_completion_tokens sent as max_tokens")
		}
	}
	if renamed {
		out.MaxCompletionTokens = n
	} else {
		out.MaxTokens = n
	}
}

func (w chatWire) reasoning(out *chatRequest, a adaptation) {
	effort, budget := a.r.Reasoning.Effort, a.r.Reasoning.Budget
	switch {
	case w.host == "openrouter.ai" && (effort != "" || budget > 0):
		out.Reasoning = &chatReasoning{Effort: effort, MaxTokens: budget}
		return
	case effort == "enabled" || effort == "disabled":
		out.Thinking = map[string]string{"type": effort}
	default:
		out.ReasoningEffort = effort
	}
	if budget > 0 {
		a.Note("thinking budget dropped")
	}
}

type chatAnswer struct {
	ID      model.Word             `json:"id"`
	Model   model.Word             `json:"model"`
	Choices []chatOption           `json:"choices"`
	Usage   model.Loose[chatUsage] `json:"usage"`
	Error   json.RawMessage        `json:"error"`
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
	err := json.Unmarshal(body, &a)
	r := eval.Response{Usage: a.Usage.Value.read()}
	if err != nil {
		return r, model.Malformed("reading the completion: %v", err)
	}
	switch {
	case model.Present(a.Error):
		return r, model.InBody(a.Error)
	case len(a.Choices) == 0:
		return r, model.Malformed("the answer has no choices")
	case model.Present(a.Choices[0].Error):
		return r, model.InBody(a.Choices[0].Error)
	case a.Choices[0].Message == nil:
		return r, model.Malformed("the answer's choice has no message")
	}
	choice := a.Choices[0]
	text, refusal, err := contentOf(choice.Message.Content)
	if err != nil {
		return r, model.Malformed("reading the completion's content: %v", err)
	}
	r.Text, r.Refusal, r.ToolCalls = text, string(choice.Message.Refusal)+refusal, callsOf(choice.Message)
	r.ModelVersion, r.RequestID = string(a.Model), string(a.ID)
	return r, model.End(&r, string(choice.FinishReason), "")
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
			Text    string     `json:"text"`
			Refusal string     `json:"refusal"`
		}
		if err := json.Unmarshal(raw, &p); err != nil {
			return "", "", err
		}
		switch p.Type {
		case "text", "output_text", "":
			b.WriteString(p.Text)
		case "refusal":
			refusal += p.Refusal
		}
	}
	return b.String(), refusal, nil
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

func (u chatUsage) read() eval.Usage {
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
// their output, or which have it in the total only. Gateways before Bedrock and Anthropic
// add cached tokens to the total.
func countIn(u *eval.Usage, total int) {
	cached, rest := u.Cached+u.CacheWrite, total-u.Input-u.Output
	u.CachedInInput = cached <= u.Input && (cached == 0 || cached != rest || cached == u.Reasoning)
	if u.Input > 0 && u.Reasoning == 0 && rest > 0 && rest != cached {
		u.Reasoning = rest
	}
	apart := u.Reasoning > u.Output || u.Reasoning > 0 && total == u.Input+u.Output+u.Reasoning
	u.ReasoningInOutput = !apart
}

package openai

import (
	"encoding/json"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// chatWire is the Chat Completions format. The host decides the few things in
// which services differ on the way out.
type chatWire struct {
	url  string
	host string
}

type chatRequest struct {
	Model               string         `json:"model"`
	Messages            []model.Turn   `json:"messages"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	Temperature         *float64       `json:"temperature,omitempty"`
	TopP                *float64       `json:"top_p,omitempty"`
	Seed                *int64         `json:"seed,omitempty"`
	Stop                []string       `json:"stop,omitempty"`
	ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
	Reasoning           *chatReasoning `json:"reasoning,omitempty"` // OpenRouter
	Thinking            *chatThinking  `json:"thinking,omitempty"`  // DeepSeek, Moonshot, Z.AI
	ResponseFormat      *chatFormat    `json:"response_format,omitempty"`
	Tools               []chatTool     `json:"tools,omitempty"`
	ToolChoice          *chatChoice    `json:"tool_choice,omitempty"`
	PromptCacheKey      string         `json:"prompt_cache_key,omitempty"`
}

type chatReasoning struct {
	Effort    string `json:"effort,omitempty"`
	MaxTokens int    `json:"max_tokens,omitempty"`
}

type chatThinking struct {
	Type string `json:"type"`
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

type chatChoice struct {
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

// Encode implements [model.Wire].
func (w chatWire) Encode(r *eval.Request, refused model.Refused) ([]byte, []string, error) {
	a := adapt(r, refused)
	s := a.Sampling()
	out := chatRequest{Model: r.Name, Temperature: s.Temperature, TopP: s.TopP, Seed: s.Seed, Stop: s.Stop, PromptCacheKey: cacheKey(w.host, r)}
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
		out.ToolChoice = &chatChoice{"function", chatFunction{Name: r.Force}}
	}
	body, err := model.EncodeJSON(&out)
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
		out.Thinking = &chatThinking{Type: effort}
	default:
		out.ReasoningEffort = effort
	}
	if budget > 0 {
		a.Note("thinking budget dropped")
	}
}

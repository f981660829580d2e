package sdk_test

import (
	"encoding/json"
	"strconv"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model/openai"
)

func chatFormat() format {
	return format{
		name: "openai", path: "/v1", model: "gpt-4.1", headers: []string{"Authorization"}, open: openai.NewChat,
		answer: `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`,
		send:   sendChat, read: readChat,
		// Thinking is counted apart in 16 answers of xAI and 9 of Vercel's gateway.
		want: tally{answers: 244, calls: 118, apart: 27},
	}
}

func newOpenAI(base string) sdk.Client {
	return sdk.NewClient(option.WithBaseURL(base), option.WithAPIKey(key), option.WithMaxRetries(0))
}

func sendChat(t *testing.T, base string, r *eval.Request) {
	t.Helper()
	p := sdk.ChatCompletionNewParams{Model: r.Name, ReasoningEffort: shared.ReasoningEffort(r.Reasoning.Effort)}
	if r.System != "" {
		p.Messages = append(p.Messages, sdk.SystemMessage(r.System))
	}
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			p.Messages = append(p.Messages, sdk.AssistantMessage(m.Content))
		} else {
			p.Messages = append(p.Messages, sdk.UserMessage(m.Content))
		}
	}
	// The host of the test is not OpenAI's own, so the limit has its old name,
	// which every service knows.
	if n := r.MaxTokens + r.Allowance; n > 0 {
		p.MaxTokens = sdk.Int(int64(n))
	}
	if r.Sampling.Temperature != nil {
		p.Temperature = sdk.Float(*r.Sampling.Temperature)
	}
	if r.Sampling.TopP != nil {
		p.TopP = sdk.Float(*r.Sampling.TopP)
	}
	if r.Sampling.Seed != nil {
		p.Seed = sdk.Int(*r.Sampling.Seed)
	}
	if len(r.Sampling.Stop) > 0 {
		p.Stop = sdk.ChatCompletionNewParamsStopUnion{OfStringArray: r.Sampling.Stop}
	}
	if r.Schema != nil {
		p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
			Name: r.Schema.Name, Strict: sdk.Bool(r.Schema.Strict), Schema: object(t, r.Schema.JSON)}}
	}
	for _, tool := range r.Tools {
		f := shared.FunctionDefinitionParam{Name: tool.Name, Parameters: object(t, tool.Parameters)}
		if tool.Description != "" {
			f.Description = sdk.String(tool.Description)
		}
		p.Tools = append(p.Tools, sdk.ChatCompletionFunctionTool(f))
	}
	if r.Force != "" {
		p.ToolChoice = sdk.ToolChoiceOptionFunctionToolChoice(sdk.ChatCompletionNamedToolChoiceFunctionParam{Name: r.Force})
	}
	client := newOpenAI(base)
	if _, err := client.Chat.Completions.New(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func readChat(body string) (eval.Response, error) {
	var c sdk.ChatCompletion
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		return eval.Response{}, err
	}
	r := eval.Response{ModelVersion: c.Model, RequestID: c.ID, Usage: chatUsage(c.Usage)}
	if len(c.Choices) > 0 {
		r.Text, r.Refusal, r.StopReason = c.Choices[0].Message.Content, c.Choices[0].Message.Refusal, c.Choices[0].FinishReason
		r.Stop = map[string]eval.Stop{"stop": eval.StopEnd, "tool_calls": eval.StopTool}[r.StopReason]
		for _, call := range c.Choices[0].Message.ToolCalls {
			f := call.AsFunction()
			r.ToolCalls = append(r.ToolCalls, eval.ToolCall{ID: f.ID, Name: f.Function.Name, Arguments: json.RawMessage(f.Function.Arguments)})
		}
	}
	return r, nil
}

func chatUsage(u sdk.CompletionUsage) eval.Usage {
	prompt, completion, reasoning := int(u.PromptTokens), int(u.CompletionTokens), int(u.CompletionTokensDetails.ReasoningTokens)
	cached := int(u.PromptTokensDetails.CachedTokens)
	for _, name := range []string{"prompt_cache_hit_tokens", "num_cached_tokens"} { // DeepSeek, Mistral
		if n, err := strconv.Atoi(u.JSON.ExtraFields[name].Raw()); err == nil && cached == 0 {
			cached = n
		}
	}
	return eval.Usage{
		Input: prompt, Output: completion, Cached: cached, CacheWrite: int(u.PromptTokensDetails.CacheWriteTokens), Reasoning: reasoning,
		CachedInInput: true,
		// xAI's total adds the thinking to the output; Vercel's gateway reports
		// more thinking than output for Gemini.
		ReasoningInOutput: reasoning <= completion && (reasoning == 0 || prompt+completion+reasoning != int(u.TotalTokens)),
	}
}

func responsesFormat() format {
	return format{
		name: "openai_responses", path: "/v1", model: "gpt-4.1", headers: []string{"Authorization"}, open: openai.NewResponses,
		answer: `{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}]}`,
		send:   sendResponse, read: readResponse, want: tally{answers: 176, calls: 44},
	}
}

func sendResponse(t *testing.T, base string, r *eval.Request) {
	t.Helper()
	p := responses.ResponseNewParams{Model: r.Name, Store: sdk.Bool(false)} // Scruple leaves nothing at the provider
	if r.System != "" {
		p.Instructions = sdk.String(r.System)
	}
	for _, m := range r.Messages {
		item := responses.ResponseInputItemParamOfMessage(m.Content, responses.EasyInputMessageRole(m.Role))
		p.Input.OfInputItemList = append(p.Input.OfInputItemList, item)
	}
	if n := r.MaxTokens + r.Allowance; n > 0 {
		p.MaxOutputTokens = sdk.Int(int64(n))
	}
	if r.Sampling.Temperature != nil {
		p.Temperature = sdk.Float(*r.Sampling.Temperature)
	}
	if r.Sampling.TopP != nil {
		p.TopP = sdk.Float(*r.Sampling.TopP)
	}
	p.Reasoning.Effort = shared.ReasoningEffort(r.Reasoning.Effort)
	if r.Schema != nil {
		p.Text.Format.OfJSONSchema = &responses.ResponseFormatTextJSONSchemaConfigParam{
			Name: r.Schema.Name, Strict: sdk.Bool(r.Schema.Strict), Schema: object(t, r.Schema.JSON)}
	}
	for _, tool := range r.Tools {
		union := responses.ToolParamOfFunction(tool.Name, object(t, tool.Parameters), false)
		if tool.Description != "" {
			union.OfFunction.Description = sdk.String(tool.Description)
		}
		p.Tools = append(p.Tools, union)
	}
	if r.Force != "" {
		p.ToolChoice.OfFunctionTool = &responses.ToolChoiceFunctionParam{Name: r.Force}
	}
	client := newOpenAI(base)
	if _, err := client.Responses.New(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func readResponse(body string) (eval.Response, error) {
	var v responses.Response
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		return eval.Response{}, err
	}
	u := v.Usage
	r := eval.Response{Text: v.OutputText(), StopReason: string(v.Status), ModelVersion: v.Model, RequestID: v.ID, Stop: eval.StopEnd,
		Usage: eval.Usage{
			Input: int(u.InputTokens), Output: int(u.OutputTokens), Cached: int(u.InputTokensDetails.CachedTokens), CacheWrite: int(u.InputTokensDetails.CacheWriteTokens),
			Reasoning: int(u.OutputTokensDetails.ReasoningTokens), CachedInInput: true, ReasoningInOutput: true,
		}}
	for _, item := range v.Output {
		if call, ok := item.AsAny().(responses.ResponseFunctionToolCall); ok {
			r.ToolCalls = append(r.ToolCalls, eval.ToolCall{ID: call.CallID, Name: call.Name, Arguments: json.RawMessage(call.Arguments)})
			r.Stop = eval.StopTool
		}
	}
	if v.Status == responses.ResponseStatusQueued || v.Status == responses.ResponseStatusInProgress { // in the background, which Scruple never asks for
		r.Stop = eval.StopOther
	}
	return r, nil
}

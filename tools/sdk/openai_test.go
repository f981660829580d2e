package sdk_test

import (
	"encoding/json"
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
	r := eval.Response{ModelVersion: c.Model, RequestID: c.ID, Usage: eval.Usage{Input: int(c.Usage.PromptTokens), Output: int(c.Usage.CompletionTokens)}}
	if len(c.Choices) > 0 {
		r.Text, r.StopReason = c.Choices[0].Message.Content, c.Choices[0].FinishReason
		for _, call := range c.Choices[0].Message.ToolCalls {
			f := call.AsFunction()
			r.ToolCalls = append(r.ToolCalls, eval.ToolCall{ID: f.ID, Name: f.Function.Name, Arguments: json.RawMessage(f.Function.Arguments)})
		}
	}
	return r, nil
}

func responsesFormat() format {
	return format{
		name: "openai_responses", path: "/v1", model: "gpt-4.1", headers: []string{"Authorization"}, open: openai.NewResponses,
		answer: `{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}]}`,
		send:   sendResponse, read: readResponse,
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
	r := eval.Response{Text: v.OutputText(), StopReason: string(v.Status), ModelVersion: v.Model, RequestID: v.ID,
		Usage: eval.Usage{Input: int(v.Usage.InputTokens), Output: int(v.Usage.OutputTokens)}}
	for _, item := range v.Output {
		if call, ok := item.AsAny().(responses.ResponseFunctionToolCall); ok {
			r.ToolCalls = append(r.ToolCalls, eval.ToolCall{ID: call.CallID, Name: call.Name, Arguments: json.RawMessage(call.Arguments)})
		}
	}
	return r, nil
}

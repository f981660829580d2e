package sdk_test

import (
	"encoding/json"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model/anthropic"
)

func anthropicFormat() format {
	return format{
		name: "anthropic", model: "claude-sonnet-4-5", headers: []string{"X-Api-Key", "Anthropic-Version"}, open: anthropic.New,
		answer: `{"type":"message","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}`,
		send:   sendAnthropic, read: readAnthropic, want: tally{answers: 168, calls: 79},
		broken: map[string]string{
			"pydantic-ai:tests/models/cassettes/test_anthropic/test_anthropic_web_fetch_tool.yaml#0": "the collection broke its JSON",
		},
	}
}

func sendAnthropic(t *testing.T, base string, r *eval.Request) {
	t.Helper()
	p := sdk.MessageNewParams{Model: sdk.Model(r.Name), MaxTokens: int64(r.MaxTokens + r.Allowance), StopSequences: r.Sampling.Stop}
	if p.MaxTokens == 0 {
		p.MaxTokens = 8192 // the API requires a limit
	}
	if r.System != "" {
		p.System = []sdk.TextBlockParam{{Text: r.System}}
	}
	for _, m := range r.Messages {
		p.Messages = append(p.Messages, sdk.MessageParam{Role: sdk.MessageParamRole(m.Role), Content: []sdk.ContentBlockParamUnion{sdk.NewTextBlock(m.Content)}})
	}
	if budget := r.Reasoning.Budget; budget > 0 {
		p.Thinking = sdk.ThinkingConfigParamOfEnabled(int64(budget))
		if p.MaxTokens <= int64(budget) { // the limit includes the thinking
			p.MaxTokens += int64(budget)
		}
	} else { // thinking allows neither
		if r.Sampling.Temperature != nil {
			p.Temperature = sdk.Float(*r.Sampling.Temperature)
		}
		if r.Sampling.TopP != nil {
			p.TopP = sdk.Float(*r.Sampling.TopP)
		}
	}
	p.OutputConfig.Effort = sdk.OutputConfigEffort(r.Reasoning.Effort)
	if r.Schema != nil {
		p.OutputConfig.Format = sdk.JSONOutputFormatParam{Schema: object(t, r.Schema.JSON)}
	}
	for _, tool := range r.Tools {
		schema := object(t, tool.Parameters)
		in := sdk.ToolInputSchemaParam{Properties: schema["properties"], ExtraFields: map[string]any{}}
		for name, value := range schema {
			if name != "properties" && name != "type" {
				in.ExtraFields[name] = value
			}
		}
		union := sdk.ToolUnionParamOfTool(in, tool.Name)
		if tool.Description != "" {
			union.OfTool.Description = sdk.String(tool.Description)
		}
		p.Tools = append(p.Tools, union)
	}
	switch {
	case r.Force != "" && r.Reasoning.Budget > 0: // thinking allows no forced tool
		p.ToolChoice = sdk.ToolChoiceUnionParam{OfAuto: &sdk.ToolChoiceAutoParam{}}
	case r.Force != "":
		p.ToolChoice = sdk.ToolChoiceParamOfTool(r.Force)
	}
	client := sdk.NewClient(option.WithoutEnvironmentDefaults(), option.WithBaseURL(base), option.WithAPIKey(key), option.WithMaxRetries(0))
	if _, err := client.Messages.New(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func readAnthropic(body string) (eval.Response, error) {
	var m sdk.Message
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return eval.Response{}, err
	}
	u := m.Usage
	r := eval.Response{StopReason: string(m.StopReason), ModelVersion: string(m.Model), RequestID: m.ID,
		Stop: map[sdk.StopReason]eval.Stop{sdk.StopReasonEndTurn: eval.StopEnd, sdk.StopReasonStopSequence: eval.StopEnd, sdk.StopReasonToolUse: eval.StopTool}[m.StopReason],
		Usage: eval.Usage{
			Input: int(u.InputTokens), Output: int(u.OutputTokens), Cached: int(u.CacheReadInputTokens), CacheWrite: int(u.CacheCreationInputTokens),
			Reasoning: int(u.OutputTokensDetails.ThinkingTokens), ReasoningInOutput: true,
		}}
	for _, block := range m.Content {
		switch b := block.AsAny().(type) {
		case sdk.TextBlock:
			r.Text += b.Text
		case sdk.ToolUseBlock:
			r.ToolCalls = append(r.ToolCalls, eval.ToolCall{ID: b.ID, Name: b.Name, Arguments: b.Input})
		}
	}
	return r, nil
}

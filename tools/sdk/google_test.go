package sdk_test

import (
	"encoding/json"
	"testing"

	"google.golang.org/genai"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model/google"
)

func googleFormat() format {
	return format{
		name: "google", model: "gemini-2.5-flash", headers: []string{"X-Goog-Api-Key"}, open: google.New,
		answer: `{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}`,
		send:   sendGoogle, read: readGoogle,
		// Refused: a blocked prompt, and answers ended by SAFETY and MODEL_ARMOR.
		want: tally{answers: 167, calls: 52, refused: 3, apart: 167},
	}
}

func sendGoogle(t *testing.T, base string, r *eval.Request) {
	t.Helper()
	c := &genai.GenerateContentConfig{MaxOutputTokens: int32(r.MaxTokens + r.Allowance), StopSequences: r.Sampling.Stop}
	if r.System != "" {
		c.SystemInstruction = &genai.Content{Parts: []*genai.Part{{Text: r.System}}}
	}
	var contents []*genai.Content
	for _, m := range r.Messages {
		role := genai.RoleUser
		if m.Role == "assistant" {
			role = genai.RoleModel
		}
		contents = append(contents, &genai.Content{Role: role, Parts: []*genai.Part{{Text: m.Content}}})
	}
	if r.Sampling.Temperature != nil {
		c.Temperature = genai.Ptr(float32(*r.Sampling.Temperature))
	}
	if r.Sampling.TopP != nil {
		c.TopP = genai.Ptr(float32(*r.Sampling.TopP))
	}
	if r.Sampling.Seed != nil {
		c.Seed = genai.Ptr(int32(*r.Sampling.Seed))
	}
	if r.Reasoning.Effort != "" {
		c.ThinkingConfig = &genai.ThinkingConfig{ThinkingLevel: genai.ThinkingLevel(r.Reasoning.Effort)}
	}
	if r.Reasoning.Budget > 0 {
		c.ThinkingConfig = &genai.ThinkingConfig{ThinkingBudget: genai.Ptr(int32(r.Reasoning.Budget))}
	}
	if r.Schema != nil {
		c.ResponseMIMEType, c.ResponseJsonSchema = "application/json", object(t, r.Schema.JSON)
	}
	if len(r.Tools) > 0 {
		var tool genai.Tool
		for _, f := range r.Tools {
			tool.FunctionDeclarations = append(tool.FunctionDeclarations,
				&genai.FunctionDeclaration{Name: f.Name, Description: f.Description, ParametersJsonSchema: object(t, f.Parameters)})
		}
		c.Tools = []*genai.Tool{&tool}
	}
	if r.Force != "" {
		c.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{
			Mode: genai.FunctionCallingConfigModeAny, AllowedFunctionNames: []string{r.Force}}}
	}
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{Backend: genai.BackendGeminiAPI, APIKey: key, HTTPOptions: genai.HTTPOptions{BaseURL: base + "/"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Models.GenerateContent(t.Context(), r.Name, contents, c); err != nil {
		t.Fatal(err)
	}
}

func readGoogle(body string) (eval.Response, error) {
	var v genai.GenerateContentResponse
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		return eval.Response{}, err
	}
	r := eval.Response{ModelVersion: v.ModelVersion, RequestID: v.ResponseID}
	if u := v.UsageMetadata; u != nil {
		r.Usage = eval.Usage{
			Input: int(u.PromptTokenCount + u.ToolUsePromptTokenCount), Output: int(u.CandidatesTokenCount), Cached: int(u.CachedContentTokenCount),
			Reasoning: int(u.ThoughtsTokenCount), CachedInInput: true,
		}
	}
	if len(v.Candidates) == 0 { // the prompt was blocked
		r.Stop, r.StopReason, r.Refusal = eval.StopRefused, string(v.PromptFeedback.BlockReason), v.PromptFeedback.BlockReasonMessage
		return r, nil
	}
	candidate := v.Candidates[0]
	r.StopReason = string(candidate.FinishReason)
	switch candidate.FinishReason {
	case genai.FinishReasonStop:
		r.Stop = eval.StopEnd
	case genai.FinishReasonMaxTokens:
		r.Stop = eval.StopLength
	case genai.FinishReasonSafety, "MODEL_ARMOR":
		r.Stop, r.Refusal = eval.StopRefused, candidate.FinishMessage
	}
	if candidate.Content == nil {
		return r, nil
	}
	var written struct { // the SDK reads arguments into a map
		Candidates []struct {
			Content struct {
				Parts []struct {
					FunctionCall struct{ Args json.RawMessage }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &written); err != nil {
		return r, err
	}
	for i, p := range candidate.Content.Parts {
		if !p.Thought {
			r.Text += p.Text
		}
		if f := p.FunctionCall; f != nil {
			arguments := written.Candidates[0].Content.Parts[i].FunctionCall.Args
			r.ToolCalls = append(r.ToolCalls, eval.ToolCall{ID: f.ID, Name: f.Name, Arguments: arguments})
		}
	}
	if r.Stop == eval.StopEnd && len(r.ToolCalls) > 0 {
		r.Stop = eval.StopTool
	}
	return r, nil
}

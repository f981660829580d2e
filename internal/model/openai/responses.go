package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// responsesWire is the Responses format.
type responsesWire struct {
	model.Address
	host string
}

type responsesRequest struct {
	Model           string                     `json:"model"`
	Instructions    string                     `json:"instructions,omitempty"`
	Input           []model.Turn               `json:"input"`
	MaxOutputTokens int                        `json:"max_output_tokens,omitempty"`
	Temperature     *float64                   `json:"temperature,omitempty"`
	TopP            *float64                   `json:"top_p,omitempty"`
	Reasoning       map[string]string          `json:"reasoning,omitempty"`
	Text            map[string]responsesFormat `json:"text,omitempty"`
	Tools           []responsesTool            `json:"tools,omitempty"`
	ToolChoice      *responsesChoice           `json:"tool_choice,omitempty"`
	Store           bool                       `json:"store"` // a study's items are not left with the provider
	PromptCacheKey  string                     `json:"prompt_cache_key,omitempty"`
}

type responsesFormat struct {
	Type   string          `json:"type"`
	Name   string          `json:"name,omitempty"`
	Strict bool            `json:"strict,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"` // true unless said otherwise, which would rewrite the schema
}

type responsesChoice struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// Encode implements [model.Wire].
func (w responsesWire) Encode(r *eval.Request, refused model.Refused) ([]byte, []string, error) {
	a := adapt(r, refused|model.Seed|model.StopWords) // the format has neither
	s := a.Sampling()
	out := responsesRequest{Model: r.Name, Temperature: s.Temperature, TopP: s.TopP, PromptCacheKey: cacheKey(w.host, a, "api.x.ai")}
	out.Instructions, out.Input = a.Turns()
	if r.MaxTokens > 0 && !a.Drops(model.MaxTokens, "max_output_tokens") {
		out.MaxOutputTokens = a.limit()
	}
	if r.Reasoning.Effort != "" {
		out.Reasoning = map[string]string{"effort": r.Reasoning.Effort}
	}
	if r.Reasoning.Budget > 0 {
		a.Note("thinking budget dropped")
	}
	switch form := a.schemaForm(); form {
	case "json_schema":
		out.Text = map[string]responsesFormat{"format": {form, schemaName(r.Schema), r.Schema.Strict, r.Schema.JSON}}
	case "json_object":
		out.Text = map[string]responsesFormat{"format": {Type: form}}
	}
	for _, t := range r.Tools {
		parameters := t.Parameters
		if len(parameters) == 0 {
			parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		out.Tools = append(out.Tools, responsesTool{Type: "function", Name: t.Name, Description: t.Description, Parameters: parameters})
	}
	if r.Force != "" {
		out.ToolChoice = &responsesChoice{"function", r.Force}
	}
	body, err := eval.EncodeJSON(&out)
	return body, a.Notes, err
}

type responsesAnswer struct {
	ID         model.Word                  `json:"id"`
	Model      model.Word                  `json:"model"`
	Status     model.Word                  `json:"status"`
	Incomplete model.Loose[incomplete]     `json:"incomplete_details"`
	Output     []responsesItem             `json:"output"`
	Usage      model.Loose[responsesUsage] `json:"usage"`
	Error      json.RawMessage             `json:"error"`
}

type incomplete struct {
	Reason model.Word `json:"reason"`
}

type responsesItem struct {
	Type      string          `json:"type"`
	Phase     model.Word      `json:"phase"` // of a message: commentary or final_answer
	Content   json.RawMessage `json:"content"`
	CallID    model.Word      `json:"call_id"`
	Name      model.Word      `json:"name"`
	Arguments model.Arguments `json:"arguments"`
}

// Decode reads a response: the text of its messages and its function calls.
// Reasoning and tools that ran on the server are neither, nor is commentary beside a
// final answer.
func (responsesWire) Decode(body []byte) (eval.Response, error) {
	var a responsesAnswer
	err := json.Unmarshal(body, &a)
	r := eval.Response{Usage: a.Usage.Value.read()}
	if err != nil {
		return r, model.Malformed("reading the response: %v", err)
	}
	switch {
	case model.Present(a.Error):
		return r, model.InBody(a.Error)
	case a.Status == "failed":
		return r, model.InBody(json.RawMessage(`{"code":"server_error","message":"the response failed"}`))
	case a.Output == nil && a.Status != "incomplete":
		return r, model.Malformed("the answer has no output and the status %q", a.Status)
	case !slices.Contains([]model.Word{"completed", "complete", "incomplete", ""}, a.Status): // it has not ended, or is from a gateway
		return r, model.Malformed("the answer has the status %q", a.Status)
	}
	r.ModelVersion, r.RequestID = string(a.Model), string(a.ID)
	var texts []string
	final := slices.ContainsFunc(a.Output, func(item responsesItem) bool { return item.Phase == "final_answer" })
	for _, item := range a.Output {
		switch item.Type {
		case "message":
			text, refusal, err := contentOf(item.Content)
			if err != nil {
				return r, model.Malformed("reading the response's content: %v", err)
			}
			if text != "" && (!final || item.Phase == "final_answer") {
				texts = append(texts, text)
			}
			r.Refusal += refusal
		case "function_call":
			r.ToolCalls = append(r.ToolCalls, eval.ToolCall{ID: string(item.CallID), Name: string(item.Name), Arguments: json.RawMessage(item.Arguments)})
		}
	}
	r.Text = strings.Join(texts, "\n\n")
	reason := a.Status
	if reason == "incomplete" {
		reason = cmp.Or(a.Incomplete.Value.Reason, reason)
	}
	return r, model.End(&r, string(reason), "")
}

type responsesUsage struct {
	Input        model.Count `json:"input_tokens"`
	Output       model.Count `json:"output_tokens"`
	Total        model.Count `json:"total_tokens"`
	InputDetails struct {
		Cached     model.Count `json:"cached_tokens"`
		CacheWrite model.Count `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning model.Count `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

func (u responsesUsage) read() eval.Usage {
	out := eval.Usage{
		Input: int(u.Input), Output: int(u.Output), Cached: int(u.InputDetails.Cached), CacheWrite: int(u.InputDetails.CacheWrite),
		Reasoning: int(u.OutputDetails.Reasoning),
	}
	countIn(&out, int(u.Total))
	return out
}

// Package google calls Gemini models with generateContent, a format that it alone knows.
// tools/sdk tests it against the official SDK.
//
// The package must not know any other provider, nor who asks or why.
package google

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// BaseURL is Google's own endpoint.
const BaseURL = "https://generativelanguage.googleapis.com"

// versions are the API versions a base URL may end with; the first is the
// default.
var versions = []string{"v1beta", "v1alpha", "v1"}

// New returns a client for an endpoint, given with or without its version, such
// as /v1beta.
func New(e model.Endpoint) (*model.Caller, error) {
	base, err := e.Base(BaseURL)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(versions, func(v string) bool { return strings.HasSuffix(base, "/"+v) }) {
		base += "/" + versions[0]
	}
	header := http.Header{}
	if e.APIKey != "" {
		header.Set("X-Goog-Api-Key", e.APIKey)
	}
	return model.NewCaller(wire{base}, e, header), nil
}

// wire is the generateContent format below a base URL.
type wire struct{ base string }

// modelName is a model's name, or the path of one such as tunedModels/mine.
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]*(/[A-Za-z0-9][A-Za-z0-9._@-]*)*$`)

// URL implements [model.Wire]. The model's name is part of the path.
func (w wire) URL(r *eval.Request) (string, error) {
	name := r.Name
	if !modelName.MatchString(name) {
		return "", fmt.Errorf("model name %q: must be a name such as gemini-2.5-flash, or a path such as tunedModels/mine", name)
	}
	if !strings.HasPrefix(name, "models/") && !strings.HasPrefix(name, "tunedModels/") {
		name = "models/" + name
	}
	return w.base + "/" + name + ":generateContent", nil
}

type request struct {
	SystemInstruction *content                   `json:"systemInstruction,omitempty"`
	Contents          []content                  `json:"contents"`
	GenerationConfig  generation                 `json:"generationConfig,omitzero"`
	Tools             []map[string][]function    `json:"tools,omitempty"`
	ToolConfig        map[string]functionCalling `json:"toolConfig,omitempty"`
}

type content struct {
	Role  string              `json:"role,omitempty"`
	Parts []map[string]string `json:"parts"`
}

type generation struct {
	Temperature        *float64        `json:"temperature,omitempty"`
	TopP               *float64        `json:"topP,omitempty"`
	Seed               *int64          `json:"seed,omitempty"`
	StopSequences      []string        `json:"stopSequences,omitempty"`
	MaxOutputTokens    int             `json:"maxOutputTokens,omitempty"`
	ResponseMIMEType   string          `json:"responseMimeType,omitempty"`
	ResponseJSONSchema json.RawMessage `json:"responseJsonSchema,omitempty"`
	ThinkingConfig     *thinking       `json:"thinkingConfig,omitempty"`
}

type thinking struct {
	Level  string `json:"thinkingLevel,omitempty"`
	Budget int    `json:"thinkingBudget,omitempty"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

type functionCalling struct {
	Mode    string   `json:"mode"`
	Allowed []string `json:"allowedFunctionNames"`
}

// Encode implements [model.Wire].
func (wire) Encode(r *eval.Request, refused model.Refused) ([]byte, []string, error) {
	a := model.Adapt(r, refused)
	var out request
	system, turns := a.Turns() // Gemma takes no system prompt
	if system != "" {
		out.SystemInstruction = &content{Parts: []map[string]string{{"text": system}}}
	}
	out.Contents = make([]content, len(turns))
	for i, t := range turns {
		if t.Role == "assistant" {
			t.Role = "model"
		}
		out.Contents[i] = content{t.Role, []map[string]string{{"text": t.Content}}}
	}
	out.GenerationConfig = generationOf(r, a)
	var declared []function
	for _, t := range r.Tools {
		declared = append(declared, function{t.Name, t.Description, t.Parameters})
	}
	if declared != nil {
		out.Tools = []map[string][]function{{"functionDeclarations": declared}}
	}
	if r.Force != "" {
		out.ToolConfig = map[string]functionCalling{"functionCallingConfig": {"ANY", []string{r.Force}}}
	}
	body, err := eval.EncodeJSON(&out)
	return body, a.Notes, err
}

func generationOf(r *eval.Request, a *model.Adaptation) generation {
	s := a.Sampling()
	g := generation{Temperature: s.Temperature, TopP: s.TopP, Seed: s.Seed, StopSequences: s.Stop}
	if r.MaxTokens > 0 && !a.Drops(model.MaxTokens, "max_tokens") {
		g.MaxOutputTokens = r.MaxTokens + r.Allowance // thinking counts in the limit
	}
	if r.Schema != nil && !a.Drops(model.JSONSchema, "json schema") {
		g.ResponseMIMEType, g.ResponseJSONSchema = "application/json", r.Schema.JSON
	}
	if t := r.Reasoning; t.Effort != "" || t.Budget > 0 {
		g.ThinkingConfig = &thinking{t.Effort, t.Budget}
	}
	return g
}

type answer struct {
	Candidates     []candidate           `json:"candidates"`
	PromptFeedback model.Loose[feedback] `json:"promptFeedback"`
	Usage          model.Loose[usage]    `json:"usageMetadata"`
	ModelVersion   model.Word            `json:"modelVersion"`
	ResponseID     model.Word            `json:"responseId"`
	Error          json.RawMessage       `json:"error"`
}

type feedback struct {
	BlockReason  model.Word `json:"blockReason"`
	BlockMessage model.Word `json:"blockReasonMessage"`
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
	err := json.Unmarshal(body, &a)
	r := eval.Response{Usage: a.Usage.Value.read()}
	if err != nil {
		return r, model.Malformed("reading the answer: %v", err)
	}
	if model.Present(a.Error) {
		return r, model.InBody(a.Error)
	}
	r.ModelVersion, r.RequestID = string(a.ModelVersion), string(a.ResponseID)
	if len(a.Candidates) == 0 {
		f := a.PromptFeedback.Value
		if f.BlockReason == "" {
			return r, model.Malformed("the answer has no candidates")
		}
		r.Stop, r.StopReason, r.Refusal = eval.StopRefused, string(f.BlockReason), string(f.BlockMessage)
		return r, nil
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
	r.Text = text.String()
	return r, model.End(&r, string(c.FinishReason), string(c.FinishMessage))
}

type usage struct {
	Prompt     model.Count `json:"promptTokenCount"`
	Candidates model.Count `json:"candidatesTokenCount"`
	Cached     model.Count `json:"cachedContentTokenCount"`
	Thoughts   model.Count `json:"thoughtsTokenCount"`
	Tools      model.Count `json:"toolUsePromptTokenCount"` // results of the provider's own tools
}

// read reads token counts. Gemini counts cached tokens within the prompt, and apart
// from each other the prompt, what its own tools added to it, candidates and thoughts.
func (u usage) read() eval.Usage {
	return eval.Usage{
		Input: int(u.Prompt) + int(u.Tools), Output: int(u.Candidates), Cached: int(u.Cached), Reasoning: int(u.Thoughts),
		CachedInInput: true,
	}
}

package google

import (
	"encoding/json"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

type request struct {
	SystemInstruction *content    `json:"systemInstruction,omitempty"`
	Contents          []content   `json:"contents"`
	GenerationConfig  generation  `json:"generationConfig,omitzero"`
	Tools             []tools     `json:"tools,omitempty"`
	ToolConfig        *toolConfig `json:"toolConfig,omitempty"`
}

type content struct {
	Role  string     `json:"role,omitempty"`
	Parts []textPart `json:"parts"`
}

type textPart struct {
	Text string `json:"text"`
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

type tools struct {
	FunctionDeclarations []function `json:"functionDeclarations"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

type toolConfig struct {
	FunctionCalling functionCalling `json:"functionCallingConfig"`
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
		out.SystemInstruction = &content{Parts: []textPart{{system}}}
	}
	out.Contents = make([]content, len(turns))
	for i, t := range turns {
		if t.Role == "assistant" {
			t.Role = "model"
		}
		out.Contents[i] = content{t.Role, []textPart{{t.Content}}}
	}
	out.GenerationConfig = generationOf(r, a)
	if len(r.Tools) > 0 {
		out.Tools = []tools{{}}
		for _, t := range r.Tools {
			out.Tools[0].FunctionDeclarations = append(out.Tools[0].FunctionDeclarations, function{t.Name, t.Description, t.Parameters})
		}
	}
	if r.Force != "" {
		out.ToolConfig = &toolConfig{functionCalling{"ANY", []string{r.Force}}}
	}
	body, err := model.EncodeJSON(&out)
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

package google

import (
	"encoding/json"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

type request struct {
	SystemInstruction *content    `json:"systemInstruction,omitempty"`
	Contents          []content   `json:"contents"`
	GenerationConfig  *generation `json:"generationConfig,omitempty"`
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
	e := encoder{r: r, refused: refused}
	var out request
	e.contents(&out)
	out.GenerationConfig = e.generation()
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
	return body, e.adapted, err
}

type encoder struct {
	r       *eval.Request
	refused model.Refused
	adapted []string
}

// dropped reports whether a parameter that was asked for is left out, and
// notes it.
func (e *encoder) dropped(sent bool, p model.Refused, name string) bool {
	if !sent || !e.refused.Has(p) {
		return false
	}
	e.adapted = append(e.adapted, name+" dropped")
	return true
}

func (e *encoder) contents(out *request) {
	out.Contents = make([]content, 0, len(e.r.Messages))
	for _, m := range e.r.Messages {
		role := m.Role
		if role == "assistant" {
			role = "model"
		}
		out.Contents = append(out.Contents, content{role, []textPart{{m.Content}}})
	}
	switch {
	case e.r.System == "":
	case e.refused.Has(model.SystemRole): // Gemma takes none
		e.adapted = append(e.adapted, "system prompt sent in the first message")
		if len(out.Contents) > 0 && out.Contents[0].Role == "user" {
			out.Contents[0].Parts[0].Text = e.r.System + "\n\n" + out.Contents[0].Parts[0].Text
		} else {
			out.Contents = append([]content{{"user", []textPart{{e.r.System}}}}, out.Contents...)
		}
	default:
		out.SystemInstruction = &content{Parts: []textPart{{e.r.System}}}
	}
}

func (e *encoder) generation() *generation {
	s, empty := e.r.Sampling, true
	var g generation
	set := func(given bool, p model.Refused, name string, send func()) {
		if given && !e.dropped(given, p, name) {
			send()
			empty = false
		}
	}
	set(s.Temperature != nil, model.Temperature, "temperature", func() { g.Temperature = s.Temperature })
	set(s.TopP != nil, model.TopP, "top_p", func() { g.TopP = s.TopP })
	set(s.Seed != nil, model.Seed, "seed", func() { g.Seed = s.Seed })
	set(len(s.Stop) > 0, model.StopWords, "stop", func() { g.StopSequences = s.Stop })
	// Thinking counts in the limit.
	set(e.r.MaxTokens > 0, model.MaxTokens, "max_tokens", func() { g.MaxOutputTokens = e.r.MaxTokens + e.r.Allowance })
	set(e.r.Schema != nil, model.JSONSchema, "json schema", func() {
		g.ResponseMIMEType, g.ResponseJSONSchema = "application/json", e.r.Schema.JSON
	})
	if t := e.r.Reasoning; t.Effort != "" || t.Budget > 0 {
		g.ThinkingConfig, empty = &thinking{t.Effort, t.Budget}, false
	}
	if empty {
		return nil
	}
	return &g
}

// Package anthropic asks models over Anthropic's Messages format, which it alone knows.
// The official SDK is its oracle in tools/sdk.
//
// The package must not know any other provider, nor who asks or why.
package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// BaseURL is Anthropic's own endpoint.
const BaseURL = "https://api.anthropic.com"

// apiVersion is the value of the anthropic-version header that the API requires.
const apiVersion = "2023-06-01"

// New returns a client for an endpoint, given with or without its /v1.
func New(e model.Endpoint) (*model.Caller, error) {
	base, err := e.Base(BaseURL, "/v1/messages", "/v1")
	if err != nil {
		return nil, err
	}
	header := http.Header{"Anthropic-Version": {apiVersion}}
	if e.APIKey != "" {
		header.Set("X-Api-Key", e.APIKey)
	}
	return model.NewCaller(wire{model.Address(base + "/v1/messages")}, e, header), nil
}

// wire is the Messages format.
type wire struct{ model.Address }

type request struct {
	Model         string       `json:"model"`
	MaxTokens     int          `json:"max_tokens"`
	System        string       `json:"system,omitempty"`
	Messages      []model.Turn `json:"messages"`
	Temperature   *float64     `json:"temperature,omitempty"`
	TopP          *float64     `json:"top_p,omitempty"`
	StopSequences []string     `json:"stop_sequences,omitempty"`
	Thinking      *thinking    `json:"thinking,omitempty"`
	OutputConfig  outputConfig `json:"output_config,omitzero"`
	Tools         []tool       `json:"tools,omitempty"`
	ToolChoice    *toolChoice  `json:"tool_choice,omitempty"`
}

type thinking struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budget_tokens,omitempty"`
}

type outputConfig struct {
	Effort string  `json:"effort,omitempty"`
	Format *format `json:"format,omitempty"`
}

type format struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type toolChoice struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
}

// Encode encodes a request. It notes all changes that it makes because of the
// model's name or because the model refused a parameter before.
func (wire) Encode(r *eval.Request, refused model.Refused) ([]byte, []string, error) {
	traits := traitsOf(r.Name)
	refused |= model.Seed // the format has none
	if traits.noSampling || r.Reasoning.Budget != 0 {
		refused |= model.Temperature | model.TopP
	}
	e := encoder{Adaptation: model.Adapt(r, refused), r: r, traits: traits}
	e.out.Model = r.Name
	e.reasoning()
	e.limit()
	s := e.Sampling()
	e.out.Temperature, e.out.TopP, e.out.StopSequences = s.Temperature, s.TopP, s.Stop
	e.out.System, e.out.Messages = e.Turns()
	if r.Schema != nil && !e.Drops(model.JSONSchema, "json schema") {
		e.out.OutputConfig.Format = &format{Type: "json_schema", Schema: r.Schema.JSON}
	}
	e.tools()
	body, err := eval.EncodeJSON(&e.out)
	return body, e.Notes, err
}

type encoder struct {
	*model.Adaptation
	r      *eval.Request
	traits traits
	out    request
}

func (e *encoder) reasoning() {
	e.out.OutputConfig.Effort = e.r.Reasoning.Effort
	switch budget := e.r.Reasoning.Budget; {
	case budget == 0:
	case e.traits.adaptiveOnly:
		e.out.Thinking = &thinking{Type: "adaptive"}
		e.Note("thinking budget dropped, adaptive thinking sent")
	default:
		e.out.Thinking = &thinking{Type: "enabled", BudgetTokens: budget}
	}
}

// limit sets max_tokens, which the format requires and which thinking counts
// in.
func (e *encoder) limit() {
	limit := e.r.MaxTokens + e.r.Allowance
	if e.r.MaxTokens == 0 {
		limit += e.traits.defaultLimit
		e.Note("max_tokens set to " + strconv.Itoa(limit) + ", as the provider requires one")
	}
	if t := e.out.Thinking; t != nil && t.BudgetTokens >= limit {
		limit += t.BudgetTokens
		e.Note(eval.RaisedNote + strconv.Itoa(limit) + ", as it must exceed the thinking budget")
	}
	e.out.MaxTokens = limit
}

func (e *encoder) tools() {
	for _, t := range e.r.Tools {
		parameters := t.Parameters
		if len(parameters) == 0 {
			parameters = json.RawMessage(`{"type":"object"}`)
		}
		e.out.Tools = append(e.out.Tools, tool{t.Name, t.Description, parameters})
	}
	switch {
	case e.r.Force == "":
	case e.out.Thinking != nil || e.traits.noForce:
		// A thinking model may call the tool; it cannot be made to.
		e.out.ToolChoice = &toolChoice{Type: "auto"}
		e.Note(fmt.Sprintf("tool choice auto sent instead of %q", e.r.Force))
	default:
		e.out.ToolChoice = &toolChoice{Type: "tool", Name: e.r.Force}
	}
}

// traits are the properties of a model known from its name. Others are learnt from
// the server's errors.
type traits struct {
	noSampling   bool // temperature and top_p are errors
	adaptiveOnly bool // thinking takes no budget
	noForce      bool // a forced tool is an error
	defaultLimit int  // max_tokens where the study gives none
}

// traitsOf reads the version in a model's name: claude-opus-4-7,
// claude-sonnet-5, claude-3-5-haiku-latest. Sources: Anthropic's migration
// guides for Opus 4.7 (no sampling parameters, adaptive thinking only) and
// Opus 5.5 (no forced tools).
func traitsOf(name string) traits {
	t := traits{defaultLimit: 8192}
	version := versionOf.FindStringSubmatch(name)
	if version == nil {
		return t
	}
	major, _ := strconv.Atoi(version[1])
	minor, _ := strconv.Atoi(version[2]) // 0 where there is none
	since := func(wantMajor, wantMinor int) bool {
		return major > wantMajor || major == wantMajor && minor >= wantMinor
	}
	t.noSampling, t.adaptiveOnly = since(4, 7), since(4, 7)
	t.noForce = since(5, 5) || strings.Contains(name, "fable") && since(5, 1)
	if !since(3, 5) {
		t.defaultLimit = 4096 // what Claude 3 allows
	}
	return t
}

// versionOf finds the first one or two small numbers of a name; longer numbers
// are dates.
var versionOf = regexp.MustCompile(`claude-(?:[^-.@]*[-.@])*?([0-9]{1,2})(?:[-.@]([0-9]{1,2}))?(?:[-.@]|$)`)

type answer struct {
	Type        model.Word           `json:"type"`
	ID          model.Word           `json:"id"`
	Model       model.Word           `json:"model"`
	Content     []block              `json:"content"`
	StopReason  model.Word           `json:"stop_reason"`
	StopDetails model.Loose[details] `json:"stop_details"`
	Usage       model.Loose[usage]   `json:"usage"`
	Error       json.RawMessage      `json:"error"`
}

type details struct {
	Explanation model.Word `json:"explanation"`
	Category    model.Word `json:"category"`
}

type block struct {
	Type  string          `json:"type"`
	Text  string          `json:"text"`
	ID    model.Word      `json:"id"`
	Name  string          `json:"name"`
	Input model.Arguments `json:"input"`
}

type usage struct {
	Input         model.Count `json:"input_tokens"`
	Output        model.Count `json:"output_tokens"`
	CacheRead     model.Count `json:"cache_read_input_tokens"`
	CacheWrite    model.Count `json:"cache_creation_input_tokens"`
	OutputDetails struct {
		Thinking model.Count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// Decode reads a message. Thinking is not part of its text, and tools that ran
// on the server are not calls.
func (wire) Decode(body []byte) (eval.Response, error) {
	var a answer
	err := json.Unmarshal(body, &a)
	r := eval.Response{Usage: a.Usage.Value.read()}
	if err != nil {
		return r, model.Malformed("reading the message: %v", err)
	}
	switch {
	case model.Present(a.Error):
		return r, model.InBody(a.Error)
	case a.Content == nil:
		return r, model.Malformed("the answer has no content")
	}
	r.ModelVersion, r.RequestID = string(a.Model), string(a.ID)
	var text strings.Builder
	for _, b := range a.Content {
		switch b.Type {
		case "text":
			text.WriteString(b.Text)
		case "tool_use":
			r.ToolCalls = append(r.ToolCalls, eval.ToolCall{ID: string(b.ID), Name: b.Name, Arguments: json.RawMessage(b.Input)})
		}
	}
	r.Text = text.String()
	return r, model.End(&r, string(a.StopReason), string(cmp.Or(a.StopDetails.Value.Explanation, a.StopDetails.Value.Category)))
}

// read reads token counts. Anthropic counts cached tokens apart from the
// input and thinking within the output.
func (u usage) read() eval.Usage {
	return eval.Usage{
		Input: int(u.Input), Output: int(u.Output), Cached: int(u.CacheRead), CacheWrite: int(u.CacheWrite),
		Reasoning: int(u.OutputDetails.Thinking), ReasoningInOutput: true,
	}
}

package anthropic

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

type request struct {
	Model         string        `json:"model"`
	MaxTokens     int           `json:"max_tokens"`
	System        string        `json:"system,omitempty"`
	Messages      []message     `json:"messages"`
	Temperature   *float64      `json:"temperature,omitempty"`
	TopP          *float64      `json:"top_p,omitempty"`
	StopSequences []string      `json:"stop_sequences,omitempty"`
	Thinking      *thinking     `json:"thinking,omitempty"`
	OutputConfig  *outputConfig `json:"output_config,omitempty"`
	Tools         []tool        `json:"tools,omitempty"`
	ToolChoice    *toolChoice   `json:"tool_choice,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
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

// Encode writes a request. What it changes for a reason that is known from the
// model's name it says, as it does for what the model was found to refuse.
func (wire) Encode(r *eval.Request, refused model.Refused) ([]byte, []string, error) {
	traits := traitsOf(r.Name)
	e := encoder{r: r, traits: traits, refused: refused}
	e.out = request{Model: r.Name, System: r.System, Messages: messages(r)}
	e.reasoning()
	e.limit()
	e.sampling()
	e.schema()
	e.tools()
	body, err := model.EncodeJSON(&e.out)
	return body, e.adapted, err
}

func messages(r *eval.Request) []message {
	out := make([]message, len(r.Messages))
	for i, m := range r.Messages {
		out[i] = message{m.Role, m.Content}
	}
	return out
}

type encoder struct {
	r       *eval.Request
	traits  traits
	refused model.Refused
	out     request
	adapted []string
}

func (e *encoder) note(what string) { e.adapted = append(e.adapted, what) }

func (e *encoder) reasoning() {
	if e.r.Reasoning.Effort != "" {
		e.out.OutputConfig = &outputConfig{Effort: e.r.Reasoning.Effort}
	}
	switch budget := e.r.Reasoning.Budget; {
	case budget == 0:
	case e.traits.adaptiveOnly:
		e.out.Thinking = &thinking{Type: "adaptive"}
		e.note("thinking budget dropped, adaptive thinking sent")
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
		e.note("max_tokens set to " + strconv.Itoa(limit) + ", as the provider requires one")
	}
	if t := e.out.Thinking; t != nil && t.BudgetTokens >= limit {
		limit += t.BudgetTokens
		e.note("max_tokens raised to " + strconv.Itoa(limit) + ", as it must exceed the thinking budget")
	}
	e.out.MaxTokens = limit
}

// sampling leaves temperature and top_p out where the model thinks or takes
// none.
func (e *encoder) sampling() {
	s := e.r.Sampling
	none := e.traits.noSampling || e.out.Thinking != nil
	e.out.Temperature, e.out.TopP = s.Temperature, s.TopP
	if s.Temperature != nil && (none || e.refused.Has(model.Temperature)) {
		e.out.Temperature = nil
		e.note("temperature dropped")
	}
	if s.TopP != nil && (none || e.refused.Has(model.TopP)) {
		e.out.TopP = nil
		e.note("top_p dropped")
	}
	if s.Seed != nil {
		e.note("seed dropped")
	}
	if len(s.Stop) > 0 && e.refused.Has(model.StopWords) {
		e.note("stop dropped")
	} else {
		e.out.StopSequences = s.Stop
	}
	if e.r.System != "" && e.refused.Has(model.SystemRole) {
		e.out.System = ""
		e.out.Messages = withSystem(e.r.System, e.out.Messages)
		e.note("system prompt sent in the first message")
	}
}

func withSystem(system string, messages []message) []message {
	if len(messages) > 0 && messages[0].Role == "user" {
		messages[0].Content = system + "\n\n" + messages[0].Content
		return messages
	}
	return append([]message{{Role: "user", Content: system}}, messages...)
}

func (e *encoder) schema() {
	switch {
	case e.r.Schema == nil:
	case e.refused.Has(model.JSONSchema):
		e.note("json schema dropped")
	default:
		if e.out.OutputConfig == nil {
			e.out.OutputConfig = new(outputConfig)
		}
		e.out.OutputConfig.Format = &format{Type: "json_schema", Schema: e.r.Schema.JSON}
	}
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
		e.note(fmt.Sprintf("tool choice auto sent instead of %q", e.r.Force))
	default:
		e.out.ToolChoice = &toolChoice{Type: "tool", Name: e.r.Force}
	}
}

// traits are what is known of a model from its name. What is not known here is
// learnt from the server's complaint.
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
	major, minor, ok := version(name)
	t := traits{defaultLimit: 8192}
	if !ok {
		return t
	}
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

// version finds the first one or two small numbers of a name; longer numbers
// are dates.
func version(name string) (major, minor int, ok bool) {
	_, rest, found := strings.Cut(name, "claude-")
	if !found {
		return 0, 0, false
	}
	parts := strings.FieldsFunc(rest, func(r rune) bool { return r == '-' || r == '.' || r == '@' })
	for i, p := range parts {
		n, isNumber := small(p)
		if !isNumber {
			continue
		}
		if i+1 < len(parts) {
			minor, _ = small(parts[i+1])
		}
		return n, minor, true
	}
	return 0, 0, false
}

func small(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	if err != nil || len(s) > 2 || n < 0 {
		return 0, false
	}
	return n, true
}

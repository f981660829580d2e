package anthropic

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

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
	body, err := model.EncodeJSON(&e.out)
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
		e.Note("max_tokens raised to " + strconv.Itoa(limit) + ", as it must exceed the thinking budget")
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

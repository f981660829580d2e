package openai

import (
	"regexp"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// Reasoning models by name. Behind a router the maker stands in front:
// openai/o3-mini.
var (
	oSeries = regexp.MustCompile(`^(?:openai/)?o[1-9][0-9]*(?:-|$)`)
	gpt5    = regexp.MustCompile(`^(?:openai/)?gpt-(?:[5-9]|[1-9][0-9])(?:\.([0-9]+))?(?:-|$)`)
)

// traits are what is known of a model from its name. What is not known here is
// learnt from the server's complaint.
type traits struct {
	reasons    bool // thinking counts in the limit, which is max_completion_tokens
	noSampling bool // temperature and top_p are errors
	noSystem   bool // there is no system role
}

// traitsOf reads a model's name. Sources: OpenAI's reasoning guide (o-series
// and gpt-5 take no sampling parameters; from gpt-5.1 on they are taken with
// effort none, which is the default of some) and the recorded refusals of
// o1-mini.
func traitsOf(name, effort string) traits {
	name = strings.ToLower(name)
	switch {
	case oSeries.MatchString(name):
		return traits{reasons: true, noSampling: true, noSystem: strings.Contains(name, "o1-mini") || strings.Contains(name, "o1-preview")}
	case strings.Contains(name, "-chat"):
		return traits{}
	}
	m := gpt5.FindStringSubmatch(name)
	if m == nil {
		return traits{}
	}
	noSampling := strings.Contains(name, "-pro") || strings.Contains(name, "-codex") || effort != "" && effort != "none"
	if m[1] == "" && strings.Contains(name, "gpt-5") {
		noSampling = true
	}
	return traits{reasons: true, noSampling: noSampling}
}

// An adaptation says which parameters are sent, and keeps a note of those that
// are not.
type adaptation struct {
	r       *eval.Request
	traits  traits
	refused model.Refused
	notes   []string
}

func adapt(r *eval.Request, refused model.Refused) *adaptation {
	return &adaptation{r: r, traits: traitsOf(r.Name, r.Reasoning.Effort), refused: refused}
}

func (a *adaptation) note(what string) { a.notes = append(a.notes, what) }

func (a *adaptation) temperature() *float64 {
	t := a.r.Sampling.Temperature
	if t != nil && (a.traits.noSampling || a.refused.Has(model.Temperature)) {
		a.note("temperature dropped")
		return nil
	}
	return t
}

func (a *adaptation) topP() *float64 {
	p := a.r.Sampling.TopP
	if p != nil && (a.traits.noSampling || a.refused.Has(model.TopP)) {
		a.note("top_p dropped")
		return nil
	}
	return p
}

func (a *adaptation) seed(taken bool) *int64 {
	s := a.r.Sampling.Seed
	if s != nil && (!taken || a.refused.Has(model.Seed)) {
		a.note("seed dropped")
		return nil
	}
	return s
}

func (a *adaptation) stop(taken bool) []string {
	s := a.r.Sampling.Stop
	if len(s) > 0 && (!taken || a.refused.Has(model.StopWords)) {
		a.note("stop dropped")
		return nil
	}
	return s
}

// limit is the token limit to send: every OpenAI format counts thinking in it.
func (a *adaptation) limit() int {
	if a.r.MaxTokens == 0 {
		return 0
	}
	return a.r.MaxTokens + a.r.Allowance
}

// system splits the system prompt off, or puts it in front of the first
// message where the model has no place for it.
func (a *adaptation) system() (system string, messages []message) {
	messages = make([]message, 0, len(a.r.Messages)+1)
	for _, m := range a.r.Messages {
		messages = append(messages, message{m.Role, m.Content})
	}
	system = a.r.System
	if system == "" || !a.traits.noSystem && !a.refused.Has(model.SystemRole) {
		return system, messages
	}
	a.note("system prompt sent in the first message")
	if len(messages) > 0 && messages[0].Role == "user" {
		messages[0].Content = system + "\n\n" + messages[0].Content
		return "", messages
	}
	return "", append([]message{{"user", system}}, messages...)
}

// schemaForm says how a schema is sent: json_schema, json_object or not at all
// (""). Servers take json_object only where the prompt speaks of JSON.
func (a *adaptation) schemaForm() string {
	switch {
	case a.r.Schema == nil:
		return ""
	case !a.refused.Has(model.JSONSchema):
		return "json_schema"
	case a.speaksOfJSON():
		a.note("json schema sent as json_object")
		return "json_object"
	}
	a.note("json schema dropped")
	return ""
}

func (a *adaptation) speaksOfJSON() bool {
	if strings.Contains(strings.ToLower(a.r.System), "json") {
		return true
	}
	for _, m := range a.r.Messages {
		if strings.Contains(strings.ToLower(m.Content), "json") {
			return true
		}
	}
	return false
}

// schemaName is the name a schema goes by, which the format requires.
func schemaName(s *eval.Schema) string {
	if s.Name == "" {
		return "answer"
	}
	return s.Name
}

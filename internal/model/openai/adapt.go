package openai

import (
	"regexp"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// Reasoning models by name. Routers prefix the vendor: openai/o3-mini.
var (
	oSeries = regexp.MustCompile(`^(?:openai/)?o[1-9][0-9]*(?:-|$)`)
	gpt5    = regexp.MustCompile(`^(?:openai/)?gpt-(?:[5-9]|[1-9][0-9])(?:\.([0-9]+))?(?:-|$)`)
)

// traits are the properties of a model known from its name. Others are learnt from
// the server's errors.
type traits struct {
	reasons bool // thinking counts in the limit, which is max_completion_tokens
	refused model.Refused
}

const sampling = model.Temperature | model.TopP

// traitsOf reads a model's name. Sources: OpenAI's reasoning guide (o-series
// and gpt-5 take no sampling parameters; from gpt-5.1 on they are taken with
// effort none, which is the default of some) and the recorded refusals of
// o1-mini.
func traitsOf(name, effort string) traits {
	name = strings.ToLower(name)
	switch {
	case oSeries.MatchString(name):
		if strings.Contains(name, "o1-mini") || strings.Contains(name, "o1-preview") {
			return traits{true, sampling | model.SystemRole}
		}
		return traits{true, sampling}
	case strings.Contains(name, "-chat"):
		return traits{}
	}
	m := gpt5.FindStringSubmatch(name)
	if m == nil {
		return traits{}
	}
	if strings.Contains(name, "-pro") || strings.Contains(name, "-codex") || effort != "" && effort != "none" ||
		m[1] == "" && strings.Contains(name, "gpt-5") {
		return traits{true, sampling}
	}
	return traits{reasons: true}
}

// An adaptation also knows the model's traits.
type adaptation struct {
	*model.Adaptation
	r      *eval.Request
	traits traits
}

// adapt adapts a request to what the model was found to refuse, and to its
// traits.
func adapt(r *eval.Request, refused model.Refused) adaptation {
	t := traitsOf(r.Name, r.Reasoning.Effort)
	return adaptation{model.Adapt(r, refused|t.refused), r, t}
}

// limit is the token limit to send: every OpenAI format counts thinking in it.
func (a adaptation) limit() int {
	if a.r.MaxTokens == 0 {
		return 0
	}
	return a.r.MaxTokens + a.r.Allowance
}

// schemaForm says how a schema is sent: json_schema, json_object or not at all
// (""). Servers take json_object only where the prompt speaks of JSON.
func (a adaptation) schemaForm() string {
	switch {
	case a.r.Schema == nil:
		return ""
	case !a.Refuses(model.JSONSchema):
		return "json_schema"
	case a.speaksOfJSON():
		a.Note("json schema sent as json_object")
		return "json_object"
	}
	a.Note("json schema dropped")
	return ""
}

func (a adaptation) speaksOfJSON() bool {
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

// schemaName returns the name of a schema, which the format requires.
func schemaName(s *eval.Schema) string {
	if s.Name == "" {
		return "answer"
	}
	return s.Name
}

package model

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Refused is a set of parameters that a model does not take.
type Refused uint8

// The parameters a request can do without, or be sent another way.
const (
	Temperature Refused = 1 << iota
	TopP
	MaxTokens  // under the name it goes by first
	SystemRole // a system prompt in its own place
	StopWords
	Seed
	JSONSchema
	CacheKey
)

// Has reports whether the set holds the parameter.
func (s Refused) Has(p Refused) bool { return s&p != 0 }

// parameters are those a request may hold, with what servers call them when they refuse them.
var parameters = []struct {
	parameter Refused
	sent      func(r *eval.Request) bool
	names     []string
}{
	{Temperature, func(r *eval.Request) bool { return r.Sampling.Temperature != nil }, []string{"temperature"}},
	{TopP, func(r *eval.Request) bool { return r.Sampling.TopP != nil }, []string{"top_p", "topp"}},
	{MaxTokens, func(r *eval.Request) bool { return r.MaxTokens > 0 },
		[]string{"max_tokens", "max_completion_tokens", "max_output_tokens", "maxoutputtokens"}},
	{SystemRole, func(r *eval.Request) bool { return r.System != "" }, []string{"messages[0].role", "system role", "role 'system'", "role \"system\"", "'system'", "'developer'",
		"system message", "system messages", "system prompt", "system instruction", "developer instruction", "instructions"}},
	{StopWords, func(r *eval.Request) bool { return len(r.Sampling.Stop) > 0 }, []string{"stop", "stop_sequences", "stopsequences"}},
	{Seed, func(r *eval.Request) bool { return r.Sampling.Seed != nil }, []string{"seed"}},
	{JSONSchema, func(r *eval.Request) bool { return r.Schema != nil }, []string{"response_format", "text.format", "json_schema", "response_schema", "responseschema", "responsejsonschema",
		"response_json_schema", "output_config.format", "output format", "structured output", "structured outputs", "json mode"}},
	{CacheKey, func(r *eval.Request) bool { return r.Replicate > 1 }, []string{"prompt_cache_key"}},
}

// sentIn lists the parameters a request holds.
func sentIn(r *eval.Request) Refused {
	var s Refused
	for _, p := range parameters {
		if p.sent(r) {
			s |= p.parameter
		}
	}
	return s
}

// unsupportedPhrases say that a parameter is not taken at all, as opposed to a
// value that is out of range, which is the study's mistake and stays an error.
var unsupportedPhrases = []string{
	"unsupported", "not support", "n't support", "no longer support", "not permitted", "not enabled", "not available", "unavailable",
	"not allowed", "unrecognized", "unknown parameter", "unknown field", "unknown name", "deprecated", "only the default",
	"may only be set to", "not a valid parameter", "not compatible", "incompatible", "cannot both",
}

// refused finds which of the parameters sent a complaint says are not taken.
func (c *complaint) refused(sent Refused) Refused {
	message := strings.ToLower(c.message)
	if !containsAny(message, unsupportedPhrases...) && !containsAny(c.code, "unsupported_parameter", "unknown_parameter") {
		return 0
	}
	var found Refused
	for _, p := range parameters {
		if sent.Has(p.parameter) && (slices.Contains(p.names, strings.ToLower(c.param)) || slices.ContainsFunc(p.names, func(n string) bool {
			return regexp.MustCompile(`(?:^|\W)` + regexp.QuoteMeta(n) + `(?:$|\W)`).MatchString(message)
		})) {
			found |= p.parameter
		}
	}
	switch {
	case found.Has(JSONSchema) && containsAny(message+" "+c.code, "invalid schema", "invalid_json_schema", "schema for", "format.schema", "json_schema.schema"):
		// The schema itself is at fault: dropping it would hide that.
		found &^= JSONSchema
	case found.Has(Temperature|TopP) && strings.Contains(message, "cannot both"):
		found = TopP // one of the two is enough
	case found.Has(MaxTokens) && found != MaxTokens:
		// Named in passing, as in "temperature … use max_completion_tokens".
		found &^= MaxTokens
	}
	return found
}

// A memory keeps what models were found to refuse.
type memory struct {
	mu      sync.Mutex
	refused map[string]Refused
}

// add adds to what a model is known to refuse, and returns all of it.
func (m *memory) add(name string, s Refused) Refused {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refused == nil {
		m.refused = map[string]Refused{}
	}
	m.refused[name] |= s
	return m.refused[name]
}

// An Adaptation is a request without the parameters that its model refuses, and
// notes on what was changed. The formats share it.
type Adaptation struct {
	Notes   []string
	r       *eval.Request
	refused Refused
}

// Adapt adapts a request to a model that refuses the parameters.
func Adapt(r *eval.Request, refused Refused) *Adaptation {
	return &Adaptation{r: r, refused: refused}
}

// Note notes a change.
func (a *Adaptation) Note(what string) { a.Notes = append(a.Notes, what) }

// Refuses reports whether a parameter is refused.
func (a *Adaptation) Refuses(p Refused) bool { return a.refused.Has(p) }

// Drops reports whether a parameter is refused, and notes that it is dropped.
func (a *Adaptation) Drops(p Refused, name string) bool {
	if a.Refuses(p) {
		a.Note(name + " dropped")
	}
	return a.Refuses(p)
}

// Sampling returns the request's sampling without refused parameters.
func (a *Adaptation) Sampling() eval.Sampling {
	s := a.r.Sampling
	if s.Temperature != nil && a.Drops(Temperature, "temperature") {
		s.Temperature = nil
	}
	if s.TopP != nil && a.Drops(TopP, "top_p") {
		s.TopP = nil
	}
	if s.Seed != nil && a.Drops(Seed, "seed") {
		s.Seed = nil
	}
	if len(s.Stop) > 0 && a.Drops(StopWords, "stop") {
		s.Stop = nil
	}
	return s
}

// A Turn is a message as most formats write it.
type Turn struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Turns splits the system prompt from the messages, or puts it in front of the
// first message where the model has no place for it.
func (a *Adaptation) Turns() (system string, turns []Turn) {
	turns = make([]Turn, 0, len(a.r.Messages)+1)
	for _, m := range a.r.Messages {
		turns = append(turns, Turn(m))
	}
	system = a.r.System
	if system == "" || !a.Refuses(SystemRole) {
		return system, turns
	}
	a.Note("system prompt sent in the first message")
	if len(turns) > 0 && turns[0].Role == "user" {
		turns[0].Content = system + "\n\n" + turns[0].Content
		return "", turns
	}
	return "", append([]Turn{{"user", system}}, turns...)
}

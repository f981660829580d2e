package model

import (
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
)

// Has reports whether the set holds the parameter.
func (s Refused) Has(p Refused) bool { return s&p != 0 }

// parameterNames are what servers call the parameters when they refuse them.
var parameterNames = []struct {
	parameter Refused
	names     []string
}{
	{Temperature, []string{"temperature"}},
	{TopP, []string{"top_p", "topp"}},
	{MaxTokens, []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "maxoutputtokens"}},
	{SystemRole, []string{"messages[0].role", "system role", "role 'system'", "role \"system\"", "'system'", "'developer'",
		"system message", "system messages", "system prompt", "system instruction", "developer instruction", "instructions"}},
	{StopWords, []string{"stop", "stop_sequences", "stopsequences"}},
	{Seed, []string{"seed"}},
	{JSONSchema, []string{"response_format", "text.format", "json_schema", "response_schema", "responseschema", "responsejsonschema",
		"response_json_schema", "output_config.format", "output format", "structured output", "structured outputs", "json mode"}},
}

// sentIn lists the parameters a request holds.
func sentIn(r *eval.Request) Refused {
	var s Refused
	add := func(sent bool, p Refused) {
		if sent {
			s |= p
		}
	}
	add(r.Sampling.Temperature != nil, Temperature)
	add(r.Sampling.TopP != nil, TopP)
	add(r.MaxTokens > 0, MaxTokens)
	add(r.System != "", SystemRole)
	add(len(r.Sampling.Stop) > 0, StopWords)
	add(r.Sampling.Seed != nil, Seed)
	add(r.Schema != nil, JSONSchema)
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
	for _, p := range parameterNames {
		if sent.Has(p.parameter) && (slices.Contains(p.names, strings.ToLower(c.param)) || slices.ContainsFunc(p.names, func(n string) bool {
			return containsWord(message, n)
		})) {
			found |= p.parameter
		}
	}
	switch {
	case found.Has(JSONSchema) && containsAny(message+" "+c.code, "invalid schema", "invalid_json_schema", "schema for"):
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

// containsWord reports whether text holds name between word borders.
func containsWord(text, name string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		begin, end := from+i, from+i+len(name)
		if (begin == 0 || !isWordByte(text[begin-1])) && (end == len(text) || !isWordByte(text[end])) {
			return true
		}
		from = begin + 1
	}
}

func isWordByte(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
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

package spans

import (
	_ "embed"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/model/simulated"
	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// PromptVersion is part of the hash of every arm that asks a model, so that a run
// never mixes answers to different prompts.
const PromptVersion = "1"

// rolesHole is where the roles stand in a prompt.
const rolesHole = "{{ROLES}}"

//go:embed labeller.txt
var labellerPrompt string

// render fills in a prompt.
func (b *bench) render(prompt string) string {
	guidelines := ""
	if g := b.taxonomy.Guidelines; g != "" {
		guidelines = g + "\n\n"
	}
	return strings.NewReplacer("{{TASK}}", b.taxonomy.Task, "{{GUIDELINES}}", guidelines, rolesHole, b.taxonomy.Describe()).Replace(prompt)
}

// answerSchema is the JSON Schema of an answer.
func (b *bench) answerSchema() json.RawMessage {
	type object = map[string]any
	entry := object{"type": "object", "additionalProperties": false, "required": []string{"text", "role", "confidence"}, "properties": object{
		"text":       object{"type": "string"},
		"role":       object{"type": "string", "enum": b.taxonomy.Roles()},
		"confidence": object{"type": "number"},
	}}
	return kit.JSON(object{"type": "object", "additionalProperties": false, "required": []string{"spans"},
		"properties": object{"spans": object{"type": "array", "items": entry}}})
}

// simulatedAnswer is the sheet of a simulated labeller. It misses a span, or gives
// it an error.
func (b *bench) simulatedAnswer(r *record) json.RawMessage {
	sheet := simulated.Sheet{Prefix: `{"spans":[`, Suffix: `{}]}`, Malformed: "I found several spans."}
	for _, s := range r.Spans {
		sheet.Parts = append(sheet.Parts, simulated.Part{Right: b.partOf(s, 0.9), Alternatives: map[string]string{
			simulated.Miss: "", simulated.Wrong: b.partOf(b.faulty(r, s), 0.6)}})
	}
	return simulated.Encode(sheet)
}

func (b *bench) partOf(s spanfile.Span, confidence float64) string {
	s.Confidence = confidence
	return string(kit.JSON(entryOf(s))) + ","
}

// faulty is a span with an error: a wrong role, the first of the next category, or another one of
// the only category. A span of the only role is cut to its first letter, or one letter is made the
// whole text.
func (b *bench) faulty(r *record, s spanfile.Span) spanfile.Span {
	roles, own := b.taxonomy.Roles(), b.taxonomy.Canonical(s.Role)
	if c := b.taxonomy.Categories; len(c) > 1 {
		next := c[(max(0, b.taxonomy.Index(s.Role))+1)%len(c)]
		s.Role = next.Name
		if len(next.Attributes) > 0 {
			s.Role += "." + next.Attributes[0]
		}
		return s
	}
	for _, role := range append(roles[1:len(roles):len(roles)], roles[0]) {
		if role != own {
			s.Role = role
			return s
		}
	}
	switch _, n := utf8.DecodeRuneInString(s.Text); {
	case !s.Placed():
	case n < len(s.Text):
		s.Text, s.End = s.Text[:n], s.Start+1
	default:
		s.Text, s.Start, s.End = r.Text, 0, utf8.RuneCountInString(r.Text)
	}
	return s
}

package verdict

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/spans/label"
)

// PromptVersion is part of the hash of every judged arm, so that judgements by
// another prompt are never mixed with those of this one.
const PromptVersion = "2"

// Schema is the JSON Schema of a result, made from [Result] and the taxonomy. It
// uses only what the strict modes of all providers accept: every property
// required, no additional ones, null by a list of alternatives.
func Schema(t *label.Taxonomy) json.RawMessage {
	r := jsonschema.Reflector{DoNotReference: true, Anonymous: true, ExpandedStruct: true}
	s := r.Reflect(&Result{})
	s.Version, s.ID = "", ""
	property := func(of *jsonschema.Schema, path ...string) *jsonschema.Schema {
		for _, name := range path {
			if of.Items != nil {
				of = of.Items
			}
			of, _ = of.Properties.Get(name)
		}
		return of
	}
	enum := func(values []string, path ...string) {
		p := property(s, path...)
		for _, v := range values {
			p.Enum = append(p.Enum, v)
		}
	}
	enum(t.Severities, "missedElements", "severity")
	enum(t.Reasons, "falsePositives", "reason")
	enum(t.Granularity, "granularityErrors", "issue")
	enum(t.Roles(), "missedElements", "expectedRole")
	enum(t.Roles(), "taxonomyErrors", "expectedRole")
	var names []string
	for _, c := range t.Categories {
		names = append(names, c.Name)
	}
	enum(names, "missedElements", "category")
	score := r.Reflect(&CategoryScore{})
	score.Version, score.ID = "", ""
	categories := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), Required: names, AdditionalProperties: jsonschema.FalseSchema}
	for _, name := range names {
		categories.Properties.Set(name, &jsonschema.Schema{AnyOf: []*jsonschema.Schema{score, {Type: "null"}}})
	}
	s.Properties.Set("categoryScores", categories)
	return kit.JSON(s)
}

//go:embed prompt.txt
var prompt string

// System is the judge's instructions: those of the study, or the built-in ones, and the
// study's further criteria.
func System(t *label.Taxonomy, own, criteria string) string {
	if own == "" {
		own = strings.Replace(prompt, "List every error:", criteria+"List every error:", 1)
	}
	guidelines := ""
	if t.Guidelines != "" {
		guidelines = "Guidelines for labelling:\n" + t.Guidelines + "\n\n"
	}
	var categories []string
	for _, c := range t.Categories {
		categories = append(categories, fmt.Sprintf(`"%s": {"coverage": 1-5, "precision": 1-5} or null`, c.Name))
	}
	return strings.NewReplacer("{{TASK}}", t.Task, "{{GUIDELINES}}", guidelines, "{{ROLES}}", t.Describe(),
		"{{SEVERITIES}}", strings.Join(t.Severities, ", "), "{{SEVERITY}}", strings.Join(t.Severities, "|"),
		"{{REASONS}}", strings.Join(t.Reasons, ", "), "{{REASON}}", strings.Join(t.Reasons, "|"),
		"{{ISSUES}}", strings.Join(t.Granularity, ", "), "{{ISSUE}}", strings.Join(t.Granularity, "|"),
		"{{{CATEGORIES}}}", "{"+strings.Join(categories, ", ")+"}", kit.HoleCriteria, strings.TrimSpace(criteria)).Replace(own)
}

// User is the judge's message about one text. Data cannot end their block.
func User(text string, spans []spanfile.Span) string {
	fence := func(s string) string { return kit.Fence(s, "text", "spans") }
	return "<text>\n" + fence(text) + "\n</text>\n\n<spans>\n" + fence(FormatSpans(spans)) + "\n</spans>"
}

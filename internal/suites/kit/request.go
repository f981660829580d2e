package kit

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model/simulated"
	"github.com/scruple-eval/scruple/internal/study"
)

// RequestTo makes a request with the settings of a model.
func RequestTo(m *study.Model) eval.Request {
	return eval.Request{
		Model: m.ID, Provider: m.Provider, Endpoint: m.BaseURL, Name: m.Name,
		Sampling:  eval.Sampling{Temperature: m.Temperature, TopP: m.TopP, Seed: m.Seed},
		MaxTokens: m.MaxTokens, Allowance: m.Reasoning.Allowance,
		Reasoning: eval.Reasoning{Effort: m.Reasoning.Effort, Budget: m.Reasoning.Budget},
	}
}

// JudgeRequest makes a request with the settings of a judge. Its program has those that the
// answers of a simulated or recorded judge depend on and that are not sent: with others, the
// request is another one.
func JudgeRequest(m *study.Model) eval.Request {
	r := RequestTo(m)
	if m.Skill != nil || m.Cassette != "" {
		r.Program = HashOf(m.Skill, m.Cassette).String()
	}
	return r
}

// Structure requests structured output as the model's settings say: by schema,
// by a tool with the schema as parameters, or not at all.
func Structure(r *eval.Request, m *study.Model, schema eval.Schema, tool eval.Tool) {
	switch m.Structured {
	case "schema":
		r.Schema = &schema
	case "tool":
		tool.Parameters = schema.JSON
		r.Tools, r.Force = []eval.Tool{tool}, tool.Name
	}
}

// RequestOutside makes a request to the arm's pipeline. It does not call payload
// if the answers exist already.
func (a *Arm) RequestOutside(item string, payload func() any) (eval.Request, error) {
	r := eval.Request{Model: a.Pipeline.Model, Provider: a.Pipeline.Kind, Endpoint: a.Target, Name: a.ID, Program: cmp.Or(a.Pipeline.Version, a.answers), Item: item}
	if a.Answered() {
		return r, nil
	}
	var err error
	if r.Payload, err = json.Marshal(payload()); err != nil {
		return r, fmt.Errorf("asking %s about %s: %w", a.ID, item, err)
	}
	return r, nil
}

// Outcome keeps an answer before it is read. A refusal has the suite's reason for one.
func Outcome(r eval.Response, tool, refused string) eval.Outcome {
	o := eval.Outcome{Kind: eval.OK, Data: []byte(r.Answer(tool))}
	switch r.Stop {
	case eval.StopRefused:
		o.Kind, o.Reason, o.Detail = eval.Refused, refused, r.Refusal
	case eval.StopLength:
		o.Notes = []string{eval.NoteTruncated}
	}
	return o
}

// SimulatedAnswer is the payload that gives a simulated model a right answer
// and a wrong one.
func SimulatedAnswer(right, wrong string) json.RawMessage {
	return simulated.Encode(simulated.Sheet{Parts: []simulated.Part{{Right: right, Alternatives: map[string]string{simulated.Wrong: wrong, simulated.Miss: "I do not know."}}}})
}

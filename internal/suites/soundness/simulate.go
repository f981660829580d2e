package soundness

import (
	"encoding/json"
	"fmt"

	"github.com/scruple-eval/scruple/internal/model/simulated"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// answerSchema is the JSON Schema of an answer.
func (b *bench) answerSchema() json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"additionalProperties":false,"properties":{"classification":{"enum":[%q,%q],"type":"string"},"rationale":{"type":"string"}},`+
		`"required":["classification","rationale"],"type":"object"}`, b.labels[0].Name, b.labels[1].Name))
}

// simulated is the sheet of a simulated model: the expert's label with a rationale that
// supports it, and the ways to fail. wrong is coherent and incorrect (type 1),
// fabricate incoherent and correct (type 2), invent both (type 3), miss a refusal, and
// malformed an answer without a format.
func (b *bench) simulated(f *Fragment, attempt int) json.RawMessage {
	right := b.expected(f)
	wrong := 1 - right
	return simulated.Encode(simulated.Sheet{
		Parts: []simulated.Part{{Right: b.answer(right, b.supporting(f, right)), Alternatives: map[string]string{
			simulated.Wrong:     b.answer(wrong, b.supporting(f, wrong)),
			simulated.Fabricate: b.answer(right, b.supporting(f, wrong)),
			simulated.Invent:    b.answer(wrong, b.supporting(f, right)),
			simulated.Miss:      b.reader.decline + " this fragment.",
		}}},
		// The attempt makes the request another one, so that a repetition is drawn anew.
		Malformed: fmt.Sprintf("The fragment was read with care and every domain was weighed in turn. (attempt %d)", attempt),
	})
}

// expected is the label of a good model.
func (b *bench) expected(f *Fragment) int {
	if f.Gold == nil {
		return 0
	}
	return f.Gold.Label
}

// supporting is a rationale that supports a label. On one fragment of four it has
// indicators of both sides, so that the second tier is asked.
func (b *bench) supporting(f *Fragment, label int) string {
	side, other := b.reader.strength, b.reader.weakness
	if b.labels[label].Side == "weakness" {
		side, other = other, side
	}
	n := uint64(kit.Hash("rationale", f.ID))
	pick := func(list []string, k uint64) string { return list[(n/7+k)%uint64(len(list))] }
	if len(side) == 0 || len(other) == 0 {
		return "The reasoning of the fragment was weighed over all domains of the checklist before this was decided."
	}
	if n%4 == 0 {
		return fmt.Sprintf("In one respect the reasoning is %s, and in another it is %s. On the whole the first weighs more, and the chain of steps is %s.", pick(side, 0), pick(other, 1), pick(side, 2))
	}
	return fmt.Sprintf("The criteria of the fragment are %s, its use of data is %s, and the step from them to the end is %s. The qualifiers are %s too.", pick(side, 0), pick(side, 1), pick(side, 2), pick(side, 3))
}

package spans

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/spans/snapshot"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
)

// A preflightCase is an answer, and perhaps a judgement of it, with known scores.
// Both are parsed and scored like real ones.
type preflightCase struct {
	Case     string             `json:"case"`
	Text     string             `json:"text"`
	Gold     []spanfile.Span    `json:"gold"`
	Reply    json.RawMessage    `json:"reply"`    // a text, or JSON
	Judge    json.RawMessage    `json:"judge"`    // likewise
	Reason   string             `json:"reason"`   // why the reply is malformed
	Step     verdict.Step       `json:"step"`     // at which the judgement is parsed
	Expected map[string]float64 `json:"expected"` // scores
	Unscored string             `json:"unscored"` // why the judgement is not scored
}

// textOf is a JSON text as text, any other JSON as it is.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func checkCase(data []byte) (kit.Result, error) {
	var c preflightCase
	if err := dataset.DecodeStrict(data, &c); err != nil {
		return kit.Result{}, err
	}
	d := snapshot.DefaultReader()
	b := &bench{taxonomy: d.Taxonomy, reader: d, trusted: true}
	doc := spanfile.Doc{ID: "case", Text: c.Text, Spans: c.Gold, Labelled: c.Gold != nil}
	b.Fill([]*record{{Doc: doc, gold: b.spansOf(c.Gold, d.Taxonomy.Canonical)}}, (*record).item)
	a := &arm{}
	a.ID = "case"
	b.add(a.ID, a)
	o := b.outcomeOf(eval.Response{Text: textOf(c.Reply), Stop: eval.StopEnd}, "", c.Text)
	var verdicts []eval.Verdict
	if len(c.Judge) > 0 {
		a.Judges = []string{"judge"}
		verdicts = []eval.Verdict{{Step: judgeStep, Source: eval.ByModel, By: "judge", Data: []byte(textOf(c.Judge))}}
	}
	r := kit.Result{Name: c.Case}
	wrong := func(format string, args ...any) { r.Wrong = append(r.Wrong, fmt.Sprintf(format, args...)) }
	if o.Reason != c.Reason {
		wrong("the reason is %q, want %q", o.Reason, c.Reason)
	}
	one := eval.CaseOf(eval.Trial{Item: "case", Arm: "case", Replicate: 1}, o, verdicts)
	if j := b.read(b.Data[0], &one.Trials[0]); j.parsed.Step != c.Step {
		wrong("the judgement is parsed at step %q, want %q: %v", j.parsed.Step, c.Step, j.parsed.Notes)
	}
	scores, unscored := b.Score(nil, one), ""
	for _, s := range scores {
		unscored = cmp.Or(s.Unscored, unscored)
	}
	if unscored != c.Unscored {
		wrong("unscored because %q, want %q", unscored, c.Unscored)
	}
	r.Wrong = append(r.Wrong, kit.Differences(kit.Shares(scores), c.Expected)...)
	return r, nil
}

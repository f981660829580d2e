package qa

import (
	"fmt"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// A preflightCase is a reply with known scores. It is parsed and scored like a
// real reply.
type preflightCase struct {
	Case      string             `json:"case"`
	Match     string             `json:"match"`
	Answer    []string           `json:"answer"`
	Choices   []string           `json:"choices"`
	Tolerance float64            `json:"tolerance"`
	Reply     string             `json:"reply"`
	Reason    string             `json:"reason"` // why the reply is malformed
	Expected  map[string]float64 `json:"expected"`
}

func checkCase(data []byte) (kit.Result, error) {
	var c preflightCase
	if err := dataset.DecodeStrict(data, &c); err != nil {
		return kit.Result{}, err
	}
	record := cells{"question": {"?"}, "answer": c.Answer, "choices": c.Choices, "match": {c.Match}}
	if c.Tolerance != 0 {
		record["tolerance"] = []string{formatNumber(c.Tolerance)}
	}
	q, err := parse(record, matchNormalized)
	if err != nil {
		return kit.Result{}, err
	}
	b := new(bench)
	b.Fill([]*question{&q}, (*question).item)
	o := q.outcome(eval.Response{Text: c.Reply, Stop: eval.StopEnd})
	r := kit.Result{Name: c.Case}
	if o.Reason != c.Reason {
		r.Wrong = append(r.Wrong, fmt.Sprintf("the reason is %q, want %q", o.Reason, c.Reason))
	}
	got := kit.Shares(b.Score(nil, eval.CaseOf(eval.Trial{Item: q.id, Arm: "case", Replicate: 1}, o, nil)))
	r.Wrong = append(r.Wrong, kit.Differences(got, c.Expected)...)
	return r, nil
}

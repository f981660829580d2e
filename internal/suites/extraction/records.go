package extraction

import (
	"math"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Records lists one record for each field of an answer, and one for each candidate of
// an ambiguous one. A field that is omitted or answered twice has a record without
// value.
func (b *bench) Records(dst []eval.Record, c eval.Case) ([]eval.Record, error) {
	d, err := b.document(c.Item)
	if err != nil {
		return dst, err
	}
	d = d.ready()
	for t := range c.Answered() {
		x, results := b.assess(d, &t.Outcome, t.Verdicts)
		for i := range results {
			dst = results[i].records(dst, eval.Record{Trial: t.Trial, Extra: x.extra})
		}
	}
	return dst, nil
}

// records appends the records of a field. base has what is the same for all fields.
func (r *result) records(dst []eval.Record, base eval.Record) []eval.Record {
	base.Unit, base.About = r.field.Name, r.field.Description
	base.TokenRatio, base.JudgeScore = math.NaN(), math.NaN()
	e := r.entry()
	if e == nil {
		return append(dst, base)
	}
	base.Status = e.Status
	of := func(candidate int, value, quote Scalar) eval.Record {
		x := base
		x.Candidate, x.Value, x.Quote = candidate, value.Text, quote.Text
		if value.Given && !quote.blank() {
			x.TokenRatio = tokenRatio(value.Text, quote.Text)
		}
		return x
	}
	x := of(0, e.Value, e.Quote)
	if r.judged {
		x.JudgeScore = r.verdict.judge
	}
	dst = append(dst, x)
	for i, c := range e.Candidates {
		dst = append(dst, of(i+1, c.Value, c.Quote))
	}
	return dst
}

package extraction

import (
	"context"
	"iter"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// deterministicJudge is the judge of studies without a judge model: the quote
// must contain the claimed value as a value of the field's type.
const deterministicJudge = "deterministic"

func deterministic(p *point, c claim) opinion {
	return opinion{score: kit.Indicator(text.Contains(p.field.Type, text.MinimalQuote(c.quote), c.value))}
}

// A question is a quote to judge, with the values claimed for it. The judge
// never sees the claims.
type question struct {
	step   string
	field  Field
	quote  string
	claims []string
}

// step names the judge's step for a quote. The name includes a hash of the
// quote: equal quotes share a step, different quotes never do.
func (p *point) step(quote string) string {
	return "judge/" + p.field.Name + "/" + kit.Hash(text.Minimal(quote)).String()[:8]
}

// questions lists the quotes of an outcome that need a judge: those with a
// right value that passed the gates.
func (d *prepared) questions(o *eval.Outcome) (all []*question) {
	byStep := map[string]*question{}
	d.assess(answerOf(o, d.schema), trustedJudge, func(p *point, c claim) opinion {
		step := p.step(c.quote)
		q := byStep[step]
		if q == nil {
			q = &question{step: step, field: p.field, quote: c.quote}
			byStep[step] = q
			all = append(all, q)
		}
		q.claims = append(q.claims, c.value)
		return opinion{}
	})
	return all
}

// Judge asks the judge about every quote that needs it. A failed call leaves a
// verdict with its error; an error that concerns the run is returned.
func (b *bench) Judge(ctx context.Context, t eval.Trial, o eval.Outcome, asker eval.Asker) ([]eval.Verdict, error) {
	if b.judgeModel == nil || o.Kind != eval.OK {
		return nil, nil
	}
	d, err := b.document(t.Item)
	if err != nil {
		return nil, err
	}
	var verdicts []eval.Verdict
	for _, q := range d.ready().questions(&o) {
		v, err := kit.AskJudge(ctx, asker, q.step, b.judgeRequest(d.ID, q), nil)
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, v...)
	}
	return verdicts, nil
}

// judgeRequest shows the judge the field's name and the quote, but not the
// claimed value.
func (b *bench) judgeRequest(document string, q *question) eval.Request {
	r := kit.JudgeRequest(b.judgeModel)
	r.Item = document
	r.Messages = []eval.Message{{Role: "user", Content: "What is the " + q.field.Name + " in the following text? " +
		"Answer with the value alone, as it is written there.\n\nText: " + q.quote}}
	if b.judgeModel.Provider == kit.SimulatedProvider {
		r.Payload = judgeSheet(q)
	}
	return r
}

// judge looks opinions up in the verdicts on an outcome.
func (b *bench) judge(verdicts []eval.Verdict) judge {
	if b.judgeModel == nil {
		return deterministic
	}
	of := make(map[string]*eval.Verdict, len(verdicts)) // the first of each step
	for i := range verdicts {
		if v := &verdicts[i]; of[v.Step] == nil {
			of[v.Step] = v
		}
	}
	return func(p *point, c claim) opinion {
		v := of[p.step(c.quote)]
		switch {
		case v == nil:
			return opinion{failed: "not judged"}
		case v.Err != "":
			return opinion{failed: "no verdict: " + v.Err}
		}
		return opinion{score: kit.Indicator(agrees(p.field.Type, string(v.Data), c.value))}
	}
}

// agrees reports whether a judge's reply equals the claimed value.
func agrees(t text.Type, reply, claimed string) bool {
	return text.Minimal(reply) == text.Minimal(claimed) || text.Equal(t, text.Bare(reply).Text, claimed)
}

// Measure measures the judge on quotes from gold, which contain their value.
func (b *bench) Measure(cases iter.Seq2[eval.Case, error]) (eval.Measurement, error) {
	m, err := kit.Measure(cases, nil, func(c eval.Case, j *eval.Judged) (n kit.Counted, err error) {
		d, err := b.document(c.Item)
		if err != nil {
			return n, err
		}
		ask := b.judge(j.Verdicts)
		d.ready().assess(answerOf(&j.Outcome, d.schema), trustedJudge, func(p *point, c claim) opinion {
			o := ask(p, c)
			one := kit.Count(true, o.score == 1, o.failed)
			n.Pass, n.Missing, n.Cases, n.Right = true, n.Missing+one.Missing, n.Cases+one.Cases, n.Right+one.Right
			for _, w := range one.Wrong {
				w.Want = p.field.Name + ": " + c.value
				n.Wrong = append(n.Wrong, w)
			}
			return o
		})
		return n, nil
	})
	if b.hasDev {
		m.On = "DEV"
	}
	return m, err
}

// Calibrate returns a scorer that weights the judge by its accuracy. All arms share the
// mix, and it depends on no answer of theirs.
func (b *bench) Calibrate(m eval.Measurement) (eval.Scorer, eval.Calibration) {
	if b.judgeModel == nil {
		return b, eval.Calibration{Judge: deterministicJudge, Effect: "no judge model: evidence = 0.3·token + 0.7·(the quote contains the claimed value as a value of its type)"}
	}
	c := eval.Calibration{Judge: b.judgeModel.ID, Measurement: m}
	calibrated := *b
	calibrated.mix, c.Effect = trust(m)
	c.Tables = kit.CalibrationTables(m, "take another judge (judge_model).")
	right, cases := m.Totals()
	c.Failed = cases > 0 && right/cases < judgeAccuracy.usable
	return &calibrated, c
}

// trust returns the mix for a judge of this accuracy and describes it.
func trust(m eval.Measurement) (mix, string) {
	right, cases := m.Totals()
	if cases == 0 {
		effect := kit.Unmeasured(m, "gold quotes", "no evidence_quote in gold contains its value")
		if m.Missing > 0 {
			return trustedJudge, effect + ": evidence that needs it is unscored"
		}
		return withoutJudge, effect + ": it is not used, evidence = token"
	}
	on := kit.Accuracy(m, "gold quotes")
	switch accuracy := right / cases; {
	case accuracy >= judgeAccuracy.trusted:
		return trustedJudge, on + ", 95 % or more: evidence = 0.3·token + 0.7·judge"
	case accuracy >= judgeAccuracy.usable:
		return doubtedJudge, on + ", below 95 %: its weight is lowered, evidence = 0.8·token + 0.2·judge"
	}
	return withoutJudge, on + ", below 80 %: it is not used, evidence = token"
}

// Ratings returns what the judge says of each quote that it was asked about: whether
// it shows the claimed value. Of several quotes for a field, all must.
func (b *bench) Ratings(c eval.Case) []eval.Rating {
	d, err := b.document(c.Item)
	if err != nil {
		return nil
	}
	var list []eval.Rating
	for t := range c.Answered() {
		from := len(list)
		ask := b.judge(t.Verdicts)
		d.ready().assess(answerOf(&t.Outcome, d.schema), trustedJudge, func(p *point, c claim) opinion {
			o := ask(p, c)
			i := slices.IndexFunc(list[from:], func(r eval.Rating) bool { return r.Unit == p.field.Name })
			switch {
			case o.failed != "":
			case i < 0:
				list = append(list, eval.Rating{Trial: t.Trial, Unit: p.field.Name, Type: string(p.field.Type), Yes: o.score == 1})
			default:
				list[from+i].Yes = list[from+i].Yes && o.score == 1
			}
			return o
		})
	}
	return list
}

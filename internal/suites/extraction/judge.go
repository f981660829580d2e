package extraction

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// deterministicJudge is the judge of studies without a judge model: the quote
// must contain the claimed value as a value of the field's type.
const deterministicJudge = "deterministic"

func deterministic(p *point, c claim) opinion {
	return opinion{score: indicator(c.support.typed || text.Contains(p.field.Type, text.Minimal(c.quote), c.value))}
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
func (b *Bench) questions(d *prepared, o *eval.Outcome) []question {
	var all []question
	at := map[string]int{} // in all, by step
	b.assessWith(d, o, trustedJudge, func(p *point, c claim) opinion {
		step := p.step(c.quote)
		i, ok := at[step]
		if !ok {
			i = len(all)
			at[step] = i
			all = append(all, question{step: step, field: p.field, quote: c.quote})
		}
		all[i].claims = append(all[i].claims, c.value)
		return opinion{}
	})
	return all
}

// Judge asks the judge about every quote that needs it. A failed call leaves a
// verdict with its error; an error that concerns the run is returned.
func (b *Bench) Judge(ctx context.Context, t eval.Trial, o eval.Outcome, asker eval.Asker) ([]eval.Verdict, error) {
	if b.judgeModel == nil || o.Kind != eval.OK {
		return nil, nil
	}
	d, err := b.document(t.Item)
	if err != nil {
		return nil, err
	}
	var verdicts []eval.Verdict
	for _, q := range b.questions(d.ready(), &o) {
		v, err := kit.AskJudge(ctx, asker, q.step, b.judgeRequest(d.ID, q))
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}

// judgeRequest shows the judge the field's name and the quote, but not the
// claimed value.
func (b *Bench) judgeRequest(document string, q question) eval.Request {
	r := kit.RequestTo(b.judgeModel)
	r.Item = document
	r.Messages = []eval.Message{{Role: "user", Content: "What is the " + q.field.Name + " in the following text? " +
		"Answer with the value alone, as it is written there.\n\nText: " + q.quote}}
	if b.judgeModel.Provider == kit.SimulatedProvider {
		r.Payload = judgeSheet(q)
	}
	return r
}

// judge looks opinions up in the verdicts on an outcome.
func (b *Bench) judge(verdicts []eval.Verdict) judge {
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
		return opinion{score: indicator(agrees(p.field.Type, string(v.Data), c.value))}
	}
}

// agrees reports whether a judge's reply equals the claimed value.
func agrees(t text.Type, reply, claimed string) bool {
	return text.Minimal(reply) == text.Minimal(claimed) || text.Equal(t, reply, claimed)
}

// Calibrate measures the judge on quotes from gold, which contain their value,
// and returns a scorer that weights the judge by its accuracy.
func (b *Bench) Calibrate(cases iter.Seq2[eval.Case, error]) (eval.Scorer, eval.Calibration, error) {
	if b.judgeModel == nil {
		return b, eval.Calibration{Judge: deterministicJudge, Effect: "no judge model: evidence = 0.3·token + 0.7·(the quote contains the claimed value as a value of its type)"}, nil
	}
	type tally struct{ right, cases float64 }
	tallies := map[int32]tally{} // by document
	failed := 0
	for c, err := range cases {
		if err != nil {
			return nil, eval.Calibration{}, err
		}
		d, err := b.document(c.Item)
		if err != nil {
			return nil, eval.Calibration{}, err
		}
		n := tallies[d.item]
		for j := range c.Answered() {
			opinions, without := b.opinions(d.ready(), j)
			failed += without
			for _, ok := range opinions {
				n.right += ok
				n.cases++
			}
		}
		tallies[d.item] = n
	}
	c := eval.Calibration{Judge: b.judgeModel.ID}
	var all tally
	for _, item := range slices.Sorted(maps.Keys(tallies)) {
		if n := tallies[item]; n.cases > 0 {
			c.Right, c.Cases = append(c.Right, n.right), append(c.Cases, n.cases)
			all.right += n.right
			all.cases += n.cases
		}
	}
	calibrated := *b
	calibrated.mix, c.Effect = trust(all.right, all.cases, failed, b.calibratedOn())
	c.Failed = all.cases > 0 && all.right/all.cases < judgeAccuracy.usable
	return &calibrated, c, nil
}

// opinions returns the judge's opinions on the quotes of a trial and the number
// of quotes without one.
func (b *Bench) opinions(d *prepared, j *eval.Judged) (scores []float64, failed int) {
	ask := b.judge(j.Verdicts)
	b.assessWith(d, &j.Outcome, trustedJudge, func(p *point, c claim) opinion {
		o := ask(p, c)
		if o.failed == "" {
			scores = append(scores, o.score)
		} else {
			failed++
		}
		return o
	})
	return scores, failed
}

// calibratedOn names the documents whose gold quotes measure the judge. A TEST run has no
// others than its own. All arms share the mix, and it depends on no answer of theirs.
func (b *Bench) calibratedOn() string {
	switch {
	case b.study.Split == study.SplitTest:
		return " of TEST, since a TEST run has no DEV documents"
	case b.hasDev:
		return " of DEV"
	}
	return ""
}

// trust returns the mix for a judge of this accuracy and describes it; of says of which
// documents the quotes are.
func trust(right, cases float64, failed int, of string) (mix, string) {
	if cases == 0 && failed > 0 {
		return trustedJudge, fmt.Sprintf("the judge gave no verdict on any of %s: evidence that needs it is unscored", text.Plural(failed, "gold quote", "gold quotes"))
	}
	if cases == 0 {
		return withoutJudge, "the judge could not be calibrated, because no evidence_quote in gold contains its value: it is not used, evidence = token"
	}
	accuracy := right / cases
	on := fmt.Sprintf("the judge was right on %g of %g gold quotes (%.1f %%)%s", right, cases, 100*accuracy, of)
	if failed > 0 {
		on += fmt.Sprintf(" and gave no verdict on %d more", failed)
	}
	switch {
	case accuracy >= judgeAccuracy.trusted:
		return trustedJudge, on + ", 95 % or more: evidence = 0.3·token + 0.7·judge"
	case accuracy >= judgeAccuracy.usable:
		return doubtedJudge, on + ", below 95 %: its weight is lowered, evidence = 0.8·token + 0.2·judge"
	}
	return withoutJudge, on + ", below 80 %: it is not used, evidence = token"
}

package qa

import (
	"context"
	"fmt"
	"iter"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// trustedAccuracy is the minimum accuracy of a judge for its verdicts to count.
const trustedAccuracy = 0.8

// Judge asks the judge whether an answer satisfies the question's rubric. It sees the
// question, the rubric, and the right answer if there is one.
func (b *bench) Judge(ctx context.Context, t eval.Trial, o eval.Outcome, ask eval.Asker) ([]eval.Verdict, error) {
	q, a, err := b.Of(t)
	if err != nil || b.judge == nil || q.match != matchRubric || o.Kind != eval.OK ||
		a.Role == eval.RoleCalibration && len(q.answers) == 0 { // no known verdict
		return nil, nil
	}
	about := "Question:\n" + q.shown() + "\n\nRubric:\n" + q.rubric + "\n\n"
	if len(q.answers) > 0 {
		about += "Reference answer:\n" + q.answers[0] + "\n\n"
	}
	answer, _ := q.final(string(o.Data))
	return kit.AskRubric(ctx, ask, b.judge, kit.RubricQuestion{Item: q.id, Answer: answer, Right: q.right(answer),
		Task: "Decide whether an answer to a question satisfies a rubric.", Context: about})
}

// Measure measures the judge on right answers, which must pass, and on wrong
// answers, which must fail.
func (b *bench) Measure(cases iter.Seq2[eval.Case, error]) (eval.Measurement, error) {
	return kit.Measure(cases, func(c eval.Case, t *eval.Judged) (kit.Counted, error) {
		q := b.Datum(c.Item)
		if q == nil || q.match != matchRubric || len(q.answers) == 0 {
			return kit.Counted{}, nil
		}
		pass, missing := kit.Passed(t.Verdicts)
		return kit.Count(missing != "", pass == (c.Arm == kit.CalibrationRight)), nil
	})
}

// Calibrate returns a scorer that uses the judge's verdicts if it is accurate enough.
func (b *bench) Calibrate(m eval.Measurement) (eval.Scorer, eval.Calibration) {
	if b.judge == nil {
		return b, eval.Calibration{Judge: "rules", Effect: "no question has a rubric: answers are matched by rules"}
	}
	calibrated := *b
	var k eval.Calibration
	calibrated.trusted, k = kit.Trust(b.judge.ID, m, "answers with a known verdict", "no question with a rubric has an answer",
		fmt.Sprintf("below %g %%: questions with a rubric are unscored", 100*trustedAccuracy), func(accuracy float64) bool { return accuracy >= trustedAccuracy })
	return &calibrated, k
}

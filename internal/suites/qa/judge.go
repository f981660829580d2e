package qa

import (
	"context"
	"fmt"
	"iter"
	"strings"

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
		a.Role == eval.RoleCalibration && !b.known(q, t.Arm) {
		return nil, nil
	}
	reference, about := "", "Question:\n"+q.shown()+"\n\nRubric:\n"+q.rubric+"\n\n"+b.judging.List()
	if len(q.answers) > 0 {
		reference = q.answers[0]
		about += "Reference answer:\n" + reference + "\n\n"
	}
	answer, _ := q.final(string(o.Data))
	words := strings.NewReplacer(hole, q.shown(), "{{RUBRIC}}", q.rubric, "{{REFERENCE}}", reference, "{{CRITERIA}}", strings.TrimSpace(b.judging.List()), holeAnswer, kit.Answer(answer)).Replace(b.judging.Prompt)
	return kit.AskRubric(ctx, ask, b.judge, kit.RubricQuestion{Item: q.id, Answer: answer, Right: q.right(answer), Scale: b.judging.Scale, Words: words,
		Task: "Decide whether an answer to a question satisfies a rubric.", Context: about})
}

// holeAnswer is where a prompt of the study has the answer, between tags.
const holeAnswer = "{{ANSWER}}"

// report lists the calibration cases that the judge got wrong.
func (b *bench) report(r eval.Results) ([]eval.Block, error) {
	m, err := b.Measure(r.Cases())
	if t := kit.CalibrationTable(m); t != nil {
		t.Note += " Answers to other questions are taken as wrong unless column wrong of the questions has some."
		return []eval.Block{{Table: t}}, err
	}
	return nil, err
}

// known reports whether the verdict on the answer of a calibration arm is known: it is a right
// answer, one that the study knows to be wrong, or one to another question.
func (b *bench) known(q *question, arm string) bool {
	return len(q.answers) > 0 || arm == kit.CalibrationWrong && len(q.wrong) > 0
}

// Measure measures the judge on right answers, which must pass, and on wrong
// answers, which must fail.
func (b *bench) Measure(cases iter.Seq2[eval.Case, error]) (eval.Measurement, error) {
	return kit.Measure(cases, func(c eval.Case, t *eval.Judged) (kit.Counted, error) {
		q := b.Datum(c.Item)
		a := b.Arm(c.Arm)
		if q == nil || a == nil || a.Role != eval.RoleCalibration || q.match != matchRubric || !b.known(q, c.Arm) {
			return kit.Counted{}, nil
		}
		pass, missing := b.judging.Scale.Passed(t.Verdicts)
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

package qa

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
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
	answer, _ := q.final(string(o.Data))
	return b.ask(ctx, q, answer, q.right(answer), ask)
}

// ask asks the judge about an answer. right is what a simulated judge says of it.
func (b *bench) ask(ctx context.Context, q *question, answer string, right bool, ask eval.Asker) ([]eval.Verdict, error) {
	reference, about := "", "Question:\n"+q.shown()+"\n\nRubric:\n"+q.rubric+"\n\n"+b.judging.List()
	if len(q.answers) > 0 {
		reference = q.answers[0]
		about += "Reference answer:\n" + reference + "\n\n"
	}
	words := strings.NewReplacer(hole, q.shown(), "{{RUBRIC}}", q.rubric, "{{REFERENCE}}", reference, kit.HoleCriteria, strings.TrimSpace(b.judging.List()), holeAnswer, kit.Answer(answer)).Replace(b.judging.Prompt)
	return kit.AskRubric(ctx, ask, b.judge, kit.RubricQuestion{Item: q.id, Answer: answer, Right: right, Scale: b.judging.Scale, Words: words,
		Task: "Decide whether an answer to a question satisfies a rubric.", Context: about})
}

// holeAnswer is where a prompt of the study has the answer, between tags.
const holeAnswer = "{{ANSWER}}"

// known reports whether the verdict on the answer of a calibration arm is known: it is a right
// answer, or one to another question, of a question without wrong answers of its own.
func (b *bench) known(q *question, arm string) bool {
	return len(q.answers) > 0 && (arm == kit.CalibrationRight || len(q.wrong) == 0)
}

// JudgeCase asks the judge about a known case.
func (b *bench) JudgeCase(ctx context.Context, c kit.KnownCase, ask eval.Asker) ([]eval.Verdict, error) {
	return b.ask(ctx, b.Datum(c.Item), c.Answer, c.Pass, ask)
}

// CaseVerdict is what the judge says of a known case.
func (b *bench) CaseVerdict(_ kit.KnownCase, vs []eval.Verdict) (pass bool, missing string) {
	return b.judging.Scale.Passed(vs)
}

// readCases takes the wrong answers of column wrong, and the cases of judge.cases, which are of
// questions with a rubric.
func (b *bench) readCases(f *study.File, s *Study, errs *study.Errors) {
	for _, q := range b.Data {
		for _, wrong := range q.wrong {
			b.Cases.Add(kit.KnownCase{Item: q.id, Answer: wrong})
		}
	}
	b.Cases.Read(f, s.Judging, s.Judge(), b.Items(), func(c kit.KnownCase) error {
		if m := b.Datum(c.Item).match; m != matchRubric {
			return fmt.Errorf("the question is matched by %s: the judge judges questions with a rubric alone", m)
		}
		return nil
	}, errs)
}

// Measure measures the judge on right answers, which must pass, on wrong answers, which must
// fail, and on the known cases of the study.
func (b *bench) Measure(cases iter.Seq2[eval.Case, error]) (eval.Measurement, error) {
	return kit.Measure(cases, b, func(c eval.Case, t *eval.Judged) (kit.Counted, error) {
		q := b.Datum(c.Item)
		a := b.Arm(c.Arm)
		if q == nil || a == nil || a.Role != eval.RoleCalibration || q.match != matchRubric || !b.known(q, c.Arm) {
			return kit.Counted{}, nil
		}
		pass, missing := b.judging.Scale.Passed(t.Verdicts)
		return kit.Count(c.Arm == kit.CalibrationRight, pass, missing), nil
	})
}

// Calibrate returns a scorer that uses the judge's verdicts if it is accurate enough.
func (b *bench) Calibrate(m eval.Measurement) (eval.Scorer, eval.Calibration) {
	if b.judge == nil {
		return b, eval.Calibration{Judge: "rules", Effect: "no question has a rubric: answers are matched by rules"}
	}
	calibrated := *b
	var k eval.Calibration
	calibrated.trusted, k = kit.Trust(b.judge.ID, m, kit.Yardstick{Noun: "answers with a known verdict", Nothing: "no question with a rubric has an answer",
		Least: trustedAccuracy, Otherwise: "questions with a rubric are unscored",
		Remedy: "Answers to other questions are taken as wrong unless column wrong of the questions has some."})
	return &calibrated, k
}

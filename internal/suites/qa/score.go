package qa

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// correct reports whether an outcome is right, or why it is unscored.
func (b *bench) correct(q *question, t *eval.Judged) (right bool, unscored string) {
	switch {
	case t.Outcome.Kind != eval.OK:
		return false, ""
	case q.match != matchRubric:
		return q.right(string(t.Outcome.Data)), ""
	case !b.trusted:
		return false, eval.JudgeFailed
	}
	return b.judging.Scale.Passed(t.Verdicts)
}

// Score scores the replicates of a question and their majority.
func (b *bench) Score(dst []eval.Score, c eval.Case) []eval.Score {
	q := b.Datum(c.Item)
	if q == nil {
		return dst
	}
	var votes kit.Votes
	dst = kit.ScoreTrials(dst, c, func(dst []eval.Score, t *eval.Judged) []eval.Score {
		dst = append(dst, b.correctness(metricCorrect, q, t))
		answered, f1, key := t.Outcome.Kind == eval.OK, 0.0, ""
		if answered {
			key, _ = q.read(string(t.Outcome.Data))
		}
		votes.Add(key, t)
		if q.match == matchExact || q.match == matchNormalized {
			if answered {
				f1 = q.tokenF1(string(t.Outcome.Data))
			}
			dst = append(dst, eval.Score{Metric: metricF1, Num: f1, Den: 1})
		}
		return append(dst, kit.Yes(metricReadable, answered))
	})
	return votes.Score(dst, c, metricMajority, metricConsistency, func(metric string, t *eval.Judged) eval.Score { return b.correctness(metric, q, t) })
}

// correctness scores whether a trial is right.
func (b *bench) correctness(metric string, q *question, t *eval.Judged) eval.Score {
	right, unscored := b.correct(q, t)
	if unscored != "" {
		return kit.Unscored(metric, unscored)
	}
	return kit.Yes(metric, right)
}

// Show shows the first trial of a case: question, right answer and answer.
func (b *bench) Show(c eval.Case) (eval.Exhibit, error) {
	q, t, x, err := b.Shown(c, "answered by")
	if err != nil {
		return x, fmt.Errorf("qa: %w", err)
	}
	x.Lead, x.Facts = q.shown(), slices.Concat(x.Facts, q.others)
	answer, _ := q.final(string(t.Outcome.Data))
	row := eval.ExhibitRow{Unit: "answer", Gold: strings.Join(q.answers, " | "), Answer: answer}
	if row.Gold != "" && q.rubric != "" {
		row.Gold += "; rubric: "
	}
	row.Gold += q.rubric
	if t.Outcome.Kind != eval.OK || slices.Contains(t.Outcome.Notes, eval.NoteTruncated) {
		x.Expected = map[string]string{matchNumeric: "a number: ", matchChoice: "the letter of an option: "}[q.match] + row.Gold
	}
	switch right, unscored := b.correct(q, t); {
	case t.Outcome.Kind != eval.OK:
		row.Note = string(t.Outcome.Kind) + ": " + t.Outcome.Reason
	case unscored != "":
		row.Note = unscored
	case !right:
		row.Note = "wrong"
	}
	for _, s := range b.Score(nil, eval.CaseOf(t.Trial, t.Outcome, t.Verdicts)) {
		if s.Metric != metricReadable {
			row.Scores = append(row.Scores, s)
		}
	}
	x.Rows = []eval.ExhibitRow{row}
	x.Steps = kit.Verdicts(t.Verdicts)
	return x, nil
}

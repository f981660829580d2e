package qa

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// correct reports whether an outcome is right, or why it is unscored.
func (b *Bench) correct(q *question, t *eval.Judged) (right bool, unscored string) {
	switch {
	case t.Outcome.Kind != eval.OK:
		return false, ""
	case q.match != matchRubric:
		return q.right(string(t.Outcome.Data)), ""
	case !b.trusted:
		return false, eval.JudgeFailed
	}
	return verdict(t.Verdicts)
}

// Score scores the replicates of a question and their majority.
func (b *Bench) Score(dst []eval.Score, c eval.Case) []eval.Score {
	q := b.question(c.Item)
	if q == nil {
		return dst
	}
	replicates := 0
	votes, first := map[string]int{}, map[string]*eval.Judged{}
	var keys []string // in order of appearance
	dst = kit.ScoreTrials(dst, c, func(dst []eval.Score, t *eval.Judged) []eval.Score {
		replicates++
		dst = append(dst, b.correctness(metricCorrect, q, t))
		answered := t.Outcome.Kind == eval.OK
		if q.match == matchExact || q.match == matchNormalized {
			f1 := 0.0
			if answered {
				f1 = q.tokenF1(string(t.Outcome.Data))
			}
			dst = append(dst, eval.Score{Metric: metricF1, Num: f1, Den: 1})
		}
		key := "" // of malformed and refused answers
		if answered {
			key, _ = q.read(string(t.Outcome.Data))
		}
		if votes[key]++; votes[key] == 1 {
			keys, first[key] = append(keys, key), t
		}
		return append(dst, eval.Score{Metric: metricReadable, Num: kit.Indicator(answered), Den: 1})
	})
	if replicates < 2 {
		return dst
	}
	agreeing, winner := 0, keys[0]
	for _, key := range keys {
		if key != "" {
			agreeing += votes[key] * (votes[key] - 1) / 2
		}
		if votes[key] > votes[winner] {
			winner = key
		}
	}
	majority := b.correctness(metricMajority, q, first[winner])
	for _, key := range keys {
		if key != winner && votes[winner]-votes[key] < len(c.Trials)-replicates {
			majority = eval.Score{Metric: metricMajority, Den: 1, Unscored: "a replicate that failed decides"}
		}
	}
	pairs := replicates * (replicates - 1) / 2
	return append(dst, majority,
		eval.Score{Metric: metricConsistency, Num: float64(agreeing), Den: float64(pairs)})
}

// correctness scores whether a trial is right.
func (b *Bench) correctness(metric string, q *question, t *eval.Judged) eval.Score {
	right, unscored := b.correct(q, t)
	if unscored != "" {
		return eval.Score{Metric: metric, Den: 1, Unscored: unscored}
	}
	return eval.Score{Metric: metric, Num: kit.Indicator(right), Den: 1}
}

// Show shows the first trial of a case: question, right answer and answer.
func (b *Bench) Show(c eval.Case) (eval.Exhibit, error) {
	q := b.question(c.Item)
	if q == nil || len(c.Trials) == 0 {
		return eval.Exhibit{}, fmt.Errorf("qa: %s × %s cannot be shown: the study does not have the question, or there is no trial", c.Item, c.Arm)
	}
	t := &c.Trials[0]
	x := eval.Exhibit{Item: c.Item, Arm: c.Arm, Title: fmt.Sprintf("%s, answered by %s", c.Item, c.Arm), Lead: q.shown(), Raw: string(t.Outcome.Data)}
	x.Facts = slices.Concat(b.items[b.byID[q.id]].Strata, q.others)
	answer, _ := q.final(string(t.Outcome.Data))
	row := eval.ExhibitRow{Unit: "answer", Gold: strings.Join(q.answers, " | "), Answer: answer}
	if q.match == matchRubric {
		row.Gold = cmp.Or(row.Gold, q.rubric)
	}
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
	for _, v := range t.Verdicts {
		x.Steps = append(x.Steps, eval.ExhibitStep{Name: string(v.Source) + " " + v.By, Text: cmp.Or(v.Err, string(v.Data))})
	}
	return x, nil
}

// maxUnsolved limits the rows of the table of unsolved questions.
const maxUnsolved = 20

// Report lists the questions that no arm answered correctly, with the most
// frequent wrong answer. The cause is often wrong gold.
func (b *Bench) Report(r eval.Results) ([]eval.Block, error) {
	solved, tried := map[string]bool{}, map[string]bool{}
	wrong := map[string]map[string]int{}
	for c, err := range r.Cases() {
		if err != nil {
			return nil, err
		}
		q, a := b.question(c.Item), b.byArm[c.Arm]
		if q == nil || a == nil || a.Role != eval.RoleArm {
			continue
		}
		for t := range c.Answered() {
			right, unscored := b.correct(q, t)
			if unscored != "" {
				continue
			}
			tried[q.id] = true
			solved[q.id] = solved[q.id] || right
			if !right {
				if wrong[q.id] == nil {
					wrong[q.id] = map[string]int{}
				}
				answer, _ := q.final(string(t.Outcome.Data))
				wrong[q.id][cmp.Or(t.Outcome.Reason, answer)]++
			}
		}
	}
	table := eval.Table{Name: "unsolved", Title: "Questions without a correct answer", Columns: []string{"question", "text", "right answer", "most frequent answer", "times"}}
	unsolved := 0
	for i := range b.questions {
		q := &b.questions[i]
		if !tried[q.id] || solved[q.id] {
			continue
		}
		if unsolved++; unsolved > maxUnsolved {
			continue
		}
		var answer string
		for _, a := range slices.Sorted(maps.Keys(wrong[q.id])) {
			if wrong[q.id][a] > wrong[q.id][answer] {
				answer = a
			}
		}
		table.Rows = append(table.Rows, []string{q.id, text.Shorten(q.text, 60), text.Shorten(strings.Join(q.answers, " | "), 40), text.Shorten(answer, 40), fmt.Sprint(wrong[q.id][answer])})
	}
	if unsolved == 0 {
		return nil, nil
	}
	table.Note = fmt.Sprintf("%d of %s. Check the right answers first.", unsolved, text.Plural(len(b.questions), "question", "questions"))
	if unsolved > maxUnsolved {
		table.Note += fmt.Sprintf(" The first %d are shown.", maxUnsolved)
	}
	return []eval.Block{{Table: &table}}, nil
}

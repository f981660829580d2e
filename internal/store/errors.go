package store

import (
	"cmp"
	"context"
	"iter"
	"regexp"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
)

// An ErrorCount counts the failed calls with one error.
type ErrorCount struct {
	Calls int    `json:"calls"`
	Kind  string `json:"kind"`
	Text  string `json:"text"` // of one of the calls
}

// varying matches what differs between errors of one cause: numbers and ids.
var varying = regexp.MustCompile(`[0-9a-zA-Z_-]*[0-9][0-9a-zA-Z_-]*`)

// Errors returns the most frequent errors of calls without an answer, at most n.
func (db *DB) Errors(ctx context.Context, run *Run, n int) ([]ErrorCount, error) {
	list, err := byCause(rows[ErrorCount](ctx, db, `SELECT count(*), error_kind, error FROM `+planned+`calls c ON c.trial = t.id
		WHERE `+inPlan+` AND error_kind <> '' GROUP BY error_kind, error ORDER BY error_kind, error`, run))
	return list[:min(n, len(list))], err
}

// JudgeErrors counts the verdicts that judges failed to give, by judge and reason.
func (db *DB) JudgeErrors(ctx context.Context, run *Run) (list []eval.JudgeError, err error) {
	causes, err := byCause(rows[ErrorCount](ctx, db, `SELECT count(*), v.judge, v.error FROM `+planned+`verdicts v ON v.trial = t.id
		WHERE `+inPlan+lastOnTrial+` AND v.error <> '' GROUP BY v.judge, v.error ORDER BY v.judge, v.error`, run))
	for _, c := range causes {
		list = append(list, eval.JudgeError{Judge: c.Kind, Reason: c.Text, Verdicts: c.Calls})
	}
	slices.SortStableFunc(list, func(a, b eval.JudgeError) int { return cmp.Compare(a.Judge, b.Judge) })
	return list, err
}

// ofStep matches what the error of a step begins with: the model, the trial and the step.
var ofStep = regexp.MustCompile(`^asking .+?, step .+?(, \d+ attempts)?: `)

// byCause adds up errors that differ only in numbers and ids, the most frequent first.
func byCause(errors iter.Seq2[ErrorCount, error]) ([]ErrorCount, error) {
	byCause := map[string]*ErrorCount{}
	for e, err := range errors {
		if err != nil {
			return nil, err
		}
		e.Text = ofStep.ReplaceAllString(e.Text, "")
		cause := e.Kind + "\n" + varying.ReplaceAllString(e.Text, "#")
		if known := byCause[cause]; known != nil {
			known.Calls += e.Calls
		} else {
			byCause[cause] = &e
		}
	}
	list := make([]ErrorCount, 0, len(byCause))
	for _, e := range byCause {
		list = append(list, *e)
	}
	slices.SortFunc(list, func(a, b ErrorCount) int {
		return cmp.Or(b.Calls-a.Calls, cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Text, b.Text))
	})
	return list, nil
}

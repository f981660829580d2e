package experiment

import (
	"context"
	"fmt"
	"iter"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/store"
)

// Trials yields the trials of a scored run in the order of its plan. Scores of all replicates
// of an item together are not among them.
func (r *Run) Trials(ctx context.Context) iter.Seq2[eval.ScoredTrial, error] {
	return func(yield func(eval.ScoredTrial, error) bool) {
		nextTaken, stopTaken := r.taken(ctx, "reading")
		defer stopTaken()
		nextScores, stopScores := iter.Pull2(r.db.Scores(ctx, r.Record))
		defer stopScores()
		var scores store.TrialScores
		var more bool
		advance := func() (err error) {
			for more = true; more; {
				if scores, err, more = nextScores(); err != nil || scores.Trial.Replicate > 0 {
					return err
				}
			}
			return nil
		}
		err := advance()
		for j, failed := range r.db.Outcomes(ctx, r.Record) {
			if err == nil {
				err = failed
			}
			t := eval.ScoredTrial{Judged: j, Show: func() (eval.Exhibit, error) { return shownBy(r.Bench, eval.CaseOf(j.Trial, j.Outcome, j.Verdicts)) }}
			if err == nil {
				t.Taken, err = nextTaken(j.Trial)
			}
			if err == nil && more && scores.Trial == j.Trial {
				t.Scores = scores.Scores
				err = advance()
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// taken returns a function that returns what the calls of the next trial with an outcome took, and one
// that ends it. doing is what errors say.
func (r *Run) taken(ctx context.Context, doing string) (next func(eval.Trial) (eval.Taken, error), stop func()) {
	pull, stop := iter.Pull2(r.db.Taken(ctx, r.Record))
	return func(of eval.Trial) (eval.Taken, error) {
		t, err, _ := pull()
		if err == nil && t.Trial != of {
			err = fmt.Errorf("%s %v: the store has the calls of %v in its place", doing, of, t.Trial)
		}
		return t, err
	}, stop
}

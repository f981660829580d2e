package experiment

import (
	"bytes"
	"context"
	"fmt"
	"maps"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/store"
)

// Exhibits returns a function that shows trials with an outcome one by one. It measures
// the judge only once.
func (r *Run) Exhibits(ctx context.Context) (func(context.Context, eval.Trial) (eval.Exhibit, error), error) {
	scorer, _, err := r.calibrate(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, t eval.Trial) (eval.Exhibit, error) { return r.exhibit(ctx, scorer, t) }, nil
}

// Ratings are what the judge and people say of the same units, as the analysis compares
// them; nil if no task measures the judge.
func (r *Run) Ratings(ctx context.Context) (*analyse.Ratings, error) {
	scorer, _, err := r.calibrate(ctx)
	if err != nil {
		return nil, err
	}
	return r.ratings(ctx, scorer)
}

// Prompts builds the prompts of a trial again, by step, and checks them against the
// hashes in the journal. With an error it returns those built before it.
func (r *Run) Prompts(ctx context.Context, t eval.Trial, stage eval.Stage) (map[string]string, error) {
	calls, err := r.db.CallsOf(ctx, r.Record, t, stage)
	if err != nil || len(calls) == 0 {
		return nil, err
	}
	again := &replay{calls: calls, asked: map[string]string{}}
	err = r.repeat(ctx, store.Asked{Stage: stage, Trial: t}, again)
	again.mu.Lock() // a suite that asks in parallel may still be at it
	defer again.mu.Unlock()
	return maps.Clone(again.asked), err
}

// A Repetition is what performing the trials of a run again, with the answers of the
// journal, showed.
type Repetition struct {
	Same, Failed int      // failed trials have no outcome to compare
	Different    []string // trials whose outcome does not follow from their answers
	Unrepeated   int      // could not be performed again
	Why          error    // the first of these
}

// Repeat derives the stored outcomes again from the answers of the journal. It asks
// nothing.
func (r *Run) Repeat(ctx context.Context) (*Repetition, error) {
	rep := &Repetition{}
	for j, err := range r.db.Outcomes(ctx, r.Record) {
		if err != nil {
			return nil, err
		}
		if j.Outcome.Kind == eval.Failed {
			rep.Failed++
			continue
		}
		calls, err := r.db.CallsOf(ctx, r.Record, j.Trial, eval.StageRun)
		if err != nil {
			return nil, err
		}
		o, err := r.Bench.Perform(ctx, j.Trial, &replay{calls: calls, asked: map[string]string{}})
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			if rep.Unrepeated++; rep.Why == nil {
				rep.Why = fmt.Errorf("%v: %w", j.Trial, err)
			}
		case o.Kind != j.Outcome.Kind || o.Reason != j.Outcome.Reason || !bytes.Equal(o.Data, j.Outcome.Data):
			rep.Different = append(rep.Different, j.Trial.String())
		default:
			rep.Same++
		}
	}
	return rep, nil
}

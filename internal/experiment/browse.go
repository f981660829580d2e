package experiment

import (
	"context"
	"maps"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
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
	again, err := r.replay(ctx, t, stage)
	if err != nil || len(again.calls) == 0 {
		return nil, err
	}
	err = r.repeat(ctx, t, stage, again)
	again.mu.Lock() // a suite that asks in parallel may still be at it
	defer again.mu.Unlock()
	return maps.Clone(again.asked), err
}

// repeat performs or judges a trial with the answers of the journal.
func (r *Run) repeat(ctx context.Context, t eval.Trial, stage eval.Stage, again *replay) error {
	if stage == eval.StageRun {
		_, err := r.Bench.Perform(ctx, t, again)
		return err
	}
	judged, err := r.db.Outcome(ctx, r.Record, t)
	if err == nil {
		_, err = r.Bench.Judge(ctx, t, judged.Outcome, again)
	}
	return err
}

package experiment

import (
	"context"
	"maps"

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

// Prompts builds the prompts of a trial again, by step, and checks them against the
// hashes in the journal. With an error it returns those built before it.
func (r *Run) Prompts(ctx context.Context, t eval.Trial, stage eval.Stage) (map[string]string, error) {
	calls, err := r.db.CallsOf(ctx, r.Record, t, stage)
	if err != nil || len(calls) == 0 {
		return nil, err
	}
	again := &replay{trial: t, calls: calls, asked: map[string]string{}}
	err = r.repeat(ctx, store.Asked{Stage: stage, Trial: t}, again)
	again.mu.Lock() // a suite that asks in parallel may still be at it
	defer again.mu.Unlock()
	return maps.Clone(again.asked), err
}

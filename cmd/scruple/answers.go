package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/store"
)

// runAnswers is the client of an arm that takes its answers from an arm of
// another run in a store.
type runAnswers struct {
	db   *store.DB
	kept *store.Answers
	from string
}

// openRunAnswers opens the answers of RUN:ARM in a store.
func openRunAnswers(ctx context.Context, path, from string) (*runAnswers, error) {
	id, arm, _ := strings.Cut(from, ":")
	db, err := store.OpenRead(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("answers of run %s: %w", from, err)
	}
	r, err := db.Run(ctx, id)
	var kept *store.Answers
	if err == nil {
		err = experiment.CheckShown(ctx, db, r) // other gold or items would show what it hides
	}
	if err == nil {
		kept, err = db.Answers(ctx, r, arm)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("answers of run %s: %w", from, err), db.Close())
	}
	return &runAnswers{db, kept, from}, nil
}

func (a *runAnswers) Close() error { return a.db.Close() }

// Complete gives the answer to the request's item and replicate. A trial that
// failed in the other run, or is not in it, fails here too.
func (a *runAnswers) Complete(ctx context.Context, r *eval.Request) (eval.Response, error) {
	replicate := max(1, r.Replicate)
	o, version, err := a.kept.Get(ctx, r.Item, replicate)
	if err == nil && o.Kind == eval.Failed {
		err = fmt.Errorf("the trial failed: %s", o.Detail)
	}
	if err != nil {
		return eval.Response{}, &model.Error{Kind: eval.ErrUnavailable, Err: err, RetryAfter: time.Nanosecond, // it stays as it is
			Message: fmt.Sprintf("reading the answer of %s: %v", a.from, err), Remedy: "finish the other run first"}
	}
	response := eval.Response{Text: string(o.Data), Stop: eval.StopEnd, ModelVersion: version,
		RequestID: fmt.Sprintf("%s:%s#%d", a.from, r.Item, replicate)}
	if o.Kind == eval.Refused {
		response.Stop, response.Refusal = eval.StopRefused, o.Detail
	}
	return response, nil
}

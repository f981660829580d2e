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
func (a *app) openRunAnswers(ctx context.Context, path, from string) (*runAnswers, error) {
	id, arm, _ := strings.Cut(from, ":")
	db, err := store.OpenRead(ctx, path)
	if errors.Is(err, store.ErrNotFound) {
		return a.noRun(id, from, err)
	}
	if err != nil {
		return nil, fmt.Errorf("answers of run %s: %w", from, err)
	}
	r, err := db.Run(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		db.Close()
		return a.noRun(id, from, err)
	}
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

func (a *runAnswers) Close() error {
	if a.db == nil {
		return nil
	}
	return a.db.Close()
}

// noRun has no answers, for the run that is to get the first tag of a name; for others there
// must be a run.
func (a *app) noRun(id, from string, err error) (*runAnswers, error) {
	if id != a.tag {
		return nil, fmt.Errorf("answers of run %s: %w; nor has another run this tag: `scruple run STUDY --tag %s` gives it to a run, such as that of the main branch", from, err, id)
	}
	a.first = true
	return &runAnswers{from: from}, nil
}

// errNoTag is the error of a run that is to get the first tag of its name.
var errNoTag = errors.New("no run has the tag yet: this one is the first, and the next run can take its answers")

// Complete gives the answer to the request's item and replicate. A trial that
// failed in the other run, or is not in it, fails here too.
func (a *runAnswers) Complete(ctx context.Context, r *eval.Request) (eval.Response, error) {
	replicate := max(1, r.Replicate)
	if a.kept == nil {
		return eval.Response{}, &model.Error{Kind: eval.ErrUnavailable, Err: errNoTag, RetryAfter: time.Nanosecond, Message: fmt.Sprintf("reading the answer of %s: %v", a.from, errNoTag)}
	}
	o, version, taken, err := a.kept.Get(ctx, r.Item, replicate)
	if err == nil && o.Kind == eval.Failed {
		err = fmt.Errorf("the trial failed: %s", o.Detail)
	}
	if err != nil {
		return eval.Response{}, &model.Error{Kind: eval.ErrUnavailable, Err: err, RetryAfter: time.Nanosecond, // it stays as it is
			Message: fmt.Sprintf("reading the answer of %s: %v", a.from, err), Remedy: "finish the other run first"}
	}
	response := eval.Response{Text: string(o.Data), Stop: eval.StopEnd, ModelVersion: version, Taken: &taken,
		Usage:     eval.Usage{Input: taken.TokensIn, Output: taken.TokensOut, CachedInInput: true, ReasoningInOutput: true},
		RequestID: fmt.Sprintf("%s:%s#%d", a.from, r.Item, replicate)}
	if o.Kind == eval.Refused {
		response.Stop, response.Refusal = eval.StopRefused, o.Detail
	}
	return response, nil
}

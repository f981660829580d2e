package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/store"
)

func scoreVerb(a *app) *cobra.Command {
	unblind := ""
	c := verb("score STUDY|RUN", "score and analyse a run again from its stored answers", `
Calls no model. Use it after a change of gold, metrics, comparisons or rules. The
run follows the study: outcomes and verdicts that depend on something that changed are
derived again from the answers, and what takes another answer stays pending. What changed
is recorded in the history of the run. A TEST run is scored with what was registered,
unless --unblind gives a reason.`, cobra.ExactArgs(1),
		func(c *cobra.Command, args []string) error { return a.score(c.Context(), args[0], unblind) })
	c.Flags().StringVar(&unblind, "unblind", "", "why a TEST run is scored with other inputs than were registered; recorded for good")
	return c
}

func (a *app) score(ctx context.Context, arg, unblind string) error {
	x, from, err := a.loadFor(ctx, arg)
	if err != nil {
		return err
	}
	defer x.Close()
	if err := x.CheckScorer(); err != nil {
		return err
	}
	db, err := store.Open(ctx, from.store)
	if err != nil {
		return err
	}
	defer db.Close()
	found, err := from.find(ctx, db)
	if err != nil {
		return err
	}
	if err := x.CheckTest(ctx, db, found, experiment.Attempt{Unblind: unblind, By: a.user()}); err != nil {
		return err
	}
	r, err := x.Follow(ctx, db, found)
	if err != nil {
		return err
	}
	if r.Changed != "" {
		a.say("%s follows the study: %s", r.Record.ID, r.Changed)
	}
	_, err = a.conclude(ctx, db, r, arg, false)
	return err
}

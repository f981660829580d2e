package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/experiment"
)

func scoreVerb(a *app) *cobra.Command {
	unblind := ""
	c := verb("score STUDY|RUN", "score and analyse a run again from its stored answers", `
Calls no model. Use it after a change of gold, metrics, comparisons or rules. The
run follows the study: outcomes and verdicts that depend on something that changed are
derived again from the answers, and what takes another answer stays pending. What changed
is recorded in the history of the run. A TEST run is scored with what was registered,
unless --unblind gives a reason.`, cobra.ExactArgs(1),
		a.onRun(func(ctx context.Context, arg string, o opened) error { return a.score(ctx, arg, o, unblind) }))
	c.Flags().StringVar(&unblind, "unblind", "", "why a TEST run is scored with other inputs than were registered; recorded for good")
	return c
}

func (a *app) score(ctx context.Context, arg string, o opened, unblind string) error {
	if err := o.x.CheckScorer(); err != nil {
		return err
	}
	if err := o.x.CheckTest(ctx, o.db, o.run, experiment.Attempt{Unblind: unblind, By: a.user()}); err != nil {
		return err
	}
	r, err := o.x.Follow(ctx, o.db, o.run)
	if err != nil {
		return err
	}
	if r.Changed != "" {
		a.say("%s follows the study: %s", r.Record.ID, r.Changed)
	}
	_, err = a.conclude(ctx, o.db, r, arg, false)
	return err
}

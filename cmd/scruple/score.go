package main

import (
	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/experiment"
)

func scoreVerb(a *app) *cobra.Command {
	unblind := ""
	c := a.verb("score", a.on(itsRun, func(o *opened) error {
		if err := o.x.CheckScorer(); err != nil {
			return err
		}
		if err := o.x.CheckTest(o.ctx, o.db, o.run, experiment.Attempt{Unblind: unblind, By: a.user()}); err != nil {
			return err
		}
		r, err := o.x.Follow(o.ctx, o.db, o.run)
		if err != nil {
			return err
		}
		if r.Changed != "" {
			a.say("%s follows the study: %s", r.Record.ID, r.Changed)
		}
		_, err = a.conclude(o.ctx, o.db, r, o.arg, false)
		return err
	}))
	c.Flags().StringVar(&unblind, "unblind", "", "why a TEST run is scored with other inputs than were registered; recorded for good")
	return c
}

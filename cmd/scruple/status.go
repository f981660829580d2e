package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/store"
)

func statusVerb(a *app) *cobra.Command {
	var workers bool
	c := a.verb("status", func(c *cobra.Command, args []string) error {
		if workers {
			return a.workers(c.Context())
		}
		if len(args) == 0 {
			return a.allRuns(c.Context())
		}
		return a.on(aRun, a.status)(c, args)
	})
	c.Flags().BoolVar(&workers, "workers", false, "show what the workers of a shared store have in hand")
	return c
}

func (a *app) status(o *opened) error {
	s, err := experiment.StatusOf(o.ctx, o.db, o.run)
	if err != nil {
		return err
	}
	const most = 10
	if s.Trend, s.Unread, err = experiment.Trend(o.ctx, o.db, o.run.Study, most); err != nil {
		return err
	}
	return a.answer(s, "status", struct {
		experiment.Status
		Arg     string
		Command func(...string) string
	}{s, o.arg, a.command})
}

func (a *app) allRuns(ctx context.Context) error {
	db, err := store.OpenRead(ctx, a.storeFor(""))
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := experiment.Statuses(ctx, db)
	if err != nil {
		return err
	}
	return a.answer(list, "runs", list)
}

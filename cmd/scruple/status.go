package main

import (
	"context"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/store"
)

func (a *app) status(o *opened) error {
	switch {
	case o.is("workers"):
		return a.workers(o.ctx)
	case len(o.args) == 0:
		return a.allRuns(o.ctx)
	}
	if err := a.opens(o, aRun); err != nil {
		return err
	}
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
	list, err := experiment.Statuses(ctx, db, a.json)
	if err != nil {
		return err
	}
	return a.answer(list, "runs", list)
}

package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/store"
)

func statusVerb(a *app) *cobra.Command {
	return verb("status [STUDY|RUN]", "show where a run stands, or all runs of a store", `
Says what is done, what failed and what it cost, and how the run was carried
out. Nothing is changed; it can be used while a run is under way.`, cobra.MaximumNArgs(1),
		func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.allRuns(c.Context())
			}
			return a.status(c.Context(), args[0])
		})
}

func (a *app) status(ctx context.Context, arg string) error {
	db, r, err := a.findRun(ctx, arg)
	if err != nil {
		return err
	}
	defer db.Close()
	s, err := experiment.StatusOf(ctx, db, r)
	if err != nil {
		return err
	}
	if a.json {
		return printJSON(a.out, s)
	}
	a.say("run      %s (%s), begun %s", s.Run, s.Suite, s.CreatedAt)
	a.say("study    %s", s.File)
	a.say("state    %s: %d of %d trials done, %d failed", s.State, s.Done, s.Trials, s.Failed)
	if s.ToJudge+s.JudgeFailed > 0 {
		a.say("judging  %d trials wait, %d failed", s.ToJudge, s.JudgeFailed)
	}
	a.say("spent    %d calls, %d tokens, $%.4f", s.Calls, s.Tokens, s.CostUSD)
	for _, e := range s.Events {
		a.say("%s  %s: %s", e.At.Format(time.RFC3339), e.What, e.Note)
	}
	switch s.State {
	case "started":
		a.say("continue with `scruple run %s`", arg)
	case "error":
		a.say("try the failed ones again with `scruple run --retry-failed %s`", arg)
	}
	return nil
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
	if a.json {
		return printJSON(a.out, list)
	}
	for _, s := range list {
		a.say("%-24s %-8s %d/%d done, %d failed, %d calls, $%.4f  %s", s.Run, s.State, s.Done, s.Trials, s.Failed, s.Calls, s.CostUSD, s.CreatedAt)
	}
	if len(list) == 0 {
		a.say("no runs yet")
	}
	return nil
}

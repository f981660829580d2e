package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/report"
)

func showVerb(a *app) *cobra.Command {
	var to rendering
	var which experiment.Selection
	c := verb("show STUDY|RUN ITEM [ARM…]", "show the trials of an item, step by step", `
Shows the outcome, gold beside the answer, and every step, for all arms or the
named ones. --prompts adds the prompts: they are built again from the study and
checked against the hashes in the journal. Formats: see report.`, cobra.MinimumNArgs(2),
		func(c *cobra.Command, args []string) error {
			which.Item, which.Arms = args[1], args[2:]
			shown, err := a.show(c.Context(), args[0], which)
			if err != nil {
				return err
			}
			return a.render(report.Report{Analysis: shown, Trials: true}, to)
		})
	to.flags(c)
	c.Flags().BoolVar(&which.Prompts, "prompts", false, "show the prompts")
	c.Flags().IntVar(&which.Replicate, "replicate", 1, "number of the replicate to show")
	return c
}

func (a *app) show(ctx context.Context, arg string, which experiment.Selection) (*analyse.Analysis, error) {
	x, _, err := a.loadFor(ctx, arg)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	if err := x.CheckSelection(which); err != nil {
		return nil, err
	}
	db, found, err := a.findRun(ctx, arg)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	r, err := x.Attach(ctx, db, found)
	if err != nil {
		return nil, err
	}
	return r.Show(ctx, which)
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/report"
)

func reportVerb(a *app) *cobra.Command {
	var to rendering
	c := a.verb("report", func(c *cobra.Command, args []string) error {
		result, err := a.keptFor(c.Context(), args[0])
		if err != nil {
			return err
		}
		from, err := a.locate(c.Context(), args[0])
		if err != nil {
			return err
		}
		return a.render(report.Report{Analysis: result.Analysis, Verdict: result.Verdict}, to, from)
	})
	to.flags(c)
	c.Flags().BoolVarP(&to.verbose, "verbose", "v", false, "show all metrics and breakdowns (terminal)")
	return c
}

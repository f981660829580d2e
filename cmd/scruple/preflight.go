package main

import (
	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/experiment"
)

func preflightVerb(a *app) *cobra.Command {
	return verb("preflight STUDY|RUN", "run the suite's scorer on cases with known scores", `
The same check runs before every run; one wrong case stops the run before the
first call. Put your own cases into the folder preflight beside the study.`, cobra.ExactArgs(1), func(c *cobra.Command, args []string) error {
		x, _, err := a.loadFor(c.Context(), args[0])
		if err != nil {
			return err
		}
		defer x.Close()
		results, err := x.Preflight()
		if err != nil {
			return err
		}
		if a.json {
			if err := printJSON(a.out, results); err != nil {
				return err
			}
		}
		for _, r := range results {
			a.say("%-6s %s", map[bool]string{true: "ok", false: "WRONG"}[r.OK()], r.Name)
			for _, w := range r.Wrong {
				a.say("         %s", w)
			}
		}
		return experiment.CheckCases(results)
	})
}

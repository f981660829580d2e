package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/report"
)

func validateVerb(a *app) *cobra.Command {
	return verb("validate STUDY|RUN", "check a study file and everything it names", `
Reads the study, its data, gold, schemas and prompts, checks the rules, and
runs the suite's pre-flight cases. Nothing is asked and nothing is written. All
findings are listed, each with file, line and remedy.`, cobra.ExactArgs(1), func(c *cobra.Command, args []string) error {
		x, _, err := a.loadFor(c.Context(), args[0])
		if err != nil {
			return err
		}
		defer x.Close()
		if err := errors.Join(x.CheckScorer(), a.tryPipelines(x)); err != nil {
			return err
		}
		summary := map[string]any{"study": x.Study.Name, "suite": x.Study.Suite, "items": len(x.Bench.Items()), "arms": x.ArmIDs(), "trials": x.Plan.Len()}
		a.say("%s is good: %d items, %d arms (%s), %d trials", args[0], len(x.Bench.Items()), len(x.Bench.Arms()), strings.Join(x.ArmIDs(), ", "), x.Plan.Len())
		if list := x.Facts(); list != nil {
			facts := map[string]int{}
			var words []string
			for _, f := range list {
				facts[f.Name] = f.N
				words = append(words, fmt.Sprintf("%s %d", f.Name, f.N))
			}
			a.say("%s", strings.Join(words, ", "))
			summary["facts"], summary["warnings"] = facts, append([]string{}, x.Warnings()...)
			for _, text := range x.Warnings() {
				a.say("warning: %s", report.PlainLine(text))
			}
		}
		if a.json {
			return printJSON(a.out, summary)
		}
		return nil
	})
}

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/text"
)

func validateVerb(a *app) *cobra.Command {
	return verb("validate STUDY|RUN", "validate a study file and everything it refers to", `
Reads the study, its data, gold, schemas and prompts, checks the rules, models and
programs, and runs the suite's pre-flight cases. It refuses what `+"`scruple run`"+`
would refuse before its first call, but for a key that is not set, of which it
warns. It calls no model and writes nothing. It lists all findings, each with file,
line and remedy.`, cobra.ExactArgs(1), func(c *cobra.Command, args []string) error {
		x, _, err := a.loadFor(c.Context(), args[0])
		if err != nil {
			return err
		}
		defer x.Close()
		noKeys, err := a.checkModels(c.Context(), x)
		if err := errors.Join(x.CheckScorer(), err); err != nil {
			return err
		}
		summary := map[string]any{"study": x.Study.Name, "suite": x.Study.Suite, "items": len(x.Bench.Items()), "arms": x.ArmIDs(), "trials": x.Plan.Len()}
		a.say("%s is valid: %s, %s (%s), %s", args[0], text.Plural(len(x.Bench.Items()), "item", "items"), text.Plural(len(x.Bench.Arms()), "arm", "arms"), strings.Join(x.ArmIDs(), ", "), text.Plural(x.Plan.Len(), "trial", "trials"))
		warnings, err := x.Unreachable()
		if err != nil {
			return err
		}
		warnings = slices.Concat(x.Warnings(), noKeys, warnings)
		if list := x.Facts(); list != nil {
			facts := map[string]int{}
			var words []string
			for _, f := range list {
				facts[f.Name] = f.N
				words = append(words, fmt.Sprintf("%s %d", f.Name, f.N))
			}
			a.say("data: %s", strings.Join(words, ", "))
			summary["facts"] = facts
		}
		summary["warnings"] = append([]string{}, warnings...)
		for _, text := range warnings {
			a.say("warning: %s", report.PlainLine(text))
		}
		if a.json {
			return printJSON(a.out, summary)
		}
		return nil
	})
}

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/report"
)

func gateVerb(a *app) *cobra.Command {
	return verb("gate STUDY|RUN", "decide by the rules of the study, with an exit code", `
Prints every condition with the values it used, and exits 0 when the gate
passed, 1 when it failed, 3 when the results cannot decide, and 4 when more
trials failed than the study allows. Rules are expressions over named results:

`+gate.Help(), cobra.ExactArgs(1), func(c *cobra.Command, args []string) error { return a.gate(c.Context(), args[0]) })
}

// gate applies the rules as they stand now: in a study file they may have
// changed since the run, and deciding again costs nothing. Asked by run id it
// gives the verdict that was kept.
func (a *app) gate(ctx context.Context, arg string) error {
	db, r, err := a.findRun(ctx, arg)
	if err != nil {
		return err
	}
	defer db.Close()
	result, err := experiment.Kept(ctx, db, r)
	if err != nil {
		return err
	}
	if isStudyFile(arg) {
		x, _, err := a.loadFor(ctx, arg)
		if err != nil {
			return err
		}
		defer x.Close()
		if result, err = x.Decide(ctx, db, r, result); err != nil {
			return err
		}
	}
	if result.Verdict == nil {
		return fmt.Errorf("the study has no rules to decide by: add `decide:` to it (see `scruple gate --help`)")
	}
	if a.json {
		err = printJSON(a.out, result.Verdict)
	} else {
		err = report.Gate(a.out, result.Verdict, a.terminal())
	}
	if err != nil {
		return err
	}
	if code := result.Verdict.ExitCode(); code != exitOK {
		return exit(code, nil)
	}
	return nil
}

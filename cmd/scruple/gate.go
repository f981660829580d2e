package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/store"
)

func gateVerb(a *app) *cobra.Command {
	return verb("gate STUDY|RUN", "apply the rules of the study and exit with the verdict", `
Prints every condition with the values it used. Exits 0 if the gate passed, 1 if
it failed, 3 if the results cannot decide, and 4 if more trials failed than the
study allows. Rules are expressions over named results:

`+gate.Help(), cobra.ExactArgs(1), func(c *cobra.Command, args []string) error { return a.gate(c.Context(), args[0]) })
}

// gate applies the current rules of a study file, which may have changed since
// the run: deciding again costs nothing. For a run id it prints the stored
// verdict.
func (a *app) gate(ctx context.Context, arg string) error {
	db, r, err := a.findRun(ctx, arg)
	if err != nil {
		return err
	}
	defer db.Close()
	result, err := experiment.Kept(ctx, db, r)
	if errors.Is(err, store.ErrNotFound) {
		return exit(exitNotAllowed, fmt.Errorf("gate: nothing to decide by: %w", err))
	}
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
		return errNoRules
	}
	if a.json {
		err = printJSON(a.out, result.Verdict)
	} else {
		err = report.Gate(a.out, result.Verdict, a.terminal())
	}
	if err != nil {
		return err
	}
	return exitOf(result.Verdict)
}

var errNoRules = errors.New("the study has no rules: add `decide:` to it (see `scruple gate --help`)")

// exitOf returns the exit code of a verdict as an error, or nil for a pass.
func exitOf(v *gate.Verdict) error {
	if code := v.ExitCode(); code != exitOK {
		return exit(code, nil)
	}
	return nil
}

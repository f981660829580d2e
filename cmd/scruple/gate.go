package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/store"
)

func gateVerb(a *app) *cobra.Command {
	var format, output string
	c := verb("gate STUDY|RUN", "apply the rules of the study and exit with the verdict", `
Prints every condition with the values it used. Exits 0 if the gate passed, 1 if
it failed, 3 if the results cannot decide, and 4 if more trials failed than the
study allows.

--format markdown is a summary for a CI job. --format junit has a test case for
each rule and one for the gate as a whole: a rule that does not hold is a failure,
one that cannot be decided is an error, and an outcome that does not apply is
skipped. --format json is the same as --json.

Rules are expressions over named results:

`+gate.Help(), cobra.ExactArgs(1), func(c *cobra.Command, args []string) error {
		write, err := a.verdictFormat(format)
		if err != nil {
			return err
		}
		return a.gate(c.Context(), args[0], write, output)
	})
	c.Flags().StringVar(&format, "format", "terminal", "terminal | markdown | junit | json")
	c.Flags().StringVar(&output, "out", "", "file to write (default: standard output)")
	return c
}

// verdictFormat returns how to write a verdict.
func (a *app) verdictFormat(format string) (func(io.Writer, report.Report) error, error) {
	if a.json {
		format = "json"
	}
	switch format {
	case "terminal":
		return func(w io.Writer, r report.Report) error { return report.Gate(w, r.Verdict, a.terminal()) }, nil
	case "markdown":
		return report.GateMarkdown, nil
	case "junit":
		return report.GateJUnit, nil
	case "json":
		return func(w io.Writer, r report.Report) error { return printJSON(w, r.Verdict) }, nil
	}
	return nil, fmt.Errorf("--format %q: the formats are terminal, markdown, junit, json", format)
}

// recordRules records in the history of a run that its results were seen under other
// rules.
func (a *app) recordRules(ctx context.Context, x *experiment.Experiment, path string, r *store.Run) error {
	db, err := store.Open(ctx, path)
	if err != nil {
		return err
	}
	return errors.Join(x.RecordRules(ctx, db, r), db.Close())
}

// gate applies the current rules of a study file, which may have changed since
// the run: deciding again costs nothing. For a run id it prints the stored
// verdict.
func (a *app) gate(ctx context.Context, arg string, write func(io.Writer, report.Report) error, output string) error {
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
		if result.NewRules {
			if err := a.recordRules(ctx, x, db.Path(), r); err != nil {
				a.warn("warning: the change of the rules is not in the history of run %s: %v", r.ID, err)
			}
		}
	}
	if result.Verdict == nil {
		return errNoRules
	}
	var b bytes.Buffer
	if err := write(&b, report.Report{Analysis: result.Analysis, Verdict: result.Verdict}); err != nil {
		return err
	}
	if output != "" {
		err = writeFile(output, b.Bytes())
	} else {
		_, err = a.out.Write(b.Bytes())
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

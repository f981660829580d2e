package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/store"
)

func gateVerb(a *app) *cobra.Command {
	live := false
	c := verb("gate STUDY|RUN", "apply the rules of the study and exit with the verdict", `
Prints every condition with the values it used and, if it failed, the worst cases if
the suite has them. Exits 0 if the gate passed, 1 if it failed, 3 if the results cannot
decide, and 4 if more trials failed than the study allows. It asks no model, except
with --live, which prints the estimated cost, then runs the study and decides. Rules are
expressions over named results:

`+gate.Help(), cobra.ExactArgs(1), func(c *cobra.Command, args []string) error {
		if live {
			if err := a.live(c.Context(), args[0]); err != nil {
				return err
			}
		}
		return a.gate(c.Context(), args[0])
	})
	c.Flags().BoolVar(&live, "live", false, "run the study before deciding; needs the keys of its models")
	return c
}

// live runs a study after saying what it will cost. The report of the run goes to its
// files: the verdict is printed once.
func (a *app) live(ctx context.Context, arg string) error {
	if !isStudyFile(arg) {
		return fmt.Errorf("gate --live %s: a run is not asked again: give the study file", arg)
	}
	x, _, err := a.loadFor(ctx, arg)
	if err != nil {
		return err
	}
	p, err := x.Estimate(ctx, countTokens())
	if err := errors.Join(err, x.Close()); err != nil {
		return err
	}
	cost := "at an unknown price: give it with price: in the study"
	if p.CostUSD != nil {
		cost = "at most " + dollars(p.CostUSD)
	}
	a.warn("gate --live: up to %d calls, %s; answers that exist are not asked again", p.Calls, cost)
	out := a.out
	a.out = io.Discard
	defer func() { a.out = out }()
	return a.run(ctx, arg, runOptions{})
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
		return fmt.Errorf("the study has no rules: add `decide:` to it (see `scruple gate --help`)")
	}
	if a.json {
		err = printJSON(a.out, result.Verdict)
	} else {
		err = report.Gate(a.out, result.Verdict, a.terminal())
		if worst := a.worstCases(result); err == nil && worst != nil {
			err = report.Tables(a.out, worst, a.terminal())
		}
	}
	if err != nil {
		return err
	}
	if code := result.Verdict.ExitCode(); code != exitOK {
		return exit(code, nil)
	}
	return nil
}

// worstTable is the name of a suite's table of cases, worst first, with the arm in its
// first column.
const worstTable = "worst"

// worstCases are the worst cases of the arms in failed conditions, nil if the gate did
// not fail or the suite does not list them.
func (a *app) worstCases(result experiment.Result) []eval.Table {
	if result.Verdict.State != gate.Fail {
		return nil
	}
	for _, t := range result.Analysis.Tables {
		if t.Name != worstTable {
			continue
		}
		t.Rows = slices.DeleteFunc(slices.Clone(t.Rows), func(row []string) bool {
			return !slices.ContainsFunc(result.Verdict.Conditions, func(c gate.Condition) bool {
				return c.State == gate.Fail && len(row) > 0 && strings.Contains(c.That, "'"+row[0]+"'")
			})
		})
		if len(t.Rows) > 0 {
			return []eval.Table{t}
		}
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

func preregisterVerb(a *app) *cobra.Command {
	unblind := ""
	c := verb("preregister STUDY", "record what a TEST run will ask and how it will decide", `
Writes hashes of the study file, the items of TEST and their gold, prompts, models,
schemas and scorer, and the planned test, to the ledger beside the study. A TEST run
needs them, and is refused if any of them changed. Put the digest that it prints in a
place of its own, such as a registry: whoever can write the ledger can make it anew.`, cobra.ExactArgs(1),
		func(c *cobra.Command, args []string) error {
			a.onTest()
			return a.withStore(c.Context(), args[0], func(x *experiment.Experiment, db *store.DB) error {
				if err := x.CheckScorer(); err != nil {
					return err
				}
				a.warnOf(x)
				r, err := x.Preregister(c.Context(), db, a.user(), unblind)
				if err != nil {
					return err
				}
				return a.result(r.Entry, func() { a.sayRegistered(r, args[0]) })
			})
		})
	c.Flags().StringVar(&unblind, "unblind", "", "why TEST is registered after some of it was seen; recorded for good")
	a.studyFlags(c)
	return c
}

// sayRegistered prints a registration, and what it replaces.
func (a *app) sayRegistered(r discipline.Registered, study string) {
	switch {
	case r.Known:
		a.say("registered already, on %s; nothing changed since, and nothing was recorded", discipline.Day(r.At))
	case r.Before != nil:
		a.say("entry %d of %s registered the study before, and reports will say so; what changed since:", r.Before.Seq, discipline.Day(r.Before.At))
		a.sayEach(r.Before.Data.Differences(r.Data))
	}
	a.say("registered TEST of %s: %s, %s", r.Data.Study, text.Plural(r.Data.Items, "item", "items"), r.Data.Test)
	switch {
	case r.Data.Judge != nil:
		a.say("judge   %s: TEST uses this accuracy and does not measure it again", r.Data.Judge)
	case r.OnTest != "":
		a.say("judge   %s, so TEST measures the judge on its own gold: to use its accuracy on DEV, finish `%s` and register again",
			r.OnTest, a.command("run", study, "--split", "dev"))
	}
	a.say("SHA-256 %s", r.Data.Digest)
	a.say("ledger  entry %d, SHA-256 %s", r.Seq, r.Hash)
	a.say("run it once with `%s`", a.command("run", study, "--split", "test"))
}

func (a *app) sayEach(lines []string) {
	for _, line := range lines {
		a.say("  %s", say.PlainLine(line))
	}
}

func unblindVerb(a *app) *cobra.Command {
	reason := ""
	c := verb("unblind STUDY", "record why TEST is looked at again, or with other inputs", `
Allows one more TEST run, or to score and decide with inputs that changed since
the registration. The reason stays in the ledger and is printed on every report.`, cobra.RangeArgs(1, 2),
		func(c *cobra.Command, args []string) error {
			if len(args) == 2 {
				return fmt.Errorf("unblind: %q is not part of the study: give the reason with --reason", args[1])
			}
			if reason == "" {
				return errors.New("unblind: give the reason with --reason")
			}
			a.onTest()
			return a.withStore(c.Context(), args[0], func(x *experiment.Experiment, db *store.DB) error {
				changes, err := x.Unblind(c.Context(), db, a.user(), reason)
				if err != nil {
					return err
				}
				return a.result(changes, func() {
					a.say("recorded for good; it allows what these had prevented:")
					a.sayEach(changes)
				})
			})
		})
	c.Flags().StringVar(&reason, "reason", "", "the reason")
	a.studyFlags(c)
	return c
}

func reviseVerb(a *app) *cobra.Command {
	var hypothesis, change string
	c := verb("revise STUDY", "record a revision on DEV: what you believe, and the one change you make", `
Counts the revision cycles of the study and prints what was used of its budget. A study
that has used its budget.cycles is refused.`, cobra.ExactArgs(1),
		func(c *cobra.Command, args []string) error {
			if hypothesis == "" || change == "" {
				return errors.New("revise: give what you believe with --hypothesis, and the one change you make with --change")
			}
			return a.withStore(c.Context(), args[0], func(x *experiment.Experiment, db *store.DB) error {
				r, err := x.Revise(c.Context(), db, a.user(), hypothesis, change)
				if err != nil {
					return err
				}
				if r.After != "" {
					a.warn("note: %s", r.After)
				}
				return a.result(r.Used, func() {
					a.say("recorded the revision of %s in the ledger; used of the budget:", x.Study.Name)
					for _, u := range r.Used {
						a.say("%s", budgetLine(u))
					}
				})
			})
		})
	c.Flags().StringVar(&hypothesis, "hypothesis", "", "what you believe, from the results so far")
	c.Flags().StringVar(&change, "change", "", "the one change that follows")
	a.studyFlags(c)
	return c
}

// budgetLine shows a limit as used / allowed.
func budgetLine(u analyse.Used) string {
	line := fmt.Sprintf("%-20s %s / %s", u.Name, number(u.Used), allowed(u))
	if u.Over() {
		line += ", over the budget"
	}
	if u.Note != "" {
		line += " (" + u.Note + ")"
	}
	return line
}

func allowed(u analyse.Used) string {
	if u.Allowed == nil {
		return "no limit"
	}
	return number(*u.Allowed)
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// onTest selects the split TEST of the study that is loaded next.
func (a *app) onTest() {
	a.overrides = append(slices.Clip(a.overrides), "split="+study.SplitTest)
}

// withStore opens a study and its store and passes them to do. The store is nil if it
// does not exist yet.
func (a *app) withStore(ctx context.Context, arg string, do func(*experiment.Experiment, *store.DB) error) error {
	if !isStudyFile(arg) {
		return fmt.Errorf("%s is not a study file: give the study, not a run", arg)
	}
	x, from, err := a.loadFor(ctx, arg)
	if err != nil {
		return err
	}
	defer x.Close()
	db, err := store.OpenRead(ctx, from.store)
	if errors.Is(err, store.ErrNotFound) {
		return do(x, nil)
	}
	if err != nil {
		return err
	}
	defer db.Close()
	return do(x, db)
}

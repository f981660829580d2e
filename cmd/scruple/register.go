package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

func registerVerb(a *app) *cobra.Command {
	unblind := ""
	c := a.verb("test register", a.onTest(func(o *opened) error {
		if err := o.x.CheckScorer(); err != nil {
			return err
		}
		a.warnOf(o.x)
		r, err := o.x.Preregister(o.ctx, o.db, a.user(), unblind)
		if err != nil {
			return err
		}
		return a.result(r.Entry, func() { a.sayRegistered(r, o.arg) })
	}))
	c.Flags().StringVar(&unblind, "unblind", "", "why TEST is registered after some of it was seen; recorded for good")
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
	c := a.verb("test unblind", func(c *cobra.Command, args []string) error {
		if reason == "" {
			return errors.New("unblind: give the reason with --reason")
		}
		return a.onTest(func(o *opened) error {
			changes, err := o.x.Unblind(o.ctx, o.db, a.user(), reason)
			if err != nil {
				return err
			}
			return a.result(changes, func() {
				a.say("recorded for good; it allows what these had prevented:")
				a.sayEach(changes)
			})
		})(c, args)
	})
	c.Flags().StringVar(&reason, "reason", "", "the reason")
	return c
}

func reviseVerb(a *app) *cobra.Command {
	var hypothesis, change string
	c := a.verb("test revise", func(c *cobra.Command, args []string) error {
		if hypothesis == "" || change == "" {
			return errors.New("revise: give what you believe with --hypothesis, and the one change you make with --change")
		}
		return a.on(itsStore, func(o *opened) error {
			r, err := o.x.Revise(o.ctx, o.db, a.user(), hypothesis, change)
			if err != nil {
				return err
			}
			if r.After != "" {
				a.warn("note: %s", r.After)
			}
			return a.result(r.Used, func() {
				a.say("recorded the revision of %s in the ledger; used of the budget:", o.x.Study.Name)
				for _, u := range r.Used {
					a.say("%s", budgetLine(u))
				}
			})
		})(c, args)
	})
	c.Flags().StringVar(&hypothesis, "hypothesis", "", "what you believe, from the results so far")
	c.Flags().StringVar(&change, "change", "", "the one change that follows")
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

// onTest is a verb on the split TEST of a study, and its store.
func (a *app) onTest(do func(o *opened) error) func(*cobra.Command, []string) error {
	open := a.on(itsStore, do)
	return func(c *cobra.Command, args []string) error {
		a.overrides = append(slices.Clip(a.overrides), "split="+study.SplitTest)
		return open(c, args)
	}
}

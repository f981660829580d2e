package main

import (
	"cmp"
	"flag"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/suites"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// suiteVerbs returns the verbs that suites add: `scruple VERB SUITE …`. A verb
// that several suites have is listed once.
func suiteVerbs(a *app) []*cobra.Command {
	var verbs []*cobra.Command
	byName := map[string]*cobra.Command{}
	for _, s := range suites.All() {
		for _, own := range s.Commands {
			v := byName[own.Name]
			if v == nil {
				v = suiteVerb(own)
				byName[own.Name] = v
				verbs = append(verbs, v)
			}
			v.AddCommand(suiteCommand(a, cmp.Or(own.Sub, s.Name), own))
		}
	}
	for _, v := range verbs {
		// The text of one command does not describe others.
		if subs := v.Commands(); slices.ContainsFunc(subs, func(c *cobra.Command) bool { return c.Short != v.Short }) {
			var names []string
			for _, c := range subs {
				names = append(names, c.Name())
			}
			v.Short = v.Name() + " " + strings.Join(names, ", ") + ": see the help of each"
		}
	}
	return verbs
}

// suiteVerb is the parent of the suites' commands. It runs only if none of them
// has the name that was given.
func suiteVerb(own kit.Command) *cobra.Command {
	return verb(own.Name+" COMMAND", own.Short, "Each command listed here has its own arguments and flags.", cobra.ArbitraryArgs, func(c *cobra.Command, args []string) error {
		var have []string
		for _, s := range c.Commands() {
			have = append(have, s.Name())
		}
		if len(args) == 0 {
			return fmt.Errorf("%s: name one of %s", own.Name, strings.Join(have, ", "))
		}
		return fmt.Errorf("%s: there is no %q; name one of %s", own.Name, args[0], strings.Join(have, ", "))
	})
}

func suiteCommand(a *app, name string, own kit.Command) *cobra.Command {
	flags := flag.NewFlagSet(own.Name, flag.ContinueOnError)
	run := own.New(flags)
	c := verb(strings.Join(append([]string{name}, own.Args...), " "), own.Short, own.Long, cobra.ExactArgs(len(own.Args)), func(_ *cobra.Command, args []string) error {
		defer a.collectLess()()
		result, err := run(kit.Call{Args: args, Open: a.open})
		if err != nil {
			return fmt.Errorf("%s: %w", own.Name, err)
		}
		if n, ok := result.(kit.Noter); ok && a.json {
			for _, note := range n.Notes() {
				a.warn("%s", note)
			}
		}
		if a.json {
			return printJSON(a.out, result)
		}
		_, err = fmt.Fprint(a.out, result)
		return err
	})
	c.Flags().AddGoFlagSet(flags)
	return c
}

// collectLess makes garbage collection rare, for verbs that decode much and keep
// little of it: it saves a quarter of their time. It returns what restores the
// collector.
func (a *app) collectLess() (restore func()) {
	if a.getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(400)
	return func() { debug.SetGCPercent(before) }
}

package main

import (
	"flag"
	"fmt"
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
			v.AddCommand(suiteCommand(a, s.Name, own))
		}
	}
	return verbs
}

// suiteVerb is the parent of the suites' commands. It runs only if the named
// suite has no such command.
func suiteVerb(own kit.Command) *cobra.Command {
	return verb(own.Name+" SUITE", own.Short, "Each suite listed here has its own arguments and flags.", cobra.ArbitraryArgs, func(c *cobra.Command, args []string) error {
		var have []string
		for _, s := range c.Commands() {
			have = append(have, s.Name())
		}
		if len(args) == 0 {
			return fmt.Errorf("%s: name a suite: %s", own.Name, strings.Join(have, ", "))
		}
		if _, err := suiteCalled(args[0]); err != nil {
			return err
		}
		return fmt.Errorf("%s: suite %s has no such command; suites that have it: %s", own.Name, args[0], strings.Join(have, ", "))
	})
}

func suiteCommand(a *app, suite string, own kit.Command) *cobra.Command {
	flags := flag.NewFlagSet(own.Name, flag.ContinueOnError)
	run := own.New(flags)
	c := verb(strings.Join(append([]string{suite}, own.Args...), " "), own.Short, own.Long, cobra.ExactArgs(len(own.Args)), func(_ *cobra.Command, args []string) error {
		result, err := run(args)
		if err != nil {
			return fmt.Errorf("%s: %w", own.Name, err)
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

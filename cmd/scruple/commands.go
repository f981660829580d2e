package main

import (
	"flag"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// suiteCommand makes a command that a suite declares.
func (a *app) suiteCommand(path string, own kit.Command) *cobra.Command {
	flags := flag.NewFlagSet(own.Name, flag.ContinueOnError)
	run := own.New(flags)
	c := a.verb(path, func(_ *cobra.Command, args []string) error {
		defer a.collectLess()()
		result, err := run(kit.Call{Args: args, Open: a.open})
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if n, ok := result.(kit.Noter); ok && a.json {
			for _, note := range n.Notes() {
				a.warn("%s", note)
			}
		}
		return a.result(result, func() { fmt.Fprint(a.out, result) })
	})
	c.Short, c.Long = own.Short, own.Short+".\n\n"+own.Long
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

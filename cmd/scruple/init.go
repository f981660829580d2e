package main

import (
	"github.com/spf13/cobra"
)

func initVerb(a *app) *cobra.Command {
	return verb("init SUITE DIR", "create a study that runs, as a starting point", `
Writes a study file, data and the suite's other files into DIR. None of them may
exist. The study runs offline; its comments say what to change for your own data
and models.`, cobra.ExactArgs(2), func(_ *cobra.Command, args []string) error {
		entry, err := suiteCalled(args[0])
		if err != nil {
			return err
		}
		files, err := entry.Init(args[1])
		if err != nil {
			return err
		}
		return a.result(map[string]any{"suite": entry.Name, "files": files}, func() {
			for _, f := range files {
				a.say("wrote %s", f)
			}
			a.say("\nRun it:  scruple run %s", files[0])
		})
	})
}

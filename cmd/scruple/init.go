package main

import (
	"github.com/spf13/cobra"
)

func initVerb(a *app) *cobra.Command {
	return a.verb("init", func(_ *cobra.Command, args []string) error {
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

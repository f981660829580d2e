package main

import (
	"github.com/spf13/cobra"
)

func initVerb(a *app) *cobra.Command {
	return verb("init SUITE DIR", "make a study that runs, to start from", `
Writes a study file, data and what else the suite needs into DIR, which must
not hold any of these files yet. The study runs offline; what to change for
your own data and models stands in it.`, cobra.ExactArgs(2), func(_ *cobra.Command, args []string) error {
		entry, err := suiteCalled(args[0])
		if err != nil {
			return err
		}
		files, err := entry.Init(args[1])
		if err != nil {
			return err
		}
		if a.json {
			return printJSON(a.out, map[string]any{"suite": entry.Name, "files": files})
		}
		for _, f := range files {
			a.say("wrote %s", f)
		}
		a.say("\nRun it:  scruple run %s", files[0])
		return nil
	})
}

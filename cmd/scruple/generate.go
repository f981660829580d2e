package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/suites"
)

func generateVerb(a *app) *cobra.Command {
	var m suites.Making
	c := verb("generate SUITE DIR", "make up a data set whose truth is known", `
Writes a data set of the suite into DIR, the same for the same seed and sizes,
and checks it. Nothing in it is real but what --from gives: for rerank a file of
items (JSON Lines), whose reviews, people and requests are then made up.`, cobra.ExactArgs(2),
		func(_ *cobra.Command, args []string) error {
			entry, err := suiteCalled(args[0])
			if err != nil {
				return err
			}
			if entry.Make == nil {
				return fmt.Errorf("generate: suite %s makes nothing up", entry.Suite.Name)
			}
			files, notes, err := entry.Make(args[1], m)
			if err != nil {
				return fmt.Errorf("generate: %w", err)
			}
			if a.json {
				return printJSON(a.out, map[string]any{"files": files, "notes": append([]string{}, notes...)})
			}
			for _, n := range notes {
				a.say("note: %s", n)
			}
			for _, f := range files {
				a.say("wrote %s", f)
			}
			return nil
		})
	f := c.Flags()
	f.Uint64Var(&m.Seed, "seed", 42, "of everything that is drawn")
	f.IntVar(&m.Items, "items", 0, "items (default 100, or all of --from)")
	f.IntVar(&m.Reviews, "reviews", 0, "reviews (default 12 an item)")
	f.IntVar(&m.Users, "users", 0, "people (default a tenth of the reviews)")
	f.IntVar(&m.Requests, "requests", 60, "requests")
	f.StringVar(&m.From, "from", "", "file of items to build upon")
	return c
}

package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/text"
)

func ledgerVerb(a *app) *cobra.Command {
	c := verb("ledger NAME", "show or verify the ledger of a study", `
The ledger records what must not change afterwards: drawn queues, locked gold, the
state of people's files. It is ledger.jsonl in the folder of the store.`, cobra.ArbitraryArgs,
		func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("ledger: there is no %q; name show or verify", args[0])
			}
			return fmt.Errorf("ledger: name show or verify")
		})
	show := verb("show STUDY|RUN", "print the entries of the ledger and its head", `
Put the head in a place of its own, such as a registration: it shows later that
nothing was taken out.`, cobra.ExactArgs(1),
		func(c *cobra.Command, args []string) error {
			from, err := a.locate(c.Context(), args[0])
			if err != nil {
				return err
			}
			entries, err := ledger.Read(filepath.Join(filepath.Dir(from.store), ledger.Name))
			if err != nil {
				return exit(exitNotAllowed, err)
			}
			if a.json {
				return printJSON(a.out, entries)
			}
			for _, e := range entries {
				fmt.Fprintln(a.out, report.PlainLine(fmt.Sprintf("%4d  %s  %-16s %-12s %s", e.Seq, e.At, e.Kind, e.By, e.Data)))
			}
			if head := ledger.HeadOf(entries); head.Seq > 0 {
				a.say("head: entry %d, SHA-256 %s", head.Seq, head.Hash)
			} else {
				a.say("the ledger has no entries")
			}
			return nil
		})
	verify := verb("verify STUDY|RUN", "check the ledger and the files that it records", `
Reports an edited, missing or moved line with its number, and a changed queue,
answer or gold file.`, cobra.ExactArgs(1),
		func(c *cobra.Command, args []string) error {
			x, from, err := a.loadFor(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer x.Close()
			n, files, err := annotationsOf(x, from).Verify()
			if err != nil {
				return exit(exitNotAllowed, err)
			}
			if a.json {
				return printJSON(a.out, struct {
					Entries int      `json:"entries"`
					Files   []string `json:"files"`
				}{n, files})
			}
			a.say("the ledger has %s and is intact; %s checked", text.Plural(n, "entry", "entries"), text.Plural(len(files), "file of annotation was", "files of annotation were"))
			return nil
		})
	for _, sub := range []*cobra.Command{show, verify} {
		a.takeStudy(sub)
		c.AddCommand(sub)
	}
	return c
}

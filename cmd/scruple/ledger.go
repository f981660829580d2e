package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/text"
)

func ledgerVerb(a *app) *cobra.Command {
	c := verb("ledger COMMAND", "show or verify the ledger of a study", `
The ledger records what must not change afterwards: registrations and runs of TEST,
revisions, drawn queues, locked gold, the state of people's files. It is
.scruple/ledger.jsonl beside the study; people's entries are in the folder of the store
if that is another.`, cobra.ArbitraryArgs,
		func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("ledger: there is no %q; name show, verify or blind", args[0])
			}
			return fmt.Errorf("ledger: name show, verify or blind")
		})
	show := verb("show STUDY|RUN", "print the entries of the ledger and its head", `
Put the head in a place of its own, such as a registration: it shows later that
nothing was taken out.`, cobra.ExactArgs(1),
		func(c *cobra.Command, args []string) error {
			from, err := a.locate(c.Context(), args[0])
			if err != nil {
				return err
			}
			all := []ledger.Entry{}
			for _, path := range ledgersOf(from) {
				entries, err := ledger.Read(path)
				if err != nil {
					return exit(exitNotAllowed, err)
				}
				all = append(all, entries...)
				a.say("%s: %s", path, text.Plural(len(entries), "entry", "entries"))
				for _, e := range entries {
					a.say("%4d  %s  %-16s %-12s %s", e.Seq, e.At, e.Kind, e.By, text.Shorten(report.PlainLine(string(e.Data)), longestEntry))
				}
				if head := ledger.HeadOf(entries); head.Seq > 0 {
					a.say("head: entry %d, SHA-256 %s", head.Seq, head.Hash)
				}
			}
			if a.json {
				return printJSON(a.out, all)
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
			n, paths := 0, ledgersOf(from)
			for _, path := range paths {
				entries, err := ledger.Read(path)
				if err != nil {
					return exit(exitNotAllowed, err)
				}
				n += len(entries)
			}
			_, files, err := annotationsOf(x, from).Verify()
			if err == nil {
				_, err = discipline.Read(discipline.Path(from.path))
			}
			if err != nil {
				return exit(exitNotAllowed, err)
			}
			if a.json {
				return printJSON(a.out, struct {
					Entries int      `json:"entries"`
					Files   []string `json:"files"`
				}{n, files})
			}
			a.say("the ledger has %s and is intact (%s); %s checked", text.Plural(n, "entry", "entries"), strings.Join(paths, ", "), text.Plural(len(files), "file of annotation was", "files of annotation were"))
			return nil
		})
	blind := verb("blind STUDY FILE", "record the result of a blind validation", `
FILE is an outsider's result on private data, in the format `+analyse.BlindFormat+`.
Rules of the study read it as blind_runs, blind_min and blind_max.`, cobra.ExactArgs(2),
		func(c *cobra.Command, args []string) error {
			x, _, err := a.loadFor(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer x.Close()
			r, err := x.RecordBlind(args[1], a.user())
			if err != nil {
				return err
			}
			if a.json {
				return printJSON(a.out, r)
			}
			a.say("recorded the blind validation of %s: %s", r.By, text.Plural(len(r.Comparisons), "comparison", "comparisons"))
			if len(r.Simulated) > 0 {
				a.say("SIMULATED: the answers of %s were derived from gold and say nothing about real models", strings.Join(r.Simulated, ", "))
			}
			return nil
		})
	a.studyFlags(blind)
	c.AddCommand(blind)
	for _, sub := range []*cobra.Command{show, verify} {
		a.takeStudy(sub)
		c.AddCommand(sub)
	}
	return c
}

// longestEntry is how many characters of the data of an entry are shown; --json has all.
const longestEntry = 400

// ledgersOf lists the ledger beside the study, and that of the store if it is another.
func ledgersOf(from source) []string {
	beside, ofStore := discipline.Path(from.path), filepath.Join(filepath.Dir(from.store), ledger.Name)
	if sameFile(beside, ofStore) {
		return []string{ofStore}
	}
	return []string{beside, ofStore}
}

func sameFile(a, b string) bool {
	x, errX := filepath.Abs(a)
	y, errY := filepath.Abs(b)
	return errX == nil && errY == nil && x == y
}

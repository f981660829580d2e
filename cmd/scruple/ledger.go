package main

import (
	"cmp"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/text"
)

func ledgerShowVerb(a *app) *cobra.Command {
	return a.verb("test ledger show", func(c *cobra.Command, args []string) error {
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
				a.say("%4d  %s  %-16s %-12s %s", e.Seq, second(e.At), e.Kind, say.PlainLine(e.By), text.Shorten(say.PlainLine(entryText(e)), longestEntry))
			}
			if head := ledger.HeadOf(entries); head.Seq > 0 {
				a.say("head: entry %d, SHA-256 %s", head.Seq, head.Hash)
			}
		}
		return a.result(all, func() {})
	})
}

func ledgerVerifyVerb(a *app) *cobra.Command {
	return a.verb("test ledger verify", a.on(itsStore, func(o *opened) error {
		n, paths := 0, ledgersOf(o.from)
		for _, path := range paths {
			entries, err := ledger.Read(path)
			if err == nil {
				err = ledger.CheckHead(path, entries)
			}
			if err != nil {
				return exit(exitNotAllowed, err)
			}
			n += len(entries)
		}
		_, files, err := annotationsOf(o.x, o.from).Verify()
		if o.db != nil {
			err = errors.Join(err, o.x.CheckLedger(o.ctx, o.db))
		}
		if err != nil {
			return exit(exitNotAllowed, err)
		}
		return a.result(struct {
			Entries int      `json:"entries"`
			Files   []string `json:"files"`
		}{n, files}, func() {
			a.say("the ledger has %s and is intact (%s); %s checked", text.Plural(n, "entry", "entries"), strings.Join(paths, ", "), text.Plural(len(files), "file of annotation was", "files of annotation were"))
		})
	}))
}

// longestEntry is how many characters of an entry are shown; --json has all.
const longestEntry = 400

// second is a time of the ledger without its fraction.
func second(at string) string {
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return say.PlainLine(at)
	}
	return t.UTC().Format(time.DateTime)
}

// entryText says what an entry records. Entries of other kinds, such as those of a newer
// version, are shown as they are.
func entryText(e ledger.Entry) string {
	return cmp.Or(discipline.Describe(e), annotate.Describe(e), string(e.Data))
}

// ledgersOf lists the ledger of the study, and one beside the store, which earlier
// versions made.
func ledgersOf(from source) []string {
	own, ofStore := discipline.Path(from.path), filepath.Join(filepath.Dir(from.store), ledger.Name)
	if sameFile(own, ofStore) || ledger.Missing(ofStore) {
		return []string{own}
	}
	return []string{own, ofStore}
}

func sameFile(a, b string) bool {
	x, errX := filepath.Abs(a)
	y, errY := filepath.Abs(b)
	return errX == nil && errY == nil && x == y
}

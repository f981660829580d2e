package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

func registerVerb(a *app) *cobra.Command {
	unblind := ""
	c := a.verb("test register", a.onTest(func(o *opened) error {
		if err := o.x.CheckScorer(); err != nil {
			return err
		}
		a.warnOf(o.x)
		r, err := o.x.Preregister(o.ctx, o.db, a.user(), unblind)
		if err != nil {
			return err
		}
		return a.answer(r.Entry, "registered", struct {
			discipline.Registered
			Arg     string
			Command func(...string) string
		}{r, o.arg, a.command})
	}))
	c.Flags().StringVar(&unblind, "unblind", "", "why TEST is registered after some of it was seen; recorded for good")
	return c
}

func (a *app) sayEach(lines []string) {
	for _, line := range lines {
		a.say("  %s", say.PlainLine(line))
	}
}

func unblindVerb(a *app) *cobra.Command {
	reason := ""
	c := a.verb("test unblind", func(c *cobra.Command, args []string) error {
		if reason == "" {
			return errors.New("unblind: give the reason with --reason")
		}
		return a.onTest(func(o *opened) error {
			changes, err := o.x.Unblind(o.ctx, o.db, a.user(), reason)
			if err != nil {
				return err
			}
			return a.result(changes, func() {
				a.say("recorded for good; it allows what these had prevented:")
				a.sayEach(changes)
			})
		})(c, args)
	})
	c.Flags().StringVar(&reason, "reason", "", "the reason")
	return c
}

func reviseVerb(a *app) *cobra.Command {
	var hypothesis, change string
	c := a.verb("test revise", func(c *cobra.Command, args []string) error {
		if hypothesis == "" || change == "" {
			return errors.New("revise: give what you believe with --hypothesis, and the one change you make with --change")
		}
		return a.on(itsStore, func(o *opened) error {
			r, err := o.x.Revise(o.ctx, o.db, a.user(), hypothesis, change)
			if err != nil {
				return err
			}
			if r.After != "" {
				a.warn("note: %s", r.After)
			}
			return a.answer(r.Used, "revised", map[string]any{"Study": o.x.Study.Name, "Used": r.Used})
		})(c, args)
	})
	c.Flags().StringVar(&hypothesis, "hypothesis", "", "what you believe, from the results so far")
	c.Flags().StringVar(&change, "change", "", "the one change that follows")
	return c
}

// onTest is a verb on the split TEST of a study, and its store.
func (a *app) onTest(do func(o *opened) error) func(*cobra.Command, []string) error {
	open := a.on(itsStore, do)
	return func(c *cobra.Command, args []string) error {
		a.overrides = append(slices.Clip(a.overrides), "split="+study.SplitTest)
		return open(c, args)
	}
}

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

func lockVerb(a *app) *cobra.Command {
	var name, declaration string
	c := a.verb("test lock", a.on(theStudy, func(o *opened) error {
		x, gold := o.x, ""
		if k := x.Bench.Capabilities().GoldKeeper; k != nil {
			gold = k.GoldPath()
		}
		path := gold
		if len(o.rest) > 0 {
			path = o.rest[0]
		}
		if path == "" {
			return fmt.Errorf("lock: the study names no file of gold: name the file after the study")
		}
		isGold := gold != "" && sameFile(path, gold)
		var items []eval.Item
		if isGold || isData(x.File, path) {
			items = x.Bench.Items()
		}
		l, err := annotationsOf(x, o.from).LockFile(path, name, declaration, isGold, items)
		if err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		return a.result(l, func() { a.say("locked %s\nMD5     %s\nSHA-256 %s", path, l.MD5, l.SHA256) })
	}))
	c.Flags().StringVar(&name, "sign", "", "the name under the declaration")
	c.Flags().StringVar(&declaration, "declare", "", "a declaration for the ledger, such as how the gold was made")
	return c
}

// isData reports whether a file is one of data that a study reads, and so may have gold.
func isData(f *study.File, path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".jsonl", ".json", ".csv", ".tsv", ".xlsx", ".gz":
		return slices.ContainsFunc(f.Used(), func(used string) bool { return sameFile(f.Place(used), path) })
	}
	return false
}

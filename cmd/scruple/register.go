package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

func (a *app) register(o *opened) error {
	if err := o.x.CheckScorer(); err != nil {
		return err
	}
	a.warnOf(o.x)
	r, err := o.x.Preregister(o.ctx, o.db, a.user(), o.text("unblind"))
	if err != nil {
		return err
	}
	return a.answer(r.Entry, "registered", struct {
		discipline.Registered
		Arg     string
		Command func(...string) string
	}{r, o.arg, a.command})
}

func (a *app) unblind(o *opened) error {
	reason := o.text("reason")
	if reason == "" {
		return errors.New("unblind: give the reason with --reason")
	}
	if err := a.opens(o, storeOfTest); err != nil {
		return err
	}
	changes, err := o.x.Unblind(o.ctx, o.db, a.user(), reason)
	if err != nil {
		return err
	}
	return a.result(changes, func() {
		a.say("recorded for good; it allows what these had prevented:")
		for _, line := range changes {
			a.say("  %s", say.PlainLine(line))
		}
	})
}

func (a *app) revise(o *opened) error {
	hypothesis, change := o.text("hypothesis"), o.text("change")
	if hypothesis == "" || change == "" {
		return errors.New("revise: give what you believe with --hypothesis, and the one change you make with --change")
	}
	if err := a.opens(o, itsStore); err != nil {
		return err
	}
	r, err := o.x.Revise(o.ctx, o.db, a.user(), hypothesis, change)
	if err != nil {
		return err
	}
	if r.After != "" {
		a.warn("note: %s", r.After)
	}
	return a.answer(r.Used, "revised", map[string]any{"Study": o.x.Study.Name, "Used": r.Used})
}

func (a *app) ledgerShow(o *opened) error {
	from, err := a.locate(o.ctx, o.arg)
	if err != nil {
		return err
	}
	path := discipline.Path(from.path)
	entries, err := ledger.Read(path)
	if err != nil {
		return exit(exitNotAllowed, err)
	}
	a.say("%s: %s", path, text.Plural(len(entries), "entry", "entries"))
	for _, e := range entries {
		a.say("%4d  %s  %-16s %-12s %s", e.Seq, second(e.At), e.Kind, say.PlainLine(e.By), text.Shorten(say.PlainLine(entryText(e)), longestEntry))
	}
	if head := ledger.HeadOf(entries); head.Seq > 0 {
		a.say("head: entry %d, SHA-256 %s", head.Seq, head.Hash)
	}
	return a.result(append([]ledger.Entry{}, entries...), func() {})
}

func (a *app) ledgerVerify(o *opened) error {
	path := discipline.Path(o.from.path)
	entries, err := ledger.Read(path)
	if err == nil {
		err = ledger.CheckHead(path, entries)
	}
	if err != nil {
		return exit(exitNotAllowed, err)
	}
	_, files, err := annotationsOf(o.x, o.from).Verify()
	elsewhere, errRuns := o.x.CheckLedger(o.ctx, o.db)
	if err := errors.Join(err, errRuns); err != nil {
		return exit(exitNotAllowed, err)
	}
	return a.result(struct {
		Entries   int      `json:"entries"`
		Files     []string `json:"files"`
		Elsewhere []string `json:"runs_elsewhere,omitempty"`
	}{len(entries), files, elsewhere}, func() {
		a.say("the ledger has %s and is intact (%s); %s checked", text.Plural(len(entries), "entry", "entries"), path, text.Plural(len(files), "file of annotation was", "files of annotation were"))
		if len(elsewhere) > 0 {
			a.say("not compared, since they are not in a store here: %s", strings.Join(elsewhere, ", "))
		}
	})
}

func (a *app) ledgerMerge(o *opened) error {
	from, err := a.locate(o.ctx, o.arg)
	if err != nil {
		return err
	}
	path := discipline.Path(from.path)
	added, err := ledger.Merge(path, o.text("theirs"), time.Now(), a.user())
	if errors.As(err, new(*ledger.BrokenError)) {
		err = exit(exitNotAllowed, err)
	}
	if err != nil {
		return err
	}
	return a.result(map[string]int{"added": added}, func() {
		a.say("%s has %s of the other side now: `git add` it and %s", path, text.Plural(added, "more entry", "more entries"), filepath.Base(path)+ledger.HeadSuffix)
	})
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
	if layers, err := e.Layers(); err == nil && len(layers) > 1 {
		in := layers[len(layers)-1]
		return fmt.Sprintf("of %s, %s by %s: %s", second(in.At), in.Kind, in.By, entryText(in))
	}
	return cmp.Or(discipline.Describe(e), annotate.Describe(e), string(e.Data))
}

func sameFile(a, b string) bool {
	x, errX := filepath.Abs(a)
	y, errY := filepath.Abs(b)
	return errX == nil && errY == nil && x == y
}

func (a *app) lock(o *opened) error {
	x, gold := o.x, ""
	if k := x.Bench.Capabilities().GoldKeeper; k != nil {
		gold = k.GoldPath()
	}
	path := append(o.rest, gold)[0]
	if path == "" {
		return fmt.Errorf("lock: the study names no file of gold: name the file after the study")
	}
	isGold := gold != "" && sameFile(path, gold)
	var items []eval.Item
	if isGold || gold == "" && isData(x.File, path) {
		items = x.Bench.Items()
	}
	l, err := annotationsOf(x, o.from).LockFile(path, o.text("sign"), o.text("declare"), isGold, items)
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	what := path
	if len(l.Inputs) > 0 {
		what += " with the gold of " + text.Plural(len(l.Inputs), "item", "items")
	}
	return a.result(l, func() { a.say("locked %s\nMD5     %s\nSHA-256 %s", what, l.MD5, l.SHA256) })
}

// isData reports whether a file is one of data that a study reads, and so may have gold.
func isData(f *study.File, path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".jsonl", ".json", ".csv", ".tsv", ".xlsx", ".gz":
		return slices.ContainsFunc(f.Used(), func(used string) bool { return sameFile(f.Place(used), path) })
	}
	return false
}

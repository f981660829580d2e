package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/study"
)

func lockVerb(a *app) *cobra.Command {
	var name, declaration string
	c := verb("lock STUDY|RUN [FILE]", "lock gold that was made elsewhere", `
Makes FILE read-only and records its MD5 and SHA-256 in the ledger with a declaration.
FILE is in the folder of the study (default: the gold that the study names, if its suite
has such a file). From then on every command refuses the study when the file changed,
with exit code 3. It also refuses every other study of the ledger that has other gold of
the same items.

Gold that people make on the pages of scruple annotate is locked by its flag --lock.`, cobra.RangeArgs(1, 2),
		a.onStudy(func(_ *cobra.Command, args []string, x *experiment.Experiment, from source) error {
			gold := ""
			if k := x.Bench.Capabilities().GoldKeeper; k != nil {
				gold = k.GoldPath()
			}
			path := gold
			if len(args) > 1 {
				path = args[1]
			}
			if path == "" {
				return fmt.Errorf("lock: the study names no file of gold: name the file after the study")
			}
			isGold := gold != "" && same(path, gold)
			var items []eval.Item
			if isGold || isData(x.File, path) {
				items = x.Bench.Items()
			}
			l, err := annotationsOf(x, from).LockFile(path, name, declaration, isGold, items)
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
		return slices.ContainsFunc(f.Used(), func(used string) bool { return same(f.Place(used), path) })
	}
	return false
}

// same reports whether two paths name one file.
func same(a, b string) bool {
	a, err := filepath.Abs(a)
	if err != nil {
		return false
	}
	b, err = filepath.Abs(b)
	return err == nil && a == b
}

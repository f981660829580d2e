package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

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

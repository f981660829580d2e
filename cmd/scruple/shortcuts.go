package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/suites"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// commonShortcuts apply to every study.
func commonShortcuts() []kit.Shortcut {
	return []kit.Shortcut{
		{Flag: "seed", Key: "execution.seed", Doc: "seed of all random draws"},
		{Flag: "temperature", Key: "models[*].temperature", Doc: "temperature of every model"},
	}
}

// addShortcuts gives every verb the flags that set one key of a study. They are
// applied before -o, so -o takes precedence.
func (a *app) addShortcuts(root *cobra.Command) {
	list := commonShortcuts()
	for i := range list {
		list[i].Doc = fmt.Sprintf("%s (-o %s)", list[i].Doc, list[i].Key)
	}
	for _, e := range suites.All() {
		for _, s := range e.Shortcuts {
			s.Doc = fmt.Sprintf("%s: %s (-o %s)", e.Name, s.Doc, s.Key)
			list = append(list, s)
		}
	}
	values := make([]string, len(list))
	for i, s := range list {
		root.PersistentFlags().StringVar(&values[i], s.Flag, "", s.Doc)
	}
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		var set []string
		for i, s := range list {
			if root.PersistentFlags().Changed(s.Flag) {
				set = append(set, s.Assignment(values[i]))
			}
		}
		a.overrides = slices.Concat(set, a.overrides)
		return checkStorePath(a.storePath)
	}
}

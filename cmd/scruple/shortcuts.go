package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// commonShortcuts apply to every study.
func commonShortcuts() []kit.Shortcut {
	return []kit.Shortcut{
		{Flag: "seed", Key: "execution.seed", Doc: "seed of all random draws"},
		{Flag: "split", Key: "split", Doc: "split to use: dev or test"},
		{Flag: "temperature", Key: "models[*].temperature", Doc: "temperature of every model"},
	}
}

// Flags of a study are only where they act. Verbs of asking have -o and the flags that set one
// key, settable ones -o and --split. Verbs that look at the newest run of a study, or of one of
// its splits, have --split: a run keeps the settings it was made with.
var (
	asking   = []string{"validate", "plan", "run", "score", "gate", "test register", "test unblind", "blind build"}
	settable = []string{"preflight", "export", "bundle", "annotate", "test revise", "test lock", "blind commitment", "blind result",
		"rerank explain", "extraction embed"}
	looking = []string{"status", "show", "report", "compare", "soundness appendix"}
)

// addFlags gives a verb on a study its flags. Those of suites are hidden: only the help of a
// study of the suite shows them.
func (a *app) addFlags(c *cobra.Command, path string) {
	asks := slices.Contains(asking, path)
	if asks || slices.Contains(settable, path) {
		c.Flags().StringArrayVarP(&a.overrides, "override", "o", nil, "override a key of the study, as in -o execution.concurrency=8")
	} else if !slices.Contains(looking, path) {
		return
	}
	for _, s := range commonShortcuts() {
		if asks || s.Flag == "split" {
			c.Flags().String(s.Flag, "", fmt.Sprintf("%s (-o %s)", s.Doc, s.Key))
		}
	}
	if !asks {
		return
	}
	for _, e := range suites.All() {
		for _, s := range e.Shortcuts {
			if c.Flags().Lookup(s.Flag) == nil {
				doc := fmt.Sprintf("%s: %s (-o %s)", e.Name, s.Doc, s.Key)
				if s.Switch {
					c.Flags().Bool(s.Flag, false, doc)
				} else {
					c.Flags().String(s.Flag, "", doc)
				}
				c.Flags().Lookup(s.Flag).Hidden = true
			}
		}
	}
}

// applyShortcuts turns the given flags into overrides. They come before those of -o,
// so -o takes precedence. A flag of another suite than the study's is an error.
func (a *app) applyShortcuts(c *cobra.Command, args []string) error {
	list := commonShortcuts()
	known := len(list)
	for _, e := range suites.All() {
		for _, s := range e.Shortcuts {
			if !c.Flags().Changed(s.Flag) {
				continue
			}
			suite, err := a.suiteOf(c.Context(), args)
			if err != nil {
				return fmt.Errorf("--%s: %w", s.Flag, err)
			}
			if !slices.ContainsFunc(suite.Shortcuts, func(own kit.Shortcut) bool { return own.Flag == s.Flag }) {
				return fmt.Errorf("--%s is a flag of suite %s, and the suite of %s is %s: leave it out", s.Flag, e.Name, args[0], suite.Name)
			}
			if suite.Name == e.Name {
				list = append(list, s)
			}
		}
	}
	var set []string
	for i, s := range list {
		if i >= known || c.Flags().Changed(s.Flag) {
			set = append(set, s.Assignment(c.Flags().Lookup(s.Flag).Value.String()))
		}
	}
	a.overrides = slices.Concat(set, a.overrides)
	return nil
}

// suiteOf finds the suite of the study or run that the arguments name.
func (a *app) suiteOf(ctx context.Context, args []string) (kit.Suite, error) {
	if len(args) == 0 {
		return kit.Suite{}, errors.New("no study is given")
	}
	from, err := a.locate(ctx, args[0])
	if err != nil {
		return kit.Suite{}, err
	}
	name, err := study.Suite(from.path, from.overrides)
	if err != nil {
		return kit.Suite{}, err
	}
	return suiteCalled(name)
}

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

// studyFlags gives a verb -o and the flags that set one key of a study. Those of
// suites are hidden: only the help of a study of the suite shows them.
func (a *app) studyFlags(c *cobra.Command) {
	c.Flags().StringArrayVarP(&a.overrides, "override", "o", nil, "override a key of the study, as in -o execution.concurrency=8")
	for _, s := range commonShortcuts() {
		c.Flags().String(s.Flag, "", fmt.Sprintf("%s (-o %s)", s.Doc, s.Key))
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

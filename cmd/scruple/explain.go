package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/say"
)

func explainVerb(a *app) *cobra.Command {
	c := a.verb("rerank explain", func(c *cobra.Command, args []string) error {
		from, err := a.locate(c.Context(), args[0])
		if err != nil {
			return err
		}
		file, own, suite, err := experiment.Read(from.path, from.overrides, experimentEnv())
		if err != nil {
			return err
		}
		if err := annotate.Of(from.path, own.Common().Name, from.store, time.Now).CheckLocks(); err != nil {
			return exit(exitNotAllowed, err)
		}
		if suite.Explain == nil {
			return fmt.Errorf("explain: suite %s has annotated gold, not computed truth; `scruple show` prints gold beside the answers", suite.Name)
		}
		of := ""
		if len(args) > 2 {
			of = args[2]
		}
		truth, err := suite.Explain.Show(file, own, args[1], of)
		if err != nil {
			return err
		}
		return a.result(truth, func() {
			for line := range strings.Lines(truth.String()) {
				fmt.Fprintln(a.out, say.PlainText(strings.TrimRight(line, "\n")))
			}
		})
	})
	if suite, err := suiteCalled("rerank"); err == nil {
		c.Long = strings.ReplaceAll(c.Long, "{{ITEMS}}", suite.Explain.Doc)
	}
	return c
}

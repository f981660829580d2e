package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/suites"
)

func explainVerb(a *app) *cobra.Command {
	return verb("explain [STUDY|RUN] ITEM [CANDIDATE]", "show the computed truth of an item, and why", `
For suites that compute the truth. The default study is study.yaml in the
current folder.
`+explained(), cobra.RangeArgs(1, 3),
		func(c *cobra.Command, args []string) error {
			if _, err := os.Stat(defaultStudy); err == nil && !a.isStudyOrRun(c.Context(), args[0]) {
				args = append([]string{defaultStudy}, args...)
			}
			if len(args) < 2 || len(args) > 3 {
				return fmt.Errorf("usage: explain [STUDY|RUN] ITEM [CANDIDATE]; STUDY may be omitted if the current folder has %s", defaultStudy)
			}
			from, err := a.locate(c.Context(), args[0])
			if err != nil {
				return err
			}
			file, own, suite, err := experiment.Read(from.path, from.overrides, experimentEnv())
			if err != nil {
				return err
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
			if a.json {
				return printJSON(a.out, truth)
			}
			for line := range strings.Lines(truth.String()) {
				fmt.Fprintln(a.out, report.PlainText(strings.TrimRight(line, "\n")))
			}
			return nil
		})
}

// explained describes the items of each suite that has explain.
func explained() string {
	var b strings.Builder
	for _, s := range suites.All() {
		if s.Explain != nil {
			fmt.Fprintf(&b, "\nIn %s %s\n", s.Name, s.Explain.Doc)
		}
	}
	return b.String()
}

// defaultStudy is the default study file of a folder.
const defaultStudy = "study.yaml"

// isStudyOrRun reports whether an argument names a study file or a run of the
// default store.
func (a *app) isStudyOrRun(ctx context.Context, arg string) bool {
	if isStudyFile(arg) {
		return true
	}
	db, _, err := a.findRun(ctx, arg)
	if err != nil {
		return false
	}
	db.Close()
	return true
}

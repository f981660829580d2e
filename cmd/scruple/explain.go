package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/suites"
)

func explainVerb(a *app) *cobra.Command {
	return verb("explain STUDY|RUN ITEM [OF]", "show what is true for an item, and why", `
For suites whose truth is computed. In rerank ITEM is a request: its truth
table over the candidates' data. With OF, one of those, it shows what was looked
at and found there, condition by condition.`, cobra.RangeArgs(2, 3),
		func(c *cobra.Command, args []string) error {
			path, err := a.studyPath(c.Context(), args[0])
			if err != nil {
				return err
			}
			l, err := a.load(path)
			if err != nil {
				return err
			}
			defer l.close()
			x, ok := l.bench.(suites.Explainer)
			if !ok {
				return fmt.Errorf("explain: the truth of suite %s is annotated and not computed; the report shows gold beside the answers", l.study.Suite)
			}
			of := ""
			if len(args) > 2 {
				of = args[2]
			}
			text, err := x.Explain(args[1], of)
			if err != nil {
				return fmt.Errorf("explain: %w", err)
			}
			if a.json {
				return printJSON(a.out, map[string]string{"item": args[1], "of": of, "text": text})
			}
			fmt.Fprintln(a.out, text)
			return nil
		})
}

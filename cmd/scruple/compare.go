package main

import (
	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/report"
)

func compareVerb(a *app) *cobra.Command {
	var metric string
	c := verb("compare STUDY|RUN", "show the comparisons of a run", `
The study names the pairs and metrics.`, cobra.ExactArgs(1), func(c *cobra.Command, args []string) error {
		result, err := a.keptFor(c.Context(), args[0])
		if err != nil {
			return err
		}
		shown := []analyse.Comparison{}
		for _, k := range result.Analysis.Comparisons {
			if metric == "" || k.Metric == metric {
				shown = append(shown, k)
			}
		}
		if a.json {
			return printJSON(a.out, shown)
		}
		only := *result.Analysis
		only.Comparisons = shown
		return report.Comparisons(a.out, &only, a.terminal())
	})
	c.Flags().StringVar(&metric, "metric", "", "show only this metric")
	return c
}

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

func compareVerb(a *app) *cobra.Command {
	var metric string
	c := verb("compare STUDY|RUN", "show the comparisons of a run", `
The study names the pairs and metrics.`, cobra.ExactArgs(1), func(c *cobra.Command, args []string) error {
		result, err := a.keptFor(c.Context(), args[0])
		if err != nil {
			return err
		}
		if err := checkCompared(result.Analysis, metric); err != nil {
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

// checkCompared returns an error if no comparison is on the metric.
func checkCompared(a *analyse.Analysis, metric string) error {
	var compared []string
	for _, k := range a.Comparisons {
		if !slices.Contains(compared, k.Metric) {
			compared = append(compared, k.Metric)
		}
	}
	if metric == "" || slices.Contains(compared, metric) {
		return nil
	}
	if len(compared) == 0 {
		return fmt.Errorf("--metric %s: run %s has no comparisons; list arms under comparisons in the study", metric, a.Run.ID)
	}
	if _, ok := a.Metric(metric); ok {
		return fmt.Errorf("--metric %s: run %s does not compare it; it compares %s", metric, a.Run.ID, strings.Join(compared, ", "))
	}
	return fmt.Errorf("--metric: unknown metric %q%s; run %s compares %s", metric, kit.DidYouMean(metric, compared), a.Run.ID, strings.Join(compared, ", "))
}

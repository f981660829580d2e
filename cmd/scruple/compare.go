package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

func compareVerb(a *app) *cobra.Command {
	var metric, format string
	var fail bool
	c := a.verb("compare", func(c *cobra.Command, args []string) error {
		switch a.json = a.json || format == "json"; format {
		case "terminal", "markdown", "md", "json":
		default:
			return fmt.Errorf("--format %q: the formats are terminal, markdown, json", format)
		}
		to := shownAs{metric, strings.HasPrefix(format, "m")}
		if len(args) == 2 {
			return a.compareRuns(c.Context(), args[0], args[1], to, fail)
		}
		if fail {
			return fmt.Errorf("compare --fail-on-regression %s: name two runs: of one, `scruple gate` decides by the rules of its study", args[0])
		}
		result, err := a.keptFor(c.Context(), args[0])
		if err != nil {
			return err
		}
		return a.showComparisons(report.Differences{Analysis: result.Analysis}, to)
	})
	c.Flags().StringVar(&format, "format", "terminal", "terminal | markdown | json")
	c.Flags().StringVar(&metric, "metric", "", "show only this metric")
	c.Flags().BoolVar(&fail, "fail-on-regression", false, "of two runs: exit 1 if the second regressed, 3 if that cannot be decided")
	return c
}

// shownAs says which comparisons are shown, and how.
type shownAs struct {
	metric   string // "": of all
	markdown bool
}

// showComparisons prints differences on one metric, or on all.
func (a *app) showComparisons(d report.Differences, to shownAs) error {
	shown, err := a.compared(d.Analysis, to.metric)
	if err != nil {
		return err
	}
	if a.json {
		if d.Trend == nil {
			return printJSON(a.out, shown)
		}
		return printJSON(a.out, struct {
			gate.Trend
			Comparisons []analyse.Comparison `json:"comparisons"`
			Tables      []eval.Table         `json:"tables"`
		}{*d.Trend, shown, append([]eval.Table{}, d.Tables...)})
	}
	only := *d.Analysis
	only.Comparisons = shown
	d.Analysis = &only
	if to.markdown {
		return d.Markdown(a.out)
	}
	return d.Terminal(a.out, a.terminal())
}

// compared lists the comparisons on a metric, or on all. JSON has no room for notices.
func (a *app) compared(all *analyse.Analysis, metric string) ([]analyse.Comparison, error) {
	for _, reason := range all.Discipline.Reasons() {
		if a.json {
			a.warn("warning: UNBLINDED, TEST was looked at again: %s", say.PlainLine(reason))
		}
	}
	shown := []analyse.Comparison{}
	for _, k := range all.Comparisons {
		if metric == "" || k.Metric == metric {
			shown = append(shown, k)
		}
	}
	return shown, checkCompared(all, metric)
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

// compareRuns compares the second run with the first.
func (a *app) compareRuns(ctx context.Context, first, second string, to shownAs, fail bool) error {
	older, err := a.side(ctx, first, second)
	if err != nil {
		return err
	}
	defer older.DB.Close()
	newer, err := a.side(ctx, second, first)
	if err != nil {
		return err
	}
	defer newer.DB.Close()
	x, err := source{path: studyOf(newer.Run, newer.DB, ""), overrides: newer.Run.Overrides, store: newer.DB.Path()}.load()
	if err != nil {
		return err
	}
	defer x.Close()
	result, err := x.CompareRuns(ctx, older, newer)
	if err != nil {
		return err
	}
	if a.json {
		for _, w := range result.Warnings {
			a.warn("warning: %s", say.PlainLine(w))
		}
	}
	trend := gate.TrendOf(result)
	err = a.showComparisons(report.Differences{Analysis: result, Title: newer.Run.ID + " against " + older.Run.ID, Trend: &trend}, to)
	if err == nil && fail && trend.Exit() != exitOK {
		return exit(trend.Exit(), nil)
	}
	return err
}

// side opens a run that an argument names: a study file, RUN or RUN:ARM. The store of a run
// is the one in the current folder, or the one beside the study that it is compared with.
func (a *app) side(ctx context.Context, arg, other string) (experiment.Side, error) {
	s, err := a.sideIn(ctx, arg)
	if errors.Is(err, store.ErrNotFound) && a.storePath == "" && !isStudyFile(arg) && isStudyFile(other) {
		a.storePath = a.storeFor(other)
		defer func() { a.storePath = "" }()
		return a.sideIn(ctx, arg)
	}
	return s, err
}

func (a *app) sideIn(ctx context.Context, arg string) (experiment.Side, error) {
	db, run, err := a.findShown(ctx, arg)
	id, arm, named := strings.Cut(arg, ":")
	if named && errors.Is(err, store.ErrNotFound) {
		db, run, err = a.findShown(ctx, id)
		return experiment.Side{DB: db, Run: run, Arm: arm}, err
	}
	return experiment.Side{DB: db, Run: run}, err
}

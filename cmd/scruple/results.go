package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/store"
)

func scoreVerb(a *app) *cobra.Command {
	return verb("score STUDY|RUN", "score and analyse a run again from its stored answers", `
No model is asked. Use it after a change of gold, of metrics, of comparisons or
of rules. A change of gold is recorded in the history of the run.`, cobra.ExactArgs(1),
		func(c *cobra.Command, args []string) error { return a.score(c.Context(), args[0]) })
}

func (a *app) score(ctx context.Context, arg string) error {
	x, from, err := a.loadFor(ctx, arg)
	if err != nil {
		return err
	}
	defer x.Close()
	if err := x.CheckScorer(); err != nil {
		return err
	}
	db, err := store.Open(ctx, from.store)
	if err != nil {
		return err
	}
	defer db.Close()
	found, err := from.find(ctx, db)
	if err != nil {
		return err
	}
	r, err := x.Attach(ctx, db, found)
	if err != nil {
		return err
	}
	change, err := r.AcceptGold(ctx)
	if err != nil {
		return err
	}
	if change != nil {
		a.say("%s", change.Note)
		if change.Rejudge {
			a.say("the judge has to be asked again about them: `scruple run %s`", x.File.Path)
		}
	}
	return a.conclude(ctx, db, r)
}

// keptFor reads back what was kept of the run an argument stands for.
func (a *app) keptFor(ctx context.Context, arg string) (experiment.Result, error) {
	db, r, err := a.findRun(ctx, arg)
	if err != nil {
		return experiment.Result{}, err
	}
	defer db.Close()
	return experiment.Kept(ctx, db, r)
}

func reportVerb(a *app) *cobra.Command {
	var to rendering
	c := verb("report STUDY|RUN", "show the report of a run", `
Formats: terminal (default), markdown, json, and html, one file that needs
nothing else.`, cobra.ExactArgs(1), func(c *cobra.Command, args []string) error {
		result, err := a.keptFor(c.Context(), args[0])
		if err != nil {
			return err
		}
		return a.render(report.Report{Analysis: result.Analysis, Verdict: result.Verdict}, to)
	})
	to.flags(c)
	c.Flags().BoolVarP(&to.verbose, "verbose", "v", false, "all metrics and breakdowns (terminal)")
	return c
}

// A rendering is how and where a report is written.
type rendering struct {
	format, output string
	verbose        bool
}

func (r *rendering) flags(c *cobra.Command) {
	c.Flags().StringVar(&r.format, "format", "terminal", "terminal | markdown | json | html")
	c.Flags().StringVar(&r.output, "out", "", "file to write (default: standard output)")
}

func (a *app) render(result report.Report, to rendering) error {
	if a.json {
		to.format = "json"
	}
	write := func(w io.Writer, r report.Report) error {
		o := a.terminal()
		o.Verbose = to.verbose
		return report.Terminal(w, r, o)
	}
	if to.format != "terminal" {
		formats := report.Formats()
		i := slices.IndexFunc(formats, func(f report.Format) bool { return f.Name == to.format })
		if i < 0 {
			var known []string
			for _, f := range formats {
				known = append(known, f.Name)
			}
			return fmt.Errorf("--format %q: the formats are %s", to.format, strings.Join(known, ", "))
		}
		write = formats[i].Render
	}
	var b bytes.Buffer
	if err := write(&b, result); err != nil {
		return err
	}
	if to.output != "" {
		return writeFile(to.output, b.Bytes())
	}
	_, err := a.out.Write(b.Bytes())
	return err
}

func compareVerb(a *app) *cobra.Command {
	var metric string
	c := verb("compare STUDY|RUN", "show the comparisons of a run, one a line", `
The pairs and metrics are those the study names.`, cobra.ExactArgs(1), func(c *cobra.Command, args []string) error {
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
	c.Flags().StringVar(&metric, "metric", "", "only this metric")
	return c
}

func gateVerb(a *app) *cobra.Command {
	return verb("gate STUDY|RUN", "decide by the rules of the study, with an exit code", `
Prints every condition with the values it used, and exits 0 when the gate
passed, 1 when it failed, 3 when the results cannot decide, and 4 when more
trials failed than the study allows. Rules are expressions over named results:

`+gate.Help(), cobra.ExactArgs(1), func(c *cobra.Command, args []string) error { return a.gate(c.Context(), args[0]) })
}

// gate applies the rules as they stand now: in a study file they may have
// changed since the run, and deciding again costs nothing. Asked by run id it
// gives the verdict that was kept.
func (a *app) gate(ctx context.Context, arg string) error {
	db, r, err := a.findRun(ctx, arg)
	if err != nil {
		return err
	}
	defer db.Close()
	result, err := experiment.Kept(ctx, db, r)
	if err != nil {
		return err
	}
	if isStudyFile(arg) {
		x, _, err := a.loadFor(ctx, arg)
		if err != nil {
			return err
		}
		defer x.Close()
		if result, err = x.Decide(ctx, db, r, result); err != nil {
			return err
		}
	}
	if result.Verdict == nil {
		return fmt.Errorf("the study has no rules to decide by: add `decide:` to it (see `scruple gate --help`)")
	}
	if a.json {
		err = printJSON(a.out, result.Verdict)
	} else {
		err = report.Gate(a.out, result.Verdict, a.terminal())
	}
	if err != nil {
		return err
	}
	if code := result.Verdict.ExitCode(); code != exitOK {
		return exit(code, nil)
	}
	return nil
}

func statusVerb(a *app) *cobra.Command {
	return verb("status [STUDY|RUN]", "show where a run stands, or all runs of a store", `
Says what is done, what failed and what it cost, and how the run was carried
out. Nothing is changed; it can be used while a run is under way.`, cobra.MaximumNArgs(1),
		func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.allRuns(c.Context())
			}
			return a.status(c.Context(), args[0])
		})
}

func (a *app) status(ctx context.Context, arg string) error {
	db, r, err := a.findRun(ctx, arg)
	if err != nil {
		return err
	}
	defer db.Close()
	s, err := experiment.StatusOf(ctx, db, r)
	if err != nil {
		return err
	}
	if a.json {
		return printJSON(a.out, s)
	}
	a.say("run      %s (%s), begun %s", s.Run, s.Suite, s.CreatedAt)
	a.say("study    %s", s.File)
	a.say("state    %s: %d of %d trials done, %d failed", s.State, s.Done, s.Trials, s.Failed)
	if s.ToJudge+s.JudgeFailed > 0 {
		a.say("judging  %d trials wait, %d failed", s.ToJudge, s.JudgeFailed)
	}
	a.say("spent    %d calls, %d tokens, $%.4f", s.Calls, s.Tokens, s.CostUSD)
	for _, e := range s.Events {
		a.say("%s  %s: %s", e.At.Format(time.RFC3339), e.What, e.Note)
	}
	switch s.State {
	case "started":
		a.say("continue with `scruple run %s`", arg)
	case "error":
		a.say("try the failed ones again with `scruple run --retry-failed %s`", arg)
	}
	return nil
}

func (a *app) allRuns(ctx context.Context) error {
	db, err := store.OpenRead(ctx, a.storeFor(""))
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := experiment.Statuses(ctx, db)
	if err != nil {
		return err
	}
	if a.json {
		return printJSON(a.out, list)
	}
	for _, s := range list {
		a.say("%-24s %-8s %d/%d done, %d failed, %d calls, $%.4f  %s", s.Run, s.State, s.Done, s.Trials, s.Failed, s.Calls, s.CostUSD, s.CreatedAt)
	}
	if len(list) == 0 {
		a.say("no runs yet")
	}
	return nil
}

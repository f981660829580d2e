package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/report"
)

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

// keptFor reads back what was kept of the run an argument stands for.
func (a *app) keptFor(ctx context.Context, arg string) (experiment.Result, error) {
	db, r, err := a.findRun(ctx, arg)
	if err != nil {
		return experiment.Result{}, err
	}
	defer db.Close()
	return experiment.Kept(ctx, db, r)
}

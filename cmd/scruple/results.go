package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

// samplesPerArm is how many of the best and of the worst trials of an arm a
// report shows. If there are many arms it shows one of each.
func samplesPerArm(arms int) int {
	if arms > report.Crowd {
		return 1
	}
	return 3
}

// conclude scores and analyses a run from its stored answers, writes the report
// files and prints the answer in brief. arg is the study or run that the command names;
// decides says that the command exits with the verdict.
func (a *app) conclude(ctx context.Context, db *store.DB, r *experiment.Run, arg string, decides bool) (experiment.Result, error) {
	if err := a.addPeoplesVerdicts(ctx, db, r); err != nil {
		return experiment.Result{}, err
	}
	left, err := r.Blinded(ctx)
	if left > 0 {
		a.say("TEST: %s pending; results are shown when all are done: run the same command", text.Plural(left, "trial is", "trials are"))
	}
	if left > 0 || err != nil {
		return experiment.Result{}, err
	}
	r.Scored = a.scoring(r.Plan.Len(), 5*time.Second)
	result, err := r.Rescore(ctx, samplesPerArm(len(r.Bench.Arms())))
	if err != nil {
		return result, err
	}
	shown := report.Report{Analysis: result.Analysis, Verdict: result.Verdict}
	files, unwritten := writeReports(ctx, db, r, shown)
	if unwritten != nil { // after the result, which was paid for
		unwritten = exit(exitInfrastructure, fmt.Errorf("%w; `%s` writes the report when the cause is gone", unwritten, a.again("score", arg, r.Record, db.Path())))
	}
	if a.json {
		err = json.NewEncoder(a.out).Encode(map[string]any{"event": "result", "run": r.Record.ID, "files": files,
			"analysis": result.Analysis, "verdict": result.Verdict})
	} else {
		err = report.Summary(a.out, shown, a.terminal(), report.Ending{Files: files, Decides: decides,
			Report: a.again("report", arg, r.Record, db.Path()), Worst: a.again("show", arg, r.Record, db.Path(), "--worst", "10")})
	}
	if err := errors.Join(err, unwritten); err != nil {
		return result, err
	}
	return result, r.CheckFailures(result)
}

// scoring says now and then how much is scored. At the end the analysis begins.
func (a *app) scoring(of int, every time.Duration) func(trials int) {
	last := time.Now()
	return func(trials int) {
		if time.Since(last) >= every && !a.json {
			a.warn("score: %d of %s", trials, text.Plural(of, "trial", "trials"))
			last = time.Now()
		}
	}
}

// resultsDir returns the folder of a study's report files; each split has its own.
func resultsDir(x *experiment.Experiment) string {
	dir := x.Study.Output.ResultsDir
	if dir == "" || dir == "results" {
		dir = filepath.Join("results", x.Study.Name)
	}
	return x.File.Place(filepath.Join(dir, x.Study.Split))
}

// A reportFile is a file in the results folder of a study.
type reportFile struct {
	path  string
	write func(ctx context.Context, w io.Writer, db *store.DB, r *store.Run, shown report.Report) error
}

// reportFiles lists the report in every file format, and the raw answers if the study asks
// for them.
func reportFiles(x *experiment.Experiment) (list []reportFile) {
	if g := x.Study.Output.GenerateReport; g != nil && !*g {
		return nil
	}
	dir := resultsDir(x)
	for _, f := range report.Formats() {
		if f.Name != "terminal" {
			list = append(list, reportFile{filepath.Join(dir, "report"+f.Ext), func(_ context.Context, w io.Writer, _ *store.DB, _ *store.Run, shown report.Report) error {
				return f.Render(w, shown)
			}})
		}
	}
	if x.Study.Output.SaveRaw {
		for _, table := range []string{"outcomes", "scores"} {
			list = append(list, reportFile{filepath.Join(dir, table+".jsonl"), func(ctx context.Context, w io.Writer, db *store.DB, r *store.Run, _ report.Report) error {
				return experiment.WriteTable(ctx, w, db, r, table, experiment.JSONLines)
			}})
		}
	}
	return list
}

// writeReports writes the files of a run and lists them.
func writeReports(ctx context.Context, db *store.DB, r *experiment.Run, shown report.Report) (files []string, err error) {
	keeps := source{path: r.File.Path, store: db.Path()}.keeps(r.Experiment)
	for _, f := range reportFiles(r.Experiment) {
		if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
			return files, fmt.Errorf("creating the results folder: %w", err)
		}
		err := disk.File{Path: f.path, Allow: keeps}.Write(func(w io.Writer) error { return f.write(ctx, w, db, r.Record, shown) })
		if err != nil {
			return files, err
		}
		files = append(files, f.path)
	}
	return files, nil
}

// A rendering is the format and destination of a report.
type rendering struct {
	format, output string
	verbose        bool
}

func (r *rendering) flags(c *cobra.Command) {
	c.Flags().StringVar(&r.format, "format", "terminal", "terminal | markdown | json | html")
	c.Flags().StringVar(&r.output, "out", "", "file to write (default: standard output)")
}

func (a *app) render(result report.Report, to rendering, from source) error {
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
		i := slices.IndexFunc(formats, func(f report.Format) bool { return f.Name == to.format || f.Ext == "."+to.format })
		if i < 0 {
			var known []string
			for _, f := range formats {
				known = append(known, f.Name)
			}
			return fmt.Errorf("--format %q: the formats are %s", to.format, strings.Join(known, ", "))
		}
		write = formats[i].Render
	}
	return a.print(to.output, from, func(w io.Writer) error { return write(w, result) })
}

// keptFor reads the stored result of the run that an argument names.
func (a *app) keptFor(ctx context.Context, arg string) (experiment.Result, error) {
	db, r, err := a.findShown(ctx, arg)
	if err != nil {
		return experiment.Result{}, err
	}
	defer db.Close()
	return experiment.Kept(ctx, db, r)
}

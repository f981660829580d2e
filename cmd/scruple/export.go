package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

func exportVerb(a *app) *cobra.Command {
	var table, format, output string
	var vectors bool
	c := verb("export STUDY|RUN", "print the stored data of a run, for other programs", `
Tables: calls (one line per request), outcomes (one per trial), scores (one per
fraction), summary (one per estimate) and records (of extraction: one per field of an
answer, for analysis and not for decisions; see docs/records.md). Lines are in plan order, which depends
only on the study and the seed. The formats of suites write several files into
the folder given with --out:
`+suiteFormats(), cobra.ExactArgs(1), func(c *cobra.Command, args []string) error {
		db, r, err := a.findShown(c.Context(), args[0])
		if err != nil {
			return err
		}
		defer db.Close()
		if format != "jsonl" && format != "csv" {
			e, err := exportCalled(r.Suite, format)
			if err != nil {
				return err
			}
			if output == "" {
				return fmt.Errorf("--format %s writes several files: give their folder with --out", format)
			}
			return a.exportOwn(c.Context(), db, r, args[0], e, output)
		}
		write := func(w io.Writer) error { return experiment.WriteTable(c.Context(), w, db, r, table, format) }
		if table == experiment.RecordsTable {
			write = func(w io.Writer) error { return a.exportRecords(c.Context(), w, db, r, args[0], format, vectors) }
		}
		from, err := a.locate(c.Context(), args[0])
		if err != nil {
			return err
		}
		return a.print(output, from, write)
	})
	c.Flags().StringVar(&table, "table", "scores", "calls | outcomes | scores | summary | records")
	c.Flags().BoolVar(&vectors, "embeddings", false, "with --table records: the vectors too")
	c.Flags().StringVar(&format, "format", "jsonl", "jsonl | csv, or a format of the suite")
	c.Flags().StringVar(&output, "out", "", "file to write (default: standard output); a folder for a format of the suite")
	return c
}

// suiteFormats lists the formats of suites, for help.
func suiteFormats() string {
	var b strings.Builder
	for _, s := range suites.All() {
		for _, e := range s.Exports {
			fmt.Fprintf(&b, "\n  %-6s (%s)  %s", e.Name, s.Name, e.Doc)
		}
	}
	return b.String()
}

// exportCalled finds a format of a suite by name.
func exportCalled(suite, format string) (kit.Export, error) {
	s, err := suiteCalled(suite)
	if err != nil {
		return kit.Export{}, err
	}
	formats := []string{"jsonl", "csv"}
	for _, e := range s.Exports {
		if e.Name == format {
			return e, nil
		}
		formats = append(formats, e.Name)
	}
	last := len(formats) - 1
	return kit.Export{}, fmt.Errorf("--format %q: the formats are %s and %s", format, strings.Join(formats[:last], ", "), formats[last])
}

// exportOwn writes a run in a format of its suite. The study must still have
// the items and arms of the run.
func (a *app) exportOwn(ctx context.Context, db *store.DB, r *store.Run, arg string, e kit.Export, dir string) error {
	x, _, err := a.loadFor(ctx, arg)
	if err != nil {
		return err
	}
	defer x.Close()
	if _, err := x.Attach(ctx, db, r); err != nil {
		return err
	}
	wrote, err := e.Write(x.Bench, keptRun{ctx, db, r, x.Study}, dir)
	if err != nil {
		return err
	}
	a.say("wrote %s", wrote)
	return nil
}

// A keptRun gives exports of suites the stored data of a run.
type keptRun struct {
	ctx   context.Context
	db    *store.DB
	run   *store.Run
	study *study.Study
}

func (k keptRun) Outcomes() iter.Seq2[eval.Judged, error] { return k.db.Outcomes(k.ctx, k.run) }
func (k keptRun) Calls() iter.Seq2[eval.Call, error]      { return k.db.Calls(k.ctx, k.run) }

func (k keptRun) Run() kit.Run {
	return kit.Run{ID: k.run.ID, Study: k.study.Name, StudyJSON: k.run.StudyJSON, Overrides: k.run.Overrides,
		Seed: k.study.Execution.Seed, Replicates: k.study.Execution.Replicates,
		Created: k.run.CreatedAt.UTC().Format(time.RFC3339), Version: k.run.Version,
		Exported: time.Now().UTC().Format(time.RFC3339), ExportedBy: version()}
}

func (k keptRun) Estimates(metrics ...string) ([]kit.Estimate, error) {
	result, err := experiment.Kept(k.ctx, k.db, k.run)
	if err != nil {
		return nil, err
	}
	var list []kit.Estimate
	for _, arm := range result.Analysis.Arms {
		for _, metric := range metrics {
			if e, ok := result.Analysis.Estimate(arm.ID, metric); ok {
				list = append(list, kit.Estimate{Arm: arm.ID, Levels: arm.Levels, Metric: metric,
					Measured: eval.Measured{Value: e.Value, Low: e.Low, High: e.High, N: e.Items}})
			}
		}
	}
	return list, nil
}

func (k keptRun) Time(micros int64) string { return experiment.Timestamp(micros) }

func (k keptRun) Sessions() ([]kit.Session, error) {
	stored, err := k.db.Sessions(k.ctx, k.run)
	if err != nil {
		return nil, err
	}
	var list []kit.Session
	for _, s := range stored {
		n := kit.Session{N: s.N, First: experiment.Timestamp(s.First), Last: experiment.Timestamp(s.Last), Requests: s.Requests, Retries: s.Retries, Answers: s.Answers, Items: s.Items, New: s.New, Done: s.Done}
		for _, e := range s.Errors {
			n.Errors = append(n.Errors, eval.Level{Name: cmp.Or(string(e.Kind), "interrupted"), Value: strconv.Itoa(e.Requests)})
		}
		list = append(list, n)
	}
	return list, nil
}

// exportRecords writes the analysis records of a run.
func (a *app) exportRecords(ctx context.Context, w io.Writer, db *store.DB, record *store.Run, arg, format string, vectors bool) error {
	x, _, err := a.loadFor(ctx, arg)
	if err != nil {
		return err
	}
	defer x.Close()
	r, err := x.Attach(ctx, db, record)
	if err != nil {
		return err
	}
	missing, err := r.WriteRecords(ctx, w, format, vectors)
	if missing > 0 {
		a.warn("warning: %s no embedding by %s, so their cosines are empty: `scruple embed` asks for them", text.Plural(missing, "text has", "texts have"), x.Study.Output.Embeddings.Name)
	}
	return err
}

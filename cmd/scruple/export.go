package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
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
	var vectors, content bool
	c := a.verb("export", func(c *cobra.Command, args []string) error {
		if own := !slices.Contains(tableFormats, format); own || table == experiment.RecordsTable {
			return a.on(shownRun, func(o *opened) error {
				if slices.Contains(runFormats, format) {
					return a.exportRun(o, format, output, content)
				}
				if own {
					return a.exportOwn(o, format, output)
				}
				return a.print(output, o.from, func(w io.Writer) error { return a.exportRecords(w, o, format, vectors) })
			})(c, args)
		}
		db, r, err := a.findShown(c.Context(), args[0])
		if err != nil {
			return err
		}
		defer db.Close()
		from, err := a.locate(c.Context(), args[0])
		if err != nil {
			return err
		}
		return a.print(output, from, func(w io.Writer) error {
			return experiment.WriteTable(c.Context(), w, db, r, table, tableFormat(format, table, r))
		})
	})
	c.Flags().StringVar(&table, "table", "scores", "calls | outcomes | scores | summary | records")
	c.Flags().BoolVar(&vectors, "embeddings", false, "with --table records: the vectors too")
	c.Flags().StringVar(&format, "format", "jsonl", "jsonl | csv | parquet, inspect | eee | otel, or a format of the suite")
	c.Flags().BoolVar(&content, "content", false, "with --format otel: prompts and answers too")
	c.Flags().StringVar(&output, "out", "", "file to write (default: standard output); a folder for a format of the suite, inspect and eee; for otel also the URL of a server")
	c.Long = strings.ReplaceAll(c.Long, "{{FORMATS}}", suiteFormats())
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

// exportOwn writes a run in a format of its suite. The study must still have
// the items and arms of the run.
func (a *app) exportOwn(o *opened, format, dir string) error {
	formats := namesOf(o.x.Suite.Exports, func(e kit.Export) string { return e.Name })
	i := slices.Index(formats, format)
	if i < 0 {
		formats = slices.Concat(tableFormats, runFormats, formats)
		last := len(formats) - 1
		return fmt.Errorf("--format %q: the formats are %s and %s", format, strings.Join(formats[:last], ", "), formats[last])
	}
	if dir == "" {
		return fmt.Errorf("--format %s writes several files: give their folder with --out", format)
	}
	r, err := o.attached()
	if err != nil {
		return err
	}
	bench, err := r.Calibrated(o.ctx)
	if err != nil {
		return err
	}
	wrote, err := o.x.Suite.Exports[i].Write(bench, keptRun{o.ctx, o.db, o.run, o.x.Study}, dir)
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
			for _, e := range result.Analysis.Estimates {
				if e.Arm == arm.ID && e.Metric == metric {
					list = append(list, kit.Estimate{Arm: arm.ID, Levels: arm.Levels, Metric: metric, Stratum: e.Stratum,
						Measured: eval.Measured{Value: e.Value, Low: e.Low, High: e.High, N: e.Items}})
				}
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
func (a *app) exportRecords(w io.Writer, o *opened, format string, vectors bool) error {
	r, err := o.attached()
	if err != nil {
		return err
	}
	missing, err := r.WriteRecords(o.ctx, w, tableFormat(format, experiment.RecordsTable, o.run), vectors)
	if missing > 0 {
		a.warn("warning: %s no embedding by %s, so their cosines are empty: `scruple extraction embed` asks for them", text.Plural(missing, "text has", "texts have"), o.x.Study.Output.Embeddings.Name)
	}
	return err
}

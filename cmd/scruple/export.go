package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
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
		write := func(w io.Writer) error { return exportTable(c.Context(), w, db, r, table, format) }
		if table == recordsTable {
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

func (k keptRun) Time(micros int64) string { return timestamp(micros) }

func (k keptRun) Sessions() ([]kit.Session, error) {
	stored, err := k.db.Sessions(k.ctx, k.run)
	if err != nil {
		return nil, err
	}
	var list []kit.Session
	for _, s := range stored {
		n := kit.Session{N: s.N, First: timestamp(s.First), Last: timestamp(s.Last), Requests: s.Requests, Retries: s.Retries, Answers: s.Answers, Items: s.Items, New: s.New, Done: s.Done}
		for _, e := range s.Errors {
			n.Errors = append(n.Errors, eval.Level{Name: cmp.Or(string(e.Kind), "interrupted"), Value: strconv.Itoa(e.Requests)})
		}
		list = append(list, n)
	}
	return list, nil
}

// A row is one line of an exported table: values in column order.
type row []any

type exported struct {
	columns []string
	rows    func(ctx context.Context, db *store.DB, r *store.Run) iter.Seq2[row, error]
}

var tables = map[string]exported{
	"calls": {strings.Fields(`item arm replicate step provider model model_version request_id text tool_calls stop_reason input_tokens
		output_tokens cached_tokens reasoning_tokens cost_usd latency_ms attempts error_kind error stage cache_write_tokens refusal adapted key sent_at process usage_estimated sent reused_from`), callRows},
	"outcomes": {strings.Fields(`item arm replicate outcome reason notes detail output`), outcomeRows},
	"scores":   {strings.Fields(`item arm replicate unit metric num den unscored`), scoreRows},
	"summary":  {strings.Fields(`arm metric stratum value low high items clusters num den unscored method`), summaryRows},
}

func exportTable(ctx context.Context, w io.Writer, db *store.DB, r *store.Run, table, format string) error {
	t, ok := tables[table]
	if !ok {
		return fmt.Errorf("--table %q: the tables are calls, outcomes, scores, summary and records", table)
	}
	if err := writeTable(w, t.columns, t.rows(ctx, db, r), format); err != nil {
		return fmt.Errorf("exporting %s: %w", table, err)
	}
	return nil
}

func writeTable(w io.Writer, columns []string, rows iter.Seq2[row, error], format string) error {
	var write func(row) error
	var flush func() error
	switch format {
	case "jsonl":
		write, flush = jsonLines(w, columns)
	case "csv":
		write, flush = csvLines(w, columns)
	default:
		panic("scruple: no table format " + format) // checked before
	}
	for row, err := range rows {
		if err != nil {
			return err
		}
		if err := write(row); err != nil {
			return err
		}
	}
	return flush()
}

func callRows(ctx context.Context, db *store.DB, r *store.Run) iter.Seq2[row, error] {
	return mapped(db.Calls(ctx, r), func(c eval.Call) row {
		kind := c.ErrKind
		if kind == "" && c.Response.Stop == eval.StopRefused {
			kind = eval.ErrRefused
		}
		p := &c.Response
		var sentAt, process any // unknown in stores of earlier formats
		if n := len(c.Sent); n > 0 {
			sentAt, process = timestamp(c.Sent[n-1].At), c.Sent[n-1].Process
		}
		return row{c.Trial.Item, c.Trial.Arm, c.Trial.Replicate, c.Step, c.Provider, c.Model, p.ModelVersion, p.RequestID, p.Text,
			toolCalls(p.ToolCalls), p.StopReason, p.Usage.Input, p.Usage.Output, p.Usage.Cached, p.Usage.Reasoning, orNil(eval.Number(c.CostUSD)), c.LatencyMS,
			c.Attempts, string(kind), c.Err, string(c.Stage), p.Usage.CacheWrite, p.Refusal, list(p.Adapted), c.Key, sentAt, process, p.Usage.Estimated, requests(c.Sent), c.SourceRun}
	})
}

func timestamp(micros int64) string {
	return time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05.000000Z")
}

// requests lists the requests that were sent for a call.
func requests(sent []eval.Attempt) []map[string]any {
	shown := make([]map[string]any, 0, len(sent))
	for _, s := range sent {
		shown = append(shown, map[string]any{"at": timestamp(s.At), "process": s.Process, "ended": s.Ended, "error_kind": string(s.Err)})
	}
	return shown
}

// toolCalls shows arguments as JSON if they are valid, else as text.
func toolCalls(calls []eval.ToolCall) []map[string]any {
	shown := make([]map[string]any, 0, len(calls))
	for _, c := range calls {
		var arguments any = string(c.Arguments)
		if json.Valid(c.Arguments) {
			arguments = c.Arguments
		}
		shown = append(shown, map[string]any{"id": c.ID, "name": c.Name, "arguments": arguments})
	}
	return shown
}

func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// orNil returns the number, or nil if it is undefined.
func orNil(n eval.Number) any {
	if !n.Defined() {
		return nil
	}
	return float64(n)
}

func outcomeRows(ctx context.Context, db *store.DB, r *store.Run) iter.Seq2[row, error] {
	return mapped(db.Outcomes(ctx, r), func(j eval.Judged) row {
		o := j.Outcome
		return row{j.Trial.Item, j.Trial.Arm, j.Trial.Replicate, string(o.Kind), o.Reason, list(o.Notes), o.Detail, string(o.Data)}
	})
}

func scoreRows(ctx context.Context, db *store.DB, r *store.Run) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		for s, err := range db.Scores(ctx, r) {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, x := range s.Scores {
				var num, den, unscored any = x.Num, x.Den, nil
				switch {
				case x.Unscored != "":
					num, den, unscored = nil, nil, x.Unscored
				case x.Row != nil: // the whole row: it has no columns in this table
					num, den = rowCell(x.Row), nil
				}
				if !yield(row{s.Trial.Item, s.Trial.Arm, s.Trial.Replicate, x.Unit, x.Metric, num, den, unscored}, nil) {
					return
				}
			}
		}
	}
}

// rowCell returns a row as a list, with null for missing values.
func rowCell(row eval.Row) []eval.Number {
	cells := make([]eval.Number, len(row))
	for i, x := range row {
		cells[i] = eval.Number(x)
	}
	return cells
}

func mapped[A, B any](seq iter.Seq2[A, error], f func(A) B) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		for a, err := range seq {
			if !yield(f(a), err) {
				return
			}
		}
	}
}

func summaryRows(ctx context.Context, db *store.DB, r *store.Run) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		result, err := experiment.Kept(ctx, db, r)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, e := range result.Analysis.Estimates {
			stratum := ""
			if e.Stratum != nil {
				stratum = e.Stratum.Name + "=" + e.Stratum.Value
			}
			if !yield(row{e.Arm, e.Metric, stratum, orNil(e.Value), orNil(e.Low), orNil(e.High), e.Items, e.Clusters,
				orNil(e.Num), orNil(e.Den), e.Unscored, e.Method}, nil) {
				return
			}
		}
	}
}

// jsonLines writes objects whose keys are in column order. A missing value is
// null, except that unscored, which is nearly always empty, is omitted.
func jsonLines(w io.Writer, columns []string) (func(row) error, func() error) {
	var b []byte
	write := func(r row) error {
		b = append(b[:0], '{')
		for i, v := range r {
			if v == nil && columns[i] == "unscored" {
				continue
			}
			value, err := marshal(v)
			if err != nil {
				return err
			}
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = strconv.AppendQuote(b, columns[i])
			b = append(append(b, ':'), value...)
		}
		_, err := w.Write(append(b, '}', '\n'))
		return err
	}
	return write, func() error { return nil }
}

func marshal(v any) ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), nil
}

func csvLines(w io.Writer, columns []string) (func(row) error, func() error) {
	c := csv.NewWriter(w)
	_ = c.Write(columns) // the next write reports the error
	fields := make([]string, len(columns))
	write := func(r row) error {
		for i, v := range r {
			text, err := csvField(v)
			if err != nil {
				return err
			}
			fields[i] = text
		}
		return c.Write(fields)
	}
	return write, func() error {
		c.Flush()
		return c.Error()
	}
}

// csvField writes a value for a spreadsheet. Text comes from models, so text that
// a spreadsheet would run as a formula gets an apostrophe in front.
func csvField(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return text.EscapeFormula(v), nil
	case int:
		return strconv.Itoa(v), nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	}
	b, err := marshal(v)
	return string(b), err
}

package experiment

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/embed"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

// A row is one line of an exported table: values in column order.
type row = []any

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

// A TableFormat starts a table: it returns functions that write a row, whose values are in the
// order of the columns, and that end the table.
type TableFormat func(w io.Writer, columns []string) (write func(row []any) error, end func() error)

// TableNames lists the tables of [WriteTable].
func TableNames() []string { return slices.Sorted(maps.Keys(tables)) }

// TableColumns lists the columns of a table.
func TableColumns(table string) []string { return tables[table].columns }

// WriteTable writes a table of a run but [RecordsTable].
func WriteTable(ctx context.Context, w io.Writer, db *store.DB, r *store.Run, table string, format TableFormat) error {
	t, ok := tables[table]
	if !ok {
		return fmt.Errorf("--table %q: the tables are calls, outcomes, scores, summary and records", table)
	}
	if err := writeTable(w, t.columns, t.rows(ctx, db, r), format); err != nil {
		return fmt.Errorf("exporting %s: %w", table, err)
	}
	return nil
}

func writeTable(w io.Writer, columns []string, rows iter.Seq2[row, error], format TableFormat) error {
	write, flush := format(w, columns)
	var err error
	for row := range until(&err, rows) {
		if err := write(row); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	return flush()
}

func callRows(ctx context.Context, db *store.DB, r *store.Run) iter.Seq2[row, error] {
	return spread(db.Calls(ctx, r), func(c eval.Call) ([]row, error) {
		kind := c.ErrKind
		if kind == "" && c.Response.Stop == eval.StopRefused {
			kind = eval.ErrRefused
		}
		p := &c.Response
		var sentAt, process any // unknown in stores of earlier formats
		if n := len(c.Sent); n > 0 {
			sentAt, process = Timestamp(c.Sent[n-1].At), c.Sent[n-1].Process
		}
		tokens := func(n int) any { // null: a program did not say
			if p.Usage.Uncounted {
				return nil
			}
			return n
		}
		return []row{{c.Trial.Item, c.Trial.Arm, c.Trial.Replicate, c.Step, c.Provider, c.Model, p.ModelVersion, p.RequestID, p.Text,
			toolCalls(p.ToolCalls), p.StopReason, tokens(p.Usage.Input), tokens(p.Usage.Output), tokens(p.Usage.Cached), tokens(p.Usage.Reasoning), orNil(eval.Number(c.CostUSD)), c.LatencyMS,
			c.Attempts, string(kind), c.Err, string(c.Stage), tokens(p.Usage.CacheWrite), p.Refusal, list(p.Adapted), c.Key, sentAt, process, p.Usage.Estimated, requests(c.Sent), c.SourceRun}}, nil
	})
}

// Timestamp writes a time of the store.
func Timestamp(micros int64) string {
	return time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05.000000Z")
}

// requests lists the requests that were sent for a call.
func requests(sent []eval.Attempt) []map[string]any {
	return list(mapped(sent, func(s eval.Attempt) map[string]any {
		return map[string]any{"at": Timestamp(s.At), "process": s.Process, "ended": s.Ended, "error_kind": string(s.Err)}
	}))
}

// toolCalls shows arguments as JSON if they are valid, else as text.
func toolCalls(calls []eval.ToolCall) []map[string]any {
	return list(mapped(calls, func(c eval.ToolCall) map[string]any {
		var arguments any = string(c.Arguments)
		if json.Valid(c.Arguments) {
			arguments = c.Arguments
		}
		return map[string]any{"id": c.ID, "name": c.Name, "arguments": arguments}
	}))
}

// list is a list that is never null.
func list[T any](s []T) []T { return append([]T{}, s...) }

// orNil returns the number, or nil if it is undefined.
func orNil(n eval.Number) any {
	if !n.Defined() {
		return nil
	}
	return float64(n)
}

func outcomeRows(ctx context.Context, db *store.DB, r *store.Run) iter.Seq2[row, error] {
	return spread(db.Outcomes(ctx, r), func(j eval.Judged) ([]row, error) {
		o := j.Outcome
		return []row{{j.Trial.Item, j.Trial.Arm, j.Trial.Replicate, string(o.Kind), o.Reason, list(o.Notes), o.Detail, string(o.Data)}}, nil
	})
}

func scoreRows(ctx context.Context, db *store.DB, r *store.Run) iter.Seq2[row, error] {
	return spread(db.Scores(ctx, r), func(s store.TrialScores) (rows []row, err error) {
		for _, x := range s.Scores {
			var num, den, unscored any = x.Num, x.Den, nil
			switch {
			case x.Unscored != "":
				num, den, unscored = nil, nil, x.Unscored
			case x.Row != nil: // the whole row: it has no columns in this table
				num, den = mapped(x.Row, func(v float64) eval.Number { return eval.Number(v) }), nil // null for missing values
			}
			rows = append(rows, row{s.Trial.Item, s.Trial.Arm, s.Trial.Replicate, x.Unit, x.Metric, num, den, unscored})
		}
		return rows, nil
	})
}

func summaryRows(ctx context.Context, db *store.DB, r *store.Run) iter.Seq2[row, error] {
	result, err := Kept(ctx, db, r)
	if err != nil {
		return failing[row](err)
	}
	return func(yield func(row, error) bool) {
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

// JSONLines writes objects whose keys are in column order. A missing value is
// null, except that unscored, which is nearly always empty, is omitted.
func JSONLines(w io.Writer, columns []string) (func([]any) error, func() error) {
	var b []byte
	write := func(r []any) error {
		b = append(b[:0], '{')
		for i, v := range r {
			if v == nil && columns[i] == "unscored" {
				continue
			}
			name, err := eval.EncodeJSON(columns[i])
			if err != nil {
				return err
			}
			value, err := eval.EncodeJSON(v)
			if err != nil {
				return err
			}
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = append(append(append(b, name...), ':'), value...)
		}
		_, err := w.Write(append(b, '}', '\n'))
		return err
	}
	return write, func() error { return nil }
}

// CSV writes a header and lines for spreadsheets.
func CSV(w io.Writer, columns []string) (func([]any) error, func() error) {
	c := csv.NewWriter(w)
	_ = c.Write(columns) // the next write reports the error
	fields := make([]string, len(columns))
	write := func(r []any) error {
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
	b, err := eval.EncodeJSON(v)
	return string(b), err
}

// RecordsTable is the table of analysis records. It needs the study, not only the
// store.
const RecordsTable = "records"

// RecordColumns are the columns of [RecordsTable], perhaps with those of the vectors.
func RecordColumns(vectors bool) []string {
	columns := strings.Fields(`item arm replicate unit candidate status value quote description value_length quote_length value_words quote_words
		token_ratio judge_score cosine_quote_to_value cosine_quote_to_description extra_fields embedding`)
	if vectors {
		columns = append(columns, "value_embedding", "quote_embedding", "description_embedding")
	}
	return columns
}

// WriteRecords writes the analysis records of a run. It returns how many of their texts
// have no embedding by the model of the study, and the doubts about the others.
func (r *Run) WriteRecords(ctx context.Context, w io.Writer, format TableFormat, vectors bool) (missing int, doubts []string, err error) {
	set, err := r.Embeddings(ctx)
	if err != nil {
		return 0, nil, err
	}
	without := map[embed.Key]bool{}
	if err := writeTable(w, RecordColumns(vectors), recordRows(r.Records(ctx), set, without, vectors), format); err != nil {
		return 0, nil, fmt.Errorf("exporting %s: %w", RecordsTable, err)
	}
	return len(without), set.Doubts(), nil
}

// recordRows makes rows of records. It collects the texts without an embedding.
func recordRows(records iter.Seq2[eval.Record, error], set *embed.Set, missing map[embed.Key]bool, vectors bool) iter.Seq2[row, error] {
	return spread(records, func(x eval.Record) ([]row, error) {
		for _, s := range []string{x.Value, x.Quote, x.About} {
			if !set.Has(s) {
				missing[embed.KeyOf(s)] = true
			}
		}
		value, quote, about := set.Of(x.Value), set.Of(x.Quote), set.Of(x.About)
		r := row{x.Trial.Item, x.Trial.Arm, x.Trial.Replicate, x.Unit, x.Candidate, x.Status, x.Value, x.Quote, x.About,
			utf8.RuneCountInString(x.Value), utf8.RuneCountInString(x.Quote), text.Words(x.Value), text.Words(x.Quote),
			orNil(eval.Number(x.TokenRatio)), orNil(eval.Number(x.JudgeScore)),
			orNil(eval.Number(embed.Cosine(quote, value))), orNil(eval.Number(embed.Cosine(quote, about))), list(x.Extra), set.Name}
		if vectors {
			r = append(r, components(value), components(quote), components(about))
		}
		return []row{r}, nil
	})
}

// components returns a vector for a table, nil if there is none.
func components(v []float32) any {
	if v == nil {
		return nil
	}
	return v
}

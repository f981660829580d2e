package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/columnar"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/evalout"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

func (a *app) export(o *opened) error {
	table, format, output := o.text("table"), o.text("format"), o.text("out")
	own := !slices.Contains(tableFormats, format)
	need := aShownRun
	if own || table == experiment.RecordsTable {
		need = shownRun
	}
	if err := a.opens(o, need); err != nil {
		return err
	}
	tally, err := o.db.Tally(o.ctx, o.run)
	if err != nil {
		return err
	}
	toScore, err := o.db.ToScore(o.ctx, o.run)
	if err != nil {
		return err
	}
	unfinished := tally.Done < tally.Trials || toScore > 0
	if unfinished {
		a.warn("warning: run %s is unfinished: %d of %d trials done, answers without a score yet: %d", o.run.ID, tally.Done, tally.Trials, toScore)
	}
	switch {
	case slices.Contains(runFormats, format):
		return a.exportRun(o, format, output, unfinished, o.is("content"))
	case own:
		return a.exportOwn(o, format, output)
	case table == experiment.RecordsTable:
		return a.print(output, o.from, func(w io.Writer) error { return a.exportRecords(w, o, format, o.is("embeddings")) })
	}
	return a.print(output, o.from, func(w io.Writer) error {
		return experiment.WriteTable(o.ctx, w, o.db, o.run, table, a.tableFormat(format, table, o.run))
	})
}

// exportFormats lists the formats of suites, for help.
func exportFormats() string {
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
	formats := mapped(o.x.Suite.Exports, func(e kit.Export) string { return e.Name })
	i := slices.Index(formats, format)
	if i < 0 {
		formats = slices.Concat(tableFormats, runFormats, formats)
		last := len(formats) - 1
		return fmt.Errorf("--format %q: the formats are %s and %s", format, strings.Join(formats[:last], ", "), formats[last])
	}
	if dir == "" {
		return fmt.Errorf("--format %s writes several files: give their folder with --out", format)
	}
	r, err := o.scored()
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

// scored attaches the run, whose scores must be against the gold that the study has now.
func (o *opened) scored() (*experiment.Run, error) {
	if err := o.x.CheckGold(o.ctx, o.db, o.run); err != nil {
		return nil, err
	}
	return o.attached()
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

func (k keptRun) Sessions() ([]eval.Session, error) { return k.db.Sessions(k.ctx, k.run) }

// exportRecords writes the analysis records of a run.
func (a *app) exportRecords(w io.Writer, o *opened, format string, vectors bool) error {
	r, err := o.scored()
	if err != nil {
		return err
	}
	missing, doubts, err := r.WriteRecords(o.ctx, w, a.tableFormat(format, experiment.RecordsTable, o.run), vectors)
	if missing > 0 {
		a.warn("warning: %s no embedding by %s, so their cosines are empty: `scruple extraction embed` asks for them", text.Plural(missing, "text has", "texts have"), o.x.Study.Output.Embeddings.Name)
	}
	a.warnEach(doubts)
	return err
}

// tableFormats are the formats of every table.
var tableFormats = []string{"jsonl", "csv", "parquet"}

// runFormats write a run of any suite in the format of another tool.
var runFormats = []string{"inspect", "eee", "otel"}

// csv is the format for spreadsheets. On a terminal, what could steer it is visible.
func (a *app) csv(w io.Writer, columns []string) (write func([]any) error, end func() error) {
	add, end := experiment.CSV(w, columns)
	if !isTerminal(w) {
		return add, end
	}
	return func(row []any) error {
		return add(mapped(row, func(v any) any {
			if s, is := v.(string); is {
				return say.Visible(s)
			}
			return v
		}))
	}, end
}

// tableFormat is the format of a table with its name.
func (a *app) tableFormat(name, table string, r *store.Run) experiment.TableFormat {
	switch name {
	case "csv":
		return a.csv
	case "parquet":
		return func(w io.Writer, columns []string) (func([]any) error, func() error) {
			return parquetOf(w, columns, table, r)
		}
	}
	return experiment.JSONLines
}

// The kinds of columns that are no texts.
var (
	idColumns    = strings.Fields("item arm step provider model model_version stop_reason error_kind stage outcome reason unit metric stratum method status description embedding reused_from process")
	intColumns   = strings.Fields("replicate input_tokens output_tokens cached_tokens reasoning_tokens cache_write_tokens attempts items clusters candidate value_length quote_length value_words quote_words")
	floatColumns = strings.Fields("cost_usd latency_ms num den low high token_ratio judge_score cosine_quote_to_value cosine_quote_to_description")
)

// kindOf is the kind of a column. Names have one meaning but for value and unscored, which are
// numbers in the table of estimates.
func kindOf(column, table string) columnar.Kind {
	switch {
	case slices.Contains(idColumns, column):
		return columnar.ID
	case slices.Contains(intColumns, column), column == "unscored" && table == "summary":
		return columnar.Int
	case slices.Contains(floatColumns, column), column == "value" && table == "summary":
		return columnar.Float
	case column == "usage_estimated":
		return columnar.Bool
	case strings.HasSuffix(column, "_embedding"):
		return columnar.Vector
	}
	return columnar.Text
}

// parquetOf writes a table with the run and its study in front. A row of an estimator, which
// takes the place of a number, is in a column of its own as JSON.
func parquetOf(w io.Writer, columns []string, table string, r *store.Run) (func([]any) error, func() error) {
	list := []columnar.Column{{Name: "run", Kind: columnar.ID}, {Name: "study", Kind: columnar.ID}}
	for _, c := range columns {
		list = append(list, columnar.Column{Name: c, Kind: kindOf(c, table)})
	}
	num := slices.Index(columns, "num")
	if num >= 0 {
		list = append(list, columnar.Column{Name: "row", Kind: columnar.Text})
	}
	write, end := columnar.Write(w, list, [][2]string{{"scruple.run", r.ID}, {"scruple.study", r.Study}, {"scruple.table", table},
		{"scruple.treatment", eval.HashOf([]byte(eval.EncodeParts(r.Treatment))).String()}}, "scruple", version())
	return func(row []any) error {
		values := append([]any{r.ID, r.Study}, row...)
		if num >= 0 {
			var estimator any
			if _, number := row[num].(float64); !number && row[num] != nil {
				estimator, values[2+num] = row[num], nil
			}
			values = append(values, estimator)
		}
		return write(values)
	}, end
}

// exportRun writes a run in the format of another tool: files in a folder, or for otel a file
// or a server.
func (a *app) exportRun(o *opened, format, to string, unfinished, content bool) error {
	if to == "" {
		return fmt.Errorf("--format %s: give the folder with --out; for otel a file, or the URL of a server such as http://localhost:4318/v1/traces", format)
	}
	r, err := o.scored()
	if err != nil {
		return err
	}
	run, err := outRun(o.ctx, o.db, r)
	if err != nil {
		return err
	}
	run.Unfinished = unfinished
	trials := r.Trials(o.ctx)
	if format == "otel" {
		return a.exportOTel(o, run, trials, to, content)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	if format == "inspect" {
		files, err := evalout.Inspect(to, run, trials)
		if err != nil {
			return err
		}
		a.say("wrote %s to %s", text.Plural(len(files), "log", "logs"), to)
		return nil
	}
	files, unscored, err := evalout.EEE(to, run, trials)
	if err != nil {
		return err
	}
	a.say("wrote %s to %s", text.Plural(len(files), "file", "files"), to)
	if unscored > 0 {
		a.warn("%s left out: the schema has no place for it", text.Plural(unscored, "trial and metric without a score is", "trials and metrics without a score are"))
	}
	return nil
}

// outRun describes a run that is analysed.
func outRun(ctx context.Context, db *store.DB, r *experiment.Run) (evalout.Run, error) {
	kept, err := experiment.Kept(ctx, db, r.Record)
	if err != nil {
		return evalout.Run{}, err
	}
	names := map[string]string{}
	for _, m := range r.Study.Models {
		names[m.ID] = m.Provider + "/" + m.Name
	}
	out := evalout.Run{ID: r.Record.ID, Study: r.Study.Name, Suite: r.Study.Suite, Version: version(), Created: r.Record.CreatedAt, Replicates: r.Study.Execution.Replicates, Items: len(r.Items()), Metrics: r.Suite.Metrics, Alpha: kept.Analysis.Study.Alpha,
		Place: func(t eval.Trial) int { n, _ := r.Plan.Seq(t); return n },
		Estimate: func(arm, metric string) (eval.Measured, bool) {
			e, ok := kept.Analysis.Estimate(arm, metric)
			return eval.Measured{Value: e.Value, Low: e.Low, High: e.High, N: e.Items}, ok
		}}
	for _, arm := range r.Bench.Arms() {
		if arm.Role != eval.RoleCalibration {
			is, _ := kept.Analysis.Arm(arm.ID)
			out.Arms = append(out.Arms, evalout.Arm{ID: arm.ID, Model: names[arm.Model], Simulated: is.Simulated || is.SimulatedJudge})
		}
	}
	return out, nil
}

// exportOTel sends spans to a server, or writes them to a file, a request on each line.
func (a *app) exportOTel(o *opened, run evalout.Run, trials evalout.Trials, to string, content bool) error {
	shown := to // without what may be a key: the user, the query
	var keys []string
	if u, err := url.Parse(to); err == nil && u.Host != "" {
		shown = u.Scheme + "://" + u.Host + u.Path
		password, _ := u.User.Password()
		keys = append(slices.Concat(slices.Collect(maps.Values(u.Query()))...), password)
		slices.Sort(keys)
	}
	server := spanServer{to: to, shown: shown, keys: model.NewKeys(keys...)}
	send := func(send func(body []byte) error) error {
		n, skipped, err := evalout.OTel(send, run, trials, o.db.Calls(o.ctx, o.run), content)
		if err == nil {
			a.say("sent %s to %s", text.Plural(n, "span", "spans"), shown)
			if skipped > 0 {
				a.warn("%s of trials without an outcome left out: `scruple run` finishes them", text.Plural(skipped, "call", "calls"))
			}
		}
		if err == nil && server.rejected > 0 {
			return exit(exitInfrastructure, fmt.Errorf("%s rejected %s: %s", shown, text.Plural(server.rejected, "span", "spans"), cmp.Or(server.why, "it gives no reason")))
		}
		if err == nil && server.why != "" {
			a.warn("%s says: %s", shown, server.why)
		}
		return err
	}
	if !strings.HasPrefix(to, "http://") && !strings.HasPrefix(to, "https://") {
		return a.print(to, o.from, func(w io.Writer) error {
			return send(func(body []byte) error {
				_, err := w.Write(append(body, '\n'))
				return err
			})
		})
	}
	return send(func(body []byte) error { return server.send(o.ctx, body) })
}

// A spanServer is a server of OTLP over HTTP that takes JSON.
type spanServer struct {
	to, shown string
	keys      model.Keys
	rejected  int    // spans
	why       string // the last message of the server about spans
}

// spanRetries are the waits before a request is sent again, unless the server says how long.
var spanRetries = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}

// send sends a request, again while the server is too busy, and notes what the server rejects of it.
func (s *spanServer) send(ctx context.Context, body []byte) error {
	for try := 0; ; try++ {
		p, said, err := s.post(ctx, body)
		if err != nil {
			return err
		}
		if p.StatusCode/100 == 2 {
			var answer struct {
				PartialSuccess struct {
					RejectedSpans json.Number // a text by the specification
					ErrorMessage  string
				}
			}
			_ = json.Unmarshal(said, &answer) // it may be empty
			rejected, _ := answer.PartialSuccess.RejectedSpans.Int64()
			s.rejected, s.why = s.rejected+int(rejected), cmp.Or(s.plain([]byte(answer.PartialSuccess.ErrorMessage)), s.why)
			return nil
		}
		err = fmt.Errorf("sending spans to %s: status %s: %s", s.shown, p.Status, s.plain(said))
		if p.StatusCode/100 == 3 || slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType}, p.StatusCode) {
			return fmt.Errorf("%w: want the path for traces of an OTLP server that takes JSON, such as /v1/traces", err)
		}
		busy := slices.Contains([]int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, p.StatusCode) // by the specification
		wait := model.RetryAfter(p.Header, time.Now())
		if !busy || try == len(spanRetries) || wait > run.LongestWait {
			return exit(exitInfrastructure, err)
		}
		select {
		case <-time.After(cmp.Or(wait, spanRetries[try])):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// post sends a request once. No error has the whole address.
func (s *spanServer) post(ctx context.Context, body []byte) (*http.Response, []byte, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, s.to, bytes.NewReader(body))
	if err != nil {
		return nil, nil, errors.New("sending spans: the address cannot be read: want http://HOST/PATH")
	}
	q.Header.Set("Content-Type", "application/json")
	client := &http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	p, err := client.Do(q)
	if of := (*url.Error)(nil); errors.As(err, &of) {
		err = of.Err
	}
	var said []byte
	if err == nil {
		said, err = io.ReadAll(io.LimitReader(p.Body, 1<<16))
		err = errors.Join(err, p.Body.Close())
	}
	if err != nil {
		err = exit(exitInfrastructure, fmt.Errorf("sending spans to %s: %w", s.shown, err))
	}
	return p, said, err
}

// plain is what the server says, on one line and without keys.
func (s *spanServer) plain(said []byte) string {
	return text.Shorten(say.PlainLine(string(s.keys.Scrub(said, false))), 1000)
}

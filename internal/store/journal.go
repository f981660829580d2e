package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A Journal writes the calls, outcomes and verdicts of one run. One writer commits
// appends from many goroutines in groups. It is safe for concurrent use.
type Journal struct {
	db   *DB
	run  *Run
	conn *sql.Conn
	stmt struct{ calls, attempts, outcomes, verdicts, judged inserts }
	open []*sql.Stmt // all of them

	session int64
	process string
	answers map[int64]answer // the last of each trial that has no outcome yet
	taken   taken
	sent    atomic.Int64 // requests of the session

	mu      sync.Mutex
	next    *group // entries of the next commit
	writing *group // entries of the current or last commit
	err     error  // sticky: no writes after a failed one
	closed  bool
	queued  *sync.Cond    // entries are queued or the journal is closed
	room    *sync.Cond    // a group was committed
	done    chan struct{} // closed when the writer has ended
}

// maxQueued limits the entries waiting for a commit, so that outcomes, which do
// not block their caller, cannot pile up in memory.
const maxQueued = 2048

// A commit costs as much for one entry as for many. After one of at least manyEntries,
// when many calls are in flight, the writer waits this long for more: a tenth less CPU for
// each call, and little beside the seconds that a call takes.
const (
	gather      = 500 * time.Microsecond
	manyEntries = 8
)

// group is the entries of one transaction.
type group struct {
	calls    []*eval.Call
	attempts []attempt
	outcomes []stored
	verdicts []judgedEntry
	others   []func(*steps) // what is rare
	done     chan struct{}
	err      error
}

type attempt struct {
	trial int64
	stage eval.Stage
	step  string
	eval.Attempt
}

type stored struct {
	trial, basis int64
	outcome      eval.Outcome
	step         string // whose answer is the data of the outcome; "" if none is
}

// An answer is what a step of a trial got.
type answer struct{ step, text string }

type judgedEntry struct {
	trial, basis int64
	item         string
	verdicts     []eval.Verdict
}

func newGroup() *group { return &group{done: make(chan struct{})} }

func (g *group) size() int {
	return len(g.calls) + len(g.attempts) + len(g.outcomes) + len(g.verdicts) + len(g.others)
}

// Journal opens the journal of a run for writing. Close it before the store.
func (db *DB) Journal(ctx context.Context, run *Run) (*Journal, error) {
	if !db.writes {
		return nil, fault(db.path, "the store is open for reading only")
	}
	conn, err := db.sql.Conn(ctx)
	if err != nil {
		return nil, db.explain(err)
	}
	j := &Journal{db: db, run: run, conn: conn, process: Process(), answers: map[int64]answer{}, next: newGroup(), done: make(chan struct{})}
	j.queued, j.room = sync.NewCond(&j.mu), sync.NewCond(&j.mu)
	for _, p := range []struct {
		into *inserts
		text func(rows int) string
	}{{&j.stmt.calls, upsertCall}, {&j.stmt.attempts, upsertAttempt}, {&j.stmt.outcomes, upsertOutcome}, {&j.stmt.verdicts, insertVerdict}, {&j.stmt.judged, upsertJudged}} {
		for i, rows := range atOnce {
			if p.into[i], err = conn.PrepareContext(ctx, p.text(rows)); err != nil {
				conn.Close()
				return nil, db.explain(err)
			}
			j.open = append(j.open, p.into[i])
		}
	}
	if err := db.rewrite(ctx, run, func(x *steps) {
		x.get(`INSERT INTO sessions (run, process) VALUES (?, ?) RETURNING id`, []any{run.N, j.process}, &j.session)
	}); err != nil {
		conn.Close()
		return nil, err
	}
	go j.write()
	return j, nil
}

// Process names this process.
func Process() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return host + ":" + strconv.Itoa(os.Getpid())
}

// atOnce are the numbers of rows per statement, if that many are queued. Eight cost half
// as much each as one, and a shared store is asked less often with more.
var atOnce = [...]int{32, 8, 4, 2, 1}

// inserts are a statement for each number of rows.
type inserts [len(atOnce)]*sql.Stmt

// upsert writes rows of a table. Of a row with the same key, the columns of set are
// replaced.
func upsert(table, columns, key string, set []string, rows int) string {
	values := make([]string, len(set))
	for i, column := range set {
		if values[i] = "excluded." + column; column == "attempts" { // retries add to it
			values[i] = "calls.attempts + excluded.attempts"
		}
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES %s ON CONFLICT (%s) DO UPDATE SET (%s) = (%s)", table, columns,
		placeholders(rows, 1+strings.Count(columns, ",")), key, strings.Join(set, ", "), strings.Join(values, ", "))
}

// upsertCall never replaces a call that has an answer.
func upsertCall(rows int) string {
	columns := append(slices.Insert(slices.Clone(summedColumns), attemptsAt, "attempts"), "checksum", "source", "source_run")
	return upsert("calls", strings.Join(columns, ", "), "trial, stage, step", columns[3:], rows) + ` WHERE calls.error_kind <> ''`
}

func upsertAttempt(rows int) string {
	return upsert("attempts", "trial, session, n, stage, step, sent_at, ended, error_kind, tokens, cost_usd", "trial, session, n", []string{"ended", "error_kind"}, rows)
}

func upsertOutcome(rows int) string {
	columns := []string{"kind", "reason", "notes", "detail", "data", "basis", "step"}
	return upsert("outcomes", "trial, "+strings.Join(columns, ", "), "trial", columns, rows)
}

func upsertJudged(rows int) string {
	return `INSERT INTO judged (trial, basis) VALUES ` + placeholders(rows, 2) + ` ON CONFLICT (trial) DO UPDATE SET basis = excluded.basis`
}

func insertVerdict(rows int) string {
	return `INSERT INTO verdicts (run, item, trial, unit, step, source, judge, round, at, data, error) VALUES ` + placeholders(rows, 11)
}

// Append records a call with its last attempt and returns when it is on disk. It
// never overwrites a call that has an answer.
func (j *Journal) Append(c *eval.Call) error {
	id, err := j.run.id(c.Trial)
	if err != nil {
		return err
	}
	last, err := j.last(c)
	if err != nil {
		return err
	}
	g, err := j.enqueue(func(g *group) {
		if c.Stage == eval.StageRun && c.ErrKind == "" {
			j.answers[id] = answer{c.Step, c.Response.Text}
		}
		g.calls = append(g.calls, c)
		g.attempts = append(g.attempts, last...)
	})
	if err != nil {
		return err
	}
	<-g.done
	return g.err
}

// Attempt records the last attempt of a call, before it is sent or after it failed.
// With wait, it returns when the attempt is on disk.
func (j *Journal) Attempt(c *eval.Call, wait bool) error {
	last, err := j.last(c)
	if err != nil {
		return err
	}
	g, err := j.enqueue(func(g *group) { g.attempts = append(g.attempts, last...) })
	if err != nil || !wait {
		return err
	}
	<-g.done
	return g.err
}

// last returns the last attempt of a call, if it has any, and numbers it.
func (j *Journal) last(c *eval.Call) ([]attempt, error) {
	if len(c.Sent) == 0 {
		return nil, nil
	}
	id, err := j.run.id(c.Trial)
	if err != nil {
		return nil, err
	}
	a := &c.Sent[len(c.Sent)-1]
	if a.N == 0 {
		a.N, a.Process = int(j.sent.Add(1)), j.process
	}
	return []attempt{{id, c.Stage, c.Step, *a}}, nil
}

// Revive puts a stale call in force again. It does not wait for the disk.
func (j *Journal) Revive(c *eval.Call) error {
	id, err := j.run.id(c.Trial)
	if err != nil {
		return err
	}
	stage, step := string(c.Stage), c.Step
	return j.later(func(x *steps) {
		x.exec(`UPDATE calls SET stale = FALSE WHERE trial = ? AND stage = ? AND step = ?`, id, stage, step)
	})
}

// Outcome records the outcome of a trial. It does not wait for the disk.
func (j *Journal) Outcome(t eval.Trial, o eval.Outcome) error {
	id, seq, err := j.run.place(t)
	if err != nil {
		return err
	}
	basis, _ := j.run.plan.Basis(seq)
	_, err = j.enqueue(func(g *group) {
		last := j.answers[id]
		delete(j.answers, id)
		if len(o.Data) < leastShared || last.text != string(o.Data) {
			last.step = ""
		}
		g.outcomes = append(g.outcomes, stored{id, basis, o, last.step})
	})
	return err
}

// leastShared is the least size of an answer for which the outcome refers to the call.
const leastShared = 64

// Judged records the verdicts on a trial and marks it as judged. It does not wait
// for the disk.
func (j *Journal) Judged(t eval.Trial, vs []eval.Verdict) error {
	id, seq, err := j.run.place(t)
	if err != nil {
		return err
	}
	_, basis := j.run.plan.Basis(seq)
	_, err = j.enqueue(func(g *group) { g.verdicts = append(g.verdicts, judgedEntry{id, basis, t.Item, vs}) })
	return err
}

// later takes steps in the next commit. It does not wait for the disk.
func (j *Journal) later(take func(x *steps)) error {
	_, err := j.enqueue(func(g *group) { g.others = append(g.others, take) })
	return err
}

func (j *Journal) enqueue(add func(*group)) (*group, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.err == nil && !j.closed && j.next.size() >= maxQueued {
		j.room.Wait()
	}
	if j.err != nil {
		return nil, j.err
	}
	if j.closed {
		return nil, errors.New("store: journal is closed")
	}
	add(j.next)
	j.queued.Signal()
	return j.next, nil
}

// write is the only writer: it commits queued entries until the journal is closed
// and empty.
func (j *Journal) write() {
	defer close(j.done)
	j.mu.Lock()
	defer j.mu.Unlock()
	for {
		for j.next.size() == 0 && !j.closed {
			j.queued.Wait()
		}
		if !j.closed && j.writing != nil && j.writing.size() >= manyEntries {
			j.mu.Unlock()
			time.Sleep(gather)
			j.mu.Lock()
		}
		g := j.next
		if g.size() == 0 {
			return
		}
		j.next, j.writing = newGroup(), g
		if j.err == nil {
			j.mu.Unlock()
			err := j.commit(g)
			j.mu.Lock()
			j.err = err
		}
		g.err = j.err
		close(g.done)
		j.room.Broadcast()
	}
}

func (j *Journal) commit(g *group) error {
	ctx := context.Background() // finish a commit even if the run is stopping
	x := &steps{ctx: ctx, on: j.conn}
	if x.exec(j.db.engine.begin()); x.err != nil {
		return j.db.explain(x.err)
	}
	j.db.engine.hold(x, j.db, j.run)
	j.insert(x, g)
	j.db.engine.still(x, j.run)
	if x.exec("COMMIT"); x.err != nil {
		_, _ = j.conn.ExecContext(ctx, "ROLLBACK")
	}
	return j.db.explain(x.err)
}

func (j *Journal) insert(x *steps, g *group) {
	inRows(x, j.stmt.calls, g.calls, j.callRow)
	inRows(x, j.stmt.attempts, ended(g.attempts), j.attemptRow)
	inRows(x, j.stmt.outcomes, g.outcomes, outcomeRow)
	var verdicts [][]any
	for _, v := range g.verdicts {
		for _, w := range v.verdicts {
			verdicts = append(verdicts, verdictRow(j.run, v.item, v.trial, &w))
		}
	}
	inRows(x, j.stmt.verdicts, verdicts, func(args, row []any) ([]any, error) { return append(args, row...), nil })
	inRows(x, j.stmt.judged, g.verdicts, func(args []any, v judgedEntry) ([]any, error) { return append(args, v.trial, v.basis), nil })
	for _, do := range g.others {
		do(x)
	}
}

// ended leaves out attempts that ended in the same group: a statement cannot write a row twice.
func ended(list []attempt) []attempt {
	type key struct {
		trial int64
		n     int
	}
	at := make(map[key]int, len(list))
	kept := list[:0]
	for _, a := range list {
		if i, twice := at[key{a.trial, a.N}]; twice {
			kept[i] = a
			continue
		}
		at[key{a.trial, a.N}] = len(kept)
		kept = append(kept, a)
	}
	return kept
}

// inRows writes entries, several per statement if there are enough.
func inRows[T any](x *steps, into inserts, entries []T, row func([]any, T) ([]any, error)) {
	var args []any
	for i, n := range atOnce {
		for len(entries) >= n && x.err == nil {
			args = args[:0]
			for _, e := range entries[:n] {
				var err error
				args, err = row(args, e)
				x.fail(err)
			}
			x.run(into[i], args...)
			entries = entries[n:]
		}
	}
}

func verdictRow(run *Run, item string, trial int64, v *eval.Verdict) []any {
	return []any{run.N, item, trial, modelText(v.Unit), v.Step, string(v.Source), v.By, max(1, v.Round), v.At, v.Data, modelText(v.Err)}
}

func (j *Journal) attemptRow(args []any, a attempt) ([]any, error) {
	return append(args, a.trial, j.session, a.N, string(a.stage), a.step, a.At, a.Ended, string(a.Err), a.Tokens, a.CostUSD), nil
}

func outcomeRow(args []any, o stored) ([]any, error) {
	notes, err := jsonOrNull(o.outcome.Notes)
	data, step := o.outcome.Data, any(nil)
	if o.step != "" {
		data, step = nil, o.step
	}
	return append(args, o.trial, string(o.outcome.Kind), modelText(o.outcome.Reason), notes, modelText(o.outcome.Detail), data, o.basis, step), err
}

func (j *Journal) callRow(args []any, c *eval.Call) ([]any, error) {
	id, err := j.run.id(c.Trial)
	if err != nil {
		return nil, err
	}
	r := &c.Response
	tools, err := jsonOrNull(toolRows(r.ToolCalls))
	if err != nil {
		return nil, err
	}
	adapted, err := jsonOrNull(r.Adapted)
	if err != nil {
		return nil, err
	}
	var cost any
	if !math.IsNaN(c.CostUSD) {
		cost = c.CostUSD
	}
	row := []any{id, string(c.Stage), c.Step, c.Key, eval.EncodeParts(c.Parts), c.Provider, c.Model,
		modelText(r.ModelVersion), modelText(r.RequestID), modelText(r.Text), tools, string(r.Stop), modelText(r.StopReason), modelText(r.Refusal), adapted,
		r.Usage.Input, r.Usage.Output, r.Usage.Cached, r.Usage.CacheWrite, r.Usage.Reasoning, usageFlags(r.Usage),
		cost, c.LatencyMS, c.Attempts, string(c.ErrKind), modelText(c.Err)}
	var source, sourceRun any
	if c.Source != 0 {
		source, sourceRun = c.Source, c.SourceNumber
	}
	return append(append(args, withChecksum(row)...), source, sourceRun), nil
}

// A toolRow is a stored tool call. The arguments are text because models may write
// invalid JSON.
type toolRow struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func toolRows(calls []eval.ToolCall) []toolRow {
	var rows []toolRow
	for _, c := range calls {
		rows = append(rows, toolRow{c.ID, c.Name, string(c.Arguments)})
	}
	return rows
}

// jsonOrNull returns a list as JSON, or nil if it is empty.
func jsonOrNull[T any](list []T) (any, error) {
	if len(list) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(list)
	return modelText(b), err
}

func usageFlags(u eval.Usage) (flags int) {
	for bit, set := range []bool{u.CachedInInput, u.ReasoningInOutput, u.Estimated} {
		if set {
			flags |= 1 << bit
		}
	}
	return flags
}

// Close writes queued entries and closes the journal. It returns the first write
// error.
func (j *Journal) Close() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	j.queued.Signal()
	j.room.Broadcast()
	j.mu.Unlock()
	<-j.done
	for _, s := range j.open {
		s.Close()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return errors.Join(j.err, j.conn.Close())
}

// Flush returns when all entries queued so far are on disk.
func (j *Journal) Flush() error {
	j.mu.Lock()
	g := j.writing
	if j.next.size() > 0 {
		g = j.next
	}
	err := j.err
	j.mu.Unlock()
	if g == nil || err != nil {
		return err
	}
	<-g.done
	return g.err
}

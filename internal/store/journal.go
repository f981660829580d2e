package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"math"
	"os"
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
	into [len(insertions)]prepared

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
	rows     [len(insertions)][]any // one after the other
	attempts map[attemptKey]int     // where their rows begin: a statement cannot write a row twice
	others   []func(*steps)         // what is rare
	size     int
	done     chan struct{}
	err      error
}

type attemptKey struct {
	trial int64
	n     int
}

func newGroup() *group {
	return &group{attempts: map[attemptKey]int{}, done: make(chan struct{})}
}

func (g *group) add(table int, row ...any) {
	g.rows[table] = append(g.rows[table], row...)
	g.size++
}

// addAttempt adds the row of an attempt, nil for none, or replaces it if it is there.
func (g *group) addAttempt(row []any) {
	if row == nil {
		return
	}
	key := attemptKey{row[0].(int64), row[2].(int)}
	if at, twice := g.attempts[key]; twice {
		copy(g.rows[intoAttempts][at:], row)
		return
	}
	g.attempts[key] = len(g.rows[intoAttempts])
	g.add(intoAttempts, row...)
}

// The tables of a group, in the order in which they are written.
const (
	intoCalls = iota
	intoAttempts
	intoOutcomes
	intoVerdicts
	intoJudged
)

var insertions = [...]insertion{
	intoCalls:    upsertCalls,
	intoAttempts: upsert("attempts", "trial, session, n, stage, step, sent_at, ended, error_kind, tokens, cost_usd", 3, "ended", "error_kind", "tokens", "cost_usd"),
	intoOutcomes: upsert("outcomes", "trial, kind, reason, notes, detail, data, basis, step", 1),
	intoVerdicts: insert("verdicts", "run, item, trial, unit, step, source, judge, round, at, data, error"),
	intoJudged:   upsert("judged", "trial, basis", 1),
}

// upsertCalls never replaces a call that has an answer.
var upsertCalls = func() insertion {
	into := upsert("calls", strings.Join(summedColumns, ", ")+", attempts, checksum, source, source_run, prices", 3)
	into.tail += ` WHERE calls.error_kind <> ''`
	return into
}()

// An answer is what a step of a trial got.
type answer struct{ step, text string }

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
	for i := range insertions {
		j.into[i].insertion = insertions[i]
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

// Append records a call with its last attempt and returns when it is on disk. It
// never overwrites a call that has an answer.
func (j *Journal) Append(c *eval.Call) error {
	id, last, err := j.attempt(c)
	if err != nil {
		return err
	}
	row := callRow(id, c)
	g, err := j.enqueue(func(g *group) {
		if c.Stage == eval.StageRun && c.ErrKind == "" {
			j.answers[id] = answer{c.Step, c.Response.Text}
		}
		g.add(intoCalls, row...)
		g.addAttempt(last)
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
	_, last, err := j.attempt(c)
	if err != nil {
		return err
	}
	g, err := j.enqueue(func(g *group) { g.addAttempt(last) })
	if err != nil || !wait {
		return err
	}
	<-g.done
	return g.err
}

// attempt returns the id of the trial of a call, and the row of its last attempt, which it
// numbers; nil if the call has none.
func (j *Journal) attempt(c *eval.Call) (id int64, row []any, err error) {
	if id, err = j.run.id(c.Trial); err != nil || len(c.Sent) == 0 {
		return id, nil, err
	}
	a := &c.Sent[len(c.Sent)-1]
	if a.N == 0 {
		a.N, a.Process = int(j.sent.Add(1)), j.process
	}
	return id, []any{id, j.session, a.N, string(c.Stage), c.Step, a.At, a.Ended, string(a.Err), a.Tokens, costOrNull(a.CostUSD)}, nil
}

// SetStale says whether the trial of a call still asks it. It does not wait for the disk.
func (j *Journal) SetStale(c *eval.Call, stale bool) error {
	id, err := j.run.id(c.Trial)
	if err != nil {
		return err
	}
	stage, step := string(c.Stage), c.Step
	return j.later(func(x *steps) {
		x.exec(`UPDATE calls SET stale = ? WHERE trial = ? AND stage = ? AND step = ?`, stale, id, stage, step)
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
		g.add(intoOutcomes, outcomeRow(id, basis, o, last.step)...)
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
	_, err = j.enqueue(func(g *group) {
		for _, v := range vs {
			g.add(intoVerdicts, verdictRow(j.run, t.Item, id, &v)...)
		}
		g.add(intoJudged, id, basis)
	})
	return err
}

// later takes steps in the next commit. It does not wait for the disk.
func (j *Journal) later(take func(x *steps)) error {
	_, err := j.enqueue(func(g *group) {
		g.others = append(g.others, take)
		g.size++
	})
	return err
}

func (j *Journal) enqueue(add func(*group)) (*group, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.err == nil && !j.closed && j.next.size >= maxQueued {
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
		for j.next.size == 0 && !j.closed {
			j.queued.Wait()
		}
		if !j.closed && j.writing != nil && j.writing.size >= manyEntries {
			j.mu.Unlock()
			time.Sleep(gather)
			j.mu.Lock()
		}
		g := j.next
		if g.size == 0 {
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
	x, err := j.begin(ctx)
	if err != nil {
		return err
	}
	j.db.engine.hold(x, j.db, j.run)
	for table, rows := range g.rows {
		j.into[table].write(x, rows)
	}
	for _, do := range g.others {
		do(x)
	}
	j.db.engine.still(x, j.run)
	if x.exec("COMMIT"); x.err != nil {
		_, _ = j.conn.ExecContext(ctx, "ROLLBACK")
	}
	return j.db.explain(x.err)
}

// begin begins a transaction, on another connection if that of the journal is lost: while all calls
// are in flight it is idle, and a server, or what is between, may end it.
func (j *Journal) begin(ctx context.Context) (*steps, error) {
	for try := 0; ; try++ {
		x := &steps{ctx: ctx, on: j.conn}
		x.exec(j.db.engine.begin())
		err := j.db.explain(x.err)
		if e, is := errors.AsType[*Error](err); !is || !e.Passes || try == mostConnections {
			return x, err
		}
		for i := range j.into {
			j.into[i].close()
		}
		_ = j.conn.Close()               // it is lost, and another journal may wait for its place in the pool
		conn, lost := j.db.sql.Conn(ctx) // one that stood idle too, or a new one
		if lost != nil && !errors.Is(lost, driver.ErrBadConn) {
			return nil, err
		}
		if lost == nil {
			j.conn = conn
		}
	}
}

func verdictRow(run *Run, item string, trial int64, v *eval.Verdict) []any {
	return []any{run.N, item, trial, modelText(v.Unit), v.Step, string(v.Source), v.By, max(1, v.Round), v.At, v.Data, modelText(v.Err)}
}

// outcomeRow is a row of an outcome, whose data is the answer of a step if that has a name.
func outcomeRow(trial, basis int64, o eval.Outcome, step string) []any {
	data, of := o.Data, any(nil)
	if step != "" {
		data, of = nil, step
	}
	return []any{trial, string(o.Kind), modelText(o.Reason), jsonOrNull(o.Notes), modelText(o.Detail), data, basis, of}
}

// costOrNull is a cost in a row: NULL if it is unknown.
func costOrNull(cost float64) any {
	if math.IsNaN(cost) {
		return nil
	}
	return cost
}

func callRow(id int64, c *eval.Call) []any {
	r := &c.Response
	var source, sourceRun any
	if c.Source != 0 {
		source, sourceRun = c.Source, c.SourceNumber
	}
	summed := []any{id, string(c.Stage), c.Step, c.Key, eval.EncodeParts(c.Parts), c.Provider, c.Model,
		modelText(r.ModelVersion), modelText(r.RequestID), modelText(r.Text), jsonOrNull(toolRows(r.ToolCalls)),
		string(r.Stop), modelText(r.StopReason), modelText(r.Refusal), jsonOrNull(r.Adapted),
		r.Usage.Input, r.Usage.Output, r.Usage.Cached, r.Usage.CacheWrite, r.Usage.Reasoning, usageFlags(r.Usage),
		costOrNull(c.CostUSD), c.LatencyMS, string(c.ErrKind), modelText(c.Err)}
	sum := newChecksum()
	sum.add(summed...)
	return append(summed, c.Attempts, sum.sum(), source, sourceRun, c.Prices)
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

// jsonOrNull returns a list as JSON, or nil if it is empty. It holds texts, which JSON can say.
func jsonOrNull[T any](list []T) any {
	if len(list) == 0 {
		return nil
	}
	b, _ := json.Marshal(list)
	return modelText(b)
}

func usageFlags(u eval.Usage) (flags int) {
	for bit, set := range []bool{u.CachedInInput, u.ReasoningInOutput, u.Estimated, u.Uncounted} {
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
	for i := range j.into {
		j.into[i].close()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.conn.Close()
	if errors.Is(err, sql.ErrConnDone) { // lost, see begin
		err = nil
	}
	return errors.Join(j.err, err)
}

// Flush returns when all entries queued so far are on disk.
func (j *Journal) Flush() error {
	j.mu.Lock()
	g := j.writing
	if j.next.size > 0 {
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

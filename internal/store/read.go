package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/bits"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Lookup finds the journalled call of a step, also a stale one.
func (j *Journal) Lookup(ctx context.Context, t eval.Trial, stage eval.Stage, step string) (eval.Call, bool, error) {
	id, err := j.run.id(t)
	if err != nil {
		return eval.Call{}, false, err
	}
	for c, err := range j.db.calls(ctx, `calls c JOIN trials t ON t.id = c.trial WHERE c.trial = ? AND c.stage = ? AND c.step = ?`, id, string(stage), step) {
		return c, err == nil, err
	}
	return eval.Call{}, false, nil
}

const callColumns = `SELECT t.item, t.arm, t.replicate, c.stage, c.step, c.key, c.parts, c.provider, c.model, c.model_version,
  c.request_id, c.text, c.tool_calls, c.stop, c.stop_reason, c.refusal, c.adapted, c.input_tokens, c.output_tokens,
  c.cached_tokens, c.cache_write_tokens, c.reasoning_tokens, c.usage_flags, c.cost_usd, c.prices, c.latency_ms, c.attempts,
  c.error_kind, c.error, c.stale, c.id, coalesce(c.source, 0), coalesce((SELECT r.id FROM runs r WHERE r.n = c.source_run), '') FROM `

// planned begins a FROM clause over the trials of a plan, joined with another table
// in plan order, and inPlan selects those of one run.
const (
	planned  = `trials t CROSS JOIN `
	inPlan   = `t.run = ? AND t.place >= 0`
	inPlaces = `t.run = ? AND t.place >= ? AND t.place < ?`
	oneTrial = `t.run = ? AND t.id = ?`
	// inForce selects the calls that their trials ask.
	inForce = ` AND NOT c.stale`

	// The tokens of a call with those that its provider counts apart.
	tokensIn  = `input_tokens + CASE WHEN usage_flags & 1 <> 0 THEN 0 ELSE cached_tokens + cache_write_tokens END`
	tokensOut = `output_tokens + CASE WHEN usage_flags & 2 <> 0 THEN 0 ELSE reasoning_tokens END`
	// uncounted counts the calls that do not say their tokens.
	uncounted = `count(*) FILTER (WHERE usage_flags & 8 <> 0)`
)

// Calls yields the calls of a run that are in force, in plan order, then by stage and step.
func (db *DB) Calls(ctx context.Context, run *Run) iter.Seq2[eval.Call, error] {
	return func(yield func(eval.Call, error) bool) {
		attempts, stop := iter.Pull2(db.attempts(ctx, run))
		defer stop()
		next, attemptErr, more := attempts()
		for c, err := range db.calls(ctx, planned+`calls c ON c.trial = t.id WHERE `+inPlan+inForce+` ORDER BY t.place, c.stage DESC, c.step`, run) {
			for err == nil && attemptErr == nil && more && next.Trial == c.Trial && next.Stage == c.Stage && next.Step == c.Step {
				c.Sent = append(c.Sent, next.Attempt)
				next, attemptErr, more = attempts()
			}
			if err := errors.Join(err, attemptErr); err != nil {
				yield(eval.Call{}, err)
				return
			}
			c.Attempts = max(c.Attempts, len(c.Sent)) // with those that a crash interrupted
			if !yield(c, nil) {
				return
			}
		}
	}
}

// EmbedCalls yields the calls of a run that asked for embeddings, those of trials that
// left its plan included.
func (db *DB) EmbedCalls(ctx context.Context, run *Run) iter.Seq2[eval.Call, error] {
	return db.calls(ctx, `trials t JOIN calls c ON c.trial = t.id WHERE t.run = ? AND c.stage = 'embed' ORDER BY c.id`, run)
}

// sent is an attempt of a call.
type sent struct {
	Trial eval.Trial
	Stage eval.Stage
	Step  string
	eval.Attempt
}

// attempts yields the attempts of journalled calls in the order of [DB.Calls].
func (db *DB) attempts(ctx context.Context, run *Run) iter.Seq2[sent, error] {
	return rows[sent](ctx, db, `SELECT t.item, t.arm, t.replicate, a.stage, a.step, a.n, a.sent_at, s.process, a.ended, a.error_kind, a.tokens, a.cost_usd
		FROM `+planned+`attempts a ON a.trial = t.id JOIN sessions s ON s.id = a.session
		JOIN calls c ON c.trial = a.trial AND c.stage = a.stage AND c.step = a.step
		WHERE `+inPlan+inForce+` ORDER BY t.place, a.stage DESC, a.step, a.session, a.n`, run)
}

func (db *DB) calls(ctx context.Context, from string, args ...any) iter.Seq2[eval.Call, error] {
	return query(ctx, db, callColumns+from, args, func(rows *sql.Rows) (c eval.Call, err error) {
		var parts string
		var tools []toolRow
		var flags int
		r := &c.Response
		err = rows.Scan(&c.Trial.Item, &c.Trial.Arm, &c.Trial.Replicate, &c.Stage, &c.Step, &c.Key, &parts, &c.Provider, &c.Model,
			&r.ModelVersion, &r.RequestID, &r.Text, column(&tools), &r.Stop, &r.StopReason, &r.Refusal, column(&r.Adapted),
			&r.Usage.Input, &r.Usage.Output, &r.Usage.Cached, &r.Usage.CacheWrite, &r.Usage.Reasoning, &flags,
			column(&c.CostUSD), &c.Prices, &c.LatencyMS, &c.Attempts, &c.ErrKind, &c.Err, &c.Stale, &c.ID, &c.Source, &c.SourceRun)
		if err != nil {
			return c, err
		}
		c.Parts = eval.DecodeParts(parts)
		r.Usage.CachedInInput, r.Usage.ReasoningInOutput, r.Usage.Estimated, r.Usage.Uncounted = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0
		for _, t := range tools {
			r.ToolCalls = append(r.ToolCalls, eval.ToolCall{ID: t.ID, Name: t.Name, Arguments: json.RawMessage(t.Arguments)})
		}
		return c, nil
	})
}

// query runs a statement and yields its rows one by one, so that no result is held
// in memory as a whole. A *Run among the arguments is its number; if it is archived, the
// statement reads what was unpacked of it.
func query[T any](ctx context.Context, db *DB, text string, args []any, scan func(*sql.Rows) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		db, err := db.having(ctx, args)
		if err != nil {
			yield(*new(T), err)
			return
		}
		for v, err := range scanned(ctx, db.sql, text, args, scan) {
			if !yield(v, db.explain(err)) || err != nil {
				return
			}
		}
		if err := db.stayed(ctx, args); err != nil {
			yield(*new(T), err)
		}
	}
}

// rows is query for columns that are the fields of a T in their order, see [into].
func rows[T any](ctx context.Context, db *DB, text string, args ...any) iter.Seq2[T, error] {
	return query(ctx, db, text, args, into[T]())
}

// one returns the only row of a query, see [rows].
func one[T any](ctx context.Context, db *DB, text string, args ...any) (row T, err error) {
	err = sql.ErrNoRows
	for row, err = range rows[T](ctx, db, text, args...) {
	}
	return row, err
}

// first returns the first of some rows, or an error that wraps [ErrNotFound] and names what is looked for.
func first[T any](rows iter.Seq2[T, error], format string, args ...any) (row T, err error) {
	for row, err := range rows {
		return row, err
	}
	return row, fmt.Errorf(format+": %w", append(args, ErrNotFound)...)
}

// Collect returns all rows of a query with a small result.
func Collect[T any](rows iter.Seq2[T, error]) (list []T, err error) {
	for v, err := range rows {
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// visit calls do with each row of a query, see [rows].
func visit[T any](ctx context.Context, db *DB, text string, args []any, do func(T)) error {
	for v, err := range rows[T](ctx, db, text, args...) {
		if err != nil {
			return err
		}
		do(v)
	}
	return nil
}

// all returns the rows of a query with a small result, see [rows].
func all[T any](ctx context.Context, db *DB, text string, args ...any) ([]T, error) {
	return Collect(rows[T](ctx, db, text, args...))
}

// mapped returns a map from the first columns of a query to the others, see [rows].
func mapped[K comparable, V any](ctx context.Context, db *DB, text string, args ...any) (map[K]V, error) {
	type row struct {
		Key   K
		Value V
	}
	m := map[K]V{}
	return m, visit(ctx, db, text, args, func(r row) { m[r.Key] = r.Value })
}

// Cases yields every case of the run with an outcome, in plan order.
func (db *DB) Cases(ctx context.Context, run *Run) iter.Seq2[eval.Case, error] {
	return func(yield func(eval.Case, error) bool) {
		ofItems, err := db.itemVerdicts(ctx, run, "")
		if err != nil {
			yield(eval.Case{}, err)
			return
		}
		var c eval.Case
		for j, err := range db.Outcomes(ctx, run) {
			if err != nil {
				yield(eval.Case{}, err)
				return
			}
			if len(c.Trials) > 0 && (c.Item != j.Trial.Item || c.Arm != j.Trial.Arm) {
				if !yield(c, nil) {
					return
				}
				c.Trials = nil // the reader may keep it
			}
			c.Item, c.Arm, c.Verdicts = j.Trial.Item, j.Trial.Arm, ofItems[j.Trial.Item]
			if c.Trials == nil {
				c.Trials = make([]eval.Judged, 0, run.Replicates)
			}
			c.Trials = append(c.Trials, j)
		}
		if len(c.Trials) > 0 {
			yield(c, nil)
		}
	}
}

// Case returns one trial as a case, with the verdicts on it and on its item.
func (db *DB) Case(ctx context.Context, run *Run, t eval.Trial) (eval.Case, error) {
	j, err := db.Outcome(ctx, run, t)
	if err != nil {
		return eval.Case{}, err
	}
	ofItems, err := db.itemVerdicts(ctx, run, t.Item)
	return eval.Case{Item: t.Item, Arm: t.Arm, Trials: []eval.Judged{j}, Verdicts: ofItems[t.Item]}, err
}

// Outcomes yields every trial of the run with an outcome, with its verdicts, in
// plan order.
func (db *DB) Outcomes(ctx context.Context, run *Run) iter.Seq2[eval.Judged, error] {
	return db.outcomes(ctx, inPlan, run)
}

// OutcomesIn yields those from a place in the plan to another, which is not included.
func (db *DB) OutcomesIn(ctx context.Context, run *Run, from, to int) iter.Seq2[eval.Judged, error] {
	return db.outcomes(ctx, inPlaces, run, from, to)
}

// Outcome returns the outcome of a trial and the verdicts on it.
func (db *DB) Outcome(ctx context.Context, run *Run, t eval.Trial) (eval.Judged, error) {
	id, err := run.id(t)
	if err != nil {
		return eval.Judged{}, err
	}
	return db.outcome(ctx, run, id, t)
}

// OutcomeOf returns the outcome of a trial by its id, and the verdicts on it.
func (db *DB) OutcomeOf(ctx context.Context, run *Run, id int64) (eval.Judged, error) {
	return db.outcome(ctx, run, id, fmt.Sprintf("trial %d", id))
}

func (db *DB) outcome(ctx context.Context, run *Run, id int64, called any) (eval.Judged, error) {
	return first(db.outcomes(ctx, oneTrial, run, id), "the outcome of %v in run %s", called, run.ID)
}

// outcomes reads the trials that a condition selects.
func (db *DB) outcomes(ctx context.Context, where string, args ...any) iter.Seq2[eval.Judged, error] {
	return func(yield func(eval.Judged, error) bool) {
		verdicts, stop := iter.Pull2(db.verdicts(ctx, where, args...))
		defer stop()
		next, err, more := verdicts()
		type row struct {
			Place int64
			eval.Trial
			eval.Outcome
		}
		found := rows[row](ctx, db, `SELECT t.place, t.item, t.arm, t.replicate, o.kind, o.reason, o.notes, o.detail,
			CASE WHEN o.step IS NULL THEN o.data ELSE (SELECT c.text FROM calls c WHERE c.trial = o.trial AND c.stage = 'run' AND c.step = o.step) END
			FROM `+planned+`outcomes o ON o.trial = t.id WHERE `+where+` ORDER BY t.place`, args...)
		for r, rowErr := range found {
			if err := errors.Join(rowErr, err); err != nil {
				yield(eval.Judged{}, err)
				return
			}
			j := eval.Judged{Trial: r.Trial, Outcome: r.Outcome}
			for more && next.Place <= r.Place {
				if next.Place == r.Place {
					j.Verdicts = append(j.Verdicts, next.Verdict)
				}
				if next, err, more = verdicts(); err != nil {
					yield(eval.Judged{}, err)
					return
				}
			}
			if !yield(j, nil) {
				return
			}
		}
	}
}

type onSubject struct {
	Place int64 // of its trial
	Item  string
	eval.Verdict
}

const (
	verdictColumns = `v.item, v.unit, v.step, v.source, v.judge, v.round, v.at, v.data, v.error FROM `
	ofOneJudge     = `v.step, v.unit, v.source, v.judge, v.round`
	// Of the verdicts that are not stale, the last of one judge is in force: on a trial, or
	// on an item.
	lastOnTrial = ` AND NOT v.stale AND NOT EXISTS (SELECT 1 FROM verdicts w WHERE w.trial = v.trial AND ` + laterOfOneJudge
	lastOnItem  = ` AND NOT v.stale AND NOT EXISTS (SELECT 1 FROM verdicts w WHERE w.trial = 0 AND w.run = v.run AND w.item = v.item AND ` + laterOfOneJudge

	laterOfOneJudge = `w.step = v.step AND w.unit = v.unit AND w.source = v.source AND w.judge = v.judge AND w.round = v.round AND NOT w.stale AND w.id > v.id)`
)

func (db *DB) verdicts(ctx context.Context, where string, args ...any) iter.Seq2[onSubject, error] {
	return rows[onSubject](ctx, db, `SELECT t.place, `+verdictColumns+planned+`verdicts v ON v.trial = t.id WHERE `+where+lastOnTrial+` ORDER BY t.place, `+ofOneJudge, args...)
}

// itemVerdicts returns the verdicts on one item itself, or on all items if item
// is "". They come from people and are few.
func (db *DB) itemVerdicts(ctx context.Context, run *Run, item string) (map[string][]eval.Verdict, error) {
	byItem := map[string][]eval.Verdict{}
	where, args := `v.trial = 0 AND v.run = ?`+lastOnItem, []any{run}
	if item != "" {
		where, args = where+` AND v.item = ?`, append(args, item)
	}
	for v, err := range rows[onSubject](ctx, db, `SELECT 0, `+verdictColumns+`verdicts v WHERE `+where+` ORDER BY v.item, `+ofOneJudge, args...) {
		if err != nil {
			return nil, err
		}
		byItem[v.Item] = append(byItem[v.Item], v.Verdict)
	}
	return byItem, nil
}

// Progress is the state of each trial.
type Progress struct {
	Trials   int // of the plan
	Done     Set // have an outcome, failed ones included
	Failed   Set // have the outcome failed
	Judged   Set
	Unjudged Set // a judge call failed
	Called   Set // have journalled calls to look up
	Usage
}

// Usage is that of a run.
type Usage struct {
	eval.Spent
	Estimated int // answers whose usage is estimated
}

// ToJudge counts the trials whose judging is pending.
func (p *Progress) ToJudge() (n int) {
	for seq := range p.Trials {
		if p.Done.Has(seq) && !p.Failed.Has(seq) && !p.Judged.Has(seq) {
			n++
		}
	}
	return n
}

// A Set is a set of trials, by sequence number in the plan: one bit each, as there may
// be millions.
type Set []uint64

func newSet(trials int) Set { return make(Set, (trials+63)/64) }

// Has reports whether the set has the trial.
func (s Set) Has(seq int) bool { return s[seq/64]&(1<<(seq%64)) != 0 }

// add adds a trial. A nil set keeps none.
func (s Set) add(seq int) {
	if s != nil {
		s[seq/64] |= 1 << (seq % 64)
	}
}

// Count is the number of trials in the set.
func (s Set) Count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// Progress reads the progress of a run.
func (db *DB) Progress(ctx context.Context, run *Run) (*Progress, error) {
	p, err := db.ProgressIn(ctx, run, 0, run.Trials)
	if err != nil {
		return nil, err
	}
	p.Usage, err = db.Usage(ctx, run)
	return p, err
}

// Usage reads what a run has used. A request that was not answered in time or not readably may be
// paid: it counts as estimated.
func (db *DB) Usage(ctx context.Context, run *Run) (u Usage, err error) {
	u, err = one[Usage](ctx, db, `SELECT 0, coalesce(sum(`+tokensIn+` + `+tokensOut+`), 0), total(cost_usd),
		count(*) FILTER (WHERE cost_usd IS NULL AND error_kind = ''), `+uncounted+`, count(*) FILTER (WHERE usage_flags & 4 <> 0)
		FROM `+planned+`calls c ON c.trial = t.id WHERE t.run = ? AND c.source IS NULL`, run)
	if err != nil {
		return u, err
	}
	r, err := db.requests(ctx, run, true)
	u.Calls, u.Tokens, u.Cost, u.Unpriced = r.Sent, u.Tokens+r.Tokens, u.Cost+r.CostUSD, u.Unpriced+r.Unpriced
	return u, err
}

// Lost counts the requests of a run without an answer that may be paid, without those for embeddings.
func (db *DB) Lost(ctx context.Context, run *Run) (eval.Lost, error) {
	r, err := db.requests(ctx, run, false)
	return r.Lost, err
}

// requests are those of a run, and those of them without an answer that may be paid.
type requests struct {
	Sent int
	eval.Lost
}

// requests counts the requests of a run, also for embeddings if embed is true.
func (db *DB) requests(ctx context.Context, run *Run, embed bool) (requests, error) {
	const open = `FILTER (WHERE NOT ended OR a.error_kind IN ('timeout', 'malformed'))`
	return one[requests](ctx, db, `SELECT count(*) + (SELECT untimed FROM runs WHERE n = ?), count(*) `+open+`, coalesce(sum(tokens) `+open+`, 0), total(cost_usd) `+open+`, count(*) `+open+` - count(cost_usd) `+open+`
		FROM `+planned+`attempts a ON a.trial = t.id WHERE t.run = ? AND (a.stage <> 'embed' OR ?)`, run, run, embed)
}

// ProgressIn reads the progress of the trials from a place in the plan to another, which is
// not included, without the usage.
func (db *DB) ProgressIn(ctx context.Context, run *Run, from, to int) (*Progress, error) {
	n := run.Trials
	p := &Progress{Trials: n, Done: newSet(n), Failed: newSet(n), Judged: newSet(n), Unjudged: newSet(n), Called: newSet(n)}
	mark := func(some, failed Set, what, on string) error {
		type row struct {
			Seq   int
			Fails bool
		}
		return visit(ctx, db, `SELECT t.place, `+what+` FROM `+planned+on, []any{run, from, to}, func(r row) {
			if some.add(r.Seq); r.Fails {
				failed.add(r.Seq)
			}
		})
	}
	return p, cmp.Or( // an archive fails in the same way each time
		mark(p.Done, p.Failed, `x.kind = 'failed'`, `outcomes x ON x.trial = t.id WHERE `+inPlaces),
		mark(p.Judged, nil, `0`, `judged x ON x.trial = t.id WHERE `+inPlaces),
		mark(nil, p.Unjudged, `v.error <> ''`, `verdicts v ON v.trial = t.id WHERE `+inPlaces+lastOnTrial),
		mark(p.Called, nil, `0`, `calls x ON x.trial = t.id WHERE `+inPlaces+` GROUP BY t.place`))
}

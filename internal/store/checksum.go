package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A checksum adds up stored values: the first 8 bytes of a SHA-256 over each
// value with its type and length.
type checksum struct {
	hash hash.Hash
	b    []byte
}

func newChecksum() *checksum { return &checksum{hash: sha256.New()} }

// add adds values of the types that SQLite returns, and int.
func (c *checksum) add(values ...any) {
	c.b = c.b[:0]
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			c.b = append(c.b, 'n')
		case int:
			c.b = binary.BigEndian.AppendUint64(append(c.b, 'i'), uint64(v))
		case int64:
			c.b = binary.BigEndian.AppendUint64(append(c.b, 'i'), uint64(v))
		case float64:
			c.b = binary.BigEndian.AppendUint64(append(c.b, 'f'), math.Float64bits(v))
		case string:
			c.b = append(binary.BigEndian.AppendUint64(append(c.b, 's'), uint64(len(v))), v...)
		case modelText:
			c.b = append(binary.BigEndian.AppendUint64(append(c.b, 's'), uint64(len(v))), v...)
		default:
			panic(fmt.Sprintf("store: checksum of a %T", v))
		}
	}
	c.hash.Write(c.b)
}

func (c *checksum) sum() int64 { return int64(binary.BigEndian.Uint64(c.hash.Sum(nil))) }

// summedColumns are the columns of a call in its checksum, in the order of
// [callRow]. Those that are not there may change: retries add to the number of attempts. Nor
// are prices, which earlier formats lack, and which only say how the cost came about.
var summedColumns = []string{"trial", "stage", "step", "key", "parts", "provider", "model", "model_version", "request_id",
	"text", "tool_calls", "stop", "stop_reason", "refusal", "adapted", "input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens",
	"reasoning_tokens", "usage_flags", "cost_usd", "latency_ms", "error_kind", "error"}

// planSum adds up a run, its items without gold, which may change, and its trials.
// The place of a trial is not part of it.
func (x *steps) planSum(n int64) int64 {
	c := newChecksum()
	for _, text := range []string{
		`SELECT id, study, suite, study_json, overrides, treatment, replicates, trials FROM runs WHERE n = ?`,
		`SELECT item, input FROM items WHERE run = ? ORDER BY item`,
		`SELECT item, arm, replicate FROM trials WHERE run = ? ORDER BY id`,
		`SELECT item, grouped FROM items WHERE run = ? AND grouped <> '' ORDER BY item`, // none before format 13
	} {
		for values := range each(x, text, []any{n}, scanAll) {
			c.add(values...)
		}
	}
	return c.sum()
}

// inStore selects the runs that are not archived.
const inStore = `archive IS NULL`

// sumPlan stores the checksum of a run's plan.
func (x *steps) sumPlan(n int64) { x.exec(`UPDATE runs SET checksum = ? WHERE n = ?`, x.planSum(n), n) }

// damagedPlans lists the runs whose plan is not what was written, of those that of selects.
func (db *DB) damagedPlans(ctx context.Context, of string) (damaged []string, err error) {
	type row struct {
		N      int64
		ID     string
		Trials int
		Sum    *int64
	}
	// One snapshot: another process may amend or archive a run meanwhile.
	tx, err := db.sql.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, db.explain(err)
	}
	defer tx.Rollback()
	x := &steps{ctx: ctx, on: tx}
	for _, r := range list[row](x, `SELECT n, id, trials, checksum FROM runs WHERE `+of+` ORDER BY n`) {
		places := x.count(`SELECT count(*) FROM runs r JOIN trials t ON t.run = r.n AND t.place >= 0 WHERE r.n = ? AND t.place < r.trials`, r.N)
		if places != r.Trials || r.Sum != nil && x.planSum(r.N) != *r.Sum {
			damaged = append(damaged, r.ID)
		}
	}
	return damaged, db.explain(x.err)
}

// scanAll returns a row as values.
func scanAll(rows *sql.Rows) ([]any, error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	for i, v := range values {
		if b, ok := v.([]byte); ok {
			values[i] = string(b)
		}
	}
	return values, nil
}

// answerCheck counts the calls of a store by what their checksums say.
type answerCheck struct {
	right, unknown, wrong int
	examples              []string // of wrong ones
}

func (db *DB) checkCalls(ctx context.Context) (a answerCheck, err error) {
	const few = 5
	text := `SELECT ` + strings.Join(summedColumns, ", ") + `, checksum FROM calls ORDER BY id`
	for values, err := range query(ctx, db, text, nil, scanAll) {
		if err != nil {
			return a, err
		}
		last := len(values) - 1
		if values[last] == nil {
			a.unknown++
			continue
		}
		c := newChecksum()
		c.add(values[:last]...)
		if c.sum() == values[last] {
			a.right++
			continue
		}
		if a.wrong++; a.wrong <= few {
			a.examples = append(a.examples, fmt.Sprintf("trial %v, %v step %v", values[0], values[1], values[2]))
		}
	}
	return a, nil
}

// lostCalls names answered requests whose calls are gone: both are written at once.
func (db *DB) lostCalls(ctx context.Context) (lost []string, err error) {
	type row struct {
		eval.Trial
		Stage, Step string
	}
	err = visit(ctx, db, `SELECT t.item, t.arm, t.replicate, a.stage, a.step FROM attempts a JOIN trials t ON t.id = a.trial
		WHERE a.ended AND a.error_kind = '' AND NOT EXISTS (SELECT 1 FROM calls c WHERE c.trial = a.trial AND c.stage = a.stage AND c.step = a.step)
		ORDER BY a.trial, a.stage, a.step`, nil, func(r row) { lost = append(lost, fmt.Sprintf("%v, %s step %s", r.Trial, r.Stage, r.Step)) })
	return lost, err
}

// Damage returns an error if the file is not as it was written, for a run that
// does not read back as expected. It reads the whole file.
func (db *DB) Damage(ctx context.Context) error {
	says, err := db.engine.integrity(ctx, db)
	if err != nil {
		return err
	}
	if len(says) == 0 {
		plans, err := db.damagedPlans(ctx, inStore)
		if err != nil {
			return err
		}
		for _, id := range plans {
			says = append(says, "the plan of run "+id+" is not what was written")
		}
	}
	if len(says) == 0 {
		return nil
	}
	return fault(db.path, "%w: %s: `scruple doctor %s` lists more; restore a copy, or use another --store", errDamaged, says[0], db.path)
}

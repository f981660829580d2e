package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Steps are statements on a database, a connection or a transaction. The first error is
// kept, and nothing is executed after it.
type steps struct {
	ctx context.Context
	on  executor
	err error
}

type executor interface {
	ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row
	PrepareContext(ctx context.Context, text string) (*sql.Stmt, error)
}

// change takes steps in one transaction.
func (db *DB) change(ctx context.Context, take func(x *steps)) error {
	tx, err := db.sql.BeginTx(ctx, nil)
	if err != nil {
		return db.explain(err)
	}
	defer tx.Rollback()
	x := &steps{ctx: ctx, on: tx}
	if take(x); x.err == nil {
		x.err = tx.Commit()
	}
	return db.explain(x.err)
}

// rewrite changes rows of a run, which no other process does at the same time.
func (db *DB) rewrite(ctx context.Context, run *Run, take func(x *steps)) error {
	return db.keep(ctx, run, func(x *steps) {
		if x.count(`SELECT count(*) FROM runs WHERE n = ? AND archive IS NOT NULL`, run.N) > 0 {
			x.fail(fmt.Errorf("run %s: %w: `scruple run --new` begins another run, which takes its answers", run.ID, ErrArchived))
		}
		take(x)
	})
}

// keep is rewrite for what stays in the store when the run is archived.
func (db *DB) keep(ctx context.Context, run *Run, take func(x *steps)) error {
	return db.change(ctx, func(x *steps) {
		db.engine.hold(x, db, run)
		take(x)
		db.engine.still(x, run)
	})
}

// fail keeps an error that is not of a statement.
func (x *steps) fail(err error) {
	if x.err == nil {
		x.err = err
	}
}

func (x *steps) exec(text string, args ...any) {
	if x.err == nil {
		_, x.err = x.on.ExecContext(x.ctx, text, args...)
	}
}

// run executes a prepared statement.
func (x *steps) run(s *sql.Stmt, args ...any) {
	if x.err == nil {
		_, x.err = s.ExecContext(x.ctx, args...)
	}
}

// get reads one row.
func (x *steps) get(text string, args []any, into ...any) {
	if x.err == nil {
		x.err = x.on.QueryRowContext(x.ctx, text, args...).Scan(into...)
	}
}

func (x *steps) count(text string, args ...any) (n int) {
	x.get(text, args, &n)
	return n
}

func (x *steps) names(text string, args ...any) []string {
	return slices.Collect(each(x, text, args, func(rows *sql.Rows) (s string, err error) { return s, rows.Scan(&s) }))
}

// list encodes texts as JSON.
func (x *steps) list(texts []string) string {
	b, err := json.Marshal(append([]string{}, texts...))
	x.fail(err)
	return string(b)
}

// among is the inside of IN () for n texts, which may be none.
func among(n int) string {
	if n == 0 {
		return "SELECT '' WHERE FALSE"
	}
	return strings.TrimSuffix(strings.Repeat("?,", n), ",")
}

func anys(texts []string) []any {
	list := make([]any, len(texts))
	for i, t := range texts {
		list[i] = t
	}
	return list
}

// A modelText is text that a model, a provider or a judge may have written: any bytes.
type modelText string

// each yields rows one by one. Collect them before other steps of the same transaction.
func each[T any](x *steps, text string, args []any, scan func(*sql.Rows) (T, error)) iter.Seq[T] {
	return func(yield func(T) bool) {
		if x.err != nil {
			return
		}
		rows, err := x.on.QueryContext(x.ctx, text, args...)
		if x.err = err; err != nil {
			return
		}
		defer rows.Close()
		for rows.Next() {
			v, err := scan(rows)
			if x.fail(err); x.err != nil || !yield(v) {
				return
			}
		}
		x.fail(rows.Err())
	}
}

// A bulk inserts many rows per statement, at a third of the cost of single rows.
type bulk struct {
	*steps
	head    string
	tail    string // after the values
	columns int
	full    *sql.Stmt
	args    []any
}

const bulkRows = 64

func (x *steps) bulk(head string, columns int) *bulk {
	return &bulk{steps: x, head: head, columns: columns, args: make([]any, 0, bulkRows*columns)}
}

func (b *bulk) add(values ...any) {
	b.args = append(b.args, values...)
	if len(b.args) < bulkRows*b.columns || b.err != nil {
		return
	}
	if b.full == nil {
		b.full, b.err = b.on.PrepareContext(b.ctx, b.statement())
	}
	b.run(b.full, b.args...)
	b.args = b.args[:0]
}

func (b *bulk) flush() {
	if b.full != nil {
		defer b.full.Close()
	}
	if len(b.args) > 0 {
		b.exec(b.statement(), b.args...)
	}
	b.args = b.args[:0]
}

func (b *bulk) statement() string {
	return b.head + placeholders(len(b.args)/b.columns, b.columns) + b.tail
}

// placeholders returns a list of rows of question marks.
func placeholders(rows, columns int) string {
	row := "(" + strings.TrimSuffix(strings.Repeat("?,", columns), ",") + ")"
	return strings.TrimSuffix(strings.Repeat(row+",", rows), ",")
}

package store

import (
	"context"
	"database/sql"
	"encoding"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"reflect"
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
	return list[string](x, text, args...)
}

// list returns the rows of a statement, see [rows].
func list[T any](x *steps, text string, args ...any) []T {
	return slices.Collect(each(x, text, args, into[T]()))
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
		for v, err := range scanned(x.ctx, x.on, text, args, scan) {
			if x.fail(err); x.err != nil || !yield(v) {
				return
			}
		}
	}
}

// scanned yields the rows of a statement, and ends with the first error.
func scanned[T any](ctx context.Context, on executor, text string, args []any, scan func(*sql.Rows) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		rows, err := on.QueryContext(ctx, text, args...)
		if err != nil {
			yield(*new(T), err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			if v, err := scan(rows); !yield(v, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(*new(T), err)
		}
	}
}

// into returns what reads a row into a value: the only column, or the columns that are its
// fields, and those of structs in it, in their order. See [column] for a column that is a list.
func into[T any]() func(*sql.Rows) (T, error) {
	var v T
	var fields []any
	var add func(part reflect.Value)
	add = func(part reflect.Value) {
		switch {
		case part.Kind() == reflect.Struct && !isText(part.Type()):
			for i := range part.NumField() {
				add(part.Field(i))
			}
		case part.Kind() == reflect.Array:
			for i := range part.Len() {
				add(part.Index(i))
			}
		default:
			fields = append(fields, column(part.Addr().Interface()))
		}
	}
	add(reflect.ValueOf(&v).Elem())
	return func(rows *sql.Rows) (T, error) { err := rows.Scan(fields...); return v, err }
}

// column returns what reads a column into a variable: NULL as NaN of a number with a point and as
// nothing of a list or object, which are JSON, and a time from its text.
func column(into any) any {
	if n, is := into.(*float64); is {
		return orNaN{n}
	}
	kind := reflect.TypeOf(into).Elem()
	isList := kind.Kind() == reflect.Slice && kind.Elem().Kind() != reflect.Uint8
	if isText(kind) || isList || kind.Kind() == reflect.Pointer && kind.Elem().Kind() == reflect.Struct {
		return encoded{into}
	}
	return into
}

func isText(kind reflect.Type) bool {
	return reflect.PointerTo(kind).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

type orNaN struct{ into *float64 }

func (n orNaN) Scan(value any) error {
	var number sql.NullFloat64
	err := number.Scan(value)
	*n.into = number.Float64
	if !number.Valid {
		*n.into = math.NaN()
	}
	return err
}

type encoded struct{ into any }

func (e encoded) Scan(value any) error {
	reflect.ValueOf(e.into).Elem().SetZero() // who got the last row may keep its list
	var text sql.Null[[]byte]
	if err := text.Scan(value); err != nil || len(text.V) == 0 {
		return err
	}
	if t, is := e.into.(encoding.TextUnmarshaler); is {
		return t.UnmarshalText(text.V)
	}
	return json.Unmarshal(text.V, e.into)
}

// An insertion is a statement that writes rows of a table.
type insertion struct {
	head, tail string // of the values
	width      int    // number of columns
}

func insert(table, columns string) insertion {
	return insertion{head: `INSERT INTO ` + table + ` (` + columns + `) VALUES `, width: 1 + strings.Count(columns, ",")}
}

// upsert replaces columns of a row with the same key, all but the key if none are named. The
// first columns are the key.
func upsert(table, columns string, key int, replaced ...string) insertion {
	into, names := insert(table, columns), strings.Split(columns, ", ")
	if replaced == nil {
		replaced = names[key:]
	}
	var set []string
	for _, column := range replaced {
		value := "excluded." + column
		if column == "attempts" { // retries add to it
			value = "calls.attempts + " + value
		}
		set = append(set, column+" = "+value)
	}
	into.tail = ` ON CONFLICT (` + strings.Join(names[:key], ", ") + `) DO UPDATE SET ` + strings.Join(set, ", ")
	return into
}

// rows is the statement for a number of rows.
func (i insertion) rows(n int) string {
	row := "(" + strings.TrimSuffix(strings.Repeat("?,", i.width), ",") + ")"
	return i.head + strings.TrimSuffix(strings.Repeat(row+",", n), ",") + i.tail
}

// atOnce are the numbers of rows per statement, if that many are there. Eight cost half
// as much each as one, and a shared store is asked less often with more.
var atOnce = [...]int{32, 8, 4, 2, 1}

// A prepared is an insertion whose statements are prepared when they are first needed.
type prepared struct {
	insertion
	statements [len(atOnce)]*sql.Stmt
}

// write writes rows, whose values stand one after the other.
func (p *prepared) write(x *steps, values []any) {
	for i, n := range atOnce {
		for n *= p.width; len(values) >= n && x.err == nil; values = values[n:] {
			if p.statements[i] == nil {
				if p.statements[i], x.err = x.on.PrepareContext(x.ctx, p.rows(atOnce[i])); x.err != nil {
					return
				}
			}
			_, x.err = p.statements[i].ExecContext(x.ctx, values[:n]...)
		}
	}
}

// close closes the statements, which the next write prepares again.
func (p *prepared) close() {
	for i, s := range p.statements {
		if s != nil {
			s.Close()
			p.statements[i] = nil
		}
	}
}

// A bulk writes many rows, which come one by one.
type bulk struct {
	*steps
	prepared
	values []any
}

func (x *steps) bulk(into insertion) *bulk {
	return &bulk{steps: x, prepared: prepared{insertion: into}}
}

func (b *bulk) add(values ...any) {
	if b.values = append(b.values, values...); len(b.values) >= atOnce[0]*b.width {
		b.write(b.steps, b.values)
		b.values = b.values[:0]
	}
}

func (b *bulk) flush() {
	b.write(b.steps, b.values)
	b.values = nil
	b.close()
}

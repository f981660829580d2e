// Package sqltable runs untrusted SQL written by models on a read-only in-memory
// database.
//
// SQLite's authorizer decides at compile time what a query may do, with an
// allowlist: reading the tables, and deterministic functions. Writing, PRAGMA,
// ATTACH (also inside VACUUM), transactions, virtual tables, extensions, random
// functions and the clock are refused, so a result depends only on the data.
// PRAGMA query_only and limits on attached databases and lengths are a second
// line of defence.
//
// The cost of a query is bounded before it runs as far as possible, so that the
// same query over the same tables has the same result on every machine. Recursion
// is refused, and so is a join that scans more than two tables, which usually
// means a missing join condition. Lengths of texts, patterns and expressions are
// limited, and so are the rows and bytes of a result. Other queries, such as
// nested subqueries, can still be slow. For these there is a generous time limit;
// it has its own error, [ErrTime], because only that result depends on the
// machine.
//
// Sorts and intermediate results stay in memory. SQLite moves one that outgrows
// the page cache to a temporary file; here these files are in memory too, and
// their size is limited, so a query ends at the same row on every machine. A heap
// limit of SQLite would be process-wide and would end queries of other databases.
//
// The package must not know what the tables hold or who asks.
package sqltable

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A Table is a table of a database. A cell is nil, a string, an int, an int64, a
// float64 or a bool (0 or 1); a row has one for each column.
type Table struct {
	Name    string
	Columns []string
	Rows    [][]any
	// Later replaces Rows: it is called when a query names the table for the first
	// time. Most queries name few of the tables.
	Later func() [][]any
}

// Limits bound one query. Zero values mean the defaults.
type Limits struct {
	Rows  int           // of a result, default 200; more set Truncated
	Bytes int           // of the cells of a result, default 64 KiB
	Time  time.Duration // default 2 minutes
}

func (l Limits) orDefault() Limits {
	return Limits{cmp.Or(max(l.Rows, 0), 200), cmp.Or(max(l.Bytes, 0), 64<<10), cmp.Or(max(l.Time, 0), 2*time.Minute)}
}

// A Result is the result of a query. Cells are text: numbers as SQLite prints
// them, NULL as "".
type Result struct {
	Columns   []string
	Rows      [][]string
	Truncated bool // the result exceeded the limits
}

// An Error is the error of a refused or invalid query. It is meant to be shown to
// the model that wrote the query.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// ErrTime is the error of a query that reached the time limit. Another machine
// might have finished it, so it must not be shown to a model.
var ErrTime = errors.New("the query reached the time limit")

// A DB is an in-memory database. It is not safe for concurrent use.
type DB struct {
	pool   *sql.DB
	conn   *sql.Conn
	limits Limits
	later  map[string]Table // not filled yet, by folded name
}

// Open returns a new database; Close frees it.
func Open(ctx context.Context, limits Limits, tables ...Table) (*DB, error) {
	files, err := scratch()
	if err != nil {
		return nil, fmt.Errorf("sqltable: registering a VFS: %w", err)
	}
	pool, err := sql.Open("sqlite", "file::memory:?vfs="+files)
	if err != nil {
		return nil, fmt.Errorf("sqltable: opening an in-memory database: %w", err)
	}
	// Every connection to :memory: is a separate database: keep one.
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sqltable: opening an in-memory database: %w", err), pool.Close())
	}
	db := &DB{pool: pool, conn: conn, limits: limits.orDefault(), later: map[string]Table{}}
	for _, t := range tables {
		if err == nil {
			err = db.create(ctx, t)
		}
	}
	if err == nil {
		err = db.lock(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Close frees the database.
func (db *DB) Close() error { return errors.Join(db.conn.Close(), db.pool.Close()) }

// Add adds a table between queries.
func (db *DB) Add(ctx context.Context, t Table) error {
	return db.change(ctx, func() error { return db.create(ctx, t) })
}

// change makes a change, between queries.
func (db *DB) change(ctx context.Context, do func() error) error {
	if err := db.unlock(ctx); err != nil {
		return err
	}
	return errors.Join(do(), db.lock(ctx))
}

// fillNamed fills the waiting tables whose name occurs in a query: no other can be
// read. The authorizer does not report all reads: for a column that only USING or
// NATURAL JOIN reads there is none.
func (db *DB) fillNamed(ctx context.Context, query string) error {
	query = folded(query)
	for _, name := range slices.Sorted(maps.Keys(db.later)) {
		if !strings.Contains(query, name) {
			continue
		}
		t := db.later[name]
		delete(db.later, name)
		if err := db.change(ctx, func() error { return db.insert(ctx, t, t.Later()) }); err != nil {
			return err
		}
	}
	return nil
}

// folded is SQL in lower case and without quotes, which a quoted name has twice.
func folded(sql string) string {
	return strings.NewReplacer(`"`, "", "'", "", "`", "").Replace(strings.ToLower(sql))
}

// rowsAtOnce are inserted by one statement, whose parameters stay far below SQLite's limit of
// 32,766: preparing a statement takes as long as running it.
const rowsAtOnce = 64

// create creates a table and inserts its rows, unless they come later.
func (db *DB) create(ctx context.Context, t Table) error {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = Quote(c)
	}
	if _, err := db.conn.ExecContext(ctx, "CREATE TABLE "+Quote(t.Name)+" ("+strings.Join(names, ", ")+")"); err != nil {
		return fmt.Errorf("sqltable: creating table %s: %w", t.Name, err)
	}
	if t.Later != nil {
		db.later[folded(t.Name)] = t
		return nil
	}
	return db.insert(ctx, t, t.Rows)
}

func (db *DB) insert(ctx context.Context, t Table, rows [][]any) error {
	one := "(?" + strings.Repeat(", ?", len(t.Columns)-1) + ")"
	for part := range slices.Chunk(rows, rowsAtOnce) {
		var args []any
		for _, row := range part {
			if len(row) != len(t.Columns) {
				return fmt.Errorf("sqltable: filling table %s: a row has %d cells, want %d", t.Name, len(row), len(t.Columns))
			}
			args = append(args, row...)
		}
		query := "INSERT INTO " + Quote(t.Name) + " VALUES " + one + strings.Repeat(", "+one, len(part)-1)
		if _, err := db.conn.ExecContext(ctx, query, args...); err != nil {
			return fmt.Errorf("sqltable: filling table %s: %w", t.Name, err)
		}
	}
	return nil
}

// longestCell is SQLite's own limit of the bytes of a cell, for filling tables.
const longestCell = 1_000_000_000

// Quote quotes an SQL identifier.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func (db *DB) lock(ctx context.Context) error {
	// In memory, sorts and intermediate results would have no limit.
	if _, err := db.conn.ExecContext(ctx, "PRAGMA temp_store = FILE; PRAGMA query_only = ON"); err != nil {
		return fmt.Errorf("sqltable: limiting temporary space and making the database read-only: %w", err)
	}
	for id, most := range map[int]int{
		sqlite3.SQLITE_LIMIT_ATTACHED:        0,
		sqlite3.SQLITE_LIMIT_LENGTH:          64 << 10, // of any text or row, also intermediate ones
		sqlite3.SQLITE_LIMIT_SQL_LENGTH:      64 << 10,
		sqlite3.SQLITE_LIMIT_EXPR_DEPTH:      200,
		sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 100,
		// Matching a long pattern is slow and cannot be interrupted.
		sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
	} {
		if _, err := sqlite.Limit(db.conn, id, most); err != nil {
			return fmt.Errorf("sqltable: limiting the database: %w", err)
		}
	}
	return db.authorize(readOnly)
}

func (db *DB) unlock(ctx context.Context) error {
	if err := db.authorize(nil); err != nil {
		return err
	}
	if _, err := sqlite.Limit(db.conn, sqlite3.SQLITE_LIMIT_LENGTH, longestCell); err != nil {
		return fmt.Errorf("sqltable: lifting a limit of the database: %w", err)
	}
	if _, err := db.conn.ExecContext(ctx, "PRAGMA query_only = OFF"); err != nil {
		return fmt.Errorf("sqltable: making the database writable: %w", err)
	}
	return nil
}

func (db *DB) authorize(policy sqlite.AuthorizerFn) error {
	err := db.conn.Raw(func(driver any) error {
		r, ok := driver.(sqlite.AuthorizerRegisterer)
		if !ok {
			return errors.New("the driver has no authorizer")
		}
		return r.RegisterAuthorizer(policy)
	})
	if err != nil {
		return fmt.Errorf("sqltable: setting the authorizer: %w", err)
	}
	return nil
}

// readOnly allows reading and deterministic functions.
func readOnly(action sqlite.AuthorizerActionCode, _, function, _, _ string) sqlite.AuthorizerReturnCode {
	switch action {
	case sqlite.AuthRead, sqlite.AuthSelect:
		return sqlite.AuthorizerOK
	case sqlite.AuthFunction:
		if slices.Contains(functions, strings.ToLower(function)) {
			return sqlite.AuthorizerOK
		}
	}
	return sqlite.AuthorizerDeny
}

// functions lists the allowed functions. Date functions are excluded because they
// accept 'now'.
var functions = strings.Fields(`abs char coalesce concat concat_ws format glob group_concat hex if ifnull iif instr
	json_array_length json_each json_extract json_type json_valid length like lower ltrim max min nullif printf quote replace round rtrim
	sign substr substring total sum avg count trim typeof unicode upper string_agg
	row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value -> ->>`)

// Query runs one statement. The error is an [*Error] for a refused or invalid
// statement and [ErrTime] for one that takes too long; any other error, such as
// that of ctx, is not caused by the query.
func (db *DB) Query(ctx context.Context, query string) (r Result, err error) {
	if err := db.within(ctx, func(ctx context.Context) error { return db.planned(ctx, query) }); err != nil {
		return r, err
	}
	if err := db.fillNamed(ctx, query); err != nil {
		return r, err
	}
	err = db.within(ctx, func(ctx context.Context) error { return db.read(ctx, query, &r) })
	if err != nil {
		return Result{}, err
	}
	return r, nil
}

// within calls do with the limit of time and returns its error as Query does.
func (db *DB) within(ctx context.Context, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, db.limits.Time)
	defer cancel()
	err := do(limited)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return fmt.Errorf("%w: %v", ErrTime, db.limits.Time)
	}
	return &Error{explain(err)}
}

func (db *DB) read(ctx context.Context, query string, r *Result) (err error) {
	rows, err := db.conn.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if r.Columns, err = rows.Columns(); err != nil {
		return err
	}
	if len(r.Columns) == 0 { // REINDEX without an index
		return errors.New("the statement returns no rows: write one SELECT")
	}
	for left := db.limits.Bytes; rows.Next(); {
		row, size, err := scan(rows, len(r.Columns))
		if err != nil {
			return err
		}
		if left -= size; left < 0 || len(r.Rows) == db.limits.Rows {
			r.Truncated = true
			break
		}
		r.Rows = append(r.Rows, row)
	}
	return rows.Err()
}

func scan(rows *sql.Rows, columns int) (row []string, size int, err error) {
	values, into := make([]any, columns), make([]any, columns)
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, 0, err
	}
	row = make([]string, columns)
	for i, v := range values {
		switch v := v.(type) {
		case nil:
		case []byte:
			row[i] = string(v)
		case float64:
			row[i] = strconv.FormatFloat(v, 'g', 15, 64)
		default:
			row[i] = fmt.Sprint(v)
		}
		row[i] = strings.ToValidUTF8(row[i], "\ufffd")
		size += len(row[i])
	}
	return row, size, nil
}

// notCode matches quoted text and comments.
var notCode = regexp.MustCompile("(?s)'[^']*'|\"[^\"]*\"|`[^`]*`|\\[[^]]*]|--[^\n]*|/\\*.*?(?:\\*/|$)")

// single refuses a query that is not exactly one statement.
func single(query string) error {
	if !utf8.ValidString(query) || strings.ContainsRune(query, 0) {
		return errors.New("the query is not valid UTF-8 text")
	}
	switch code := strings.Trim(notCode.ReplaceAllString(query, " "), "; \t\r\n\f"); {
	case code == "":
		return errors.New("empty query: write one SELECT")
	case strings.Contains(code, ";"):
		return errors.New("more than one statement: write one SELECT")
	}
	return nil
}

// The limits of a query's plan.
const (
	mostScans = 2  // tables that a join may scan
	mostTemps = 20 // sorts and intermediate results, each with its own space
)

// temp matches the lines of a plan that need temporary space.
var temp = regexp.MustCompile(`TEMP B-TREE|^MATERIALIZE|^CO-ROUTINE|^LIST SUBQUERY|USING AUTOMATIC`)

// planned refuses, before it runs, a query that is not one statement, scans too
// many tables in a join or needs too many intermediate results. SQLite's query plan
// has one line per table, SCAN if it reads every row and SEARCH if it uses an index;
// the lines of a join have the same parent.
func (db *DB) planned(ctx context.Context, query string) (err error) {
	if err := single(query); err != nil {
		return err
	}
	rows, err := db.conn.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	scans, temps := map[int]int{}, 0
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			return err
		}
		if strings.HasPrefix(detail, "SCAN ") {
			scans[parent]++
		}
		if temp.MatchString(detail) {
			temps++
		}
		if scans[parent] > mostScans {
			return errors.New("refused: the query joins too many tables without a join condition; join on equal columns")
		}
		if temps > mostTemps {
			return fmt.Errorf("refused: the query needs more than %d sorts and intermediate results; use fewer subqueries", mostTemps)
		}
	}
	return rows.Err()
}

// explain adds what is allowed to SQLite's message.
func explain(err error) string {
	said := err.Error()
	coded, ok := errors.AsType[*sqlite.Error](err)
	switch {
	case ok && coded.Code()&0xff == sqlite3.SQLITE_FULL:
		return fmt.Sprintf("the query needs more than %d MiB to sort or to keep intermediate results: select fewer rows and columns, and join on equal columns", scratchBytes>>20)
	case strings.Contains(said, "not authorized") || strings.Contains(said, "prohibited"):
		return "refused: only SELECT over the tables is allowed, without recursion, dates, random functions, PRAGMA or ATTACH (" + said + ")"
	}
	return said
}

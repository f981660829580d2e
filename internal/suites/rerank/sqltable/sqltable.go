// Package sqltable runs SQL that nobody has read: a database in memory that is
// filled once and then answers queries that a model wrote, and can do nothing
// else.
//
// What a query may do is decided by SQLite's authorizer while the statement is
// compiled, by a list of what is allowed: reading the tables, recursion, and
// functions that always give the same for the same arguments. Writing,
// PRAGMA, ATTACH (also inside VACUUM), transactions, virtual tables, extensions,
// chance and the clock are refused, so a query's answer depends on the data
// alone. PRAGMA query_only and limits on attached databases and lengths stand
// behind it.
//
// What is allowed may still be endless or huge: rows, bytes and steps of
// SQLite's machine are bounded, so that the same query over the same tables
// ends in the same way on every machine, however busy. One step may be a whole
// call of a function: texts of at most 64 KiB and short patterns keep each
// below a tenth of a second, but for trim with two arguments, whose work is the
// product of both lengths and which is refused. A limit of wall clock time, far
// above what the steps take, is the last resort; only there does the answer
// depend on the machine.
//
// The package must not know what the tables hold or who asks.
package sqltable

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A Table is what a database is filled with. A cell is nil, a string, an int,
// an int64, a float64 or a bool (0 or 1).
type Table struct {
	Name    string
	Columns []string
	Rows    [][]any
}

// Limits bound one query. A zero takes the default.
type Limits struct {
	Rows  int           // rows that are kept, default 200; more set Truncated
	Bytes int           // of cells that are kept, default 64 KiB; also of one cell
	Steps int           // of SQLite's machine, default 50 million, counted by the thousand: some seconds, and far from what any honest query over some thousand rows takes
	Time  time.Duration // the last resort, default 2 minutes
}

func (l Limits) orDefault() Limits {
	if l.Rows <= 0 {
		l.Rows = 200
	}
	if l.Bytes <= 0 {
		l.Bytes = 64 << 10
	}
	if l.Steps <= 0 {
		l.Steps = 50_000_000
	}
	if l.Time <= 0 {
		l.Time = 2 * time.Minute
	}
	return l
}

// A Result is the answer of a query; NULL is a cell without a value.
type Result struct {
	Columns   []string
	Rows      [][]Cell
	Truncated bool // there was more than the limits allow
}

// A Cell is a value as text. Numbers are as SQLite prints them.
type Cell struct {
	Text string
	Null bool
}

// An Error is a query that was refused, wrong, or stopped: it is about what the
// model wrote and is meant to be shown to it.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// A DB is one database in memory. It is not safe for concurrent use.
type DB struct {
	pool   *sql.DB
	conn   *sql.Conn
	limits Limits
	meter  *meter
}

// Open makes a database of its own; Close frees it.
func Open(ctx context.Context, limits Limits, tables ...Table) (*DB, error) {
	pool, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, fmt.Errorf("sqltable: opening a database in memory: %w", err)
	}
	// One connection, held: each connection to :memory: is another database.
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sqltable: opening a database in memory: %w", err), pool.Close())
	}
	db := &DB{pool: pool, conn: conn, limits: limits.orDefault()}
	err = conn.Raw(func(driver any) (err error) {
		db.meter, err = newMeter(driver)
		return err
	})
	if err != nil {
		err = fmt.Errorf("sqltable: counting the steps of queries: %w", err)
	}
	for _, t := range tables {
		if err == nil {
			err = db.fill(ctx, t)
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
func (db *DB) Close() error {
	err := errors.Join(db.conn.Close(), db.pool.Close())
	if db.meter != nil {
		db.meter.close()
		db.meter = nil
	}
	return err
}

// Add fills another table in, between queries.
func (db *DB) Add(ctx context.Context, t Table) error {
	if err := db.unlock(ctx); err != nil {
		return err
	}
	err := db.fill(ctx, t)
	return errors.Join(err, db.lock(ctx))
}

func (db *DB) fill(ctx context.Context, t Table) error {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = Quote(c)
	}
	wrap := func(err error) error {
		if err != nil {
			err = fmt.Errorf("sqltable: filling table %s: %w", t.Name, err)
		}
		return err
	}
	if _, err := db.conn.ExecContext(ctx, "CREATE TABLE "+Quote(t.Name)+" ("+strings.Join(names, ", ")+")"); err != nil {
		return wrap(err)
	}
	if len(t.Rows) == 0 {
		return nil
	}
	insert, err := db.conn.PrepareContext(ctx, "INSERT INTO "+Quote(t.Name)+" VALUES (?"+strings.Repeat(", ?", len(t.Columns)-1)+")")
	if err != nil {
		return wrap(err)
	}
	for _, row := range t.Rows {
		if err == nil {
			_, err = insert.ExecContext(ctx, row...)
		}
	}
	return wrap(errors.Join(err, insert.Close()))
}

// Quote writes a name so that SQL takes it as it is.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func (db *DB) lock(ctx context.Context) error {
	if _, err := db.conn.ExecContext(ctx, "PRAGMA query_only = ON"); err != nil {
		return fmt.Errorf("sqltable: closing the database to writing: %w", err)
	}
	for id, most := range map[int]int{
		sqlite3.SQLITE_LIMIT_ATTACHED:   0,
		sqlite3.SQLITE_LIMIT_LENGTH:     64 << 10, // of any text, and of any row, on the way to a result
		sqlite3.SQLITE_LIMIT_SQL_LENGTH: 64 << 10,
		sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
		// Matching a long pattern takes time that no interrupt ends.
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
	if _, err := db.conn.ExecContext(ctx, "PRAGMA query_only = OFF"); err != nil {
		return fmt.Errorf("sqltable: opening the database to writing: %w", err)
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
		return fmt.Errorf("sqltable: setting what queries may do: %w", err)
	}
	return nil
}

// readOnly allows what reads, and functions of their arguments alone.
func readOnly(action sqlite.AuthorizerActionCode, _, function, _, _ string) sqlite.AuthorizerReturnCode {
	switch action {
	case sqlite.AuthSelect, sqlite.AuthRead, sqlite.AuthRecursive:
		return sqlite.AuthorizerOK
	case sqlite.AuthFunction:
		if slices.Contains(functions, strings.ToLower(function)) {
			return sqlite.AuthorizerOK
		}
	}
	return sqlite.AuthorizerDeny
}

// functions lists what a query may call. Dates are not among them: they know
// the word 'now'.
var functions = strings.Fields(`abs char coalesce concat concat_ws format glob group_concat hex if ifnull iif instr
	json_array_length json_each json_extract json_type json_valid length like lower ltrim max min nullif printf quote replace round rtrim
	sign substr substring total sum avg count trim typeof unicode upper string_agg
	row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value -> ->>`)

// Query runs one statement. A statement that is refused, wrong or stopped at a
// limit is an [*Error]; anything else, such as the end of ctx, is not the
// query's fault.
func (db *DB) Query(ctx context.Context, query string) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if err := single(query); err != nil {
		return Result{}, err
	}
	if err := noTrimSet(query); err != nil {
		return Result{}, err
	}
	run, end := db.meter.begin(ctx, db.limits)
	r, err := db.read(context.WithoutCancel(ctx), query)
	end()
	switch {
	case err == nil:
		return r, nil
	case ctx.Err() != nil:
		return Result{}, ctx.Err()
	case run.stopped != "":
		return Result{}, &Error{run.stopped}
	}
	return Result{}, &Error{explain(err)}
}

func (db *DB) read(ctx context.Context, query string) (r Result, err error) {
	rows, err := db.conn.QueryContext(ctx, query)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if r.Columns, err = rows.Columns(); err != nil {
		return r, err
	}
	if len(r.Columns) == 0 {
		return r, errors.New("the statement gives no rows: write one SELECT")
	}
	left := db.limits.Bytes
	for rows.Next() {
		if len(r.Rows) == db.limits.Rows {
			r.Truncated = true
			break
		}
		row, size, err := scan(rows, len(r.Columns))
		if err != nil {
			return r, err
		}
		if left -= size; left < 0 {
			r.Truncated = true
			break
		}
		r.Rows = append(r.Rows, row)
	}
	return r, rows.Err()
}

func scan(rows *sql.Rows, columns int) (row []Cell, size int, err error) {
	values, into := make([]any, columns), make([]any, columns)
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, 0, err
	}
	row = make([]Cell, columns)
	for i, v := range values {
		row[i] = cellOf(v)
		size += len(row[i].Text)
	}
	return row, size, nil
}

func cellOf(v any) Cell {
	switch v := v.(type) {
	case nil:
		return Cell{Null: true}
	case string:
		return Cell{Text: strings.ToValidUTF8(v, "\ufffd")}
	case []byte:
		return Cell{Text: strings.ToValidUTF8(string(v), "\ufffd")}
	case int64:
		return Cell{Text: strconv.FormatInt(v, 10)}
	case float64:
		return Cell{Text: strconv.FormatFloat(v, 'g', 15, 64)}
	}
	return Cell{Text: fmt.Sprint(v)}
}

// single refuses what the driver would run as several statements, or as none.
// Quoted text and comments are skipped, so that a semicolon in a string is
// nothing special.
func single(query string) error {
	if !utf8.ValidString(query) || strings.ContainsRune(query, 0) {
		return &Error{"the query is no valid text"}
	}
	rest := query
	for rest != "" {
		n := token(rest)
		if rest[0] == ';' {
			if blank(rest[1:]) {
				return nil
			}
			return &Error{"more than one statement: write one SELECT"}
		}
		rest = rest[n:]
	}
	if blank(query) {
		return &Error{"there is no statement"}
	}
	return nil
}

// blank reports text of nothing but space, semicolons and comments.
func blank(s string) bool {
	for s != "" {
		if n := token(s); n > 1 && !strings.HasPrefix(s, "--") && !strings.HasPrefix(s, "/*") || n == 1 && !strings.ContainsRune(" \t\r\n\f;", rune(s[0])) {
			return false
		} else {
			s = s[n:]
		}
	}
	return true
}

// noTrimSet refuses trim(text, letters) and its like. The authorizer sees the
// names of functions and not how many arguments they have.
func noTrimSet(query string) error {
	var open []bool // of each parenthesis: is it that of a call of trim?
	last := ""
	for rest := query; rest != ""; {
		t := rest[:token(rest)]
		rest = rest[len(t):]
		if strings.HasPrefix(t, "--") || strings.HasPrefix(t, "/*") || t == bom || strings.Contains(" \t\r\n\f", t) {
			continue
		}
		switch {
		case t == "(":
			name := strings.ToLower(strings.Trim(last, "\"`[]"))
			open = append(open, name == "trim" || name == "ltrim" || name == "rtrim")
		case t == ")" && len(open) > 0:
			open = open[:len(open)-1]
		case t == "," && len(open) > 0 && open[len(open)-1]:
			return &Error{"refused: trim takes one argument here; use replace to remove other letters"}
		}
		last = t
	}
	return nil
}

// bom is space to SQLite where a word could begin, and else part of the word.
const bom = "\ufeff"

// token is the length of the comment, quoted text, word or byte that s begins
// with.
func token(s string) int {
	end := func(from int, mark string) int {
		if i := strings.Index(s[from:], mark); i >= 0 {
			return from + i + len(mark)
		}
		return len(s)
	}
	switch {
	case strings.HasPrefix(s, "--"):
		return end(2, "\n")
	case strings.HasPrefix(s, "/*"):
		return end(2, "*/")
	case s[0] == '\'' || s[0] == '"' || s[0] == '`':
		return end(1, s[:1])
	case s[0] == '[':
		return end(1, "]")
	case strings.HasPrefix(s, bom):
		return len(bom)
	}
	n := 0
	for n < len(s) && inWord(s[n]) {
		n++
	}
	return max(n, 1)
}

func inWord(c byte) bool {
	return c >= utf8.RuneSelf || c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// explain makes SQLite's message one that a model can act on.
func explain(err error) string {
	text := err.Error()
	if strings.Contains(text, "not authorized") || strings.Contains(text, "prohibited") {
		return "refused: only SELECT over the tables is allowed, without dates, random functions, PRAGMA or ATTACH (" + text + ")"
	}
	return text
}

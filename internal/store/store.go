// Package store stores runs in one SQLite file: the plan, the journal of calls,
// outcomes, verdicts, scores and the analysis. It knows the vocabulary of eval and
// no suite, provider or statistic.
//
// # Format
//
// The file is an ordinary SQLite 3 database in WAL mode that other programs
// may read at any time; the tables are described in migrations/*.sql. One
// process at a time may write. A run's plan is its trials with a place; trials that
// left it keep their calls. A request is one row of attempts, written before it is
// sent, with its time and process. A call is one row, written before its answer is
// used, and replaced only when a failed call is retried. Calls and plans have
// checksums, which [Examine] checks. Data derived from calls (outcomes, verdicts, scores, analyses)
// have none: they can be recomputed at no cost, and compared.
//
// # Durability
//
// The journal commits in groups with synchronous=FULL: entries queued during a
// commit form the next group, and [Journal.Append] returns when its row is on
// disk. Writing an outcome does not block, because a lost outcome can be recomputed
// from the calls. [Journal.Attempt] returns when the row is on disk if asked to,
// which a run with a budget does before it sends.
//
// store.go opens the file, runs.go begins a run, journal.go writes and read.go reads what it
// gets; scores.go has what follows. A run that goes on after a change of its study is in
// amend.go (plan), renew.go (outcomes, verdicts) and reuse.go (answers of other runs).
package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/scruple-eval/scruple/internal/disk"
)

//go:embed migrations/*.sql
var migrations embed.FS

// A DB is an open store.
type DB struct {
	path string
	sql  *sql.DB
	lock *sql.DB // held by the writing process

	remove func() error // of a migrated copy, nil without one
}

// An Error reports that a store could not be opened, read or written.
type Error struct {
	Path string
	Err  error
}

func (e *Error) Error() string { return "store " + e.Path + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

func fault(path, format string, args ...any) error {
	return &Error{path, fmt.Errorf(format, args...)}
}

// ErrLocked is wrapped by the error of a second writing process.
var ErrLocked = errors.New("another scruple process is writing to it")

var (
	errForeign = errors.New("the file is an SQLite database of another program")
	errDamaged = errors.New("the file is damaged")
)

// ErrNotFound is wrapped when there is no store or no such run.
var ErrNotFound = errors.New("not found")

// ErrOtherPlan is wrapped when a run does not have the trials of a plan.
var ErrOtherPlan = errors.New("another plan")

// Open opens a store for writing, creates it and its folder if they do not exist,
// and migrates it to the current format. It fails if another process has it open
// for writing or a newer program created it.
func Open(ctx context.Context, path string) (*DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fault(path, "creating its folder: %w", err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // one lock for all paths of a store
	}
	if err := errors.Join(regular(path), foreign(ctx, path)); err != nil {
		return nil, err
	}
	// Prompts, documents and answers are for their owner. SQLite gives its other
	// files the mode of the first.
	for _, name := range []string{path, path + ".lock"} {
		if f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
			f.Close() // an error is SQLite's to explain
		}
	}
	lock, err := acquire(ctx, path)
	if err != nil {
		return nil, err
	}
	db, err := open(ctx, path, url.Values{"mode": {"rwc"}})
	if err != nil {
		lock.Close()
		return nil, err
	}
	db.lock = lock
	if err := db.migrate(ctx); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// foreign returns an error if the file exists and belongs to another program. It
// writes nothing, not even a journal mode.
func foreign(ctx context.Context, path string) error {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return nil
	}
	db, err := open(ctx, path, url.Values{"mode": {"ro"}})
	if err != nil {
		if c := code(err); c == sqlite3.SQLITE_CANTOPEN || c == sqlite3.SQLITE_READONLY {
			return nil // a writer can say more
		}
		return err
	}
	defer db.Close()
	if err := db.identify(ctx); errors.Is(err, errForeign) {
		return err
	}
	return nil
}

// applicationID marks a file as a store, see migrations/00004_checksums.sql.
const applicationID = 0x53435250

// identify returns an error if the file has tables of another program. Stores of
// formats before 4 have no mark and are known by their tables.
func (db *DB) identify(ctx context.Context) error {
	var id, tables, ours int
	err := db.sql.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&id)
	if err == nil {
		err = db.sql.QueryRowContext(ctx, `SELECT count(*), count(CASE WHEN name IN ('goose_db_version', 'runs', 'items', 'trials', 'calls', 'outcomes') THEN 1 END)
			FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`).Scan(&tables, &ours)
	}
	switch {
	case err != nil:
		return explain(db.path, err)
	case id == applicationID, id == 0 && (tables == 0 || ours == 6):
		return nil
	// A first migration that was interrupted leaves goose's table alone.
	case id == 0 && tables == 1 && ours == 1:
		return nil
	}
	return fault(db.path, "%w: give a file of its own with --store", errForeign)
}

// regular refuses pipes, devices and sockets, which block or keep nothing.
func regular(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return fmt.Errorf("store %s: is a pipe, device or socket: name a file", path) // bad input, no failure of the store
	}
	return nil
}

// OpenRead opens an existing store for reading, even while another process writes.
func OpenRead(ctx context.Context, path string) (*DB, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fault(path, "%w: run the study first", ErrNotFound)
	}
	if err := regular(path); err != nil {
		return nil, err
	}
	q := url.Values{}
	db, err := openRead(ctx, path, q)
	if c := code(err); c == sqlite3.SQLITE_CANTOPEN || c == sqlite3.SQLITE_READONLY {
		if _, wal := os.Stat(path + "-wal"); wal != nil {
			// The folder is read-only, so there is no writer and the file does
			// not change.
			q.Set("immutable", "1")
			db, err = openRead(ctx, path, q)
		}
	}
	if errors.Is(err, errOldFormat) {
		return openMigrated(ctx, path, q)
	}
	return db, err
}

// openMigrated opens a copy of a store of an older format, migrated: reading changes
// nothing, and the store may be on a medium that cannot be written.
func openMigrated(ctx context.Context, path string, q url.Values) (_ *DB, err error) {
	dir, remove, err := disk.Temp("migrated", "")
	if err != nil {
		return nil, fault(path, "%w: copying it: %w", errOldFormat, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, remove())
		}
	}()
	copied := filepath.Join(dir, "store.db")
	old, err := open(ctx, path, q)
	if err == nil {
		_, err = old.sql.ExecContext(ctx, `VACUUM INTO ?`, copied)
		err = errors.Join(err, old.Close())
	}
	if err != nil {
		return nil, fault(path, "%w: copying it: %w", errOldFormat, err)
	}
	w, err := Open(ctx, copied)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fault(path, "%w: migrating a copy of it: %w", errOldFormat, err)
	}
	db, err := openRead(ctx, copied, url.Values{})
	if err != nil {
		return nil, err
	}
	db.path, db.remove = path, remove
	return db, nil
}

func openRead(ctx context.Context, path string, q url.Values) (*DB, error) {
	q.Set("mode", "ro")
	db, err := open(ctx, path, q)
	if err != nil {
		return nil, err
	}
	if err := db.identify(ctx); err != nil {
		db.Close()
		return nil, err
	}
	have, err := db.version(ctx)
	if err == nil && have < format {
		err = errOldFormat
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// errOldFormat is the error of reading a store that must be migrated first.
var errOldFormat = errors.New("the file has an older format")

func open(ctx context.Context, path string, q url.Values) (*DB, error) {
	q["_pragma"] = []string{"busy_timeout(10000)", "foreign_keys(OFF)", "cache_size(-1000)"}
	if q.Get("mode") != "ro" {
		q["_pragma"] = append(q["_pragma"], "journal_mode(WAL)", "synchronous(FULL)", "wal_autocheckpoint(4000)")
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, fault(path, "%w", err)
	}
	db.SetMaxOpenConns(8) // an export reads six tables side by side
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		return nil, explain(path, err)
	}
	return &DB{path: path, sql: db}, nil
}

// acquire takes the write lock: an exclusive transaction on a file beside the
// store. The operating system releases it even if the process crashes.
func acquire(ctx context.Context, path string) (*sql.DB, error) {
	name := path + ".lock"
	lock, err := sql.Open("sqlite", "file:"+(&url.URL{Path: name}).EscapedPath()+"?_pragma=busy_timeout(200)")
	if err != nil {
		return nil, fault(path, "%w", err)
	}
	lock.SetMaxOpenConns(1)
	if _, err := lock.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		lock.Close()
		if code(err) == sqlite3.SQLITE_BUSY {
			return nil, fault(path, "%w: wait for it to end, or use another store with --store", ErrLocked)
		}
		return nil, explain(path, err)
	}
	return lock, nil
}

// Writing reports whether a process has the store open for writing. It reads the lock for
// a moment, for which a writer that begins waits.
func (db *DB) Writing(ctx context.Context) bool {
	if db.lock != nil {
		return true
	}
	path := db.path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	lock, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path + ".lock"}).EscapedPath()+"?mode=ro&_pragma=busy_timeout(0)")
	if err != nil {
		return false
	}
	defer lock.Close()
	var n int
	return code(lock.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master`).Scan(&n)) == sqlite3.SQLITE_BUSY
}

// Path returns the file of the store.
func (db *DB) Path() string { return db.path }

// Close closes the store. Close its journals first.
func (db *DB) Close() error {
	err := db.sql.Close()
	if db.lock != nil {
		err = errors.Join(err, db.lock.Close())
	}
	if db.remove != nil {
		err = errors.Join(err, db.remove())
	}
	return err
}

func (db *DB) migrate(ctx context.Context) error {
	if err := db.identify(ctx); err != nil {
		return err
	}
	have, err := db.version(ctx)
	if err != nil || have == format {
		return err
	}
	steps, err := migrationSteps()
	if err != nil {
		return fault(db.path, "reading migrations: %w", err)
	}
	p, err := migrator(db.sql, steps)
	if err != nil {
		return fault(db.path, "reading migrations: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return explain(db.path, fmt.Errorf("migrating the store to format %d: %w", format, err))
	}
	return nil
}

// migrator returns what applies migrations. One that is older than the newest
// applied one is applied as well: formats that were developed at the same time may
// reach a store in any order.
func migrator(db *sql.DB, steps []*goose.Migration) (*goose.Provider, error) {
	return goose.NewProvider(goose.DialectSQLite3, db, nil, goose.WithGoMigrations(steps...), goose.WithDisableGlobalRegistry(true), goose.WithAllowOutofOrder(true))
}

// migrationSteps returns the migrations. SQLite executes a file of several statements;
// goose's parser would allocate 16 MB to split it.
func migrationSteps() ([]*goose.Migration, error) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var out []*goose.Migration
	for _, file := range files {
		version, err := goose.NumericComponent(file)
		if err != nil {
			return nil, err
		}
		statements, err := migrations.ReadFile(file)
		if err != nil {
			return nil, err
		}
		out = append(out, goose.NewGoMigration(version, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, string(statements))
			return err
		}}, nil))
	}
	return out, nil
}

// format is the newest migration this program knows; a test compares it with the
// files.
const format = 7

// version returns the format of the file, which this program must know. It is 0
// for a new file, which is an error for readers.
func (db *DB) version(ctx context.Context) (have int64, err error) {
	err = db.sql.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE name = 'goose_db_version'`).Scan(&have)
	if err == nil && have > 0 {
		err = db.sql.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&have)
	}
	switch {
	case err != nil:
		return 0, explain(db.path, err)
	case have > format:
		return 0, fault(db.path, "the file has format %d, but this program supports formats up to %d: use the newer scruple that wrote it, or another --store", have, format)
	case have == 0 && db.lock == nil:
		return 0, fault(db.path, "%w: the file has no runs", ErrNotFound)
	}
	return have, nil
}

func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff // the primary code of an extended one
	}
	return 0
}

// outOfFiles reports whether the process has no descriptors left for a store, which
// SQLite does not say.
func outOfFiles() bool {
	for range 8 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
		}
		defer f.Close()
	}
	return false
}

// explain adds a remedy to an error of SQLite.
func explain(path string, err error) error {
	if err == nil {
		return nil
	}
	remedy := ""
	switch code(err) {
	case sqlite3.SQLITE_FULL:
		remedy = ": the disk is full: free some space and run the same command again; recorded answers are safe"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		remedy = ": the store cannot be written: check the permissions of the file and its folder, or use another --store"
	case sqlite3.SQLITE_CANTOPEN:
		remedy = ": check that the folder exists and is writable, or use another --store"
		if outOfFiles() {
			remedy = ": this process may not open more files: lower execution.concurrency, or raise the limit with ulimit -n; recorded answers are safe"
		}
	case sqlite3.SQLITE_NOTADB:
		remedy = ": the file is not a valid SQLite database: restore a copy, or use another --store"
	case sqlite3.SQLITE_CORRUPT:
		remedy = ": the file is damaged: `scruple doctor " + path + "` lists what is wrong; restore a copy, or use another --store"
	case sqlite3.SQLITE_IOERR:
		remedy = ": the disk could not be read or written"
	case sqlite3.SQLITE_BUSY:
		remedy = ": another program has locked the store: close it and try again"
	}
	return fault(path, "%w%s", err, remedy)
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/errno"
)

// A sqliteFile is the engine of a file. One process at a time writes.
type sqliteFile struct {
	readable string // address by which others read what was opened, which can be a migrated copy
}

func (sqliteFile) dialect() (string, goose.Dialect) { return "sqlite", goose.DialectSQLite3 }

func (sqliteFile) begin() string { return "BEGIN IMMEDIATE" }

func (sqliteFile) migrating() []goose.ProviderOption { return nil }

// hold and still have nothing to do: the process has the lock of the file.
func (sqliteFile) hold(*steps, *DB, *Run) {}

func (sqliteFile) still(*steps, *Run) {}

func (sqliteFile) alone(*steps) {}

func (sqliteFile) awake(*steps) func() { return func() {} }

func (sqliteFile) room(context.Context, *DB, int) (int64, error) { return 0, nil }

func (sqliteFile) drop(*steps, int64) {}

func (sqliteFile) release(*DB) error { return nil }

// openFile opens a file for writing, and creates it and its folder if they do not exist.
func openFile(ctx context.Context, path string) (*DB, error) {
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
	db.writes, db.lock = true, lock
	if err := db.migrate(ctx); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// readFile opens an existing file for reading, even while another process writes.
func readFile(ctx context.Context, path string) (*DB, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fault(path, "%w: run the study first", ErrNotFound)
	}
	if err := regular(path); err != nil {
		return nil, err
	}
	var q url.Values
	db, err := readable(path, func(with url.Values) (*DB, error) {
		q = with
		return openRead(ctx, path, q)
	})
	if errors.Is(err, ErrOlder) {
		return openMigrated(ctx, path, q)
	}
	return db, err
}

// readable opens a file for reading, also one in a folder that is read-only or on a full disk.
func readable(path string, open func(q url.Values) (*DB, error)) (*DB, error) {
	q := url.Values{"mode": {"ro"}}
	db, err := open(q)
	if c := code(err); c == sqlite3.SQLITE_CANTOPEN || c == sqlite3.SQLITE_READONLY || c == sqlite3.SQLITE_FULL {
		if info, wal := os.Stat(path + "-wal"); wal != nil || c == sqlite3.SQLITE_FULL && info.Size() == 0 { // a writer has room to share
			q.Set("immutable", "1") // there is no writer, so the file does not change
			db, err = open(q)
		}
	}
	return db, err
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
	if err := db.engine.identify(ctx, db); errors.Is(err, errForeign) {
		return err
	}
	return nil
}

// regular refuses folders, and pipes, devices and sockets, which block or keep nothing: bad input, no
// failure of the store.
func regular(path string) error {
	switch info, err := os.Stat(path); {
	case err != nil || info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return fmt.Errorf("store %s: is a folder: name the file in it, such as scruple.db", path)
	}
	return fmt.Errorf("store %s: is a pipe, device or socket: name a file", path)
}

// openTemporary opens a new file, which is removed when it is closed, with the folder of this
// kind that it is in.
func openTemporary(ctx context.Context, kind string) (*DB, error) {
	dir, remove, err := disk.Temp(kind, "")
	if err != nil {
		return nil, err
	}
	db, err := openFile(ctx, filepath.Join(dir, "store.db"))
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	db.remove = remove
	return db, nil
}

// openMigrated opens a copy of a store of an older format, migrated: reading changes
// nothing, and the store may be on a medium that cannot be written.
func openMigrated(ctx context.Context, path string, q url.Values) (_ *DB, err error) {
	dir, remove, err := disk.Temp("migrated", "")
	if err != nil {
		return nil, fault(path, "%w: copying it: %w", ErrOlder, err)
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
		return nil, fault(path, "%w: copying it: %w", ErrOlder, err)
	}
	w, err := Open(ctx, copied)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fault(path, "%w: migrating a copy of it: %w", ErrOlder, err)
	}
	db, err := openRead(ctx, copied, url.Values{"mode": {"ro"}})
	if err != nil {
		return nil, err
	}
	db.path, db.remove = path, remove
	return db, nil
}

func openRead(ctx context.Context, path string, q url.Values) (*DB, error) {
	db, err := identified(ctx, path, q)
	if err != nil {
		return nil, err
	}
	have, err := db.version(ctx)
	if err == nil && have < format {
		err = ErrOlder
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// identified opens a file of which it knows that it is a store.
func identified(ctx context.Context, path string, q url.Values) (*DB, error) {
	db, err := open(ctx, path, q)
	if err != nil {
		return nil, err
	}
	if err := db.engine.identify(ctx, db); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

func open(ctx context.Context, path string, q url.Values) (*DB, error) {
	q["_pragma"] = []string{"busy_timeout(10000)", "foreign_keys(OFF)", "cache_size(-1000)"}
	if q.Get("mode") != "ro" {
		q["_pragma"] = append(q["_pragma"], "journal_mode(WAL)", "synchronous(FULL)", "wal_autocheckpoint(4000)")
	}
	db, err := sql.Open("sqlite", address(path, q))
	if err != nil {
		return nil, fault(path, "%w", err)
	}
	db.SetMaxOpenConns(8) // an export reads six tables side by side
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		return nil, sqliteFile{}.explain(path, err)
	}
	q = maps.Clone(q)
	q.Del("_pragma")
	q.Set("mode", "ro")
	return &DB{path: path, sql: db, engine: sqliteFile{address(path, q)}}, nil
}

// address is how SQLite names a file.
func address(path string, q url.Values) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// acquire takes the write lock: an exclusive transaction on a file beside the
// store. The operating system releases it even if the process crashes.
func acquire(ctx context.Context, path string) (*sql.DB, error) {
	name := path + ".lock"
	lock, err := sql.Open("sqlite", address(name, url.Values{"_pragma": {"busy_timeout(200)"}}))
	if err != nil {
		return nil, fault(path, "%w", err)
	}
	lock.SetMaxOpenConns(1)
	if _, err := lock.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		lock.Close()
		if code(err) == sqlite3.SQLITE_BUSY {
			return nil, fault(path, "%w: wait for it to end, or use another store with --store", ErrLocked)
		}
		return nil, sqliteFile{}.explain(path, err)
	}
	return lock, nil
}

func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		if e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE { // there is no room for what processes share
			return sqlite3.SQLITE_FULL
		}
		return e.Code() & 0xff // the primary code of an extended one
	}
	return 0
}

// Unread reports whether an error says nothing about what a file has: this machine could not read
// it, or this version does not know its format.
func Unread(err error) bool {
	machine := []int{sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_NOMEM}
	return errors.Is(err, ErrLocked) || errors.Is(err, errNewer) || slices.Contains(machine, code(err))
}

// outOfFiles reports whether the process has no descriptors left for a store, which
// SQLite does not say.
func outOfFiles() bool {
	for range 8 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return errno.TooManyFiles.Of(err)
		}
		defer f.Close()
	}
	return false
}

// applicationID marks a file as a store, see migrations/sqlite/00004_checksums.sql.
const applicationID = 0x53435250

// identify returns an error if the file has tables of another program. Stores of
// formats before 4 have no mark and are known by their tables.
func (e sqliteFile) identify(ctx context.Context, db *DB) error {
	type row struct{ ID, Tables, Ours int }
	r, err := one[row](ctx, db, `SELECT (SELECT application_id FROM pragma_application_id), count(*), count(CASE WHEN name IN ('goose_db_version', 'runs', 'items', 'trials', 'calls', 'outcomes') THEN 1 END)
		FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
	interrupted := r.Tables == 1 && r.Ours == 1 // a first migration leaves goose's table alone
	if err != nil || r.ID == applicationID || r.ID == 0 && (r.Tables == 0 || r.Ours == 6 || interrupted) {
		return err
	}
	return fault(db.path, "%w: give a file of its own with --store", errForeign)
}

// writing reads the lock for a moment, for which a writer that begins waits.
func (sqliteFile) writing(ctx context.Context, db *DB, _ *Run) bool {
	if db.writes {
		return true
	}
	path := db.path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	lock, err := sql.Open("sqlite", address(path+".lock", url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(0)"}}))
	if err != nil {
		return false
	}
	defer lock.Close()
	var n int
	return code(lock.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master`).Scan(&n)) == sqlite3.SQLITE_BUSY
}

func (sqliteFile) hasTable(ctx context.Context, db *DB, name string) (bool, error) {
	return one[bool](ctx, db, `SELECT count(*) > 0 FROM sqlite_master WHERE name = ?`, name)
}

// integrity asks SQLite about the pages and indexes of the file.
func (sqliteFile) integrity(ctx context.Context, db *DB) ([]string, error) {
	says, err := all[string](ctx, db, `PRAGMA integrity_check(5)`)
	if len(says) == 1 && says[0] == "ok" {
		says = nil
	}
	return says, err
}

// watch keeps a connection, because each has numbers of its own.
func (sqliteFile) watch(ctx context.Context, db *DB) (*Watch, error) {
	opened, _ := os.Stat(db.path) // nil, which is no file, if it is gone already
	conn, err := db.sql.Conn(ctx)
	if err != nil {
		return nil, db.explain(err)
	}
	return &Watch{func(ctx context.Context) (v int64, err error) {
		if now, err := os.Stat(db.path); err != nil || !os.SameFile(opened, now) {
			return 0, fault(db.path, "the file was moved or replaced: start the viewer again")
		}
		err = conn.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&v)
		return v, db.explain(err)
	}, conn.Close}, nil
}

func (sqliteFile) examine(x *examination, _ *DB) {
	x.permissions()
	x.space()
}

// file is the address of the store itself, or of a copy of runs of which some are archived.
func (f sqliteFile) file(ctx context.Context, db *DB, runs []*Run) (string, func() error, error) {
	if slices.ContainsFunc(runs, func(r *Run) bool { return r.Archive != nil }) {
		return db.copied(ctx, runs)
	}
	return f.readable, func() error { return nil }, nil
}

// reclaim makes the file smaller.
func (sqliteFile) reclaim(ctx context.Context, db *DB) error {
	x := &steps{ctx: ctx, on: db.sql}
	x.exec(`VACUUM`)
	x.exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	return db.explain(x.err)
}

func (sqliteFile) explain(path string, err error) error {
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

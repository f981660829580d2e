// Package store stores runs in an SQLite file or a PostgreSQL database: the plan, the journal of calls,
// outcomes, verdicts, scores and the analysis. It knows the vocabulary of eval and
// no suite, provider or statistic.
//
// # Format
//
// The file is an ordinary SQLite 3 database in WAL mode that other programs
// may read at any time; the tables are described in migrations/sqlite. One
// process at a time may write. In a database, which many processes write, one at a time
// writes a run: see [postgres]. A run's plan is its trials with a place; trials that
// left it keep their calls. A request is one row of attempts, with its time and process;
// it is on disk before the request is sent where a budget limits the run, else in the next commit. A call is one row, written before its answer is
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
// store.go opens the store, sqlite.go and postgres.go have what differs, runs.go begins a run, journal.go writes and read.go reads what it
// gets; scores.go has what follows. A run that goes on after a change of its study is in
// amend.go (plan), renew.go (outcomes, verdicts) and reuse.go (answers of other runs). archive.go
// moves the rows of a run to files, and back for those who read them.
package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*/*.sql
var migrations embed.FS

// A DB is an open store.
type DB struct {
	path   string // of the file, or the address without its password
	sql    *sql.DB
	engine engine
	writes bool    // it was opened for writing
	lock   *sql.DB // of a file that was

	remove func() error // of a copy, nil without one

	unpacked unpacking
}

// An Error reports that a store could not be opened, read or written.
type Error struct {
	Path   string
	Err    error
	Passes bool // the same goes on when the server is back or has room
	Full   bool // it has no room
}

func (e *Error) Error() string { return "store " + e.Path + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

func fault(path, format string, args ...any) error {
	return &Error{Path: path, Err: fmt.Errorf(format, args...)}
}

// ErrLocked is wrapped by the error of a second writing process.
var ErrLocked = errors.New("another scruple process is writing to it")

var (
	errForeign = errors.New("the database is of another program")
	errDamaged = errors.New("the file is damaged")
	errNewer   = errors.New("the store is of a newer program")
)

// ErrNotFound is wrapped when there is no store or no such run.
var ErrNotFound = errors.New("not found")

// ErrOtherPlan is wrapped when a run does not have the trials of a plan.
var ErrOtherPlan = errors.New("another plan")

// An engine is what SQLite and PostgreSQL do in different ways. Queries are the same: see
// the comment on [postgresConn] for what is rewritten.
type engine interface {
	// dialect is the folder of the migrations and their dialect.
	dialect() (string, goose.Dialect)
	migrating() []goose.ProviderOption
	// identify returns an error if there are tables of another program.
	identify(ctx context.Context, db *DB) error
	hasTable(ctx context.Context, db *DB, name string) (bool, error)
	// begin is the statement that begins a transaction that writes.
	begin() string
	// hold, as the first step of a transaction, and still, as the last, make sure that this
	// process, and no other, writes a run, and alone that no other begins or amends one.
	hold(x *steps, db *DB, run *Run)
	still(x *steps, run *Run)
	alone(x *steps)
	release(db *DB) error
	// awake keeps a transaction open whose process is busy for long between two statements.
	awake(x *steps) (end func())
	// room returns the first id of the trials of a run that has tables of its own, 0 if it has
	// none, and drop removes them.
	room(ctx context.Context, db *DB, trials int) (first int64, err error)
	drop(x *steps, first int64)
	// writing reports whether a process writes a run.
	writing(ctx context.Context, db *DB, run *Run) bool
	watch(ctx context.Context, db *DB) (*Watch, error)
	// integrity returns what the database says of its own files; nothing if they are sound.
	integrity(ctx context.Context, db *DB) ([]string, error)
	examine(x *examination, db *DB)
	// file returns a file that has runs, and what removes it.
	file(ctx context.Context, db *DB, runs []*Run) (address string, remove func() error, err error)
	// reclaim gives back the room of rows that were removed.
	reclaim(ctx context.Context, db *DB) error
	// explain adds a remedy to an error of the database.
	explain(path string, err error) error
}

// Open opens a store for writing: a file, which is created with its folder if it does not
// exist, or the address of a PostgreSQL database. It migrates it to the current format. It
// fails if another process has the file open for writing or a newer program created the store.
func Open(ctx context.Context, path string) (*DB, error) {
	if IsAddress(path) {
		return openAddress(ctx, path, true)
	}
	return openFile(ctx, path)
}

// OpenRead opens an existing store for reading, even while another process writes.
func OpenRead(ctx context.Context, path string) (*DB, error) {
	if IsAddress(path) {
		return openAddress(ctx, path, false)
	}
	return readFile(ctx, path)
}

// Writing reports whether a process writes a run; for a file, any run.
func (db *DB) Writing(ctx context.Context, run *Run) bool { return db.engine.writing(ctx, db, run) }

// explain adds to an error of the database which store it is of, and a remedy.
func (db *DB) explain(err error) error {
	if _, ours := errors.AsType[*Error](err); err == nil || ours {
		return err
	}
	return db.engine.explain(db.path, err)
}

// ErrOlder is wrapped by the error of reading a store that must be migrated first.
var ErrOlder = errors.New("it has an older format")

// Path returns the file of the store, or its address without a password.
func (db *DB) Path() string { return db.path }

// Close closes the store. Close its journals first.
func (db *DB) Close() error {
	err := errors.Join(db.engine.release(db), db.sql.Close())
	for _, u := range db.unpacked.open {
		err = errors.Join(err, u.Close())
	}
	if db.lock != nil {
		err = errors.Join(err, db.lock.Close())
	}
	if db.remove != nil {
		err = errors.Join(err, db.remove())
	}
	return err
}

func (db *DB) migrate(ctx context.Context) error {
	if err := db.engine.identify(ctx, db); err != nil {
		return err
	}
	have, err := db.version(ctx)
	if err != nil || have == format {
		return err
	}
	folder, dialect := db.engine.dialect()
	steps, err := migrationSteps(folder)
	if err != nil {
		return fault(db.path, "reading migrations: %w", err)
	}
	p, err := migrator(dialect, db.sql, steps, db.engine.migrating()...)
	if err != nil {
		return fault(db.path, "reading migrations: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return db.explain(fmt.Errorf("migrating the store to format %d: %w", format, err))
	}
	return nil
}

// migrator returns what applies migrations. One that is older than the newest
// applied one is applied as well: formats that were developed at the same time may
// reach a store in any order.
func migrator(dialect goose.Dialect, db *sql.DB, steps []*goose.Migration, more ...goose.ProviderOption) (*goose.Provider, error) {
	return goose.NewProvider(dialect, db, nil, append(more, goose.WithGoMigrations(steps...), goose.WithDisableGlobalRegistry(true), goose.WithAllowOutofOrder(true))...)
}

// migrationSteps returns the migrations of a dialect. Both databases execute a file of several
// statements; goose's parser would allocate 16 MB to split it.
func migrationSteps(folder string) ([]*goose.Migration, error) {
	files, err := fs.Glob(migrations, "migrations/"+folder+"/*.sql")
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

// format is the newest migration this program knows, of each dialect; a test compares it
// with the files.
const format = 14

// version returns the format of the store, which this program must know. It is 0
// for a new one, which is an error for readers.
func (db *DB) version(ctx context.Context) (have int64, err error) {
	some, err := db.engine.hasTable(ctx, db, "goose_db_version")
	if err == nil && some {
		have, err = one[int64](ctx, db, `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`)
	}
	switch {
	case err != nil:
		return 0, err
	case have > format:
		return 0, fault(db.path, "%w: it has format %d, but this program supports formats up to %d: use the scruple that wrote it, or another --store", errNewer, have, format)
	case have == 0 && !db.writes:
		return 0, fault(db.path, "%w: the store has no runs", ErrNotFound)
	}
	return have, nil
}

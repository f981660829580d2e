package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/scruple-eval/scruple/internal/eval"
)

// SetVersionForTest sets the format of a store.
func SetVersionForTest(t *testing.T, path string, version int) {
	t.Helper()
	db, err := open(context.Background(), path, url.Values{"mode": {"rw"}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.sql.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (?, 1)`, version); err != nil {
		t.Fatal(err)
	}
}

// CapPagesForTest makes writes beyond a size fail as on a full disk.
func CapPagesForTest(t *testing.T, j *Journal, pages int) {
	t.Helper()
	if _, err := j.conn.ExecContext(context.Background(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
		t.Fatal(err)
	}
}

// ShortLeasesForTest sets how long runs are kept for a process.
func ShortLeasesForTest(db *DB, d time.Duration) { db.engine.(*postgres).leases = d }

// StopRenewalForTest makes a store that of a process that does not run.
func StopRenewalForTest(db *DB) {
	p := db.engine.(*postgres)
	p.renew()
}

// MoveForTest makes a store that of a process on another machine.
func MoveForTest(db *DB) {
	p := db.engine.(*postgres)
	p.holder = "elsewhere" + strings.TrimPrefix(p.holder, machine())
}

// A lease is taken over at once from a process of this machine that ended, and from no other.
func TestGone(t *testing.T) {
	if machine() == "" {
		t.Skip("this system does not say which processes a process can see")
	}
	ended := exec.Command(os.Args[0], "-test.run=^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	for holder, want := range map[string]bool{
		fmt.Sprintf("%s %d x", machine(), ended.Process.Pid): true,
		fmt.Sprintf("%s %d x", machine(), os.Getpid()):       false,
		fmt.Sprintf("other/pid:[1] %d x", ended.Process.Pid): false,
		fmt.Sprintf(" %d x", ended.Process.Pid):              false,
		"of another version":                                 false,
	} {
		if Ended(holder) != want {
			t.Errorf("%q is gone: %t", holder, !want)
		}
	}
}

func TestFormatIsTheNewestMigration(t *testing.T) {
	for _, folder := range []string{"sqlite", "postgres"} {
		files, err := fs.Glob(migrations, "migrations/"+folder+"/*.sql")
		if err != nil || len(files) == 0 {
			t.Fatalf("%d migrations (%v)", len(files), err)
		}
		newest, err := goose.NumericComponent(files[len(files)-1])
		if err != nil || newest != format {
			t.Errorf("the newest migration of %s is %d, format %d (%v)", folder, newest, format, err)
		}
	}
}

// Numbers of migrations may have gaps, and a gap may be filled later.
func TestAGapInTheFormatsIsHarmless(t *testing.T) {
	all, err := migrationSteps("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	without := slices.DeleteFunc(slices.Clone(all), func(m *goose.Migration) bool { return m.Version == 8 })
	if len(without) == len(all) {
		all = append(all, goose.NewGoMigration(8, &goose.GoFunc{RunTx: func(context.Context, *sql.Tx) error { return nil }}, nil))
	}
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, list := range [][]*goose.Migration{without, all} {
		p, err := migrator(goose.DialectSQLite3, db, list)
		if err == nil {
			_, err = p.Up(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if pending, err := p.HasPending(t.Context()); err != nil || pending {
			t.Errorf("%d migrations: some are pending (%v)", len(list), err)
		}
	}
}

// Each call looks for an answer by its key: reading all trials would take time in the
// square of their number.
func TestTakeReadsByKey(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, how := range []struct{ other, shared bool }{{true, false}, {true, true}, {false, true}} {
		text, args := candidates(&Run{N: 1}, &eval.Call{}, how.other, how.shared)
		steps, err := Collect(query(t.Context(), db, `EXPLAIN QUERY PLAN `+text, args, func(rows *sql.Rows) (s string, err error) {
			var id, parent, unused int
			return s, rows.Scan(&id, &parent, &unused, &s)
		}))
		if err != nil || len(steps) == 0 || !strings.Contains(steps[0], "calls_by_key (key=? AND rowid>?)") {
			t.Errorf("other %v, shared %v: %q, %v", how.other, how.shared, steps, err)
		}
	}
}

// RowsForTest counts the trials of a run that the store itself has.
func RowsForTest(t *testing.T, db *DB, run *Run) int {
	t.Helper()
	x := &steps{ctx: t.Context(), on: db.sql}
	n := x.count(`SELECT count(*) FROM trials WHERE run = ?`, run.N)
	if x.err != nil {
		t.Fatal(x.err)
	}
	return n
}

// SharedForTest counts the outcomes whose data is in a call.
func SharedForTest(t *testing.T, db *DB) int {
	t.Helper()
	x := &steps{ctx: t.Context(), on: db.sql}
	n := x.count(`SELECT count(*) FROM outcomes WHERE step IS NOT NULL AND data IS NULL`)
	if x.err != nil {
		t.Fatal(x.err)
	}
	return n
}

// OpenOldForTest opens a database with the tables of an older format, with the columns that this
// version writes beside them, until [DB.CloseOldForTest].
func OpenOldForTest(t *testing.T, address string, version int64) *DB {
	t.Helper()
	db, err := connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.writes = true
	steps, err := migrationSteps("postgres")
	if err != nil {
		t.Fatal(err)
	}
	p, err := migrator(goose.DialectPostgres, db.sql, steps)
	if err == nil {
		_, err = p.UpTo(t.Context(), version)
	}
	if err == nil {
		_, err = db.sql.ExecContext(t.Context(), `ALTER TABLE items ADD COLUMN grouped TEXT NOT NULL DEFAULT ''; ALTER TABLE calls ADD COLUMN prices TEXT NOT NULL DEFAULT ''`)
	}
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// CloseOldForTest closes it as a version of that format leaves it.
func (db *DB) CloseOldForTest(t *testing.T) {
	t.Helper()
	_, err := db.sql.ExecContext(t.Context(), `ALTER TABLE items DROP COLUMN grouped; ALTER TABLE calls DROP COLUMN prices`)
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// SetManyTrialsForTest sets from how many trials on runs have partitions.
func SetManyTrialsForTest(n int) { manyTrials = n }

// PartitionsForTest are the tables that runs have of their own, and how many of their rows.
func (db *DB) PartitionsForTest(t testing.TB) (n, rows int) {
	t.Helper()
	for _, table := range partitioned {
		names, err := all[string](t.Context(), db, `SELECT CAST(inhrelid::regclass AS TEXT) FROM pg_inherits WHERE inhparent = to_regclass(?) AND inhrelid <> to_regclass(?)`, table, table+"_of_others")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			some := 0
			if err := db.sql.QueryRowContext(t.Context(), `SELECT count(*) FROM `+name).Scan(&some); err != nil {
				t.Fatal(err)
			}
			n, rows = n+1, rows+some
		}
	}
	return n, rows
}

// ReadCallsForTest keeps a transaction open that has read calls.
func (db *DB) ReadCallsForTest(t *testing.T) (end func()) {
	t.Helper()
	tx, err := db.sql.BeginTx(t.Context(), nil)
	if err == nil {
		_, err = tx.Exec(`SELECT count(*) FROM calls`)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() { _ = tx.Rollback() }
}

package store

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scruple-eval/scruple/internal/columnar"
	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/eval"
)

// An Archive says where the rows of a run are that are no longer in the store: Parquet files
// of a folder, one a table. The run itself stays in the store, with its history, sessions and
// analysis. Queries for a run that is archived read a file into which it is unpacked when it
// is first read, see [DB.having].
type Archive struct {
	Dir   string         `json:"dir"`
	Files []ArchivedFile `json:"files"`
	Tally
}

// An ArchivedFile is a file of an archive.
type ArchivedFile struct {
	Table  string `json:"table"`
	File   string `json:"file"`
	Rows   int    `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Bytes is the size of the files.
func (a *Archive) Bytes() (n int64) {
	for _, f := range a.Files {
		n += f.Bytes
	}
	return n
}

// says is what the store has of it.
func (a *Archive) says() string {
	text, _ := json.Marshal(a) // of texts and numbers
	return string(text)
}

// ErrArchived is wrapped by the error of a change of a run that is archived.
var ErrArchived = errors.New("it is archived and stays as it is")

// archivedTables are those that an archive has, in the order in which they are unpacked.
var archivedTables = []string{"items", "trials", "calls", "outcomes", "verdicts", "judged", "scores", "case_scores", "attempts", "prompts"}

// repeating are columns of few values.
var repeating = []string{"item", "arm", "stage", "step", "provider", "model", "model_version", "stop", "stop_reason", "kind", "error_kind", "judge", "unit"}

// program stands in the files.
const program = "scruple"

// unpacking are the archives that this process has unpacked.
type unpacking struct {
	mu   sync.Mutex
	open map[string]*DB // by what the store says of the archive
}

// Value is the number of the run, so that a run is an argument of queries.
func (r *Run) Value() (driver.Value, error) { return r.N, nil }

// having returns the store with the rows of the run among the arguments of a query.
func (db *DB) having(ctx context.Context, args []any) (*DB, error) {
	for _, a := range args {
		if run, is := a.(*Run); is {
			return db.withRows(ctx, run)
		}
	}
	return db, nil
}

// stayed returns an error if a query may lack rows because the run among its arguments was
// archived since it was read.
func (db *DB) stayed(ctx context.Context, args []any) error {
	for _, a := range args {
		run, is := a.(*Run)
		if !is || run.Archive != nil {
			continue
		}
		gone, err := one[bool](ctx, db, `SELECT EXISTS (SELECT 1 FROM runs WHERE n = ? AND archive IS NOT NULL)`, run.N)
		if gone {
			err = fault(db.path, "run %s was archived while it was read: run the same command again", run.ID)
		}
		return err
	}
	return nil
}

// withRows returns the store with the rows of a run.
func (db *DB) withRows(ctx context.Context, run *Run) (*DB, error) {
	if run.Archive == nil {
		return db, nil
	}
	says := run.Archive.says()
	db.unpacked.mu.Lock()
	defer db.unpacked.mu.Unlock()
	if u := db.unpacked.open[says]; u != nil {
		return u, nil
	}
	u, err := db.unpack(ctx, run)
	if err != nil {
		return nil, fault(db.path, "reading run %s: %w", run.ID, err)
	}
	if db.unpacked.open == nil {
		db.unpacked.open = map[string]*DB{}
	}
	db.unpacked.open[says] = u
	return u, nil
}

// here is the run as the store has it that it was unpacked into.
func (r *Run) here() *Run {
	of := *r
	of.Archive = nil
	return &of
}

// unpack reads an archive into a file that is removed when the store is closed.
func (db *DB) unpack(ctx context.Context, run *Run) (u *DB, err error) {
	if err := run.Archive.check(run); err != nil {
		return nil, err
	}
	if u, err = openTemporary(ctx, "unpacked"); err != nil {
		return nil, err
	}
	u.sql.SetMaxOpenConns(1)
	x := &steps{ctx: ctx, on: u.sql}
	for _, text := range []string{`PRAGMA journal_mode = OFF`, `PRAGMA synchronous = OFF`, `PRAGMA cache_size = -65536`, `DROP INDEX calls_by_key`} {
		x.exec(text)
	}
	x.fail(u.change(ctx, func(x *steps) {
		for _, t := range extracted {
			switch {
			case t.table == "runs":
				x.copyRows(db, t.table, `n > ?`, t.order, 0)
			case t.table == "sessions":
				x.copyRows(db, t.table, `run = ?`, t.order, run.N)
			}
		}
		x.exec(`UPDATE runs SET archive = NULL`)
		for _, f := range run.Archive.Files {
			if !slices.Contains(archivedTables, f.Table) { // earlier versions wrote the keys of answers too
				continue
			}
			x.fail(f.read(run.Archive.Dir, func(names []string, rows iter.Seq2[[]any, error]) error {
				x.insert(f.Table, names, rows)
				return x.err
			}))
		}
	}))
	x.exec(`PRAGMA journal_mode = WAL`) // as connections expect it
	if x.err != nil {
		return nil, errors.Join(x.err, u.Close())
	}
	u.sql.SetMaxOpenConns(8)
	return u, nil
}

// check compares the files with what the store says of them.
func (a *Archive) check(run *Run) error {
	for _, f := range a.Files {
		path := filepath.Join(a.Dir, f.File)
		sum, _, err := disk.Sum(path)
		if err == nil && sum != f.SHA256 {
			err = fmt.Errorf("%s: it is not the file that was written (its SHA-256 is %s, not %s)", path, sum, f.SHA256)
		}
		if err != nil {
			return fmt.Errorf("%w: the run is archived there: bring the files back; if they were moved, `scruple archive %s --to FOLDER` says where they are", err, run.ID)
		}
	}
	return nil
}

// read reads the rows of a file.
func (f ArchivedFile) read(dir string, do func(names []string, rows iter.Seq2[[]any, error]) error) error {
	path := filepath.Join(dir, f.File)
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	names, rows, err := columnar.Read(file, info.Size())
	if err == nil {
		err = do(names, rows)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Archive moves the rows of a finished run to Parquet files in a folder of dir. They are
// written and read back before the first row is removed, and a process that ends between any
// two steps leaves a run that is read as before: the next one goes on. Of a run that is
// archived already, dir is where its files are now.
func (db *DB) Archive(ctx context.Context, run *Run, dir, version string) error {
	dir, err := filepath.Abs(filepath.Join(dir, run.ID))
	if err != nil {
		return err
	}
	if err := db.refresh(ctx, run); err != nil {
		return err
	}
	archive := &Archive{Dir: dir}
	if run.Archive != nil {
		archive.Files, archive.Tally = run.Archive.Files, run.Archive.Tally
		if err := archive.check(run); err != nil {
			return err
		}
	} else {
		if archive.Tally, err = db.Tally(ctx, run); err != nil {
			return err
		}
		if archive.Trials != run.Trials {
			return fault(db.path, "run %s has %d of its %d trials: `scruple doctor` says more", run.ID, archive.Trials, run.Trials)
		}
		if archive.Done < archive.Trials {
			return fmt.Errorf("run %s is not finished: %d of %d trials have an outcome: finish it with `scruple run`, then archive it", run.ID, archive.Done, archive.Trials)
		}
		if err := db.claimFolder(ctx, run, dir); err != nil {
			return err
		}
		for _, table := range archivedTables {
			f, err := db.pack(ctx, run, dir, table, version)
			if err != nil {
				return err
			}
			archive.Files = append(archive.Files, f)
		}
	}
	if err := db.setArchive(ctx, run, archive); err != nil {
		return err
	}
	if err := db.removeRows(ctx, run); err != nil {
		return err
	}
	return db.engine.reclaim(ctx, db)
}

// refresh takes the lease of a run, and reads again where its rows are: another process may have
// archived it or moved the archive until then.
func (db *DB) refresh(ctx context.Context, run *Run) error {
	if err := db.keep(ctx, run, func(*steps) {}); err != nil {
		return err
	}
	now, err := db.Run(ctx, run.ID)
	if err == nil {
		run.Archive = now.Archive
	}
	return err
}

// setArchive records where the rows of a run are.
func (db *DB) setArchive(ctx context.Context, run *Run, archive *Archive) error {
	err := db.keep(ctx, run, func(x *steps) { x.exec(`UPDATE runs SET archive = ? WHERE n = ?`, archive.says(), run.N) })
	if err == nil {
		run.Archive = archive
	}
	return err
}

// claimFolder makes the folder of an archive, and refuses that of another run.
func (db *DB) claimFolder(ctx context.Context, run *Run, dir string) error {
	sum, err := one[int64](ctx, db, `SELECT coalesce(checksum, 0) FROM runs WHERE n = ?`, run.N)
	if err != nil {
		return err
	}
	owner := fmt.Appendf(nil, "{\"run\":%q,\"created\":%q,\"plan\":%d}\n", run.ID, run.CreatedAt.Format(time.RFC3339), sum)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(dir, "run.json")
	have, err := os.ReadFile(path)
	switch {
	case err == nil && !bytes.Equal(have, owner):
		return fmt.Errorf("%s has the archive of another run of this name: give another --to", dir)
	case err == nil:
		return nil
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	made := disk.File{Path: path, Mode: 0o600}
	if err := made.Check(); err != nil { // which removes what a killed process left of it
		return err
	}
	if some, err := os.ReadDir(dir); err != nil || len(some) > 0 {
		return errors.Join(err, fmt.Errorf("%s has other files: give another --to", dir))
	}
	return made.Write(disk.Bytes(owner))
}

// pack writes the rows of a table to a file and reads them back. The file is named by its content,
// so that it never takes the place of one that a store refers to, also a copy of this store.
func (db *DB) pack(ctx context.Context, run *Run, dir, table, version string) (f ArchivedFile, err error) {
	at, err := filepath.Abs(db.path)
	if err != nil {
		return f, err
	}
	host, _, _ := strings.Cut(Process(), ":") // copies of a store on two computers may have one path
	f = ArchivedFile{Table: table, File: fmt.Sprintf("%s.%x.new", table, uint64(eval.HashOf([]byte(host+":"+at))))}
	path := filepath.Join(dir, f.File)
	columns, rows := db.rowsOf(ctx, run, table)
	var types []columnar.Column
	written, sum := newChecksum(), int64(0)
	err = disk.File{Path: path, Mode: 0o600}.Write(func(w io.Writer) error {
		if types, err = columns(); err != nil {
			return err
		}
		row, end := columnar.Write(w, types, [][2]string{{"scruple.run", run.ID}, {"scruple.table", table}}, program, version)
		for values, err := range rows {
			if err != nil {
				return err
			}
			for i, v := range values {
				if is, flag := v.(bool); flag {
					values[i] = int64(0)
					if is {
						values[i] = int64(1)
					}
				}
			}
			written.add(values...)
			if err := row(values); err != nil {
				return err
			}
			f.Rows++
		}
		sum = written.sum()
		return end()
	})
	if err != nil {
		return f, fmt.Errorf("archiving the %s of run %s: %w", table, run.ID, err)
	}
	read, n := newChecksum(), 0
	if err := f.read(dir, func(_ []string, rows iter.Seq2[[]any, error]) error {
		for values, err := range rows {
			if err != nil {
				return err
			}
			read.add(values...)
			n++
		}
		return nil
	}); err != nil {
		return f, err
	}
	if n != f.Rows || read.sum() != sum {
		return f, fmt.Errorf("%s: the %d rows that were read back are not the %d that were written: nothing was removed from the store; check the disk, or give another --to", path, n, f.Rows)
	}
	if f.SHA256, f.Bytes, err = disk.Sum(path); err != nil {
		return f, err
	}
	f.File = fmt.Sprintf("%s-%.12s.parquet", table, f.SHA256)
	if err := os.Rename(path, filepath.Join(dir, f.File)); err != nil {
		return f, err
	}
	return f, disk.SyncFolder(dir)
}

// rowsOf yields the rows of a run in a table, and tells their columns.
func (db *DB) rowsOf(ctx context.Context, run *Run, table string) (columns func() ([]columnar.Column, error), rows iter.Seq2[[]any, error]) {
	t := extracted[slices.IndexFunc(extracted, func(t tableOf) bool { return t.table == table })]
	text := `SELECT x.* FROM ` + table + ` x WHERE x.run = ? ORDER BY ` + t.order
	if t.of == "trial" {
		text = `SELECT x.* FROM trials t CROSS JOIN ` + table + ` x ON x.trial = t.id WHERE t.run = ? ORDER BY t.id, x.` + strings.ReplaceAll(t.order, ", ", ", x.")
	}
	return func() (columns []columnar.Column, err error) {
		names, err := db.sql.QueryContext(ctx, `SELECT * FROM `+table+` LIMIT 0`)
		if err != nil {
			return nil, db.explain(err)
		}
		defer names.Close()
		types, err := names.ColumnTypes()
		for _, c := range types {
			kind := columnar.Text
			switch name := c.DatabaseTypeName(); {
			case slices.Contains([]string{"INTEGER", "INT8", "BOOL"}, name):
				kind = columnar.Int
			case slices.Contains([]string{"REAL", "FLOAT8"}, name):
				kind = columnar.Float
			case slices.Contains(repeating, c.Name()):
				kind = columnar.ID
			}
			columns = append(columns, columnar.Column{Name: c.Name(), Kind: kind})
		}
		return columns, db.explain(errors.Join(err, names.Err()))
	}, query(ctx, db, text, []any{run}, scanAll)
}

// atATime is how many trials one transaction removes.
const atATime = 10_000

// removeRows removes the rows of a run that is archived. The last trial, call and verdict of a
// store stay, so that their numbers are not given again.
func (db *DB) removeRows(ctx context.Context, run *Run) error {
	last, err := all[int64](ctx, db, `SELECT coalesce(max(id), 0) FROM trials WHERE id < `+firstBlock+` UNION SELECT trial FROM calls WHERE id = (SELECT max(id) FROM calls)
		UNION SELECT trial FROM verdicts WHERE id = (SELECT max(id) FROM verdicts)`)
	if err != nil {
		return err
	}
	var stays []any
	for _, id := range last {
		stays = append(stays, id)
	}
	if err := db.keep(ctx, run, func(x *steps) {
		if first := x.count(`SELECT coalesce(min(id), 0) FROM trials WHERE run = ?`, run.N); int64(first) >= blocks {
			db.engine.drop(x, int64(first))
		}
	}); err != nil {
		return err
	}
	for more := true; more; {
		err := db.keep(ctx, run, func(x *steps) {
			var to sql.NullInt64
			some := append([]any{run.N}, stays...)
			where := `run = ? AND id NOT IN (` + among(len(last)) + `)`
			x.get(`SELECT max(id) FROM (SELECT id FROM trials WHERE `+where+` ORDER BY id LIMIT `+fmt.Sprint(atATime)+`) AS t`, some, &to)
			if more = to.Valid; !more {
				x.exec(`DELETE FROM items WHERE run = ?`, run.N)
				x.exec(`DELETE FROM verdicts WHERE run = ? AND trial = 0 AND id < (SELECT max(id) FROM verdicts)`, run.N)
				return
			}
			some = append(some, to.Int64)
			for _, table := range archivedTables {
				if to.Int64 >= blocks {
					break
				}
				if i := slices.IndexFunc(extracted, func(t tableOf) bool { return t.table == table }); extracted[i].maps["trial"] != "" {
					x.exec(`DELETE FROM `+table+` WHERE trial IN (SELECT id FROM trials WHERE `+where+` AND id <= ?)`, some...)
				}
			}
			x.exec(`DELETE FROM trials WHERE `+where+` AND id <= ?`, some...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rescore replaces the scores in an archive. The files of the earlier ones stay: copies of the
// store may refer to them.
func (db *DB) rescore(ctx context.Context, run *Run, scores iter.Seq2[eval.Scored, error]) error {
	if err := db.refresh(ctx, run); err != nil {
		return err
	}
	u, err := db.withRows(ctx, run)
	if err != nil {
		return err
	}
	if err := u.ReplaceScores(ctx, run.here(), scores); err != nil {
		return err
	}
	archive := *run.Archive
	archive.Files = slices.Clone(archive.Files)
	for i, f := range archive.Files {
		if f.Table != "scores" && f.Table != "case_scores" {
			continue
		}
		if archive.Files[i], err = u.pack(ctx, run.here(), archive.Dir, f.Table, run.Version); err != nil {
			return err
		}
	}
	if err := db.setArchive(ctx, run, &archive); err != nil {
		return err
	}
	db.unpacked.mu.Lock()
	db.unpacked.open[archive.says()] = u // it has the new scores
	db.unpacked.mu.Unlock()
	return nil
}

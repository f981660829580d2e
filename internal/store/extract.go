package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
)

// An Extraction says what to copy of a store, and under which names.
type Extraction struct {
	Run       string // id
	StudyPath string // recorded with the run instead of its own
	// Others are ids of runs that the study of Run names; their runs are copied too.
	Others []string
	// Process is recorded instead of the host and number of each process.
	Process string
	// Hide are texts, such as the folder of a user, that are removed from the texts of
	// errors and from analyses.
	Hide []string
}

type tableOf struct {
	table, of string            // of: the column that selects rows
	maps      map[string]string // column: the map of its numbers
	order     string
}

// id is the column with the number of a row, which gets a new one; "" if it has none.
func (t tableOf) id() string {
	for _, column := range []string{"id", "n"} {
		if t.maps[column] != "" {
			return column
		}
	}
	return ""
}

// extracted are the tables of a store with their columns that name rows of other
// tables, in the order in which they are copied. Rows are selected by their run or
// trial.
var extracted = []tableOf{
	{"runs", "n", map[string]string{"n": "runs"}, "n"},
	{"items", "run", map[string]string{"run": "runs"}, "run, item"},
	{"trials", "run", map[string]string{"id": "trials", "run": "runs"}, "id"},
	{"calls", "trial", map[string]string{"id": "calls", "trial": "trials", "source": "calls", "source_run": "runs"}, "id"},
	{"outcomes", "trial", map[string]string{"trial": "trials"}, "trial"},
	{"verdicts", "run", map[string]string{"id": "verdicts", "run": "runs", "trial": "trials"}, "id"},
	{"judged", "trial", map[string]string{"trial": "trials"}, "trial"},
	{"scores", "trial", map[string]string{"trial": "trials"}, "trial"},
	{"case_scores", "trial", map[string]string{"trial": "trials"}, "trial"},
	{"analyses", "run", map[string]string{"run": "runs"}, "run"},
	{"events", "run", map[string]string{"id": "events", "run": "runs"}, "id"},
	{"sessions", "run", map[string]string{"id": "sessions", "run": "runs"}, "id"},
	{"attempts", "trial", map[string]string{"trial": "trials", "session": "sessions"}, "trial, session, n"},
	{"prompts", "trial", map[string]string{"trial": "trials"}, "trial, stage, model"},
}

// hiding are the columns in which the texts of Hide are replaced: messages of this
// program and of providers, and what is computed from them.
var hiding = []struct{ table, column string }{
	{"calls", "error"}, {"outcomes", "detail"}, {"verdicts", "error"}, {"analyses", "analysis"}, {"analyses", "verdict"}, {"events", "note"},
}

// Extract writes a run, with the runs from which it took answers, to a new store at
// path. The file depends on the content of these runs alone: rows are numbered anew,
// so that other runs of the store do not matter. It refuses a damaged store.
func (db *DB) Extract(ctx context.Context, path string, x Extraction) (err error) {
	if err := db.sound(ctx); err != nil {
		return err
	}
	runs, err := db.takenFrom(ctx, append([]string{x.Run}, x.Others...))
	if err != nil {
		return err
	}
	source, remove, err := db.engine.file(ctx, db, runs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	work := path + ".work"
	defer func() {
		for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
			os.Remove(work + suffix)
		}
	}()
	into, err := Open(ctx, work)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, into.Close()) }()
	into.sql.SetMaxOpenConns(1) // temporary tables belong to a connection
	c := &steps{ctx: ctx, on: into.sql}
	c.exec(`ATTACH DATABASE ? AS src`, source)
	c.exec(`BEGIN`)
	c.number(runs)
	for _, t := range extracted {
		c.copy(t)
	}
	c.exec(`UPDATE trials SET place = -id WHERE place < 0`)
	c.exec(`UPDATE runs SET study_path = ?`, x.StudyPath)
	c.exec(`UPDATE sessions SET process = ?`, x.Process)
	for _, h := range hiding {
		for _, text := range x.Hide {
			c.exec(fmt.Sprintf(`UPDATE %[1]s SET %[2]s = replace(%[2]s, ?, '') WHERE instr(%[2]s, ?) > 0`, h.table, h.column), text, text)
		}
	}
	c.exec(`UPDATE goose_db_version SET tstamp = '2000-01-01 00:00:00'`)
	c.checksums()
	c.exec(`COMMIT`)
	c.exec(`DETACH DATABASE src`)
	c.exec(`VACUUM INTO ?`, path)
	if c.err != nil {
		return db.explain(fmt.Errorf("copying run %s: %w", x.Run, c.err))
	}
	return os.Chmod(path, 0o600)
}

// sound returns an error for a store that is not as it was written.
func (db *DB) sound(ctx context.Context) error {
	if err := db.Damage(ctx); err != nil {
		return err
	}
	checked, err := db.checkCalls(ctx)
	if err == nil && checked.wrong > 0 {
		err = fault(db.path, "%w: an answer is not what was written (%s): `scruple doctor %s` lists more; restore a copy", errDamaged, checked.examples[0], db.path)
	}
	return err
}

// Sound returns an error if the file has other tables than a store, or is not as it
// was written. It reads the whole file.
func (db *DB) Sound(ctx context.Context) (err error) {
	list := func(db *DB) ([]string, error) {
		return all[string](ctx, db, `SELECT coalesce(sql, '') FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name`)
	}
	have, err := list(db)
	if err != nil {
		return err
	}
	fresh, err := openTemporary(ctx, "schema")
	if err != nil {
		return err
	}
	want, err := list(fresh)
	if err := errors.Join(err, fresh.Close()); err != nil {
		return err
	}
	if !slices.Equal(have, want) {
		return fault(db.path, "%w: its tables are not those of a store of Scruple", errDamaged)
	}
	return db.sound(ctx)
}

// number selects the runs to copy and gives new numbers to all rows.
func (c *steps) number(runs []*Run) {
	c.exec(`CREATE TEMP TABLE wanted (n INTEGER PRIMARY KEY)`)
	// Runs of which answers were taken, and those of which these took theirs.
	for _, r := range runs {
		c.exec(`INSERT OR IGNORE INTO temp.wanted VALUES (?)`, r.N)
	}
	for _, t := range extracted {
		id, wanted := t.id(), "SELECT n FROM temp.wanted"
		if id == "" {
			continue
		}
		if t.of == "trial" {
			wanted = "SELECT old FROM temp.map_trials"
		}
		// A row of map_trials for 0: a verdict on an item has no trial.
		c.exec(fmt.Sprintf(`CREATE TEMP TABLE map_%s (new INTEGER PRIMARY KEY, old INTEGER UNIQUE)`, t.table))
		c.exec(fmt.Sprintf(`INSERT INTO temp.map_%[1]s (new, old) SELECT row_number() OVER (ORDER BY %[2]s), %[2]s FROM src.%[1]s WHERE %[3]s IN (%[4]s) ORDER BY %[2]s`, t.table, id, t.of, wanted))
	}
	c.exec(`INSERT INTO temp.map_trials VALUES (0, 0)`)
}

// copy copies the wanted rows of a table with new numbers.
func (c *steps) copy(t tableOf) {
	columns := c.columns(t.table)
	values := make([]string, len(columns))
	for i, column := range columns {
		values[i] = "s." + column
		if m, ok := t.maps[column]; ok {
			values[i] = fmt.Sprintf("(SELECT new FROM temp.map_%s WHERE old = s.%s)", m, column)
		}
	}
	c.exec(fmt.Sprintf(`INSERT INTO main.%[1]s (%[2]s) SELECT %[3]s FROM src.%[1]s s WHERE s.%[4]s IN (SELECT old FROM temp.map_%[5]s) ORDER BY %[6]s`,
		t.table, strings.Join(columns, ", "), strings.Join(values, ", "), t.of, t.maps[t.of], t.order))
}

// columns lists the columns of a table, of whatever format the store has.
func (c *steps) columns(table string) []string {
	return c.names(`SELECT name FROM pragma_table_info(?) ORDER BY cid`, table)
}

// checksums replaces the checksums of calls, which cover the numbers of rows. The
// originals were checked. Those of plans cover no numbers, so they were copied.
func (c *steps) checksums() {
	sums := map[int64]int64{}
	for values := range each(c, `SELECT `+strings.Join(summedColumns, ", ")+`, id FROM calls WHERE checksum IS NOT NULL ORDER BY id`, nil, scanAll) {
		last := len(values) - 1
		s := newChecksum()
		s.add(values[:last]...)
		sums[values[last].(int64)] = s.sum()
	}
	for id, sum := range sums {
		c.exec(`UPDATE calls SET checksum = ? WHERE id = ?`, sum, id)
	}
}

// A Mention says in how many rows a column contains a text.
type Mention struct {
	Table, Column string
	Rows          int
}

// Mentions lists the columns that contain a text.
func (db *DB) Mentions(ctx context.Context, text string) (list []Mention, err error) {
	x := &steps{ctx: ctx, on: db.sql}
	for _, t := range extracted {
		for _, column := range x.columns(t.table) {
			if n := x.count(fmt.Sprintf(`SELECT count(*) FROM %s WHERE instr(%s, ?) > 0`, t.table, column), text); n > 0 {
				list = append(list, Mention{t.table, column, n})
			}
		}
	}
	return list, db.explain(x.err)
}

// orphans lists the tables of rows whose run or trial is gone. The call whose answer was taken
// may be in an archive.
func (db *DB) orphans(ctx context.Context) (tables []string, err error) {
	for _, t := range extracted {
		for _, name := range slices.Sorted(maps.Keys(t.maps)) {
			of := t.maps[name]
			if name == t.id() {
				continue
			}
			key := "id"
			if of == "runs" {
				key = "n"
			}
			text := fmt.Sprintf(`SELECT '%[1]s' FROM %[1]s x WHERE x.%[2]s <> 0 AND NOT EXISTS (SELECT 1 FROM %[3]s y WHERE y.%[4]s = x.%[2]s)`, t.table, name, of, key)
			if name == "source" {
				text += ` AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.n = x.source_run AND r.archive IS NOT NULL)`
			}
			rows, err := all[string](ctx, db, text)
			if err != nil {
				return tables, err
			}
			tables = append(tables, rows...)
		}
	}
	return tables, nil
}

// copied copies runs into a file.
func (db *DB) copied(ctx context.Context, runs []*Run) (file string, remove func() error, err error) {
	into, err := openTemporary(ctx, "shared")
	if err != nil {
		return "", nil, err
	}
	remove, into.remove = into.remove, nil
	defer func() {
		if err = errors.Join(err, into.Close()); err != nil {
			err = errors.Join(err, remove())
		}
	}()
	return address(into.path, url.Values{"mode": {"ro"}}), remove, into.change(ctx, func(x *steps) {
		for _, run := range runs {
			for _, t := range extracted {
				where, arg := t.of+` = ?`, any(run.N)
				if slices.Contains(archivedTables, t.table) {
					arg = run
				}
				if t.of == "trial" {
					where = `trial IN (SELECT id FROM trials WHERE run = ?)`
				}
				x.copyRows(db, t.table, where, t.order, arg)
			}
		}
		x.exec(`UPDATE runs SET archive = NULL`)
	})
}

// takenFrom finds runs, the first of which there must be, and those of which they took answers.
func (db *DB) takenFrom(ctx context.Context, ids []string) (list []*Run, err error) {
	for i, id := range ids {
		run, err := db.Run(ctx, id)
		if err != nil {
			if i > 0 && errors.Is(err, ErrNotFound) {
				continue
			}
			return nil, err
		}
		list = append(list, run)
	}
	for i := 0; i < len(list); i++ {
		sources, err := all[int64](ctx, db, `SELECT DISTINCT c.source_run FROM trials t JOIN calls c ON c.trial = t.id WHERE t.run = ? AND c.source_run IS NOT NULL ORDER BY 1`, list[i])
		if err != nil {
			return nil, err
		}
		for _, n := range sources {
			if slices.ContainsFunc(list, func(r *Run) bool { return r.N == n }) {
				continue
			}
			run, err := db.RunNumbered(ctx, n)
			if err != nil {
				return nil, err
			}
			list = append(list, run)
		}
	}
	return list, nil
}

// copyRows copies rows of a table of another store.
func (x *steps) copyRows(from *DB, table, where, order string, args ...any) {
	names := x.columns(table)
	x.insert(table, names, query(x.ctx, from, `SELECT `+strings.Join(names, ", ")+` FROM `+table+` WHERE `+where+` ORDER BY `+order, args, scanAll))
}

// insert writes rows of a table into a file.
func (x *steps) insert(table string, names []string, rows iter.Seq2[[]any, error]) {
	bytes := map[string]bool{}
	for _, name := range x.names(`SELECT name FROM pragma_table_info(?) WHERE type = 'BLOB'`, table) {
		bytes[name] = true
	}
	into := x.bulk(insert(table, strings.Join(names, ", ")))
	for values, err := range rows {
		if x.fail(err); x.err != nil {
			return
		}
		for i, name := range names {
			if s, ok := values[i].(string); ok && bytes[name] {
				values[i] = []byte(s)
			}
		}
		into.add(values...)
	}
	into.flush()
}

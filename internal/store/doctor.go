package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// A Check is what one examination of a store found.
type Check struct {
	Name  string `json:"check"`
	State string `json:"state"` // ok | warning | damaged
	Note  string `json:"note"`
}

// The states of a check.
const (
	CheckOK      = "ok"
	CheckWarning = "warning"
	CheckDamaged = "damaged"
)

// Examine checks a store without changing it: whether the file is sound, has a
// known format, and holds what was written; who can read it; and whether there is
// room for more. It reads the whole file. The error is for a store that does not
// exist, and for a server that cannot be asked.
func Examine(ctx context.Context, path string) ([]Check, error) {
	x := examination{ctx: ctx, path: path}
	var db *DB
	var err error
	if IsAddress(path) {
		if db, err = connect(ctx, path); err == nil {
			if err = db.engine.identify(ctx, db); err != nil {
				db.Close()
			}
		}
	} else if _, gone := os.Stat(path); errors.Is(gone, fs.ErrNotExist) {
		return nil, fault(path, "%w: run the study first", ErrNotFound)
	} else if err = regular(path); err != nil {
		return nil, err
	} else {
		db, err = readable(path, func(q url.Values) (*DB, error) { return identified(ctx, path, q) })
	}
	if err != nil && IsAddress(path) {
		return nil, err
	}
	if err != nil {
		x.failed("file", err)
		return x.checks, x.err
	}
	defer db.Close()
	x.add("file", CheckOK, "a store of Scruple")
	x.contents(db)
	db.engine.examine(&x, db)
	return x.checks, x.err
}

type examination struct {
	ctx    context.Context
	path   string
	checks []Check
	err    error // for which the store could not be read
}

func (x *examination) add(name, state, format string, args ...any) {
	x.checks = append(x.checks, Check{name, state, fmt.Sprintf(format, args...)})
}

func (x *examination) damaged(name, note string) { x.add(name, CheckDamaged, "%s", note) }

// failed adds an error as damage, unless it says nothing about what the store has.
func (x *examination) failed(name string, err error) {
	var e *Error
	var file *fs.PathError // of an archive
	switch {
	case errors.As(err, &file) && !errors.Is(err, fs.ErrNotExist):
		err = fault(x.path, "%w", err)
		fallthrough
	case x.ctx.Err() != nil, Unread(err), errors.As(err, &e) && e.Passes:
		x.err = cmp.Or(x.err, err)
		return
	}
	x.damaged(name, plain(err))
}

// found adds what was found: an error, or something wrong, is damage.
func (x *examination) found(name string, err error, wrong, right string) {
	switch {
	case err != nil:
		x.failed(name, err)
	case wrong != "":
		x.damaged(name, wrong)
	default:
		x.add(name, CheckOK, "%s", right)
	}
}

// plain returns the text of an error without the path of the store.
func plain(err error) string {
	var e *Error
	if errors.As(err, &e) {
		err = e.Err
	}
	return err.Error()
}

// summed is the first format whose plans and answers are checked.
const summed = 5

// contents checks what is in the file.
func (x *examination) contents(db *DB) {
	says, err := db.engine.integrity(x.ctx, db)
	x.found("integrity", err, strings.Join(says, "; "), "pages and indexes are sound")
	have, err := db.version(x.ctx)
	switch {
	case errors.Is(err, ErrNotFound):
		x.add("format", CheckWarning, "the store has no runs; if it was copied while a run wrote it, copy the file NAME-wal beside it too")
		return
	case err != nil:
		x.failed("format", err)
		return
	case have < summed:
		x.add("format", CheckWarning, "format %d of %d: migrated when it is next opened, until then there are no checksums", have, format)
		return
	case have < format: // tables and columns are missing
		x.add("format", CheckWarning, "format %d of %d: migrated when it is next opened", have, format)
		x.plans(db, `n > 0`)
		x.answers(db)
		return
	}
	x.add("format", CheckOK, "format %d", have)
	tables, err := db.orphans(x.ctx)
	wrong := ""
	if len(tables) > 0 {
		wrong = fmt.Sprintf("rows without their run or trial: %d, the first in table %s", len(tables), tables[0])
	}
	x.found("references", err, wrong, "every row's run and trial exist")
	x.plans(db, inStore)
	x.answers(db)
	x.archives(db)
}

// archives checks that the files of archived runs are there, as they were written.
func (x *examination) archives(db *DB) {
	runs, err := Collect(db.runs(x.ctx, `WHERE archive IS NOT NULL ORDER BY n`))
	if err != nil {
		x.failed("archives", err)
		return
	}
	sound := len(runs)
	for _, run := range runs {
		err := run.Archive.check(run)
		if n := run.Archive.Trials; err == nil && n != run.Trials {
			err = fmt.Errorf("run %s: its archive has %d of %d trials", run.ID, n, run.Trials)
		}
		if err != nil {
			x.failed("archives", err)
			sound--
		}
	}
	if sound > 0 {
		x.add("archives", CheckOK, "runs whose files are as written: %d", sound)
	}
}

// plans checks the plans of the runs that of selects.
func (x *examination) plans(db *DB, of string) {
	damaged, err := db.damagedPlans(x.ctx, of)
	wrong := strings.Join(damaged, ", ")
	if wrong != "" {
		wrong = "not what was written: " + wrong
	}
	x.found("plans", err, wrong, "items and trials of every run are as written")
}

func (x *examination) answers(db *DB) {
	a, err := db.checkCalls(x.ctx)
	lost, lostErr := db.lostCalls(x.ctx)
	err = errors.Join(err, lostErr)
	older := ""
	if a.unknown > 0 {
		older = fmt.Sprintf("; of an older version, without checksum: %d", a.unknown)
	}
	switch {
	case err != nil:
		x.failed("answers", err)
	case a.wrong > 0:
		x.add("answers", CheckDamaged, "calls not as written: %d, such as %s%s", a.wrong, strings.Join(a.examples, ", "), older)
	case len(lost) > 0:
		x.add("answers", CheckDamaged, "answers that came and are gone: %d, such as %s", len(lost), lost[0])
	default:
		x.add("answers", CheckOK, "calls as written: %d%s", a.right, older)
	}
}

// permissions warns if others can read the prompts and answers.
func (x *examination) permissions() {
	if runtime.GOOS == "windows" {
		return
	}
	info, err := os.Stat(x.path)
	switch {
	case err != nil:
		x.damaged("permissions", err.Error())
	case info.Mode().Perm()&0o077 != 0:
		x.add("permissions", CheckWarning, "other users may have access (mode %04o): chmod 600 %s", info.Mode().Perm(), x.path)
	case info.Mode().Perm()&0o600 != 0o600:
		x.add("permissions", CheckWarning, "its owner cannot read and write it (mode %04o): chmod 600 %s", info.Mode().Perm(), x.path)
	default:
		x.add("permissions", CheckOK, "mode %04o", info.Mode().Perm())
	}
}

// leastSpace is the free space below which a run may not end.
const leastSpace = 256 << 20

func (x *examination) space() {
	free, ok := freeSpace(filepath.Dir(x.path))
	switch {
	case !ok:
	case free < leastSpace:
		x.add("space", CheckWarning, "only %d MB free: a run may not end", free>>20)
	default:
		x.add("space", CheckOK, "%d MB free", free>>20)
	}
}

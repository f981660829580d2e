package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Workers is the holder of runs that were entrusted to workers. No process takes their lease
// until it is freed, and a worker writes such a run only while its fence holds.
const Workers = "workers"

// stopping stands in the lease of a run that workers are to give back.
const stopping = "stopping"

// ErrEntrusted is wrapped by the error of a process that would write a run of workers.
var ErrEntrusted = errors.New("workers are on it")

// A Fence returns an error unless this process may still write the run. It is the first
// statement of each transaction that does.
type Fence func(ctx context.Context, tx Querier) error

// A Tx is a transaction of PostgreSQL.
type Tx = pgx.Tx

// A Querier reads within a transaction.
type Querier interface {
	QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row
}

// Shared reports whether many processes may write the store at the same time.
func (db *DB) Shared() bool { _, is := db.engine.(*postgres); return is }

// Config returns how a worker connects to the database of a shared store, and the name of
// this opening of it, which tells its processes apart. From then on, the store's connections
// break when the server is silent.
func (db *DB) Config() (config *pgx.ConnConfig, holder string, err error) {
	p, is := db.engine.(*postgres)
	if !is {
		return nil, "", fault(db.path, "it is a file, and workers need a PostgreSQL database")
	}
	if config, err = configOf(db.path); err != nil {
		return nil, "", err
	}
	config.AfterNetConnect = p.link
	p.workers.Store(true)
	return config, p.holder, nil
}

// Await has this process wait for others that write a run of a shared store, instead of failing
// with [ErrLocked].
func (db *DB) Await() {
	if p, is := db.engine.(*postgres); is {
		p.awaits.Store(true)
	}
}

// InTurn does what no two processes may do in a store at the same time, such as to begin a run that
// begins once. It returns an error if it may not have been alone.
func (db *DB) InTurn(ctx context.Context, do func() error) (err error) {
	if !db.Shared() {
		return do() // the process has the lock of the file
	}
	lost := db.change(ctx, func(x *steps) {
		x.exec(`SELECT pg_advisory_xact_lock(CAST(CAST(to_regclass('runs') AS OID) AS BIGINT))`)
		if x.err == nil {
			end := db.engine.awake(x)
			err = do()
			end()
			x.fail(err)
		}
	})
	return cmp.Or(err, lost)
}

// Hold has this process write a run, and no other.
func (db *DB) Hold(ctx context.Context, run *Run) error { return db.keep(ctx, run, func(*steps) {}) }

// Vacant reports whether no other process writes a run of a shared store. It waits while that is not
// known, see [postgres.lease], and takes the run from a process that does not answer, which then
// writes no more. A store that is open for reading changes and waits for nothing.
func (db *DB) Vacant(ctx context.Context, run *Run) (bool, error) {
	p, is := db.engine.(*postgres)
	if !is {
		return true, nil
	}
	var holder string
	var lasts bool
	switch err := db.sql.QueryRowContext(ctx, `SELECT holder, until > clock_timestamp() FROM leases WHERE run = ?`, run.N).Scan(&holder, &lasts); {
	case errors.Is(err, sql.ErrNoRows) || holder == p.holder:
		return true, nil
	case err != nil:
		return false, db.explain(err)
	case lasts && runsHere(holder):
		return false, nil
	case !db.writes:
		return !lasts || Ended(holder), nil
	}
	err := p.lease(ctx, db, run)
	if errors.Is(err, ErrLocked) || errors.Is(err, ErrEntrusted) {
		return false, nil
	}
	if err == nil {
		err = p.giveBack(ctx, db, run)
	}
	return err == nil, db.explain(err)
}

// Entrusted reports whether workers have the run.
func (db *DB) Entrusted(ctx context.Context, run *Run) (bool, error) {
	if !db.Shared() {
		return false, nil
	}
	return one[bool](ctx, db, `SELECT EXISTS (SELECT 1 FROM leases WHERE run = ? AND holder = ?)`, run.N, Workers)
}

// OfWorkers returns the numbers of the runs that workers have and that are not to stop, each
// with the version of the program, a blank, and a text that differs whenever the run was
// entrusted again.
func (db *DB) OfWorkers(ctx context.Context) (map[int64]string, error) {
	return mapped[int64, string](ctx, db, `SELECT run, process FROM leases WHERE holder = ? AND process <> ?`, Workers, stopping)
}

// RunNumbered finds a run by its number.
func (db *DB) RunNumbered(ctx context.Context, n int64) (*Run, error) {
	return first(db.runs(ctx, `WHERE n = ?`, n), "run %d in store %s", n, db.path)
}

// AskToStop has workers begin nothing more of a run, and give its work back.
func (db *DB) AskToStop(ctx context.Context, run *Run) error {
	return db.change(ctx, func(x *steps) {
		x.exec(`UPDATE leases SET process = ? WHERE run = ? AND holder = ?`, stopping, run.N, Workers)
	})
}

// Entrust gives a run to workers of a version of the program, in one transaction with what
// enqueues its work.
func (db *DB) Entrust(ctx context.Context, run *Run, version string, enqueue func(ctx context.Context, tx Tx) error) error {
	p := db.engine.(*postgres)
	err := db.onConn(ctx, func(x *steps, tx Tx) {
		p.hold(x, db, run)
		x.exec(`DELETE FROM analyses WHERE run = ?`, run.N)
		if x.err == nil {
			x.fail(enqueue(ctx, tx))
		}
		p.still(x, run)
		x.exec(`UPDATE leases SET holder = ?, process = ?, until = '9999-01-01' WHERE run = ?`, Workers, version+" "+rand.Text(), run.N)
	})
	if err == nil {
		p.forget(run)
	}
	return err
}

// InOne takes steps in one transaction. It does not look who may write what.
func (db *DB) InOne(ctx context.Context, take func(ctx context.Context, tx Tx) error) error {
	return db.onConn(ctx, func(x *steps, tx Tx) { x.fail(take(ctx, tx)) })
}

// Explain adds a remedy to an error of the database.
func (db *DB) Explain(err error) error { return db.explain(err) }

// Locked locks the lease of a run of workers until the transaction ends, so that of two that
// end the last two parts of a stage, the second sees what the first did. It reports whether
// workers still have the run.
func Locked(ctx context.Context, tx Tx, run *Run) (bool, error) {
	tag, err := tx.Exec(ctx, `SELECT 1 FROM leases WHERE run = $1 AND holder = $2 FOR UPDATE`, run.N, Workers)
	return tag.RowsAffected() > 0, err
}

// Free ends that workers have a run, in the transaction that ends its work.
func Free(ctx context.Context, tx Tx, run *Run) error {
	_, err := tx.Exec(ctx, `DELETE FROM leases WHERE run = $1 AND holder = $2`, run.N, Workers)
	return err
}

// Join lets this process write a run of workers while the fence holds; nil ends it.
func (db *DB) Join(run *Run, fence Fence) {
	p := db.engine.(*postgres)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fences == nil {
		p.fences = map[int64]Fence{}
	}
	if p.fences[run.N] = fence; fence == nil {
		delete(p.fences, run.N)
	}
}

// fence returns that of a run in which this process takes part, nil if it does not.
func (p *postgres) fence(run *Run) Fence {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fences[run.N]
}

// onConn takes steps in one transaction of one connection, also as pgx has it.
func (db *DB) onConn(ctx context.Context, take func(x *steps, tx Tx)) error {
	conn, err := db.sql.Conn(ctx)
	if err != nil {
		return db.explain(err)
	}
	defer conn.Close()
	x := &steps{ctx: ctx, on: conn}
	x.exec(db.engine.begin())
	tx, err := transaction(conn)
	if x.fail(err); x.err == nil {
		take(x, tx)
	}
	if x.exec("COMMIT"); x.err != nil {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	}
	return db.explain(x.err)
}

// A begun is the transaction of a connection that was begun by a statement, for River, which
// wants one of pgx. Who began it ends it.
type begun struct{ *pgxConn }

type pgxConn = pgx.Conn

func (begun) Commit(context.Context) error   { return errOfStore }
func (begun) Rollback(context.Context) error { return errOfStore }
func (begun) LargeObjects() pgx.LargeObjects { return pgx.LargeObjects{} }
func (t begun) Conn() *pgx.Conn              { return t.pgxConn }

var errOfStore = errors.New("the store ends its transactions itself")

func transaction(conn *sql.Conn) (tx Tx, err error) {
	err = conn.Raw(func(c any) error {
		of, is := c.(postgresConn)
		if !is {
			return fmt.Errorf("a connection of type %T has no transaction of PostgreSQL", c)
		}
		tx = begun{of.Conn.Conn()}
		return nil
	})
	return tx, err
}

// A Count is what an arm has of a run.
type Count struct {
	Arm                  string
	Done, Failed, Judged int // trials
}

// CountDone counts the trials that have an outcome, by arm.
func (db *DB) CountDone(ctx context.Context, run *Run) ([]Count, error) {
	return all[Count](ctx, db, `SELECT t.arm, count(o.trial), count(*) FILTER (WHERE o.kind = 'failed'), count(j.trial) FROM trials t
		LEFT JOIN outcomes o ON o.trial = t.id LEFT JOIN judged j ON j.trial = t.id WHERE `+inPlan+` GROUP BY t.arm`, run)
}

// A StudyFile is a file that a study reads, by its path from the folder of the study.
type StudyFile struct {
	Path string
	Mode fs.FileMode
	Data []byte
}

// KeepFiles keeps the files that the study of a run reads, each content once.
func (db *DB) KeepFiles(ctx context.Context, run *Run, files iter.Seq2[StudyFile, error]) error {
	return db.change(ctx, func(x *steps) {
		if db.Shared() { // else a file that another process has just referred to could be removed
			x.exec(`LOCK TABLE files IN SHARE ROW EXCLUSIVE MODE`)
		}
		x.exec(`DELETE FROM files_of_runs WHERE run = ?`, run.N)
		for f, err := range files {
			if x.fail(err); x.err != nil {
				return
			}
			hash := eval.HashOf(f.Data).String()
			x.exec(`INSERT INTO files (hash, data) VALUES (?, ?) ON CONFLICT DO NOTHING`, hash, f.Data)
			x.exec(`INSERT INTO files_of_runs (run, path, mode, hash) VALUES (?, ?, ?, ?)`, run.N, f.Path, int(f.Mode.Perm()), hash)
		}
		x.exec(`DELETE FROM files WHERE hash NOT IN (SELECT hash FROM files_of_runs)`)
	})
}

// Files yields the files that the study of a run reads; none where the store does not keep
// them.
func (db *DB) Files(ctx context.Context, run *Run) iter.Seq2[StudyFile, error] {
	return rows[StudyFile](ctx, db, `SELECT r.path, r.mode, f.data FROM files_of_runs r JOIN files f ON f.hash = r.hash WHERE r.run = ? ORDER BY r.path`, run.N)
}

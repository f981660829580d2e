package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// IsAddress reports whether a store is named by the address of a PostgreSQL database.
func IsAddress(path string) bool {
	return strings.HasPrefix(path, "postgres://") || strings.HasPrefix(path, "postgresql://")
}

// A postgres is the engine of a shared database. Many processes write, each its own runs: a
// process holds the lease of a run that it writes, and each of its transactions checks that
// it still does.
type postgres struct {
	holder string // this opening of the store

	mu     sync.Mutex
	held   map[int64]bool
	fences map[int64]Fence // of runs of workers in which this process takes part
	renew  func()          // ends the renewal of leases
	leases time.Duration

	workers  atomic.Bool  // this process takes part in runs of workers
	awaits   atomic.Bool  // it waits for other writers, see [DB.Await]
	patience atomic.Int64 // of its links, see [DB.Patient]
}

// leaseTime is how long a run is kept for a process that no longer says that it is there.
const leaseTime = 30 * time.Second

// addresses are those with passwords, by the name that is shown, so that a store can be
// opened again by its [DB.Path].
var addresses sync.Map

// divided matches an address in which a password with an unencoded /, ? or # may seem to be a
// port and what follows it, or a host.
var divided = regexp.MustCompile(`(?s)://.*#|://[^/?]*[/?].*@`)

// Remember returns the name of an address, by which this process can open the store.
func Remember(address string) (name string, err error) {
	u, err := url.Parse(address)
	if err == nil {
		_, err = pgx.ParseConfig(address)
	}
	if err != nil || divided.MatchString(address) { // whose text may have the password
		return "", errors.New("--store: the address cannot be read: want postgres://USER@HOST:PORT/DATABASE; characters such as @ and / in a password must be encoded, as %40 and %2F")
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	q.Del("password")
	q.Del("sslpassword")
	u.RawQuery = q.Encode()
	name = u.String()
	if _, known := addresses.Load(name); !known || name != address {
		addresses.Store(name, address)
	}
	return name, nil
}

const mostConnections = 8 // an export reads six tables side by side

func connect(ctx context.Context, address string) (*DB, error) {
	name, err := Remember(address)
	if err != nil {
		return nil, err
	}
	config, err := configOf(name)
	if err != nil {
		return nil, err
	}
	p := &postgres{holder: fmt.Sprintf("%s %d %s", machine(), os.Getpid(), rand.Text()), held: map[int64]bool{}, leases: leaseTime}
	config.AfterNetConnect = p.link
	db := &DB{path: name, sql: sql.OpenDB(postgresConnector{stdlib.GetConnector(*config)}), engine: p}
	db.sql.SetMaxOpenConns(mostConnections)
	db.sql.SetMaxIdleConns(mostConnections)
	db.sql.SetConnMaxIdleTime(time.Minute)
	if err := db.sql.PingContext(ctx); err != nil {
		db.sql.Close()
		return nil, db.explain(err)
	}
	return db, nil
}

// configOf returns how to connect to a store by the name of its address.
func configOf(name string) (*pgx.ConnConfig, error) {
	known, _ := addresses.Load(name)
	config, err := pgx.ParseConfig(known.(string))
	if err != nil {
		return nil, fault(name, "the address cannot be read")
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 15 * time.Second
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "scruple"
	}
	// A process that stands still within a transaction would keep its rows from all others.
	if key := "idle_in_transaction_session_timeout"; config.RuntimeParams[key] == "" {
		config.RuntimeParams[key] = strconv.FormatInt(leaseTime.Milliseconds(), 10)
	}
	// That of a journal is idle while models answer. PostgreSQL 13 has no such limit.
	if key := "idle_session_timeout"; config.RuntimeParams[key] == "" {
		config.AfterConnect = func(ctx context.Context, c *pgconn.PgConn) error {
			return c.Exec(ctx, `SELECT set_config(name, '0', false) FROM pg_settings WHERE name = '`+key+`'`).Close()
		}
	}
	return config, nil
}

func openAddress(ctx context.Context, address string, writes bool) (*DB, error) {
	db, err := connect(ctx, address)
	if err != nil {
		return nil, err
	}
	db.writes = writes
	if writes {
		err = db.migrate(ctx)
	} else if err = db.engine.identify(ctx, db); err == nil {
		var have int64
		have, err = db.version(ctx)
		for try := 0; err == nil && have < format && try < 20; try++ { // another process may be at it
			time.Sleep(50 * time.Millisecond)
			have, err = db.version(ctx)
		}
		if err == nil && have < format {
			err = fault(db.path, "%w, %d of %d: `scruple run` with this version migrates it", ErrOlder, have, format)
		}
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

func (*postgres) dialect() (string, goose.Dialect) { return "postgres", goose.DialectPostgres }

func (*postgres) begin() string { return "BEGIN" }

func (*postgres) migrating() []goose.ProviderOption {
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		panic("store: " + err.Error()) // it has no options
	}
	return []goose.ProviderOption{goose.WithSessionLocker(locker)}
}

// storeComment marks the tables of a store; see migrations/postgres.
const storeComment = "a store of Scruple"

func (*postgres) identify(ctx context.Context, db *DB) error {
	var schema, comment string
	var tables int
	err := db.sql.QueryRowContext(ctx, `SELECT coalesce(current_schema(), ''), (SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'goose_db_version'),
		coalesce(obj_description(to_regclass('runs'), 'pg_class'), '')`).Scan(&schema, &tables, &comment)
	switch {
	case err != nil:
		return db.explain(err)
	case schema == "":
		return fault(db.path, "the schema of the address does not exist, or the user may not use it: CREATE SCHEMA, or GRANT USAGE, CREATE ON SCHEMA")
	case tables > 0 && comment != storeComment:
		return fault(db.path, "%w: give an empty database, or a schema of its own with ?search_path=NAME", errForeign)
	}
	return nil
}

func (*postgres) hasTable(ctx context.Context, db *DB, name string) (bool, error) {
	return one[bool](ctx, db, `SELECT to_regclass(?) IS NOT NULL`, name)
}

// alone lets one process at a time number runs and trials. Readers do not wait for it.
func (*postgres) alone(x *steps) { x.exec(`LOCK TABLE runs IN SHARE ROW EXCLUSIVE MODE`) }

// hold takes the lease of a run, once, and fails where another process took it since. It locks
// nothing, so that the lease is renewed while the transaction takes long.
func (p *postgres) hold(x *steps, db *DB, run *Run) {
	if x.err != nil {
		return
	}
	if fence := p.fence(run); fence != nil {
		x.fail(fence(x.ctx, x.on))
		return
	}
	p.mu.Lock()
	held := p.held[run.N]
	p.mu.Unlock()
	if !held {
		x.fail(p.lease(x.ctx, db, run))
	}
	p.mine(x, run, "")
}

// still checks that the process still has the lease, and locks it until the transaction ends, so
// that nobody takes the run before it is written.
func (p *postgres) still(x *steps, run *Run) {
	if x.err == nil && p.fence(run) == nil {
		p.mine(x, run, " FOR SHARE")
	}
}

func (p *postgres) mine(x *steps, run *Run, lock string) {
	mine := 0
	if x.get(`SELECT 1 FROM leases WHERE run = ? AND holder = ?`+lock, []any{run.N, p.holder}, &mine); errors.Is(x.err, sql.ErrNoRows) {
		x.err = fmt.Errorf("run %s: %w: this one did not answer for %v, so that it lost the run; what it did not write is lost. Run the same command again when the other has ended", run.ID, ErrLocked, p.leases)
	}
}

// machine identifies the processes that this one can see, "" where that is not known.
func machine() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, errSpace := os.Readlink("/proc/self/ns/pid")
	if err != nil || errSpace != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + "/" + space
}

// Ended reports whether a holder is a process of this machine that has ended.
func Ended(holder string) bool { return errors.Is(signalled(holder), os.ErrProcessDone) }

// runsHere reports whether a holder is a process of this machine that has not ended.
func runsHere(holder string) bool { return signalled(holder) == nil }

// signalled returns the error of a signal without effect to a holder, or that this machine cannot
// see it.
func signalled(holder string) error {
	words := strings.Split(holder, " ")
	if len(words) != 3 || words[0] == "" || words[0] != machine() {
		return errElsewhere
	}
	pid, err := strconv.Atoi(words[1])
	if err != nil {
		return err
	}
	of, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return of.Signal(syscall.Signal(0))
}

var errElsewhere = errors.New("the process may be on another machine")

// lease waits for the lease of a run while the process that has it does not renew it.
func (p *postgres) lease(ctx context.Context, db *DB, run *Run) error {
	var first time.Time
	var holder, other string
	for {
		var until time.Time
		err := db.sql.QueryRowContext(ctx, `INSERT INTO leases (run, holder, process, until) VALUES (?, ?, ?, clock_timestamp() + make_interval(secs => ?))
			ON CONFLICT (run) DO UPDATE SET (holder, process, until) = (excluded.holder, excluded.process, excluded.until)
			WHERE leases.until < clock_timestamp() OR leases.holder = ? RETURNING until`, run.N, p.holder, Process(), p.leases.Seconds(), holder).Scan(&until)
		if err == nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.held[run.N] = true
			if p.renew == nil {
				p.keep(db)
			}
			return nil
		}
		if errors.Is(err, sql.ErrNoRows) {
			err = db.sql.QueryRowContext(ctx, `SELECT holder, process, until FROM leases WHERE run = ?`, run.N).Scan(&holder, &other, &until)
		}
		if err == nil && Ended(holder) {
			continue // and take it
		}
		if err == nil && holder == Workers {
			return fmt.Errorf("run %s: %w: `scruple run` takes part, and `scruple stop %s` ends their work first", run.ID, ErrEntrusted, run.ID)
		}
		holder = ""
		switch {
		case errors.Is(err, sql.ErrNoRows): // it was given back meanwhile
			continue
		case err != nil:
			return err
		case first.IsZero():
			first = until
		case !until.Equal(first) && !p.awaits.Load():
			return fmt.Errorf("run %s: %w: %s", run.ID, ErrLocked, other)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(p.leases / 60):
		}
	}
}

// giveBack ends the lease of a run.
func (p *postgres) giveBack(ctx context.Context, db *DB, run *Run) error {
	p.forget(run)
	_, err := db.sql.ExecContext(ctx, `DELETE FROM leases WHERE run = ? AND holder = ?`, run.N, p.holder)
	return err
}

// forget makes this process take the lease of a run again before it writes.
func (p *postgres) forget(run *Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.held, run.N)
}

// keep renews the leases until the store is closed.
func (p *postgres) keep(db *DB) {
	p.renew = p.often(func(ctx context.Context) {
		// A lease that cannot be renewed ends, and commits say so.
		within, end := context.WithTimeout(ctx, p.leases/3)
		defer end()
		_, _ = db.sql.ExecContext(within, `UPDATE leases SET until = clock_timestamp() + make_interval(secs => ?) WHERE holder = ?`, p.leases.Seconds(), p.holder)
	})
}

// awake lets the server tell a process that works from one that stands still, whose transactions
// it ends, see [configOf].
func (p *postgres) awake(x *steps) func() {
	return p.often(func(context.Context) {
		_, _ = x.on.ExecContext(x.ctx, `SELECT 1`) // if it fails, the next statement does
	})
}

// often does something a few times in the time of a lease, until the end, which waits for it.
func (p *postgres) often(do func(ctx context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		beat := time.NewTicker(p.leases / 6)
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
				do(ctx)
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// The trials of a run of many have ids of a block of their own, from blocks on, so that what is
// recorded of them is in partitions, see migrations/postgres.
const (
	blocks     int64 = 1 << 40
	block      int64 = 1 << 32
	firstBlock       = "1099511627776" // blocks, in SQL
)

// manyTrials is the least number for which partitions are worth it.
var manyTrials = 1_000_000

// partitioned are the tables that have partitions by trial.
var partitioned = []string{"calls", "outcomes", "verdicts", "judged", "scores", "case_scores", "attempts", "prompts"}

func partition(table string, first int64) string {
	return fmt.Sprintf("%s_%d", table, (first-blocks)/block)
}

// room makes partitions for a run of many trials, unless the tables are busy for so long that
// other runs would wait for it, or belong to another user.
func (*postgres) room(ctx context.Context, db *DB, trials int) (first int64, err error) {
	if trials < manyTrials {
		return 0, nil
	}
	err = db.change(ctx, func(x *steps) {
		x.get(`SELECT nextval('blocks')`, nil, &first)
		first = blocks + first*block
		x.exec(`SET LOCAL lock_timeout = '3s'`)
		for _, table := range partitioned {
			x.exec(fmt.Sprintf(`CREATE TABLE %s PARTITION OF %s FOR VALUES FROM (%d) TO (%d)`, partition(table, first), table, first, first+block))
		}
	})
	var no *pgconn.PgError
	if errors.As(err, &no) && (no.Code == "55P03" || no.Code == "42501") {
		return 0, nil
	}
	return first, err
}

// drop leaves the partitions of another user, whose rows are then removed as those of other runs.
func (*postgres) drop(x *steps, first int64) {
	for _, table := range partitioned {
		x.exec(`DO $$ BEGIN DROP TABLE IF EXISTS ` + partition(table, first) + `; EXCEPTION WHEN insufficient_privilege THEN NULL; END $$`)
	}
}

func (p *postgres) release(db *DB) error {
	if p.renew == nil {
		return nil
	}
	p.renew()
	ctx, end := context.WithTimeout(context.Background(), 5*time.Second)
	defer end()
	_, _ = db.sql.ExecContext(ctx, `DELETE FROM leases WHERE holder = ?`, p.holder) // else they end by themselves
	return nil
}

func (*postgres) writing(ctx context.Context, db *DB, run *Run) (writes bool) {
	writes, _ = one[bool](ctx, db, `SELECT EXISTS (SELECT 1 FROM leases WHERE run = ? AND until > clock_timestamp())`, run.N)
	return writes
}

// watch hashes the transactions that are visible: those of other databases of the server count
// too. Any connection has the same number.
func (*postgres) watch(_ context.Context, db *DB) (*Watch, error) {
	return &Watch{func(ctx context.Context) (int64, error) {
		return one[int64](ctx, db, `SELECT hashtextextended(CAST(pg_current_snapshot() AS TEXT), 0)`)
	}, func() error { return nil }}, nil
}

func (*postgres) integrity(context.Context, *DB) ([]string, error) { return nil, nil }

func (*postgres) examine(x *examination, db *DB) {
	version, err := one[string](x.ctx, db, `SHOW server_version`)
	if err != nil {
		x.damaged("server", plain(err))
		return
	}
	x.add("server", CheckOK, "PostgreSQL %s", version)
}

// file copies the runs of an extraction into a file.
func (*postgres) file(ctx context.Context, db *DB, runs []*Run) (path string, remove func() error, err error) {
	return db.copied(ctx, runs)
}

// reclaim lets new rows have the room of those that were removed.
func (*postgres) reclaim(ctx context.Context, db *DB) error {
	_, err := db.sql.ExecContext(ctx, `VACUUM (ANALYZE) `+strings.Join(archivedTables, ", "))
	return db.explain(err)
}

// explain adds a remedy to an error of PostgreSQL.
func (*postgres) explain(path string, err error) error {
	var e *pgconn.PgError
	var network net.Error
	remedy := ""
	const again = "; recorded answers are safe, and the same command goes on"
	switch {
	case errors.As(err, &e):
		switch {
		case e.Code == "28P01" || e.Code == "28000":
			remedy = ": check the user, and the password in PGPASSFILE, PGPASSWORD or the address"
		case e.Code == "3D000":
			remedy = ": create the database first"
		case e.Code == "42501":
			remedy = ": the user needs the right to create tables, once, and to read and write them and their sequences: " +
				"GRANT CREATE, USAGE ON SCHEMA; where another user made the tables, let both be members of the role that owns them (docs/scale.md)"
		case e.Code == "53100":
			remedy = ": the disk of the server is full: free some space" + again
		case e.Code == "53300":
			remedy = ": the server allows no more connections: raise its max_connections, or end other programs" + again
		case e.Code == "08P01" && strings.Contains(e.Message, "startup parameter"), e.Code == "26000", e.Code == "42P05":
			remedy = ": a pooler such as PgBouncer in transaction mode keeps no settings and prepared statements of a connection: connect to the server itself, or to a pool in session mode"
		case strings.HasPrefix(e.Code, "40"): // a deadlock, for example
			remedy = ": another process was in the way" + again
		case strings.HasPrefix(e.Code, "57P"), strings.HasPrefix(e.Code, "08"):
			remedy = ": the server stops or restarts: wait until it is back" + again
		case e.Code == "25006":
			remedy = ": the database is read-only, as a replica is: give the address of the primary, or wait until the server has taken over" + again
		case e.Code == "25P03":
			remedy = ": this process stood still within a transaction" + again
		}
	case errors.As(err, &network), errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone), pgconn.SafeToRetry(err), errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrUnexpectedEOF),
		strings.Contains(err.Error(), "conn closed"): // which has no value
		remedy = ": the server cannot be reached: check the address and that it runs" + again
	}
	return &Error{path, fmt.Errorf("%w%s", err, remedy), strings.HasSuffix(remedy, again), e != nil && e.Code == "53100"}
}

// A postgresConn sends the queries of this package to PostgreSQL, which are written for
// SQLite: ? becomes $1, and CROSS JOIN, which keeps SQLite from reading tables in another
// order, becomes JOIN.
type postgresConn struct{ *stdlib.Conn }

type postgresConnector struct{ driver.Connector }

func (c postgresConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return postgresConn{conn.(*stdlib.Conn)}, nil
}

func (c postgresConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	return c.Conn.PrepareContext(ctx, rewritten(text))
}

func (c postgresConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.ExecContext(ctx, rewritten(text), args)
}

func (c postgresConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.QueryContext(ctx, rewritten(text), args)
}

// CheckNamedValue sends what a model may have written as bytes. Other text must be text.
func (c postgresConn) CheckNamedValue(v *driver.NamedValue) (err error) {
	if s, ok := v.Value.(modelText); ok {
		v.Value = []byte(s)
		return nil
	}
	if v.Value, err = driver.DefaultParameterConverter.ConvertValue(v.Value); err != nil {
		return err
	}
	if s, ok := v.Value.(string); ok && (!utf8.ValidString(s) || strings.ContainsRune(s, 0)) {
		return fmt.Errorf("the text %q has bytes that PostgreSQL cannot store: ids and names must be UTF-8 without NUL", s)
	}
	return nil
}

// texts are rewritten queries; this package has some hundred.
var texts sync.Map

func rewritten(text string) string {
	if known, ok := texts.Load(text); ok {
		return known.(string)
	}
	var b strings.Builder
	n, quoted := 0, false
	for _, c := range strings.ReplaceAll(text, "CROSS JOIN", "JOIN") {
		switch {
		case c == '\'':
			quoted = !quoted
		case c == '?' && !quoted:
			n++
			b.WriteString("$" + strconv.Itoa(n))
			continue
		}
		b.WriteRune(c)
	}
	texts.Store(text, b.String())
	return b.String()
}

//go:build e2e

package e2e

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/postgrestest"
)

// A memoStudy is a study that one process on a file has done.
type memoStudy struct {
	t              *testing.T
	url, path      string
	want           string // scores
	quiet, asked   int    // requests before, and of the study
	scruple, store string
}

const badConcurrency = 8

func newMemoStudy(t *testing.T, documents int) *memoStudy {
	t.Helper()
	return newMemoStudyOf(t, documents, badConcurrency, "-latency", "50ms", "-wrong", "0.1", "-pad", "1000")
}

// newMemoStudyOf is newMemoStudy with so many calls in flight, and a fake provider with flags.
func newMemoStudyOf(t *testing.T, documents, concurrency int, flags ...string) *memoStudy {
	t.Helper()
	m := &memoStudy{t: t, scruple: findScruple(t), asked: documents}
	url, stop, err := startFake(findFake(t), flags...)
	must(t, err)
	t.Cleanup(stop)
	m.url = url
	execution := fmt.Sprintf("{concurrency: %d, retries: [10ms], timeout: 2s}", concurrency)
	calm := invoices(t, t.TempDir(), url, documents, execution)
	output(t, m.scruple, "run", calm)
	m.want = figures(t, m.scruple, calm)
	m.quiet = statsOf(t, url).Requests
	m.path = invoices(t, t.TempDir(), url, documents, execution)
	return m
}

// refused runs the study, which must fail with these words, and never with the password.
func (m *memoStudy) refused(code int, words string, args ...string) {
	m.t.Helper()
	got, out := attempt(m.t, m.scruple, append(args, "--store", m.store)...)
	if got != code || !strings.Contains(out, words) {
		m.t.Errorf("scruple %s: exit code %d, want %d and %q:\n%s", strings.Join(args, " "), got, code, words, out)
	}
	if strings.Contains(out, "secret-word") {
		m.t.Errorf("scruple %s shows the password:\n%s", strings.Join(args, " "), out)
	}
}

// goesOn runs the study to its end, by the same command.
func (m *memoStudy) goesOn(repeats int) {
	m.t.Helper()
	output(m.t, m.scruple, "run", m.path, "--store", m.store)
	if got := figures(m.t, m.scruple, m.path, "--store", m.store); got != m.want {
		m.t.Error("the scores or the report differ from those of an undisturbed run")
	}
	if repeated := statsOf(m.t, m.url).Requests - m.quiet - m.asked; repeated < 0 || repeated > repeats {
		m.t.Errorf("%d requests repeated, want at most %d", repeated, repeats)
	}
	output(m.t, m.scruple, "doctor", m.path, "--store", m.store)
}

// while runs the study, and something when it has sent some requests. The run must fail then.
func (m *memoStudy) while(do func(), code int, words string) {
	m.t.Helper()
	done := make(chan bool)
	go func() {
		defer close(done)
		m.refused(code, words, "run", m.path)
	}()
	for statsOf(m.t, m.url).Requests < m.quiet+100 {
		select {
		case <-done:
			m.t.Fatal("the run ended too early")
		case <-time.After(5 * time.Millisecond):
		}
	}
	do()
	<-done
}

// connect is a connection of another program.
func connect(t *testing.T, address string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", address)
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

// query reads one value.
func query(t *testing.T, address, text string) (v string) {
	t.Helper()
	must(t, connect(t, address).QueryRow(text).Scan(&v))
	return v
}

// Whatever is wrong with the store, it is said with a remedy and without the password, nothing
// is lost or asked twice, and the same command goes on afterwards.
func TestAStoreThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	t.Cleanup(s.Stop)
	t.Run("wrong password", func(t *testing.T) {
		t.Parallel()
		m, right := newMemoStudy(t, 20), s.Database(t)
		m.store = strings.Replace(right, "secret-word", "wrong-secret-word", 1)
		m.refused(exitInfrastructure, "check the user, and the password", "run", m.path)
		m.refused(exitInfrastructure, "check the user, and the password", "worker")
		m.refused(exitInfrastructure, "check the user, and the password", "doctor", m.path)
		m.store = right
		m.goesOn(0)
	})
	t.Run("no right", func(t *testing.T) {
		t.Parallel()
		m, owner := newMemoStudy(t, 20), s.Schema(t)
		schema := owner[strings.LastIndex(owner, "=")+1:]
		s.Exec(t, "postgres", "CREATE USER member PASSWORD 'secret-word-too'")
		s.Exec(t, "postgres", "GRANT USAGE ON SCHEMA "+schema+" TO member")
		m.store = strings.Replace(owner, "scruple:secret-word", "member:secret-word-too", 1)
		m.refused(exitInfrastructure, "GRANT CREATE, USAGE ON SCHEMA", "run", m.path)
		s.Exec(t, "postgres", "GRANT CREATE ON SCHEMA "+schema+" TO member")
		m.goesOn(0)
	})
	t.Run("another program", func(t *testing.T) {
		t.Parallel()
		m, taken := newMemoStudy(t, 20), s.Database(t)
		_, err := connect(t, taken).Exec("CREATE TABLE orders (id INT); INSERT INTO orders VALUES (7); CREATE SCHEMA ours")
		must(t, err)
		m.store = taken
		m.refused(exitInfrastructure, "the database is of another program", "run", m.path)
		m.refused(exitInfrastructure, "the database is of another program", "worker", "--once")
		if got := query(t, taken, "SELECT string_agg(tablename, ' ') || (SELECT id FROM orders) FROM pg_tables WHERE schemaname = 'public'"); got != "orders7" {
			t.Errorf("the database of another program has now %s", got)
		}
		m.store = taken + "&search_path=ours"
		m.goesOn(0)
	})
	t.Run("schemas", func(t *testing.T) {
		t.Parallel()
		m := newMemoStudy(t, 300)
		m.store = s.Database(t)
		output(t, m.scruple, "run", m.path, "--detach", "--store", m.store)
		ended := make(chan int)
		go func() {
			code, _ := attempt(t, m.scruple, "worker", "--once", "--store", m.store)
			ended <- code
		}()
		for statsOf(t, m.url).Requests < m.quiet+100 {
			time.Sleep(5 * time.Millisecond)
		}
		output(t, m.scruple, "stop", m.path, "--store", m.store)
		if code := <-ended; code != exitOK {
			t.Errorf("a worker whose run was stopped: exit code %d", code)
		}
		db := connect(t, m.store)
		_, err := db.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)")
		must(t, err)
		for _, args := range [][]string{{"run", m.path}, {"worker", "--once"}, {"report", m.path}} {
			m.refused(exitInfrastructure, "format 99, but this program supports formats up to", args...)
		}
		_, err = db.Exec(`DO $$ DECLARE t TEXT; BEGIN
			FOREACH t IN ARRAY ARRAY['calls', 'outcomes', 'verdicts', 'judged', 'scores', 'case_scores', 'attempts', 'prompts'] LOOP
				EXECUTE format('ALTER TABLE %1$s DETACH PARTITION %1$s_of_others', t);
				EXECUTE format('DROP TABLE %s CASCADE', t);
				EXECUTE format('ALTER TABLE %1$s_of_others DROP CONSTRAINT %1$s_of_others_trial_check', t);
				EXECUTE format('ALTER TABLE %1$s_of_others RENAME TO %1$s', t);
			END LOOP;
			FOREACH t IN ARRAY ARRAY['calls', 'verdicts'] LOOP
				EXECUTE format('DROP INDEX %s_by_id', t);
				EXECUTE format('ALTER TABLE %s ADD PRIMARY KEY (id), ALTER id ADD GENERATED BY DEFAULT AS IDENTITY', t);
				EXECUTE format('SELECT setval(pg_get_serial_sequence(''%1$s'', ''id''), coalesce(max(id), 0) + 1, FALSE) FROM %1$s', t);
			END LOOP;
			DROP SEQUENCE blocks;
		END $$`)
		must(t, err)
		_, err = db.Exec(`DELETE FROM goose_db_version WHERE version_id > 9; ALTER TABLE items DROP COLUMN grouped; ALTER TABLE runs DROP COLUMN archive; ALTER TABLE calls DROP COLUMN source_run, DROP COLUMN prices; UPDATE outcomes SET data = (SELECT c.text FROM calls c WHERE c.trial = outcomes.trial AND c.step = outcomes.step) WHERE step IS NOT NULL; ALTER TABLE outcomes DROP COLUMN step`)
		must(t, err)
		m.refused(exitInfrastructure, "format, 9 of 14: `scruple run` with this version migrates it", "status", m.path)
		m.goesOn(badConcurrency)
	})
	t.Run("two versions", func(t *testing.T) {
		t.Parallel()
		m := newMemoStudy(t, 20)
		m.store = s.Database(t)
		output(t, m.scruple, "run", m.path, "--detach", "--store", m.store)
		// As if that had been another version.
		_, err := connect(t, m.store).Exec("UPDATE leases SET process = 'v0.0.1 ' || substr(process, strpos(process, ' ') + 1)")
		must(t, err)
		for _, args := range [][]string{{"worker", "--once"}, {"run", m.path}} {
			if _, out := attempt(t, m.scruple, append(args, "--store", m.store)...); !strings.Contains(out, "it was begun by version v0.0.1") || !strings.Contains(out, "use the same") {
				t.Errorf("another version: %s", out)
			}
		}
		if n := statsOf(t, m.url).Requests - m.quiet; n > 0 {
			t.Errorf("another version sent %d requests", n)
		}
		m.goesOn(0)
	})
	t.Run("transaction mode", func(t *testing.T) {
		t.Parallel()
		m, direct := newMemoStudy(t, 20), s.Database(t)
		through := func(port int) string {
			return strings.Replace(direct, fmt.Sprintf(":%d/", s.Port), fmt.Sprintf(":%d/", port), 1)
		}
		m.store = through(s.PgBouncer(t))
		m.refused(exitInfrastructure, "connect to the server itself", "run", m.path)
		m.store = through(s.PgBouncer(t, "ignore_startup_parameters = idle_in_transaction_session_timeout,search_path,extra_float_digits", "default_pool_size = 3"))
		m.refused(exitInfrastructure, "connect to the server itself", "run", m.path)
		m.store = direct
		m.goesOn(0)
	})
}

// The server goes away while a run uses it, and comes back after it was given up.
func TestServerAwayInTheMiddle(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	t.Cleanup(s.Stop)
	m := newMemoStudy(t, 600)
	m.store = s.Database(t)
	m.while(s.Kill, exitInfrastructure, "the same command goes on")
	m.refused(exitInfrastructure, "check the address and that it runs", "status", m.path)
	s.Run(t)
	m.goesOn(badConcurrency)
}

// The disk of the server becomes full, and has room again.
func TestFullDiskOfTheServer(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	t.Cleanup(s.Stop)
	m := newMemoStudy(t, 600)
	var fill func(bool)
	m.store, fill = s.SmallDisk(t, 40)
	m.while(func() { fill(true) }, exitInfrastructure, "the disk of the server is full: free some space")
	m.refused(exitInfrastructure, "the disk of the server is full: free some space", "run", m.path)
	fill(false)
	m.goesOn(3 * badConcurrency)
}

// Other programs take all connections that the server allows.
func TestNoConnectionIsLeft(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t, "max_connections=30", "superuser_reserved_connections=0")
	t.Cleanup(s.Stop)
	m := newMemoStudy(t, 600)
	m.store = s.Database(t)
	db := connect(t, m.store)
	db.SetMaxIdleConns(100)
	var taken []*sql.Conn
	take := func() {
		for {
			c, err := db.Conn(t.Context())
			if err != nil {
				return
			}
			taken = append(taken, c)
		}
	}
	release := func() {
		for _, c := range taken {
			must(t, c.Close())
		}
		db.SetMaxIdleConns(-1)
		db.SetMaxIdleConns(100)
		taken = nil
	}
	take()
	if len(taken) < 10 {
		t.Fatalf("%d connections were taken", len(taken))
	}
	m.refused(exitInfrastructure, "the server allows no more connections: raise its max_connections", "run", m.path)
	m.refused(exitInfrastructure, "the server allows no more connections: raise its max_connections", "doctor", m.path)
	release()
	// In the middle, a run goes on with the connections that it has.
	done := make(chan bool)
	go func() {
		defer close(done)
		m.goesOn(0)
	}()
	for statsOf(t, m.url).Requests < m.quiet+100 {
		time.Sleep(5 * time.Millisecond)
	}
	take()
	time.Sleep(3 * time.Second)
	release()
	<-done
	if got := query(t, m.store, "SELECT count(*) FROM trials"); got != strconv.Itoa(2*m.asked) {
		t.Errorf("%s trials", got)
	}
}

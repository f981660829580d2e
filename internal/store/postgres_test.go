package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/postgrestest"
	"github.com/scruple-eval/scruple/internal/store"
)

// What is wrong with an address is said with a remedy, and never with the password.
func TestAddressesThatCannotBeUsed(t *testing.T) {
	s := postgrestest.Start(t)
	t.Cleanup(s.Stop)
	s.Exec(t, "postgres", "CREATE USER reader PASSWORD 'reader-secret-word'")
	base := strings.TrimSuffix(s.Database(t), "/d1?sslmode=disable")
	s.Exec(t, "d1", "CREATE TABLE orders (id INT)")
	newer := s.Schema(t)
	open(t, newer).Close()
	s.Exec(t, "postgres", "INSERT INTO "+newer[strings.LastIndex(newer, "=")+1:]+".goose_db_version (version_id, is_applied) VALUES (99, true)")
	cannotCreate := s.Schema(t)
	s.Exec(t, "postgres", "GRANT USAGE ON SCHEMA "+cannotCreate[strings.LastIndex(cannotCreate, "=")+1:]+" TO reader")
	for name, c := range map[string]struct{ address, want string }{
		"wrong password":     {strings.Replace(base, "secret-word", "wrong-secret-word", 1) + "/d1", "check the user, and the password"},
		"no database":        {base + "/none", "create the database first"},
		"no server":          {"postgres://u:secret-word@127.0.0.1:1/d1?connect_timeout=2", "check the address and that it runs"},
		"another program":    {base + "/d1", "the database is of another program: give an empty database, or a schema of its own with ?search_path=NAME"},
		"no schema":          {base + "/d1?search_path=none", "CREATE SCHEMA"},
		"a newer program":    {newer, "format 99, but this program supports formats up to"},
		"no right to create": {strings.Replace(cannotCreate, "scruple:secret-word", "reader:reader-secret-word", 1), "the user needs the right"},
		"read-only":          {s.Schema(t) + "&default_transaction_read_only=on", "the database is read-only, as a replica is: give the address of the primary"},
		"no address":         {"postgres://user:secret-word@host:port/x", "the address cannot be read"},
	} {
		_, err := store.Open(t.Context(), c.address)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret-word") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := store.OpenRead(t.Context(), s.Schema(t)); !errors.Is(err, store.ErrNotFound) && err == nil {
		t.Error("an empty schema was read")
	}
}

// A user who may read and write the tables of another works without partitions; a member of the
// role that owns them, with which docs/scale.md has all log in, makes and removes them.
func TestTablesOfAnotherUser(t *testing.T) {
	s := postgrestest.Start(t)
	t.Cleanup(s.Stop)
	owner := s.Database(t)
	db := open(t, owner)
	r, p := newRun(t, db, 20, 1)
	finish(t, db, r, p)
	db.Close()
	for user, rights := range map[string][]string{
		"guest": {"GRANT USAGE, CREATE ON SCHEMA public TO guest",
			"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO guest", "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO guest"},
		"member": {"GRANT scruple TO member", "ALTER ROLE member IN DATABASE d1 SET role = 'scruple'"},
	} {
		s.Exec(t, "d1", "CREATE USER "+user+" PASSWORD 'secret-word'")
		for _, right := range rights {
			s.Exec(t, "d1", right)
		}
		db := open(t, strings.Replace(owner, "scruple:", user+":", 1))
		partitions, _ := db.PartitionsForTest(t)
		theirs, p := newRun(t, db, 20, 1)
		finish(t, db, theirs, p)
		if now, _ := db.PartitionsForTest(t); (now > partitions) != (user == "member") {
			t.Errorf("%s: %d partitions, and %d before", user, now, partitions)
		}
		before := contents(t, db, theirs.ID)
		for _, run := range []*store.Run{theirs, mustRun(t, db, r.ID)} {
			if run.Archive == nil {
				if err := db.Archive(t.Context(), run, t.TempDir(), "1"); err != nil {
					t.Errorf("%s: %v", user, err)
				}
			}
		}
		if got := contents(t, db, theirs.ID); got != before {
			t.Errorf("%s: the archive reads\n%s\nnot\n%s", user, got, before)
		}
	}
}

// A server that ends idle connections does not end that of a journal, which is idle while a model
// answers; and one that was ended or cut is replaced, so that no answer is lost.
func TestTheConnectionOfAJournalIsLost(t *testing.T) {
	s := postgrestest.Start(t)
	t.Cleanup(s.Stop)
	address := s.Database(t)
	s.Exec(t, "postgres", "ALTER ROLE scruple SET idle_session_timeout = '300ms'")
	db := open(t, address)
	var journals []*store.Journal // more than half of the connections
	var p *plan.Plan
	for range 5 {
		var r *store.Run
		r, p = newRun(t, db, 3, 1)
		j, err := db.Journal(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		journals = append(journals, j)
	}
	for seq := range p.Len() {
		switch seq {
		case 1:
			time.Sleep(time.Second)
		case 2:
			s.Exec(t, "postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'scruple'")
		}
		var all sync.WaitGroup
		for _, j := range journals {
			all.Go(func() {
				if err := j.Append(&eval.Call{Trial: p.Trial(seq), Stage: eval.StageRun, Step: "s", Key: "k", Response: eval.Response{Text: "answer"}}); err != nil {
					t.Errorf("answer %d: %v", seq, err)
				}
			})
		}
		all.Wait()
	}
	for _, j := range journals {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Two processes write two runs of one store at the same time; a run has one writer.
func TestOneWriterARun(t *testing.T) {
	address := postgrestest.Address(t)
	mine, theirs := open(t, address), open(t, address)
	store.ShortLeasesForTest(mine, 3*time.Second)
	store.ShortLeasesForTest(theirs, 3*time.Second)
	var wait sync.WaitGroup
	for _, db := range []*store.DB{mine, theirs} {
		wait.Go(func() {
			for range 3 {
				r, p := newRun(t, db, 20, 1)
				j := journal(t, db, r)
				for seq := range p.Len() {
					if err := j.Append(call(p.Trial(seq), r.ID)); err != nil {
						t.Error(err)
					}
				}
				if err := j.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	runs, err := mine.Runs(t.Context())
	if err != nil || len(runs) != 6 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for _, r := range runs {
		calls := all(t, mine.Calls(t.Context(), r))
		for _, c := range calls {
			if c.Response.Text != r.ID {
				t.Errorf("run %s has an answer of %s", r.ID, c.Response.Text)
			}
		}
		if len(calls) != 40 {
			t.Errorf("run %s has %d calls", r.ID, len(calls))
		}
	}

	r, p := newRun(t, mine, 2, 1)
	j := journal(t, mine, r)
	again, err := theirs.Run(t.Context(), r.ID)
	if err == nil {
		_, err = theirs.SetPlan(t.Context(), again, p)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !theirs.Writing(t.Context(), again) {
		t.Error("nobody writes")
	}
	if _, err := theirs.Journal(t.Context(), again); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a second writer of a run: %v", err)
	}
	if err := theirs.ReplaceScores(t.Context(), again, func(func(eval.Scored, error) bool) {}); !errors.Is(err, store.ErrLocked) {
		t.Errorf("scoring a run that is written: %v", err)
	}
	// One that awaits others writes when they have ended.
	awaiting, ending := open(t, address), open(t, address)
	awaiting.Await()
	store.ShortLeasesForTest(awaiting, 3*time.Second)
	store.ShortLeasesForTest(ending, 3*time.Second)
	held, _ := newRun(t, ending, 1, 1)
	if err := ending.DropAnalysis(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() { waited <- awaiting.DropAnalysis(t.Context(), held) }()
	select {
	case err := <-waited:
		t.Errorf("waiting for another writer: %v", err)
	case <-time.After(2 * time.Second): // it was renewed meanwhile
	}
	ending.Close()
	if err := <-waited; err != nil {
		t.Error(err)
	}
	// A process that stops for longer than its lease writes no more.
	store.StopRenewalForTest(mine)
	took := journal(t, theirs, again)
	if err := took.Append(call(p.Trial(0), "of the second")); err != nil {
		t.Error(err)
	}
	if err := j.Append(call(p.Trial(1), "of the first")); !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), "same command") {
		t.Errorf("the first writer after its lease: %v", err)
	}
	if err := took.Close(); err != nil {
		t.Error(err)
	}
	if calls := all(t, theirs.Calls(t.Context(), again)); len(calls) != 1 || calls[0].Response.Text != "of the second" {
		t.Errorf("calls %v", calls)
	}
}

// A run is vacant that a process does not write. One that stood still, or is on another machine, is
// waited for, and writes no more once the run was found vacant.
func TestVacant(t *testing.T) {
	address := postgrestest.Address(t)
	here, away, other := open(t, address), open(t, address), open(t, address)
	store.MoveForTest(away)
	for _, db := range []*store.DB{here, away, other} {
		store.ShortLeasesForTest(db, 1200*time.Millisecond)
	}
	r, p := newRun(t, here, 2, 1)
	vacant := func(db *store.DB, want bool) {
		t.Helper()
		if got, err := db.Vacant(t.Context(), r); err != nil || got != want {
			t.Errorf("vacant: %t, %v, want %t", got, err, want)
		}
	}
	vacant(other, true)
	if err := here.Hold(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	vacant(here, true)
	vacant(other, false)
	here.Close()
	again := mustRun(t, away, r.ID)
	if _, err := away.SetPlan(t.Context(), again, p); err != nil {
		t.Fatal(err)
	}
	j := journal(t, away, again)
	vacant(other, false) // it answers
	store.StopRenewalForTest(away)
	vacant(other, true)
	if other.Writing(t.Context(), r) {
		t.Error("a run that was found vacant is kept")
	}
	if err := j.Append(call(p.Trial(0), "late")); !errors.Is(err, store.ErrLocked) {
		t.Errorf("after the run was found vacant: %v", err)
	}
}

// What is done in turn is done by one process at a time, and not by one that stood still meanwhile.
func TestInTurn(t *testing.T) {
	address := postgrestest.Address(t)
	first, second := open(t, address), open(t, address+"&idle_in_transaction_session_timeout=200")
	var inside atomic.Int32
	var wait sync.WaitGroup
	for _, db := range []*store.DB{first, first, second} {
		wait.Go(func() {
			for range 20 {
				if err := db.InTurn(t.Context(), func() error {
					if inside.Add(1) > 1 {
						t.Error("two at once")
					}
					inside.Add(-1)
					return nil
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	own := errors.New("own")
	if err := first.InTurn(t.Context(), func() error { return own }); err != own {
		t.Errorf("an error of what is done: %v", err)
	}
	if err := second.InTurn(t.Context(), func() error { time.Sleep(time.Second); return nil }); err == nil || !strings.Contains(err.Error(), "the same command goes on") {
		t.Errorf("after standing still: %v", err)
	}
}

// A server that crashes loses nothing that was acknowledged, and the run goes on when it is
// back.
func TestServerRestarts(t *testing.T) {
	s := postgrestest.Start(t)
	t.Cleanup(s.Stop)
	address := s.Database(t)
	db := open(t, address)
	r, p := newRun(t, db, 30, 1)
	db.Close()
	next := 0
	for range 3 {
		db := open(t, address)
		store.ShortLeasesForTest(db, 3*time.Second)
		again, err := db.Run(t.Context(), r.ID)
		if err == nil {
			_, err = db.SetPlan(t.Context(), again, p)
		}
		if err != nil {
			t.Fatal(err)
		}
		calls := all(t, db.Calls(t.Context(), again))
		if len(calls) != next && len(calls) != next+1 { // the last may have been written, but not acknowledged
			t.Fatalf("%d calls, acknowledged %d", len(calls), next)
		}
		next = len(calls)
		j, err := db.Journal(t.Context(), again)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			if i == 7 {
				s.Kill()
			}
			if err = j.Append(call(p.Trial(next), fmt.Sprint("answer ", next))); err != nil {
				break
			}
			next++
		}
		if err == nil || !strings.Contains(err.Error(), "the same command goes on") || strings.Contains(err.Error(), "secret-word") {
			t.Errorf("without a server: %v", err)
		}
		_ = j.Close()
		db.Close()
		s.Run(t)
	}
}

// A watch outlives a request that was given up, and connections that were cut.
func TestWatchIsConnectedAgain(t *testing.T) {
	s := postgrestest.Start(t)
	t.Cleanup(s.Stop)
	proxy, address := s.Proxy(t), s.Database(t)
	open(t, address).Close()
	read, err := store.OpenRead(t.Context(), proxy.Address(s, address))
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	w, err := read.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for name, fault := range map[string]postgrestest.Fault{"given up": {Answers: true}, "cut": {Cut: true}} {
		proxy.Set(fault)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		if _, err := w.Version(ctx); err == nil {
			t.Errorf("%s: a version without an answer", name)
		}
		cancel()
		proxy.Set(postgrestest.Fault{})
		if _, err := w.Version(t.Context()); err != nil {
			t.Errorf("after a request that was %s: %v", name, err)
		}
	}
}

// Scores that take longer than the server lets a transaction stand still, and than a run is kept
// for a process, are written; not if another process took the run meanwhile.
func TestScoringForLong(t *testing.T) {
	address := postgrestest.Address(t)
	db, other := open(t, address+"&idle_in_transaction_session_timeout=2000"), open(t, address)
	store.ShortLeasesForTest(db, 1200*time.Millisecond)
	r, p := newRun(t, db, 1, 1)
	finish(t, db, r, p)
	score := func(x float64, meanwhile func()) error {
		return db.ReplaceScores(t.Context(), r, func(yield func(eval.Scored, error) bool) {
			meanwhile()
			for c, err := range db.Cases(t.Context(), r) {
				if !yield(eval.Scored{Case: c, Scores: []eval.Score{{Metric: "m", Replicate: 1, Num: x, Den: 1}}}, err) {
					return
				}
			}
		})
	}
	if err := score(1, func() {
		time.Sleep(4 * time.Second)
		if !other.Writing(t.Context(), r) {
			t.Error("the run is free while it is scored")
		}
	}); err != nil {
		t.Error(err)
	}
	if err := score(2, func() {
		store.StopRenewalForTest(db)
		soon, end := context.WithTimeout(t.Context(), 20*time.Second)
		defer end()
		if err := other.DropAnalysis(soon, r); err != nil {
			t.Errorf("taking the run of a process that is silent: %v", err)
		}
	}); !errors.Is(err, store.ErrLocked) {
		t.Errorf("scoring a run that another process took meanwhile: %v", err)
	}
	for _, s := range all(t, other.Scores(t.Context(), r)) {
		if s.Scores[0].Num != 1 {
			t.Errorf("the scores are those of a process that lost the run: %v", s)
		}
	}
}

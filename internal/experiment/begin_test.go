package experiment_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/postgrestest"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.M{M: m}.Run()) }

// A checkout is a folder with a study and a ledger of its own.
type checkout struct {
	*experiment.Experiment
	path string
	db   *store.DB
}

// checkedOut makes a checkout of a study whose items have other inputs with each shift.
func checkedOut(t *testing.T, dir string, db *store.DB, shift int, now func() time.Time) *checkout {
	t.Helper()
	env := env()
	env.Suite = func(string) (kit.Suite, error) {
		s := splitSuite()
		open := s.Open
		s.Open = func(f *study.File, own study.Any) (kit.Bench, error) {
			b, err := open(f, own)
			for i := range b.(*fixture).items {
				b.(*fixture).items[i].Input += eval.Hash(shift * fixtureItems)
			}
			return b, err
		}
		return s, nil
	}
	if now != nil {
		env.Now = now
	}
	path := write(t, filepath.Join(dir, "study.yaml"), splitStudy)
	x, err := experiment.Load(path, []string{"split=test"}, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return &checkout{x, path, db}
}

// opened opens a store, as a command does.
func opened(t *testing.T, at string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// onBoth runs a test with a file and with a PostgreSQL database.
func onBoth(t *testing.T, test func(t *testing.T, at string)) {
	t.Run("SQLite", func(t *testing.T) { test(t, filepath.Join(t.TempDir(), "s.db")) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, postgrestest.Address(t)) })
}

func (c *checkout) register(t *testing.T) {
	t.Helper()
	if _, err := c.Preregister(t.Context(), c.db, "anna", ""); err != nil {
		t.Fatal(err)
	}
}

// begin begins or resumes TEST.
func (c *checkout) begin(t *testing.T) (*experiment.Run, error) {
	return c.Begin(t.Context(), c.db, experiment.Attempt{By: "anna"})
}

// refused requires that TEST is not allowed for a reason.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	if !errors.As(err, new(*discipline.NotAllowedError)) || !strings.Contains(err.Error(), want) {
		t.Errorf("TEST of another checkout: %v, want %q", err, want)
	}
}

// Of several checkouts that begin TEST at the same moment in a shared store, one does.
func TestTwoCheckoutsBeginTestAtOnce(t *testing.T) {
	const checkouts, rounds = 3, 12
	at := postgrestest.Address(t)
	var stores [checkouts]*store.DB
	for i := range stores {
		stores[i] = opened(t, at)
	}
	for round := range rounds {
		var all []*checkout
		for _, db := range stores {
			c := checkedOut(t, t.TempDir(), db, round, nil)
			c.register(t)
			all = append(all, c)
		}
		var begin, wait sync.WaitGroup
		begin.Add(1)
		errs := make([]error, checkouts)
		for i, c := range all {
			wait.Go(func() {
				begin.Wait()
				_, errs[i] = c.begin(t)
			})
		}
		begin.Done()
		wait.Wait()
		began := 0
		for _, err := range errs {
			if err == nil {
				began++
			} else {
				refused(t, err, "and is in progress")
			}
		}
		if began != 1 {
			t.Fatalf("round %d: %d of %d checkouts began TEST: %v", round, began, checkouts, errs)
		}
	}
}

// A TEST run without an answer, which nobody works on, keeps no other checkout from TEST: that it
// began may have been lost in a crash. It goes on only if no other did meanwhile.
func TestAnUnansweredTestRunGoesOn(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		one := checkedOut(t, t.TempDir(), opened(t, at), 0, nil)
		one.register(t)
		began, err := one.begin(t)
		if err != nil {
			t.Fatal(err)
		}
		again := func(why string) (*experiment.Run, error) {
			t.Helper()
			one.db.Close()
			one.db = opened(t, at)
			return one.Begin(t.Context(), one.db, experiment.Attempt{ID: began.Record.ID, By: "anna", Unblind: why})
		}
		if r, err := again(""); err != nil || r.Record.ID != began.Record.ID {
			t.Fatalf("the run is not resumed: %v", err)
		}
		one.db.Close()

		two := checkedOut(t, t.TempDir(), opened(t, at), 0, nil)
		two.register(t)
		r, err := two.begin(t)
		if err != nil {
			t.Fatal(err)
		}
		if two.db.Shared() {
			_, err = again("")
			refused(t, err, "has 12 items of them, and is in progress")
		}
		left, err := r.Left(t.Context(), experiment.Part{})
		if err == nil {
			err = r.Ask(t.Context(), left, experiment.Asking{Models: map[string]*run.Model{}})
		}
		if err != nil {
			t.Fatal(err)
		}
		two.db.Close()
		_, err = again("")
		refused(t, err, "run fixture-2 of store "+one.db.Path()+" has 12 items of them\n")
		if _, err = again("a second machine"); err != nil {
			t.Error(err)
		}
	})
}

// A command that is killed just before the ledger has its TEST run is repeated at once, also by
// another checkout.
func TestKilledBeforeTheLedgerKnowsOfTheRun(t *testing.T) {
	const dirKey, atKey = "SCRUPLE_TEST_KILLED_IN", "SCRUPLE_TEST_KILLED_AT"
	if dir := os.Getenv(dirKey); dir != "" {
		beginning := false
		c := checkedOut(t, dir, opened(t, os.Getenv(atKey)), 0, func() time.Time {
			if beginning && strings.Contains(string(debug.Stack()), "discipline.(*Desk).Add") {
				self, err := os.FindProcess(os.Getpid())
				if err == nil {
					err = self.Kill()
				}
				t.Fatal(err)
			}
			return env().Now()
		})
		c.register(t)
		beginning = true
		_, err := c.begin(t)
		t.Fatalf("the command was not killed: %v", err)
	}
	onBoth(t, func(t *testing.T, at string) {
		for shift, same := range []bool{true, false} {
			dir := t.TempDir()
			killed := exec.Command(os.Args[0], "-test.run=^TestKilledBeforeTheLedgerKnowsOfTheRun$")
			killed.Env = append(os.Environ(), dirKey+"="+dir, atKey+"="+at)
			if out, err := killed.CombinedOutput(); killed.ProcessState.Exited() {
				t.Fatalf("%v\n%s", err, out)
			}
			if !same {
				dir = t.TempDir()
			}
			c := checkedOut(t, dir, opened(t, at), 0, nil)
			runs, err := c.db.Runs(t.Context())
			if err != nil || len(runs) != 2*shift+1 {
				t.Fatalf("%d runs, %v", len(runs), err)
			}
			c.register(t)
			began := time.Now()
			r, err := c.begin(t)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it waited %v", took)
			}
			book, err := discipline.Read(discipline.Path(c.path))
			if err != nil || len(book.Tests) != 1 || book.Tests[0].Data.Run != r.Record.ID {
				t.Errorf("the ledger has %+v, %v", book.Tests, err)
			}
			c.db.Close()
		}
	})
}

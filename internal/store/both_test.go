package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/scruple-eval/scruple/internal/postgrestest"
	"github.com/scruple-eval/scruple/internal/store"
)

func TestMain(m *testing.M) {
	store.SetManyTrialsForTest(3) // so that most runs of the tests have partitions
	os.Exit(postgrestest.M{M: m}.Run())
}

// A place names a new store.
type place func(t testing.TB) string

// onBoth runs a test on a file and on a PostgreSQL database.
func onBoth(t *testing.T, test func(t *testing.T, place place)) {
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, func(t testing.TB) string { return filepath.Join(t.TempDir(), "sub", "s.db") })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, postgrestest.Address)
	})
}

package store

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"testing"
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

func TestFormatIsTheNewestMigration(t *testing.T) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(files) != format {
		t.Errorf("%d migrations, format %d (%v)", len(files), format, err)
	}
}

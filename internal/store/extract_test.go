package store

import (
	"context"
	"database/sql"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A table that extract does not know would be missing from bundles.
func TestExtractKnowsAllTables(t *testing.T) {
	ctx := context.Background()
	db, err := Open(ctx, filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	have, err := Collect(query(ctx, db, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'goose_db_version' ORDER BY name`, nil, func(rows *sql.Rows) (s string, err error) {
		return s, rows.Scan(&s)
	}))
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, e := range extracted {
		known = append(known, e.table)
		if e.maps[e.of] == "" {
			t.Errorf("table %s is selected by %s, which has no map", e.table, e.of)
		}
	}
	slices.Sort(known)
	if !slices.Equal(have, known) {
		t.Errorf("the tables are %v, extract knows %v", have, known)
	}
	// Columns that name rows of other tables, by the names that the migrations use.
	for _, e := range extracted {
		columns, err := Collect(query(ctx, db, `SELECT name FROM pragma_table_info(?)`, []any{e.table}, func(rows *sql.Rows) (s string, err error) {
			return s, rows.Scan(&s)
		}))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range columns {
			refers := slices.Contains([]string{"run", "trial", "session", "id"}, c) || e.table == "calls" && c == "source"
			if refers && e.maps[c] == "" && !(e.table == "runs" && c == "id") { // the id of a run is its name
				t.Errorf("%s.%s names a row, but is copied as it is", e.table, c)
			}
		}
	}
}

// A plan of an old store, which has no checksum, must not get one that says it was checked.
// The other plans keep theirs.
func TestExtractKeepsChecksumsOfPlans(t *testing.T) {
	ctx := context.Background()
	path, copied := filepath.Join(t.TempDir(), "s.db"), filepath.Join(t.TempDir(), "copy.db")
	old, err := os.ReadFile(filepath.Join("testdata", "format1.db"))
	if err == nil {
		err = os.WriteFile(path, old, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	db, err := Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// A later run of this format: a copy of the old one, with the checksum of its plan.
	for _, statement := range []string{
		`CREATE TEMP TABLE later AS SELECT * FROM runs ORDER BY n LIMIT 1`,
		`UPDATE temp.later SET n = 99, id = 'later', trials = 0`,
		`INSERT INTO runs SELECT * FROM temp.later`,
	} {
		if _, err := db.sql.ExecContext(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.change(ctx, func(x *steps) { x.sumPlan(99) }); err != nil {
		t.Fatal(err)
	}
	sums := func(db *DB) map[string]sql.NullInt64 {
		t.Helper()
		list := map[string]sql.NullInt64{}
		for id, err := range query(ctx, db, `SELECT id, checksum FROM runs`, nil, func(rows *sql.Rows) (id string, err error) {
			var sum sql.NullInt64
			err = rows.Scan(&id, &sum)
			list[id] = sum
			return id, err
		}) {
			if err != nil {
				t.Fatal(id, err)
			}
		}
		return list
	}
	want := sums(db)
	var ids []string
	for id := range want {
		ids = append(ids, id)
	}
	if err := db.Extract(ctx, copied, Extraction{Run: "later", Others: ids}); err != nil {
		t.Fatal(err)
	}
	into, err := Open(ctx, copied)
	if err != nil {
		t.Fatal(err)
	}
	defer into.Close()
	if got := sums(into); !maps.Equal(got, want) || len(got) < 2 || !got["later"].Valid {
		t.Errorf("the checksums are %v, want %v", got, want)
	}
	if damaged, err := into.damagedPlans(ctx, inStore); err != nil || len(damaged) > 0 {
		t.Errorf("damaged: %v, %v", damaged, err)
	}
}

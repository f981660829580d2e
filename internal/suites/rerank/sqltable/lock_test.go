package sqltable

import (
	"strings"
	"testing"
)

// The authorizer, query_only and the limit on attached databases stand behind
// each other: each holds where the others are taken away, after Open and after
// Add, whether Add could add or not.
func TestEachLockHoldsAlone(t *testing.T) {
	for name, prepare := range map[string]func(db *DB) error{
		"opened": func(*DB) error { return nil },
		"added":  func(db *DB) error { return db.Add(t.Context(), Table{Name: "more", Columns: []string{"b"}}) },
		"not added": func(db *DB) error {
			if db.Add(t.Context(), Table{Name: "t", Columns: []string{"a"}}) == nil {
				t.Error("a table is added twice")
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := Open(t.Context(), Limits{}, Table{Name: "t", Columns: []string{"a"}, Rows: [][]any{{1}}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			}()
			if err := prepare(db); err != nil {
				t.Fatal(err)
			}
			refuses := func(query, why string) {
				t.Helper()
				_, err := db.conn.ExecContext(t.Context(), query)
				if err == nil || !strings.Contains(err.Error(), why) {
					t.Errorf("%s ends with %v, want %q", query, err, why)
				}
			}
			refuses("DELETE FROM t", "not authorized")
			refuses("PRAGMA query_only = OFF", "not authorized")
			if err := db.authorize(nil); err != nil {
				t.Fatal(err)
			}
			refuses("DELETE FROM t", "readonly")
			refuses("ATTACH ':memory:' AS x", "too many attached")
		})
	}
}

package sqltable_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/suites/rerank/sqltable"
)

func open(t testing.TB, limits sqltable.Limits) *sqltable.DB {
	t.Helper()
	db, err := sqltable.Open(t.Context(), limits, sqltable.Table{Name: "items", Columns: []string{"item", "name", "stars", "open"}, Rows: [][]any{
		{1, "Luna", 4.5, true}, {2, "Sol; \"x\"", 3.0, false}, {3, nil, nil, nil},
	}}, sqltable.Table{Name: "empty", Columns: []string{"a"}}, sqltable.Table{Name: "mixed", Columns: []string{"value"}, Rows: [][]any{{2.0}, {"2"}, {"94107"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// column joins the first column of a result.
func column(t *testing.T, db *sqltable.DB, query string) string {
	t.Helper()
	r, err := db.Query(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	var cells []string
	for _, row := range r.Rows {
		cells = append(cells, row[0])
	}
	return strings.Join(cells, "|")
}

func TestWhatModelsMayAsk(t *testing.T) {
	db := open(t, sqltable.Limits{})
	for _, c := range []struct{ query, want string }{
		{"SELECT item FROM items WHERE name LIKE 'lu%'", "1"},
		{"SELECT name FROM items ORDER BY item;", `Luna|Sol; "x"|`},
		{"SELECT stars FROM items ORDER BY item -- ; not another\n", "4.5|3|"},
		{"SELECT count(*) FROM items WHERE name = 'a;b'", "0"},
		{"/* one; two */ SELECT open FROM items WHERE item < 3 ; ", "1|0"},
		{"WITH n(i) AS (SELECT item FROM items WHERE item > 1) SELECT i FROM n", "2|3"},
		{"SELECT a.item FROM items a, items b, items c, empty d WHERE b.item = a.item AND c.item = b.item AND d.a = c.item", ""},
		{"SELECT a.item FROM items a, items b WHERE a.item > b.item AND b.name LIKE 'S%'", "3"},
		{"SELECT item FROM items ORDER BY min(1, max(0, coalesce(stars, 0))) DESC, lower(name) LIMIT 1", "1"},
		{"SELECT row_number() OVER (ORDER BY item DESC) FROM items", "1|2|3"},
		{"SELECT 'a' FROM empty", ""},
		{"SELECT value FROM mixed WHERE value = 2", "2"}, // columns have no type: nothing is converted
		{"SELECT count(*) FROM mixed WHERE value = '2'", "1"},
		{"SELECT count(*) FROM mixed WHERE value IN (2, '2')", "2"},
		{"SELECT count(*) FROM mixed WHERE value = 94107", "0"},
		{"SELECT count(*) FROM mixed WHERE value IN (94107, '94107')", "1"},
	} {
		if got := column(t, db, c.query); got != c.want {
			t.Errorf("%s gives %q, want %q", c.query, got, c.want)
		}
	}
}

func TestWhatModelsMayNot(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	db := open(t, sqltable.Limits{})
	file := filepath.Join(dir, "leak.db")
	for _, query := range []string{
		"INSERT INTO items VALUES (9, 'x', 1, 1)",
		"UPDATE items SET name = 'x'",
		"DELETE FROM items",
		"WITH x AS (SELECT 1) DELETE FROM items",
		"DROP TABLE items",
		"CREATE TABLE t (a)",
		"CREATE TEMP TABLE t (a)",
		"CREATE TEMP VIEW v AS SELECT 1",
		"CREATE VIRTUAL TABLE t USING fts5(a)",
		"ALTER TABLE items RENAME TO x",
		"ATTACH '" + file + "' AS leak",
		"ATTACH ':memory:' AS leak",
		"DETACH main",
		"VACUUM INTO '" + file + "'",
		"VACUUM",
		"PRAGMA query_only = OFF",
		"PRAGMA query_only",
		"SELECT * FROM pragma_table_info('items')",
		"BEGIN", "COMMIT", "SAVEPOINT s",
		"REINDEX", "ANALYZE",
		"EXPLAIN DELETE FROM items",
		"SELECT load_extension('x')",
		"SELECT random()", "SELECT median(item) FROM items", "SELECT randomblob(9)", "SELECT date('now')", "SELECT julianday()",
		"SELECT CURRENT_TIMESTAMP",
		"SELECT 1; DELETE FROM items",
		"SELECT 1; PRAGMA query_only = OFF; DELETE FROM items",
		"SELECT ';' ; SELECT 2",
		"SELECT 1 /* ; */ ; /* */ DELETE FROM items",
		"", " ; -- nothing\n", "SELEC 1", "SELECT nothing FROM items", "SELECT 1 WHERE 'open", "\x00", "SELECT '\xff'",
	} {
		r, err := db.Query(t.Context(), query)
		var refused *sqltable.Error
		if !errors.As(err, &refused) {
			t.Errorf("%q is not refused: %v, %v", query, r, err)
		}
	}
	if got := column(t, db, "SELECT count(*) || ' ' || total(item) FROM items"); got != "3 6.0" {
		t.Errorf("the table holds %s afterwards", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("files were written: %v, %v", left, err)
	}
}

// Work that has no end, or that a forgotten condition makes, is refused before
// it begins, on every machine alike.
func TestEndlessQueriesAreRefused(t *testing.T) {
	db := open(t, sqltable.Limits{Time: math.MaxInt64})
	for query, want := range map[string]string{
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n":                       "without recursion",
		"WITH n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 4) SELECT i FROM n":                            "without recursion",
		"SELECT count(*) FROM items a" + strings.Repeat(", items", 40):                                               "join on equal columns",
		"SELECT count(*) FROM items a, items b, items c WHERE a.item = 1 OR b.item = c.item":                         "join on equal columns",
		"SELECT item FROM items WHERE EXISTS (SELECT 1 FROM items a, items b, items c)":                              "join on equal columns",
		"WITH p AS (SELECT a.item FROM items a, items b), q AS (SELECT a.item FROM p a, p b) SELECT count(*) FROM q": "join on equal columns",
		"WITH p AS MATERIALIZED (SELECT a.item FROM items a, items b, items c) SELECT count(*) FROM p":               "join on equal columns",
	} {
		_, err := db.Query(t.Context(), query)
		var refused *sqltable.Error
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s ended with %v, want …%s", query, err, want)
		}
	}
}

// large has a table whose join with itself takes seconds.
func large(t testing.TB, limits sqltable.Limits) *sqltable.DB {
	t.Helper()
	db := open(t, limits)
	table := sqltable.Table{Name: "large", Columns: []string{"i"}}
	for i := range 5000 {
		table.Rows = append(table.Rows, []any{i})
	}
	if err := db.Add(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	return db
}

// The query has 125 billion rows: it ends only because it is stopped.
func TestTheLimitOfTimeIsNamed(t *testing.T) {
	db := large(t, sqltable.Limits{Time: 50 * time.Millisecond})
	_, err := db.Query(t.Context(), "SELECT sum((SELECT count(*) FROM large a, large b WHERE a.i < b.i + c.i)) FROM large c")
	var fault *sqltable.Error
	if !errors.Is(err, sqltable.ErrTime) || errors.As(err, &fault) || !strings.Contains(err.Error(), "50ms") {
		t.Errorf("it ended with %v", err)
	}
	if got := column(t, db, "SELECT count(*) FROM items"); got != "3" {
		t.Errorf("after a query was stopped the table counts %s", got)
	}
}

// No limit ends a call of a function, so none may take long, whatever its arguments:
// the metric is its time in that of a query of a million rows, here at most 0.6.
func BenchmarkOneCall(b *testing.B) {
	db := large(b, sqltable.Limits{})
	ask := func(query string) time.Duration {
		begin := time.Now()
		if _, err := db.Query(b.Context(), query); err != nil {
			b.Fatalf("%s: %v", query, err)
		}
		return time.Since(begin)
	}
	for name, query := range map[string]string{
		"instr":   "SELECT instr(printf('%.*c',65000,'b'), printf('%.*c',32000,'b')||'c') FROM items LIMIT 1",
		"replace": "SELECT length(replace(printf('%.*c',65000,'b'), printf('%.*c',32000,'b')||'c','x')) FROM items LIMIT 1",
		"like":    "SELECT printf('%.*c',65000,'b') LIKE '%'||printf('%.*c',190,'b')||'c' FROM items LIMIT 1",
		"glob":    "SELECT printf('%.*c',65000,'b') GLOB '*['||printf('%.*c',190,'a')||']' FROM items LIMIT 1",
		"trim":    "SELECT length(trim(printf('%.*c',65000,' '))) FROM items LIMIT 1",
	} {
		b.Run(name, func(b *testing.B) {
			var call, million time.Duration
			for b.Loop() {
				call += ask(query)
				million += ask("SELECT count(*) FROM large a, large b WHERE a.i < 200 AND a.i + b.i > 0")
			}
			b.ReportMetric(float64(call)/float64(million), "of-a-million-rows")
		})
	}
}

// Each limit holds where it says, and a little less is let through.
func TestLimitsOfStatements(t *testing.T) {
	db := open(t, sqltable.Limits{Bytes: 1 << 20})
	for _, c := range []struct{ name, under, over string }{
		{"length", "SELECT length(printf('%.*c', 65000, 'x'))", "SELECT length(printf('%.*c', 66000, 'x'))"},
		{"length of SQL", "SELECT 1 /*" + strings.Repeat("x", 65_000) + "*/", "SELECT 1 /*" + strings.Repeat("x", 66_000) + "*/"},
		{"compound", "SELECT 1" + strings.Repeat(" UNION SELECT 1", 99), "SELECT 1" + strings.Repeat(" UNION SELECT 1", 100)},
		{"depth", "SELECT 1" + strings.Repeat("+1", 150), "SELECT 1" + strings.Repeat("+1", 250)},
		{"pattern of LIKE", "SELECT 'a' LIKE '" + strings.Repeat("x", 200) + "'", "SELECT 'a' LIKE '" + strings.Repeat("x", 201) + "'"},
		{"pattern of GLOB", "SELECT 'a' GLOB '" + strings.Repeat("x", 200) + "'", "SELECT 'a' GLOB '" + strings.Repeat("x", 201) + "'"},
	} {
		if _, err := db.Query(t.Context(), c.under); err != nil {
			t.Errorf("%s: what is under the limit ends with %v", c.name, err)
		}
		if _, err := db.Query(t.Context(), c.over); err == nil {
			t.Errorf("%s: what is over the limit is let through", c.name)
		}
	}
}

func TestHugeResultsAreCut(t *testing.T) {
	db := large(t, sqltable.Limits{Rows: 10, Bytes: 100})
	for _, c := range []struct {
		what string
		rows int
	}{
		{"a.i", 10},
		{"printf('%040d', a.i)", 2}, // 100 bytes hold two of 40
		{"printf('%0500d', a.i)", 0},
	} {
		r, err := db.Query(t.Context(), "SELECT "+c.what+" FROM large a, large b")
		if err != nil || !r.Truncated || len(r.Rows) != c.rows {
			t.Errorf("%s: %d rows, truncated %v, %v", c.what, len(r.Rows), r.Truncated, err)
		}
	}
	for _, bomb := range []string{"SELECT length(zeroblob(1000000000))", "SELECT length(printf('%.*c', 100000000, 'x'))", "SELECT replace(printf('%.*c', 1000000, 'x'), 'x', 'xxxxxxxxxx')"} {
		if r, err := db.Query(t.Context(), bomb); err == nil && len(r.Rows) > 0 && len(r.Rows[0][0]) > 10 {
			t.Errorf("%s gives %v", bomb, r)
		}
	}
	if r, err := db.Query(t.Context(), "SELECT item FROM items"); err != nil || r.Truncated || len(r.Rows) != 3 {
		t.Errorf("a small result: %v, %v", r, err)
	}
}

func TestAddBetweenQueries(t *testing.T) {
	db := open(t, sqltable.Limits{})
	if err := db.Add(t.Context(), sqltable.Table{Name: "an \"odd\" name", Columns: []string{"x y"}, Rows: [][]any{{"z"}}}); err != nil {
		t.Fatal(err)
	}
	if got := column(t, db, `SELECT "x y" FROM "an ""odd"" name"`); got != "z" {
		t.Errorf("the added table gives %q", got)
	}
	if _, err := db.Query(t.Context(), "DELETE FROM items"); err == nil {
		t.Error("after a table was added the database can be written")
	}
	if err := db.Add(t.Context(), sqltable.Table{Name: "items", Columns: []string{"a"}}); err == nil {
		t.Error("a table is added twice")
	}
	if _, err := db.Query(t.Context(), "DELETE FROM items"); err == nil {
		t.Error("after a table was not added the database can be written")
	}
}

func TestTheEndOfTheContextIsNotTheQuerysFault(t *testing.T) {
	db := open(t, sqltable.Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := db.Query(ctx, "SELECT 1")
	var fault *sqltable.Error
	if !errors.Is(err, context.Canceled) || errors.As(err, &fault) {
		t.Errorf("a cancelled query ends with %v", err)
	}
}

func TestDatabasesAreApart(t *testing.T) {
	a, b := open(t, sqltable.Limits{}), open(t, sqltable.Limits{})
	if err := a.Add(t.Context(), sqltable.Table{Name: "mine", Columns: []string{"x"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Query(t.Context(), "SELECT * FROM mine"); err == nil {
		t.Error("one database sees another's table")
	}
}

func TestOpenRefusesWhatItCannotFill(t *testing.T) {
	_, err := sqltable.Open(t.Context(), sqltable.Limits{}, sqltable.Table{Name: "t", Columns: []string{"a", "b"}, Rows: [][]any{{1}}})
	if err == nil {
		t.Error("a row that is too short is filled in")
	}
}

func FuzzQuery(f *testing.F) {
	for _, q := range []string{"SELECT 1", "SELECT 1;", "'", "\"", "/*", "--", "[", ";;", "SELECT ';'; x", "PRAGMA x"} {
		f.Add(q)
	}
	db, err := sqltable.Open(context.Background(), sqltable.Limits{Time: 100 * time.Millisecond}, sqltable.Table{Name: "items", Columns: []string{"item"}, Rows: [][]any{{1}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = db.Close() })
	f.Fuzz(func(t *testing.T, query string) {
		_, err := db.Query(context.Background(), query)
		var fault *sqltable.Error
		if err != nil && !errors.As(err, &fault) && !errors.Is(err, sqltable.ErrTime) {
			t.Fatalf("%q: %v is not about the query", query, err)
		}
		r, err := db.Query(context.Background(), "SELECT item FROM items")
		if err != nil || !slices.Equal(r.Rows[0], []string{"1"}) {
			t.Fatalf("after %q the table is %v, %v", query, r, err)
		}
	})
}

// Tables whose rows come later are filled when a query names them, and no others. The
// rows are those of a table filled at once, also where the limits forbid a query to
// make such a cell.
func TestRowsThatComeLater(t *testing.T) {
	filled := map[string]int{}
	later := func(name string, rows ...[]any) sqltable.Table {
		return sqltable.Table{Name: name, Columns: []string{"item", "value"}, Later: func() [][]any {
			filled[name]++
			return rows
		}}
	}
	db, err := sqltable.Open(t.Context(), sqltable.Limits{}, later("T1", []any{1, "x"}, []any{2, nil}), later("t2", []any{1, 2.5}, []any{int64(3), true}),
		later("t3", []any{1, strings.Repeat("x", 100_000)}), later("t4"), later("t5", []any{1, 1}))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, c := range []struct{ query, want, filled string }{
		{"SELECT 1", "1", ""},
		{"SELECT count(*) FROM t1", "2", "T1"},
		{"SELECT value FROM t1 WHERE item = 1 AND EXISTS (SELECT 1 FROM T2 AS x WHERE x.item = t1.item)", "x", "T1 t2"},
		{"WITH w AS (SELECT value v FROM t2) SELECT group_concat(typeof(v)) FROM w", "real,integer", "T1 t2"},
		{"SELECT count(*) FROM t4", "0", "T1 t2 t4"},
		{"SELECT count(*) FROM t3 WHERE item = 1", "1", "T1 t2 t3 t4"},
	} {
		if got := column(t, db, c.query); got != c.want {
			t.Errorf("%s: %q, want %q", c.query, got, c.want)
		}
		if got := strings.Join(slices.Sorted(maps.Keys(filled)), " "); got != c.filled {
			t.Errorf("%s: the tables %q are filled, want %q", c.query, got, c.filled)
		}
	}
	if _, err := db.Query(t.Context(), "SELECT value || 'y' FROM t3"); err == nil {
		t.Error("after a table was filled, a query may make long texts")
	}
	if _, err := db.Query(t.Context(), "DELETE FROM t5"); err == nil {
		t.Error("after tables were filled, the database can be written")
	}
	for name, n := range filled {
		if n != 1 {
			t.Errorf("table %s was filled %d times", name, n)
		}
	}
}

// A query has the same result over tables that are filled at once and later, also if it
// reads a column only to join by its name.
func TestRowsThatComeLaterAreReadByName(t *testing.T) {
	tables := []sqltable.Table{
		{Name: "items", Columns: []string{"item", "name"}, Rows: [][]any{{1, "a"}, {2, "b"}}},
		{Name: "reviews", Columns: []string{"item", "text"}, Rows: [][]any{{1, "cozy"}, {1, "calm"}, {2, "loud"}}},
		{Name: "hours", Columns: []string{"item", "day"}, Rows: [][]any{{1, "Monday"}}},
		{Name: "it's \"odd\"", Columns: []string{"item"}, Rows: [][]any{{2}}},
	}
	for _, query := range []string{
		"SELECT item FROM reviews JOIN items USING (item) WHERE text LIKE '%cozy%'",
		"SELECT item FROM items JOIN reviews USING (item) GROUP BY item HAVING count(*) >= 2",
		"SELECT item FROM reviews JOIN hours USING (item) WHERE text = 'calm'",
		"SELECT item FROM items WHERE EXISTS (SELECT 1 FROM reviews JOIN hours USING (item) WHERE hours.item = items.item)",
		"SELECT text FROM items NATURAL JOIN reviews WHERE text = 'loud'",
		"SELECT item FROM items LEFT JOIN reviews USING (item) GROUP BY item HAVING count(*) > 1",
		"WITH w AS (SELECT item FROM REVIEWS NATURAL JOIN [Items]) SELECT count(*) FROM w",
		`SELECT count(*) FROM "hours" JOIN 'items' USING (item)`,
		`SELECT count(*) FROM items JOIN "it's ""odd""" USING (item)`,
		"SELECT count(*) FROM items JOIN 'it''s \"odd\"' USING (item)",
	} {
		answer := func(later bool) string {
			list := slices.Clone(tables)
			for i := range list {
				if rows := list[i].Rows; later {
					list[i].Rows, list[i].Later = nil, func() [][]any { return rows }
				}
			}
			db, err := sqltable.Open(t.Context(), sqltable.Limits{}, list...)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			return column(t, db, query)
		}
		if now, later := answer(false), answer(true); now == "" || now == "0" || now != later {
			t.Errorf("%s: %q of rows given at once, %q of rows that come later", query, now, later)
		}
	}
}

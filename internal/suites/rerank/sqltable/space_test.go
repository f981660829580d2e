package sqltable_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/suites/rerank/sqltable"
)

// wide has a table of 1,000 texts of 1,000 letters, whose join with itself holds
// 2 GB of text.
func wide(t *testing.T, limits sqltable.Limits) *sqltable.DB {
	t.Helper()
	db := open(t, limits)
	table := sqltable.Table{Name: "wide", Columns: []string{"i", "text"}}
	for i := range 1000 {
		table.Rows = append(table.Rows, []any{i, strings.Repeat("x", 1000)})
	}
	if err := db.Add(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	return db
}

// What a query sorts and keeps is limited, and never written to a file. With
// temporary files, each of these wrote up to 16 GB; with memory in their place,
// each would take as much of that.
func TestTemporarySpaceIsLimited(t *testing.T) {
	db := wide(t, sqltable.Limits{Time: 20 * time.Second})
	const tooMuch = "needs more than 16 MiB"
	for _, c := range []struct{ name, query, want string }{
		{"sort", "SELECT a.i FROM wide a, wide b ORDER BY a.text||b.i", tooMuch},
		{"sort of long texts", "SELECT item FROM items, wide ORDER BY printf('%060000d', i)", tooMuch},
		{"group", "SELECT count(*) FROM wide a, wide b GROUP BY a.text||b.i", tooMuch},
		{"distinct", "SELECT count(*) FROM (SELECT DISTINCT a.text||b.i||' '||a.i FROM wide a, wide b)", tooMuch},
		{"union", "SELECT count(*) FROM (SELECT a.text||b.i||' '||a.i FROM wide a, wide b UNION SELECT 1)", tooMuch},
		{"materialized", "WITH m AS MATERIALIZED (SELECT a.i, a.text FROM wide a, wide b) SELECT count(*) FROM m p, m q WHERE p.i < 0", tooMuch},
		{"list", "SELECT count(*) FROM wide WHERE text IN (SELECT a.text||b.i||' '||a.i FROM wide a, wide b)", tooMuch},
		{"window", "SELECT sum(n) OVER (ORDER BY k) FROM (SELECT a.i AS n, a.text||b.i AS k FROM wide a, wide b)", tooMuch},
		{"frame", "SELECT last_value(k) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM (SELECT a.text||b.i AS k FROM wide a, wide b)", tooMuch},
		{"many sorts", "SELECT 0" + strings.Repeat("+(SELECT count(*) FROM (SELECT DISTINCT i, text FROM wide))", 21), "more than 20 sorts and intermediate results"},
		{"a sort of every row", "SELECT i FROM wide ORDER BY text, i DESC LIMIT 1", ""},
		{"a join by an automatic index", "SELECT count(*) FROM wide a JOIN wide b ON a.i = b.i JOIN wide c ON c.i = b.i", ""},
		{"a window over every row", "SELECT rank() OVER (ORDER BY text, i) FROM wide LIMIT 1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			written, peak := process(t, "io", "wchar"), process(t, "status", "VmHWM")
			_, err := db.Query(t.Context(), c.query)
			var refused *sqltable.Error
			if (err == nil) != (c.want == "") || err != nil && (!errors.As(err, &refused) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("it ends with %v, want %q", err, c.want)
			}
			if n := process(t, "io", "wchar") - written; n > 64<<10 {
				t.Errorf("it wrote %d bytes to files", n)
			}
			if n := process(t, "status", "VmHWM") - peak; n > 96<<10 {
				t.Errorf("it took %d KiB of memory", n)
			}
		})
	}
	if got := column(t, db, "SELECT count(*) FROM wide"); got != "1000" {
		t.Errorf("afterwards the table has %s rows", got)
	}
}

// Tables of a few MB can be sorted, indexed and kept.
func TestSpaceForWholeTables(t *testing.T) {
	db := open(t, sqltable.Limits{})
	table := sqltable.Table{Name: "long", Columns: []string{"i", "text"}}
	for i := range 1000 {
		table.Rows = append(table.Rows, []any{i, fmt.Sprintf("%08000d", i)}) // 8 MB
	}
	if err := db.Add(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"SELECT i FROM (SELECT i, text FROM long ORDER BY text DESC) LIMIT 1":                                           "999",
		"SELECT count(b.text) FROM long a JOIN long b ON a.i = b.i WHERE length(b.text) = 8000":                         "1000",
		"SELECT count(*) FROM (SELECT DISTINCT text FROM long)":                                                         "1000",
		"WITH m AS MATERIALIZED (SELECT * FROM long) SELECT count(*) FROM m WHERE text > '1'":                           "0",
		"SELECT max(i) FROM (SELECT i, last_value(text) OVER (ORDER BY text) AS last FROM long) WHERE length(last) > 1": "999",
	} {
		if got := column(t, db, query); got != want {
			t.Errorf("%s gives %s, want %s", query, got, want)
		}
	}
}

// process reads a number from the files in which Linux describes this process; it
// is 0 elsewhere.
func process(t *testing.T, file, key string) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/" + file)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if name, rest, _ := strings.Cut(string(line), ":"); name == key {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	return 0
}

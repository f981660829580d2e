package table

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
	"pgregory.net/rapid"
)

func parse(t testing.TB, name, data string) *Table {
	t.Helper()
	table, err := Parse(name, "", []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// A spreadsheet writes semicolons where numbers have a decimal comma. The separator is the
// one that divides the rows like the header.
func TestSeparators(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		want       []string // the last row
	}{
		{"commas", "a,b\n1;2,3\n", []string{"1;2", "3"}},
		{"semicolons", "\ufeffa;b\r\n1,5;\"2;3\"\r\n", []string{"1,5", "2;3"}},
		{"tabs", "a\tb\n1,5\t2;3\n", []string{"1,5", "2;3"}},
		{"a quoted name with a semicolon", "\"a;b\"\n1;2\n", []string{"1;2"}},
		{"named by Excel", "\ufeffsep=;\r\na,b;c\r\n1,5;2\r\n", []string{"1,5", "2"}},
		{"named by Excel, in quotes and filled up", "\"SEP=|\",,\na|b\n1,5|2\n", []string{"1,5", "2"}},
		{"a name like Excel's", "sep=a,b\n1,2\n", []string{"1", "2"}},
		{"commas, and a name with semicolons", "a,b;c;d\n1,2\n", []string{"1", "2"}},
		{"semicolons, and a name with a comma", "a, or b;c;d\n1;2;3\n", []string{"1", "2", "3"}},
		{"one column", "a\n1\n", []string{"1"}},
		{"empty columns at the end", "a,b,,\n1,2,,\n", []string{"1", "2"}},
		{"line ends of old Macs", "a,b\r1,2\r", []string{"1", "2"}},
		{"an escaped formula", "a,b,c\n'=1+1,''-x,'tis\n", []string{"=1+1", "'-x", "'tis"}},
		{"no escape", "a\n'tis\n", []string{"'tis"}},
		{"line ends in quotes", "a,b\r\n\"\r\nx\r\n\"\"y\"\"\r\r\nz\nu\",\"v\r\nw\"\r\n", []string{"x\r\n\"y\"\r\r\nz\nu", "v\r\nw"}},
		{"lists of JSON are text", "a,b\n[],{}\n", []string{"[]", "{}"}},
	} {
		table := parse(t, "f.csv", tt.data)
		if got := table.Rows[len(table.Rows)-1].Texts(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if said := table.Escaped(); strings.HasPrefix(said, "f.csv: in 2 cells an apostrophe before =, +, - or @") != (tt.name == "an escaped formula") {
			t.Errorf("%s: %q", tt.name, said)
		}
	}
}

// TestPlaces: lines and columns count characters from 1, across fields of several lines.
func TestPlaces(t *testing.T) {
	sheet := string(made(t, func(f *excelize.File) { f.InsertRows("Sheet1", 1, 2) }))
	for _, tt := range []struct {
		name, data  string
		row, column int
		want        string
	}{
		{"x.csv", "\ufeffa,b\r\n\"ü\nü\",x\r\n\r\nü,y\r\n", 0, 0, "x.csv:2:1"},
		{"x.csv", "\ufeffa,b\r\n\"ü\nü\",x\r\n\r\nü,y\r\n", 0, 1, "x.csv:3:4"},
		{"x.csv", "\ufeffa,b\r\n\"ü\nü\",x\r\n\r\nü,y\r\n", 1, 1, "x.csv:5:3"},
		{"x.csv", "a,b\r\n\"ü\r\n\r\nü\",x\r\n\r\nü,y\r\n", 0, 1, "x.csv:4:4"},
		{"x.csv", "a,b\r\n\"ü\r\n\r\nü\",x\r\n\r\nü,y\r\n", 1, 1, "x.csv:6:3"},
		{"x.csv", "\n\na,b\n\n\n1,2\n", 0, 1, "x.csv:6:3"},
		{"x.csv", "sep=;\r\na;b\r\n1;2\r\n", 0, 1, "x.csv:3:3"},
		{"x.csv", "a,b\n1,2\n", 0, -1, "x.csv:2"},
		{"x.jsonl", "\n{\"a\": \"ü\", \"b\": 2}\n", 0, 1, "x.jsonl:2:17"},
		{"x.jsonl", "{\"b\": 2}\n{\"a\": 1}\n", 1, 0, "x.jsonl:2:1"},
		{"x.json", "[{\"a\": 1},\n  {\"a\": [1,\n 2], \"b\":\n 3}]", 1, 1, "x.json:4:2"},
		{"x.json", "[{\"a\": 1},\n  {\"a\": [1,\n 2], \"b\":\n 3}]", 1, 0, "x.json:2:9"},
		{"x.xlsx", sheet, 1, 1, "x.xlsx, sheet Sheet1, cell B5"},
	} {
		table := parse(t, tt.name, tt.data)
		if got := table.Place(table.Rows[tt.row], tt.column); got != tt.want {
			t.Errorf("%q, row %d, column %d: got %s, want %s", tt.data[:min(40, len(tt.data))], tt.row, tt.column, got, tt.want)
		}
	}
}

// TestJSON: scalars are text, lists have items, and a value of another kind is an error
// where the column is used.
func TestJSON(t *testing.T) {
	table := parse(t, "x.jsonl", `{"ä": "t\n", "n": 1.50, "b": true, "l": [1, "x,y"], "s": "[1]", "none": null}`+"\n\n"+`{"l": [[1]], "other": {"a": 1}}`)
	c := table.Bind(Names{Known: []string{"ä", "n", "b", "s", "none"}}, func(_ string, err error) { t.Error(err) })
	first := table.Rows[0]
	for column, want := range map[string]string{"ä": "t\n", "n": "1.50", "b": "true", "s": "[1]", "none": ""} {
		if got := c.Text(first, column); got != want {
			t.Errorf("%s: %q, want %q", column, got, want)
		}
	}
	if got := table.List(c.Cell(first, "s")); !slices.Equal(got, []string{"[1]"}) {
		t.Errorf("a text that looks like a list: %q", got)
	}
	if got := c.Others(table.Rows[1]); !slices.Equal(got, []Value{{"l", "[[1]]"}, {"other", `{"a": 1}`}}) {
		t.Errorf("other columns: %q", got)
	}
	var errs []string
	c = table.Bind(Names{Known: []string{"l", "other"}}, func(_ string, err error) { errs = append(errs, err.Error()) })
	if want := []string{"x.jsonl:3:7: l: want a list of strings, numbers or booleans", "x.jsonl:3:23: other: want a string, number, boolean or list, not an object"}; !slices.Equal(errs, want) {
		t.Errorf("%q", errs)
	}
	if got := table.List(c.Cell(first, "l")); !slices.Equal(got, []string{"1", "x,y"}) || c.Text(first, "l") != "1,x,y" {
		t.Errorf("a list: %q, %q", got, c.Text(first, "l"))
	}
}

// TestGaps: marks of missing values are no names, but in JSON.
func TestGaps(t *testing.T) {
	table := parse(t, "x.csv", "id,cluster,note\nNA,c1,NA\nb,NA,\nc,,\nd, None ,\ne,NAME,\n")
	const want = `x.csv:3:3: cluster is "NA", as programs write a missing value (and in 1 row more): empty the cell, in R with write.csv(…, na = ""); if "NA" is meant, rename it, or use JSON Lines`
	if err := table.Gaps([]string{"cluster", "other"}, nil); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if _, err := table.Lines(Texts{Keys: []string{"cluster"}}); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	var errs []string
	table.Bind(Names{Known: []string{"group"}, Keys: []string{"group"}, File: map[string]string{"group": "cluster"}}, func(_ string, err error) { errs = append(errs, err.Error()) })
	if !slices.Equal(errs, []string{want}) {
		t.Errorf("%q\nwant %s", errs, want)
	}
	if err := parse(t, "x.jsonl", `{"cluster": "NA"}`).Gaps([]string{"cluster"}, nil); err != nil {
		t.Error(err)
	}
	table = parse(t, "x.csv", "id,pain\na,None\nb,mild\n")
	if err := table.Gaps(nil, []string{"pain"}); err != nil {
		t.Error(err)
	}
	if err := table.Gaps([]string{"pain"}, []string{"pain"}); err == nil {
		t.Error("None is a name")
	}
}

// TestRefusedText: what is wrong in a text is said with its place, and other rows are read.
func TestRefusedText(t *testing.T) {
	for _, tt := range []struct {
		name, data, want string
		rows             int
	}{
		{"x.jsonl", `{"a": 1}` + "\n" + `{"a": "b` + "\n" + `{"a": 2}`, "x.jsonl:2:9: unexpected end of JSON", 2},
		{"x.jsonl", `{"a": 1, "a": 2}`, `x.jsonl:1:10: duplicate key "a"`, 0},
		{"x.jsonl", `{"a": 1} x`, "x.jsonl:1:10: ", 0},
		{"x.jsonl", "[1]", "x.jsonl:1: want a JSON object for each row, got 1", 0},
		{"x.jsonl", "null", "x.jsonl:1: want a JSON object for each row, got null", 0},
		{"x.json", `[{"a": 1}, {"a": `, "x.json:1:10: reading JSON: ", 1},
		{"x.json", `[{"a": 1}] x`, "x.json:1:11: reading JSON: text after the list", 1},
		{"x.json", `[{"a": 1}, 7, {"a": 2}]`, "x.json:1: want a JSON object for each row, got 7", 2},
		{"x.json", `[{"a": 1}, {"A": 2}]`, `x.json:1: keys "a" and "A": use one name`, 1},
		{"x.json", "[]", "x.json is empty", 0},
		{"x.csv", "id,question\n1,a\nid, question\n2,b\n", "x.csv:3: the row is the header again: remove it", 2},
		{"x.csv", "BZh91AY&SY\xff", "x.csv: is compressed with bzip2: unpack it", -1},
		{"x.parquet", "PAR1\x15\x04", "x.parquet: is a Parquet file: convert it to CSV or JSON Lines", -1},
		{"x.csv", "PAR1,BZh\n1\n", "x.csv:2: ", 0},
		{"x.csv", "a,,b\n1,2,3\n", "x.csv:1:3: the column has no name", 1},
		{"x.csv", "a,b,a\n", `x.csv:1:5: duplicate column "a"`, 0},
		{"x.csv", "a\n1\n\"x", "x.csv:3:", 1},
		{"x.csv", "a\n1\n\xff\n", "x.csv:3: the text is not UTF-8", -1},
		{"x.csv", "a\x00,\x00b\x00\n", "x.csv:1: the text has a NUL byte", -1},
		{"x.gz", "\x1f\x8bxxxx", "x.gz: unpacking: ", -1},
	} {
		table, err := Parse(tt.name, "", []byte(tt.data))
		rows := -1
		if table != nil {
			rows = len(table.Rows)
		}
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || rows > 0 && rows != tt.rows {
			t.Errorf("%q: %v and %d rows, want %s and %d", tt.data, err, rows, tt.want, tt.rows)
		}
	}
	var many strings.Builder
	for range 100 {
		many.WriteString("a,b,c\n")
	}
	if _, err := Parse("x.csv", "", []byte("a,b\n"+many.String())); err == nil || strings.Count(err.Error(), "\n") != maxFindings || !strings.HasSuffix(err.Error(), "x.csv: and 80 more") {
		t.Errorf("many findings: %v", err)
	}
}

// TestCells: cells that programs write in other ways than excelize does, by ECMA-376 part 1.
func TestCells(t *testing.T) {
	data := archiveOf(t, map[string]part{
		"xl/sharedStrings.xml": {begin: `<sst><si><t>id</t></si><si><r><rPr><b/></rPr><t>bo</t></r><r><t xml:space="preserve">ld </t></r><rPh sb="0" eb="1"><t>no</t></rPh></si><si><t>a_x000D_b_x5F_</t></si></sst>`},
		"xl/styles.xml":        {begin: `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="DD/MM/YYYY"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/></cellXfs></styleSheet>`},
		"xl/worksheets/sheet1.xml": {begin: sheetBegin + `<row><c t="s"><v>0</v></c><c t="inlineStr"><is><t>b</t></is></c><c r="D1" t="str"><v>d</v></c><c t="s"><v>2</v></c></row>` +
			`<row r="4"><c t="b"><v>1</v></c><c><v>0.30000000000000004</v></c><c/><c s="1"><v>45000.5</v></c><c t="s"><v>1</v></c></row>` +
			`<row><c t="s"><v>3</v></c><c t="s"><v>x</v></c><c/><c t="s"><v>-1</v></c></row>` + sheetEnd},
	})
	table, err := Parse("x.xlsx", "", data)
	for _, want := range []string{`x.xlsx, sheet Main, cell C1: the column has no name`, `cell A5: the workbook is damaged: it has no text "3", only 3 texts`, `cell B5: the workbook is damaged: it has no text "x"`, `cell D5`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if want := []string{"id", "b", "", "d", "a\rb_x5F_"}; !slices.Equal(table.Header, want) {
		t.Errorf("got %q, want %q", table.Header, want)
	}
	if want := []string{"TRUE", "0.3", "", "2023-03-15", "bold"}; !slices.Equal(table.Rows[0].Texts(), want) || table.Rows[0].Line != 4 {
		t.Errorf("got %q, want %q", table.Rows[0].Texts(), want)
	}
}

// A table is the same in every format, whatever its cells are.
func TestFormatsAgree(t *testing.T) {
	text := rapid.StringMatching(`([a-zü0-9,;"'=+ \t\n]|\r\n){0,8}[a-z]`)
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(2, 5).Draw(t, "columns")
		rows := [][]string{make([]string, columns)}
		for i := range columns {
			rows[0][i] = fmt.Sprintf("c%d", i)
		}
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			rows = append(rows, rapid.SliceOfN(text, columns, columns).Draw(t, "row"))
		}
		if rapid.Bool().Draw(t, "odd") { // texts that workbooks have another way for
			rows = append(rows, slices.Repeat([]string{rapid.SampledFrom([]string{"#N/A", "_x0041_", "_x005F_", "_x005F_x0041_", "_x000D_\n.", "\x01.\v", "\ufffe", "_x0041", "_xd83d_", "_x0041_x0042_", "_x0041\x01"}).Draw(t, "text")}, columns))
		}
		csv, err := CSV(rows)
		if err != nil {
			t.Fatal(err)
		}
		xlsx, err := Write(Sheet{"Main", rows})
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(csv)
		_ = z.Close()
		for name, data := range map[string][]byte{"x.csv": csv, "x.xlsx": xlsx, "x.csv.gz": packed.Bytes()} {
			table, err := Parse(name, "", data)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range table.Rows {
				for j, c := range r.Cells {
					if c.Text != rows[i+1][j] {
						t.Errorf("%s, row %d, column %d: %q, want %q", name, i, j, c.Text, rows[i+1][j])
					}
				}
			}
		}
	})
}

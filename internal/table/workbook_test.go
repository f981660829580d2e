package table

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"
)

// made makes a workbook with excelize.
func made(t testing.TB, fill func(f *excelize.File)) []byte {
	t.Helper()
	f := excelize.NewFile()
	defer f.Close()
	for _, cell := range []struct {
		at    string
		value any
	}{{"A1", "id"}, {"B1", "title"}, {"A2", 1}, {"B2", "One"}, {"A3", 2}, {"B3", "Two"}} {
		if err := f.SetCellValue("Sheet1", cell.at, cell.value); err != nil {
			t.Fatal(err)
		}
	}
	fill(f)
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTables(t *testing.T) {
	nothing := func(*excelize.File) {}
	want := [][]string{{"1", "One"}, {"2", "Two"}}
	tests := []struct {
		name string
		data []byte
		want [][]string
	}{
		{"workbook", made(t, nothing), want},
		{"blank row in a workbook", made(t, func(f *excelize.File) { f.InsertRows("Sheet1", 3, 1) }), want},
		{"CSV", []byte("id,title\n1,One\n2,Two\n"), want},
		{"CSV of a spreadsheet: byte order mark and CRLF", []byte("\ufeffid,title\r\n1,One\r\n2,Two\r\n"), want},
		{"CSV with semicolons", []byte("id;title\n1;One\n2;Two\n"), want},
		{"CSV with blank cells beside and below", []byte("id,title,,\n1,One,,\n\n2,Two,,\n,,,\n"), want},
		{"CSV with lines inside a cell", []byte("id,title\n1,\"One\nand a half\"\n2,\"say \"\"Two\"\"\"\n"), [][]string{{"1", "One\nand a half"}, {"2", `say "Two"`}}},
		{"a date shown as such", made(t, func(f *excelize.File) {
			f.SetCellValue("Sheet1", "B2", time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC))
		}), [][]string{{"1", "2026-01-31"}, {"2", "Two"}}},
		{"a number shown with separators", made(t, func(f *excelize.File) {
			style, _ := f.NewStyle(&excelize.Style{NumFmt: 3})
			f.SetCellValue("Sheet1", "A2", 6864)
			f.SetCellStyle("Sheet1", "A2", "A2", style)
		}), [][]string{{"6864", "One"}, {"2", "Two"}}},
		{"whole numbers of more than 15 digits, as programs write them", made(t, func(f *excelize.File) {
			f.SetCellValue("Sheet1", "A2", 12345678901234567)
			f.SetCellValue("Sheet1", "A3", -12345678901234568)
		}), [][]string{{"12345678901234567", "One"}, {"-12345678901234568", "Two"}}},
		{"fractions and powers with the digits that spreadsheets store and do not show", archiveOf(t, map[string]part{"xl/worksheets/sheet1.xml": {begin: sheetBegin + `<row><c t="str"><v>id</v></c><c t="str"><v>title</v></c></row>` +
			`<row><c><v>0.30000000000000004</v></c><c><v>1.2345678901234567E+25</v></c></row>` + sheetEnd}}), [][]string{{"0.3", "1.23456789012346E+25"}}},
		{"a formula that gives an empty text, as Excel saves it", archiveOf(t, map[string]part{"xl/worksheets/sheet1.xml": {begin: sheetBegin + `<row><c t="str"><v>id</v></c><c t="str"><v>title</v></c></row>` +
			`<row><c><v>1</v></c><c t="str"><f>IF(A2="","",A2)</f><v></v></c></row><row><c><v>2</v></c><c t="str"><f>A1</f><v>id</v></c></row>` + sheetEnd}}), [][]string{{"1", ""}, {"2", "id"}}},
		{"truth values in words", archiveOf(t, map[string]part{"xl/worksheets/sheet1.xml": {begin: sheetBegin + `<row><c t="str"><v>id</v></c><c t="str"><v>title</v></c></row><row><c t="b"><v>true</v></c><c t="b"><v>0</v></c></row>` + sheetEnd}}), [][]string{{"TRUE", "FALSE"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table, err := Parse("list", "", tt.data)
			if err != nil {
				t.Fatal(err)
			}
			var got [][]string
			for _, r := range table.Rows {
				got = append(got, r.Texts())
			}
			if !slices.Equal(table.Header, []string{"id", "title"}) || !slices.EqualFunc(got, tt.want, slices.Equal) {
				t.Errorf("got %q %q", table.Header, got)
			}
		})
	}
}

func TestTablesThatAreRefused(t *testing.T) {
	tests := []struct {
		name, sheet string
		data        []byte
		want        []string
	}{
		{"merged cells", "", made(t, func(f *excelize.File) { f.MergeCell("Sheet1", "A2", "A3"); f.MergeCell("Sheet1", "B1", "C1") }),
			[]string{"list, sheet Sheet1, cells A2:A3: merged cells: unmerge them", "list, sheet Sheet1, cells B1:C1: merged"}},
		{"a failed formula", "", archiveOf(t, map[string]part{"xl/worksheets/sheet1.xml": {begin: sheetBegin + `<row><c t="str"><v>id</v></c></row><row><c t="e"><f>1+1</f><v>#REF!</v></c></row><row><c t="str"><f>1+1</f><v>#N/A</v></c></row><row><c t="e"><v>#FIELD!</v></c></row>` + sheetEnd}}), []string{"list, sheet Main, cell A2: the cell shows #REF!", "list, sheet Main, cell A3: the cell shows #N/A", "list, sheet Main, cell A4: the cell shows #FIELD!"}},
		{"a formula without a value", "", made(t, func(f *excelize.File) { f.SetCellValue("Sheet1", "B3", nil); f.SetCellFormula("Sheet1", "B3", "1+1") }), []string{"list, sheet Sheet1, cell B3: the formula has no value: open the workbook in a spreadsheet and save it"}},
		{"a formula without a result", "", archiveOf(t, map[string]part{"xl/worksheets/sheet1.xml": {begin: sheetBegin + `<row><c t="str"><v>id</v></c></row><row><c><f>1+1</f><v></v></c></row><row><c t="b"><f>1=1</f></c></row>` + sheetEnd}}), []string{"list, sheet Main, cell A2: the formula has no value", "list, sheet Main, cell A3: the formula has no value"}},
		{"a column without a name", "", made(t, func(f *excelize.File) { f.SetCellValue("Sheet1", "D1", "year") }), []string{"list, sheet Sheet1, cell C1: the column has no name"}},
		{"two columns of one name", "", []byte("id,title,ID\n"), []string{`list:1:10: duplicate column "ID"`}},
		{"a value beside the table", "", []byte("id,title\n1,One\n2,Two,more\n"), []string{`list:3: the record has 3 fields, the header 2: put a field that contains ',' in quotes`}},
		{"a value below a header without a name", "", []byte("id,title,\n1,One,\n2,Two,more\n"), []string{`list:3:7: "more" stands beside the table, which has 2 columns: name the column in the first row, or empty the cell`}},
		{"a value beside the sheet", "", made(t, func(f *excelize.File) { f.SetCellValue("Sheet1", "C3", "more") }), []string{`list, sheet Sheet1, cell C3: "more" stands beside the table, which has 2 columns`}},
		{"a short row", "", []byte("id,title\n1\n2,Two\n"), []string{"list:2: the record has 1 fields, the header 2"}},
		{"which sheet", "", made(t, func(f *excelize.File) { f.NewSheet("Other") }), []string{"list: the workbook has 2 sheets and none is called Main: give that name to the sheet to read, or save it as CSV; the sheets are Sheet1, Other"}},
		{"no such sheet", "Mian", made(t, func(*excelize.File) {}), []string{`list: the workbook has no sheet "Mian"; the sheets are Sheet1`}},
		{"an empty sheet", "Other", made(t, func(f *excelize.File) { f.NewSheet("Other") }), []string{"list: sheet Other is empty"}},
		{"a sheet of a CSV file", "Main", []byte("id\n"), []string{"is not a workbook"}},
		{"Latin-1", "", []byte("id,title\n1,One\n2,M\xfcller\n"), []string{"list:3: the text is not UTF-8: save the file as UTF-8"}},
		{"an open quote", "", []byte("id,title\n1,\"One\n"), []string{"list:2:8"}},
		{"nothing", "", nil, []string{"list is empty"}},
		{"an old workbook", "", []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), []string{"save it as .xlsx without a password"}},
		{"a cut workbook", "", made(t, func(*excelize.File) {})[:900], []string{"list: the workbook is damaged"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table, err := Parse("list", tt.sheet, tt.data)
			if err == nil {
				t.Fatalf("read %d rows", len(table.Rows))
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got  %v\nwant %s", err, want)
				}
			}
		})
	}
}

// What is written is read again, cells that look like formulas stay text, and the bytes
// depend on the sheets alone.
func TestWrite(t *testing.T) {
	rows := [][]string{{"id", "title"}, {"7", "=1+1"}, {"007", "+x"}, {"12345678901234567", "a\nb"}}
	data, err := Write(Sheet{"Main", rows}, Sheet{"Other", rows[:2]})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Write(Sheet{"Main", rows}, Sheet{"Other", rows[:2]})
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("the same sheets give other bytes (%v)", err)
	}
	table, err := Parse("list", "", data)
	if err != nil {
		t.Fatal(err)
	}
	got := [][]string{table.Header}
	for _, r := range table.Rows {
		got = append(got, r.Texts())
	}
	if !slices.EqualFunc(got, rows, slices.Equal) {
		t.Errorf("got %q, want %q", got, rows)
	}
	if place := table.Place(table.Rows[2], 1); place != "list, sheet Main, cell B4" {
		t.Error(place)
	}
	f, err := excelize.OpenReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if formula, err := f.GetCellFormula("Main", "B2"); formula != "" || err != nil {
		t.Errorf("a cell became the formula %q (%v)", formula, err)
	}
}

// Days count from 1900 or, in workbooks of old Macs, from 1904: 45000 is 2023-03-15 or four
// years and a day later (ECMA-376 part 1, 18.17.4.1).
func TestDatesFrom1904(t *testing.T) {
	for want, from1904 := range map[string]bool{"2023-03-15": false, "2027-03-16": true} {
		data := made(t, func(f *excelize.File) {
			f.SetWorkbookProps(&excelize.WorkbookPropsOptions{Date1904: &from1904})
			style, err := f.NewStyle(&excelize.Style{NumFmt: 14})
			if err != nil {
				t.Fatal(err)
			}
			f.SetCellValue("Sheet1", "B2", 45000)
			f.SetCellStyle("Sheet1", "B2", "B2", style)
		})
		table, err := Parse("list", "", data)
		if err != nil || table.Rows[0].Text(1) != want {
			t.Errorf("from 1904 %v: got %q, %v, want %s", from1904, table.Rows[0].Texts(), err, want)
		}
	}
}

// Dates, times and percentages are read as the sheet shows them, whole days as dates.
func TestDatesAndTimes(t *testing.T) {
	const day = 45352 // 2024-03-01
	const clock = 13.0/24 + 5.0/1440
	for _, tt := range []struct {
		value  float64
		format any // the number of one that every workbook has, or a code
		want   string
	}{
		{day + clock, "yyyy-mm-dd h:mm:ss", "2024-03-01 13:05:00"},
		{day + clock + 7.5/86400, "yyyy-mm-dd hh:mm:ss.000", "2024-03-01 13:05:07.5"},
		{day + clock - 1e-11, 22, "2024-03-01 13:05"},
		{day, "yyyy-mm-dd hh:mm:ss", "2024-03-01"},
		{day + 0.999999999, 14, "2024-03-01"},
		{day + clock, "dd/mm/yyyy", "2024-03-01"},
		{day, "mmm dd", "2024-03-01"},
		{day, `dd\.mm\.;@`, "2024-03-01"},
		{day, `[$-F800]dddd\,\ mmmm\ dd\,\ yyyy`, "2024-03-01"},
		{day + clock, 20, "13:05"},
		{clock, 20, "13:05"},
		{clock, "h:mm AM/PM", "13:05"},
		{clock, 21, "13:05:00"},
		{1.0 / 1440, "mm:ss", "00:01:00"},
		{30.0 / 24, "[h]:mm", "30:00"},
		{30.0/24 - 1e-12, 46, "30:00:00"},
		{1.5, `0.0 "days"`, "1.5"},
		{1.5, `[Red]#,##0.00;[Blue]\d0`, "1.5"},
		{1.5, `0.00 mm`, "1.5"},
		{1.5, "0.00E+00", "1.5"},
		{1.5, "General", "1.5"},
		{7, "000", "007"}, // such as an id
		{1234, "000", "1234"},
		{12345678, "0000000000", "0012345678"},
		{1.5, "00", "1.5"},
		{-7, "000", "-7"},
		{7, "0", "7"},
		{day + clock, "yyyy", "2024"},
		{day, "mmm yyyy", "2024-03"},
		{day, 17, "2024-03"},
		{0.5, 9, "50%"},
		{0.07, 10, "7%"},
		{-0.12512, "0.0%", "-12.512%"}, // as other numbers, with digits that it does not show
		{50, `0"%"`, "50"},
	} {
		data := made(t, func(f *excelize.File) {
			style := &excelize.Style{}
			if code, ok := tt.format.(string); ok {
				style.CustomNumFmt = &code
			} else {
				style.NumFmt = tt.format.(int)
			}
			id, err := f.NewStyle(style)
			if err != nil {
				t.Fatal(err)
			}
			f.SetCellValue("Sheet1", "B2", tt.value)
			f.SetCellStyle("Sheet1", "B2", "B2", id)
		})
		table, err := Parse("list", "", data)
		if err != nil || table.Rows[0].Text(1) != tt.want {
			t.Errorf("%v as %v: got %q, %v, want %s", tt.value, tt.format, table.Rows[0].Texts(), err, tt.want)
		}
	}
}

// A text that a cell cannot hold is refused, not cut.
func TestWriteTooLong(t *testing.T) {
	if _, err := Write(Sheet{"Main", [][]string{{"id", strings.Repeat("ü", 32767)}}}); err != nil {
		t.Error(err)
	}
	_, err := Write(Sheet{"Main", [][]string{{"id", "x"}, {"1", strings.Repeat("a", 32768)}}})
	if err == nil || !strings.Contains(err.Error(), "sheet Main, cell B2: 32768 characters: a spreadsheet holds 32767 in a cell") {
		t.Errorf("got %v", err)
	}
}

// No cell of a CSV file is a formula, and Parse reads what CSV wrote.
func TestCSV(t *testing.T) {
	rows := [][]string{{"id", "title"}, {"1", `=HYPERLINK("http://x","y")`}, {"2", "+1"}, {"3", "'=x"}, {"4", "a, \"b\""}}
	data, err := CSV(rows)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte(`"'=HYPERLINK(`)) || !bytes.Contains(data, []byte("2,'+1\n")) {
		t.Errorf("a formula is not escaped:\n%s", data)
	}
	table, err := Parse("list.csv", "", data)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range table.Rows {
		if !slices.Equal(r.Texts(), rows[i+1]) {
			t.Errorf("got %q, want %q", r.Texts(), rows[i+1])
		}
	}
}

// Any file gives a table or an error, a table that was read has whole rows, and every cell
// has a place.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"id,title\n1,One\n", "\ufeffid;title\r\n\"1", "a,a\n", "\"\n\",b\r\n1,2", "\xff", "a\n\n\n1\n", ",\n", "{}", `{"a": [1, [2]]}`, `{"a": "\ud800"}`, "[", `[{"a": 1}, {"b": 2}] x`, `{"a": 1`, "\xff\xfea\x00,\x00b\x00", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"} {
		f.Add("x", []byte(s))
	}
	f.Add("x.csv", []byte("[a],{b}\n"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if bytes.HasPrefix(data, []byte("PK")) {
			return // FuzzSheet
		}
		table, err := Parse(name, "", data)
		if table == nil {
			if err == nil {
				t.Error("neither a table nor an error")
			}
			return
		}
		for _, r := range table.Rows {
			if len(r.Cells) != len(table.Header) {
				t.Errorf("a row has %d cells of %d", len(r.Cells), len(table.Header))
			}
			for i := range r.Cells {
				if place := table.Place(r, i); !strings.HasPrefix(place, name) || strings.Contains(place, ":0") || strings.Contains(place, "-") && !strings.Contains(name, "-") {
					t.Errorf("column %d is at %s", i, place)
				}
				table.List(r.Cells[i])
			}
		}
	})
}

// Any text is a sheet or an error.
func FuzzSheet(f *testing.F) {
	f.Add(`<row><c t="s"><v>0</v></c><c r="D1" t="str"><v>d</v></c></row><row r="4"><c s="1"><v>45000.5</v></c></row>`, "<sst><si><t>id</t></si></sst>", `<styleSheet><cellXfs><xf numFmtId="14"/></cellXfs></styleSheet>`)
	f.Add(`<row r="9"><c><f>1</f></c><c t="e"><v>#REF!</v></c></row><mergeCell ref="A1:B2"/>`, "", "")
	f.Fuzz(func(t *testing.T, rows, texts, styles string) {
		s, err := readSheet(archiveOf(t, map[string]part{"xl/worksheets/sheet1.xml": {begin: sheetBegin + rows + sheetEnd}, "xl/sharedStrings.xml": {begin: texts}, "xl/styles.xml": {begin: styles}}), "")
		if err != nil {
			return
		}
		last := 0
		for _, l := range s.Lines {
			if l.Number <= last || blank(l.Cells) {
				t.Errorf("row %d after %d: %q", l.Number, last, l.Cells)
			}
			last = l.Number
		}
	})
}

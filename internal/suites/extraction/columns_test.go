package extraction

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/table"
)

// corpus opens a study with files, and says what each document is: id, strata, gold by field.
func corpus(t *testing.T, data string, files map[string]string) (documents []string, notes []string, err error) {
	t.Helper()
	dir := t.TempDir()
	files["study.yaml"] = "name: t\nsuite: extraction\ndata: " + data + "\narms: [{name: h, builtin: heuristic}]\n"
	files["schemas/bill.json"] = `{"name": "bill", "fields": [{"name": "total", "type": "money", "description": ""}, {"name": "seller", "type": "string", "description": ""}]}`
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := openIn(t, dir)
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(func() { b.Close() })
	for _, it := range b.Items() {
		d, err := b.document(it.ID)
		if err != nil {
			return nil, nil, err
		}
		var gold []string
		for _, g := range d.Truth {
			gold = append(gold, g.Field+"="+g.shown())
		}
		_, others := b.study.Documents.levels(&d.Document)
		documents = append(documents, fmt.Sprintf("%s %s %v %v %q", it.ID, strings.Join(gold, ","), it.Strata, others, d.Text))
	}
	return documents, b.notes(), nil
}

// Documents come from tables and folders as people have them.
func TestDocumentsOfPeople(t *testing.T) {
	const mapping = `columns: {document_id: nr, text: ocr}, schema: bill, gold_columns: {total: amount, seller: from}, strata: [year]`
	want := []string{
		`007 seller=Ann,total=3.50 {{doc_type bill} {year 2024}} [{page a}] "Ann 3.50"`,
		`8 seller=not in the document,total=4 {{doc_type bill} {year 2025}} [] "only  4"`,
	}
	for i, w := range want {
		want[i] = strings.NewReplacer("{{", "[{", "}}", "}]").Replace(w)
	}
	for _, c := range []struct {
		name, data string
		files      map[string]string
		want       []string
	}{
		{"CSV", `{source: jsonl, path: d.csv, ` + mapping + `}`, map[string]string{"d.csv": "nr,ocr,amount,from,year,page\n007,Ann 3.50,3.50,Ann,2024,a\n8,only  4,4,,2025,\n"}, want},
		{"TSV", `{source: jsonl, path: d.tsv, ` + mapping + `}`, map[string]string{"d.tsv": "nr\tocr\tamount\tfrom\tyear\tpage\n007\tAnn 3.50\t3.50\tAnn\t2024\ta\n8\tonly  4\t4\t\t2025\t\n"}, want},
		{"XLSX", `{source: jsonl, path: d.xlsx, ` + mapping + `}`, map[string]string{"d.xlsx": workbook(t, [][]string{{"nr", "ocr", "amount", "from", "year", "page"}, {"007", "Ann 3.50", "3.50", "Ann", "2024", "a"}, {"8", "only  4", "4", "", "2025", ""}})}, want},
		{"JSON Lines", `{source: jsonl, path: d.jsonl, ` + mapping + `}`, map[string]string{"d.jsonl": `{"nr": "007", "ocr": "Ann 3.50", "amount": "3.50", "from": "Ann", "year": 2024, "page": "a"}
{"nr": "8", "ocr": "only  4", "amount": 4, "from": null, "year": 2025}
`}, want},
		{"pages", `{source: jsonl, path: d.jsonl, columns: {document_id: id, text: pages}, schema: bill, gold_columns: {total: amount}}`, map[string]string{"d.jsonl": `{"id": "a", "pages": ["Ann\n", null, "is 3.50"], "amount": "3.50"}` + "\n"},
			[]string{`a total=3.50 [{doc_type bill}] [] "---PAGE 1---\nAnn\n---PAGE 2---\n\n---PAGE 3---\nis 3.50\n"`}},
		{"pages as text", `{source: jsonl, path: d.jsonl, schema: bill, gold_columns: {total: amount}}`, map[string]string{"d.jsonl": `{"document_id": "a", "text": ["is 3.50"], "amount": "3.50"}` + "\n"},
			[]string{`a total=3.50 [{doc_type bill}] [] "---PAGE 1---\nis 3.50\n"`}},
		{"a folder with a table", `{source: directory, path: docs, records: d.csv, schema: bill, gold_columns: {total: amount}, strata: [year]}`,
			map[string]string{"d.csv": "document_id,amount,year\na,1,2024\nsub/b,2,2025\n", "docs/a.txt": "is 1", "docs/sub/b.txt": "is 2", "docs/.hidden/c.txt": "no", "docs/readme.md": "no"},
			[]string{`a total=1 [{doc_type bill} {year 2024}] [] "is 1"`, `sub/b total=2 [{doc_type bill} {year 2025}] [] "is 2"`}},
		{"names with dots and capitals", `{source: directory, path: docs, records: d.csv, schema: bill, gold_columns: {total: amount}}`,
			map[string]string{"d.csv": "document_id,amount\nex10.1,1\nex10,2\nb.pdf,3\nc.pdf,4\n", "docs/ex10.1.txt": "is 1", "docs/ex10.txt": "is 2", "docs/b.TXT": "is 3", "docs/c.pdf.txt": "is 4"},
			[]string{`b total=3 [{doc_type bill}] [] "is 3"`, `c.pdf total=4 [{doc_type bill}] [] "is 4"`, `ex10 total=2 [{doc_type bill}] [] "is 2"`, `ex10.1 total=1 [{doc_type bill}] [] "is 1"`}},
		{"one column as id, gold and stratum", `{source: jsonl, path: d.csv, columns: {document_id: nr}, schema: bill, gold_columns: {total: nr, seller: from}, strata: [from]}`,
			map[string]string{"d.csv": "nr,text,from\n7,is 7 of Ann,Ann\n"},
			[]string{`7 seller=Ann,total=7 [{doc_type bill} {from Ann}] [] "is 7 of Ann"`}},
		{"a folder with gold of people", `{source: directory, path: docs, gold: gold.jsonl, schema: bill}`,
			map[string]string{"docs/a.txt": "is 1", "gold.jsonl": `{"document_id": "a", "ground_truth": [{"field": "total", "exists_in_document": true, "correct_value": "1"}]}` + "\n"},
			[]string{`a total=1 [{doc_type bill}] [] "is 1"`}},
		{"numbers as ids", `{source: jsonl, path: d.jsonl, gold: gold.jsonl, schema: bill}`,
			map[string]string{"d.jsonl": `{"document_id": 7.0, "text": ["is 1"]}` + "\n", "gold.jsonl": `{"document_id": 7, "ground_truth": [{"field": "total", "exists_in_document": true, "correct_value": "1"}]}` + "\n"},
			[]string{`7 total=1 [{doc_type bill}] [] "---PAGE 1---\nis 1\n"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, notes, err := corpus(t, c.data, c.files)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if has := len(notes) > 0; has != strings.Contains(c.want[0], "page") {
				t.Errorf("notes: %q", notes)
			}
		})
	}
}

// Records of a table that belong to no document are counted.
func TestRecordsWithoutDocument(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"study.yaml":        "name: t\nsuite: extraction\ndata: {source: directory, path: docs, records: d.csv, schema: bill, gold_columns: {total: amount}}\narms: [{name: h, builtin: heuristic}]\n",
		"schemas/bill.json": `{"name": "bill", "fields": [{"name": "total", "type": "money", "description": ""}]}`,
		"d.csv":             "document_id,amount\na,1\nb,2\nex10.1,3\n",
		"docs/a.txt":        "is 1",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	b, err := openIn(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if got := strings.Join(b.Warnings(), "\n"); !strings.Contains(got, "d.csv:3: 2 records belong to no document") {
		t.Errorf("warnings: %s", got)
	}
}

// workbook is an .xlsx with one sheet.
func workbook(t *testing.T, rows [][]string) string {
	t.Helper()
	data, err := table.Write(table.Sheet{Name: "Documents", Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Mistakes of a mapping name what there is, and one that many documents have is said once.
func TestMappingErrors(t *testing.T) {
	var many strings.Builder
	for i := range 306 {
		fmt.Fprintf(&many, `{"document_id": "d%d", "text": "x", "ground_truth": []}`+"\n", i)
	}
	for _, c := range []struct {
		name, data string
		files      map[string]string
		want       []string
	}{
		{"an unknown key", `{source: jsonl, path: d.csv, schema: bill, columns: {id: nr}, gold_columns: {total: amount}}`, map[string]string{"d.csv": "document_id,text,amount\na,1,1\n"}, []string{`documents have no "id"`}},
		{"a stratum that is not there", `{source: jsonl, path: d.csv, schema: bill, strata: [yaer], gold_columns: {total: amount}}`, map[string]string{"d.csv": "document_id,text,amount,year\na,1,1,2024\n"}, []string{`data.strata[0]`, `no document has "yaer": did you mean "year"?`}},
		{"gold of NA", `{source: jsonl, path: d.csv, schema: bill, gold_columns: {total: amount}}`, map[string]string{"d.csv": "document_id,text,amount\na,1,1\nb,1,NA\n"}, []string{`d.csv:3:5: amount is "NA", as programs write a missing value`}},
		{"a column of gold that is not there", `{source: jsonl, path: d.csv, schema: bill, gold_columns: {total: amuont}}`, map[string]string{"d.csv": "document_id,text,amount\na,1,1\n"}, []string{`data.gold_columns.total`, `no document has "amuont": did you mean "amount"?`}},
		{"a column that is not in the sheet", `{source: jsonl, path: d.xlsx, schema: bill, gold_columns: {total: amuont}}`, map[string]string{"d.xlsx": workbook(t, [][]string{{"document_id", "text", "amount"}, {"a", "1", "1"}})}, []string{`data.gold_columns.total`, `no document has "amuont": did you mean "amount"?`}},
		{"a column that is not there", `{source: jsonl, path: d.csv, schema: bill, columns: {text: ocr_txt}, gold_columns: {total: amount}}`, map[string]string{"d.csv": "document_id,ocr_text,amount\na,1,1\n"}, []string{`no document has "ocr_txt": did you mean "ocr_text"?`}},
		{"a key that documents do not have", `{source: jsonl, path: d.csv, schema: bill, columns: {txt: amount}, gold_columns: {total: amount}}`, map[string]string{"d.csv": "document_id,text,amount\na,1,1\n"}, []string{`documents have no "txt": did you mean "text"?`}},
		{"a field that is not there", `{source: jsonl, path: d.csv, schema: bill, gold_columns: {totl: amount}}`, map[string]string{"d.csv": "document_id,text,amount\na,1,1\n"}, []string{`field "totl": schema bill has no such field: did you mean "total"?`}},
		{"gold twice", `{source: jsonl, path: d.jsonl, schema: bill, gold_columns: {total: amount}}`, map[string]string{"d.jsonl": `{"document_id": "a", "text": "1", "amount": 1, "ground_truth": [{"field": "total", "exists_in_document": false}]}` + "\n"}, []string{"gold is in the record and in the columns"}},
		{"a misspelt key", `{source: jsonl, path: d.jsonl, schema: bill}`, map[string]string{"d.jsonl": `{"documnet_id": "a", "text": "1", "ground_truth": []}` + "\n"}, []string{`unknown key "documnet_id": did you mean "document_id"?`}},
		{"a misspelt key of gold", `{source: jsonl, path: d.jsonl, schema: bill}`, map[string]string{"d.jsonl": `{"document_id": "a", "text": "1", "ground_truth": [{"field": "total", "exists_in_document": true, "corect_value": "1"}]}` + "\n"}, []string{`corect_value`}},
		{"a record for two", `{source: directory, path: docs, records: d.csv, schema: bill, gold_columns: {total: amount}}`, map[string]string{"d.csv": "document_id,amount\na.pdf,1\na.txt,2\n", "docs/a.txt": "1"}, []string{`document_id "a.txt" is empty or a duplicate`}},
		{"a text without gold", `{source: directory, path: docs, schema: bill}`, map[string]string{"docs/a.txt": "1"}, []string{"its gold, "}},
		{"pages that are no texts", `{source: jsonl, path: d.jsonl, schema: bill}`, map[string]string{"d.jsonl": `{"document_id": "a", "text": [{"page": 1}], "ground_truth": []}` + "\n"}, []string{"d.jsonl:1: want a text, or a list of the texts of pages"}},
		{"a column of no pages", `{source: jsonl, path: d.jsonl, columns: {text: pages}, schema: bill}`, map[string]string{"d.jsonl": `{"document_id": "a", "pages": [1], "ground_truth": []}` + "\n"}, []string{"d.jsonl:1: want a text, or a list of the texts of pages"}},
		{"pages without text", `{source: jsonl, path: d.jsonl, schema: bill}`, map[string]string{"d.jsonl": `{"document_id": "a", "text": ["", " "], "ground_truth": []}` + "\n"}, []string{"text is empty"}},
		{"a file that is not there", `{source: jsonl, path: e.csv, schema: bill, columns: {document_id: nr, text: words}, gold_columns: {total: amount}}`, map[string]string{"d.csv": "nr,words,amount\na,1,1\n"}, []string{"e.csv"}},
		{"one cause", `{source: jsonl, path: d.jsonl}`, map[string]string{"d.jsonl": many.String()}, []string{"d.jsonl:1: document \"d0\": schema is missing", "(and in 305 other documents)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := corpus(t, c.data, c.files)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nwant %s", err, want)
				}
			}
			if lines := strings.Split(err.Error(), "\n"); len(lines) > 3 {
				t.Errorf("%d lines: %q", len(lines), slices.Clip(lines[:3]))
			}
		})
	}
}

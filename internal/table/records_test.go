package table

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"
)

func TestRecords(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write([]byte("{\"id\":\"a\"}\n"))
	w.Close()
	book, err := Write(Sheet{Name: "Main", Rows: [][]string{{"id", "stars"}, {"a", "4.5"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, content string
		want          []string // the records, as errors with a "!"
		err           string
	}{
		{name: "lines.jsonl", content: "{\"id\":\"a\"}\n\n{\"id\" : 2}\n", want: []string{`1 {"id":"a"}`, `3 {"id" : 2}`}},
		{name: "lines", content: "\ufeff{\"id\":\"a\"}\n", want: []string{`1 {"id":"a"}`}},
		{name: "bad.jsonl", content: "id,name\n", want: []string{"1 id,name"}}, // an error of who decodes it
		{name: "packed.gz", content: packed.String(), want: []string{`1 {"id":"a"}`}},
		{name: "list.json", content: "[{\"id\":\"7\"},\n{\"id\":\"b\",\"n\":[null]}]", want: []string{`1 {"id":"7"}`, `2 {"id":"b","n":[null]}`}},
		{name: "t.csv", content: "id,stars,open,tags,hours.Monday,note\n7,4.5,true,\"[\"\"a\"\"]\",11:00-19:00,\n8,,maybe,[a,,\" [0]\"\n",
			want: []string{`2 {"hours":{"Monday":"11:00-19:00"},"id":"7","open":true,"stars":4.5,"tags":["a"]}`, `3 {"id":"8","note":" [0]","open":"maybe","tags":"[a"}`}},
		{name: "apostrophes.csv", content: "id,note,n\n'-1,'-ing forms,'=1\n", want: []string{`2 {"id":"'-1","n":"'=1","note":"'-ing forms"}`}},
		{name: "truths.csv", content: "id,spreadsheet,python,mixed,word,note\nTRUE,TRUE,True,true,TRUE,TRUE\nTrue,,False,FALSE,maybe,FALSE\n", want: []string{
			`2 {"id":"TRUE","mixed":true,"note":"TRUE","python":true,"spreadsheet":true,"word":"TRUE"}`, `3 {"id":"True","mixed":false,"note":"FALSE","python":false,"word":"maybe"}`}},
		{name: "truths.xlsx", content: string(made(t, func(f *excelize.File) { // t="b"
			f.SetSheetCol("Sheet1", "C1", &[]any{"open", true, false})
			f.SetSheetCol("Sheet1", "D1", &[]any{"word", true, "maybe"})
		})), want: []string{`2 {"id":"1","open":true,"title":"One","word":"TRUE"}`, `3 {"id":"2","open":false,"title":"Two","word":"maybe"}`}},
		{name: "t.xlsx", content: string(book), want: []string{`2 {"id":"a","stars":4.5}`}},
		{name: "both.csv", content: "id,hours,hours.Monday\na,x,y\nb,x,\nc,,y\n", want: []string{
			`2 !column "hours.Monday" beside a value of hours: use one of them`, `3 {"hours":"x","id":"b"}`, `4 {"hours":{"Monday":"y"},"id":"c"}`}},
		{name: "turned.csv", content: "hours.Monday,hours\nx,y\n", want: []string{`2 !a value of hours beside columns such as "hours.…": use one of them`}},
		{name: "twice.csv", content: "id,ID\n1,2\n", err: `duplicate column "ID"`},
		{name: "empty.csv", content: ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, c.name)
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			var got []string
			hash, err := Records(path, Texts{Names: []string{"id"}, Verbatim: "note"}, func(line int, record []byte, err error) {
				text := string(record)
				if err != nil {
					text = "!" + strings.ReplaceAll(err.Error(), dir, "DIR")
				}
				got = append(got, string(rune('0'+line))+" "+text)
			})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want %s", err, c.err)
				}
				return
			}
			if err != nil || len(hash) != 64 {
				t.Fatalf("hash %q, error %v", hash, err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An index over a table that is no JSON Lines has the records of its rows, and their lines.
func TestOpenLines(t *testing.T) {
	for name, content := range map[string]string{
		"t.csv":     "id,n,text\n7,1,\" two\nlines \"\n\n8,x,y\n",
		"list.json": "[{\"id\":\"7\",\"n\":1,\"text\":\" two\\nlines \"},\n\n\n{\"id\":\"8\",\"n\":\"x\",\"text\":\"y\"}]",
		"u.jsonl":   string([]byte{0xff, 0xfe}) + utf16Of("{\"id\":\"7\",\"n\":1,\"text\":\" two\\nlines \"}\n\n\n\n{\"id\":\"8\",\"n\":\"x\",\"text\":\"y\"}\n"),
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		lines, err := OpenLines(path, Texts{Names: []string{"id"}, Verbatim: "text"})
		if err != nil {
			t.Fatal(name, err)
		}
		defer lines.Close()
		var r struct {
			ID   string `json:"id"`
			N    int    `json:"n"`
			Text string `json:"text"`
		}
		if _, err := lines.Decode(0, nil, &r); err != nil || r.ID != "7" || r.N != 1 || r.Text != " two\nlines " {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		line := map[string]string{"t.csv": "5", "list.json": "4", "u.jsonl": "5"}[name]
		if _, err := lines.Decode(1, nil, &r); err == nil || err.Error() != path+":"+line+": n: want a whole number, got a string" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func utf16Of(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteByte(byte(r))
		b.WriteByte(0)
	}
	return b.String()
}

package sheet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlaces: cells know line and column in characters, across fields of several lines.
func TestPlaces(t *testing.T) {
	s, err := ParseCSV("x.csv", []byte("\ufeffa,b\r\n\"ü\nü\",x\r\nü,y\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		record       int
		column, text string
		line, at     int
	}{{0, "a", "ü\nü", 2, 1}, {0, "b", "x", 3, 4}, {1, "a", "ü", 4, 1}, {1, "b", "y", 4, 3}} {
		if c := s.Records[test.record].Cell(test.column); c.Text != test.text || c.Line != test.line || c.Column != test.at {
			t.Errorf("%+v: %+v", test, c)
		}
	}
	if c := s.Records[1].Cell("c"); c.Given || c.Line != 4 || c.Column != 1 {
		t.Errorf("a missing cell: %+v", c)
	}
}

// TestFormulas: a cell of CSV that is escaped against formulas has its text; others and
// JSON are kept as they are.
func TestFormulas(t *testing.T) {
	s, err := ParseCSV("x.csv", []byte("a,b,c\n'=1+1,''-x,'tis\n"))
	if err != nil {
		t.Fatal(err)
	}
	for column, want := range map[string]string{"a": "=1+1", "b": "'-x", "c": "'tis"} {
		if got := s.Records[0].Cell(column).Text; got != want {
			t.Errorf("%s: %q, want %q", column, got, want)
		}
	}
	if err := s.addJSON(1, []byte(`{"a": "'=1+1"}`)); err != nil || s.Records[1].Cell("a").Text != "'=1+1" {
		t.Errorf("%v, %q", err, s.Records[1].Cell("a").Text)
	}
}

// TestJSON: scalars and lists as cells of text.
func TestJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(path, []byte(`{"ä": "t\n", "n": 1.50, "b": true, "l": [1, "x"], "none": null}`+"\n\n"+`{"a": {}, "l": [[1]]}`+"\n"+`{"a": 1, "a": 2}`), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := Read(path)
	for _, want := range []string{":3:7: a: want a string, number, boolean or list, not an object", ":3:16: l: want a list of strings", ":4:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	r := s.Records[0]
	for column, want := range map[string]string{"ä": "t\n", "n": "1.50", "b": "true", "l": "1,x", "none": ""} {
		if c := r.Cell(column); c.Text != want || c.Given == (column == "none") {
			t.Errorf("%s: %+v, want %q", column, c, want)
		}
	}
	if c := r.Cell("n"); c.Column != 19 {
		t.Errorf("column %d", c.Column)
	}
}

// FuzzCSV: no text makes the reader fail, and every cell has a place.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{"", "a,b\n1,2\n", "a\n\"x", "a,a\n", "\"\n\",b\r\n1,2", "\xff", "a\n\n\n1\n", ",\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, _ := ParseCSV("x.csv", data)
		lines := strings.Count(string(data), "\n") + 1
		for _, r := range s.Records {
			for name, c := range r.cells {
				if c.Line < 1 || c.Line > lines || c.Column < 1 {
					t.Errorf("%s: %+v of %d lines", name, c, lines)
				}
			}
		}
	})
}

// FuzzJSON: no line makes the reader fail.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{"", "{}", `{"a": [1, [2]]}`, `{"a": "\ud800"}`, "[", `{"a": 1} x`, `{"a": 1`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		s := &Sheet{Path: "x.jsonl"}
		if err := s.addJSON(3, line); err == nil && len(s.Records) != 1 {
			t.Error("a line without error has no record")
		}
	})
}

package dataset

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func write(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func packed(t testing.TB, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func open(t testing.TB, path string) *Lines {
	t.Helper()
	l, err := OpenLines(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// all reads every record with the number of its line.
func all(t testing.TB, l *Lines) (texts []string, lines []int) {
	t.Helper()
	var buf []byte
	for i := range l.Len() {
		var err error
		if buf, err = l.Read(i, buf); err != nil {
			t.Fatal(err)
		}
		texts, lines = append(texts, string(buf)), append(lines, l.Line(i))
	}
	return texts, lines
}

func TestLines(t *testing.T) {
	long := `{"text":"` + strings.Repeat("0123456789", 30_000) + `"}` // longer than the read buffer
	tests := []struct {
		name, content string
		want          []string
		lines         []int
	}{
		{"empty file", "", nil, nil},
		{"plain", "{\"a\":1}\n{\"b\":2}\n", []string{`{"a":1}`, `{"b":2}`}, []int{1, 2}},
		{"no line end at the end", "{}\n[]", []string{"{}", "[]"}, []int{1, 2}},
		{"CRLF", "{}\r\n[]\r\n", []string{"{}", "[]"}, []int{1, 2}},
		{"byte order mark", "\ufeff{}\n\ufeff[]\n", []string{"{}", "\ufeff[]"}, []int{1, 2}}, // only at the start
		{"only a byte order mark", "\ufeff", nil, nil},
		{"blank lines keep the numbers right", "\n{}\n\n \t\r\n[]\n\n", []string{"{}", "[]"}, []int{2, 5}},
		{"white space inside a record stays", " { } \n", []string{" { } "}, []int{1}},
		{"several alphabets", "\"ünïcödé 合同\"\n{}\n", []string{`"ünïcödé 合同"`, "{}"}, []int{1, 2}},
		{"long line", "{}\n" + long + "\n[]", []string{"{}", long, "[]"}, []int{1, 2, 3}},
		{"long last line", long, []string{long}, []int{1}},
	}
	for _, tt := range tests {
		for _, form := range []struct {
			name  string
			bytes []byte
		}{{"data.jsonl", []byte(tt.content)}, {"data.jsonl.gz", packed(t, []byte(tt.content))}, {"gz.without.suffix", packed(t, []byte(tt.content))}} {
			t.Run(tt.name+"/"+form.name, func(t *testing.T) {
				l := open(t, write(t, form.name, form.bytes))
				texts, lines := all(t, l)
				if diff := cmp.Diff(tt.want, texts); diff != "" {
					t.Errorf("records (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.lines, lines); diff != "" {
					t.Errorf("line numbers (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestOpenLinesRefuses(t *testing.T) {
	whole := packed(t, []byte(strings.Repeat("{}\n", 1000)))
	tests := []struct {
		name    string
		content []byte
		want    string
	}{
		{"Latin-1", []byte("{}\n\n{\"name\":\"M\xfcller\"}\n"), "data.jsonl:3: byte 11 of the line is not UTF-8: save the file as UTF-8"},
		{"UTF-16", []byte("\xff\xfe{\x00}\x00"), "data.jsonl is UTF-16: save it as UTF-8"},
		{"Latin-1, packed", packed(t, []byte("\xe9\n")), "data.jsonl:1: byte 1 of the line is not UTF-8: save the file as UTF-8"},
		{"no line ends", bytes.Repeat([]byte("x"), MaxLine+1), "data.jsonl:1: reading data: line longer than 64 MB: the file must be JSON Lines, one value per line"},
		{"packed file cut off", whole[:len(whole)/2], "reading data: unexpected EOF"},
		{"packed file damaged", append(bytes.Clone(whole[:len(whole)-8]), 1, 2, 3, 4, 5, 6, 7, 8), "reading data: gzip: invalid checksum"},
		{"packed file that is none", []byte("\x1f\x8bnot at all a gzip file"), "data.jsonl: unpacking: gzip: invalid header"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := OpenLines(write(t, "data.jsonl", tt.content)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got  %v\nwant …%s", err, tt.want)
			}
		})
	}
	if _, err := OpenLines(filepath.Join(t.TempDir(), "absent.jsonl")); err == nil || !strings.Contains(err.Error(), "absent.jsonl") {
		t.Errorf("absent file: %v", err)
	}
}

func TestLongestLine(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 64 MB")
	}
	content := append(bytes.Repeat([]byte("x"), MaxLine-1), "\n{}"...)
	l := open(t, write(t, "data.jsonl", content))
	if got, err := l.Read(0, nil); err != nil || len(got) != MaxLine-1 || l.Len() != 2 {
		t.Fatalf("%d records, first of %d bytes: %v", l.Len(), len(got), err)
	}
}

func TestLinesErrors(t *testing.T) {
	path := write(t, "gold.jsonl", []byte("{\"document_id\":\"a\"}\n\n{\"documentid\":\"b\"}\n"))
	l := open(t, path)
	var g gold
	buf, err := l.Decode(0, nil, &g)
	if err != nil || g.ID != "a" {
		t.Fatalf("%+v, %v", g, err)
	}
	_, err = l.Decode(1, buf, &g)
	if want := path + `:3:2: unknown key "documentid": did you mean "document_id"?`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if got, want := l.Errorf(1, "document %q has no text", "b").Error(), path+`:3: document "b" has no text`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestFileThatShrank(t *testing.T) {
	path := write(t, "data.jsonl", []byte("{}\n{\"a\":1}\n"))
	l := open(t, path)
	if err := os.Truncate(path, 5); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Read(1, nil); err == nil || !strings.Contains(err.Error(), "data.jsonl:2: reading record: the file was truncated") {
		t.Errorf("got %v", err)
	}
}

func TestReadUsesTheBuffer(t *testing.T) {
	l := open(t, write(t, "data.jsonl", []byte("{\"a\":1}\n{}\n")))
	buf := make([]byte, 0, 64)
	for i := range 2 {
		got, err := l.Read(i, buf)
		if err != nil || unsafe.SliceData(got) != unsafe.SliceData(buf) {
			t.Errorf("record %d was not read into the buffer (%v)", i, err)
		}
	}
}

func TestConcurrentReads(t *testing.T) {
	var content bytes.Buffer
	for i := range 500 {
		fmt.Fprintf(&content, "{\"n\":%d,\"pad\":%q}\n", i, strings.Repeat("x", i))
	}
	l := open(t, write(t, "data.jsonl.gz", packed(t, content.Bytes())))
	want, _ := all(t, l)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(worker)))
			var buf []byte
			for range 500 {
				i := random.IntN(l.Len())
				var err error
				if buf, err = l.Read(i, buf); err != nil || string(buf) != want[i] {
					t.Errorf("record %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestNothingIsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	l, err := OpenLines(write(t, "data.jsonl.gz", packed(t, []byte("{}\n"))))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "scruple-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Sixteen bytes a record: 50,000 documents cost 800 kB.
func TestIndexIsSmall(t *testing.T) {
	l := open(t, write(t, "data.jsonl", bytes.Repeat([]byte("{}\n"), 50_000)))
	if got, most := uintptr(cap(l.records))*unsafe.Sizeof(record{}), uintptr(50_000*16); got != most {
		t.Errorf("the index takes %d bytes, want %d", got, most)
	}
}

// Whatever the lines are, reading them back gives those that are not blank.
func TestLinesRoundTrip(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`[ \t]{0,2}(|\{\}|"[a-zé合]{0,9}")`)
		lines := rapid.SliceOf(line).Draw(t, "lines")
		content := strings.Join(lines, rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "line end"))
		path := filepath.Join(dir, "data.jsonl")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := OpenLines(path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		var want []string
		var numbers []int
		for i, s := range lines {
			if strings.TrimSpace(s) != "" {
				want, numbers = append(want, s), append(numbers, i+1)
			}
		}
		for i := range l.Len() {
			got, err := l.Read(i, nil)
			if err != nil || string(got) != want[i] || l.Line(i) != numbers[i] {
				t.Fatalf("record %d is %q on line %d (%v), want %q on line %d", i, got, l.Line(i), err, want[i], numbers[i])
			}
		}
		if l.Len() != len(want) {
			t.Fatalf("%d records, want %d", l.Len(), len(want))
		}
	})
}

func FuzzLines(f *testing.F) {
	for _, seed := range []string{"{}\n[]", "\ufeff\r\n\r\n{}", "\xff", "\x1f\x8b", "\n\n\n", "a\rb\n"} {
		f.Add([]byte(seed))
	}
	f.Add(packed(f, []byte("{}\n")))
	f.Fuzz(func(t *testing.T, content []byte) {
		l, err := OpenLines(write(t, "data.jsonl", content))
		if err != nil {
			return
		}
		defer l.Close()
		_, lines := all(t, l)
		if !slices.IsSorted(lines) {
			t.Errorf("line numbers %v do not rise", lines)
		}
	})
}

func BenchmarkOpenLines(b *testing.B) {
	content := bytes.Repeat([]byte(`{"document_id":"x","text":"`+strings.Repeat("word ", 100)+"\"}\n"), 10_000)
	path := write(b, "data.jsonl", content)
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		l, err := OpenLines(path)
		if err != nil {
			b.Fatal(err)
		}
		l.Close()
	}
}

package table

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/dataset/limited"
)

// readArgument lets the test's program read a file and print the error.
const readArgument = "read-a-table"

func TestMain(m *testing.M) {
	limited.Host(Reader())
	if len(os.Args) == 3 && os.Args[1] == readArgument {
		_, err := Read(os.Args[2])
		fmt.Print(err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func gzipOf(begin, text string, times int) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	io.WriteString(w, begin)
	block := strings.Repeat(text, 1000)
	for range times / 1000 {
		io.WriteString(w, block)
	}
	w.Close()
	return b.Bytes()
}

// TestBombs: a small file that unpacks to a large one, or asks for much, is an error within a
// second of CPU and 200 MB of memory. The first two are those that took 9 GB, and printed
// 16,384 lines, before workbooks were limited.
func TestBombs(t *testing.T) {
	sheet := func(text string, times int) map[string]part {
		return map[string]part{"xl/worksheets/sheet1.xml": {begin: sheetBegin, text: text, times: times, end: sheetEnd}}
	}
	numbered := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i+1)
		}
		return b.String()
	}
	const large = "unpacks to more than 64 MB"
	for _, tt := range []struct {
		name string
		data func() []byte
		want string
	}{
		{"900 MB of text in a cell", func() []byte {
			return archiveOf(t, map[string]part{"xl/worksheets/sheet1.xml": {begin: sheetBegin + `<row r="1"><c r="A1" t="inlineStr"><is><t>`, text: strings.Repeat("a", 1000), times: 900_000, end: `</t></is></c></row>` + sheetEnd}})
		}, large},
		{"a cell in the last corner", func() []byte { return archiveOf(t, sheet(`<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>`, 1)) }, "cell A1048576: the column has no name"},
		{"18 million rows", func() []byte { return archiveOf(t, sheet(`<row/>`, 18_000_000)) }, large},
		{"ten million rows", func() []byte { return archiveOf(t, sheet(`<row/>`, 10_000_000)) }, "more than 1048576 rows"},
		{"a part that says 4 GB", func() []byte {
			return archiveOf(t, map[string]part{"xl/worksheets/sheet1.xml": {begin: sheetBegin + sheetEnd, size: 4<<30 - 2}})
		}, large},
		{"a part that says less than it has", func() []byte {
			return archiveOf(t, map[string]part{"xl/worksheets/sheet1.xml": {begin: sheetBegin, text: `<row><c t="str"><v>aaaaaaaaaaaa</v></c></row>`, times: 10_000_000, end: sheetEnd, size: 1 << 20}})
		}, "damaged"},
		{"millions of texts", func() []byte {
			return archiveOf(t, map[string]part{"xl/sharedStrings.xml": {begin: "<sst>", text: "<si/>", times: 12_000_000, end: "</sst>"}})
		}, "more than 524288 different texts"},
		{"millions of styles", func() []byte {
			return archiveOf(t, map[string]part{"xl/styles.xml": {begin: "<styleSheet><cellXfs>", text: `<xf/>`, times: 20_000_000, end: "</cellXfs></styleSheet>"}})
		}, large},
		{"rows with a last column", func() []byte {
			return archiveOf(t, map[string]part{"xl/worksheets/sheet1.xml": {begin: sheetBegin + `<row r="1"><c r="A1"><v>1</v></c></row>` + strings.ReplaceAll(numbered(100_000, `<row><c r="XFD%d"><v>1</v></c></row>`), `XFD1"`, `XFD2"`) + sheetEnd}})
		}, "damaged"},
		{"merged cells", func() []byte { return archiveOf(t, sheet(`<mergeCell ref="A1:B2"/>`, 500_000)) }, "and 499980 more"},
		{"deep elements", func() []byte { return archiveOf(t, sheet(`<a>`, 10_000_000)) }, "nested too deeply"},
		{"deep elements in a cell", func() []byte {
			return archiveOf(t, map[string]part{"xl/worksheets/sheet1.xml": {begin: sheetBegin + `<row><c>`, text: `<a>`, times: 3_000_000, end: sheetEnd}})
		}, "nested too deeply"},
		{"entities", func() []byte {
			return archiveOf(t, map[string]part{"xl/worksheets/sheet1.xml": {begin: `<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>` + sheetBegin + `<row><c t="str"><v>&b;</v></c></row>` + sheetEnd}})
		}, "invalid character entity"},
		{"half a million sheets", func() []byte {
			return archiveOf(t, map[string]part{"xl/workbook.xml": {begin: "<workbook><sheets>", text: `<sheet name="a"/>`, times: 500_000, end: "</sheets></workbook>"}})
		}, "the workbook has 500000 sheets"},
		{"formulas without a value", func() []byte {
			return archiveOf(t, sheet(`<row><c><f>1</f></c></row>`, 250_000))
		}, "and 249980 more"},
		{"gigabytes of CSV", func() []byte { return gzipOf("a,b\n", "1,2\n", 300_000_000) }, "it unpacks to more than 1"},
		{"commas", func() []byte {
			return []byte(strings.Repeat("a,", 4000) + "\n" + strings.Repeat("1"+strings.Repeat(",", 3999)+"\n", 10_000))
		}, "nearly all cells of the table are empty"},
		{"sparse rows of CSV", func() []byte {
			return gzipOf("a"+numbered(3999, ",c%d")+"\n", "1"+strings.Repeat(",", 3999)+"\n", 8000)
		}, "nearly all cells of the table are empty"},
		{"a key of its own in every row", func() []byte {
			return []byte(numbered(4000, `{"k%d": 1}`+"\n") + strings.Repeat(`{"k4000": 1}`+"\n", 200_000))
		}, "nearly all cells of the table are empty"},
		{"deep JSON", func() []byte { return gzipOf("", "[", 30_000_000) }, "reading JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "q")
			data := tt.data()
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			c := exec.Command(os.Args[0], readArgument, path)
			out, err := c.Output()
			if err != nil {
				t.Fatal(err)
			}
			if got := string(out); !strings.Contains(got, tt.want) || len(got) > 5000 {
				t.Errorf("got %d characters: %.300s, want %s", len(got), got, tt.want)
			}
			used := c.ProcessState.SysUsage().(*syscall.Rusage) // of the process and the one that it starts
			cpu := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
			t.Logf("%d bytes: %v of CPU, %d MB", len(data), cpu, used.Maxrss>>10)
			if used.Maxrss > 200<<10 || cpu > 5*time.Second { // read to its end, one takes minutes
				t.Errorf("%v of CPU, %d MB of memory", cpu, used.Maxrss>>10)
			}
		})
	}
}

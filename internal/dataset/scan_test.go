package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func scan(t *testing.T, path string) (lines []string, hash string) {
	t.Helper()
	hash, err := Scan(path, func(line int, text []byte, err error) {
		if err != nil {
			lines = append(lines, fmt.Sprintf("%d: error: %v", line, err))
			return
		}
		lines = append(lines, fmt.Sprintf("%d: %s", line, text))
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, hash
}

// A line that is not UTF-8 does not hide those after it.
func TestScan(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	content := []byte("\ufeff{\"a\":1}\r\n\n \t\n{\"n\":\"M\xfcller\"}\n" + long + "\n[]")
	want := []string{`1: {"a":1}`, "4: error: byte 8 of the line is not UTF-8: save the file as UTF-8", "5: " + long, "6: []"}
	for name, bytes := range map[string][]byte{"data.jsonl": content, "data.jsonl.gz": packed(t, content)} {
		got, hash := scan(t, write(t, name, bytes))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if sum := sha256.Sum256(bytes); hash != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: hash %s", name, hash)
		}
	}
	if got, _ := scan(t, write(t, "empty.jsonl", nil)); len(got) > 0 {
		t.Error(got)
	}
}

func TestScanRefuses(t *testing.T) {
	whole := packed(t, []byte(strings.Repeat("{}\n", 1000)))
	for name, path := range map[string]string{
		"absent": filepath.Join(t.TempDir(), "absent.jsonl"), "cut off": write(t, "a.gz", whole[:len(whole)/2]), "no gzip": write(t, "b.gz", []byte("\x1f\x8bnothing")),
	} {
		if _, err := Scan(path, func(int, []byte, error) {}); err == nil || !strings.Contains(err.Error(), filepath.Base(path)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A record of others may have more keys than its type knows; its errors are as
// exact as those of one of ours.
func TestDecodeLoose(t *testing.T) {
	var r struct {
		ID   string         `json:"id"`
		Rest map[string]any `json:",inline"`
	}
	if err := DecodeLoose([]byte(`{"id":"a","more":1}`), &r); err != nil || r.ID != "a" || r.Rest["more"] != 1.0 {
		t.Errorf("%+v, %v", r, err)
	}
	for in, want := range map[string]string{`{"id":7}`: "id: want a string", `{"id":"a","id":"b"}`: `duplicate key "id"`, `{`: "unexpected end of JSON", `null`: "want an object, got null"} {
		if err := DecodeLoose([]byte(in), &r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want …%s", in, err, want)
		}
	}
}

// A file of another format is one error, not one for each line.
func TestScanOtherFormats(t *testing.T) {
	for content, want := range map[string]string{"PK\x03\x04\x14\x00\n\xff\n\xff": "is a workbook or another archive: want JSON Lines", "\xff\xfe{\x00}\x00\n\x00": "is UTF-16: save it as UTF-8"} {
		for _, data := range [][]byte{[]byte(content), packed(t, []byte(content))} {
			_, err := Scan(write(t, "x.jsonl", data), func(line int, _ []byte, err error) { t.Errorf("line %d: %v", line, err) })
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
}

package rerank

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// TestMeasurePacked: files may be packed with gzip, also in several members; damaged ones and
// those that unpack to too much are errors that name the file.
func TestMeasurePacked(t *testing.T) {
	zip := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, text)
		z.Close()
		return b.String()
	}
	run := zip("q Q0 a 1 1 t\nq Q0 b") + zip(" 1 2 t\n")
	measure := func(run string) (string, error) {
		files := map[string]string{"run": run, "qrels": zip("q 0 a 1")}
		open := func(file string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(files[file])), nil }
		got, err := measureRanking(kit.Call{Open: open}, "run", "qrels", false)
		if err != nil {
			return "", err
		}
		return got.String(), nil
	}
	if got, err := measure(run); err != nil || !strings.Contains(got, "0.5000") {
		t.Errorf("%s, %v", got, err)
	}
	for _, wrong := range []string{run[:len(run)-6], run[:2], "\x1f\x8b, not gzip", zip(strings.Repeat("\n", 33<<20))} {
		if _, err := measure(wrong); err == nil || !strings.Contains(err.Error(), "reading run: ") {
			t.Errorf("%.20q: %v", wrong, err)
		}
	}
}

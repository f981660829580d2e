//go:build unix

package dataset

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe without a writer blocks who opens it, and a device has no end.
func TestOpenRefuses(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe.jsonl")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	for path, want := range map[string]string{pipe: "is a named pipe: want a regular file", "/dev/zero": "is a device", t.TempDir(): "is a folder"} {
		_, read := ReadFile(path)
		_, lines := OpenLines(path)
		_, scan := Scan(path, func(int, []byte, error) {})
		for _, err := range []error{read, lines, scan, ReadJSON(path, new(any))} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", path, err, want)
			}
		}
	}
}

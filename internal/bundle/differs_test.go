package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/scruple-eval/scruple/internal/store"
)

// A difference is found wherever it is, also of who writes on after an error.
func TestDiffers(t *testing.T) {
	for file, want := range map[string]int64{"one\ntwo\n": -1, "one\nTwo\n": 4, "one\n": 4, "one\ntwo\n\n": 8, "": 0, "oneX\ntwo\n": 3, "one\nXtwo\n": 4} {
		for _, deaf := range []bool{false, true} {
			at, err := differs(strings.NewReader(file), func(w io.Writer) error {
				for _, line := range []string{"one", "two"} {
					if _, err := fmt.Fprintln(w, line); err != nil && !deaf {
						return err
					}
				}
				return nil
			})
			if err != nil || at != want {
				t.Errorf("%q, deaf %v: byte %d, %v; want %d", file, deaf, at, err, want)
			}
		}
	}
}

// A machine that stops, or is full, says nothing about a bundle.
func TestErrorsOfThisMachine(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if !ours(stopped, errors.New("x")) || !ours(t.Context(), fmt.Errorf("x: %w", syscall.ENOSPC)) || ours(t.Context(), errors.New("x")) || ours(stopped, nil) {
		t.Error("errors of this machine are taken for differences of the bundle")
	}
	damaged := filepath.Join(t.TempDir(), "store.db")
	if err := os.WriteFile(damaged, bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	unread := filepath.Join(t.TempDir(), "store.db")
	db, err := store.Open(t.Context(), unread)
	if err == nil {
		err = errors.Join(db.Close(), os.Mkdir(unread+"-wal", 0o700)) // no file that SQLite can open
	}
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{unread: true, damaged: false} {
		if _, err := store.OpenRead(t.Context(), path); err == nil || ours(t.Context(), err) != want {
			t.Errorf("%v is taken for an error of this machine: %v", err, !want)
		}
	}
}

// A finding names a file as the bundle does: where it was unpacked is gone by then.
func TestPathsOfFindings(t *testing.T) {
	v := &Verification{Manifest: &Manifest{StudyFile: "files/study/study.yaml"}, dir: t.TempDir()}
	file := filepath.Join(v.dir, filepath.FromSlash(v.Manifest.store()))
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, bytes.Repeat([]byte("no database "), 1000), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := v.checkStore(t.Context()); err != nil || len(v.Findings) != 1 || strings.Contains(v.Findings[0].String(), v.dir) {
		t.Errorf("found %v, %v", v.Findings, err)
	}
}

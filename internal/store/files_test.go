//go:build unix

package store_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/store"
)

// A process out of descriptors says so. It is a process of its own, with few.
func TestOutOfFiles(t *testing.T) {
	if path := os.Getenv("SCRUPLE_FEW_FILES"); path != "" {
		db, err := store.Open(t.Context(), path)
		if err == nil {
			t.Fatal("the store was opened", db.Close())
		}
		t.Fatal(err)
	}
	c := exec.Command("/bin/sh", "-c", `ulimit -n 10 && exec "$0" -test.run='^TestOutOfFiles$'`, os.Args[0])
	c.Env = append(os.Environ(), "SCRUPLE_FEW_FILES="+filepath.Join(t.TempDir(), "s.db"))
	out, err := c.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "this process may not open more files: lower execution.concurrency, or raise the limit with ulimit -n") {
		t.Errorf("%v\n%s", err, out)
	}
}

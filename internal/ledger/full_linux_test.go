package ledger

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A disk that was full takes entries again when there is space: the test's program appends
// while its files cannot grow, and then while they can.
func TestADiskThatWasFull(t *testing.T) {
	if path := os.Getenv("LEDGER_TEST_FILE"); path != "" {
		signal.Ignore(syscall.SIGXFSZ)
		l, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(noon, "anna", "note", "one"); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		var before syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Fatal(err)
		}
		for size := range uint64(3) { // the line is cut at several places
			limit := syscall.Rlimit{Cur: uint64(info.Size()) + 20*size, Max: before.Max}
			if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Append(noon, "anna", "note", "lost"); err == nil || !strings.Contains(err.Error(), "file too large") {
				t.Errorf("with space for %d bytes: %v", 20*size, err)
			}
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(noon, "anna", "note", "two"); err != nil {
			t.Error(err)
		}
		return
	}
	path := filepath.Join(t.TempDir(), Name)
	c := exec.Command(os.Args[0], "-test.run=TestADiskThatWasFull")
	c.Env = append(os.Environ(), "LEDGER_TEST_FILE="+path)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if list, err := Read(path); err != nil || len(list) != 2 {
		t.Errorf("%d entries, %v", len(list), err)
	}
}

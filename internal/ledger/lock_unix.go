//go:build unix

package ledger

import (
	"os"
	"syscall"
)

// lock locks an open file for this process. The system releases it with the
// process, however that ends.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// SyncFolder makes a new name in a folder durable.
func SyncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

//go:build unix

package ledger

import (
	"os"
	"syscall"
	"time"
)

// lock locks an open file for this process. The system releases it with the
// process, however that ends. Writers hold it for an append only, so it waits a second.
func lock(f *os.File) (err error) {
	for range 20 {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != syscall.EWOULDBLOCK {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// SyncFolder makes a new name in a folder durable.
func SyncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

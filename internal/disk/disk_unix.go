//go:build unix

package disk

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Lock locks an open file or folder for this process, or returns an error if another one
// has it. The system releases the lock with the process, however that ends.
func Lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// openFolder opens what is locked for a folder: the folder.
func openFolder(dir string, _ int, _ os.FileMode) (*os.File, error) { return os.Open(dir) }

// release does nothing: a file that is renamed or removed while it is open stays locked until it is done.
func release(*os.File) {}

// SyncFolder makes new names in a folder durable.
func SyncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// isDescriptor reports whether a path names a descriptor of a process, such as
// /dev/fd/1, /proc/self/fd/1 or /proc/17/fd/1.
func isDescriptor(path string) bool {
	dir, n := filepath.Split(filepath.Clean(path))
	_, err := strconv.Atoi(n)
	return err == nil && (dir == "/dev/fd/" || strings.HasPrefix(dir, "/proc/") && strings.HasSuffix(dir, "/fd/"))
}

// descriptor opens what a path names if it is a descriptor of this process, or returns
// nil. It does not open the path: writing would begin at the start of a file.
func descriptor(path string) *os.File {
	dir, name := filepath.Split(filepath.Clean(path))
	n, err := strconv.Atoi(name)
	own := []string{"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/", "/proc/" + strconv.Itoa(os.Getpid()) + "/fd/"}
	if err != nil || !slices.Contains(own, dir) {
		return nil
	}
	if n, err = syscall.Dup(n); err != nil {
		return nil
	}
	syscall.CloseOnExec(n)
	return os.NewFile(uintptr(n), path)
}

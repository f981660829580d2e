package disk

import (
	"os"

	"golang.org/x/sys/windows"
)

// Lock locks an open file for this process, or returns an error if another one has it, or if
// it is a folder. The byte that is locked lies behind the end: others can still read the file.
func Lock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
}

// openFolder opens what is locked for a folder, which has no lock: a file beside it.
func openFolder(dir string, flag int, mode os.FileMode) (*os.File, error) {
	return os.OpenFile(dir+".lock", flag, mode)
}

// release closes a file before it is renamed or removed, which the system refuses while it is open.
func release(f *os.File) { f.Close() }

// SyncFolder does nothing: names need no sync of their own.
func SyncFolder(string) error { return nil }

func isDescriptor(string) bool { return false }

func descriptor(string) *os.File { return nil }

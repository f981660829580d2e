//go:build linux || darwin

package store

import "syscall"

// freeSpace returns the bytes that are free for the user in a folder.
func freeSpace(dir string) (int64, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}

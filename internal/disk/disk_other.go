//go:build !unix

package disk

import "os"

// Lock does nothing: the system refuses to remove a file that is open.
func Lock(*os.File) error { return nil }

// release closes a file before it is renamed or removed, which the system refuses while it is open.
func release(f *os.File) { f.Close() }

// SyncFolder does nothing: names need no sync of their own.
func SyncFolder(string) error { return nil }

func isDescriptor(string) bool { return false }

func descriptor(string) *os.File { return nil }

//go:build !unix

package ledger

import "os"

// lock does nothing: a second writer is noticed by the size of the file.
func lock(*os.File) error { return nil }

// SyncFolder does nothing: names need no sync of their own.
func SyncFolder(string) error { return nil }

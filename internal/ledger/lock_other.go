//go:build !unix

package ledger

import "os"

// lock does nothing: a second writer is noticed by the size of the file.
func lock(*os.File) error { return nil }

// syncFolder does nothing: names need no sync of their own.
func syncFolder(string) error { return nil }

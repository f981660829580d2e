// Package errno has the numbers by which systems say why a call failed: package syscall
// defines the names of Unix for Windows too, but Windows itself uses numbers of its own.
//
// It must not know who asks, nor what follows from an error.
package errno

import (
	"errors"
	"slices"
	"syscall"
)

// A Kind is all numbers of one reason.
type Kind []syscall.Errno

// Of reports whether an error has this reason.
func (k Kind) Of(err error) bool {
	no, ok := errors.AsType[syscall.Errno](err)
	return ok && slices.Contains(k, no)
}

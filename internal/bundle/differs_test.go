package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
)

// A difference is found wherever it is, also of who writes on after an error.
func TestDiffers(t *testing.T) {
	for file, want := range map[string]int64{"one\ntwo\n": -1, "one\nTwo\n": 4, "one\n": 4, "one\ntwo\n\n": 8, "": 0, "oneX\ntwo\n": 3, "one\nXtwo\n": 4} {
		for _, deaf := range []bool{false, true} {
			at, err := differs(strings.NewReader(file), func(w io.Writer) error {
				for _, line := range []string{"one", "two"} {
					if _, err := fmt.Fprintln(w, line); err != nil && !deaf {
						return err
					}
				}
				return nil
			})
			if err != nil || at != want {
				t.Errorf("%q, deaf %v: byte %d, %v; want %d", file, deaf, at, err, want)
			}
		}
	}
}

// A machine that stops, or is full, says nothing about a bundle.
func TestErrorsOfThisMachine(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if !ours(stopped, errors.New("x")) || !ours(t.Context(), fmt.Errorf("x: %w", syscall.ENOSPC)) || ours(t.Context(), errors.New("x")) || ours(stopped, nil) {
		t.Error("errors of this machine are taken for differences of the bundle")
	}
}
